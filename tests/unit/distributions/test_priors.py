"""Conjugate priors: marginals, predictives, posteriors and draws agree with each other and with their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import multigammaln
from scipy.stats import multivariate_t
from scipy.stats import t as student_t

import naive
from homothety.distributions import NIW, NormalGamma
from homothety.distributions.niw import multigammaln_of
from homothety.errors import InputError, NotSPDError


def make_niw(n_dims, extra_dof=0.3):
    rng = np.random.default_rng(n_dims)
    factor = rng.normal(size=(n_dims, n_dims))
    return NIW(rng.normal(size=n_dims), 0.7, factor @ factor.T + np.eye(n_dims), n_dims - 1 + extra_dof)


def make_normal_gamma(n_dims):
    rng = np.random.default_rng(n_dims)
    return NormalGamma(rng.normal(size=n_dims), 0.7, 1.4, rng.uniform(0.5, 2.0, n_dims))


every_prior = pytest.mark.parametrize(
    "prior",
    [make(n_dims) for make in (make_niw, make_normal_gamma) for n_dims in (1, 2, 3, 6, 12)],
    ids=lambda prior: f"{type(prior).__name__}-{prior.n_dims}",
)


def make_points(prior, n_points=9):
    return 1.5 * np.random.default_rng(20).normal(size=(n_points, prior.n_dims)) + 0.5


@every_prior
def test_marginal_is_the_product_of_predictives(prior):
    points, total = make_points(prior), 0.0
    for n in range(len(points)):
        total += prior.posterior(points[:n]).log_predictive(points[n : n + 1])[0]
        assert prior.log_marginal(points[: n + 1]) == pytest.approx(total, rel=1e-12, abs=1e-12)


@every_prior
def test_marginal_equals_its_twin(prior):
    points = make_points(prior)
    assert prior.log_marginal(points) == pytest.approx(naive.log_marginal(points, prior), rel=1e-12)


@every_prior
def test_nothing_has_density_one(prior):
    assert prior.log_marginal(np.empty((0, prior.n_dims))) == pytest.approx(0.0, abs=1e-12)


@every_prior
def test_order_of_points_does_not_matter(prior):
    points = make_points(prior)
    assert prior.log_marginal(points[::-1]) == pytest.approx(prior.log_marginal(points), rel=1e-12)


@every_prior
def test_size_tables_are_what_does_not_depend_on_where_points_are(prior):
    points = make_points(prior)
    log_constant, half_dof = prior.size_tables(len(points))
    assert log_constant.shape == half_dof.shape == (len(points) + 1,)
    for n in range(len(points) + 1):
        log_det = np.linalg.slogdet(naive.posterior_scale(points[:n], prior))[1]
        assert log_constant[n] - half_dof[n] * log_det == pytest.approx(prior.log_marginal(points[:n]), abs=1e-10)


@every_prior
def test_posterior_of_two_sets_is_the_posterior_of_one_given_the_other(prior):
    points = make_points(prior)
    at_once, in_turn = prior.posterior(points), prior.posterior(points[:4]).posterior(points[4:])
    np.testing.assert_allclose(at_once.mean, in_turn.mean, atol=1e-12)
    np.testing.assert_allclose(at_once.scale, in_turn.scale, rtol=1e-11, atol=1e-12)
    assert at_once.mean_strength == pytest.approx(in_turn.mean_strength)
    assert prior.log_marginal(points) == pytest.approx(
        prior.log_marginal(points[:4]) + prior.posterior(points[:4]).log_marginal(points[4:]), rel=1e-12
    )


@every_prior
def test_posterior_scale_is_equation_34_with_scatter_about_the_sample_mean(prior):
    points = make_points(prior)
    scale = prior.posterior(points).scale
    np.testing.assert_allclose(scale, naive.posterior_scale(points, prior), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("n_dims", [1, 2, 6])
def test_predictive_is_a_multivariate_student_t(n_dims):
    prior, points = make_niw(n_dims), make_points(make_niw(n_dims))
    tails = prior.dof - n_dims + 1
    shape = prior.scale * (prior.mean_strength + 1) / (prior.mean_strength * tails)
    expected = multivariate_t(prior.mean, shape, tails).logpdf(points)
    np.testing.assert_allclose(prior.log_predictive(points), np.atleast_1d(expected), rtol=1e-11)


@pytest.mark.parametrize("n_dims", [1, 3])
def test_diagonal_predictive_is_a_product_of_student_ts(n_dims):
    prior, points = make_normal_gamma(n_dims), make_points(make_normal_gamma(n_dims))
    expected = np.zeros(len(points))
    for p in range(n_dims):
        spread = prior.rate[p] / prior.shape * (1 + 1 / prior.mean_strength)
        expected += student_t(2 * prior.shape, prior.mean[p], np.sqrt(spread)).logpdf(points[:, p])
    np.testing.assert_allclose(prior.log_predictive(points), expected, rtol=1e-11)


def test_both_priors_are_one_in_one_dimension():
    points = np.random.default_rng(21).normal(size=(6, 1))
    full, diagonal = NIW([0.3], 0.5, [[1.6]], 3.0), NormalGamma([0.3], 0.5, 1.5, [0.8])
    assert full.log_marginal(points) == pytest.approx(diagonal.log_marginal(points), rel=1e-13)


def test_multivariate_gamma_of_many_arguments():
    values = np.array([3.1, 5.0, 40.5])
    np.testing.assert_allclose(multigammaln_of(values, 4), [multigammaln(value, 4) for value in values], rtol=1e-13)


# --- draws -----------------------------------------------------------------------------------------------------------


def within_error(draws, expected, n_errors=4.5):
    error = draws.std(axis=0) / np.sqrt(len(draws))
    return (np.abs(draws.mean(axis=0) - expected) <= n_errors * error).all()


@pytest.mark.parametrize("n_dims", [1, 2, 4])
def test_draws_of_mean_and_covariance_have_the_moments_of_the_prior(n_dims):
    prior, rng = make_niw(n_dims, extra_dof=9.0), np.random.default_rng(22)
    means, covariances = map(np.array, zip(*(prior.sample(rng) for _ in range(3000)), strict=True))
    assert means.shape == (3000, n_dims)
    assert covariances.shape == (3000, n_dims, n_dims)
    expected = prior.scale / (prior.dof - n_dims - 1)
    assert within_error(covariances, expected)
    assert within_error(np.linalg.inv(covariances), prior.dof * np.linalg.inv(prior.scale))
    assert within_error(means, prior.mean)
    centred = means - prior.mean
    assert within_error(centred[:, :, None] * centred[:, None, :], expected / prior.mean_strength)


def test_diagonal_draws_have_the_moments_of_the_prior():
    prior, rng = NormalGamma([1.0, -2.0], 0.5, 6.0, [2.0, 0.3]), np.random.default_rng(23)
    means, covariances = map(np.array, zip(*(prior.sample(rng) for _ in range(4000)), strict=True))
    assert (covariances[:, [0, 1], [1, 0]] == 0).all()
    variances = covariances[:, [0, 1], [0, 1]]
    assert within_error(variances, prior.rate / (prior.shape - 1))
    assert within_error(1 / variances, prior.shape / prior.rate)
    assert within_error(means, prior.mean)
    assert within_error((means - prior.mean) ** 2, prior.rate / (prior.shape - 1) / prior.mean_strength)


@pytest.mark.parametrize("prior", [make_niw(3, extra_dof=0.1), make_normal_gamma(3)])
def test_draws_of_barely_proper_priors_are_usable(prior):
    rng = np.random.default_rng(24)
    for _ in range(200):
        mean, covariance = prior.sample(rng)
        assert np.isfinite(mean).all()
        assert np.isfinite(covariance).all()
        assert (np.diagonal(covariance) > 0).all()


def test_draws_are_determined_by_the_generator():
    prior = make_niw(2)
    draws = [prior.sample(np.random.default_rng(25)) for _ in range(2)]
    np.testing.assert_array_equal(draws[0][0], draws[1][0])
    np.testing.assert_array_equal(draws[0][1], draws[1][1])


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(2), 1.0, np.eye(3), 4.0), r"scale has shape \(3, 3\), needed \(2, 2\) to match mean"),
        ((np.zeros(2), 0.0, np.eye(2), 4.0), r"mean_strength is 0.0, needed a positive number"),
        ((np.zeros(2), np.nan, np.eye(2), 4.0), "mean_strength is nan, needed a positive number"),
        ((np.zeros(2), 1.0, np.eye(2), 1.0), r"dof is 1.0, needed more than n_dims - 1 = 1"),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        NIW(*arguments)


@pytest.mark.parametrize("scale", [-np.eye(2), np.zeros((2, 2)), [[1.0, 2.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]]])
def test_scale_must_be_positive_definite(scale):
    with pytest.raises(NotSPDError, match="scale is not symmetric positive definite"):
        NIW(np.zeros(2), 1.0, np.array(scale), 4.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(2), 1.0, 1.0, np.ones(3)), r"rate must hold 2 positive numbers, found"),
        ((np.zeros(2), 1.0, 1.0, np.array([1.0, 0.0])), r"rate must hold 2 positive numbers, found"),
        ((np.zeros(2), -1.0, 1.0, np.ones(2)), r"must be positive, found -1.0 and 1.0"),
        ((np.zeros(2), 1.0, 0.0, np.ones(2)), r"must be positive, found 1.0 and 0.0"),
    ],
)
def test_bad_diagonal_parameters_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        NormalGamma(*arguments)


def test_priors_leave_the_callers_arrays_writable():
    mean, scale, rate = np.zeros(2), np.eye(2), np.ones(2)
    priors = NIW(mean, 1.0, scale, 3.0), NormalGamma(mean, 1.0, 1.0, rate)
    mean[0], scale[0, 0], rate[0] = 5.0, 5.0, 5.0
    assert all(prior.mean[0] == 0.0 for prior in priors)
    assert priors[0].scale[0, 0] == priors[1].rate[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        priors[0].mean[0] = 1.0
