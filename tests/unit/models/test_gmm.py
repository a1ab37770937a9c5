"""Mixtures of Gaussians whose number of components an information criterion chooses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture

from homothety.errors import InputError
from homothety.models import gmm
from homothety.models.gmm import select_gmm


def same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


def blobs(rng, sizes, spread=0.3, distance=4.0, n_dims=2):
    truth = np.repeat(np.arange(len(sizes)), sizes)
    centres = distance * np.eye(max(len(sizes), n_dims))[: len(sizes), :n_dims] * (1 + np.arange(len(sizes)))[:, None]
    return centres[truth] + spread * rng.standard_normal((len(truth), n_dims)), truth


@pytest.mark.parametrize("criterion", ["bic", "aic"])
def test_finds_separate_clusters(rng, criterion):
    points, truth = blobs(rng, [40, 30, 30], n_dims=3)
    fit = select_gmm(rng, points, max_components=6, criterion=criterion)
    assert fit.n_components == 3
    assert same_partition(fit.labels, truth)
    assert fit.skipped == {}
    assert fit.criteria.argmin() == 2
    np.testing.assert_allclose(fit.weights.sum(), 1.0)


def test_one_gaussian_is_one_component(rng):
    fit = select_gmm(rng, rng.standard_normal((200, 2)), max_components=4)
    assert fit.n_components == 1
    np.testing.assert_array_equal(fit.labels, 0)


def test_criterion_is_that_of_the_mixture_returned(rng):
    points, _ = blobs(rng, [20, 25])
    fit = select_gmm(rng, points, max_components=3)
    densities = sum(
        weight * multivariate_normal(mean, covariance).pdf(points)
        for weight, mean, covariance in zip(fit.weights, fit.means, fit.covariances, strict=True)
    )
    n_parameters = 1 + 2 * 2 + 2 * 3
    expected = n_parameters * math.log(len(points)) - 2 * np.log(densities).sum()
    np.testing.assert_allclose(fit.criteria[1], expected, rtol=1e-10)


@pytest.mark.parametrize("n_dims", [1, 2, 5])
@pytest.mark.parametrize("n_components", [1, 3])
def test_criteria_are_those_of_scikit_learn(rng, n_components, n_dims):
    points = rng.standard_normal((50, n_dims))
    mixture = GaussianMixture(n_components, random_state=0, max_iter=500, tol=1e-2).fit(points)
    log_likelihood = mixture.score_samples(points).sum()
    for criterion in ("bic", "aic"):
        found = gmm.information_criterion(log_likelihood, n_components, points.shape, criterion)
        np.testing.assert_allclose(found, getattr(mixture, criterion)(points), rtol=1e-12)


def test_free_parameters_are_counted():
    # Two weights of which one is free, two means of three numbers, two symmetric matrices of six.
    assert gmm.count_parameters(2, 3) == 1 + 6 + 12


def test_same_seed_same_fit_and_the_generator_matters(rng):
    points = rng.standard_normal((40, 3))
    first, second = (select_gmm(np.random.default_rng(5), points, max_components=4, n_init=1) for _ in range(2))
    np.testing.assert_array_equal(first.criteria, second.criteria)
    np.testing.assert_array_equal(first.labels, second.labels)
    other = select_gmm(np.random.default_rng(6), points, max_components=4, n_init=1)
    assert not np.array_equal(first.criteria, other.criteria)


@pytest.mark.parametrize(("scale", "shift"), [(1e-6, 0.0), (1e6, 0.0), (1.0, 1e4)])
def test_choice_does_not_depend_on_units_or_origin(rng, scale, shift):
    points, truth = blobs(rng, [20, 20])
    fit = select_gmm(rng, scale * points + shift, max_components=4)
    assert fit.n_components == 2
    assert same_partition(fit.labels, truth)


# --- degenerate points: no warning may leak, which would be an error here --------------------------------------------


def test_coincident_points_are_one_component_each_place(rng):
    points = np.repeat(np.eye(2), [3, 2], axis=0)
    fit = select_gmm(rng, points)
    assert fit.n_components == 2
    np.testing.assert_array_equal(fit.labels == fit.labels[0], [True, True, True, False, False])
    assert sorted(fit.skipped) == list(range(3, 11))
    assert "2 distinct points" in fit.skipped[3]
    assert "5 points" in fit.skipped[5]
    np.testing.assert_array_equal(np.isinf(fit.criteria), [False, False] + [True] * 8)


def test_rounding_does_not_make_clusters(rng):
    points = np.repeat(np.eye(3), 20, axis=0) + 1e-15 * rng.standard_normal((60, 3))
    assert select_gmm(rng, points, max_components=5).n_components == 3
    assert select_gmm(rng, 1 + 1e-15 * rng.standard_normal((20, 2)), max_components=3).n_components == 1


@pytest.mark.parametrize("place", [0.0, 1.0])
def test_points_all_the_same(rng, place):
    fit = select_gmm(rng, np.full((6, 2), place))
    assert fit.n_components == 1
    assert np.isfinite(fit.criteria[0])


@pytest.mark.parametrize("n_points", [2, 3, 5])
def test_a_handful_of_points(rng, n_points):
    directions = rng.standard_normal((n_points, 3))
    fit = select_gmm(rng, directions / np.linalg.norm(directions, axis=1, keepdims=True))
    assert 1 <= fit.n_components < n_points
    assert np.isfinite(fit.criteria[: n_points - 1]).all()
    assert np.isinf(fit.criteria[n_points - 1 :]).all()


def test_covariances_have_a_floor(rng):
    points = np.repeat(np.eye(2), 10, axis=0)
    fit = select_gmm(rng, points, max_components=2)
    floor = gmm._VARIANCE_SHARE * points.var(axis=0).mean()
    np.testing.assert_allclose(np.linalg.eigvalsh(fit.covariances).min(axis=1), floor, rtol=1e-6)


# --- EM that fails ---------------------------------------------------------------------------------------------------


def test_number_whose_em_does_not_converge_is_skipped(rng, monkeypatch):
    # Two iterations are enough for one component only, which has nothing to iterate.
    monkeypatch.setattr(gmm, "MAX_ITERATIONS", 2)
    fit = select_gmm(rng, rng.standard_normal((60, 2)), max_components=4, n_init=1)
    assert fit.n_components == 1
    assert set(fit.skipped) == {2, 3, 4}
    assert "did not converge in 2 iterations" in fit.skipped[3]
    assert np.isinf(fit.criteria[1:]).all()


def test_number_whose_em_breaks_down_is_skipped(rng, monkeypatch):
    fit_once = GaussianMixture.fit

    def fit_but_not_three(mixture, points):
        if mixture.n_components == 3:
            raise ValueError("ill-defined empirical covariance")
        return fit_once(mixture, points)

    monkeypatch.setattr(GaussianMixture, "fit", fit_but_not_three)
    fit = select_gmm(rng, rng.standard_normal((40, 2)), max_components=4)
    assert fit.skipped == {3: "EM broke down: ill-defined empirical covariance"}
    assert np.isinf(fit.criteria[2])


def test_nothing_fits(rng, monkeypatch):
    monkeypatch.setattr(gmm, "MAX_ITERATIONS", 1)
    with pytest.raises(InputError, match=r"not even one Gaussian\. EM did not converge in 1 iterations"):
        select_gmm(rng, rng.standard_normal((40, 2)), max_components=1)


@pytest.mark.parametrize(
    ("points", "settings", "message"),
    [
        (np.zeros((1, 2)), {}, "one point only"),
        (np.array([[0.0, np.nan], [1.0, 2.0]]), {}, r"points\[0\] holds NaN"),
        (np.eye(3), {"max_components": 0}, "max_components is 0"),
        (np.eye(3), {"n_init": 0}, "n_init is 0"),
        (np.eye(3), {"criterion": "icl"}, "criterion is 'icl', needed 'bic' or 'aic'"),
    ],
)
def test_refuses(rng, points, settings, message):
    with pytest.raises(InputError, match=message):
        select_gmm(rng, points, **settings)
