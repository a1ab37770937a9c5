"""The table of overlaps between two labellings, of which every metric is a function."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from homothety.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from homothety.arrays import FloatArray, IntArray

Labels: TypeAlias = Iterable[Any]
"""One label per item, or a list with one array of labels per sequence."""

# Array kinds whose values compare the way Python's do; anything else is told apart by hashing.
SORTABLE_KINDS = "biuSU"


@dataclass(frozen=True, slots=True, eq=False)
class Contingency:
    """Overlaps of the classes of a truth with the clusters of an estimate.

    Only overlaps that occur are kept, at most one per item, so that two labellings into very many groups cost no more
    memory than the labels do.

    Attributes
    ----------
    classes, clusters : ndarray of shape (n_overlaps,)
        Which class and which cluster meet in each overlap.
    counts : ndarray of shape (n_overlaps,)
        How many items they share, at least one.
    class_sizes : ndarray of shape (n_classes,)
    cluster_sizes : ndarray of shape (n_clusters,)
    """

    classes: IntArray
    clusters: IntArray
    counts: IntArray
    class_sizes: IntArray
    cluster_sizes: IntArray

    @property
    def n_items(self) -> int:
        """Number of labelled items."""
        return int(self.counts.sum())

    def dense(self) -> IntArray:
        """Return the full table, shape (n_classes, n_clusters), zeros included."""
        table = np.zeros((len(self.class_sizes), len(self.cluster_sizes)), dtype=np.int64)
        table[self.classes, self.clusters] = self.counts
        return table

    def n_in_commonest_class(self) -> int:
        """Return how many items belong to the commonest class of their cluster."""
        commonest = np.zeros_like(self.cluster_sizes)
        np.maximum.at(commonest, self.clusters, self.counts)
        return int(commonest.sum())

    def share_of_class(self) -> FloatArray:
        """Return for each overlap the fraction of its class that it holds, shape (n_overlaps,)."""
        return self.counts / self.class_sizes[self.classes]

    def share_of_cluster(self) -> FloatArray:
        """Return for each overlap the fraction of its cluster that it holds, shape (n_overlaps,)."""
        return self.counts / self.cluster_sizes[self.clusters]


def contingency_table(truth: Labels, estimate: Labels) -> IntArray:
    """Count how many items of each class lie in each cluster.

    Parameters
    ----------
    truth, estimate : sequence of n_items labels, or list with one array of labels per sequence
        Any hashable values.

    Returns
    -------
    table : ndarray of shape (n_classes, n_clusters)
        Rows are the distinct true labels, columns the distinct estimated ones: in ascending order, or in order of first
        appearance where labels cannot be compared with each other.

    Examples
    --------
    >>> contingency_table([1, 1, 1, 2, 2], ["a", "a", "b", "b", "b"])
    array([[2, 1],
           [0, 2]])
    """
    return count_overlaps(truth, estimate).dense()


def count_overlaps(truth: Labels, estimate: Labels) -> Contingency:
    """Return the overlaps of two labellings of the same items, or raise naming the labelling that cannot be used."""
    true_labels, true_lengths = _join_sequences(truth, "truth")
    estimated_labels, estimated_lengths = _join_sequences(estimate, "estimate")
    _check_same_items(true_lengths, estimated_lengths)
    classes = _codes(true_labels, "truth")
    clusters = _codes(estimated_labels, "estimate")
    n_clusters = int(clusters.max()) + 1
    cells, counts = np.unique(classes * n_clusters + clusters, return_counts=True)
    return Contingency(
        classes=cells // n_clusters,
        clusters=cells % n_clusters,
        counts=counts.astype(np.int64),
        class_sizes=np.bincount(classes).astype(np.int64),
        cluster_sizes=np.bincount(clusters).astype(np.int64),
    )


def _join_sequences(labels: Labels, name: str) -> tuple[list[Any] | NDArray[Any], list[int]]:
    """Return all labels in one row, and the length of every sequence they came from."""
    if isinstance(labels, np.ndarray):
        _check_one_row(labels, name)
        return labels, [len(labels)]
    items = list(labels)
    # A label is hashable and an array or list of labels is not, so the two can never be confused.
    if not items or _is_hashable(items[0]):
        return items, [len(items)]
    joined: list[Any] = []
    lengths: list[int] = []
    for index, sequence in enumerate(items):
        _check_one_row(sequence, f"{name}[{index}]")
        joined += sequence.tolist() if isinstance(sequence, np.ndarray) else list(sequence)
        lengths.append(len(sequence))
    return joined, lengths


def _check_one_row(labels: Any, name: str) -> None:
    """Raise unless these are the labels of one sequence in a plain row."""
    found = f"has shape {labels.shape}" if isinstance(labels, np.ndarray) else f"is {labels!r}"
    is_row = labels.ndim == 1 if isinstance(labels, np.ndarray) else not _is_hashable(labels)
    if not is_row:
        raise InputError(
            f"{name} {found}, needed a row of labels, one per item. "
            "Several sequences go into a list with one such row for each."
        )


def _is_hashable(value: Any) -> bool:
    """Tell whether a value can be a label."""
    # Asked of the value itself: pandas objects and tuples of lists have a __hash__, but it raises.
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _check_same_items(true_lengths: list[int], estimated_lengths: list[int]) -> None:
    """Raise unless both labellings cover the same, non-empty set of items."""
    n_true, n_estimated = sum(true_lengths), sum(estimated_lengths)
    if n_true != n_estimated:
        raise InputError(f"truth labels {n_true} items and estimate {n_estimated}, needed one label each per item.")
    if n_true == 0:
        raise InputError("truth and estimate are empty, needed at least one labelled item.")
    if len(true_lengths) != len(estimated_lengths):
        return  # one of them is already joined
    for index, (n_in_truth, n_in_estimate) in enumerate(zip(true_lengths, estimated_lengths, strict=True)):
        if n_in_truth != n_in_estimate:
            raise InputError(
                f"sequence {index} has {n_in_truth} labels in truth and {n_in_estimate} in estimate, needed as many. "
                "Give both labellings the same sequences in the same order."
            )


def _codes(labels: list[Any] | NDArray[Any], name: str) -> IntArray:
    """Return labels as integers 0, 1, ...: equal labels get equal codes, ascending where labels can be sorted."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind in SORTABLE_KINDS:
        return np.unique(labels, return_inverse=True)[1].astype(np.int64)
    code_of: dict[Hashable, int] = {}
    codes = np.empty(len(labels), dtype=np.int64)
    for index, label in enumerate(labels.tolist() if isinstance(labels, np.ndarray) else labels):
        if not _is_hashable(label):
            raise InputError(
                f"{name} holds a {type(label).__name__} as label of item {index}, needed a hashable value."
            )
        if label != label:
            raise InputError(f"{name} is NaN for item {index}, needed a label. Drop unlabelled items from both sides.")
        codes[index] = code_of.setdefault(label, len(code_of))
    return _ranks(list(code_of))[codes]


def _ranks(distinct: list[Any]) -> IntArray:
    """Return the place of each of some distinct labels in ascending order; as they come if they cannot be compared."""
    ranks = np.arange(len(distinct), dtype=np.int64)
    try:
        order = sorted(range(len(distinct)), key=distinct.__getitem__)
    except TypeError:
        return ranks
    ranks[order] = np.arange(len(distinct))
    return ranks
