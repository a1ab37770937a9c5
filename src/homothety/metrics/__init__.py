"""How well an estimated labelling agrees with a true one.

Every metric takes the two labellings, truth first, and gives back one float. Labels may be any hashable values; only
which items share a label matters. Labels of several sequences may come as a list with one array per sequence: they
are joined first, because a label means the same thing in every sequence.
"""

from homothety.metrics.clustering import ari, contingency_table, f_measure, inverse_purity, nmi, purity, rand_index
from homothety.metrics.segmentation import gce, hamming, vi

__all__ = [
    "ari",
    "contingency_table",
    "f_measure",
    "gce",
    "hamming",
    "inverse_purity",
    "nmi",
    "purity",
    "rand_index",
    "vi",
]
