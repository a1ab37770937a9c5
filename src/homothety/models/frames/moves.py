"""Moves on frames (docs/model.md, sections 5.4 to 5.8), and those of the segmentation on the aligned recordings."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.models import ibphmm
from homothety.models.frames import _kernels
from homothety.models.frames.candidates import candidate_frames, draw_near, log_density_near
from homothety.models.frames.frames import Frames, draw_frame, draw_turn, log_determinants, product_of_turns, stacked
from homothety.models.frames.model import checked, log_frames, recorded_sums, state_gaussians
from homothety.models.ibphmm.model import Tried
from homothety.sampling.codec import storable
from homothety.sampling.driver import Recording
from homothety.sampling.trace import RunPath

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.frames._kernels import StateGaussians
    from homothety.models.frames.model import ChainState, Model


_HAAR_SHARE = 0.3  # of large rotations that are drawn uniformly instead of being half turns
_PRIOR_SHARE = 0.1  # of new frames that are drawn from the prior


def _move_segmentation(move: Callable[..., Any], rng: Generator, model: Model, state: ChainState) -> Any:
    """Make a move of the segmentation on the aligned recordings."""
    conditions = model.aligned(state.frames)
    segmentation, info = move(rng, conditions, replace(state.segmentation, step=state.step))
    return replace(state, segmentation=segmentation), info


@checked
def _resample_frames(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Tried]:
    """Redraw places and sizes of every frame, and turn it a little, given the paths.

    See docs/model.md, sections 5.4 to 5.6.
    """
    gaussians = state_gaussians(model, state.segmentation.whiteners)
    frames, n_accepted = redrawn_frames(rng, model, state.frames, state.segmentation.path, gaussians)
    n_tried = frames.n_frames * len(_kernels.STEP_SIZES) if model.blocks.n_angles else 0
    return replace(state, frames=frames), Tried(n_tried, n_accepted)


def redrawn_frames(
    rng: Generator, model: Model, frames: Frames, path: IntArray, gaussians: StateGaussians
) -> tuple[Frames, int]:
    """Return frames redrawn given the path of all recordings, and how many small rotations were accepted.

    Places, sizes and small rotations: docs/model.md, sections 5.4 to 5.6.
    """
    sums = recorded_sums(model, path, len(gaussians.means), frames)
    moved = (frames.turns.copy(), frames.log_sizes.copy(), frames.places.copy())
    n_accepted = _kernels.move_frames(rng, *moved, sums, gaussians, model.prior, model.blocks.layout)
    return Frames(frames.labels, *moved), n_accepted


@checked
def _turn_globally(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Tried]:
    """Propose a half turn or any rotation of a frame, paths integrated out, and redraw the paths.

    See docs/model.md, section 5.7. The half turn is about a principal axis of the recordings as they were recorded: it
    is its own inverse.
    """
    n_accepted, n_trials = 0, model.n_global if model.blocks.n_angles else 0
    for _ in range(n_trials):
        f = int(rng.integers(state.frames.n_frames))
        series = np.flatnonzero(state.frames.labels == f)
        proposed = turned(rng, model, state.frames, f)
        accepted, state = _accept_frames(rng, model, state, proposed, series, 0.0)
        n_accepted += accepted
    return state, Tried(n_trials, n_accepted)


def turned(rng: Generator, model: Model, frames: Frames, f: int) -> Frames:
    """Return frames with one of them turned by half a turn, or at random; the middle of its steps stays."""
    centre, axes = _middle_and_axes(model, np.flatnonzero(frames.labels == f))
    turns, places = frames.turns.copy(), frames.places.copy()
    if rng.random() < _HAAR_SHARE:
        turns[f] = draw_turn(rng, model.blocks)
    else:
        turns[f] = product_of_turns(_half_turn(rng, model, axes), frames.turns[f])
    old = frames[f]
    _kernels.carry_places(old, turns[f], old.log_sizes, centre, model.blocks.layout, places[f])
    return replace(frames, turns=turns, places=places)


def _half_turn(rng: Generator, model: Model, axes: FloatArray) -> FloatArray:
    """Draw a half turn about one of some axes."""
    turn = np.zeros(model.blocks.turn_size)
    if model.blocks.dim == 2:
        turn[0] = -1.0
    elif model.blocks.n_angles == 1:
        turn[3] = 1.0
    else:
        turn[1:] = axes[:, rng.integers(3)]
    return turn


def _middle_and_axes(model: Model, series: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean of each block with a place over some recordings, and principal axes of the leading block."""
    blocks = model.blocks
    steps, _ = model.steps_of(series.tolist())
    slices, lead = blocks.slices, blocks.leading
    centre = np.array([steps[:, slices[b]].mean(axis=0) for b in blocks.placed]).reshape(-1, blocks.dim)
    values = np.eye(blocks.dim) if lead is None else steps[:, slices[lead]]
    about = values.mean(axis=0) if lead in blocks.placed else np.zeros(blocks.dim)
    return centre, np.linalg.eigh((values - about).T @ (values - about))[1]


@checked
def resample_sharing(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Tried]:
    """Propose another frame, one that is there or a new one, for a recording, its path integrated out.

    See docs/model.md, section 5.8.
    """
    if model.sharing == "fixed":
        return state, Tried(0, 0)
    n_accepted, moving = 0, np.flatnonzero(model.moves)
    for _ in range(model.n_global if len(moving) else 0):
        i = int(moving[rng.integers(len(moving))])
        proposed, log_ratio = _another_frame(rng, model, state, i)
        if proposed is None or len(np.unique(proposed.labels[moving])) < proposed.n_frames:
            continue  # a frame needs a recording that moves
        accepted, state = _accept_frames(rng, model, state, proposed, np.array([i]), log_ratio, shared=True)
        n_accepted += accepted
    return state, Tried(model.n_global, n_accepted)


