"""Point estimate of a segmentation from many draws, and the uncertainty of its parts.

Recordings are long and sampled paths change rarely, so neighbouring steps that every path labels alike are treated as
one item with a weight. Nothing here needs memory for all pairs of steps, and nothing depends on how states are
numbered.

Throughout, `draws` is a list with one integer array of shape (n_steps,) for each kept sweep, the paths of all
recordings one after the other; recording ``i`` takes steps ``starts[i]`` to ``starts[i + 1]``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.arrays import check_count
from homothety.errors import InputError
from homothety.summaries.partitions import MAX_POLISHING_SWEEPS, relabel_by_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.sampling.trace import RunPath


@dataclass(frozen=True, eq=False)
class PathDraws:
    """Many paths over the same steps, stored as runs of equal states to save memory and disk space.

    Parameters
    ----------
    labels, lengths : ndarray of int, shape (n_runs of all draws,)
    ends : ndarray of int, shape (n_draws,)
        Where the runs of each draw end.
    """

    labels: IntArray
    lengths: IntArray
    ends: IntArray

    @classmethod
    def of(cls, paths: Sequence[RunPath]) -> PathDraws:
        """Collect paths given as runs."""
        labels = np.concatenate([path.labels for path in paths])
        lengths = np.concatenate([path.lengths for path in paths])
        return cls(labels, lengths, np.cumsum([len(path.labels) for path in paths]))

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, draw: int) -> IntArray:
        """Return one path, step by step."""
        draw = range(len(self))[draw]
        runs = slice(int(self.ends[draw - 1]) if draw else 0, int(self.ends[draw]))
        return np.repeat(self.labels[runs], self.lengths[runs]).astype(np.int32)

    def __iter__(self) -> Iterator[IntArray]:
        return (self[draw] for draw in range(len(self)))


# Visited segmentations compared with all draws before the best one is polished. Polishing leaves little of what is
# between the best of them and the best of all.
_MAX_CANDIDATES = 50

# Bits per step and draw by which a state must be better than all others to be left alone while the others settle.
_CLEAR_MARGIN = 0.2

_MIN_GAIN = 1e-9  # likewise, for a move to count: rounding gains less

_MAX_TABLES = 64  # kept at a time, one for each number of steps an item may have


class Segment(NamedTuple):
    """Successive steps of a recording with one label, from step `start` up to but without `end`.

    Steps are counted in the recording. The label is a state, or an action where segments of actions are meant.
    """

    series: int
    start: int
    end: int
    label: int
    probability: float | None


class BoundaryInterval(NamedTuple):
    """A reported change at `step` of a recording, and an interval for it, from `low` to `high` inclusive.

    All three are steps that may be the first of the new state. `share` is the share of draws that have this change; if
    it is zero, there is no interval.
    """

    series: int
    step: int
    low: int | None
    high: int | None
    share: float


def change_probability(draws: Sequence[ArrayLike], starts: ArrayLike) -> FloatArray:
    """Return the share of draws whose state changes between a step and the one before.

    Parameters
    ----------
    draws : sequence of array_like of shape (n_steps,)
    starts : array_like of shape (n_recordings + 1,)

    Returns
    -------
    share : ndarray of shape (n_steps,)
        Zero at the first step of every recording. Where only some steps are used, draws have their changes midway
        between two used steps, and the share there is that of a change anywhere between these two.

    Examples
    --------
    >>> change_probability([[0, 0, 1, 1, 1], [0, 1, 1, 1, 1]], [0, 3, 5])
    array([0. , 0.5, 0.5, 0. , 0. ])
    """
    paths = _check_paths(draws)
    bounds = _check_starts(starts, len(paths[0]))
    total = np.zeros(len(paths[0]))
    for path in paths:
        total += _is_change(path, bounds)
    return total / len(paths)


def boundary_intervals(
    path: ArrayLike, draws: Sequence[ArrayLike], starts: ArrayLike, level: float = 0.9, stride: int = 1
) -> list[BoundaryInterval]:
    """Return a credible interval for every change of a reported path.

    Parameters
    ----------
    path : array_like of shape (n_steps,)
        The segmentation that is reported.
    draws : sequence of array_like of shape (n_steps,)
    starts : array_like of shape (n_recordings + 1,)
    level : float, default=0.9
        Least posterior probability that an interval holds.
    stride : int, default=1
        Number of steps from one used step to the next, see `looks_around`. No interval has fewer steps.

    Returns
    -------
    intervals : list of BoundaryInterval
        In the order of recordings and steps, which are counted inside their recordings.

    Notes ----- The position of a reported change in a draw is the draw's nearest change inside the two segments that
    meet there, their outer ends left out; of two equally near the earlier. A draw has the states of used steps only, so
    its change is equally probable at each of the `stride` steps after one used step and up to the next. The interval is
    the shortest one of at least `stride` steps that holds `level` of the average over draws; of equally short ones, the
    one that holds most. Draws without a change there do not count, and `share` says how many have one: read an interval
    only where the share is high. The interval says where the change is if there is one, whichever states the draw
    changes between.

    Examples
    --------
    >>> boundary_intervals([0, 0, 0, 1, 1, 1], [[0, 0, 1, 1, 1, 1], [5, 5, 5, 5, 5, 7], [0, 0, 0, 0, 0, 0]], [0, 6])
    [BoundaryInterval(series=0, step=3, low=2, high=5, share=0.666...)]
    """
    if not 0 < level < 1:
        raise InputError(f"level is {level}, needed a share between 0 and 1.")
    point, *paths = _check_point(path, draws)
    bounds, stride = _check_starts(starts, len(point)), check_count(stride, "stride")
    edges = _segment_edges(point, bounds)
    # Edges of segments that are no recording's ends are the reported changes; their neighbours limit the search.
    inner = ~np.isin(edges, bounds)
    windows = edges[np.flatnonzero(inner)[:, None] + [-1, 0, 1]]
    found = np.stack([_nearest_changes(one, bounds, windows) for one in paths])
    series = np.searchsorted(bounds, windows[:, 1], side="right") - 1
    return [
        _interval(int(i), int(step - bounds[i]), positions[positions >= 0] - bounds[i], len(paths), level, stride)
        for i, step, positions in zip(series, windows[:, 1], found.T, strict=True)
    ]


def segments_table(path: ArrayLike, starts: ArrayLike, probability: ArrayLike | None = None) -> list[Segment]:
    """Return a path as a list of segments.

    Parameters
    ----------
    path : array_like of shape (n_steps,)
    starts : array_like of shape (n_recordings + 1,)
    probability : array_like of shape (n_steps,), optional
        How sure the state of each step is, see `state_probability`; a segment has the mean over its steps.

    Returns
    -------
    segments : list of Segment

    Examples
    --------
    >>> for segment in segments_table([4, 4, 2, 2, 2], [0, 4, 5], [1.0, 1.0, 0.5, 0.7, 1.0]):
    ...     print(*segment)
    0 0 2 4 1.0
    0 2 4 2 0.6
    1 0 1 2 1.0
    """
    (point,) = _check_paths([path])
    bounds = _check_starts(starts, len(point))
    edges = _segment_edges(point, bounds)
    series = np.searchsorted(bounds, edges[:-1], side="right") - 1
    sure: list[float | None] = [None] * len(series)
    if probability is not None:
        sure = (np.add.reduceat(_check_per_step(probability, len(point)), edges[:-1]) / np.diff(edges)).tolist()
    return [
        Segment(int(i), int(start - bounds[i]), int(end - bounds[i]), int(point[start]), mean)
        for i, (start, end), mean in zip(series, pairwise(edges), sure, strict=True)
    ]


def colabelling(
    draws: Sequence[ArrayLike],
    rows: ArrayLike,
    columns: ArrayLike,
    starts: ArrayLike | None = None,
    stride: int = 1,
) -> FloatArray:
    """Return the probability that two steps are in one state, for chosen steps: a mean over draws.

    Parameters
    ----------
    draws : sequence of array_like of shape (n_steps,)
    rows, columns : array_like of int of shape (n_rows,) and (n_columns,)
        Steps, counted over all recordings.
    starts : array_like of shape (n_recordings + 1,), optional
        Needed if `stride` is not 1.
    stride : int, default=1
        Number of steps from one look to the next, see `looks_around`. Steps between two looks of different states are
        in either state, with probabilities that change evenly from one look to the other.

    Returns
    -------
    probability : ndarray of shape (n_rows, n_columns)

    Examples
    --------
    >>> colabelling([[0, 0, 1], [0, 1, 1]], rows=[0], columns=[0, 1, 2])
    array([[1. , 0.5, 0. ]])
    """
    paths = _check_paths(draws)
    n_steps = len(paths[0])
    of_rows, of_columns = (_check_steps(steps, n_steps) for steps in (rows, columns))
    looks = looks_around(_check_starts([0, n_steps] if starts is None else starts, n_steps), stride)
    first, last, later = (values[of_rows][:, None] for values in looks)
    other_first, other_last, other_later = (values[of_columns] for values in looks)
    # Two steps between the same used steps are separated only by a change between these two steps.
    is_same = first == other_first
    unparted = 1 - np.abs(later - other_later)
    total = np.zeros(is_same.shape)
    for path in paths:
        a, b, c, d = path[first], path[last], path[other_first], path[other_last]
        apart = (1 - later) * ((1 - other_later) * (a == c) + other_later * (a == d))
        apart += later * ((1 - other_later) * (b == c) + other_later * (b == d))
        total += np.where(is_same, np.where(a == b, 1.0, unparted), apart)
    return total / len(paths)


def state_probability(
    path: ArrayLike, draws: Sequence[ArrayLike], starts: ArrayLike | None = None, stride: int = 1
) -> FloatArray:
    """Return the probability of the reported state of each step: the mean over draws.

    Parameters
    ----------
    path : array_like of shape (n_steps,)
        The segmentation that is reported.
    draws : sequence of array_like of shape (n_steps,)
    starts : array_like of shape (n_recordings + 1,), optional
        Needed if `stride` is not 1.
    stride : int, default=1
        Number of steps from one look to the next, see `looks_around`. Steps between two looks of different states are
        in either state, with probabilities that change evenly from one look to the other.

    Returns
    -------
    probability : ndarray of shape (n_steps,)

    Notes
    -----
    States of a draw are matched to states of the path one to one, such that as many steps as possible agree; numbers of
    states play no part. A state of a draw that is left over agrees with nothing: where a draw has split a state in two,
    the smaller part counts against it.

    Examples
    --------
    >>> state_probability([0, 0, 0, 1, 1], [[7, 7, 7, 3, 3], [1, 1, 0, 0, 0]])
    array([1. , 1. , 0.5, 1. , 1. ])
    >>> state_probability([0, 0, 1, 1], [[0, 0, 1, 1]], [0, 4], stride=3).round(2)
    array([1.  , 0.67, 0.67, 1.  ])
    """
    checked = _check_point(path, draws)
    n_steps = len(checked[0])
    runs = _Runs.of(checked)
    before, after, weight = looks_around(_check_starts([0, n_steps] if starts is None else starts, n_steps), stride)
    run_of_step = np.repeat(np.arange(len(runs.weights)), runs.weights)
    near = np.flatnonzero(run_of_step[before] != run_of_step[after])  # steps next to a change in some path
    point, total, of_near = runs.labels[0], np.zeros(len(runs.weights)), np.zeros(len(near))
    reported, weight = point[run_of_step[near]], weight[near]
    of_before, of_after = run_of_step[before[near]], run_of_step[after[near]]
    for labels in runs.labels[1:]:
        renamed = _matched(labels, point, runs.weights)
        total += renamed == point
        of_near += (1 - weight) * (renamed[of_before] == reported) + weight * (renamed[of_after] == reported)
    probability = np.repeat(total, runs.weights)
    probability[near] = of_near
    return probability / (len(runs.labels) - 1)


def minimise_expected_vi_paths(draws: Sequence[ArrayLike], *, max_candidates: int = _MAX_CANDIDATES) -> IntArray:
    """Return the segmentation of least expected variation of information under the draws.

    The best of the visited segmentations (an even selection of `max_candidates` of them) is polished: steps that all
    draws label alike are moved together to another state, or to one of their own, as long as that brings the
    segmentation nearer to the draws on average. The result is a local minimum, never farther from the draws than the
    best of those compared.

    Parameters
    ----------
    draws : sequence of array_like of shape (n_steps,)
    max_candidates : int, default=50
        How many of the visited segmentations to compare.

    Returns
    -------
    path : ndarray of shape (n_steps,)
        States are numbered by decreasing number of steps, ties by first appearance. They stand for the same state in
        all recordings.

    Examples
    --------
    >>> minimise_expected_vi_paths([[0, 0, 1, 1, 1], [4, 4, 3, 3, 3], [0, 1, 1, 1, 1]])
    array([1, 1, 0, 0, 0])
    """
    runs = _Runs.of(_check_paths(draws))
    chosen = np.unique(np.linspace(0, len(draws) - 1, max_candidates).astype(np.int64))
    candidates = np.unique(runs.labels[chosen], axis=0)
    best = candidates[_expected_vi(candidates, runs).argmin()]
    atoms, atom_of_run = runs.merged()
    labels = np.empty(len(atoms.weights), dtype=np.int64)
    labels[atom_of_run] = best
    return relabel_by_size(np.repeat(_polished(labels, atoms)[atom_of_run], runs.weights))


def expected_vi_paths(paths: Sequence[ArrayLike], draws: Sequence[ArrayLike]) -> FloatArray:
    """Return the mean variation of information, in bits, of each path to the draws, shape (n_paths,).

    Examples
    --------
    >>> expected_vi_paths([[0, 0, 1, 1], [0, 0, 0, 0]], [[5, 5, 2, 2], [5, 5, 2, 2]])
    array([0., 1.])
    """
    runs = _Runs.of(_check_paths([*paths, *draws]))
    return _expected_vi(runs.labels[: len(paths)], _Runs(runs.labels[len(paths) :], runs.weights))


@dataclass(frozen=True, eq=False)
class _Runs:
    """Paths over items that stand for several steps each.

    Attributes
    ----------
    labels : ndarray of shape (n_paths, n_items)
        Numbered 0, 1, ... in each row.
    weights : ndarray of shape (n_items,)
        Number of steps of each item.
    """

    labels: NDArray[np.int32]
    weights: IntArray

    @classmethod
    def of(cls, paths: list[IntArray]) -> _Runs:
        """Join neighbouring steps that have equal labels in every path; items are in the order of steps."""
        n_steps = len(paths[0])
        is_first = np.zeros(n_steps, dtype=bool)
        is_first[0] = True
        for path in paths:
            is_first[1:] |= path[1:] != path[:-1]
        firsts = np.flatnonzero(is_first)
        labels = np.stack([np.unique(path[firsts], return_inverse=True)[1].astype(np.int32) for path in paths])
        return cls(labels, np.diff(firsts, append=n_steps))

    def merged(self) -> tuple[_Runs, IntArray]:
        """Join all items that have equal labels in every path; also return the new item of each old one."""
        columns = np.ascontiguousarray(self.labels.T)
        # As one opaque value per column they are compared byte by byte, much faster than as rows of numbers.
        opaque = columns.view(np.dtype((np.void, columns.itemsize * columns.shape[1]))).ravel()
        _, first, atom_of_run = np.unique(opaque, return_index=True, return_inverse=True)
        weights = np.bincount(atom_of_run, self.weights).astype(np.int64)
        return _Runs(self.labels[:, first], weights), atom_of_run

    def numbered_apart(self) -> IntArray:
        """Return labels with state numbers that are unique over all paths, shape (n_paths, n_items)."""
        n_states = self.labels.max(axis=1).astype(np.int64) + 1
        return self.labels + (np.cumsum(n_states) - n_states)[:, None]


def _expected_vi(candidates: NDArray[np.int32], draws: _Runs) -> FloatArray:
    """Return the mean variation of information, in bits, of each candidate (a row over the items of `draws`).

    With x log2(x) summed over sizes of states and over overlaps of a state of each path, it is sizes plus drawn sizes
    minus twice the overlaps, over the number of steps.
    """
    n_draws, n_steps = len(draws.labels), int(draws.weights.sum())
    segments = _DrawnSegments.of(draws)
    totals = np.array([n_draws * _entropy(np.bincount(row, draws.weights)) for row in candidates])
    totals += _entropy(segments.overlaps(np.zeros(len(draws.weights), dtype=np.int32), draws.weights))
    totals -= [2 * _entropy(segments.overlaps(row, draws.weights)) for row in candidates]
    # Rounding may leave a tiny negative number where all agree.
    return np.maximum(totals / (n_steps * n_draws), 0)


@dataclass(frozen=True, eq=False)
class _DrawnSegments:
    """Segments of all draws, over items, sorted by the state of the draw they belong to.

    A sampled path has far fewer segments than all paths together have items, so overlaps are sums of differences of
    cumulative weights over segments.
    """

    starts: IntArray  # (n_segments,)
    ends: IntArray  # (n_segments,)
    state_starts: IntArray  # (n_states of all draws together,) first segment of each

    @classmethod
    def of(cls, draws: _Runs) -> _DrawnSegments:
        """Find the segments of the draws."""
        n_items = len(draws.weights)
        flat = draws.numbered_apart().ravel()  # a change of draw is a change of state too
        firsts = np.flatnonzero(np.diff(flat, prepend=-1))
        lasts = np.append(firsts[1:], len(flat)) - 1
        order = np.argsort(flat[firsts], kind="stable")
        state_starts = np.flatnonzero(np.diff(flat[firsts][order], prepend=-1))
        return cls((firsts % n_items)[order], (lasts % n_items + 1)[order], state_starts)

    def overlaps(self, labels: NDArray[np.int32], weights: IntArray) -> IntArray:
        """Return how many steps each state of the labels shares with each state of each draw, in any order."""
        table = np.zeros((len(self.state_starts), int(labels.max()) + 1), dtype=np.int64)
        for k in range(table.shape[1]):
            cumulative = np.concatenate([[0], np.cumsum(np.where(labels == k, weights, 0))])
            table[:, k] = np.add.reduceat(cumulative[self.ends] - cumulative[self.starts], self.state_starts)
        return table


def _polished(labels: IntArray, draws: _Runs) -> IntArray:
    """Move single items to the state that lowers the expected variation of information most, until none does.

    Items clearly at home are left in peace until the others have settled; at the end all are asked once more.
    """
    polisher = _Polisher.of(labels, draws)
    everyone = np.arange(len(labels))
    visited = everyone
    for _ in range(MAX_POLISHING_SWEEPS):
        margins = np.array([polisher.settle(i) for i in visited.tolist()])
        if (margins >= 0).all():
            if visited is everyone:
                break
            visited = everyone
        else:
            visited = visited[margins < _CLEAR_MARGIN]
    return polisher.labels


@dataclass(eq=False)
class _Polisher:
    """A partition of items and how it overlaps with each draw, kept up to date while items move.

    Attributes
    ----------
    labels, weights : ndarray of shape (n_items,)
        State of each item, and its number of steps.
    sizes : ndarray of shape (n_states + 1,)
        Steps of each state. The last is empty, on offer for items that are better off alone.
    overlaps : ndarray of shape (n_drawn_states of all draws together, n_states + 1)
        Steps that each state of each draw shares with each state.
    drawn : ndarray of shape (n_items, n_draws)
        Rows of `overlaps` an item counts in, one for each draw.
    terms : ndarray of shape (n_steps + 1,)
        Table of x log2(x).
    """

    labels: IntArray
    weights: IntArray
    sizes: IntArray
    overlaps: IntArray
    drawn: IntArray
    terms: FloatArray
    _rises: dict[int, FloatArray] = field(default_factory=dict)

    @classmethod
    def of(cls, labels: IntArray, draws: _Runs) -> _Polisher:
        """Count the overlaps of a partition with the draws."""
        n_states, drawn = int(labels.max()) + 2, draws.numbered_apart()
        overlaps = np.zeros((int(drawn.max()) + 1, n_states), dtype=np.int64)
        for row in drawn:
            np.add.at(overlaps, (row, labels), draws.weights)
        sizes = np.bincount(labels, draws.weights, n_states).astype(np.int64)
        by_item = np.ascontiguousarray(drawn.T)
        return cls(labels.copy(), draws.weights, sizes, overlaps, by_item, _entropy_terms(int(sizes.sum())))

    def settle(self, i: int) -> float:
        """Move an item to its best state, and return the advantage of its old state over all others.

        In bits per step and draw; negative if it moved.
        """
        old, n_draws, weight = int(self.labels[i]), self.drawn.shape[1], int(self.weights[i])
        sizes, shared = self.sizes.copy(), self.overlaps.take(self.drawn[i], axis=0)
        sizes[old] -= weight
        shared[:, old] -= weight
        rise = self._rise_by(weight)
        rises = n_draws * rise.take(sizes) - 2 * rise.take(shared).sum(axis=0)
        best, second = rises.argsort()[:2].tolist()
        rival = best if best != old else second
        margin = float(rises[rival] - rises[old]) / (weight * n_draws)
        if margin >= -_MIN_GAIN:
            return max(margin, 0.0)
        self._move(i, old, rival)
        return margin

    def _move(self, i: int, old: int, new: int) -> None:
        """Take an item's steps from one state to another."""
        self.labels[i] = new
        for state, weight in ((old, -self.weights[i]), (new, self.weights[i])):
            self.sizes[state] += weight
            self.overlaps[self.drawn[i], state] += weight
        if self.sizes[-1] > 0:  # the empty state was taken: offer another
            self.sizes, self.overlaps = np.append(self.sizes, 0), np.pad(self.overlaps, ((0, 0), (0, 1)))

    def _rise_by(self, weight: int) -> FloatArray:
        """Return the increase of x log2(x) when `weight` is added to x, for x = 0, 1, ..."""
        if weight not in self._rises:
            if len(self._rises) == _MAX_TABLES:
                self._rises.clear()
            self._rises[weight] = self.terms[weight:] - self.terms[:-weight]
        return self._rises[weight]


