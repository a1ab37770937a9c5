"""Frames in which a recording may be, found from the recording and the states alone (docs/model.md, section 5.9).

Principal axes of the recording are laid on those of the states, in every way that a rotation allows. Each of these
frames is then improved in some rounds: smoothing gives probabilities of states, and Newton steps move the frame given
these. Candidates do not depend on the current frame of the recording, so a move may propose from them in both
directions.
"""

from __future__ import annotations

from math import erf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from homothety.models.frames import _kernels
from homothety.models.frames._kernels import Frame
from homothety.models.frames.frames import (
    Frames,
    aligned_steps,
    carried,
    inverse_turn,
    log_determinants,
    product_of_turns,
    stacked,
    turn_of_matrix,
)
from homothety.models.frames.model import state_gaussians, sums_by_state

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models import ibphmm
    from homothety.models.frames._kernels import StateGaussians
    from homothety.models.frames.frames import Blocks
    from homothety.models.frames.model import Model

NEAR = 0.1  # spread of proposals about a candidate: radians, log sizes, and spreads of places
_LARGEST_GROWTH = 5.0  # log size of a candidate
_N_ROUNDS = 2  # of smoothing and climbing
_N_NEWTON = 3  # Newton steps of each round
_FARTHEST = 3.0  # largest distance of a candidate's place from the prior mean, in prior standard deviations
MOST_STEPS = 50_000  # seen through all frames that are refined at once: it bounds memory
_N_REFINED = 4  # candidates that are refined further in a thorough search
_N_KEPT = 2  # candidates around which moves propose


class Chain(NamedTuple):
    """A hidden Markov chain with known states."""

    whiteners: FloatArray  # (n_states, n_dims, n)
    initial: FloatArray  # (n_states,)
    transition: FloatArray  # (n_states, n_states)
    occupancy: FloatArray  # (n_states,) steps of other recordings in each


def candidate_frames(model: Model, segmentation: ibphmm.ChainState, i: int) -> Frames:
    """Return the likeliest frames of recording `i` given the states and the other recordings."""
    return likely_frames(model, model.steps_of([i])[0], chain_of(model, segmentation, i))[0]


def chain_of(model: Model, segmentation: ibphmm.ChainState, i: int) -> Chain:
    """Return the states that recording `i` has and the transitions between them."""
    own = np.flatnonzero(segmentation.active[i])
    elsewhere = np.delete(segmentation.path, slice(*model.starts[i : i + 2]))
    occupancy = np.bincount(elsewhere, minlength=segmentation.n_states)[own].astype(np.float64)
    initial, transition = model.segmentation.chain_between(
        segmentation.weights[i][np.ix_(own, own)], model.segmentation.leaving_at(segmentation)
    )
    return Chain(segmentation.whiteners[own], initial, transition, occupancy)


def likely_frames(
    model: Model,
    steps: FloatArray,
    chain: Chain,
    others: Frames | None = None,
    n_kept: int = _N_KEPT,
    *,
    thorough: bool = False,
) -> tuple[Frames, FloatArray]:
    """Return the likeliest frames of a recording, best first, and their log posteriors with the path summed out.

    Parameters
    ----------
    model : Model
    steps : ndarray of shape (n_steps, n_dims)
        Of one recording.
    chain : Chain
    others : Frames, optional
        Frames to try besides those from principal axes.
    n_kept : int
    thorough : bool, default=False
        Whether to try rotations all around, which takes ten times as long: a recording that has more of one state than
        the others have has other principal axes.
    """
    gaussians = state_gaussians(model, chain.whiteners)
    tried = _principal_frames(model, steps, gaussians, chain.occupancy, thorough=thorough)
    if others is not None:
        tried = stacked(np.arange(tried.n_frames + others.n_frames), [tried, others])
    found, scores = _refine(model, steps, chain, gaussians, tried)
    if thorough:
        found, scores = _refine(model, steps, chain, gaussians, _best_of(found, scores, _N_REFINED)[0])
    return _best_of(found, scores, n_kept)


