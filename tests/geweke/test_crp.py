"""Geweke's test of the whole sweep: prior draws against a chain that redraws the points after every sweep.

If sweep and model agree, alternating a sweep with a draw of the points given the partition leaves their joint prior as
it is; statistics of such a chain then have the means of independent draws from the prior. They are taken between the
two: after the points are redrawn, a sweep that never looked at them could not be told from a right one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

import naive
import naive_crp
from homothety.distributions import NIW, NormalGamma
from homothety.models import crp

N_ITEMS = 5
GAMMA_PRIOR = (2.0, 1.5)
MAX_Z = 4.0  # standard errors a mean may be off; there are ten means

# Enough degrees of freedom for the squares that are compared to have a variance.
BASES = {
    "full": NIW(np.array([0.3, -0.2]), 0.3, np.array([[3.0, 1.0], [1.0, 2.0]]), 11.0),
    "diagonal": NormalGamma(np.array([0.3, -0.2]), 0.3, 6.0, np.array([3.0, 2.0])),
}


def statistics(labels, points, concentration):
    """Numbers that do not depend on how clusters are named."""
    sizes, together = np.bincount(labels), labels[0] == labels[1]
    return [
        len(sizes),
        (sizes**2).sum(),
        together,
        points.mean(),
        points[0] @ points[0],
        points[0] @ points[1],
        together * (points[0] @ points[1]),
        len(sizes) * (points**2).sum(),
        np.log(concentration),
        len(sizes) * concentration,
    ]


def draw_from_prior(rng, base):
    """Draw the concentration, the partition and the points: a model and a state."""
    concentration = rng.gamma(GAMMA_PRIOR[0], 1 / GAMMA_PRIOR[1])
    labels = crp.sample_labels(rng, N_ITEMS, concentration)
    return crp.Model(naive.sample_points(rng, labels, base), base, GAMMA_PRIOR), crp.ChainState(labels, concentration)


@cache
def prior_means(prior, n_draws):
    """Means of the statistics under the prior, and their standard errors."""
    rng = np.random.default_rng(100)
    draws = (draw_from_prior(rng, BASES[prior]) for _ in range(n_draws))
    return naive_crp.mean_and_error(
        [statistics(state.labels, model.points, state.concentration) for model, state in draws]
    )


def successive_draws(rng, base, sweep, n_draws):
    """Statistics of a chain that alternates a sweep and a draw of the points; it starts from the prior."""
    (model, state), draws = draw_from_prior(rng, base), []
    for _ in range(n_draws):
        state = sweep(rng, model, state)
        draws.append(statistics(state.labels, model.points, state.concentration))
        model = replace(model, points=naive.sample_points(rng, state.labels, base))
    return draws


def largest_z(prior, sweep, n_draws, seed):
    """Largest difference of means between the two ways to draw, in standard errors."""
    draws = successive_draws(np.random.default_rng(seed), BASES[prior], sweep, n_draws)
    return naive_crp.z_scores(draws, *prior_means(prior, n_draws)).max()


def library_sweep(rng, model, state):
    for move in crp.default_sweep(sample_concentration=True).values():
        state, _ = move(rng, model, state)
    return state


@pytest.mark.parametrize("prior", BASES)
def test_sweep_keeps_the_joint_prior(prior):
    assert largest_z(prior, library_sweep, 5_000, seed=1) < MAX_Z


@pytest.mark.slow
@pytest.mark.parametrize("prior", BASES)
def test_sweep_keeps_the_joint_prior_at_length(prior):
    assert largest_z(prior, library_sweep, 100_000, seed=2) < MAX_Z


# --- sweeps with a fault, which the same test must catch -------------------------------------------------------------


def labels_of_other_concentration(rng, model, state):
    """A new cluster weighs one more than it should."""
    moved, _ = crp.resample_labels(rng, model, replace(state, concentration=state.concentration + 1))
    return crp.resample_concentration(rng, model, replace(moved, concentration=state.concentration))[0]


def labels_of_other_prior(rng, model, state):
    """The prior mean of a cluster counts for more than it should."""
    base = replace(model.base, mean_strength=10 * model.base.mean_strength)
    return library_sweep(rng, replace(model, base=base), state)


def labels_of_prior_alone(rng, model, state):
    """The points are not looked at."""
    prior = model.compiled_prior
    model.__dict__["compiled_prior"] = prior._replace(by_size=np.zeros_like(prior.by_size))
    return library_sweep(rng, model, state)


def concentration_by(step, rng, model, state):
    """The concentration takes a step of its own."""
    state, _ = crp.resample_labels(rng, model, state)
    return replace(state, concentration=step(rng, state.concentration, state.n_clusters, N_ITEMS, *GAMMA_PRIOR))


BROKEN_SWEEPS = {
    "other concentration": labels_of_other_concentration,
    "other prior": labels_of_other_prior,
    "prior alone": labels_of_prior_alone,
} | {name: partial(concentration_by, step) for name, step in naive_crp.BROKEN_CONCENTRATIONS.items()}


@pytest.mark.parametrize("fault", BROKEN_SWEEPS)
def test_broken_sweep_is_caught(fault):
    assert largest_z("full", BROKEN_SWEEPS[fault], 5_000, seed=1) > 1.5 * MAX_Z


def slow_sweep(rng, model, state, **steps):
    """The sweep by slow twins, any step of which may be a broken one."""
    log_p = naive_crp.predictive_of_points(model.points, model.base)
    tables, order = naive_crp.tables_of(state.labels.tolist()), rng.permutation(N_ITEMS).tolist()
    tables, _ = naive_crp.sweep(rng, order, tables, state.concentration, log_p, **steps)
    concentration = naive_crp.escobar_west(rng, state.concentration, len(tables), N_ITEMS, *GAMMA_PRIOR)
    return crp.ChainState(np.array(naive_crp.labels_of(tables)), concentration)


@pytest.mark.slow
def test_slow_sweep_keeps_the_joint_prior():
    assert largest_z("full", slow_sweep, 5_000, seed=3) < MAX_Z


@pytest.mark.slow
@pytest.mark.parametrize("fault", naive_crp.BROKEN_STEPS)
def test_broken_slow_sweep_is_caught(fault):
    assert largest_z("full", partial(slow_sweep, **naive_crp.BROKEN_STEPS[fault]), 5_000, seed=3) > 1.5 * MAX_Z
