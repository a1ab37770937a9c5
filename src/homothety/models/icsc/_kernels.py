"""Compiled counting of stays, and redrawing of a partition of states by shape, one state at a time."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import inlined, jit

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray


_MOST_POOLED = 6  # states that change groups at once: all 64 ways are compared


class Shapes(NamedTuple):
    """States as points with noise, how often recordings stay in them, and the prior of actions."""

    points: FloatArray  # (n_states, n_coordinates)
    precisions: FloatArray  # (n_states,) one over the variance of each point about the shape of its action
    visits: FloatArray  # (n_recordings, n_states) how often each recording stays in each state
    succession: FloatArray  # (n_states + 1, n_states + 1) how often one follows another; the last is begin and end
    centre_precision: float  # of the shapes of actions about a sphere
    concentration: float
    # Log rising factorials of prior weights, of several at once, by numbers of stays; empty if they say nothing.
    followers: FloatArray  # (n_states + 3, n_stays + 1), of each action, or the end, that may follow one
    versions: FloatArray  # (n_degrees, n_states + 1, n_stays + 1), of a version, for every degree of loyalty to one
    known: IntArray  # (n_states,) known labels of states, each of one state at most; negative where unknown


class Groups(NamedTuple):
    """Sums over the members of every group; as many groups as states, most of them empty."""

    sizes: FloatArray  # (n_states,)
    precisions: FloatArray  # (n_states,)
    weighted: FloatArray  # (n_states, n_coordinates) sums of points times precisions


@jit
def add_stays(path: IntArray, starts: IntArray, visits: FloatArray, succession: FloatArray) -> None:
    """Add how often each recording stays in each state, and how often one follows another; see `count_stays`."""
    n = visits.shape[1]
    for series in range(visits.shape[0]):
        before = n
        for t in range(starts[series], starts[series + 1]):
            if path[t] != before:
                visits[series, path[t]] += 1.0
                succession[before, path[t]] += 1.0
                before = path[t]
        succession[before, n] += 1.0


@jit
def _add_member(k: int, group: int, sign: float, shapes: Shapes, groups: Groups) -> None:
    """Add a state to a group, or take it away."""
    precision = sign * shapes.precisions[k]
    groups.sizes[group] += sign
    groups.precisions[group] += precision
    for a in range(shapes.points.shape[1]):
        groups.weighted[group, a] += precision * shapes.points[k, a]


@inlined
def log_fit(k: int, group: int, shapes: Shapes, groups: Groups) -> float:
    """Log density of the point of a state given the members of a group, which may be empty."""
    n = shapes.points.shape[1]
    known = groups.precisions[group] + shapes.centre_precision
    variance, square = 1.0 / known + 1.0 / shapes.precisions[k], 0.0
    for a in range(n):
        difference = shapes.points[k, a] - groups.weighted[group, a] / known
        square += difference * difference
    return -0.5 * (n * log(2.0 * np.pi * variance) + square / variance)


@jit
def _write_log_weights(k: int, labels: IntArray, shapes: Shapes, groups: Groups, log_weights: FloatArray) -> None:
    """Write how well a state, which is in none, goes into every group; one empty group stands for all of them."""
    n, opened = labels.shape[0], False
    for group in range(n):
        log_weights[group] = -np.inf
        if groups.sizes[group] > 0.5:
            log_weights[group] = log(groups.sizes[group]) + log_fit(k, group, shapes, groups)
            for j in range(n if shapes.known[k] >= 0 else 0):
                if j != k and labels[j] == group and shapes.known[j] >= 0:
                    log_weights[group] = -np.inf
        elif not opened:
            empty(group, groups)
            log_weights[group] = log(shapes.concentration) + log_fit(k, group, shapes, groups)
            opened = True


@jit
def _add_log_order(k: int, labels: IntArray, power: float, shapes: Shapes, log_weights: FloatArray) -> None:
    """Add, to a power, how probable the order of actions is with a state in every group that is open to it.

    What does not depend on the group is left out.
    """
    n, followers = labels.shape[0], shapes.followers
    counts, present = _count_succession(labels, shapes.succession, k)
    after, before = np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)  # groups after it, it after groups
    for j in range(n + 1):
        if j != k:
            other = labels[j] if j < n else n
            after[other] += int(shapes.succession[k, j])
            before[other] += int(shapes.succession[j, k])
    itself = int(shapes.succession[k, k])
    totals, own, n_present = before.copy(), itself, 0
    for j in range(n + 1):
        own += after[j]
        n_present += present[j] if j < n else 0
        for other in range(n + 1):
            totals[j] += counts[j, other]
    for group in range(n):
        if log_weights[group] > -np.inf:
            n_followers = n_present + 1 + (1 - present[group])
            gain = counted(counts[group, group], after[group] + before[group] + itself, followers)
            for other in range(n + 1):
                if other != group:
                    gain += counted(counts[group, other], after[other], followers)
                    gain += counted(counts[other, group], before[other], followers)
                gain -= followers[n_followers, totals[other] + (own if other == group else 0)]
            log_weights[group] += power * gain


@inlined
def counted(before: int, more: int, followers: FloatArray) -> float:
    """Log probability of seeing something so many times more, up to what all of them together are divided by."""
    return followers[1, before + more] - followers[1, before]


@jit
def _add_log_versions(
    k: int, labels: IntArray, power: float, shapes: Shapes, shown: FloatArray, log_weights: FloatArray
) -> None:
    """Add, to a power, how probable the versions are that recordings show, with a state in every group open to it."""
    (n_recordings, n), n_degrees = shapes.visits.shape, shapes.versions.shape[0]
    present = labels[k]
    labels[k] = -1
    sizes, stays, without, log_first = _count_versions(labels, shapes.visits, shapes.versions, shown)
    by_degree = np.empty(n_degrees)
    for group in range(n):
        if log_weights[group] > -np.inf:
            by_degree[:] = without
            first = log_first
            for series in range(n_recordings):
                before, more = stays[series, group], int(shapes.visits[series, k])
                if before + more > 0:
                    first += log(sizes[group] + 1.0) - (log(float(sizes[group])) if before > 0 else 0.0)
                    for degree in range(n_degrees):
                        by_degree[degree] += shapes.versions[degree, sizes[group], before]
                        by_degree[degree] -= shapes.versions[degree, sizes[group] + 1, before + more]
            log_weights[group] += power * (first + _log_mean(by_degree))
    labels[k] = present


@jit
def _weigh_shown(visits: FloatArray, versions: FloatArray) -> FloatArray:
    """Return the log weights of the stays in all states, by degree, whatever their groups are, (n_degrees,)."""
    shown = np.zeros(versions.shape[0])
    for series in range(visits.shape[0]):
        for k in range(visits.shape[1]):
            for degree in range(versions.shape[0]):
                shown[degree] += versions[degree, 1, int(visits[series, k])]
    return shown


@jit
def _count_versions(
    labels: IntArray, visits: FloatArray, versions: FloatArray, shown: FloatArray
) -> tuple[IntArray, IntArray, FloatArray, float]:
    """Count members of groups and stays of recordings in them; states of group -1 are in none.

    `shown` is what `_weigh_shown` returns.

    Returns
    -------
    sizes : ndarray of int, shape (n_states,)
    stays : ndarray of int, shape (n_recordings, n_states)
    by_degree : ndarray of shape (n_degrees,)
        Log probability of the versions shown, but for the first of each.
    log_first : float
        What makes up for those.
    """
    (n_recordings, n), n_degrees = visits.shape, versions.shape[0]
    sizes, stays = np.zeros(n, dtype=np.int64), np.zeros((n_recordings, n), dtype=np.int64)
    by_degree, log_first = shown.copy(), 0.0
    for k in range(n):
        if labels[k] >= 0:
            sizes[labels[k]] += 1
    for series in range(n_recordings):
        for k in range(n):
            if labels[k] >= 0:
                stays[series, labels[k]] += int(visits[series, k])
        for group in range(n):
            if stays[series, group] > 0:
                log_first += log(float(sizes[group]))
                for degree in range(n_degrees):
                    by_degree[degree] -= versions[degree, sizes[group], stays[series, group]]
    return sizes, stays, by_degree, log_first


@inlined
def _log_mean(logs: FloatArray) -> float:
    """Logarithm of the mean of numbers whose logarithms are given."""
    largest, total = logs[0], 0.0
    for value in logs:
        largest = max(largest, value)
    for value in logs:
        total += np.exp(value - largest)
    return largest + log(total / logs.shape[0])


@jit
def _log_order(labels: IntArray, succession: FloatArray, followers: FloatArray) -> float:
    """Log probability of the order of actions: what follows each of them is drawn by unknown, fixed probabilities."""
    n, log_probability = labels.shape[0], 0.0
    counts, present = _count_succession(labels, succession)
    n_followers = present.sum() + 1  # one of the actions, or the end
    for before in range(n + 1):
        for after in range(n + 1):
            log_probability += followers[1, counts[before, after]]
        log_probability -= followers[n_followers, counts[before].sum()]
    return log_probability


@jit
def _log_versions(labels: IntArray, visits: FloatArray, versions: FloatArray) -> float:
    """Log probability of the versions in which recordings show actions, but for the first of each.

    Versions are drawn by unknown probabilities of each recording. In which version a recording shows an action first
    depends on where it was recorded, and is not predicted. How loyal recordings are to a version is unknown too, and
    summed over.
    """
    _, _, by_degree, log_first = _count_versions(labels, visits, versions, _weigh_shown(visits, versions))
    return log_first + _log_mean(by_degree)


@jit
def _count_succession(labels: IntArray, succession: FloatArray, left_out: int = -1) -> tuple[IntArray, IntArray]:
    """Count how often actions follow each other, and mark which of them there are; one state may be left out."""
    n = labels.shape[0]
    counts, present = np.zeros((n + 1, n + 1), dtype=np.int64), np.zeros(n, dtype=np.int64)
    for k in range(n):
        if k != left_out:
            present[labels[k]] = 1
    for before in range(n + 1):
        for after in range(n + 1):
            if succession[before, after] > 0.0 and before != left_out and after != left_out:
                row = labels[before] if before < n else n
                column = labels[after] if after < n else n
                counts[row, column] += int(succession[before, after])
    return counts, present


@inlined
def empty(group: int, groups: Groups) -> None:
    """Clear the sums of a group without members: what is left of them is rounding."""
    groups.sizes[group] = 0.0
    groups.precisions[group] = 0.0
    for a in range(groups.weighted.shape[1]):
        groups.weighted[group, a] = 0.0


@jit
def _draw_by_log_weight(rng: Generator, log_weights: FloatArray) -> int:
    """Draw a position by its weight, of which the logarithm is given; it is replaced by the weight."""
    largest, total = log_weights.max(), 0.0
    for group in range(log_weights.shape[0]):
        log_weights[group] = np.exp(log_weights[group] - largest)
        total += log_weights[group]
    threshold, passed, drawn = rng.random() * total, 0.0, 0
    for group in range(log_weights.shape[0]):
        if log_weights[group] > 0.0 and passed <= threshold:
            passed += log_weights[group]
            drawn = group
    return drawn


@jit
def shuffle(rng: Generator, items: IntArray) -> None:
    """Put items into a random order, in place."""
    for i in range(items.shape[0] - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        items[i], items[j] = items[j], items[i]


@jit
def _log_points(labels: IntArray, shapes: Shapes) -> float:
    """Log density of all points given their groups, whose centres are integrated out."""
    n, n_coordinates = shapes.points.shape
    groups = Groups(np.zeros(n), np.zeros(n), np.zeros((n, n_coordinates)))
    total = 0.0
    for k in range(n):
        total += log_fit(k, labels[k], shapes, groups)
        _add_member(k, labels[k], 1.0, shapes, groups)
    return total


@jit
def log_partition(labels: IntArray, shapes: Shapes, power: float) -> float:
    """Log density of a partition and of all points, the probability of the stays raised to a power.

    Minus infinity if states of different labels share a group.
    """
    for k in range(labels.shape[0]):
        for j in range(k if shapes.known[k] >= 0 else 0):
            if shapes.known[j] >= 0 and labels[j] == labels[k]:
                return -np.inf
    total = _log_points(labels, shapes) + log_prior(labels, shapes)
    if power > 0.0 and shapes.followers.shape[0] > 0:
        total += power * _log_order(labels, shapes.succession, shapes.followers)
    if power > 0.0 and shapes.versions.shape[0] > 0:
        total += power * _log_versions(labels, shapes.visits, shapes.versions)
    return total


@jit
def log_prior(labels: IntArray, shapes: Shapes) -> float:
    """Log prior of a partition, by the Chinese restaurant process, up to a constant."""
    n = labels.shape[0]
    sizes, total = np.zeros(n), 0.0
    for k in range(n):
        group = labels[k]
        total += log(sizes[group]) if sizes[group] > 0.0 else log(shapes.concentration)
        sizes[group] += 1.0
    return total


@jit
def _redraw_two_groups(rng: Generator, labels: IntArray, shapes: Shapes, power: float) -> None:
    """Choose two states and redraw, all at once, how the states of their groups are shared out between the two.

    States that follow each other in a fixed order cannot change groups one at a time: every single change makes the
    order improbable. At most `_MOST_POOLED` states, drawn among the others of the groups, may change. If all of them
    may, both groups may also become one, and one may become two.
    """
    n = labels.shape[0]
    if n < 2:
        return
    one = int(rng.random() * n)
    other = (one + 1 + int(rng.random() * (n - 1))) % n
    pooled, n_pooled = np.empty(n, dtype=np.int64), 0
    for k in range(n):
        if k not in (one, other) and labels[k] in (labels[one], labels[other]):
            pooled[n_pooled] = k
            n_pooled += 1
    may_join = n_pooled <= _MOST_POOLED
    if labels[one] == labels[other] and not may_join:
        return
    shuffle(rng, pooled[:n_pooled])
    n_pooled = min(n_pooled, _MOST_POOLED)
    first, second = int(labels[one]), int(labels[other])
    if first == second:
        second = _first_unused(labels)
    n_splits = 2**n_pooled
    log_weights, trial = np.full(n_splits + 1, -np.inf), labels.copy()
    trial[other] = second
    for split in range(n_splits):
        for j in range(n_pooled):
            trial[pooled[j]] = second if (split >> j) & 1 else first
        log_weights[split] = log_partition(trial, shapes, power)
    if may_join:
        trial[other] = first
        trial[pooled[:n_pooled]] = first
        log_weights[n_splits] = log_partition(trial, shapes, power)
    drawn = _draw_by_log_weight(rng, log_weights)
    labels[other] = first if drawn == n_splits else second
    for j in range(n_pooled):
        labels[pooled[j]] = second if drawn < n_splits and (drawn >> j) & 1 else first


@jit
def _first_unused(labels: IntArray) -> int:
    """Return the first number of a group, below the number of states, that has no members; there must be one."""
    for group in range(labels.shape[0]):
        if not (labels == group).any():
            return group
    return -1


@jit
def redraw_groups(rng: Generator, labels: IntArray, shapes: Shapes, powers: FloatArray) -> None:
    """Redraw the groups of states sweep by sweep: of states one by one given all others, and of two groups at once.

    Parameters
    ----------
    rng : Generator
    labels : ndarray of int, shape (n_states,)
        Groups, numbers below the number of states. Changed in place.
    shapes : Shapes
    powers : ndarray of shape (n_sweeps,)
        Power to which the probability of the stays is raised in each sweep.
    """
    n, n_coordinates = shapes.points.shape
    order: IntArray = np.arange(n)
    log_weights, shown = np.empty(n), _weigh_shown(shapes.visits, shapes.versions)
    for power in powers:
        _redraw_two_groups(rng, labels, shapes, power)
        groups = Groups(np.zeros(n), np.zeros(n), np.zeros((n, n_coordinates)))
        for k in range(n):
            _add_member(k, labels[k], 1.0, shapes, groups)
        shuffle(rng, order)
        for k in order:
            _add_member(k, labels[k], -1.0, shapes, groups)
            _write_log_weights(k, labels, shapes, groups, log_weights)
            if power > 0.0 and shapes.followers.shape[0] > 0:
                _add_log_order(k, labels, power, shapes, log_weights)
            if power > 0.0 and shapes.versions.shape[0] > 0:
                _add_log_versions(k, labels, power, shapes, shown, log_weights)
            labels[k] = _draw_by_log_weight(rng, log_weights)
            _add_member(k, labels[k], 1.0, shapes, groups)
