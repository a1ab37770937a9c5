"""The random pieces against the moments they must have; bounds are five Monte Carlo standard errors."""

from __future__ import annotations

import numpy as np
import pytest

from homothety.datasets import synthetic
from homothety.errors import InputError

N_DRAWS = 20_000


def deviates(samples, expected):
    """Tell whether the mean of independent samples is more than five standard errors off anywhere."""
    error = samples.std(axis=0) / np.sqrt(len(samples))
    return bool((np.abs(samples.mean(axis=0) - expected) > 5 * error).any())


def test_haar_matrices_are_orthogonal(rng):
    matrices = synthetic.haar_orthogonal(rng, 50, 5)
    np.testing.assert_allclose(matrices @ matrices.swapaxes(1, 2), np.broadcast_to(np.eye(5), (50, 5, 5)), atol=1e-13)


def test_haar_entries_have_the_moments_of_the_uniform_distribution(rng):
    matrices = synthetic.haar_orthogonal(rng, N_DRAWS, 3)
    assert not deviates(matrices, 0)
    assert not deviates(matrices**2, 1 / 3)
    assert not deviates(matrices**4, 3 / 15)
    assert not deviates(np.linalg.det(matrices), 0)


def test_haar_check_notices_signs_left_as_qr_gives_them(rng):
    uncorrected = np.linalg.qr(rng.standard_normal((N_DRAWS, 3, 3)))[0]
    assert deviates(uncorrected, 0)


def test_rotated_spectra_keep_their_eigenvalues(rng):
    spectra = np.sort(rng.uniform(1, 9, size=(20, 4)), axis=1)
    matrices = synthetic.rotate_spectra(rng, spectra)
    np.testing.assert_allclose(np.linalg.eigvalsh(matrices), spectra, rtol=1e-12)
    np.testing.assert_array_equal(matrices, matrices.swapaxes(1, 2))


def test_lognormal_noise_is_isotropic_gaussian_in_the_logarithm(rng):
    spread = 0.3
    values, vectors = np.linalg.eigh(synthetic._lognormal_noise(rng, N_DRAWS, 3, spread))
    logs = (vectors * np.log(values)[:, None, :]) @ vectors.swapaxes(1, 2)
    assert not deviates(logs, 0)
    assert not deviates(logs**2, spread**2 * (1 + np.eye(3)) / 2)


@pytest.mark.parametrize("dof", [3, 10])
def test_wishart_factors_have_the_moments_of_sample_covariances(rng, dof):
    covariances = synthetic._gram(synthetic._wishart_factors(rng, N_DRAWS, 3, dof))
    assert not deviates(covariances, np.eye(3))
    assert not deviates((covariances - np.eye(3)) ** 2, (1 + np.eye(3)) / dof)


def test_no_noise_is_exactly_none(rng):
    factors = rng.standard_normal((4, 3, 3))
    np.testing.assert_array_equal(synthetic.with_noise(rng, factors, 0), synthetic._gram(factors))


def test_shape_distance_ignores_scale_and_broadcasts():
    spectrum = np.array([1.0, 4.0, 9.0])
    assert synthetic.shape_distance(spectrum, 7 * spectrum) == pytest.approx(0, abs=1e-15)
    # Axis lengths 1, 2, 3 against 1, 1, 1.
    lengths = np.log([1.0, 2.0, 3.0])
    np.testing.assert_allclose(synthetic.shape_distance(np.ones(3), spectrum[None]), [lengths.std()])


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: synthetic.check_spread(-0.1, "noise"), "noise is -0.1, needed a finite number of at least 0"),
        (lambda: synthetic.check_spread(float("nan"), "noise"), "noise is nan"),
        (lambda: synthetic.check_choice("x", "scale", ("a", "b")), "scale is 'x', needed one of 'a', 'b'"),
    ],
)
def test_bad_settings_are_named(check, message):
    with pytest.raises(InputError, match=message):
        check()
