"""Evidence of incomplete steps, draws of what is missing, and what a fit expects of it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.stats import multivariate_normal, norm

from homothety.errors import InputError
from homothety.models.emissions import Emission
from homothety.models.emissions.missing import (
    augmented,
    completed_steps,
    drawn_steps,
    expected_statistics,
    find_gaps,
    observed_evidence,
)
from homothety.models.emissions.regression import statistics_of
from homothety.models.hmm.states import StateModel, impute_steps
from homothety.sequences import check_sequences

N_STEPS, SIZES, WEIGHTS = 60, (2, 3, 1), (0.2, 0.5, 1.0)
STARTS = np.array([0, 25, N_STEPS])


def random_covariance(rng, n):
    root = rng.standard_normal((n, n + 2))
    return root @ root.T


def in_one_block(rng):
    emission = Emission.gaussian(np.zeros(6), 1.0, np.eye(6), 9.0)
    covariances = np.array([random_covariance(rng, 6) for _ in range(3)])
    return emission, covariances, (6,)


def in_blocks(rng):
    emission = Emission.gaussian_blocks(
        SIZES, [np.zeros(n) for n in SIZES], [1.0] * 3, [np.eye(n) for n in SIZES], [n + 3.0 for n in SIZES], WEIGHTS
    )
    covariances = np.array([block_diag(*[random_covariance(rng, n) for n in SIZES]) for _ in range(3)])
    return emission, covariances, SIZES


@pytest.fixture(params=[in_one_block, in_blocks])
def case(request):
    """Emission, means, covariances, whiteners, steps, what is missing of them, and sizes of blocks."""
    rng = np.random.default_rng(0)
    emission, covariances, sizes = request.param(rng)
    means = rng.standard_normal((3, 6))
    used = emission.structure_mask[:, : emission.n_regressors]
    whiteners = emission.whiteners_of(means[:, :, None] * used, covariances)
    steps, missing = rng.standard_normal((N_STEPS, 6)), rng.random((N_STEPS, 6)) < 0.4
    missing[:3], missing[25:28, :2] = True, True
    return emission, means, covariances, whiteners, steps, missing, sizes


def test_evidence_is_that_of_the_observed_dimensions(case):
    emission, means, covariances, whiteners, steps, missing, sizes = case
    z, edges = emission.augment_steps(steps), np.cumsum([0, *sizes])
    found = observed_evidence(emission, z, whiteners, find_gaps(emission, missing, STARTS, z))
    expected = np.zeros((N_STEPS, 3))
    for t, k in np.ndindex(N_STEPS, 3):
        for start, stop in pairwise(edges):
            known = np.arange(start, stop)[~missing[t, start:stop]]
            if len(known):
                own = multivariate_normal(means[k, known], covariances[k][np.ix_(known, known)])
                expected[t, k] += emission.dim_weights[start] * own.logpdf(steps[t, known])
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_evidence_does_not_depend_on_what_gaps_are_filled_with(case):
    emission, _, _, whiteners, steps, missing, _ = case
    z, other = (emission.augment_steps(np.where(missing, value, steps)) for value in (0.0, 5.0))
    gaps = find_gaps(emission, missing, STARTS, z)
    found = [observed_evidence(emission, filled, whiteners, gaps) for filled in (z, other)]
    np.testing.assert_allclose(*found, atol=1e-9)


def test_states_find_the_same_evidence(case):
    emission, means, covariances, whiteners, steps, missing, _ = case
    z = emission.augment_steps(steps)
    weights = None if emission.blocks is None else emission.dim_weights
    states = StateModel(np.full(3, 1 / 3), np.full((3, 3), 1 / 3), means[:, :, None], covariances, dim_weights=weights)
    found = states.weighted_log_evidence(np.where(missing, np.nan, steps))
    expected = observed_evidence(emission, z, whiteners, find_gaps(emission, missing, STARTS, z))
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_draws_have_the_moments_of_what_is_missing_given_the_rest(case):
    emission, means, covariances, whiteners, steps, missing, _ = case
    rng, z = np.random.default_rng(1), emission.augment_steps(steps)
    gaps, path = find_gaps(emission, missing, STARTS, z), rng.integers(0, 3, N_STEPS)
    n, root = emission.n_regressors, np.sqrt(emission.dim_weights)
    draws = np.array([drawn_steps(rng, emission, z, path, whiteners, gaps)[:, n:] / root for _ in range(4000)])
    np.testing.assert_allclose(draws[:, ~missing], np.broadcast_to(steps[~missing], (4000, (~missing).sum())))
    for t in range(N_STEPS):
        lacks, known, k = missing[t], ~missing[t], path[t]
        slopes = np.linalg.solve(covariances[k][np.ix_(known, known)], covariances[k][np.ix_(known, lacks)])
        mean = means[k, lacks] + (steps[t, known] - means[k, known]) @ slopes
        covariance = covariances[k][np.ix_(lacks, lacks)] - covariances[k][np.ix_(lacks, known)] @ slopes
        spread = np.sqrt(np.diagonal(covariance))
        assert (np.abs(draws[:, t, lacks].mean(axis=0) - mean) < 5 * spread / np.sqrt(4000)).all()
        scaled = (draws[:, t, lacks] - mean) / spread
        moments, expected = scaled.T @ scaled / 4000, covariance / np.outer(spread, spread)
        assert (np.abs(moments - expected) < 5 * np.sqrt((1 + expected**2) / 4000)).all()


def test_statistics_are_those_of_complete_steps_where_nothing_is_missing(case):
    emission, _, _, _, steps, _, _ = case
    path = np.arange(N_STEPS) % 3
    z, _, gaps = augmented(emission, check_sequences([steps[:25], steps[25:]]))
    found, expected = expected_statistics(emission, z, path, gaps, 3), statistics_of(emission, z, path, 3)
    assert (found.scales == expected.scales).all()


def test_expected_covariance_is_not_narrowed_by_what_is_missing():
    rng = np.random.default_rng(0)
    covariance = np.array([[1.0, 0.6], [0.6, 2.0]])
    steps = rng.multivariate_normal([1.0, -1.0], covariance, 4000)
    gappy = np.where(rng.random(steps.shape) < 0.4, np.nan, steps)
    emission = Emission.gaussian(np.zeros(2), 0.01, 0.01 * np.eye(2), 4.0)
    states = StateModel.from_path(
        emission, check_sequences([gappy], allow_missing=True), np.zeros(4000, dtype=np.int64)
    )
    np.testing.assert_allclose(states.covariances[0], covariance, atol=0.12)
    np.testing.assert_allclose(states.coefficients[0, :, 0], [1.0, -1.0], atol=0.08)


def test_completed_steps_keep_what_is_observed(case):
    emission, _, _, _, steps, missing, _ = case
    z = emission.augment_steps(np.where(missing, 0.0, steps))
    gaps = find_gaps(emission, missing, STARTS, z)
    found = completed_steps(np.random.default_rng(0), emission, z, np.arange(N_STEPS) % 3, gaps)
    whole = np.hstack([np.zeros((N_STEPS, emission.n_regressors), dtype=bool), missing])
    np.testing.assert_allclose(found[~whole], z[~whole])
    assert (found[whole] != z[whole]).all()


def test_autoregressive_states_refuse_missing_values():
    emission = Emission.autoregressive(1, 1.0, np.eye(2), 5.0)
    z, missing = np.zeros((4, 4)), np.zeros((4, 2), dtype=bool)
    with pytest.raises(InputError, match="autoregressive states need all of them"):
        find_gaps(emission, missing, np.array([0, 4]), z)


def test_interval_of_one_state_is_that_of_a_gaussian():
    imputed = impute_steps(np.full((1, 1), np.nan), np.ones((1, 1)), np.array([[2.0]]), np.array([[[9.0]]]), level=0.8)
    assert imputed.values[0, 0] == 2.0
    assert (imputed.lower[0, 0], imputed.upper[0, 0]) == pytest.approx(tuple(norm(2.0, 3.0).interval(0.8)))


def test_interval_of_two_states_holds_what_both_expect():
    probs, means = np.array([[0.25, 0.75]]), np.array([[-10.0], [10.0]])
    imputed = impute_steps(np.full((1, 1), np.nan), probs, means, np.ones((2, 1, 1)))
    assert imputed.values[0, 0] == 5.0
    mixture = 0.25 * norm(-10).cdf(imputed.lower[0, 0]) + 0.75 * norm(10).cdf(imputed.lower[0, 0])
    assert mixture == pytest.approx(0.05, abs=1e-6)
    assert imputed.upper[0, 0] == pytest.approx(10 + norm.ppf(1 - 0.05 / 0.75), abs=1e-6)
