"""The numerical contract: what is accepted, what is refused by name, what is raised to the floor."""

from __future__ import annotations

import numpy as np
import pytest

import naive_similarity as naive
from homothety.covariance import check_covariances, eigenvalues
from homothety.covariance.spectra import floored_covariances
from homothety.errors import FlooredEigenvaluesWarning, InputError, NotSPDError


@pytest.fixture
def stack(rng):
    return naive.matrices(rng, 6, 3)


def test_accepted_matrices_come_back_exactly_symmetric(stack):
    noisy = stack * (1 + 1e-10 * np.random.default_rng(0).uniform(-1, 1, stack.shape))
    assert not np.array_equal(noisy, noisy.swapaxes(1, 2))
    checked = check_covariances(noisy)
    np.testing.assert_array_equal(checked, checked.swapaxes(1, 2))
    np.testing.assert_allclose(checked, stack, rtol=1e-7)


def test_the_input_is_never_written_to(stack):
    before = stack.copy()
    checked = check_covariances(stack)
    checked[:] = 0
    np.testing.assert_array_equal(stack, before)


def test_a_list_of_matrices_is_a_stack(stack):
    np.testing.assert_array_equal(check_covariances(list(stack)), check_covariances(stack))


def test_integer_matrices_are_accepted():
    assert check_covariances([np.diag([1, 2])]).dtype == np.float64


@pytest.mark.parametrize(
    ("X", "text"),
    [
        (np.eye(3), r"X has shape \(3, 3\), needed \(n_matrices, n_dims, n_dims\).*one matrix.*observations in rows"),
        (np.ones((7, 4)), r"X has shape \(7, 4\), needed \(n_matrices, n_dims, n_dims\)"),
        (np.ones(3), r"X has shape \(3,\)"),
        (np.empty((0, 3, 3)), r"X has shape \(0, 3, 3\), needed .* at least one square matrix"),
        ([], r"X has shape \(0,\)"),
        (np.ones((2, 3, 4)), r"X has shape \(2, 3, 4\)"),
        (np.ones((2, 2, 3, 3)), r"X has shape \(2, 2, 3, 3\)"),
        (np.ones((2, 1, 1)), r"at least 2 dimensions"),
        ([np.eye(2), np.eye(2), np.eye(3), np.eye(4)], r"X\[2\] has shape \(3, 3\) but X\[0\] has shape \(2, 2\)"),
        (np.array([[["a", "b"], ["c", "d"]]]), r"X has dtype .*needed numbers"),
        (np.eye(2)[None] * (1 + 0j), r"X is complex"),
    ],
)
def test_wrong_shapes_are_named(X, text):
    with pytest.raises(InputError, match=text):
        check_covariances(X)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_matrix_that_is_not_finite_is_named(stack, value):
    stack[4, 1, 2] = value
    with pytest.raises(InputError, match=r"X\[4\] holds NaN or infinity \(1 of 6 matrices do\)"):
        check_covariances(stack)


def test_an_asymmetric_matrix_is_named(stack):
    stack[2, 0, 1] += 1e-6 * np.abs(stack[2]).max()
    with pytest.raises(NotSPDError, match=r"X\[2\] is not symmetric: entries across the diagonal differ by"):
        check_covariances(stack)


def test_single_precision_excuses_more_asymmetry(stack):
    turned = stack.astype(np.float32)
    turned[2, 0, 1] += 3e-7 * np.abs(turned[2]).max()
    assert not np.array_equal(turned, turned.swapaxes(1, 2))
    for X in (turned, list(turned)):
        np.testing.assert_allclose(check_covariances(X), stack, rtol=1e-5, atol=1e-5)
    with pytest.raises(NotSPDError, match=r"pass \(X \+ X.swapaxes\(-1, -2\)\) / 2"):
        check_covariances(turned.astype(np.float64))