def _matched(labels: NDArray[np.int32], point: NDArray[np.int32], weights: IntArray) -> IntArray:
    """Return labels renamed to those of `point` by the best one-to-one matching; unmatched labels are -1."""
    from scipy.optimize import linear_sum_assignment

    n_states, n_point = int(labels.max()) + 1, int(point.max()) + 1
    table = np.bincount(labels * n_point + point, weights, n_states * n_point).reshape(n_states, n_point)
    states, partners = linear_sum_assignment(table, maximize=True)
    renamed = np.full(n_states, -1)
    renamed[states] = partners
    return renamed[labels]


def _entropy_terms(n_steps: int) -> FloatArray:
    """Return a table of x log2(x) for x = 0, ..., n_steps."""
    counts = np.arange(n_steps + 1)
    return np.asarray(counts * np.log2(np.maximum(counts, 1)))


def _entropy(counts: NDArray[np.integer] | FloatArray) -> float:
    """Return x log2(x) summed over counts."""
    return float((counts * np.log2(np.maximum(counts, 1))).sum())


def _is_change(path: IntArray, bounds: IntArray) -> BoolArray:
    """Return at which steps the state differs from that of the step before in the same recording."""
    is_change = np.diff(path, prepend=path[:1]) != 0
    is_change[bounds[:-1]] = False
    return is_change


