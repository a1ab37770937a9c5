"""SPCMMixture for very many matrices: some are sampled, the others get their most probable cluster."""

import numpy as np
import pytest

import homothety
from homothety import SPCMMixture
from homothety.datasets import make_wishart_families
from homothety.estimators import spcm
from homothety.metrics import ari
from homothety.summaries.partitions import membership, relabel_by_size

N_SAMPLED = 60
FAMILIES = make_wishart_families(3, 3, n_per_family=70, dof=200, random_state=3)


@pytest.fixture(params=range(4))
def model(request, monkeypatch):
    monkeypatch.setattr(spcm, "MAX_EXACT", N_SAMPLED)
    return SPCMMixture(n_chains=2, n_sweeps=20, random_state=request.param).fit(FAMILIES.matrices[:-1])


def test_families_are_found_from_some_of_the_matrices(model):
    assert model.solver_ == "sample"
    assert ari(FAMILIES.labels[:-1], model.labels_) > 0.95


def test_what_was_sampled_has_the_shapes_that_are_documented(model):
    assert model.sample_.shape == model.map_labels_.shape == (N_SAMPLED,)
    assert model.draws_.shape[1] == N_SAMPLED
    assert model.labels_.shape == model.probability_.shape == (209,)
    with pytest.raises(AttributeError, match="coclustering_ of 209 matrices"):
        _ = model.coclustering_


def test_clusters_are_numbered_by_their_sizes_among_all_matrices(model):
    assert np.array_equal(model.labels_, relabel_by_size(model.labels_))
    assert np.array_equal(model.cluster_sizes_, np.bincount(model.labels_[model.sample_]))


def test_new_matrices_get_the_clusters_of_those_placed(model, tmp_path):
    placed = np.setdiff1d(np.arange(209), model.sample_)
    probability = model.predict_proba(FAMILIES.matrices[:-1])
    assert np.array_equal(probability.argmax(axis=1)[placed], model.labels_[placed])
    np.testing.assert_allclose(probability[np.arange(209), model.labels_], model.probability_)
    model.save(tmp_path / "model.homothety")
    loaded = homothety.load(tmp_path / "model.homothety")
    np.testing.assert_array_equal(loaded.predict_proba(FAMILIES.matrices[:-1]), probability)


def test_no_matrix_is_left_out_where_all_can_be_sampled():
    model = SPCMMixture(solver="sample", n_chains=1, n_sweeps=8, random_state=0).fit(FAMILIES.matrices)
    assert model.solver_ == "exact"
    np.testing.assert_allclose(model.probability_, membership(model.coclustering_, model.labels_))
