"""Point estimate of a partition and how often items share a cluster.

A posterior over partitions has no mean. The default answer is the partition that is nearest to the draws on average,
measured by the variation of information.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment

from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import FloatArray, IntArray

_MAX_CANDIDATES = 200  # visited partitions compared with all draws before the best one is polished
MAX_POLISHING_SWEEPS = 20
_MAX_LARGE_CANDIDATES = 10  # the same where there are many items
_MAX_LARGE_DRAWS = 50  # draws that are used where there are many items
_BLOCK_ENTRIES = 2**24  # of a membership matrix; its counts are whole numbers below 2**24, exact in single precision


def _check_draws(draws: ArrayLike) -> IntArray:
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
    labels = _check_draws(draws)
    shares = np.zeros((labels.shape[1], labels.shape[1]))
    for block in _blocks(labels):
        membership = _membership(block)
        shares += membership.T @ membership
    return shares / len(labels)


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
    labels, draws = _check_draws(partitions), _check_draws(draws)
    if labels.shape[1] != draws.shape[1]:
        raise InputError(
            f"partitions are of {labels.shape[1]} items, draws of {draws.shape[1]}: needed the same items."
        )
    return _expected_vi(labels, draws)


def minimise_expected_vi(draws: ArrayLike, *, max_candidates: int = _MAX_CANDIDATES) -> IntArray:
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
    labels = _check_draws(draws)
    candidates = np.unique(labels, axis=0)
    if len(candidates) > max_candidates:
        candidates = labels[np.linspace(0, len(labels) - 1, max_candidates).astype(int)]
    best = candidates[np.argmin(_expected_vi(candidates, labels))]
    return _descend(best, labels)


def _descend(labels: IntArray, draws: IntArray) -> IntArray:
    """Improve a partition until no item moves; each round offers one empty cluster."""
    labels, polished = relabel_by_size(labels), relabel_by_size(_polished(labels, draws))
    while not np.array_equal(labels, polished):
        labels, polished = polished, relabel_by_size(_polished(polished, draws))
    return polished


def _polished(partition: IntArray, draws: IntArray) -> IntArray:
    """Move single items to the cluster that lowers the mean variation of information most, until none does.

    One cluster more than there are is on offer, for items that are better off alone.
    """
    labels, terms = partition.copy(), _entropy_terms(len(partition))
    overlaps = _Overlaps.of(labels, draws)
    for _ in range(MAX_POLISHING_SWEEPS):
        n_moved = 0
        for i, old in enumerate(labels.tolist()):
            overlaps.shift(i, old, -1)
            rises = overlaps.rises_on_joining(i, terms)
            best = int(rises.argmin())
            # An item stays unless a move gains more than rounding does.
            labels[i] = new = best if rises[best] < rises[old] - 1e-9 else old
            overlaps.shift(i, new, 1)
            n_moved += new != old
        if n_moved == 0:
            break
    return labels


@dataclass(eq=False)
class _Overlaps:
    """How many items each cluster of a partition shares with each cluster of each draw."""

    counts: IntArray  # (n_clusters, n_draws, n_drawn_clusters)
    sizes: IntArray  # (n_clusters,)
    draws: IntArray  # (n_draws, n_items)

    @classmethod
    def of(cls, labels: IntArray, draws: IntArray) -> _Overlaps:
        """Count the overlaps of a partition, with an empty cluster added."""
        shape = int(labels.max()) + 2, int(draws.max()) + 1
        pairs = labels * shape[1] + draws
        counts = [np.bincount(row, minlength=shape[0] * shape[1]).reshape(shape) for row in pairs]
        return cls(np.stack(counts, axis=1), np.bincount(labels, minlength=shape[0]), draws)

    def shift(self, i: int, cluster: int, step: int) -> None:
        """Add item `i` to a cluster (`step` 1) or remove it (`step` -1)."""
        self.sizes[cluster] += step
        self.counts[cluster, np.arange(len(self.draws)), self.draws[:, i]] += step

    def rises_on_joining(self, i: int, terms: FloatArray) -> FloatArray:
        """Increase of the summed variation of information when item `i`, which is in no cluster, joins each cluster."""
        shared = self.counts[:, np.arange(len(self.draws)), self.draws[:, i]]
        steps = np.diff(terms)
        return len(self.draws) * steps[self.sizes] - 2.0 * steps[shared].sum(axis=1)


def _expected_vi(partitions: IntArray, draws: IntArray) -> FloatArray:
    """Return the mean variation of information of each partition to the draws, both numbered without gaps.

    With x log2(x) summed over the sizes of clusters, and over the overlaps of a cluster of each, it is sizes plus drawn
    sizes minus twice the overlaps.
    """
    n_items, terms = draws.shape[1], _entropy_terms(draws.shape[1])
    total = len(draws) * _summed_size_terms(partitions, terms) + _summed_size_terms(draws, terms).sum()
    for block in _blocks(draws):
        drawn = _numbered_apart(block)
        n_drawn = int(drawn.max()) + 1
        for c, partition in enumerate(partitions):
            overlaps = np.bincount((drawn + n_drawn * partition).ravel())
            total[c] -= 2.0 * terms[overlaps].sum()
    return total / (n_items * len(draws))


def _entropy_terms(n_items: int) -> FloatArray:
    """Return a table of x log2(x) for x = 0, ..., n_items."""
    counts = np.arange(n_items + 1)
    return np.asarray(counts * np.log2(np.maximum(counts, 1)))


def _summed_size_terms(partitions: IntArray, terms: FloatArray) -> FloatArray:
    """Return x log2(x) summed over the sizes of the clusters of each partition."""
    return np.array([terms[np.bincount(row)].sum() for row in partitions])


def _numbered_apart(draws: IntArray) -> IntArray:
    """Return the draws with cluster numbers that are unique over all draws."""
    n_clusters = draws.max(axis=1) + 1
    return draws + (np.cumsum(n_clusters) - n_clusters)[:, None]


def _membership(draws: IntArray) -> NDArray[np.float32]:
    """Return which items are in which cluster of which draw, 0 or 1, (n_clusters of all draws together, n_items)."""
    numbers = _numbered_apart(draws)
    membership = np.zeros((int(numbers.max()) + 1, draws.shape[1]), dtype=np.float32)
    membership[numbers, np.arange(draws.shape[1])] = 1.0
    return membership


def _blocks(draws: IntArray) -> Iterator[IntArray]:
    """Yield the draws in blocks whose membership matrices are small, as 64-bit integers."""
    widest = (int(draws.max()) + 1) * draws.shape[1]
    n_rows = max(1, _BLOCK_ENTRIES // widest)
    for start in range(0, len(draws), n_rows):
        yield draws[start : start + n_rows].astype(np.int64, copy=False)


def agreed_partition(draws: IntArray) -> tuple[IntArray, FloatArray]:
    """Return a partition that draws of many items agree on, and the share of draws that agree with it, item by item.

    The first step takes the visited partition of least expected variation of information. Clusters of every draw are
    then matched with clusters of this partition, and each item goes to the cluster in which most draws have it. For a
    million items, `minimise_expected_vi`, which moves single items, would take too long.

    Parameters
    ----------
    draws : ndarray of int, shape (n_draws, n_items)
        Sampled partitions, each numbered without gaps, of any type of integers. At most 50 are used, evenly spaced.

    Returns
    -------
    labels : ndarray of shape (n_items,)
        Numbered by decreasing size of the cluster.
    share : ndarray of shape (n_items,)

    Examples
    --------
    >>> draws = np.array([[0, 0, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 1, 1]])
    >>> labels, share = agreed_partition(draws)
    >>> labels, share.round(2)
    (array([1, 1, 0, 0, 0]), array([1.  , 1.  , 0.67, 1.  , 1.  ]))
    """
    chosen = _evenly(draws, _MAX_LARGE_DRAWS)
    candidates = _evenly(chosen, _MAX_LARGE_CANDIDATES).astype(np.int64)
    best = candidates[np.argmin(_expected_vi(candidates, chosen))]
    votes = np.zeros((int(best.max()) + 1, draws.shape[1]), dtype=np.min_scalar_type(len(chosen)))
    for draw in chosen:
        cluster = _matched_clusters(draw.astype(np.int64), best)[draw]
        votes[cluster, np.arange(draws.shape[1])] += cluster >= 0
    labels = votes.argmax(axis=0)
    return relabel_by_size(labels), votes.max(axis=0) / len(chosen)


def _evenly(draws: IntArray, most: int) -> IntArray:
    """Return at most a given number of draws, evenly spaced."""
    return draws[np.unique(np.linspace(0, len(draws) - 1, most).astype(int))]


def _matched_clusters(labels: IntArray, reference: IntArray) -> IntArray:
    """Return for every cluster of a partition the one of another that it shares most with, one to one; -1 for none."""
    shape = int(labels.max()) + 1, int(reference.max()) + 1
    overlaps = np.bincount(labels * shape[1] + reference, minlength=shape[0] * shape[1]).reshape(shape)
    matched = np.full(shape[0], -1)
    rows, columns = linear_sum_assignment(overlaps, maximize=True)
    matched[rows] = columns
    return matched


def size_entropy(labels: IntArray) -> float:
    """Return the entropy, in bits, of the shares of items that clusters have; labels are numbers from zero.

    Examples
    --------
    >>> size_entropy(np.array([0, 0, 1, 1])), size_entropy(np.array([0, 0, 0]))
    (1.0, 0.0)
    """
    sizes = np.bincount(labels)
    shares = sizes[sizes > 0] / len(labels)
    return abs(float((shares * np.log2(shares)).sum()))  # never minus zero


def relabel_by_size(labels: ArrayLike) -> IntArray:
    """Return the same partition with clusters numbered by decreasing size, ties by first appearance."""
    _, first, inverse, counts = np.unique(
        np.asarray(labels), return_index=True, return_inverse=True, return_counts=True
    )
    rank = np.empty(len(counts), dtype=np.int64)
    rank[np.lexsort((first, -counts))] = np.arange(len(counts))
    return rank[inverse]


def membership(coclustering: FloatArray, labels: IntArray) -> FloatArray:
    """Return the mean co-clustering of each item with the other members of its cluster.

    Parameters
    ----------
    coclustering : ndarray of shape (n_items, n_items)
    labels : ndarray of shape (n_items,)

    Returns
    -------
    probability : ndarray of shape (n_items,)
        An item alone in its cluster has no other members; for it, one less its largest co-clustering with any item.

    Examples
    --------
    >>> together = np.array([[1.0, 0.9, 0.2], [0.9, 1.0, 0.1], [0.2, 0.1, 1.0]])
    >>> membership(together, np.array([0, 0, 1]))
    array([0.9, 0.9, 0.8])
    """
    others = coclustering - np.diag(np.diagonal(coclustering))
    sizes = np.bincount(labels)[labels]
    shared = np.where(labels[:, None] == labels, others, 0.0).sum(axis=1)
    return np.asarray(np.where(sizes > 1, shared / np.maximum(sizes - 1, 1), 1 - others.max(axis=1)))


def named_after(truth: IntArray, labels: IntArray) -> IntArray:
    """Return labels renumbered by the best one-to-one matching with classes.

    Parameters
    ----------
    truth, labels : ndarray of shape (n_items,)
        Numbered 0, 1, ...

    Returns
    -------
    renumbered : ndarray of shape (n_items,)
        Labels that are left over have numbers no class has.

    Examples
    --------
    >>> named_after(np.array([0, 0, 1, 1]), np.array([2, 2, 0, 1]))
    array([0, 0, 1, 2])
    """
    overlaps = np.zeros((labels.max() + 1, truth.max() + 1), dtype=np.int64)
    np.add.at(overlaps, (labels, truth), 1)
    numbers = np.full(len(overlaps), -1)
    matched, classes = linear_sum_assignment(overlaps, maximize=True)
    numbers[matched] = classes
    left = np.flatnonzero(numbers < 0)
    numbers[left] = overlaps.shape[1] + np.arange(len(left))
    return np.asarray(numbers[labels])
