"""Point estimate of a partition and how often items share a cluster.

A posterior over partitions has no mean. The default answer is the partition that is nearest to the draws on average,
measured by the variation of information.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray

MAX_CANDIDATES = 200  # visited partitions compared with all draws before the best one is polished


def check_draws(draws: ArrayLike) -> IntArray:
    """Return draws as an integer array of shape (n_draws, n_items) with labels 0, 1, ... in each row, or raise."""
    array = np.asarray(draws)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"draws has shape {array.shape}, needed (n_draws, n_items) with both at least 1.")
    return np.stack([np.unique(row, return_inverse=True)[1] for row in array]).astype(np.int64)


def coclustering(draws: ArrayLike) -> FloatArray:
    """Return the share of draws in which two items are in one cluster.

    Parameters
    ----------
    draws : array-like of shape (n_draws, n_items)
        Cluster of each item, by any labels.

    Returns
    -------
    coclustering : ndarray of shape (n_items, n_items)
        Symmetric, unit diagonal, values in [0, 1].

    Examples
    --------
    >>> coclustering([[0, 0, 1], [0, 1, 1]])
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """
    from homothety.summaries._kernels import count_pairs

    labels = check_draws(draws)
    return count_pairs(labels) / len(labels)


def expected_vi(partitions: ArrayLike, draws: ArrayLike) -> FloatArray:
    """Return the mean variation of information, in bits, of each partition to the draws.

    Parameters
    ----------
    partitions : array-like of shape (n_partitions, n_items)
    draws : array-like of shape (n_draws, n_items)

    Returns
    -------
    expected : ndarray of shape (n_partitions,)
    """
    labels, draws = check_draws(partitions), check_draws(draws)
    if labels.shape[1] != draws.shape[1]:
        raise InputError(
            f"partitions are of {labels.shape[1]} items, draws of {draws.shape[1]}: needed the same items."
        )
    return _expected_vi(labels, draws)


def minimise_expected_vi(draws: ArrayLike, *, max_candidates: int = MAX_CANDIDATES) -> IntArray:
    """Return the partition of least expected variation of information under the draws.

    The best of the visited partitions (an even selection of `max_candidates` of them) is polished: items are moved
    between clusters, or to one of their own, as long as that brings it nearer to the draws on average. The result is a
    local minimum, never farther from the draws than the best of those compared; finding the global one is not feasible.

    Parameters
    ----------
    draws : array-like of shape (n_draws, n_items)
        Sampled partitions.
    max_candidates : int, default=200
        How many of the visited partitions to compare.

    Returns
    -------
    labels : ndarray of shape (n_items,)
        Numbered by decreasing size of the cluster, ties by first appearance.

    Examples
    --------
    >>> minimise_expected_vi([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]])
    array([0, 0, 1, 1])
    """
    labels = check_draws(draws)
    candidates = np.unique(labels, axis=0)
    if len(candidates) > max_candidates:
        candidates = labels[np.linspace(0, len(labels) - 1, max_candidates).astype(int)]
    best = candidates[np.argmin(_expected_vi(candidates, labels))]
    return _descend(best, labels)


def _descend(labels: IntArray, draws: IntArray) -> IntArray:
    """Polish a partition until nothing moves: one round offers a single empty cluster, and another may be wanted."""
    labels, polished = relabel_by_size(labels), relabel_by_size(_polished(labels, draws))
    while not np.array_equal(labels, polished):
        labels, polished = polished, relabel_by_size(_polished(polished, draws))
    return polished


def _polished(partition: IntArray, draws: IntArray) -> IntArray:
    """Return a partition that moving single items cannot bring nearer to the draws, with one cluster more at most."""
    from homothety.summaries._kernels import polish

    labels, n_slots = partition.copy(), int(partition.max()) + 2
    overlaps = np.zeros((n_slots, len(draws), int(draws.max()) + 1), dtype=np.int64)
    polish(labels, draws, np.zeros(n_slots, dtype=np.int64), overlaps)
    return labels


def _expected_vi(partitions: IntArray, draws: IntArray) -> FloatArray:
    """Return the mean variation of information of each partition to the draws, both numbered without gaps."""
    from homothety.summaries._kernels import mean_vi

    return mean_vi(partitions, draws, int(max(partitions.max(), draws.max())) + 1)


def relabel_by_size(labels: ArrayLike) -> IntArray:
    """Return the same partition with clusters numbered by decreasing size, ties by first appearance."""
    _, first, inverse, counts = np.unique(
        np.asarray(labels), return_index=True, return_inverse=True, return_counts=True
    )
    rank = np.empty(len(counts), dtype=np.int64)
    rank[np.lexsort((first, -counts))] = np.arange(len(counts))
    return rank[inverse]
