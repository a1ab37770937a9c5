"""A fixed probability of leaving a state: prior of paths and messages against the enumeration of all paths."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import naive_hmm
import naive_ibphmm as naive
from homothety.errors import InputError
from homothety.models.hmm._kernels import scaled
from homothety.models.ibphmm import _kernels, init_state, moves
from homothety.models.ibphmm._kernels import build_scratch
from homothety.models.ibphmm.model import log_path_prior

ALPHA, KAPPA, LEAVING = 0.8, 1.7, 0.3
ACTIVES = [(True,), (True, True), (True, False, True), (True, True, True)]


def counts_of(path, n_states, least_stay):
    counts = np.zeros((1, n_states, n_states))
    _kernels.count_all_transitions(np.array(path), np.array([0, len(path)]), counts, least_stay)
    return counts


def all_paths(active, n_steps):
    return product(np.flatnonzero(active).tolist(), repeat=n_steps)


@pytest.mark.parametrize("least_stay", [1, 2])
@pytest.mark.parametrize("active", ACTIVES)
def test_path_prior_equals_its_twin_and_sums_to_one(active, least_stay):
    active, total = np.array([active]), 0.0
    for path in all_paths(active[0], 5):
        expected = naive.log_path_prior([path], active, ALPHA, KAPPA, least_stay, LEAVING)
        if expected > -math.inf:
            counts = counts_of(path, active.shape[1], least_stay)
            assert log_path_prior(counts, active, ALPHA, KAPPA, LEAVING) == pytest.approx(expected, abs=1e-12)
            total += math.exp(expected)
    assert total == pytest.approx(1.0, abs=1e-12)


def test_a_price_that_a_state_alone_cannot_pay_is_caught():
    # The fault: a series of one feature pays for staying, which it has to.
    def paying(counts, *args):
        return log_path_prior(counts, *args) + counts.sum() * math.log(1 - LEAVING)

    sums = [
        sum(
            math.exp(prior(counts_of(path, 1, 1), np.ones((1, 1), bool), ALPHA, KAPPA, LEAVING))
            for path in all_paths((True,), 4)
        )
        for prior in (log_path_prior, paying)
    ]
    assert sums == pytest.approx([1.0, (1 - LEAVING) ** 3])


def messages(least_stay, n_steps, n_states, seed=0):
    """Evidence in three forms, and room for a chain."""
    log_evidence = np.random.default_rng(seed).normal(scale=1.5, size=(n_steps, n_states))
    return scaled(log_evidence), build_scratch(n_states, n_steps, least_stay, LEAVING)


def log_likelihood(active, weights, log_evidence, least_stay):
    """Of a series, by going through all its paths: where to is by weights, whether by the probability of leaving."""
    total, own = 0.0, np.flatnonzero(active)
    for path in all_paths(active, len(log_evidence)):
        transitions = naive_hmm.stay_transitions(path, least_stay)
        if transitions is None:
            continue
        value = math.exp(sum(log_evidence[t, k] for t, k in enumerate(path))) / len(own)
        for j, k in transitions:
            others = sum(weights[j, n] for n in own if n != j)
            if others:
                value *= 1 - LEAVING if j == k else LEAVING * weights[j, k] / others
        total += value
    return math.log(total)


@pytest.mark.parametrize("size", [1.0, 1e-198])
@pytest.mark.parametrize("least_stay", [1, 2])
@pytest.mark.parametrize("active", ACTIVES)
def test_filter_equals_enumeration(active, least_stay, size):
    n = len(active)
    weights = np.random.default_rng(1).gamma(1.0, size=(n, n))
    weights[~np.eye(n, dtype=bool)] *= size  # weights of staying are not looked at, however large they are
    weights += np.diag(np.full(n, 1e6 if size < 1 else 0.0))
    evidence, scratch = messages(least_stay, 5, n)
    arguments = np.array(active), weights, np.arange(n), evidence, scratch
    expected = log_likelihood(active, weights, evidence[0], least_stay)
    assert _kernels._series_log_likelihood(*arguments) == pytest.approx(expected, abs=1e-10)
    path = np.empty(5, dtype=np.int64)
    assert _kernels._draw_series_path(np.random.default_rng(0), *arguments, path) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("least_stay", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_sticky_filter_equals_enumeration(n, least_stay):
    evidence, scratch = messages(least_stay, 5, n)
    expected = log_likelihood((True,) * n, np.ones((n, n)), evidence[0], least_stay)
    states = np.arange(n)
    found = _kernels.sticky_log_likelihood(states, ALPHA, KAPPA, evidence, scratch)
    assert found == pytest.approx(expected, abs=1e-11)
    total = -math.inf
    for path in all_paths((True,) * n, 5):
        at = states, ALPHA, KAPPA, evidence[0], scratch, np.empty(n, dtype=np.int64), np.array(path)
        total = np.logaddexp(total, _kernels.log_sticky_path_density(*at))
    assert total == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("n", [1, 3])
def test_chain_of_a_model_is_that_of_its_kernels(n):
    world = replace(naive.TINY, leaving=LEAVING)
    model = naive.make_model(world, naive.tiny_sequences())
    weights = np.random.default_rng(2).gamma(1.0, size=(n, n))
    _, scratch = messages(1, 2, n)
    _kernels._write_chain(np.ones(n, bool), weights, np.arange(n), scratch)
    initial, transition = model.chain_between(weights)
    np.testing.assert_allclose(transition.ravel(), scratch.transition[: n * n], atol=1e-14)
    np.testing.assert_allclose(initial, scratch.initial[:n])
    np.testing.assert_allclose(transition.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.diagonal(transition), 1 - LEAVING if n > 1 else 1.0)


def test_weights_of_staying_come_from_their_prior():
    # Three transitions from 0 to 1 and twenty stays: the stays say nothing.
    rng, active, counts = np.random.default_rng(3), np.ones((1, 3), bool), np.zeros((1, 3, 3))
    counts[0, 0] = [20, 3, 0]
    draws = np.empty((4_000, 3, 3))
    for draw in draws:
        _kernels.draw_all_weights(rng, active, counts, ALPHA, KAPPA, draw[None], LEAVING)
    error = 4 / math.sqrt(len(draws))
    shares = draws[:, 0, 1] / draws[:, 0, 1:].sum(axis=1)
    assert shares.mean() == pytest.approx((ALPHA + 3) / (2 * ALPHA + 3), abs=error * shares.std())
    assert draws[:, 0, 0].mean() == pytest.approx(ALPHA + KAPPA, abs=error * draws[:, 0, 0].std())
    totals = draws[:, 0, 1:].sum(axis=1)
    assert totals.mean() == pytest.approx(2 * ALPHA, abs=error * totals.std())


@pytest.mark.parametrize("leaving", [-0.1, 1.0, 2.0])
def test_a_probability_is_needed(leaving):
    with pytest.raises(InputError, match=r"leaving is .*, needed a probability below 1"):
        naive.make_model(replace(naive.TINY, leaving=leaving), naive.tiny_sequences())


def test_states_of_a_model_are_drawn_with_it(rng):
    model = naive.make_model(replace(naive.TINY, leaving=LEAVING), naive.tiny_sequences())
    state = init_state(rng, model, n_shared=2, n_unique=0)
    assert (state.weights > 0).all()


def shares_below_median(rng, move, *, n_draws=2_000):
    """Return how often the probability of leaving is drawn below the median of its posterior, which is integrated."""
    model, state = naive.draw_world(np.random.default_rng(3), naive.World(3, 40, leaving=LEAVING))
    model = replace(model, leaving_range=(0.05, 0.6))
    assert (state.active.sum(axis=1) > 1).any()
    grid = np.geomspace(0.05, 0.6, 20_001)
    counts = np.zeros((model.n_recordings, state.n_states, state.n_states))
    _kernels.count_all_transitions(np.array(state.path), model.starts, counts, 1)
    log_density = [log_path_prior(counts, state.active, state.alpha, state.kappa, value) for value in grid[::40]]
    probs = np.exp(np.interp(grid, grid[::40], log_density) - max(log_density))
    median = grid[np.searchsorted(np.cumsum(probs), probs.sum() / 2)]
    return np.mean([move(rng, model, state)[0].leaving < median for _ in range(n_draws)])


def test_leaving_is_drawn_from_its_posterior():
    rng = np.random.default_rng(0)
    assert abs(shares_below_median(rng, moves.resample_leaving) - 0.5) < 0.04

    def from_prior(rng, model, state):
        return replace(state, leaving=float(np.exp(rng.uniform(*np.log(model.leaving_range))))), ()

    assert abs(shares_below_median(rng, from_prior) - 0.5) > 0.04
