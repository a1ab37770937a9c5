"""The model of recordings in blocks with its default priors, weights of blocks, and where its chains start."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.models import ibphmm
from homothety.models.emissions import Emission
from homothety.models.frames._kernels import Prior
from homothety.models.frames.frames import aligned_steps
from homothety.models.frames.measurements import block_weights, place_prior, resting_recordings
from homothety.models.frames.model import ChainState, Model, init_state
from homothety.models.frames.search import Start, extended_starts, refit_starts, search_starts
from homothety.sequences import stretches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.frames.frames import Blocks
    from homothety.models.frames.model import Sharing
    from homothety.sequences import Sequences

LEAVING = 0.05  # probability per look of leaving an action that may be left
LEAVING_RANGE = (0.005, 0.12)  # if leaving were likelier, a swing would be worth two actions
SCALE = 0.1  # prior expectation of the covariance of a state, as a multiple of the variance of a block
STRENGTH = 5.0  # observations that this prior counts as
MEAN_STRENGTH = 0.1
SIZE_SPREAD = 0.5  # of log sizes of frames
HARDLY = 0.01  # share of its weight that a block has while others lead
N_ROUNDS = 6  # of setting the weights of blocks
SETTLED = 0.15  # change of the logarithm of a weight
LEAST_OBSERVATIONS = 60.0  # that all recordings count as, in each block: with fewer no two states are told apart
MOST_OBSERVATIONS = 250.0  # that all recordings count as, in each block, where points move
FIRST_OBSERVATIONS = (120.0, 250.0)  # before weights are measured; the second if the first lead to one state
N_STRETCHES, STRETCH = 16, 500  # of recordings in one frame that are searched for starts, and looks of each


class Task(NamedTuple):
    """Recordings made ready, and what is known of them before states and frames are."""

    recordings: Sequences
    """In units of blocks."""
    blocks: Blocks
    spans: Sequence[int]
    """Dimensions in which each block extends."""
    least_looks: int
    """Fewest looks of a stay."""
    groups: IntArray | None
    """(n_recordings,) which recordings share a frame; None if that is inferred."""
    is_limited: bool
    """Whether points move, and count as a limited number of observations."""


def model_and_starts(rng: Generator, task: Task) -> tuple[Model, list[Start]]:
    """Return the model with weights of blocks measured on the best start, and the starts found with it.

    Weights are measured on the states that were found, and states are found with these weights. With one state, all
    differences between actions look like autocorrelation, and one state is what such small weights lead to. So the
    first weights are larger than those of one state, and larger still if only one state is found, and its own weights
    are too small to tell two states apart. Long recordings that share one frame are searched in stretches.
    """
    recordings, groups = task.recordings, task.groups
    is_one_frame = groups is not None and np.ptp(groups) == 0
    if recordings.n_steps > 2 * N_STRETCHES * STRETCH and (is_one_frame or not task.blocks.turned):
        pieces = stretches(recordings, N_STRETCHES, STRETCH)
        alone = None if groups is None else np.zeros(pieces.n_recordings, dtype=np.int64)
        part, starts = model_and_starts(rng, task._replace(recordings=pieces, groups=alone))
        model = default_model(recordings, task.blocks, part.block_weights, task.least_looks, groups)
        return model, extended_starts(rng, part, starts, model)
    for n_observations in FIRST_OBSERVATIONS:
        model, starts = settled_starts(rng, task, n_observations)
        if starts[0].n_states > 1 or model.block_weights.min() * len(model.steps) > LEAST_OBSERVATIONS + 1.0:
            break
    return model, starts


def settled_starts(rng: Generator, task: Task, n_observations: float) -> tuple[Model, list[Start]]:
    """Return model and starts of which the weights of blocks are those measured on the best start.

    The first weights are as if every recording were one state, and all recordings count as `n_observations` at least.
    Points that move count as at most `MOST_OBSERVATIONS`: no motion is exactly Gaussian, and with enough data any model
    of Gaussian states finds more of them.
    """
    recordings = task.recordings
    whole = np.repeat(np.arange(len(recordings.lengths)), recordings.lengths)
    weights = block_weights(task.blocks, recordings.steps, whole, recordings.starts, task.spans)
    weights = np.maximum(weights, min(n_observations / len(whole), 1.0))
    models = [
        default_model(recordings, blocks, weights * counted, task.least_looks, task.groups)
        for blocks, counted in ways_to_turn(task.blocks)
    ]
    model, starts = search_starts(rng, models[0], models[1:])
    for _ in range(N_ROUNDS):
        measured = measured_weights(model, starts, task.spans)
        measured = np.maximum(measured, min(LEAST_OBSERVATIONS / len(whole), 1.0))
        if task.is_limited:
            measured = np.minimum(measured, MOST_OBSERVATIONS / len(whole))
        if np.abs(np.log(measured / weights)).max() < SETTLED:
            break
        weights = measured
        model = default_model(recordings, model.blocks, weights, task.least_looks, task.groups)
        starts = refit_starts(rng, model, starts)
    return model, starts


def ways_to_turn(blocks: Blocks) -> list[tuple[Blocks, FloatArray]]:
    """Return blocks that recordings may be described by, and what share of its weight each block has.

    Points lead: at first recorded vectors and orientations hardly count. Then all blocks turn with their recording, or
    vectors and orientations stay still: forces may be recorded in the frame of the tool, with a sensor that was tared
    or not, and orientations in another frame than positions. Where there is no such choice, there is one way.
    """
    all_count = np.ones(len(blocks.kinds))
    if not (blocks.points and blocks.shifted):
        return [(blocks, all_count)]
    hardly = np.where(np.isin(np.arange(len(blocks.kinds)), blocks.shifted), HARDLY, 1.0)
    vectors = tuple(b for b in blocks.shifted if blocks.kinds[b] == "vector")
    still = [replace(blocks, still=blocks.shifted, shifted=own) for own in ((), vectors)]
    ways = [(still[0], hardly), (blocks, all_count), (still[0], all_count), (still[1], all_count)]
    return ways if vectors else ways[:3]


def default_model(
    recordings: Sequences, blocks: Blocks, weights: FloatArray, least_looks: int, groups: IntArray | None = None
) -> Model:
    """Return what chains are conditioned on, given the weights of blocks."""
    steps = np.ascontiguousarray(recordings.steps)
    emission = Emission.gaussian_blocks(
        blocks.sizes,
        [np.zeros(n) for n in blocks.sizes],
        [MEAN_STRENGTH / max(float(np.mean(steps[:, block] ** 2)), 1.0) for block in blocks.slices],
        [STRENGTH * SCALE * np.eye(n) for n in blocks.sizes],
        [n + 1 + STRENGTH for n in blocks.sizes],
        weights.tolist(),
    )
    priors = ibphmm.Hyperpriors(alpha=ibphmm.GammaPrior(1.0, 1.0), kappa=ibphmm.GammaPrior(10.0, 1.0))
    plain = ibphmm.Model.from_sequences(recordings, emission, priors, least_stay=least_looks)
    segmentation = replace(plain, leaving=LEAVING, leaving_range=LEAVING_RANGE)
    prior = Prior(SIZE_SPREAD, *place_prior(blocks, recordings))
    sharing: Sharing = "inferred" if groups is None else "fixed"
    rests = resting_recordings(blocks, recordings)
    return Model(steps, segmentation, blocks, prior, sharing, groups=groups, resting=rests)


def measured_weights(model: Model, starts: list[Start], spans: Sequence[int]) -> FloatArray:
    """Return the weights of blocks under the best start, and under the best one with a state more if they are larger.

    Too few states leave differences between actions in what is taken for correlation inside them.
    """
    chosen = [starts[0], *[start for start in starts if start.n_states == starts[0].n_states + 1][:1]]
    weights = []
    for start in chosen:
        aligned = aligned_steps(model.blocks, start.frames, model.steps, model.starts)
        weights.append(block_weights(model.blocks, aligned, start.path, model.starts, spans))
    return np.asarray(np.max(weights, axis=0))


def start_from(starts: list[Start], rng: Generator, model: Model) -> ChainState:
    """Return the first state of a chain, at one of some starts drawn by their densities."""
    scores = np.array([start.score for start in starts])
    probs = np.exp(scores - scores.max())
    start = starts[int(rng.choice(len(starts), p=probs / probs.sum()))]
    first = partial(ibphmm.init_state, path=start.path)
    return init_state(rng, model, frames=start.frames, start=first)