def test_a_negative_eigenvalue_is_named_with_its_value(stack):
    stack[3] = np.diag([2.0, -0.125, 1.0])
    with pytest.raises(NotSPDError, match=r"X\[3\] is not positive definite: smallest eigenvalue -0.125, needed > 0"):
        check_covariances(stack)
    with pytest.raises(NotSPDError, match=r"shrinkage or a ridge.*or drop it"):
        eigenvalues(stack)


def test_a_zero_matrix_is_not_positive_definite(stack):
    stack[5] = 0
    with pytest.raises(NotSPDError, match=r"X\[5\] is not positive definite: smallest eigenvalue 0"):
        check_covariances(stack)


def test_the_name_given_is_the_name_in_the_message(stack):
    stack[0] = -np.eye(3)
    with pytest.raises(NotSPDError, match=r"covariances\[0\]"):
        check_covariances(stack, name="covariances")


@pytest.mark.parametrize("n_dims", [2, 5])
def test_only_negative_eigenvalues_beyond_rounding_are_refused(n_dims):
    limit = 1e-10 * n_dims
    spectrum = np.ones(n_dims)
    spectrum[0] = -0.9 * limit
    check_covariances([np.diag(spectrum)])
    spectrum[0] = -1.1 * limit
    with pytest.raises(NotSPDError):
        check_covariances([np.diag(spectrum)])


def test_eigenvalues_are_ascending_whatever_the_basis(rng):
    spectra = np.exp(rng.normal(size=(20, 5)))
    rotations = np.stack([naive.rotation(rng, 5) for _ in spectra])
    X = (rotations * spectra[:, None]) @ rotations.swapaxes(1, 2)
    np.testing.assert_allclose(eigenvalues(X), np.sort(spectra, axis=1), rtol=1e-12)


def test_tiny_eigenvalues_are_raised_to_the_floor_and_counted():
    X = [np.diag([1.0, 1e-15, 8.0]), np.eye(3), np.diag([0.0, 0.0, 2.0])]
    with pytest.warns(FlooredEigenvaluesWarning, match=r"X: 2 of 3 matrices have eigenvalues below 1e-12"):
        floored = eigenvalues(X)
    np.testing.assert_array_equal(floored, [[8e-12, 1, 8], [1, 1, 1], [2e-12, 2e-12, 2]])


def test_the_floor_of_the_smallest_matrices_is_not_zero():
    with pytest.warns(FlooredEigenvaluesWarning):
        floored = eigenvalues([np.diag([0.0, 1e-300])], floor=1e-20)
    assert floored[0, 0] > 0
    assert np.isfinite(1 / floored).all()


def test_the_floor_is_the_callers_choice():
    X = [np.diag([1e-3, 1.0])]
    np.testing.assert_array_equal(eigenvalues(X), [[1e-3, 1.0]])
    with pytest.warns(FlooredEigenvaluesWarning, match="below 0.1"):
        np.testing.assert_array_equal(eigenvalues(X, floor=0.1), [[0.1, 1.0]])


@pytest.mark.parametrize("floor", [0.0, -1.0, 1.0, np.nan])
def test_an_impossible_floor_is_refused(floor):
    with pytest.raises(InputError, match=r"floor is .*needed a number between 0 and 1"):
        eigenvalues([np.eye(2)], floor=floor)


def test_floored_covariances_touch_only_what_needs_it(rng, stack):
    direction = rng.normal(size=3)
    stack[1] = np.outer(direction, direction)
    with pytest.warns(FlooredEigenvaluesWarning, match="1 of 6"):
        floored = floored_covariances(stack)
    untouched = [0, 2, 3, 4, 5]
    np.testing.assert_array_equal(floored[untouched], check_covariances(stack)[untouched])
    np.testing.assert_array_equal(floored, floored.swapaxes(1, 2))
    np.testing.assert_allclose(np.linalg.eigvalsh(floored[1])[:2], 1e-12 * (direction @ direction), rtol=1e-3)


def test_huge_entries_do_not_overflow_on_the_way():
    X = np.array([[[1.2e308, 1e307], [1e307, 1.2e308]]])
    np.testing.assert_allclose(eigenvalues(X), [[1.1e308, 1.3e308]], rtol=1e-12)