def _segment_edges(path: IntArray, bounds: IntArray) -> IntArray:
    """Return the first steps of all segments, and the end of the last; segments end with their recordings."""
    return np.union1d(np.flatnonzero(_is_change(path, bounds)), bounds)


def _nearest_changes(path: IntArray, bounds: IntArray, windows: IntArray) -> IntArray:
    """Return the change nearest to the middle of each window (before, middle, after), -1 if none is inside."""
    changes = np.flatnonzero(_is_change(path, bounds))
    padded = np.concatenate([[-1], changes, [len(path)]])  # what is added lies outside of every window
    start, middle, end = windows.T
    place = np.searchsorted(changes, middle)  # of the first change at or after the middle
    before, after = padded[place], padded[place + 1]
    is_before, is_after = before > start, after < end
    takes_before = is_before & (~is_after | (middle - before <= after - middle))
    return np.where(takes_before, before, np.where(is_after, after, -1))


def _interval(series: int, step: int, positions: IntArray, n_draws: int, level: float, stride: int) -> BoundaryInterval:
    """Return the shortest interval, at least `stride` wide, for a change of given positions in the draws that have it.

    A position is midway between two used steps, where `Preprocessing.expand` puts it; the change is anywhere between
    them.
    """
    if len(positions) == 0:
        return BoundaryInterval(series, step, None, None, 0.0)
    first = int(positions.min()) + stride // 2 - stride + 1
    counts = np.convolve(np.bincount(positions - positions.min()), np.ones(stride, dtype=np.int64))
    below = np.concatenate([[0], np.cumsum(counts)])  # (n_steps + 1,) in units of a draw and a step
    needed = level * below[-1] - 1e-9
    ends = np.searchsorted(below, below + needed)
    starts = np.flatnonzero(ends < len(below))
    ends = np.maximum(ends[starts], starts + stride)
    starts, ends = starts[ends < len(below)], ends[ends < len(below)]
    best = np.lexsort((starts, below[starts] - below[ends], ends - starts))[0]
    return BoundaryInterval(
        series, step, first + int(starts[best]), first + int(ends[best]) - 1, len(positions) / n_draws
    )


