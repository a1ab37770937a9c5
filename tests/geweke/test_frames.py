"""Moves and sweeps over recordings in frames leave the joint prior of frames, features, paths and data as it is.

As for the IBP-HMM: *one move* applied to draws from the prior, statistics compared before and after; and *sweeps*
(Geweke), chains that alternate a sweep with a draw of the data. Everything is on: a least stay, a probability of
leaving that is fixed or sampled, several kinds of blocks. Blocks have a weight of one, since otherwise the joint
density draws no data.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from unittest import mock

import numpy as np
import pytest

import naive_frames as naive
from homothety.models import ibphmm
from homothety.models.frames import Blocks, _kernels, candidates, default_sweep, intervals, moves

MAX_Z = 4.2  # standard errors a mean may be off in the short runs; about a hundred means are compared
MAX_Z_LONG = 4.0
CAUGHT = 5.0  # what a fault must be off by
N_DRAWS, N_DRAWS_LONG = 500, 20_000
N_CHAINS = 60
NEAR = 0.4  # of proposals about candidates, wide enough for new frames to be accepted

EVERYTHING_ON = {"n_recordings": 3, "n_steps": 5, "least_stay": 2, "leaving": 0.3}
SPACE = Blocks(("point", "orientation", "vector"), still=(2,), shifted=(2,))
YAW = Blocks(("vector", "orientation", "point"), rotations="yaw", shifted=(0,))
WORLDS = {
    # Few steps leave frames wide open, so that a fault is seen.
    "small": naive.FrameWorld(n_recordings=2, n_steps=2, leaving=0.3, blocks=Blocks(("point",), dim=2)),
    "plane": naive.FrameWorld(**EVERYTHING_ON),
    "space": naive.FrameWorld(**EVERYTHING_ON, blocks=SPACE),
    "yaw": naive.FrameWorld(**EVERYTHING_ON, blocks=YAW),
    "points": naive.FrameWorld(**EVERYTHING_ON, blocks=Blocks(("point",))),
    "leaving": naive.FrameWorld(**EVERYTHING_ON, leaving_range=(0.01, 0.9), blocks=Blocks(("point", "vector"), dim=2)),
}
SWEEP = default_sweep()
FRAME_MOVES = ("frames", "large rotations", "sharing of frames")


@cache
def prior_draws(name, n_draws):
    rng = np.random.default_rng(100)
    return [naive.draw_world(rng, WORLDS[name]) for _ in range(n_draws)]


@cache
def prior_statistics(name, n_draws):
    return np.array([naive.statistics(*draw) for draw in prior_draws(name, n_draws)])


# --- one move --------------------------------------------------------------------------------------------------------


def z_of_move(move, world, n_draws=N_DRAWS, *, seed=1, n_times=3):
    """Largest change of the mean of a statistic by a move, in standard errors."""
    rng, after = np.random.default_rng(seed), []
    with mock.patch.object(candidates, "NEAR", NEAR):
        for model, state in prior_draws(world, n_draws):
            for _ in range(n_times):
                state, _ = move(rng, model, state)
            after.append(naive.statistics(model, state))
    differences = np.array(after) - prior_statistics(world, n_draws)
    errors = differences.std(axis=0, ddof=1) / np.sqrt(n_draws)
    changed = np.abs(differences).max(axis=0) > 1e-9
    assert changed.any(), "the move did nothing"
    return np.abs(differences.mean(axis=0)[changed] / errors[changed]).max()


@pytest.mark.parametrize("name", FRAME_MOVES)
def test_move_keeps_the_prior(name):
    assert z_of_move(SWEEP[name], "small", n_times=1 if name == "sharing of frames" else 3) < MAX_Z


def test_frames_with_orientations_keep_the_prior():
    assert z_of_move(SWEEP["frames"], "space", 200) < MAX_Z


def z_of_new_frames(blocks, n_draws=N_DRAWS):
    """Largest change of the mean of a statistic when the frame of a recording is drawn anew given the states."""
    world = naive.FrameWorld(n_recordings=1, n_steps=3, least_stay=2, leaving=0.3, blocks=blocks)
    rng, differences = np.random.default_rng(5), []
    for _ in range(n_draws):
        model, state = naive.draw_world(rng, world)
        chain = candidates.chain_of(model, state.segmentation, 0)
        (drawn,) = intervals.sample_frames(rng, model, chain, state.frames, 1, n_burn=2)
        before, after = (
            naive.frame_statistics(model, replace(state, frames=frames)) for frames in (state.frames, drawn)
        )
        differences.append(np.subtract(after, before))
    errors = np.std(differences, axis=0, ddof=1) / np.sqrt(n_draws)
    changed = np.abs(differences).max(axis=0) > 1e-9
    return np.abs(np.mean(differences, axis=0)[changed] / errors[changed]).max()


@pytest.mark.parametrize("blocks", [Blocks(("point", "vector"), dim=2), Blocks(("point", "orientation"))])
def test_frames_of_new_recordings_keep_the_prior(blocks):
    assert z_of_new_frames(blocks) < MAX_Z


def test_rotations_of_new_recordings_that_are_all_accepted_are_noticed():
    with mock.patch.object(intervals, "log_posterior", return_value=np.zeros(1)):
        assert z_of_new_frames(Blocks(("point", "vector"), dim=2)) > CAUGHT


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", FRAME_MOVES)
def test_move_keeps_the_prior_at_length(name, world):
    assert z_of_move(SWEEP[name], world, N_DRAWS_LONG // 4, seed=2) < MAX_Z_LONG


# --- sweeps ----------------------------------------------------------------------------------------------------------


def change_along_chain(rng, world, sweep, n_sweeps):
    """Mean of statistics along a chain that alternates a sweep and a draw of the data, less where it starts."""
    model, state = naive.draw_world(rng, world)
    before, along = naive.statistics(model, state), []
    for _ in range(n_sweeps):
        for move in sweep.values():
            state, _ = move(rng, model, state)
        along.append(naive.statistics(model, state))
        model = naive.redraw_steps(rng, world, model, state)
    return np.mean(along, axis=0) - before


def z_of_sweep(name, sweep, n_sweeps, seed=1, n_chains=N_CHAINS):
    """Largest change of the mean of a statistic along chains that start from the prior, in standard errors.

    Each chain is compared with its own start: however slowly it mixes, its changes are as often up as down.
    """
    rng = np.random.default_rng(seed)
    changes = np.array([change_along_chain(rng, WORLDS[name], sweep, n_sweeps) for _ in range(n_chains)])
    errors = changes.std(axis=0, ddof=1) / np.sqrt(n_chains)
    return np.abs(changes.mean(axis=0)[errors > 0] / errors[errors > 0]).max()


def test_sweep_keeps_the_joint_prior():
    assert z_of_sweep("plane", SWEEP, 8) < MAX_Z


def test_sweep_with_a_sampled_probability_of_leaving_keeps_the_joint_prior():
    assert z_of_sweep("leaving", SWEEP, 8) < MAX_Z


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_sweep_keeps_the_joint_prior_at_length(name):
    assert z_of_sweep(name, SWEEP, 20, seed=2, n_chains=1_000) < MAX_Z_LONG


# --- moves with a fault ----------------------------------------------------------------------------------------------


def without_jacobian(*args, original=_kernels.log_target):
    """Take away what counts for the volume of places of the first block, a point."""
    return original(*args) - args[1].layout.dim * args[0].log_sizes[0]


@contextmanager
def sizes_without_jacobian():
    """Draw sizes as plain Python, without the Jacobian of places."""
    interpreted = {name: getattr(_kernels, name).py_func for name in ("move_frames", "_turn_locally", "_draw_sizes")}
    with mock.patch.multiple(_kernels, log_target=without_jacobian, **interpreted):
        yield


FAULTS = {
    "sizes without jacobian": ("frames", sizes_without_jacobian),
    "paths of other frames": (
        "large rotations",
        lambda: mock.patch.object(moves.ibphmm, "redrawn_paths", lambda rng, model, state, series: state.path),
    ),
    "evidence without volume": (
        "sharing of frames",
        lambda: mock.patch.object(moves, "log_determinants", lambda blocks, weights, frames: np.zeros(frames.n_frames)),
    ),
    "no prior of frames": (
        "sharing of frames",
        lambda: mock.patch.object(_kernels, "log_frame_prior", return_value=0.0),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_broken_move_is_caught_at_length(fault):
    name, patch = FAULTS[fault]
    with patch():
        assert z_of_move(SWEEP[name], "small", 2_000, n_times=5) > CAUGHT


def test_broken_move_is_caught():
    with sizes_without_jacobian():
        assert z_of_move(SWEEP["frames"], "small", n_times=5) > CAUGHT


def sizes_drawn_without_jacobian(rng, model, state):
    with sizes_without_jacobian():
        return moves._resample_frames(rng, model, state)


@pytest.mark.slow
def test_broken_sweep_is_caught_at_length():
    assert z_of_sweep("small", SWEEP | {"frames": sizes_drawn_without_jacobian}, 10, n_chains=600) > CAUGHT


# --- a wrong probability of leaving ----------------------------------------------------------------------------------


def leaving_paid_by_a_state_alone(rng, model, state):
    """The fault: a recording with one state, which cannot be left, counts as if it had stayed by choice."""
    everywhere = np.ones((model.n_recordings, state.n_states), dtype=bool)
    counted = replace(state, active=everywhere if state.n_states > 1 else state.active)
    return replace(state, leaving=ibphmm.resample_leaving(rng, model, counted)[0].leaving), ()


def leaving_uniform_itself(rng, model, state):
    """The fault: the probability is uniform a priori, not its logarithm."""
    proposed = ibphmm.resample_leaving(rng, model, state)[0].leaving
    return (replace(state, leaving=proposed) if rng.random() < proposed / max(proposed, state.leaving) else state), ()


WRONG_LEAVING = {"paid by a state alone": leaving_paid_by_a_state_alone, "uniform itself": leaving_uniform_itself}


def z_of_leaving(fault, n_chains):
    wrong = partial(moves._move_segmentation, WRONG_LEAVING[fault])
    return z_of_sweep("leaving", SWEEP | {"leaving": wrong}, 8, n_chains=n_chains)


def test_a_wrong_probability_of_leaving_is_caught():
    assert z_of_leaving("uniform itself", 3 * N_CHAINS) > CAUGHT


@pytest.mark.slow
@pytest.mark.parametrize("fault", WRONG_LEAVING)
def test_a_wrong_probability_of_leaving_is_caught_at_length(fault):
    assert z_of_leaving(fault, 600) > CAUGHT