def _another_frame(rng: Generator, model: Model, state: ChainState, i: int) -> tuple[Frames | None, float]:
    """Propose a frame for recording `i` by the Chinese restaurant process; None for the one it has.

    Returns
    -------
    proposed : Frames or None
    log_ratio : float
        Log of prior over proposal density of a new frame, less that of a frame that is given up. The process itself
        is in prior and proposal alike.
    """
    frames = state.frames
    own = int(frames.labels[i])
    others = np.bincount(np.delete(frames.labels, i), minlength=frames.n_frames).astype(float)
    alone = others[own] == 0
    probs = np.append(others, model.concentration)
    chosen = int(rng.choice(len(probs), p=probs / probs.sum()))
    if chosen == own:
        return None, 0.0
    is_new, log_ratio = chosen == frames.n_frames, 0.0
    if is_new or alone:
        candidates = candidate_frames(model, state.segmentation, i)
    if is_new:
        fresh = _draw_new(rng, model, candidates)
        log_ratio += _kernels.log_frame_prior(fresh.log_sizes[0], fresh.places[0], model.prior)
        log_ratio -= _log_density_new(model, candidates, fresh)
    if alone:
        old = Frames.single(frames[own])
        log_ratio += _log_density_new(model, candidates, old)
        log_ratio -= _kernels.log_frame_prior(old.log_sizes[0], old.places[0], model.prior)
    labels = frames.labels.copy()
    labels[i] = chosen
    proposed = stacked(labels, [frames, fresh]) if is_new else replace(frames, labels=labels)
    return _without_unused(proposed), log_ratio


def _without_unused(frames: Frames) -> Frames:
    """Return the frames that some recording has, numbered anew."""
    used, labels = np.unique(frames.labels, return_inverse=True)
    return frames.taken(labels.astype(np.int64), used)


def _draw_new(rng: Generator, model: Model, candidates: Frames) -> Frames:
    """Draw a new frame near one of the candidates, or from the prior."""
    if rng.random() < _PRIOR_SHARE:
        return draw_frame(rng, model.blocks, model.prior)
    return draw_near(rng, model, candidates, int(rng.integers(candidates.n_frames)))


def _log_density_new(model: Model, candidates: Frames, frame: Frames) -> float:
    """Log density of drawing a frame by `_draw_new`."""
    near = log_density_near(model, candidates, frame) - np.log(candidates.n_frames)
    log_prior = _kernels.log_frame_prior(frame.log_sizes[0], frame.places[0], model.prior)
    parts = np.append(np.log(1 - _PRIOR_SHARE) + near, np.log(_PRIOR_SHARE) + log_prior)
    return float(np.logaddexp.reduce(parts))


def _accept_frames(
    rng: Generator,
    model: Model,
    state: ChainState,
    proposed: Frames,
    series: IntArray,
    log_ratio: float,
    *,
    shared: bool = False,
) -> tuple[bool, ChainState]:
    """Accept other frames of some recordings by the likelihood of these, paths summed out, and redraw their paths.

    Priors of the frames count here unless only the sharing changes, where `log_ratio` holds them.
    """
    log_ratio += log_evidence(model, state, proposed, series) - log_evidence(model, state, state.frames, series)
    if not shared:
        for sign, frames in ((1.0, proposed), (-1.0, state.frames)):
            f = frames.labels[series[0]]
            log_ratio += sign * _kernels.log_frame_prior(frames.log_sizes[f], frames.places[f], model.prior)
    if not np.log(rng.random()) < log_ratio:
        return False, state
    path = ibphmm.redrawn_paths(rng, model.aligned(proposed), state.segmentation, series)
    return True, replace(state, frames=proposed, segmentation=replace(state.segmentation, path=path))


def log_evidence(model: Model, state: ChainState, frames: Frames, series: IntArray) -> float:
    """Log-likelihood of some recordings under given frames, paths summed out."""
    total = ibphmm.series_log_likelihoods(model.aligned(frames), state.segmentation, series).sum()
    per_step = log_determinants(model.blocks, model.block_weights, frames)[frames.labels[series]]
    return float(total - np.diff(model.starts)[series] @ per_step)


def default_sweep() -> dict[str, Callable[..., tuple[ChainState, Any]]]:
    """Return the moves of one sweep, in order, by name: frames first, then the segmentation of what they align.

    It may be changed, as that of the segmentation: see `homothety.models.ibphmm.default_sweep`.
    """
    lifted = {name: partial(_move_segmentation, move) for name, move in ibphmm.default_sweep().items()}
    return {
        "frames": _resample_frames,
        "large rotations": _turn_globally,
        "sharing of frames": resample_sharing,
        **lifted,
    }


@storable
class KeptFrames(NamedTuple):
    """The path of a sweep by persistent numbers of states, and the frames."""

    path: RunPath
    frames: Frames


def _trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of the segmentation, with the log joint of frames and segmentation together."""
    scalars = ibphmm.RECORDING.scalars(model.aligned(state.frames), state.segmentation, infos)
    scalars["log_joint"] += log_frames(model, state.frames)
    return scalars | {"n_frames": state.frames.n_frames}


def _keep_frames(state: ChainState) -> KeptFrames:
    """Return what is kept of a state after burn-in."""
    return KeptFrames(RunPath.of(state.segmentation.id_path), state.frames)


RECORDING = Recording(scalars=_trace_scalars, keep=_keep_frames)
