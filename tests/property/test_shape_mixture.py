"""Clusters do not depend on the rotation and the size of any matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homothety import SPCMMixture
from homothety.covariance.shape import _helmert_basis
from homothety.datasets import make_wishart_families
from homothety.errors import InputError

SHORT = {"n_chains": 2, "n_sweeps": 20, "random_state": 0}
FAMILIES = make_wishart_families(3, 3, n_per_family=8, dof=60, random_state=3)


def turned_and_resized(matrices, seed, decades):
    rng = np.random.default_rng(seed)
    rotations = np.linalg.qr(rng.standard_normal(matrices.shape))[0]
    sizes = 10.0 ** rng.uniform(-decades, decades, size=(len(matrices), 1, 1))
    turned = sizes * (rotations @ matrices @ rotations.swapaxes(-1, -2))
    return turned / 2 + turned.swapaxes(-1, -2) / 2


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000), decades=st.sampled_from([1.0, 10.0, 100.0]))
def test_labels_and_probabilities_ignore_rotation_and_size(seed, decades):
    before = SPCMMixture(**SHORT).fit(FAMILIES.matrices)
    after = SPCMMixture(**SHORT).fit(turned_and_resized(FAMILIES.matrices, seed, decades))
    assert np.array_equal(before.labels_, after.labels_)
    assert np.allclose(before.coclustering_, after.coclustering_)
    assert np.allclose(before.similarity_, after.similarity_, atol=1e-6)


def test_size_counts_if_asked_for():
    matrices = np.concatenate([FAMILIES.matrices[:8], 100 * FAMILIES.matrices[:8]])
    matrices /= np.linalg.det(matrices)[:, None, None] ** (1 / 3)
    matrices[8:] *= 100
    assert SPCMMixture(**SHORT).fit(matrices).n_clusters_ == 1
    assert SPCMMixture(size="use", **SHORT).fit(matrices).labels_.tolist() == [0] * 8 + [1] * 8


def test_families_closer_than_the_sampling_noise_are_one_cluster():
    numbers = {n: SPCMMixture(n_samples=n, **SHORT).fit(FAMILIES.matrices).n_clusters_ for n in (2, 500)}
    assert numbers == {2: 1, 500: 3}


def test_one_wide_family_from_uneven_numbers_of_samples_is_one_cluster():
    # Axis lengths of the family differ by far more than the sampling noise.
    rng = np.random.default_rng(0)
    n_samples = rng.choice([50, 5000], 60)
    shapes = np.array([-1.0, -1.5]) + 0.3 * rng.standard_normal((60, 2))
    steps = [
        rng.standard_normal((n, 3)) * np.exp(_helmert_basis(3) @ s) for n, s in zip(n_samples, shapes, strict=True)
    ]
    matrices = np.stack([one.T @ one / len(one) for one in steps])
    assert SPCMMixture(n_samples=n_samples, **SHORT).fit(matrices).n_clusters_ == 1


def test_the_median_of_known_noises_counts():
    n_samples = np.full(len(FAMILIES.labels), 60)
    n_samples[:5], n_samples[5:8] = 3, 1000
    all_alike, uneven = (SPCMMixture(n_samples=n, **SHORT).fit(FAMILIES.matrices) for n in (60, n_samples))
    assert np.array_equal(all_alike.draws_, uneven.draws_)


@pytest.mark.parametrize(
    ("n_samples", "found"),
    [
        (0, "has values from 0.0 to 0.0"),
        ([60] * 23 + [np.nan], "has values from nan to nan"),
        ([60] * 23 + [np.inf], "has values from 60.0 to inf"),
        ([60] * 23, r"has shape \(23,\)"),
        ([[60]] * 24, r"has shape \(24, 1\)"),
        ([60] * 23 + [[60, 60]], "has rows of different lengths"),
        ([60] * 23 + [None], "has dtype object"),
        ("60", "has dtype <U2"),
        (True, "has dtype bool"),
    ],
    ids=str,
)
def test_numbers_of_samples_that_make_no_sense_are_refused(n_samples, found):
    with pytest.raises(InputError, match=f"n_samples {found}, needed one number of at least 1, or 24 such"):
        SPCMMixture(n_samples=n_samples, **SHORT).fit(FAMILIES.matrices)


def test_one_shape_is_one_cluster_and_says_so():
    model = SPCMMixture(random_state=0).fit(make_wishart_families(1, 3, n_per_family=60, random_state=1).matrices)
    assert model.n_clusters_ == 1
    assert model.one_cluster_probability_ > 0.8


def test_settings_of_the_other_model_are_refused():
    with pytest.raises(InputError, match="model='shapes' has no variant"):
        SPCMMixture(model="shapes", variant="log", **SHORT).fit(FAMILIES.matrices)
    assert SPCMMixture(variant="log", **SHORT).fit(FAMILIES.matrices).model_ == "links"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"resolution": 1e-7}, "resolution is 1e-07, needed at least 1e-06"),
        ({"resolution": "fine"}, "resolution is 'fine', needed a finite number above 0"),
        ({"min_eigenvalue": 0}, "min_eigenvalue is 0, needed a finite number above 0"),
        ({"min_eigenvalue": 1}, "min_eigenvalue is 1, needed a share of the largest eigenvalue"),
        ({"min_eigenvalue": "a"}, "min_eigenvalue is 'a', needed a finite number above 0"),
        ({"min_eigenvalue": None}, "min_eigenvalue is None, needed a finite number above 0"),
    ],
    ids=str,
)
def test_numbers_out_of_range_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        SPCMMixture(**SHORT, **settings).fit(FAMILIES.matrices)


def test_the_finest_resolution_has_finite_densities():
    model = SPCMMixture(resolution=1e-6, **SHORT).fit(np.concatenate([FAMILIES.matrices, FAMILIES.matrices[:8]]))
    assert np.isfinite(model.trace_["log_joint"]).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variant": "log", "size": "use"}, "chosen by variant=, has no size=: these"),
        ({"variant": "log", "tolerance": 2, "n_samples": [60] * 24}, "by variant=, tolerance=, has no n_samples="),
        ({"model": "links", "resolution": -1, "min_eigenvalue": 7}, "by model='links', has no resolution=, min_eig"),
        ({"solver": "ordered", "size": "use"}, "chosen by solver='ordered', has no size="),
        ({"variant": "log", "size": "nonsense"}, "size is 'nonsense', needed 'ignore' or 'use'"),
    ],
    ids=str,
)
def test_settings_that_links_would_ignore_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        SPCMMixture(**SHORT, **settings).fit(FAMILIES.matrices)


@pytest.mark.parametrize(
    ("settings", "model"),
    [
        ({"mean_strength": np.int64(1), "tolerance": np.float32(1)}, "shapes"),
        ({"tolerance": np.array(1.0), "sample_concentration": np.bool_(False)}, "shapes"),
        ({"sample_concentration": np.bool_(True)}, "links"),
        ({"variant": "log", "size": np.str_("ignore"), "resolution": np.float64(0.01)}, "links"),
    ],
    ids=str,
)
def test_numbers_of_any_type_count_as_the_default_they_equal(settings, model):
    assert SPCMMixture(**SHORT, **settings).fit(FAMILIES.matrices).model_ == model
