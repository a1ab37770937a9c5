"""Widths of intervals: how much frames vary from stay to stay in a state, compared with the spread of their draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homothety.models.frames._kernels import DERIVATIVE_STEP, Frame, Sums, apply_shift, log_fit
from homothety.models.frames.em import parameters
from homothety.models.frames.frames import aligned_steps, carried
from homothety.models.frames.statistics import recorded_sums, state_gaussians, sums_by_state
from homothety.models.hmm.stays import stay_edges

if TYPE_CHECKING:
    from homothety.arrays import FloatArray, IntArray
    from homothety.models.frames._kernels import StateGaussians
    from homothety.models.frames.blocks import Blocks
    from homothety.models.frames.frames import Frames
    from homothety.models.frames.model import Model

PRIOR_STAYS = 5.0  # stays that the prior expectation, factors of one, counts as
LEAST_CURVATURE = 0.1  # of each frame: data do not determine the rotation of a straight recording about its line


@dataclass(frozen=True, eq=False)
class IntervalFactors:
    """Factors by which deviations of draws from their mean are multiplied, so that intervals have their coverage."""

    angle: float
    sizes: FloatArray  # (n_sizes,)
    places: FloatArray  # (n_places,)


def interval_factors(model: Model, frames: Frames, path: IntArray) -> IntervalFactors:
    """Return the factors that correct intervals of frames for misspecification of the model.

    Weights of blocks treat all correlation between the steps of a stay as noise. Much of it is the curve of a motion,
    which is the same in every stay and does not move frames. So this is the sandwich covariance of composite
    likelihoods, ``inv(H) J inv(H)``: H is the curvature of the log density at the frames, and J the covariance of its
    gradient, from differences between stays in the same state. Draws have covariance ``inv(H)``; both agree where the
    model is right.

    Parameters
    ----------
    model : Model
    frames : Frames
        Of one draw.
    path : ndarray of int, shape (n_steps,)
        Of the same draw.
    """
    blocks, path = model.blocks, np.unique(path, return_inverse=True)[1]
    n_states, n_shape = int(path.max()) + 1, blocks.n_angles + len(blocks.sized)
    n_parameters = n_shape + blocks.dim * len(blocks.placed)
    if not n_parameters:
        return IntervalFactors(1.0, np.ones(0), np.ones(0))
    aligned = aligned_steps(blocks, frames, model.steps, model.starts)
    gaussians = state_gaussians(model, parameters(model, aligned, np.eye(n_states)[path]))
    sums = recorded_sums(model, path, n_states, frames)
    curvature = LEAST_CURVATURE * frames.n_frames * np.eye(n_parameters)
    for f in range(frames.n_frames):
        own = Sums(*(part[f] for part in sums))
        for p, shift in enumerate(DERIVATIVE_STEP * np.eye(n_parameters)):
            there, back = (
                gradient_of(blocks, gaussians, own, shifted(blocks, frames[f], own.centre, end))
                for end in (shift, -shift)
            )
            curvature[p] -= (there - back) / (2 * DERIVATIVE_STEP)
    edges = stay_edges(path, model.starts)
    stays = sums_by_state(blocks, model.steps, edges, np.arange(len(edges) - 1), path, n_states)
    frame_of_stay = frames.labels[np.searchsorted(model.starts, edges[:-1], side="right") - 1]
    stays = stays._replace(centre=sums.centre[frame_of_stay])
    gradients = np.stack(
        [
            gradient_of(blocks, gaussians, Sums(*(part[s] for part in stays)), frames[f])
            for s, f in enumerate(frame_of_stay.tolist())
        ]
    )
    spread, n_compared = gradient_covariance(gradients, path[edges[:-1]], np.diff(edges))
    drawn = np.linalg.inv((curvature + curvature.T) / 2)
    measured, drawn = np.diag(drawn @ spread @ drawn), np.diag(drawn)

    def factor(first: int, last: int) -> float:
        ratio = measured[first:last].sum() / drawn[first:last].sum() if last > first else 1.0
        return float(np.sqrt((PRIOR_STAYS + n_compared * ratio) / (PRIOR_STAYS + n_compared)))

    return IntervalFactors(
        factor(0, blocks.n_angles),
        np.array([factor(s, s + 1) for s in range(blocks.n_angles, n_shape)]),
        np.array([factor(p, p + blocks.dim) for p in range(n_shape, n_parameters, blocks.dim)]),
    )


def gradient_covariance(gradients: FloatArray, states: IntArray, lengths: IntArray) -> tuple[FloatArray, int]:
    """Return the covariance of the sum of gradients, from differences between stays, and the number of differences.

    The gradient of a stay is compared with the mean of all stays in the same state, in proportion to their lengths.
    """
    spread, n_compared = np.zeros((gradients.shape[1],) * 2), 0
    for k in np.unique(states):
        own = states == k
        if own.sum() > 1:
            rest = gradients[own] - np.outer(lengths[own], gradients[own].sum(axis=0) / lengths[own].sum())
            spread += own.sum() / (own.sum() - 1) * rest.T @ rest
            n_compared += int(own.sum()) - 1
    return spread, n_compared


def gradient_of(blocks: Blocks, gaussians: StateGaussians, sums: Sums, frame: Frame) -> FloatArray:
    """Return the derivatives of the log density of steps by angles, log sizes and places, in canonical directions."""
    n_parameters = blocks.n_angles + frame.log_sizes.size + frame.places.size
    values = [
        [log_fit(shifted(blocks, frame, sums.centre, sign * end), sums, gaussians, blocks.layout) for sign in (1, -1)]
        for end in DERIVATIVE_STEP * np.eye(n_parameters)
    ]
    return np.asarray(np.subtract(*np.transpose(values))) / (2 * DERIVATIVE_STEP)


def shifted(blocks: Blocks, frame: Frame, centre: FloatArray, shift: FloatArray) -> Frame:
    """Return a frame turned and resized about the middle of its steps, and then moved."""
    found = Frame(*(np.empty_like(part) for part in frame))
    apply_shift(shift, frame, centre, blocks.layout, found)
    move = shift[blocks.n_angles + frame.log_sizes.size :].reshape(frame.places.shape)
    return found._replace(places=found.places + carried(blocks, found.turn, found.log_sizes, move))
