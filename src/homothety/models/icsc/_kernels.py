"""Compiled redrawing of a partition of states by shape, one state at a time."""

from __future__ import annotations

from math import lgamma, log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import inlined, jit

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray


class Shapes(NamedTuple):
    """States as points with noise, when series stay in them, and the prior of actions."""

    points: FloatArray  # (n_states, n_coordinates)
    precisions: FloatArray  # (n_states,) one over the variance of each point about the shape of its action
    visits: FloatArray  # (n_series, n_states) how often each series stays in each state
    succession: FloatArray  # (n_states + 1, n_states + 1) how often one follows another; the last is begin and end
    centre_precision: float  # of the shapes of actions about a sphere
    concentration: float  # zero if there are no actions but those that have members
    followers: float  # prior weight of each action, or the end, that may follow one; zero if order says nothing
    # Log rising factorials of prior weights of a version, of several at once, by numbers of stays: one table for every
    # degree of loyalty of series to a version, (n_degrees, n_states + 1, n_stays + 1). Empty if versions say nothing.
    versions: FloatArray
    stays_count: float = 1.0  # power to which the probability of the stays is raised: less while a start is sought


class Groups(NamedTuple):
    """Sums over the members of every group; as many groups as states, most of them empty."""

    sizes: FloatArray  # (n_states,)
    precisions: FloatArray  # (n_states,)
    weighted: FloatArray  # (n_states, n_coordinates) sums of points times precisions


@jit
def add_member(k: int, group: int, sign: float, shapes: Shapes, groups: Groups) -> None:
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
def write_log_weights(k: int, labels: IntArray, shapes: Shapes, groups: Groups, log_weights: FloatArray) -> None:
    """Write how well a state, which is in none, goes into every group; one empty group stands for all of them."""
    n, opened = labels.shape[0], False
    for group in range(n):
        log_weights[group] = -np.inf
        if groups.sizes[group] > 0.5:
            log_weights[group] = log(groups.sizes[group]) + log_fit(k, group, shapes, groups)
        elif not opened and shapes.concentration > 0.0:
            empty(group, groups)
            log_weights[group] = log(shapes.concentration) + log_fit(k, group, shapes, groups)
            opened = True
    add_log_stays(k, labels, shapes, log_weights)


@jit
def add_log_stays(k: int, labels: IntArray, shapes: Shapes, log_weights: FloatArray) -> None:
    """Add how probable the stays of all series are with a state in every group that is open to it."""
    present = labels[k]
    for group in range(labels.shape[0]):
        if log_weights[group] > -np.inf:
            labels[k] = group
            if shapes.followers > 0.0:
                log_weights[group] += shapes.stays_count * log_order(labels, shapes.succession, shapes.followers)
            if shapes.versions.shape[0] > 0:
                log_weights[group] += shapes.stays_count * log_versions(labels, shapes.visits, shapes.versions)
    labels[k] = present


@jit
def log_order(labels: IntArray, succession: FloatArray, followers: float) -> float:
    """Log probability of the order of actions: what follows each of them is drawn by unknown, fixed probabilities."""
    n, log_probability = labels.shape[0], 0.0
    counts, present = count_succession(labels, succession)
    prior = followers * (present.sum() + 1.0)  # one of the actions, or the end
    for before in range(n + 1):
        total = 0.0
        for after in range(n + 1):
            if counts[before, after] > 0.0:
                total += counts[before, after]
                log_probability += lgamma(followers + counts[before, after]) - lgamma(followers)
        log_probability += lgamma(prior) - lgamma(prior + total)
    return log_probability


@jit
def log_versions(labels: IntArray, visits: FloatArray, versions: FloatArray) -> float:
    """Log probability of the versions in which series show actions, but for the first of each.

    Versions are drawn by unknown probabilities of each series. In which version a series shows an action first is where
    it was recorded, and nothing to be predicted. How loyal series are to a version is unknown too, and summed over.
    """
    n_series, n = visits.shape
    n_degrees = versions.shape[0]
    by_degree, sizes, stays = np.zeros(n_degrees), np.zeros(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    log_first = 0.0
    for k in range(n):
        sizes[labels[k]] += 1
    for series in range(n_series):
        stays[:] = 0
        for k in range(n):
            seen = int(visits[series, k])
            stays[labels[k]] += seen
            for degree in range(n_degrees):
                by_degree[degree] += versions[degree, 1, seen]
        for group in range(n):
            if stays[group] > 0:
                log_first += log(sizes[group])
                for degree in range(n_degrees):
                    by_degree[degree] -= versions[degree, sizes[group], stays[group]]
    largest = by_degree.max()
    return log_first + largest + log(np.exp(by_degree - largest).mean())


@jit
def count_succession(labels: IntArray, succession: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Count how often actions follow each other, and mark which of them there are."""
    n = labels.shape[0]
    counts, present = np.zeros((n + 1, n + 1)), np.zeros(n)
    for k in range(n):
        present[labels[k]] = 1.0
    for before in range(n + 1):
        for after in range(n + 1):
            if succession[before, after] > 0.0:
                row = labels[before] if before < n else n
                column = labels[after] if after < n else n
                counts[row, column] += succession[before, after]
    return counts, present


@inlined
def empty(group: int, groups: Groups) -> None:
    """Clear the sums of a group without members: what is left of them is rounding."""
    groups.sizes[group] = 0.0
    groups.precisions[group] = 0.0
    for a in range(groups.weighted.shape[1]):
        groups.weighted[group, a] = 0.0


@jit
def draw_by_log_weight(rng: Generator, log_weights: FloatArray) -> int:
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
def redraw_groups(rng: Generator, order: IntArray, labels: IntArray, shapes: Shapes, log_weights: FloatArray) -> None:
    """Redraw the groups of states given all others, in the given order.

    Parameters
    ----------
    rng : Generator
    order : ndarray of int, shape (n_redrawn,)
        States to redraw; the others stay where they are.
    labels : ndarray of int, shape (n_states,)
        Groups, numbers below the number of states. Changed in place.
    shapes : Shapes
    log_weights : ndarray of shape (n_states,)
        Scratch space.
    """
    n, n_coordinates = shapes.points.shape
    groups = Groups(np.zeros(n), np.zeros(n), np.zeros((n, n_coordinates)))
    for k in range(n):
        add_member(k, labels[k], 1.0, shapes, groups)
    for place in range(order.shape[0]):
        k = order[place]
        add_member(k, labels[k], -1.0, shapes, groups)
        write_log_weights(k, labels, shapes, groups, log_weights)
        labels[k] = draw_by_log_weight(rng, log_weights)
        add_member(k, labels[k], 1.0, shapes, groups)
