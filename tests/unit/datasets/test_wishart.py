from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from homothety.datasets import make_wishart_families
from homothety.datasets._draws import shape_distance
from homothety.errors import InputError


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


def test_same_seed_same_data():
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
def test_bad_settings_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        make_wishart_families(**settings, random_state=0)
