"""Agreement of two clusterings: purity, mutual information, F-measure, pair counting."""

from __future__ import annotations

from math import comb, isfinite, sqrt
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from homothety.errors import InputError
from homothety.metrics.contingency import count_overlaps

if TYPE_CHECKING:
    from homothety.arrays import IntArray
    from homothety.metrics.contingency import Contingency, Labels

Average = Literal["geometric", "arithmetic"]


def purity(truth: Labels, estimate: Labels) -> float:
    """Fraction of items that belong to the commonest class of their cluster.

    Parameters
    ----------
    truth, estimate : sequence of n_items labels, or list with one array of labels per sequence
        Any hashable values.

    Returns
    -------
    purity : float
        In (0, 1]; 1 when no cluster mixes classes, so also when every item is a cluster of its own.

    Notes
    -----
    Eq. (37) as the paper's text and tables have it. The formula printed there swaps classes and clusters, which is
    :func:`inverse_purity`. Not symmetric in its arguments.

    Examples
    --------
    >>> purity([1, 1, 1, 2, 2], [1, 1, 2, 2, 2])
    0.8
    """
    overlaps = count_overlaps(truth, estimate)
    return overlaps.n_in_commonest_class() / overlaps.n_items


def inverse_purity(truth: Labels, estimate: Labels) -> float:
    """Fraction of items that belong to the commonest cluster of their class.

    This is :func:`purity` with the arguments exchanged, and Eq. (37) as printed. It is 1 when no class is split, so
    also for a single cluster.

    Parameters
    ----------
    truth, estimate : sequence of n_items labels, or list with one array of labels per sequence
        Any hashable values.

    Returns
    -------
    inverse_purity : float
        In (0, 1].
    """
    return purity(estimate, truth)


def nmi(truth: Labels, estimate: Labels, *, average: Average = "geometric") -> float:
    """Mutual information of the two labellings, divided by a mean of their entropies.

    Parameters
    ----------
    truth, estimate : sequence of n_items labels, or list with one array of labels per sequence
        Any hashable values.
    average : {"geometric", "arithmetic"}, default "geometric"
        The mean. Eq. (38) prints the arithmetic one; the numbers in the paper's tables come from the geometric one.

    Returns
    -------
    nmi : float
        In [0, 1]; 1 for equal partitions, one cluster against one class included, and 0 when exactly one of the two
        labellings puts everything together. Symmetric.

    Examples
    --------
    >>> round(nmi([1, 1, 1, 2, 2], [1, 2, 3, 4, 5]), 4)
    0.6467
    """
    if average not in get_args(Average):
        raise InputError(f'average is {average!r}, needed "geometric" or "arithmetic".')
    overlaps = count_overlaps(truth, estimate)
    if len(overlaps.counts) == len(overlaps.class_sizes) == len(overlaps.cluster_sizes):
        return 1.0  # equal partitions; said here because 0/0 for a single cluster would not
    true_entropy, estimated_entropy = _entropy(overlaps.class_sizes), _entropy(overlaps.cluster_sizes)
    if true_entropy == 0 or estimated_entropy == 0:
        return 0.0
    mean = {
        "geometric": sqrt(true_entropy * estimated_entropy),
        "arithmetic": (true_entropy + estimated_entropy) / 2,
    }[average]
    return min(max(_mutual_information(overlaps) / mean, 0.0), 1.0)


def f_measure(truth: Labels, estimate: Labels, *, beta: float = 1.0) -> float:
    r"""Best F-score any cluster reaches for each class, averaged over the items.

    Parameters
    ----------
    truth, estimate : sequence of n_items labels, or list with one array of labels per sequence
        Any hashable values.
    beta : float, default 1
        How much more recall (a class kept in one piece) counts than precision. The paper's tables have 1.

    Returns
    -------
    f_measure : float
        In (0, 1]; 1 for equal partitions. Not symmetric.

    Notes
    -----
    Eqs. (39-40) with the weights :math:`a_j / n` of the classes. In counts, precision and recall reduce to
    :math:`F_{jk} = (1 + \beta^2)\, n_{jk} / (b_k + \beta^2 a_j)`, which has no 0/0.

    Examples
    --------
    >>> round(f_measure([1, 1, 1, 2, 2], [1, 2, 3, 4, 5]), 4)
    0.5667
    """
    if not (isfinite(beta) and beta > 0):
        raise InputError(f"beta is {beta}, needed a positive number.")
    overlaps = count_overlaps(truth, estimate)
    sizes = overlaps.cluster_sizes[overlaps.clusters] + beta**2 * overlaps.class_sizes[overlaps.classes]
    scores = (1 + beta**2) * overlaps.counts / sizes
    best = np.zeros(len(overlaps.class_sizes))
    np.maximum.at(best, overlaps.classes, scores)
    return float(best @ overlaps.class_sizes) / overlaps.n_items


def rand_index(truth: Labels, estimate: Labels) -> float:
    """Fraction of the pairs of items on which the labellings agree whether to keep them together.

    Parameters
    ----------
    truth, estimate : sequence of n_items labels, or list with one array of labels per sequence
        Any hashable values.

    Returns
    -------
    rand_index : float
        In [0, 1]; 1 for equal partitions. Symmetric, but not corrected for chance: see :func:`ari`.
    """
    together, in_truth, in_estimate, pairs = _count_pairs(count_overlaps(truth, estimate))
    return (pairs + 2 * together - in_truth - in_estimate) / pairs if pairs else 1.0


def ari(truth: Labels, estimate: Labels) -> float:
    """Rand index corrected for chance: 0 is what labels shuffled at random get on average.

    Parameters
    ----------
    truth, estimate : sequence of n_items labels, or list with one array of labels per sequence
        Any hashable values.

    Returns
    -------
    ari : float
        At most 1, which equal partitions get; negative when worse than chance. Symmetric.

    Examples
    --------
    >>> round(ari([1, 1, 1, 2, 2], [1, 1, 2, 2, 2]), 4)
    0.1667
    """
    together, in_truth, in_estimate, pairs = _count_pairs(count_overlaps(truth, estimate))
    # Hubert and Arabie's ratio times twice the number of pairs: whole numbers of any size, exact until the division.
    excess = 2 * (pairs * together - in_truth * in_estimate)
    largest_excess = pairs * (in_truth + in_estimate) - 2 * in_truth * in_estimate
    # Zero only for two equal, trivial partitions: one group, or all items apart.
    return excess / largest_excess if largest_excess else 1.0


def _count_pairs(overlaps: Contingency) -> tuple[int, int, int, int]:
    """Return how many pairs of items are together in both labellings, in the truth, in the estimate; and all pairs."""
    groups = (overlaps.counts, overlaps.class_sizes, overlaps.cluster_sizes)
    together, in_truth, in_estimate = (_pairs_within(sizes) for sizes in groups)
    return together, in_truth, in_estimate, comb(overlaps.n_items, 2)


def _pairs_within(sizes: IntArray) -> int:
    """Return the number of pairs of items inside groups of the given sizes."""
    return int((sizes * (sizes - 1) // 2).sum())


def _entropy(sizes: IntArray) -> float:
    """Return the entropy, in nats, of the group an item drawn at random belongs to; 0 for one group."""
    shares = sizes / sizes.sum()
    return float(shares @ np.log(1 / shares))


def _mutual_information(overlaps: Contingency) -> float:
    """Return the mutual information, in nats, of the class and the cluster of an item drawn at random."""
    gains = np.log(overlaps.share_of_class()) - np.log(overlaps.cluster_sizes[overlaps.clusters] / overlaps.n_items)
    return float(overlaps.counts @ gains) / overlaps.n_items
