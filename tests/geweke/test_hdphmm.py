"""Geweke's test of the whole sweep of the sticky HDP-HMM, and of sweeps with a fault.

If sweep and model agree, alternating a sweep with a draw of the series given paths and emissions leaves their joint
prior as it is; statistics of such a chain then have the means of independent draws from the prior.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

import naive_hdphmm as naive
from homothety.distributions import NIW
from homothety.models import hdphmm
from homothety.sequences import Sequences
from naive_crp import mean_and_error, z_scores

MAX_Z = 4.0  # standard errors a mean may be off; there are seventeen means
N_DRAWS = 4_000
STARTS = np.cumsum([0, *naive.LENGTHS])

# Enough degrees of freedom for the squares that are compared to have a variance.
BASE = NIW(np.array([0.3]), 0.5, np.array([[8.0]]), 11.0)


def make_model(steps):
    return hdphmm.Model(
        Sequences(steps, STARTS, ("a", "b")),
        BASE,
        n_states=naive.N_STATES,
        mass_prior=naive.MASS_PRIOR,
        concentration_prior=naive.CONCENTRATION_PRIOR,
        self_share_prior=naive.SELF_SHARE_PRIOR,
    )


def statistics(state, steps):
    """Numbers that do not depend on how states are named."""
    paths, staying = state.path, np.diagonal(state.transition)
    switches, together = naive.count_switches(paths), paths[0] == paths[6]
    return [
        state.mass,
        state.concentration,
        state.self_share,
        state.weights.max(),
        switches,
        state.n_used,
        together,
        staying.mean(),
        state.initial.max(),
        state.mass * state.n_used,
        state.concentration * switches,
        (state.self_share - staying.mean()) ** 2,
        ((state.weights - state.initial) ** 2).sum(),
        (steps[0] * steps[1]).sum() * (paths[0] == paths[1]),
        (steps[0] * steps[1]).sum() * (paths[0] != paths[1]),
        (steps**2).mean() * switches,
        (state.means[paths] * steps).mean(),
    ]


def draw_from_prior(rng):
    """Draw a model and a state."""
    state = hdphmm.ChainState(**naive.draw_prior(rng, BASE))
    return make_model(naive.draw_steps(rng, state.path, state.means, state.covariances)), state


@cache
def prior_means(n_draws):
    """Means of the statistics under the prior, and their standard errors."""
    rng = np.random.default_rng(101)
    draws = (draw_from_prior(rng) for _ in range(n_draws))
    return mean_and_error([statistics(state, model.sequences.steps) for model, state in draws])


def largest_z(sweep, n_draws, seed):
    """Largest difference of means between the two ways to draw, in standard errors."""
    rng = np.random.default_rng(seed)
    (model, state), draws = draw_from_prior(rng), []
    for _ in range(n_draws):
        for move in sweep.values():
            state, _ = move(rng, model, state)
        draws.append(statistics(state, model.sequences.steps))
        model = make_model(naive.draw_steps(rng, state.path, state.means, state.covariances))
    return z_scores(draws, *prior_means(n_draws)).max()


def test_forward_draws_have_the_means_that_are_known():
    means, errors = prior_means(N_DRAWS)
    known = np.array([2.0, 3.0, 0.6, 0.645, 1.445, 1.786])
    assert (np.abs(means[:6] - known) / np.hypot(errors[:6], 0.003)).max() < MAX_Z


def test_sweep_keeps_the_joint_prior():
    assert largest_z(hdphmm.default_sweep(), N_DRAWS, seed=1) < MAX_Z


@pytest.mark.slow
def test_sweep_keeps_the_joint_prior_at_length():
    assert largest_z(hdphmm.default_sweep(), 60_000, seed=2) < MAX_Z


# --- sweeps with a fault, which the same test must catch -------------------------------------------------------------


def mass_by_states_chosen(rng, model, state):
    """Counts the states that were chosen in place of the tables of the last restaurants."""
    considered = state.tables.n_considered
    n_chosen = int((considered > 0).sum())
    mass = hdphmm.sample_concentration(rng, state.mass, considered.sum(keepdims=True), n_chosen, model.mass_prior)
    return replace(state, mass=mass, weights=None), ()


def concentration_with_first_states(rng, model, state):
    """Lets the first states enter as if they had the concentration of a row."""
    first = hdphmm._sample_tables(rng, model.count_starts(state.path), model.initial_concentration * state.weights)
    tables = state.tables
    n_left = np.append(tables.n_left, model.sequences.n_recordings)
    tables = tables._replace(n_left=n_left, n_tables=tables.n_tables + int(first.sum()))
    moved, _ = hdphmm.resample_concentration(rng, model, replace(state, tables=tables))
    return replace(moved, tables=state.tables), ()


def stale_transitions():
    """Moves that draw transitions from the weights and concentrations before these were redrawn."""
    before = {}

    def tables(rng, model, state):
        before["tables"] = state
        return hdphmm._resample_tables(rng, model, state)

    def transitions(rng, model, state):
        drawn, info = hdphmm._resample_transitions(rng, model, before["tables"])
        return replace(state, initial=drawn.initial, transition=drawn.transition), info

    return {"tables": tables, "transitions": transitions}


def tables_without_overrides(rng, model, state):
    """Takes every table of those who stay for a choice by weight."""
    moved, info = hdphmm._resample_tables(rng, model, state)
    n_considered = moved.tables.n_considered + overrides_by_state(rng, model, state, moved.tables)
    return replace(moved, tables=moved.tables._replace(n_considered=n_considered)), info


def overrides_by_state(rng, model, state, tables):
    """Overrides, put down to states in proportion to how often these are kept."""
    stays = model.count_transitions(state.path).diagonal()
    return rng.multinomial(tables.n_overrides, stays / stays.sum()) if tables.n_overrides else 0


def tables_with_first_states_twice(rng, model, state):
    """Lets every first state count once more."""
    moved, info = hdphmm._resample_tables(rng, model, state)
    n_considered = moved.tables.n_considered + model.count_starts(state.path)
    return replace(moved, tables=moved.tables._replace(n_considered=n_considered)), info


def paths_across_series(rng, model, state):
    """Takes all series for one."""
    joined = replace(model, sequences=replace(model.sequences, starts=STARTS[[0, -1]]))
    return hdphmm.resample_paths(rng, joined, state)


def transitions_without_stickiness(rng, model, state):
    """Spreads all of the concentration by weight."""
    moved, info = hdphmm._resample_transitions(rng, model, replace(state, self_share=0.0))
    return replace(moved, self_share=state.self_share), info


def emissions_of_all_steps(rng, model, state):
    """Lets every state learn from every step."""
    moved, info = hdphmm.resample_emissions(rng, model, replace(state, path=np.zeros_like(state.path)))
    first = partial(np.repeat, repeats=model.n_states, axis=0)
    return replace(moved, path=state.path, means=first(moved.means[:1]), covariances=first(moved.covariances[:1])), info


BROKEN_MOVES = {
    "mass by states chosen": {"mass": mass_by_states_chosen},
    "concentration with first states": {"concentration": concentration_with_first_states},
    "stale transitions": stale_transitions(),
}
MORE_BROKEN_MOVES = {
    "tables without overrides": {"tables": tables_without_overrides},
    "tables with first states twice": {"tables": tables_with_first_states_twice},
    "paths across series": {"paths": paths_across_series},
    "transitions without stickiness": {"transitions": transitions_without_stickiness},
    "emissions of all steps": {"emissions": emissions_of_all_steps},
}


@pytest.mark.parametrize("fault", BROKEN_MOVES)
def test_broken_sweep_is_caught(fault):
    assert largest_z(hdphmm.default_sweep() | BROKEN_MOVES[fault], N_DRAWS, seed=1) > 1.5 * MAX_Z


@pytest.mark.slow
@pytest.mark.parametrize("fault", MORE_BROKEN_MOVES)
def test_broken_sweep_is_caught_at_length(fault):
    assert largest_z(hdphmm.default_sweep() | MORE_BROKEN_MOVES[fault], 20_000, seed=1) > 1.5 * MAX_Z
