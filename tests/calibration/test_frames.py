"""Intervals of frames hold what they say: the truth, in 90 % of many data sets drawn from the model itself.

States, paths, frames and steps are drawn from the prior, and the paths are given to the chain: they would be found
anyway, since states are far from each other. The truth is then a draw from the posterior like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pytest

import naive_frames as naive
from homothety.models.emissions import Emission
from homothety.models.frames import Blocks, default_sweep
from homothety.summaries.frames import _LEVEL, PreparedBlocks, _angle_between_turns, frame_table, relative_to

N_SETS, N_SWEEPS, N_BURN, EVERY = 150, 4_000, 200, 10
MAX_Z = 4.0


@dataclass(frozen=True)
class FarApart(naive.FrameWorld):
    """States far from each other, so that frames are in question and paths are not."""

    @cached_property
    def emission(self):
        parts = [np.zeros(3)] * 2, [0.01] * 2, [3.0 * np.eye(3)] * 2, [6.0] * 2
        return Emission.gaussian_blocks([3, 3], *parts, self.weights)


BLOCKS = Blocks(("point", "vector"))
WORLD = FarApart(
    n_recordings=3, n_steps=60, leaving=0.15, mass=4.0, concentration=0.01, blocks=BLOCKS, place_spread=3.0
)
N_STATES, LEAST_STEPS = 3, 5  # that every recording has, and of each
ORIGIN = np.array([[-4.0, 6.0, 2.0]])  # of the recordings, in the units of the model
FACTOR = 0.5  # from units of the recordings to those of the model
REFERENCE = 0
SWEEP = {name: move for name, move in default_sweep().items() if name in ("frames", "emissions")}


def draw_set(rng):
    """Draw a model and a state whose paths go through several states in every recording."""
    while True:
        model, state = naive.draw_world(rng, WORLD, labels=np.arange(WORLD.n_recordings))
        paths = np.split(state.segmentation.path, model.starts[1:-1])
        counts = np.array([np.bincount(path, minlength=state.segmentation.n_states) for path in paths])
        if (counts >= LEAST_STEPS).all(axis=0).sum() >= N_STATES:
            return replace(model, sharing="fixed", groups=np.arange(WORLD.n_recordings)), state


def drawn_frames(seed, weight):
    """Frames along a chain that starts at the truth; steps count as `weight` of an observation."""
    rng = np.random.default_rng(seed)
    model, state = draw_set(rng)
    emission = replace(WORLD, weights=(weight, weight)).emission
    model = replace(model, segmentation=replace(model.segmentation, emission=emission))
    truth, draws = state.frames, []
    for number in range(N_SWEEPS):
        for move in SWEEP.values():
            state, _ = move(rng, model, state)
        if number >= N_BURN and number % EVERY == 0:
            draws.append(state.frames)
    return model, truth, draws


def what_is_held(seed, weight=1.0):
    """Whether the intervals of each frame hold rotation, sizes (a share) and places (a share)."""
    model, truth, draws = drawn_frames(seed, weight)
    middle = model.steps[: model.starts[1]].mean(axis=0)
    offset, factors = np.concatenate([-ORIGIN[0] / FACTOR, np.zeros(3)]), np.full(6, FACTOR)
    prepared = PreparedBlocks(BLOCKS, 2, offset, factors)
    table = frame_table(prepared, draws, ("a", "b", "c"), REFERENCE, len(draws) - 1, middle)
    known = relative_to(BLOCKS, truth, REFERENCE)
    truly = frame_table(prepared, [truth], ("a", "b", "c"), REFERENCE, 0, middle).rows
    held = []
    for row, true in zip(table.rows, truly, strict=True):
        if row.is_reference:
            continue
        error = np.degrees(_angle_between_turns(table.turns[row.recording], known.turns[row.recording]))
        sizes, places = row.size_intervals, row.place_intervals
        is_sized = (sizes[:, 0] <= true.sizes) & (true.sizes <= sizes[:, 1])
        is_placed = (places[..., 0] <= true.places) & (true.places <= places[..., 1])
        held.append([float(error <= row.angle_error), is_sized.mean(), is_placed.mean()])
    return held


def coverage(n_sets, weight=1.0):
    """Mean of what is held, and its standard error; frames of one set are not independent."""
    sets = [np.mean(what_is_held(seed, weight), axis=0) for seed in range(n_sets)]
    return np.mean(sets, axis=0), np.std(sets, axis=0, ddof=1) / np.sqrt(n_sets)


@pytest.mark.slow
def test_intervals_of_frames_hold_the_truth():
    mean, error = coverage(N_SETS)
    assert (np.abs(mean - _LEVEL) < MAX_Z * error).all(), (mean, error)


@pytest.mark.slow
def test_steps_that_count_as_less_than_they_are_are_caught():
    mean, error = coverage(N_SETS // 3, weight=0.2)
    assert (mean > _LEVEL + MAX_Z * error).all(), (mean, error)