def _best_of(frames: Frames, scores: FloatArray, n: int) -> tuple[Frames, FloatArray]:
    """Return the frames of highest score, at most `n`, and their scores, highest first."""
    chosen = np.argsort(-scores, kind="stable")[:n]
    return frames.taken(np.arange(len(chosen)), chosen), scores[chosen]


def _refine(
    model: Model, steps: FloatArray, chain: Chain, gaussians: StateGaussians, frames: Frames
) -> tuple[Frames, FloatArray]:
    """Return frames of a recording, each improved by smoothing and climbing in alternation, and their log posteriors.

    Posteriors are with the path summed out. As many frames are improved at once as there is room for.
    """
    n_at_once, parts = max(1, MOST_STEPS // len(steps)), []
    for first in range(0, frames.n_frames, n_at_once):
        which = np.arange(first, min(first + n_at_once, frames.n_frames))
        own = frames.taken(np.arange(len(which)), which)
        copies, starts = _copied(steps, len(which))
        for _ in range(_N_ROUNDS):
            probs, _, _ = smooth_through(model, copies, starts, chain, own)
            own = climbed(model, copies, starts, probs, gaussians, own, _N_NEWTON)
        parts.append((own, log_posterior(model, steps, chain, own)))
    return stacked(np.arange(frames.n_frames), [own for own, _ in parts]), np.concatenate([found for _, found in parts])


def _copied(steps: FloatArray, n_copies: int) -> tuple[FloatArray, IntArray]:
    """Return copies of a recording one after the other, and where each begins and the last one ends."""
    return np.tile(steps, (n_copies, 1)), len(steps) * np.arange(n_copies + 1)


def log_posterior(model: Model, steps: FloatArray, chain: Chain, frames: Frames) -> FloatArray:
    """Log density of each of some frames of one recording given the states, (n_frames,), up to a constant.

    The path is summed out.
    """
    _, _, scores = smooth_through(model, *_copied(steps, frames.n_frames), chain, frames)
    log_priors = [
        _kernels.log_frame_prior(sizes, places, model.prior)
        for sizes, places in zip(frames.log_sizes, frames.places, strict=True)
    ]
    return scores - len(steps) * log_determinants(model.blocks, model.block_weights, frames) + np.array(log_priors)


def smooth_through(
    model: Model, steps: FloatArray, starts: IntArray, chain: Chain, frames: Frames
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Smooth recordings seen through frames.

    Returns
    -------
    probs : ndarray of shape (n_steps, n_states)
    n_transitions : ndarray of shape (n_states, n_states)
        Expected numbers, of all recordings together.
    log_likelihoods : ndarray of shape (n_recordings,)
    """
    from homothety.models.hmm._stay_kernels import smooth_recordings

    z = model.emission.augment_steps(aligned_steps(model.blocks, frames, steps, starts))
    evidence = model.emission.log_evidence(z, chain.whiteners)
    probs, pairs = np.empty_like(evidence), np.zeros_like(chain.transition)
    chances, totals = (chain.initial, chain.transition, model.segmentation.least_stay), np.empty(len(starts) - 1)
    smooth_recordings(evidence, starts, *chances, probs, pairs, totals)
    return probs, pairs, totals


def climbed(
    model: Model,
    steps: FloatArray,
    starts: IntArray,
    probs: FloatArray,
    gaussians: StateGaussians,
    frames: Frames,
    n_steps: int,
) -> Frames:
    """Return frames after some Newton steps towards the likeliest ones, given the probabilities of states."""
    sums = sums_by_state(model.blocks, steps, starts, frames.labels, probs, probs.shape[1])
    moved = (frames.turns.copy(), frames.log_sizes.copy(), frames.places.copy())
    _kernels.climb_frames(*moved, sums, gaussians, model.prior, model.blocks.layout, n_steps)
    return Frames(frames.labels, *moved)


def _principal_frames(
    model: Model, steps: FloatArray, gaussians: StateGaussians, occupancy: FloatArray, *, thorough: bool = False
) -> Frames:
    """Return frames that lay the principal axes of a recording on those of the states, in every way.

    Sizes and places are such that spreads and means agree. Thoroughly, rotations are tried all around.
    """
    blocks = model.blocks
    means, covariances = _moments_of_states(blocks, gaussians, occupancy)
    recorded = [_moments_of_block(steps[:, block]) for block in blocks.slices]
    growth = [np.log(_spread(recorded[b][1]) / _spread(covariances[b])) for b in blocks.sized]
    sizes = np.clip(growth, -_LARGEST_GROWTH, _LARGEST_GROWTH)  # a block that stands still has no spread
    turns = np.eye(1, blocks.turn_size)
    lead = blocks.leading
    if blocks.n_angles and lead is not None:
        turns = _axis_turns(blocks, recorded[lead][1], covariances[lead])
        if thorough:
            turns = np.stack([product_of_turns(turns[0], turn) for turn in _turns_all_around(blocks)])
    sizes = np.tile(sizes, (len(turns), 1))
    targets = blocks.at_places(np.concatenate([mean for mean, _ in recorded]))
    origins = blocks.at_places(np.concatenate(means))
    places = clip_to_prior(model, targets - carried(blocks, turns, sizes, origins))
    return Frames(np.arange(len(turns)), turns, sizes, places)


def clip_to_prior(model: Model, places: FloatArray) -> FloatArray:
    """Return places within `_FARTHEST` standard deviations of the prior mean: the zero of a tared sensor is known."""
    reach = _FARTHEST * model.prior.place_spread[:, None]
    return np.clip(places, model.prior.place_mean - reach, model.prior.place_mean + reach)


def _turns_all_around(blocks: Blocks) -> FloatArray:
    """Return evenly spaced rotations, the first by no angle: 60 in space, 12 in the plane or about the third axis."""
    if blocks.n_angles == 3:
        return np.asarray(np.roll(Rotation.create_group("I").as_quat(), 1, axis=1))
    angles = np.linspace(0, 2 * np.pi, 12, endpoint=False) / (1 if blocks.dim == 2 else 2)
    turns = np.zeros((len(angles), blocks.turn_size))
    turns[:, 0], turns[:, -1] = np.cos(angles), np.sin(angles)
    return turns


def _axis_turns(blocks: Blocks, recorded: FloatArray, canonical: FloatArray) -> FloatArray:
    """Return the proper rotations from canonical to recorded principal axes, (n_turns, turn_size)."""
    if blocks.n_angles == 1 and blocks.dim == 3:  # about the third axis: principal axes of the plane across it
        flat = _rotations_between_axes(recorded[:2, :2], canonical[:2, :2])
        return turn_of_matrix(np.pad(flat, [(0, 0), (0, 1), (0, 1)]) + np.diag([0.0, 0.0, 1.0]))
    return turn_of_matrix(_rotations_between_axes(recorded, canonical))


def _rotations_between_axes(recorded: FloatArray, canonical: FloatArray) -> FloatArray:
    """Return rotation matrices from the principal axes of one covariance to those of another, (n_turns, d, d)."""
    to, origin = np.linalg.eigh(recorded)[1], np.linalg.eigh(canonical)[1]
    if np.linalg.det(to) * np.linalg.det(origin) < 0:
        to = to * np.where(np.arange(len(to)) == 0, -1.0, 1.0)
    signs = [(1, 1), (-1, -1)] if len(to) == 2 else [(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)]
    return np.asarray((to * np.array(signs)[:, None, :]) @ origin.T)


def _moments_of_block(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and covariance of the steps of a block."""
    mean = values.mean(axis=0)
    return mean, (values - mean).T @ (values - mean) / len(values)


def _moments_of_states(
    blocks: Blocks, gaussians: StateGaussians, occupancy: FloatArray
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return mean and covariance of each block over the states, weighted by their steps."""
    share = (occupancy + 1e-3) / (occupancy + 1e-3).sum()
    means, covariances = [], []
    for block, weight in zip(blocks.slices, gaussians.block_weights, strict=True):
        centres = gaussians.means[:, block]
        mean = share @ centres
        within = weight * np.linalg.inv(gaussians.precisions[:, block, block])
        between = np.einsum("k,ka,kb->ab", share, centres - mean, centres - mean)
        means.append(mean)
        covariances.append(np.einsum("k,kab->ab", share, within) + between)
    return means, covariances


def _spread(covariance: FloatArray) -> float:
    """Return the root mean variance of a covariance."""
    return float(np.sqrt(max(np.trace(covariance) / len(covariance), np.finfo(float).tiny)))


def draw_near(rng: Generator, model: Model, candidates: Frames, which: int) -> Frames:
    """Draw a frame near one of some candidates."""
    blocks = model.blocks
    turn = candidates.turns[which].copy()
    if blocks.n_angles:
        angles, small = np.full(blocks.n_angles, np.inf), np.empty(blocks.turn_size)
        while np.linalg.norm(angles) > np.pi:
            angles = NEAR * rng.standard_normal(blocks.n_angles)
        _kernels.write_small_turn(angles, blocks.n_angles, small)
        turn = product_of_turns(turn, small)
    sizes = candidates.log_sizes[which] + NEAR * rng.standard_normal(len(blocks.sized))
    noise = rng.standard_normal((len(blocks.placed), blocks.dim))
    places = candidates.places[which] + NEAR * model.prior.place_spread[:, None] * noise
    return Frames.single(Frame(turn, sizes, places))


def log_density_near(model: Model, candidates: Frames, frame: Frames) -> FloatArray:
    """Log density of `draw_near` at a frame for each candidate, with respect to uniform rotations, (n_candidates,)."""
    blocks = model.blocks
    total = np.zeros(candidates.n_frames)
    if blocks.n_angles:
        total += [_log_turn_density(blocks, turn, frame.turns[0]) for turn in candidates.turns]
    total += _log_normal(frame.log_sizes - candidates.log_sizes, NEAR).sum(axis=1)
    spreads = np.broadcast_to(NEAR * model.prior.place_spread[:, None], candidates.places.shape[1:])
    return np.asarray(total + _log_normal(frame.places - candidates.places, spreads).sum(axis=(1, 2)))


def _log_turn_density(blocks: Blocks, centre: FloatArray, turn: FloatArray) -> float:
    """Log density of rotations drawn about a centre, with respect to the uniform distribution of rotations."""
    angles = angles_between(blocks, centre, turn)
    angle = np.linalg.norm(angles)
    volume, log_jacobian = 2 * np.pi, 0.0
    if blocks.n_angles == 3:
        volume = 8 * np.pi**2
        log_jacobian = np.log((2 - 2 * np.cos(angle)) / angle**2) if angle > 1e-4 else 0.0
    return float(_log_normal(angles, NEAR).sum() + np.log(volume / _share_within_half_turn(blocks)) - log_jacobian)


def _share_within_half_turn(blocks: Blocks) -> float:
    """Return the share of normal angles that are of at most half a turn: others are drawn again."""
    most = np.pi / NEAR
    outside = np.sqrt(2 / np.pi) * most * np.exp(-(most**2) / 2) if blocks.n_angles == 3 else 0.0
    return float(erf(most / np.sqrt(2)) - outside)


def angles_between(blocks: Blocks, centre: FloatArray, turn: FloatArray) -> FloatArray:
    """Return the vector of angles by which one rotation follows on another, (n_angles,)."""
    relative = product_of_turns(inverse_turn(centre), turn)
    if blocks.dim == 2:
        return np.array([np.arctan2(relative[1], relative[0])])
    relative = relative if relative[0] >= 0 else -relative
    length = np.linalg.norm(relative[1:])
    if length < 1e-12:
        return np.zeros(blocks.n_angles)
    angles = 2 * np.arctan2(length, relative[0]) / length * relative[1:]
    return angles if blocks.n_angles == 3 else angles[2:]


def _log_normal(residuals: FloatArray, spread: FloatArray | float) -> FloatArray:
    """Log density of normal residuals."""
    return np.asarray(-0.5 * (residuals / spread) ** 2 - np.log(spread) - 0.5 * np.log(2 * np.pi))
