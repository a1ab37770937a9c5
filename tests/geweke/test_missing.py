"""Geweke's test of chains over recordings of which some values are missing, and of chains with a fault.

A chain alternates a sweep with a draw of all values, missing ones included, given paths and parameters. Sweeps that see
only what is observed leave the joint prior as it is.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from unittest import mock

import numpy as np
import pytest

import naive_frames
import naive_ibphmm as naive
from homothety.distributions import NIW
from homothety.models import frames, hdphmm, missing
from homothety.models.frames import Blocks, candidates
from homothety.models.ibphmm import default_sweep
from homothety.sequences import Sequences
from naive_crp import mean_and_error

MAX_Z, CAUGHT = 4.0, 5.0  # standard errors
N_CHAINS, N_DRAWS, N_DRAWS_LONG = 100, 1_500, 20_000

WORLD = naive.World(coefficients=((0.2,), (0.0,)), scale=((2.0, 1.0), (1.0, 1.5)), dof=6)
# Of three recordings of four steps: single values, whole steps, two in a row, and a dimension one recording lacks.
MISSING = np.zeros((12, 2), dtype=bool)
MISSING[[0, 2, 5], [1, 0, 1]] = True
MISSING[[3, 6, 7]] = True
MISSING[8:, 0] = True


def incomplete(model):
    """The model with what is missing filled in by a number that the data do not enter."""
    filled = model.with_values(MISSING, np.full(int(MISSING.sum()), 0.3))
    return missing.Model.of(filled, MISSING)


@cache
def prior_statistics(n_draws):
    rng = np.random.default_rng(100)
    return np.array([naive.statistics(*naive.draw_world(rng, WORLD)) for _ in range(n_draws)])


def chain_statistics(rng, sweep, n_sweeps):
    """Statistics of a chain that starts from the prior."""
    chain, (model, state) = [], naive.draw_world(rng, WORLD)
    for _ in range(n_sweeps):
        lifted, values = incomplete(model), model.values(MISSING)
        state = missing.ChainState(state, values)
        for move in sweep.values():
            state, _ = move(rng, lifted, state)
        completed, state = lifted.completed(state.values), state.inner
        chain.append(naive.statistics(completed, state))
        model = naive.make_model(WORLD, naive.draw_steps(rng, WORLD, state.path, state.whiteners))
    return chain


def largest_z(sweep, n_sweeps=12, seed=1):
    """Largest difference of means between chains and draws from the prior, in standard errors."""
    rng = np.random.default_rng(seed)
    chains = [chain_statistics(rng, sweep, n_sweeps) for _ in range(N_CHAINS)]
    mean, error = mean_and_error(np.concatenate(chains), n_batches=N_CHAINS)
    expected, error_of_expected = mean_and_error(prior_statistics(max(N_DRAWS, n_sweeps * N_CHAINS)))
    return (np.abs(mean - expected) / np.hypot(error, error_of_expected)).max()


def test_sweep_keeps_the_joint_prior():
    assert largest_z(missing.lifted_sweep(default_sweep())) < MAX_Z


@pytest.mark.slow
def test_sweep_keeps_the_joint_prior_at_length():
    assert largest_z(missing.lifted_sweep(default_sweep()), N_DRAWS_LONG // N_CHAINS, seed=2) < MAX_Z


def fill_in(value, rng, model, state):
    """Put one number in place of all that is missing."""
    return replace(state, values=np.full(len(state.values), value)), ()


def keep(rng, model, state):
    """Leave missing values as they are after paths were drawn without them."""
    return state, ()


@pytest.mark.parametrize("fault", [partial(fill_in, 0.2), keep], ids=["prior mean", "old values"])
def test_fault_in_missing_values_is_caught(fault):
    sweep = missing.lifted_sweep(default_sweep()) | {"missing values": fault}
    assert largest_z(sweep, n_sweeps=24) > CAUGHT


# --- the sticky HDP-HMM ----------------------------------------------------------------------------------------------

BASE = NIW(np.array([0.3, 0.0]), 0.5, np.array([[8.0, 3.0], [3.0, 6.0]]), 12.0)
STARTS = np.array([0, 4, 8, 12])


def shared_model(steps):
    return hdphmm.Model(
        Sequences(steps, STARTS, ("a", "b", "c")),
        BASE,
        n_states=3,
        mass_prior=(4.0, 2.0),
        concentration_prior=(6.0, 2.0),
        self_share_prior=(3.0, 2.0),
    )


def draw_shared(rng):
    """Draw steps, paths and all else from the prior."""
    mass, concentration, self_share = rng.gamma(4.0, 0.5), rng.gamma(6.0, 0.5), rng.beta(3.0, 2.0)
    weights = np.maximum(rng.dirichlet(np.full(3, mass / 3)), 1e-12)
    rows = concentration * ((1 - self_share) * weights + self_share * np.eye(3))
    transition, initial = np.stack([rng.dirichlet(row) for row in rows]), rng.dirichlet(weights)
    path = []
    for t in range(12):
        path.append(int(rng.choice(3, p=initial if t % 4 == 0 else transition[path[-1]])))
    path = np.array(path)
    means, covariances = hdphmm._sample_gaussians(rng, BASE, np.empty((0, 2)), np.empty(0, dtype=np.int64), 3)
    governed = (weights, initial, transition, means, covariances)
    return hdphmm.ChainState(path, mass, concentration, self_share, *governed)


def draw_shared_steps(rng, state):
    roots = np.linalg.cholesky(state.covariances)[state.path]
    return state.means[state.path] + np.einsum("tde,te->td", roots, rng.standard_normal((12, 2)))


def shared_statistics(state, steps):
    switches, squashed = (np.diff(state.path.reshape(3, 4)) != 0).sum(), np.tanh(steps)
    apart = state.path[:-1] != state.path[1:]
    return [
        state.mass,
        state.concentration,
        state.self_share,
        state.weights.max(),
        switches,
        state.n_used,
        np.diagonal(state.transition).mean(),
        (squashed[1:] * squashed[:-1]).sum(axis=0)[0],
        (squashed[1:] * squashed[:-1] * apart[:, None]).sum(),
        (squashed[:, 0] * squashed[:, 1]).sum(),
        (squashed * state.means[state.path]).sum(),
        np.log(np.linalg.det(state.covariances[state.path])).mean(),
        (squashed**2).sum() * switches,
    ]


def shared_z(sweep, n_draws, seed=1):
    """Largest difference of means between a chain and draws from the prior, in standard errors."""
    rng = np.random.default_rng(seed)
    expected = [
        (state := draw_shared(rng), shared_statistics(state, draw_shared_steps(rng, state)))[1] for _ in range(n_draws)
    ]
    state, found = draw_shared(rng), []
    for _ in range(n_draws):
        model = shared_model(draw_shared_steps(rng, state))
        lifted, state = incomplete(model), missing.ChainState(state, model.values(MISSING))
        for move in sweep.values():
            state, _ = move(rng, lifted, state)
        steps, state = lifted.completed(state.values).sequences.steps, state.inner
        found.append(shared_statistics(state, steps))
    (mean, error), (known, error_of_known) = mean_and_error(found), mean_and_error(expected)
    return (np.abs(mean - known) / np.hypot(error, error_of_known)).max()


def test_sweep_of_shared_states_keeps_the_joint_prior():
    assert shared_z(missing.lifted_sweep(hdphmm.default_sweep()), 5_000) < MAX_Z


def test_fault_in_missing_values_of_shared_states_is_caught():
    sweep = missing.lifted_sweep(hdphmm.default_sweep()) | {"missing values": partial(fill_in, 0.2)}
    assert shared_z(sweep, 5_000) > CAUGHT


# --- recordings in frames of their own -------------------------------------------------------------------------------

FRAMED = {
    "plane": naive_frames.FrameWorld(
        n_recordings=3, n_steps=5, least_stay=2, leaving=0.3, blocks=Blocks(("point", "vector"), dim=2)
    ),
    "space": naive_frames.FrameWorld(n_recordings=3, n_steps=5, least_stay=2, leaving=0.3, blocks=Blocks(("point",))),
}


def missing_of(model):
    """Single coordinates, whole blocks and whole steps; and a coordinate that one recording lacks."""
    lacking = np.zeros(model.steps.shape, dtype=bool)
    lacking[[0, 1], [1, 0]] = True
    lacking[2, :2] = True
    lacking[[3, 7]] = True
    lacking[10:, 1] = True
    return lacking


def change_along_chain(rng, world, sweep, n_sweeps):
    """Mean of statistics along a chain that alternates a sweep and a draw of all values, less where it starts."""
    model, state = naive_frames.draw_world(rng, world)
    lacking = missing_of(model)
    before, along = naive_frames.statistics(model, state), []
    for _ in range(n_sweeps):
        filled = model.with_values(lacking, np.full(int(lacking.sum()), 0.3))
        lifted, state = missing.Model.of(filled, lacking), missing.ChainState(state, model.values(lacking))
        for move in sweep.values():
            state, _ = move(rng, lifted, state)
        completed, state = model.with_values(lacking, state.values), state.inner
        along.append(naive_frames.statistics(completed, state))
        model = naive_frames.redraw_steps(rng, world, model, state)
    return np.mean(along, axis=0) - before


def framed_z(name, sweep, n_sweeps=6, n_chains=60, seed=1):
    """Largest change of the mean of a statistic along chains that start from the prior, in standard errors."""
    rng = np.random.default_rng(seed)
    with mock.patch.object(candidates, "NEAR", 0.4):
        changes = np.array([change_along_chain(rng, FRAMED[name], sweep, n_sweeps) for _ in range(n_chains)])
    errors = changes.std(axis=0, ddof=1) / np.sqrt(n_chains)
    changed = np.abs(changes).max(axis=0) > 1e-9
    return np.abs(changes.mean(axis=0)[changed] / errors[changed]).max()


def test_sweep_in_frames_keeps_the_joint_prior():
    assert framed_z("plane", missing.lifted_sweep(frames.default_sweep())) < 4.2


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMED)
def test_sweep_in_frames_keeps_the_joint_prior_at_length(name):
    assert framed_z(name, missing.lifted_sweep(frames.default_sweep()), 20, 400, seed=2) < 4.2


def test_fault_in_missing_values_in_frames_is_caught():
    sweep = missing.lifted_sweep(frames.default_sweep()) | {"missing values": partial(fill_in, 0.0)}
    assert framed_z("plane", sweep) > CAUGHT
