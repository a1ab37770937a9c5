"""Where chains of recordings in frames start, if some of these lack a coordinate throughout.

A coordinate that was never measured cannot be filled in before the frame of its recording is known. So states and
frames are first found in the other recordings. The frames of recordings that lack a coordinate are then found given
these states, by what is observed of each step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.models.emissions.missing import drawn_steps, observed_evidence, plain_steps
from homothety.models.emissions.regression import mean_parameters, statistics_of
from homothety.models.frames._kernels import Frame, log_frame_prior
from homothety.models.frames.defaults import default_model, model_and_starts
from homothety.models.frames.frames import (
    Frames,
    aligned_steps,
    carried,
    draw_turn,
    log_determinants,
    recorded_steps,
    stacked,
)
from homothety.models.frames.model import state_gaussians
from homothety.models.frames.moves import redrawn_frames
from homothety.models.frames.search import Start
from homothety.models.hmm.messages import log_likelihood, most_likely_path
from homothety.models.hmm.states import pooled_transitions
from homothety.sequences import check_sequences

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.frames.defaults import Task
    from homothety.models.frames.frames import Blocks
    from homothety.models.frames.model import Model
    from homothety.sequences import Sequences

_N_DRAWN = 300  # rotations that are tried
_N_REFINED = 5  # of the best of these
_N_ROUNDS = 25  # of drawing missing values and places, sizes and small rotations in turn
_MOST_LACKING = 0.9  # share of its steps at which a recording may lack a coordinate, to be searched for states


class _Known(NamedTuple):
    """States that were found in recordings that lack nothing."""

    whiteners: FloatArray
    initial: FloatArray
    transition: FloatArray
    middle: FloatArray  # (n_dims,) of the aligned steps
    log_sizes: FloatArray  # mean over the frames of these recordings


def lacks_coordinate(blocks: Blocks, starts: IntArray, missing: BoolArray) -> BoolArray:
    """Whether each recording lacks a coordinate of a block that turns, throughout, (n_recordings,)."""
    turned = [c for b in blocks.turned for c in range(blocks.n_dims)[blocks.slices[b]]]
    parts = np.split(missing[:, turned], starts[1:-1])
    return np.array([bool((part.mean(axis=0) > _MOST_LACKING).any()) for part in parts])


def starts_in_observed(rng: Generator, task: Task, missing: BoolArray) -> tuple[Model, list[Start]]:
    """Return the model of all recordings and where its chains start.

    Parameters
    ----------
    rng : Generator
    task : Task
        Recordings with what is missing filled in.
    missing : ndarray of bool, shape (n_steps, n_dims)
    """
    lacking = lacks_coordinate(task.blocks, task.recordings.starts, missing)
    if not lacking.any() or lacking.all() or not task.blocks.n_angles:
        return model_and_starts(rng, task)
    groups = None if task.groups is None else np.unique(task.groups[~lacking], return_inverse=True)[1].astype(np.int64)
    part, starts = model_and_starts(rng, task._replace(recordings=_chosen_of(task.recordings, ~lacking), groups=groups))
    model = default_model(task.recordings, part.blocks, part.block_weights, task.least_looks, task.groups)
    return model, [_extended(rng, model, part, start, missing, lacking) for start in starts]


def _chosen_of(recordings: Sequences, chosen: BoolArray) -> Sequences:
    """Return some of several recordings."""
    which = np.flatnonzero(chosen).tolist()
    parts, names = [recordings[i] for i in which], [recordings.names[i] for i in which]
    return check_sequences(parts, names=names, allow_constant=True, min_steps=1)


def _extended(rng: Generator, model: Model, part: Model, start: Start, missing: BoolArray, lacking: BoolArray) -> Start:
    """Return the start of some recordings as one of all, with the others in the likeliest frames that are found."""
    known, own = _known_states(part, start), start.frames.per_recording()
    paths, frames, score = [], [], start.score
    pieces, place = np.split(start.path, part.starts[1:-1]), 0
    for i, is_lacking in enumerate(lacking.tolist()):
        if is_lacking:
            alone = _recording_alone(model, i, missing)
            found, path, gained = _likeliest_frame(rng, alone, known, own)
            score += gained
        else:
            found, path, place = Frames.single(own[place]), pieces[place], place + 1
        paths.append(path)
        frames.append(found)
    groups = model.start_groups
    by_trust = np.argsort(lacking, kind="stable")  # of recordings that share a frame, one that lacks nothing decides
    whose = [int(by_trust[(groups[by_trust] == f).argmax()]) for f in np.unique(groups)]
    return Start(np.concatenate(paths), stacked(groups, [frames[i] for i in whose]), score, start.n_states)


def _known_states(part: Model, start: Start) -> _Known:
    """Return the states of a start at their posterior means."""
    steps, path = aligned_steps(part.blocks, start.frames, part.steps, part.starts), start.path
    statistics = statistics_of(part.emission, part.emission.augment_steps(steps), path, int(path.max()) + 1)
    chain = pooled_transitions(path, part.starts, int(path.max()) + 1, part.segmentation.least_stay)
    whiteners = mean_parameters(part.emission, statistics)
    return _Known(whiteners, *chain, steps.mean(axis=0), start.frames.log_sizes.mean(axis=0))


def _recording_alone(model: Model, i: int, missing: BoolArray) -> Model:
    """Return the model of one recording, with its gaps."""
    rows = slice(model.starts[i], model.starts[i + 1])
    steps = np.ascontiguousarray(model.steps[rows])
    segmentation = replace(
        model.segmentation, z=model.segmentation.z[rows].copy(), starts=np.array([0, len(steps)], dtype=np.int64)
    )
    alone = replace(model, steps=steps, segmentation=segmentation, sharing="fixed", groups=None, resting=None)
    return alone.with_gaps(missing[rows])


def _likeliest_frame(rng: Generator, alone: Model, known: _Known, others: Frames) -> tuple[Frames, IntArray, float]:
    """Return the likeliest frame of a recording, its path, and its log density: frames of others, or drawn ones."""
    drawn = [_drawn_frame(rng, alone, known) for _ in range(_N_DRAWN)]
    scores = [_frame_score(alone, known, one)[0] for one in drawn]
    tried = [drawn[k] for k in np.argsort(scores)[::-1][:_N_REFINED]] + [
        Frames.single(others[k]) for k in range(others.n_frames)
    ]
    score, best = max((_refined(rng, alone, known, one) for one in tried), key=lambda found: found[0])
    evidence, least_stay = _frame_score(alone, known, best)[1], alone.segmentation.least_stay
    return best, most_likely_path(evidence, known.initial, known.transition, least_stay=least_stay)[0], score


def _drawn_frame(rng: Generator, alone: Model, known: _Known) -> Frames:
    """Return a frame turned at random, which takes the middle of the states to that of the recording."""
    blocks, turn = alone.blocks, draw_turn(rng, alone.blocks)
    middle = carried(blocks, turn[None], known.log_sizes[None], blocks.at_places(known.middle))[0]
    return Frames.single(Frame(turn, known.log_sizes, blocks.at_places(alone.steps.mean(axis=0)) - middle))


def _frame_score(alone: Model, known: _Known, frame: Frames) -> tuple[float, FloatArray]:
    """Return the log density of a frame and of what is observed, paths summed out, and the log evidence."""
    aligned = alone.aligned(frame)
    evidence = observed_evidence(alone.emission, aligned.z, known.whiteners, aligned.gaps)
    total = log_likelihood(evidence, known.initial, known.transition, least_stay=alone.segmentation.least_stay)
    volume = len(evidence) * float(log_determinants(alone.blocks, alone.block_weights, frame)[0])
    return total - volume + log_frame_prior(frame.log_sizes[0], frame.places[0], alone.prior), evidence


def _refined(rng: Generator, alone: Model, known: _Known, frame: Frames) -> tuple[float, Frames]:
    """Return the best frame, and its score, of a short run of draws that starts from a frame."""
    gaussians = state_gaussians(alone, known.whiteners)
    score, evidence = _frame_score(alone, known, frame)
    best = (score, frame)
    for _ in range(_N_ROUNDS):
        least_stay = alone.segmentation.least_stay
        path = most_likely_path(evidence, known.initial, known.transition, least_stay=least_stay)[0]
        aligned = alone.aligned(frame)
        drawn = drawn_steps(rng, alone.emission, aligned.z, path, known.whiteners, aligned.gaps)
        steps = recorded_steps(alone.blocks, frame, plain_steps(alone.emission, drawn), alone.starts)
        frame, _ = redrawn_frames(rng, replace(alone, steps=steps), frame, path, gaussians)
        score, evidence = _frame_score(alone, known, frame)
        best = (score, frame) if score > best[0] else best
    return best
