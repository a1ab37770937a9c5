"""Compiled redrawing of a partition of states by shape, one state at a time."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import inlined, jit

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray


class Shapes(NamedTuple):
    """States as points with noise, and how much pairs of them mind to be one action."""

    points: FloatArray  # (n_states, n_coordinates)
    precisions: FloatArray  # (n_states,) one over the variance of each point about the shape of its action
    aversion: FloatArray  # (n_states, n_states) taken off the log prior for each pair in one group; zero diagonal
    centre_precision: float  # of the shapes of actions about a sphere
    concentration: float


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
        elif not opened:
            empty(group, groups)
            log_weights[group] = log(shapes.concentration) + log_fit(k, group, shapes, groups)
            opened = True
    for other in range(n):
        if other != k:
            log_weights[labels[other]] -= shapes.aversion[k, other]


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
    """Redraw the group of every state given all others, in the given order.

    Parameters
    ----------
    rng : Generator
    order : ndarray of int, shape (n_states,)
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
    for place in range(n):
        k = order[place]
        add_member(k, labels[k], -1.0, shapes, groups)
        write_log_weights(k, labels, shapes, groups, log_weights)
        labels[k] = draw_by_log_weight(rng, log_weights)
        add_member(k, labels[k], 1.0, shapes, groups)
