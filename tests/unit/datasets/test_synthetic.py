from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from homothety.datasets import make_dti, make_wishart_families
from homothety.datasets.synthetic import shape_distance
from homothety.errors import InputError

# --- families of sample covariances -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_dims", [2, 3, 6, 30])
def test_families_without_noise_are_exact_and_apart(n_dims):
    families = make_wishart_families(4, n_dims, n_per_family=5, dof=None, random_state=1)
    spectra = np.linalg.eigvalsh(families.matrices)
    assert (spectra[:, -1] / spectra[:, 0]).max() <= 100 * (1 + 1e-9)
    for first, second in combinations(range(20), 2):
        distance = shape_distance(spectra[first], spectra[second])
        assert distance < 1e-10 if families.labels[first] == families.labels[second] else distance >= 0.25 - 1e-10


def test_sizes_labels_and_symmetry():
    families = make_wishart_families(3, 4, n_per_family=7, dof=4, random_state=0)
    assert families.matrices.shape == (21, 4, 4)
    assert families.labels.tolist() == [0] * 7 + [1] * 7 + [2] * 7
    np.testing.assert_array_equal(families.matrices, families.matrices.swapaxes(1, 2))
    assert np.linalg.eigvalsh(families.matrices).min() > 0


def test_same_seed_same_families():
    first, again, other = (make_wishart_families(random_state=seed).matrices for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_noise_shrinks_with_the_degrees_of_freedom():
    def scatter(dof):
        families = make_wishart_families(2, n_per_family=200, dof=dof, random_state=2)
        spectra = np.linalg.eigvalsh(families.matrices[families.labels == 0])
        return shape_distance(spectra, np.exp(np.log(spectra).mean(axis=0))).mean()

    assert scatter(20) > 2 * scatter(500) > 4 * scatter(20_000)


def test_scale_spread_is_that_of_the_log_scale():
    families = make_wishart_families(1, 2, n_per_family=4000, dof=None, scale_spread=0.5, random_state=3)
    logs = np.log(np.linalg.eigvalsh(families.matrices)[:, 0])
    assert abs(logs.std() - 0.5) < 5 * 0.5 / np.sqrt(2 * len(logs))
    same = make_wishart_families(1, 2, dof=None, scale_spread=0, random_state=3)
    assert np.linalg.eigvalsh(same.matrices)[:, 0].std() < 1e-10


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_families": 0}, "n_families is 0, needed at least 1"),
        ({"n_dims": 5, "dof": 4}, "dof is 4, needed at least 5"),
        ({"scale_spread": -1}, "scale_spread is -1"),
        ({"max_condition": 0.5}, "max_condition is 0.5, needed a finite number of at least 1"),
        ({"n_families": 2, "n_dims": 1}, "no n_families=2 shapes in 1 dimensions that differ by min_separation=0.25"),
        ({"n_families": 20, "n_dims": 2}, "Ask for fewer families, a smaller min_separation or a larger max_condition"),
    ],
)
def test_bad_settings_of_families_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        make_wishart_families(**settings, random_state=0)


# --- images of tensors ------------------------------------------------------------------------------------------------


def fractional_anisotropy(tensors):
    eigenvalues = np.linalg.eigvalsh(tensors)
    deviations = eigenvalues - eigenvalues.mean(axis=1, keepdims=True)
    return np.sqrt(1.5 * (deviations**2).sum(axis=1) / (eigenvalues**2).sum(axis=1))


@pytest.mark.parametrize("shape", [(32, 32), (10, 25), (8, 9, 10), (1, 6)])
def test_every_voxel_has_a_tensor_and_a_region(shape):
    field = make_dti(shape, 4, random_state=0)
    assert field.matrices.shape == (np.prod(shape), 3, 3)
    assert field.grid == shape
    assert set(field.labels.tolist()) == {0, 1, 2, 3}
    np.testing.assert_array_equal(field.to_image(field.labels).ravel(), field.labels)  # row-major
    assert field.to_image(field.matrices).shape == (*shape, 3, 3)
    np.testing.assert_array_equal(field.matrices, field.matrices.swapaxes(1, 2))
    assert np.linalg.eigvalsh(field.matrices).min() > 0


@pytest.mark.parametrize("seed", range(10))
def test_no_region_is_empty_however_many(seed):
    field = make_dti((4, 3), 12, random_state=seed)
    assert sorted(field.labels.tolist()) == list(range(12))


