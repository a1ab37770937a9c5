"""Draws of the frame of a new recording, and widths of the intervals of frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homothety.models.frames._kernels import DERIVATIVE_STEP, Frame, Sums, apply_shift, log_fit
from homothety.models.frames.candidates import log_posterior
from homothety.models.frames.frames import aligned_steps, carried
from homothety.models.frames.model import recorded_sums, state_gaussians, sums_by_state
from homothety.models.frames.moves import redrawn_frames, turned
from homothety.models.frames.search import parameters
from homothety.models.hmm.messages import sample_path, stay_edges

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.frames._kernels import StateGaussians
    from homothety.models.frames.candidates import Chain
    from homothety.models.frames.frames import Blocks, Frames
    from homothety.models.frames.model import Model


_PRIOR_STAYS = 5.0  # stays that the prior expectation, factors of one, counts as
_LEAST_CURVATURE = 0.1  # of each frame: data do not determine the rotation of a straight recording about its line


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
    curvature = _LEAST_CURVATURE * frames.n_frames * np.eye(n_parameters)
    for f in range(frames.n_frames):
        own = Sums(*(part[f] for part in sums))
        for p, shift in enumerate(DERIVATIVE_STEP * np.eye(n_parameters)):
            there, back = (
                _gradient_of(blocks, gaussians, own, shifted(blocks, frames[f], own.centre, end))
                for end in (shift, -shift)
            )
            curvature[p] -= (there - back) / (2 * DERIVATIVE_STEP)
    edges = stay_edges(path, model.starts)
    stays = sums_by_state(blocks, model.steps, edges, np.arange(len(edges) - 1), path, n_states)
    frame_of_stay = frames.labels[np.searchsorted(model.starts, edges[:-1], side="right") - 1]
    stays = stays._replace(centre=sums.centre[frame_of_stay])
    gradients = np.stack(
        [
            _gradient_of(blocks, gaussians, Sums(*(part[s] for part in stays)), frames[f])
            for s, f in enumerate(frame_of_stay.tolist())
        ]
    )
    spread, n_compared = _gradient_covariance(gradients, path[edges[:-1]], np.diff(edges))
    drawn = np.linalg.inv((curvature + curvature.T) / 2)
    measured, drawn = np.diag(drawn @ spread @ drawn), np.diag(drawn)

    def factor(first: int, last: int) -> float:
        ratio = measured[first:last].sum() / drawn[first:last].sum() if last > first else 1.0
        return float(np.sqrt((_PRIOR_STAYS + n_compared * ratio) / (_PRIOR_STAYS + n_compared)))

    return IntervalFactors(
        factor(0, blocks.n_angles),
        np.array([factor(s, s + 1) for s in range(blocks.n_angles, n_shape)]),
        np.array([factor(p, p + blocks.dim) for p in range(n_shape, n_parameters, blocks.dim)]),
    )


def _gradient_covariance(gradients: FloatArray, states: IntArray, lengths: IntArray) -> tuple[FloatArray, int]:
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


def _gradient_of(blocks: Blocks, gaussians: StateGaussians, sums: Sums, frame: Frame) -> FloatArray:
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


def sample_frames(
    rng: Generator, model: Model, chain: Chain, frame: Frames, n_draws: int, n_burn: int = 20
) -> list[Frames]:
    """Draw the frame of a recording from its posterior given states, by the moves on one frame and on paths.

    See docs/model.md, sections 5.4 to 5.7.

    Parameters
    ----------
    rng : Generator
    model : Model
        Of one recording.
    chain : Chain
        The states, which stay as they are.
    frame : Frames
        Where to start.
    n_draws, n_burn : int
        Draws that are returned, and those before them that are not.

    Returns
    -------
    draws : list of Frames
        Successive ones are correlated.
    """
    gaussians, draws = state_gaussians(model, chain.whiteners), []
    for number in range(n_burn + n_draws):
        frame = _turned_globally(rng, model, chain, frame)
        aligned = aligned_steps(model.blocks, frame, model.steps, model.starts)
        evidence = model.emission.log_evidence(model.emission.augment_steps(aligned), chain.whiteners)
        least_stay = model.segmentation.least_stay
        path, _ = sample_path(rng, evidence, chain.initial, chain.transition, least_stay=least_stay)
        frame, _ = redrawn_frames(rng, model, frame, path, gaussians)
        if number >= n_burn:
            draws.append(frame)
    return draws


def _turned_globally(rng: Generator, model: Model, chain: Chain, frame: Frames) -> Frames:
    """Return the frame after the proposal of a half turn or of any rotation, the path summed out.

    See docs/model.md, section 5.7.
    """
    if not model.blocks.n_angles:
        return frame
    proposed = turned(rng, model, frame, 0)
    there, here = (log_posterior(model, model.steps, chain, one)[0] for one in (proposed, frame))
    return proposed if np.log(rng.random()) < there - here else frame
