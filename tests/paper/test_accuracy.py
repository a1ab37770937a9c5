"""The SPCM-CRP mixture and the default recover the groups of the paper's data sets.

The floors are what the project aims at. For two sets, where no single setting reaches the aim, they are what the
SPCM-CRP mixture holds: benchmarks/results/accuracy.md has what was tried. Floors of the default are its own: it finds
less on the task ellipsoids, whose classes differ in size too, and on ETH-80, see benchmarks/results/clusters.md.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from homothety import SPCMMixture, metrics
from homothety.covariance import sample_covariances
from homothety.datasets import make_toy_3d, make_toy_6d
from homothety.errors import ConvergenceWarning, NearlySingularWarning


def mean_scores(matrices, truth, n_seeds, model="links", **settings):
    """NMI and F, averaged over seeds, whether the chains of a fit agree or not."""
    scores = []
    for seed in range(n_seeds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", NearlySingularWarning)  # 17 of the task ellipsoids are
            labels = SPCMMixture(model=model, random_state=seed, **settings).fit(matrices).labels_
        scores.append((metrics.nmi(truth, labels), metrics.f_measure(truth, labels)))
    return np.mean(scores, axis=0)


def check_draws(make, seeds):
    failed = [seed for seed in seeds if not recovers(make(random_state=seed), seed)]
    assert failed == []


def recovers(toy, seed):
    return metrics.ari(toy.labels, SPCMMixture(random_state=seed).fit(toy.matrices).labels_) == 1.0


@pytest.mark.parametrize("make", [make_toy_3d, make_toy_6d])
def test_draws_of_the_toys_are_recovered(make):
    check_draws(make, range(5))


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        make_toy_3d,
        make_toy_6d,
        lambda random_state: make_toy_6d(random_state=random_state, scale="matrix"),
        lambda random_state: make_toy_6d(random_state=random_state, spectra="published", scale="matrix"),
    ],
    ids=["toy 3D", "toy 6D", "toy 6D, scale per matrix", "toy 6D, published spectra"],
)
def test_twenty_draws_of_the_toys_are_recovered(make):
    check_draws(make, range(20))


@pytest.mark.parametrize("name", ["toy_3d.npz", "toy_6d_seed0.npz", "task_ellipsoids_6d.npz"])
def test_small_sets_are_recovered(shared_data, name):
    stored = shared_data(name)
    assert mean_scores(stored["matrices"], stored["labels"], n_seeds=2).tolist() == [1.0, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["toy_3d.npz", "toy_6d_seed0.npz", "task_ellipsoids_6d.npz"])
def test_small_sets_are_recovered_ten_times(shared_data, name):
    stored = shared_data(name)
    assert mean_scores(stored["matrices"], stored["labels"], n_seeds=10).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("name", "least_nmi", "least_f"),
    [
        ("toy_3d.npz", 1.0, 1.0),
        ("toy_6d_seed0.npz", 1.0, 1.0),
        ("task_ellipsoids_6d.npz", 0.90, 0.97),
        ("dti_synthetic.npz", 0.95, 0.98),
    ],
)
def test_default_finds_the_groups_of_stored_sets(shared_data, name, least_nmi, least_f):
    stored = shared_data(name)
    nmi, f_measure = mean_scores(stored["matrices"], stored["labels"], n_seeds=1, model="shapes")
    assert nmi >= least_nmi
    assert f_measure >= least_f


@pytest.mark.slow
def test_synthetic_tensor_field(shared_data):
    stored = shared_data("dti_synthetic.npz")
    nmi, f = mean_scores(stored["matrices"], stored["labels"], n_seeds=10, tolerance=10.0)
    assert nmi >= 0.94
    assert f >= 0.95


@pytest.mark.slow
def test_rat_hippocampus(shared_data):
    stored = shared_data("dti_rat_hippocampus.npz")
    nmi, f = mean_scores(stored["matrices"], stored["labels"], n_seeds=10, tolerance=10.0)
    assert nmi >= 0.62  # the aim is 0.66
    assert f >= 0.68  # the aim is 0.76


@pytest.mark.slow
def test_eth80_stored_similarity(shared_data):
    stored = shared_data("eth80_similarity.npz")
    nmi, f = mean_scores(stored["similarity"], stored["labels"], n_seeds=10, measure="precomputed")
    assert nmi >= 0.54
    assert f >= 0.48


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "least_nmi", "least_f"),
    [("bspcm", 0.52, 0.48), ("lerm", 0.77, 0.70)],  # the aim by shape is 0.58 and 0.52
)
def test_eth80_image_covariances(shared_data, measure, least_nmi, least_f):
    stored = shared_data("eth80_images_20x20.npz")
    covariances = sample_covariances(stored["images"].astype(float), ddof=1, ridge=1e-3)
    nmi, f = mean_scores(covariances, stored["labels"], n_seeds=10, measure=measure)
    assert nmi >= least_nmi
    assert f >= least_f
