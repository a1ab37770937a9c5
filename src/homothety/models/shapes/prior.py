"""Prior over partitions: a Chinese restaurant process whose clusters attract more than in proportion to their size."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from homothety.arrays import frozen

if TYPE_CHECKING:
    from homothety.arrays import FloatArray, IntArray

# A cluster of n items attracts another one by n to this power. With 1, the Chinese restaurant process, the number of
# clusters grows with the number of items, because sampled spectra of one shape are not exactly Gaussian. To halve a
# cluster of n costs about (power - 1) * n * log(2) more: each matrix has to gain that much by it.
ATTRACTION = 1.1
# Values of the concentration, with the weights of a Gamma(1, 1) density on the logarithmic grid.
CONCENTRATIONS = frozen(np.geomspace(0.02, 100.0, 24))
LOG_DENSITY = frozen(np.log(CONCENTRATIONS) - CONCENTRATIONS)


def log_partition_weight(labels: IntArray, concentration: float, attraction: float) -> float:
    """Log weight of a partition: concentration per cluster, times the gamma function of each size to a power.

    Divided by its sum over all partitions, see `log_normaliser`, it is a probability (Lu, Li and Dunson 2018).

    Examples
    --------
    >>> float(np.exp(log_partition_weight(np.array([0, 0, 0, 1]), 0.5, 1.0)))
    0.5
    """
    sizes = np.unique(labels, return_counts=True)[1]
    return float(len(sizes) * np.log(concentration) + attraction * gammaln(sizes).sum())


@lru_cache(maxsize=16)
def log_normalisers(n_items: int, attraction: float) -> FloatArray:
    """Log of the sum of the weights of all partitions, for each of the values of the concentration."""
    return frozen(np.array([log_normaliser(n_items, value, attraction) for value in CONCENTRATIONS]))


def log_normaliser(n_items: int, concentration: float, attraction: float) -> float:
    """Log of the sum of the weights of all partitions of some items.

    Notes
    -----
    By recursion over the size k of the cluster of the first item: ``choose(n - 1, k - 1)`` clusters, times the sum over
    all partitions of the others.

    Examples
    --------
    The Chinese restaurant process has ``concentration * (concentration + 1) * ...``:

    >>> round(float(np.exp(log_normaliser(3, 0.5, 1.0))), 6)
    1.875
    """
    from homothety.models.shapes._kernels import sum_partitions

    log_gammas = gammaln(np.maximum(np.arange(n_items + 2), 1))
    return float(sum_partitions(n_items, float(np.log(concentration)), attraction, log_gammas))