def test_same_seed_same_field():
    first, again, other = (make_dti(random_state=seed).matrices for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_regions_have_the_anisotropies_asked_for():
    wanted = np.array([0.0, 0.3, 0.9])
    field = make_dti((20, 20), 3, anisotropies=wanted, noise=0, random_state=1)
    np.testing.assert_allclose(fractional_anisotropy(field.matrices), wanted[field.labels], atol=1e-7)


def test_default_anisotropies_are_evenly_spaced():
    field = make_dti(noise=0, random_state=1)
    expected = np.array([0.15, 0.325, 0.5, 0.675, 0.85])
    np.testing.assert_allclose(fractional_anisotropy(field.matrices), expected[field.labels], atol=1e-10)


def test_tensors_have_two_equal_short_axes():
    eigenvalues = np.linalg.eigvalsh(make_dti(noise=0, random_state=2).matrices)
    np.testing.assert_allclose(eigenvalues[:, 0], eigenvalues[:, 1], rtol=1e-10)


def test_mean_diffusivity_varies_about_the_value_asked_for():
    field = make_dti((40, 40), noise=0, mean_diffusivity=2.0, diffusivity_spread=0.1, random_state=3)
    diffusivities = np.trace(field.matrices, axis1=1, axis2=2) / 3
    # A sum of four waves never leaves four times its amplitude.
    assert np.abs(np.log(diffusivities / 2)).max() < 0.1 * 4 * np.sqrt(2 / 4) + 1e-12
    assert 0.02 < np.log(diffusivities).std() < 0.2
    uniform = make_dti(noise=0, mean_diffusivity=2.0, diffusivity_spread=0, random_state=3)
    np.testing.assert_allclose(np.trace(uniform.matrices, axis1=1, axis2=2) / 3, 2.0)


def test_orientation_and_size_change_smoothly_and_by_a_lot():
    field = make_dti((60, 60), 1, anisotropies=[0.8], noise=0, random_state=4)
    image = field.to_image(field.matrices)
    normalised = image / np.linalg.norm(image, axis=(2, 3), keepdims=True)
    steps = np.linalg.norm(np.diff(normalised, axis=0), axis=(2, 3))
    across = np.linalg.norm(normalised[0] - normalised[-1], axis=(1, 2))
    assert steps.mean() < 0.1
    assert across.max() > 0.5


def test_regions_are_blobs_not_dust():
    regions = make_dti((50, 50), random_state=5)
    image = regions.to_image(regions.labels)
    n_borders = (np.diff(image, axis=0) != 0).sum() + (np.diff(image, axis=1) != 0).sum()
    assert n_borders < 0.15 * image.size


def test_noise_spreads_anisotropy_without_moving_regions():
    exact, noisy = make_dti(noise=0, random_state=6), make_dti(noise=0.05, random_state=6)
    np.testing.assert_array_equal(exact.labels, noisy.labels)
    spread = np.abs(fractional_anisotropy(noisy.matrices) - fractional_anisotropy(exact.matrices))
    assert 0.005 < spread.mean() < 0.05


def test_work_in_blocks_changes_nothing(monkeypatch):
    whole = make_dti((17, 13), random_state=7)
    monkeypatch.setattr("homothety.covariance.embedding.BLOCK", 10)
    pieces = make_dti((17, 13), random_state=7)
    np.testing.assert_array_equal(whole.labels, pieces.labels)
    np.testing.assert_allclose(whole.matrices, pieces.matrices, rtol=1e-9, atol=1e-18)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shape": (4,)}, r"shape is \(4,\), needed 2 or 3 sizes"),
        ({"shape": 32}, "shape is 32, needed 2 or 3 sizes"),
        ({"shape": (4, 0)}, r"shape\[1\] is 0, needed at least 1"),
        ({"shape": (2, 2), "n_regions": 5}, "n_regions is 5 but the image has 4 voxels, needed at least one each"),
        ({"anisotropies": [0.1, 0.2]}, r"anisotropies has shape \(2,\), needed one value for each of 5 regions"),
        ({"n_regions": 1, "anisotropies": [1.0]}, r"needed fractional anisotropies in \[0, 1\)"),
        ({"mean_diffusivity": 0}, "mean_diffusivity is 0, needed a positive number"),
        ({"diffusivity_spread": -1}, "diffusivity_spread is -1"),
        ({"noise": float("inf")}, "noise is inf"),
    ],
)
def test_bad_settings_of_fields_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        make_dti(**settings, random_state=0)
