from __future__ import annotations

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf, oas

from homothety.covariance import check_covariances, sample_covariance, sample_covariances
from homothety.covariance.estimate import mean_variance
from homothety.errors import InputError


@pytest.fixture
def samples(rng):
    return rng.normal(size=(30, 4)) * [1.0, 2.0, 3.0, 4.0] + 5


def test_default_is_equation_3(samples):
    np.testing.assert_allclose(sample_covariance(samples), np.cov(samples.T, bias=True), rtol=1e-12)


def test_unbiased_divisor(samples):
    np.testing.assert_allclose(sample_covariance(samples, ddof=1), np.cov(samples.T), rtol=1e-12)


def test_zero_mean_is_taken_at_its_word(samples):
    np.testing.assert_allclose(sample_covariance(samples, assume_centered=True), samples.T @ samples / 30, rtol=1e-12)


def test_ridge_is_a_fraction_of_the_trace(samples):
    plain = sample_covariance(samples)
    ridged = sample_covariance(samples, ridge=1e-3)
    np.testing.assert_allclose(ridged, plain + 1e-3 * np.trace(plain) * np.eye(4), rtol=1e-12)


def test_ridge_bounds_the_condition_number_at_any_rank(rng):
    few = rng.normal(size=(3, 20))
    assert np.linalg.cond(sample_covariance(few, ridge=1e-3)) <= 1001 * (1 + 1e-9)
    check_covariances([sample_covariance(few, ridge=1e-3)])


@pytest.mark.parametrize(("name", "estimator"), [("ledoit-wolf", ledoit_wolf), ("oas", oas)])
@pytest.mark.parametrize("assume_centered", [False, True])
def test_estimated_shrinkage_is_scikit_learns(samples, name, estimator, assume_centered):
    expected, intensity = estimator(samples, assume_centered=assume_centered)
    assert 0 < intensity < 1
    found = sample_covariance(samples, shrinkage=name, assume_centered=assume_centered)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_given_shrinkage_mixes_with_the_sphere_of_equal_trace(samples):
    plain = sample_covariance(samples)
    sphere = np.trace(plain) / 4 * np.eye(4)
    np.testing.assert_allclose(sample_covariance(samples, shrinkage=0.25), 0.75 * plain + 0.25 * sphere, rtol=1e-12)
    np.testing.assert_allclose(sample_covariance(samples, shrinkage=1), sphere, atol=1e-12)


def test_one_matrix_per_group(rng):
    groups = [rng.normal(size=(n, 3)) for n in (5, 9, 4)]
    found = sample_covariances(groups, ridge=0.1, ddof=1)
    assert found.shape == (3, 3, 3)
    np.testing.assert_array_equal(found[1], sample_covariance(groups[1], ridge=0.1, ddof=1))
    assert sample_covariances(rng.normal(size=(7, 10, 2))).shape == (7, 2, 2)


@pytest.mark.parametrize(
    ("samples", "options", "text"),
    [
        (np.ones((1, 3)), {}, "samples has 1 rows, needed at least 2"),
        (np.ones((2, 3)), {"ddof": 2}, "samples has 2 rows, needed at least 3 for a covariance with ddof=2"),
        (np.ones((5, 3)), {"ridge": -1.0}, "ridge is -1.0, needed a finite number of at least 0"),
        (np.ones((5, 3)), {"shrinkage": "lasso"}, "shrinkage is 'lasso', needed 'ledoit-wolf', 'oas', a number"),
        (np.ones((5, 3)), {"shrinkage": 1.5}, "shrinkage is 1.5"),
        (np.array([[1.0, np.nan], [0.0, 1.0]]), {}, r"samples\[0\] holds NaN"),
        (np.ones(3), {}, r"samples has shape \(3,\)"),
    ],
)
def test_wrong_input_is_named(samples, options, text):
    with pytest.raises(InputError, match=text):
        sample_covariance(samples, **options)


def test_wrong_groups_are_named(rng):
    with pytest.raises(InputError, match="groups is empty"):
        sample_covariances([])
    with pytest.raises(InputError, match=r"groups\[1\] has 4 dimensions but groups\[0\] has 3"):
        sample_covariances([rng.normal(size=(9, 3)), rng.normal(size=(9, 4))])
    with pytest.raises(InputError, match=r"groups\[1\] has 1 rows"):
        sample_covariances([rng.normal(size=(9, 3)), rng.normal(size=(1, 3))])


@pytest.mark.parametrize("factor", [1e-100, 1.0, 1e100])
def test_mean_variance_follows_the_units(factor, rng):
    points = rng.standard_normal((20, 3))
    assert mean_variance(factor * points) == pytest.approx(factor**2 * points.var(axis=0).mean())


@pytest.mark.parametrize("value", [0.0, 1.0, 1e9])
def test_mean_variance_of_equal_points_is_positive_and_no_more_than_rounding(value):
    assert 0 < mean_variance(np.full((5, 2), value)) <= max((1e-9 * value) ** 2, 1e-300)
