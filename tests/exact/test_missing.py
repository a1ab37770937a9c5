"""Chains over recordings with missing values against posteriors enumerated in full."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.integrate import quad

import naive_emissions
import naive_ibphmm as naive
from homothety.models import missing
from homothety.models.ibphmm import Proposals, default_sweep, init_state
from naive import total_variation

N_SWEEPS, N_SWEEPS_LONG = 6_000, 100_000
MAX_DISTANCE, MAX_DISTANCE_LONG = 0.06, 0.02

# Two recordings of two steps. One step lacks a dimension, of which the other tells much; one lacks both.
WORLD = naive.World(
    2,
    2,
    mass=1.0,
    concentration=1.0,
    alpha=1.0,
    kappa=2.0,
    coefficients=((0.0,), (0.0,)),
    scale=((2.0, 1.2), (1.2, 1.5)),
)
STEPS = np.array([[-3.0, np.nan], [3.5, 3.0], [np.nan, np.nan], [-2.5, -3.0]])
MISSING = np.isnan(STEPS)
PARTIAL = 0


@cache
def log_partition(labels):
    """Log density of what is observed given which steps share a state: the missing number is integrated out."""
    labels = np.array(labels)
    known = ~MISSING.all(axis=1)
    z = np.column_stack([np.ones(4), STEPS])
    groups = [z[(labels == k) & known] for k in range(labels.max() + 1)]
    home = labels[PARTIAL]
    total = sum(naive_emissions.log_marginal(group, WORLD.emission) for k, group in enumerate(groups) if k != home)

    def density(value):
        return np.exp(naive_emissions.log_marginal(np.nan_to_num(groups[home], nan=value), WORLD.emission))

    return total + np.log(quad(density, -np.inf, np.inf, epsabs=1e-12)[0])


def chain(n_sweeps, *, splits=True, seed=1, **moves):
    """Pattern of owners after every sweep, of a chain with some of its moves replaced."""
    rng, proposals = np.random.default_rng(seed), Proposals(window=(1, 2), n_split_merge=1, n_halving=1, n_switches=1)
    model = naive.make_model(WORLD, naive.tiny_sequences(np.nan_to_num(STEPS)), proposals)
    left_out = {"concentrations", "buffet"} | (set() if splits else {"splits and merges", "halves and joins", "swaps"})
    sweep = {name: move for name, move in default_sweep().items() if name not in left_out}
    sweep = missing.lifted_sweep(sweep) | moves
    model = missing.Model.of(model, MISSING)
    at = {"mass": WORLD.mass, "concentration": WORLD.concentration, "alpha": WORLD.alpha, "kappa": WORLD.kappa}
    start = missing.lifted_start(lambda rng, model: init_state(rng, model, n_shared=1, n_unique=0, **at))
    state, patterns = start(rng, model), []
    for _ in range(n_sweeps):
        for move in sweep.values():
            state, _ = move(rng, model, state)
        patterns.append(naive.pattern_of(state.inner.active))
    return patterns


@cache
def posterior():
    return naive.posterior_of_patterns(log_partition)


def distance(patterns):
    observed = {pattern: n / len(patterns) for pattern, n in Counter(patterns).items()}
    return total_variation(posterior(), observed)


@pytest.mark.parametrize("splits", [False, True])
def test_patterns_follow_the_posterior_of_what_is_observed(splits):
    assert distance(chain(N_SWEEPS, splits=splits)) < MAX_DISTANCE


@pytest.mark.slow
@pytest.mark.parametrize("splits", [False, True])
def test_patterns_follow_the_posterior_of_what_is_observed_at_length(splits):
    assert distance(chain(N_SWEEPS_LONG, splits=splits, seed=2)) < MAX_DISTANCE_LONG


def fill_in_means(rng, model, state):
    """Put the mean of each dimension in place of what is missing."""
    means = np.broadcast_to(np.nanmean(STEPS, axis=0), STEPS.shape)
    return replace(state, values=means[MISSING]), ()


def test_means_in_place_of_draws_are_caught():
    assert distance(chain(N_SWEEPS, **{"missing values": fill_in_means})) > 2 * MAX_DISTANCE
