"""How much frames vary from one stay in a state to the next, compared with what their posterior says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homothety.models.frames.frames import aligned_steps, carried
from homothety.models.frames.looks import looks_of, recorded_sums
from homothety.models.frames.search import parameters

if TYPE_CHECKING:
    from homothety.arrays import FloatArray, IntArray
    from homothety.models.frames._kernels import Frame, Looks, Sums
    from homothety.models.frames.blocks import Blocks
    from homothety.models.frames.frames import Frames
    from homothety.models.frames.model import Model

STEP = 1e-3  # of differences
N_BEFORE = 5.0  # stays that the prior expectation, factors of one, counts as
LEAST_CURVATURE = 0.1  # of each frame: a recording on a straight line may be turned about it at will


@dataclass(frozen=True, eq=False)
class IntervalFactors:
    """What the deviations of draws from their mean are to be multiplied by for intervals to hold what they say."""

    angle: float
    sizes: FloatArray  # (n_sizes,)
    places: FloatArray  # (n_places,)


def interval_factors(model: Model, frames: Frames, path: IntArray) -> IntervalFactors:
    """Return how far intervals of frames are too wide or too narrow.

    Steps of a stay are correlated, and weights of blocks count them as if all of that were noise. But much of it is the
    curve of a motion, which is the same in every stay and moves no frame. So the slopes of the log density at the
    frames, stay by stay, are compared with those of other stays in the same state: their covariance J against the
    curvature H, which equals it where the model is right. As usual for composite likelihoods, ``inv(H) J inv(H)`` is
    the covariance that frames have, and ``inv(H)`` that of their draws.

    Parameters
    ----------
    model : Model
    frames : Frames
        Of one draw.
    path : ndarray of int, shape (n_steps,)
        Of the same draw.
    """
    from homothety.models.frames._kernels import Frame, Sums

    blocks, path = model.blocks, np.unique(path, return_inverse=True)[1]
    n_states, n_shape = int(path.max()) + 1, blocks.n_angles + len(blocks.sized)
    n_parameters = n_shape + blocks.dim * len(blocks.placed)
    if not n_parameters:
        return IntervalFactors(1.0, np.ones(0), np.ones(0))
    aligned = aligned_steps(blocks, frames, model.steps, model.starts)
    looks = looks_of(model, parameters(model, aligned, np.eye(n_states)[path]))
    sums = recorded_sums(model, path, n_states, frames)
    each = [Frame(*parts) for parts in zip(frames.turns, frames.log_sizes, frames.places, strict=True)]
    curvature = LEAST_CURVATURE * frames.n_frames * np.eye(n_parameters)
    for f, frame in enumerate(each):
        own = Sums(*(part[f] for part in sums))
        for p, shift in enumerate(STEP * np.eye(n_parameters)):
            there, back = (slopes(blocks, looks, own, shifted(blocks, frame, own, end)) for end in (shift, -shift))
            curvature[p] -= (there - back) / (2 * STEP)
    edges = np.union1d(np.flatnonzero(np.diff(path)) + 1, model.starts)
    n, first, second = sums_of_stays(model, path, edges, n_states)
    of = frames.labels[np.searchsorted(model.starts, edges[:-1], side="right") - 1]
    found = np.stack(
        [slopes(blocks, looks, Sums(n[s], first[s], second[s], sums[3][f]), each[f]) for s, f in enumerate(of.tolist())]
    )
    spread, n_compared = spread_within(found, path[edges[:-1]], np.diff(edges))
    drawn = np.linalg.inv((curvature + curvature.T) / 2)
    measured, drawn = np.diag(drawn @ spread @ drawn), np.diag(drawn)

    def factor(first: int, last: int) -> float:
        ratio = measured[first:last].sum() / drawn[first:last].sum() if last > first else 1.0
        return float(np.sqrt((N_BEFORE + n_compared * ratio) / (N_BEFORE + n_compared)))

    return IntervalFactors(
        factor(0, blocks.n_angles),
        np.array([factor(s, s + 1) for s in range(blocks.n_angles, n_shape)]),
        np.array([factor(p, p + blocks.dim) for p in range(n_shape, n_parameters, blocks.dim)]),
    )


def spread_within(slopes: FloatArray, states: IntArray, lengths: IntArray) -> tuple[FloatArray, int]:
    """Return the covariance of the sum of slopes from how stays of one state differ, and the number of differences.

    Longer stays of a state have larger slopes, in proportion.
    """
    spread, n_compared = np.zeros((slopes.shape[1],) * 2), 0
    for k in np.unique(states):
        own = states == k
        if own.sum() > 1:
            rest = slopes[own] - np.outer(lengths[own], slopes[own].sum(axis=0) / lengths[own].sum())
            spread += own.sum() / (own.sum() - 1) * rest.T @ rest
            n_compared += int(own.sum()) - 1
    return spread, n_compared


def sums_of_stays(
    model: Model, path: IntArray, edges: IntArray, n_states: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return number, sum and sum of products of the recorded steps between edges, by state."""
    from homothety.models.frames._kernels import add_recorded

    n_dims, n_stays = model.steps.shape[1], len(edges) - 1
    n, first = np.zeros((n_stays, n_states)), np.zeros((n_stays, n_states, n_dims))
    second = np.zeros((n_stays, n_states, n_dims, n_dims))
    for s in range(n_stays):
        add_recorded(model.steps, path, edges[s], edges[s + 1], n[s], first[s], second[s])
    return n, first, second + np.swapaxes(np.tril(second, -1), -1, -2)


def slopes(blocks: Blocks, looks: Looks, sums: Sums, frame: Frame) -> FloatArray:
    """Return the derivatives of the log density of steps by angles, log sizes and places, in canonical directions."""
    from homothety.models.frames._kernels import log_fit

    n_parameters = blocks.n_angles + frame.log_sizes.size + frame.places.size
    ends = STEP * np.eye(n_parameters)
    values = [
        [log_fit(shifted(blocks, frame, sums, sign * end), sums, looks, blocks.layout) for sign in (1, -1)]
        for end in ends
    ]
    return np.asarray(np.subtract(*np.transpose(values))) / (2 * STEP)


def shifted(blocks: Blocks, frame: Frame, sums: Sums, shift: FloatArray) -> Frame:
    """Return a frame turned and resized about the middle of its steps, and then moved."""
    from homothety.models.frames._kernels import Frame, carry_places, write_product, write_small_turn

    n_angles, n_shape = blocks.n_angles, blocks.n_angles + frame.log_sizes.size
    turn, places = frame.turn.copy(), np.empty_like(frame.places)
    if n_angles:
        small = np.empty_like(turn)
        write_small_turn(shift[:n_angles], n_angles, small)
        write_product(frame.turn, small, turn)
    log_sizes = frame.log_sizes + shift[n_angles:n_shape]
    carry_places(frame, turn, log_sizes, sums.centre, blocks.layout, places)
    return Frame(turn, log_sizes, places + carried(blocks, turn, log_sizes, shift[n_shape:].reshape(places.shape)))
