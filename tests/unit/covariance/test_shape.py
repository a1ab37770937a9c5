from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import naive_similarity as naive
from homothety.covariance import (
    SPCMVariant,
    lerm,
    log_euclidean_coordinates,
    pairwise_distance,
    shape_coordinates,
)
from homothety.errors import FlooredEigenvaluesWarning, NotSPDError


@pytest.mark.parametrize("n_dims", [2, 3, 6])
def test_distance_of_shape_coordinates_is_the_root_of_the_log_dissimilarity(rng, n_dims):
    X = naive.matrices(rng, 12, n_dims)
    points = shape_coordinates(X)
    assert points.shape == (12, n_dims - 1)
    expected = naive.spcm_distances(X, X, SPCMVariant("sqrt", "log"))
    np.testing.assert_allclose(cdist(points, points) / np.sqrt(n_dims), np.sqrt(expected), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(pairwise_distance(X, variant="log"), expected, rtol=1e-10, atol=1e-28)


@pytest.mark.parametrize("scale", [1e-100, 1e-3, 7.0, 1e100])
def test_shape_coordinates_are_free_of_rotation_and_scale(rng, scale):
    X = naive.matrices(rng, 10, 4)
    turns = np.stack([naive.rotation(rng, 4) for _ in X])
    moved = scale * turns @ X @ turns.swapaxes(1, 2)
    np.testing.assert_allclose(shape_coordinates(moved), shape_coordinates(X), atol=2e-12)


def test_a_sphere_is_the_origin():
    np.testing.assert_array_equal(shape_coordinates([5 * np.eye(4)]), np.zeros((1, 3)))


def test_different_shapes_are_different_points():
    a, b = shape_coordinates([np.diag([1.0, 1.0, 4.0]), np.diag([1.0, 4.0, 4.0])])
    assert np.linalg.norm(a) == pytest.approx(np.linalg.norm(b))
    assert np.linalg.norm(a - b) > 0.5


@pytest.mark.parametrize("n_dims", [2, 3, 5])
def test_distance_of_log_euclidean_coordinates_is_the_metric(rng, n_dims):
    X = naive.matrices(rng, 8, n_dims)
    points = log_euclidean_coordinates(X)
    assert points.shape == (8, n_dims * (n_dims + 1) // 2)
    np.testing.assert_allclose(cdist(points, points), lerm(X[:, None], X[None]), rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(cdist(points, points), naive.distances(X, X, "lerm"), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("coordinates", [shape_coordinates, log_euclidean_coordinates])
def test_both_keep_the_numerical_contract(coordinates):
    with pytest.warns(FlooredEigenvaluesWarning, match="X: 1 of 2"):
        assert np.isfinite(coordinates([np.eye(2), np.diag([0.0, 1.0])])).all()
    with pytest.raises(NotSPDError, match=r"X\[1\] is not positive definite"):
        coordinates([np.eye(2), np.diag([-1.0, 1.0])])
