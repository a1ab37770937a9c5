"""Geweke's test of the chain over links: drawing everything from the prior, or sweeping and redrawing the points.

Both ways leave the same joint distribution of links, concentration and points, if the sweep is right.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import naive
from homothety.arrays import frozen
from homothety.distributions import NIW, NormalGamma
from homothety.models.ddcrp import (
    ChainState,
    Model,
    _log_concentration_density,
    resample_concentration,
    resample_links,
    sample_links,
)

N_ITEMS = 5
CONCENTRATION_PRIOR = (2.0, 2.0)
MAX_Z = 4.5  # for half a dozen comparisons with fixed seeds


@dataclass(frozen=True)
class Setting:
    base: NIW | NormalGamma
    weights: np.ndarray
    samples_concentration: bool

    def model(self, points):
        return Model(frozen(points), self.weights, self.base, CONCENTRATION_PRIOR)

    def prior_draw(self, rng):
        """Draw concentration, links and points, in this order."""
        shape, rate = CONCENTRATION_PRIOR
        concentration = rng.gamma(shape) / rate if self.samples_concentration else 0.7
        state = ChainState(sample_links(rng, self.weights, concentration), concentration)
        return state, naive.sample_points(rng, state.labels.tolist(), self.base)


def make_setting(diagonal=False, samples_concentration=False):
    rng = np.random.default_rng(30)
    weights = rng.uniform(0.1, 1.0, (N_ITEMS, N_ITEMS)) * (1 - np.eye(N_ITEMS))
    # Light tails: the statistics below have fourth moments.
    full = NIW(np.array([0.5, -0.3]), 1.2, np.array([[9.0, 2.0], [2.0, 7.0]]), 12.0)
    base = NormalGamma(np.array([0.5, -0.3]), 1.2, 6.0, np.array([4.0, 3.0])) if diagonal else full
    return Setting(base, frozen(weights), samples_concentration)


def statistics(state, points):
    """Numbers that do not depend on the names of tables."""
    sizes = np.bincount(state.labels)
    centres = np.array([points[state.labels == k].mean(axis=0) for k in range(len(sizes))])
    return [
        len(sizes),
        (sizes**2).sum(),
        (state.links == np.arange(N_ITEMS)).sum(),
        points.mean(),
        points[0] @ points[1],
        ((points - centres[state.labels]) ** 2).sum(),
        state.concentration,
    ]


def sweep(rng, model, state, *, moves):
    for move in moves:
        state = move(rng, model, state)[0]
    return state


def from_the_prior(rng, setting, n_draws):
    return np.array([statistics(*setting.prior_draw(rng)) for _ in range(n_draws)])


def from_sweeps(rng, setting, moves, n_draws):
    """Sweep, look, redraw the points; looked at before the redraw, links must have listened to the points."""
    state, points = setting.prior_draw(rng)
    rows = []
    for _ in range(n_draws):
        state = sweep(rng, setting.model(points), state, moves=moves)
        rows.append(statistics(state, points))
        points = naive.sample_points(rng, state.labels.tolist(), setting.base)
    return np.array(rows)


def squared_error_of_mean(chain, n_batches=40):
    """Variance of the mean of each column by batches, so that correlated draws count for as much as they are worth."""
    batches = chain[: len(chain) // n_batches * n_batches].reshape(n_batches, -1, chain.shape[1]).mean(axis=1)
    return batches.var(axis=0, ddof=1) / n_batches


def largest_z(setting, moves, n_draws, seed=31):
    """Largest difference of the means of both ways, in units of its Monte Carlo error."""
    rng = np.random.default_rng(seed)
    direct, swept = from_the_prior(rng, setting, n_draws), from_sweeps(rng, setting, moves, n_draws)
    if not setting.samples_concentration:
        direct, swept = direct[:, :-1], swept[:, :-1]
    error = np.sqrt(squared_error_of_mean(direct) + squared_error_of_mean(swept))
    return np.max(np.abs(direct.mean(axis=0) - swept.mean(axis=0)) / error)


def moves_of(setting):
    return (resample_links, resample_concentration) if setting.samples_concentration else (resample_links,)


def slow_links(**steps):
    """The slow sampler as a move, with some of its steps replaced."""

    def move(rng, model, state):
        log_m = naive.marginal_of_tables(model.points, model.base)
        chain = naive.gibbs_chain(rng, 1, model.weights, state.concentration, log_m, state.links, **steps)
        return replace(state, links=chain[-1]), None

    return move


def concentration_without_jacobian(rng, model, state):
    """A walk on the logarithm accepted as if it were on the concentration itself: broken."""
    proposed = state.concentration * np.exp(0.5 * rng.standard_normal())
    log_ratio = _log_concentration_density(model, state, proposed)
    log_ratio -= _log_concentration_density(model, state, state.concentration)
    return (replace(state, concentration=proposed) if np.log(rng.random()) < log_ratio else state), None


SETTINGS = {
    "links": make_setting(),
    "links, diagonal prior": make_setting(diagonal=True),
    "links and concentration": make_setting(samples_concentration=True),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_sweeps_leave_the_joint_distribution(name):
    assert largest_z(SETTINGS[name], moves_of(SETTINGS[name]), 2000) < MAX_Z


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_sweeps_leave_the_joint_distribution_in_the_long_run(name):
    assert largest_z(SETTINGS[name], moves_of(SETTINGS[name]), 30_000) < MAX_Z


@pytest.mark.slow
def test_slow_sampler_leaves_the_joint_distribution():
    assert largest_z(SETTINGS["links"], [slow_links()], 4000) < MAX_Z


@pytest.mark.parametrize("fault", ["part not updated", "prior only"])
def test_broken_links_are_caught_at_once(fault):
    assert largest_z(SETTINGS["links"], [slow_links(**naive.BROKEN_STEPS[fault])], 800) > MAX_Z


@pytest.mark.slow
@pytest.mark.parametrize("fault", naive.BROKEN_STEPS)
def test_broken_links_are_caught(fault):
    assert largest_z(SETTINGS["links"], [slow_links(**naive.BROKEN_STEPS[fault])], 4000) > MAX_Z


def test_broken_concentration_is_caught():
    moves = (resample_links, concentration_without_jacobian)
    assert largest_z(SETTINGS["links and concentration"], moves, 2000) > MAX_Z
