"""Agreement of two clusterings: purity, mutual information, F-measure, pair counting.

All metrics are functions of the overlaps between the classes of one labelling and the clusters of the other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from math import comb, isfinite, sqrt
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from homothety.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from homothety.arrays import FloatArray, IntArray

Labels: TypeAlias = Iterable[Any]
"""One label per item, or a list with one array of labels per sequence."""

# Array kinds whose values compare the way Python's do; anything else is told apart by hashing.
_SORTABLE_KINDS = "biuSU"


@dataclass(frozen=True, slots=True, eq=False)
class _Contingency:
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


def count_overlaps(truth: Labels, estimate: Labels) -> _Contingency:
    """Return the overlaps of two labellings of the same items, or raise naming the labelling that cannot be used."""
    true_labels, true_lengths = _join_sequences(truth, "truth")
    estimated_labels, estimated_lengths = _join_sequences(estimate, "estimate")
    _check_same_items(true_lengths, estimated_lengths)
    classes = _codes(true_labels, "truth")
    clusters = _codes(estimated_labels, "estimate")
    n_clusters = int(clusters.max()) + 1
    cells, counts = np.unique(classes * n_clusters + clusters, return_counts=True)
    return _Contingency(
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
    if isinstance(labels, np.ndarray) and labels.dtype.kind in _SORTABLE_KINDS:
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


_Average = Literal["geometric", "arithmetic"]


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


def nmi(truth: Labels, estimate: Labels, *, average: _Average = "geometric") -> float:
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
    if average not in get_args(_Average):
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


def _count_pairs(overlaps: _Contingency) -> tuple[int, int, int, int]:
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


def _mutual_information(overlaps: _Contingency) -> float:
    """Return the mutual information, in nats, of the class and the cluster of an item drawn at random."""
    gains = np.log(overlaps.share_of_class()) - np.log(overlaps.cluster_sizes[overlaps.clusters] / overlaps.n_items)
    return float(overlaps.counts @ gains) / overlaps.n_items
