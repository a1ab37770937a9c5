"""Densities of Gaussians against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from homothety.distributions.gaussian import BLOCK, gaussian_log_density
from homothety.errors import NotSPDError


def random_gaussians(rng, n_gaussians, n_dims):
    roots = rng.normal(size=(n_gaussians, n_dims, n_dims + 2))
    return rng.normal(size=(n_gaussians, n_dims)), roots @ roots.swapaxes(1, 2)


@pytest.mark.parametrize("n_dims", [1, 2, 7])
@pytest.mark.parametrize("n_gaussians", [1, 3])
def test_densities_are_those_of_scipy(rng, n_gaussians, n_dims):
    points = 3 * rng.normal(size=(40, n_dims))
    means, covariances = random_gaussians(rng, n_gaussians, n_dims)
    found = gaussian_log_density(points, means, covariances)
    expected = [multivariate_normal(m, c).logpdf(points) for m, c in zip(means, covariances, strict=True)]
    np.testing.assert_allclose(found, np.transpose(expected), rtol=1e-10)
    assert found.flags.c_contiguous


def test_points_of_several_blocks_are_all_there(rng):
    points, (means, covariances) = rng.normal(size=(2 * BLOCK + 3, 2)), random_gaussians(rng, 2, 2)
    found = gaussian_log_density(points, means, covariances)
    expected = [multivariate_normal(m, c).logpdf(points) for m, c in zip(means, covariances, strict=True)]
    np.testing.assert_allclose(found, np.transpose(expected), rtol=1e-10)


def test_digits_survive_a_mean_far_from_the_origin(rng):
    points, (means, covariances) = rng.normal(size=(20, 3)), random_gaussians(rng, 2, 3)
    near = gaussian_log_density(points, means, covariances)
    far = gaussian_log_density(points + 1e6, means + 1e6, covariances)
    np.testing.assert_allclose(far, near, rtol=1e-6)


def test_scale_of_the_data_only_shifts_the_logarithm(rng):
    points, (means, covariances) = rng.normal(size=(20, 3)), random_gaussians(rng, 2, 3)
    found = gaussian_log_density(1e-100 * points, 1e-100 * means, 1e-200 * covariances)
    np.testing.assert_allclose(found, gaussian_log_density(points, means, covariances) + 300 * np.log(10), rtol=1e-10)


def test_covariance_that_is_none_is_named():
    covariances = np.array([np.eye(2), np.diag([1.0, -0.5])])
    with pytest.raises(
        NotSPDError, match=r"covariances\[1\] is not positive definite: its smallest eigenvalue is -0.5"
    ):
        gaussian_log_density(np.zeros((1, 2)), np.zeros((2, 2)), covariances)