def looks_around(starts: ArrayLike, stride: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Return for every step the used steps before and after it, and the weight of the later one.

    Of every recording, the first step and every `stride`-th after it is used. A change between two used steps is
    equally probable at every step after the first of them and up to the second.

    Parameters
    ----------
    starts : array_like of shape (n_recordings + 1,)
    stride : int

    Returns
    -------
    before, after : ndarray of int, shape (n_steps,)
        Used steps, counted over all recordings; `before` is the step itself if it is used, and both are the last used
        step of a recording for steps after that.
    weight : ndarray of shape (n_steps,)
        Probability that a change between the two used steps is at this step or before it.

    Examples
    --------
    >>> before, after, weight = looks_around([0, 5], 3)
    >>> before, after, weight.round(2)
    (array([0, 0, 0, 3, 3]), array([3, 3, 3, 3, 3]), array([0.  , 0.33, 0.67, 0.  , 0.  ]))
    """
    bounds, stride = np.asarray(starts), check_count(stride, "stride")
    begin, end = (np.repeat(side, np.diff(bounds)) for side in (bounds[:-1], bounds[1:]))
    steps = np.arange(bounds[-1])
    before = steps - (steps - begin) % stride
    after = np.where(before + stride < end, before + stride, before)
    return before, after, np.where(after > before, (steps - before) / stride, 0.0)


def _check_paths(paths: Sequence[ArrayLike]) -> list[IntArray]:
    """Return paths as integer arrays of one length, or raise naming the one that is not."""
    checked = [np.asarray(path) for path in paths]
    if not checked:
        raise InputError("draws is empty, needed at least one sampled path.")
    for d, path in enumerate(checked):
        if path.ndim != 1 or path.dtype.kind not in "iu" or len(path) == 0:
            raise InputError(
                f"Path {d} has shape {path.shape} and type {path.dtype}, needed whole numbers of shape (n_steps,)."
            )
        if len(path) != len(checked[0]):
            raise InputError(f"Path {d} has {len(path)} steps but the first has {len(checked[0])}.")
    return checked


def _check_point(path: ArrayLike, draws: Sequence[ArrayLike]) -> list[IntArray]:
    """Return a path and the draws it is to be compared with, or raise if there are none."""
    return _check_paths([path, *_check_paths(draws)])


def _check_starts(starts: ArrayLike, n_steps: int) -> IntArray:
    """Return where recordings begin, and the end of the last, or raise unless they cover all steps."""
    bounds = np.asarray(starts)
    is_cover = bounds.ndim == 1 and len(bounds) > 1 and bounds[0] == 0 and bounds[-1] == n_steps
    if not is_cover or bounds.dtype.kind not in "iu" or (np.diff(bounds) < 1).any():
        raise InputError(
            f"starts is {starts!r}, needed ascending whole numbers from 0 to {n_steps}, the steps there are."
        )
    return bounds.astype(np.int64)


def _check_steps(steps: ArrayLike, n_steps: int) -> IntArray:
    """Return steps, or raise naming one that is not there."""
    array = np.asarray(steps)
    if array.ndim != 1 or (array.size and (array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= n_steps)):
        raise InputError(f"Steps are {steps!r}, needed whole numbers from 0 to {n_steps - 1}.")
    return array.astype(np.int64)


def _check_per_step(values: ArrayLike, n_steps: int) -> FloatArray:
    """Return one number per step, or raise."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (n_steps,):
        raise InputError(f"probability has shape {array.shape}, needed ({n_steps},): one per step.")
    return array
