"""SPCMMixture and SpectralEmbedding on covariance matrices."""

from __future__ import annotations

import numpy as np
import pytest

from homothety import SPCMMixture, SpectralEmbedding, metrics, pairwise_similarity
from homothety.covariance import lerm
from homothety.datasets import make_toy_3d, make_toy_6d, make_wishart_families
from homothety.errors import (
    ConvergenceWarning,
    EmbeddingWarning,
    FlooredEigenvaluesWarning,
    InputError,
    NearlySingularWarning,
    NotSPDError,
    ShortChainWarning,
)
from homothety.models import ddcrp

SHORT = {"n_sweeps": 40, "n_chains": 2, "random_state": 0}


@pytest.fixture(scope="module")
def toy():
    return make_toy_6d(random_state=3)


@pytest.mark.parametrize("measure", ["bspcm", "airm", "lerm", "kldm", "jbld", pytest.param(lerm, id="callable")])
def test_every_measure_runs_and_predicts(toy, measure):
    model = SPCMMixture(measure=measure, **SHORT).fit(toy.matrices[::5])
    assert model.predict(toy.matrices[1::7]).shape == toy.matrices[1::7].shape[:1]


@pytest.mark.parametrize("variant", ["paper", "published", "published-variance", "scale-free", "log"])
def test_every_variant_runs(toy, variant):
    assert SPCMMixture(variant=variant, **SHORT).fit(toy.matrices[::3]).n_clusters_ >= 1


@pytest.mark.parametrize("points", ["spectral", "shape", "log-euclidean"])
def test_every_kind_of_points_runs_and_predicts(toy, points):
    model = SPCMMixture(points=points, **SHORT).fit(toy.matrices[::3])
    assert model.predict_proba(toy.matrices[1::9]).shape == (7, model.n_clusters_)


def test_new_matrices_of_a_known_shape_join_its_cluster(toy):
    model = SPCMMixture(**SHORT).fit(toy.matrices)
    new = make_toy_6d(random_state=3).matrices * 7.3
    assert metrics.ari(toy.labels, model.predict(new)) == 1.0


def test_precomputed_similarity_gives_the_same_answer(toy):
    direct = SPCMMixture(model="links", **SHORT).fit(toy.matrices)
    similarity = pairwise_similarity(toy.matrices, variant="published")
    given = SPCMMixture(measure="precomputed", **SHORT).fit(similarity)
    np.testing.assert_array_equal(direct.draws_, given.draws_)
    np.testing.assert_array_equal(given.predict(similarity), given.labels_)


def test_sampling_the_concentration_moves_it(toy):
    model = SPCMMixture(sample_concentration=True, **SHORT).fit(toy.matrices)
    assert len(np.unique(model.trace_["concentration"])) > 10


def test_diagonal_prior_finds_the_toy(toy):
    model = SPCMMixture(diagonal=True, **SHORT).fit(toy.matrices)
    assert metrics.ari(toy.labels, model.labels_) == 1.0


def test_noise_of_a_wishart_sample_is_borne():
    families = make_wishart_families(random_state=0)
    with pytest.warns(ConvergenceWarning, match="for the number of clusters"):  # which noise leaves open
        model = SPCMMixture(n_sweeps=200, random_state=0).fit(families.matrices)
    assert metrics.nmi(families.labels, model.labels_) > 0.7


@pytest.mark.parametrize("n_matrices", [1, 2])
def test_one_and_two_matrices(n_matrices):
    matrices = np.stack([np.eye(3), np.diag([1.0, 4.0, 9.0])])[:n_matrices]
    with pytest.warns(EmbeddingWarning) if n_matrices == 1 else _nothing():
        model = SPCMMixture(model="links", **SHORT).fit(matrices)
    assert model.labels_.shape == (n_matrices,)
    model = SPCMMixture(**SHORT).fit(matrices)
    assert model.labels_.shape == (n_matrices,)


def _nothing():
    from contextlib import nullcontext

    return nullcontext()


@pytest.mark.parametrize("measure", ["airm", "lerm", "kldm", "jbld"])
def test_one_matrix_is_one_cluster_by_every_measure(measure):
    with pytest.warns(EmbeddingWarning, match="There is one item only"):
        model = SPCMMixture(measure=measure, **SHORT).fit(np.eye(3)[None])
    assert model.predict([np.eye(3), np.diag([1.0, 2.0, 3.0])]).tolist() == [0, 0]


def test_equal_matrices_are_one_cluster():
    model = SPCMMixture(**SHORT).fit(np.stack([np.diag([1.0, 2.0, 5.0])] * 12))
    assert model.n_clusters_ == 1


def test_unconnected_items_stay_apart():
    with pytest.warns(EmbeddingWarning, match="No two of the 5 items have any similarity"):
        model = SPCMMixture(measure="precomputed", **SHORT).fit(np.eye(5))
    assert model.n_clusters_ == 5


@pytest.mark.parametrize(
    ("matrices", "error", "message"),
    [
        (np.full((3, 2, 2), np.nan), InputError, r"X\[0\]"),
        (np.stack([np.eye(2), np.diag([1.0, -1.0])]), NotSPDError, r"X\[1\] is not positive definite"),
        (np.ones((4, 3)), InputError, "shape"),
        (np.empty((0, 3, 3)), InputError, "X"),
        ([np.eye(2), np.eye(3)], InputError, "X"),
    ],
    ids=["nan", "not-spd", "two-dimensional", "empty", "mixed"],
)
def test_bad_matrices_are_named(matrices, error, message):
    with pytest.raises(error, match=message):
        SPCMMixture(**SHORT).fit(matrices)


def test_new_matrices_of_another_size_are_refused(toy):
    model = SPCMMixture(**SHORT).fit(toy.matrices[::6])
    with pytest.raises(InputError, match="3 x 3 matrices, the model was fitted on 6 x 6"):
        model.predict(np.stack([np.eye(3)]))


def test_points_need_matrices(toy):
    similarity = pairwise_similarity(toy.matrices)
    with pytest.raises(InputError, match="needs the matrices themselves"):
        SPCMMixture(measure="precomputed", points="shape", **SHORT).fit(similarity)
    with pytest.raises(InputError, match="points is 'colour', needed"):
        SPCMMixture(points="colour", **SHORT).fit(toy.matrices)


def test_interrupt_keeps_finished_sweeps(toy, monkeypatch):
    sweep = ddcrp.resample_links
    calls = []

    def interrupted(rng, model, state):
        calls.append(None)
        if len(calls) == 31:
            raise KeyboardInterrupt
        return sweep(rng, model, state)

    monkeypatch.setattr(ddcrp, "resample_links", interrupted)
    with pytest.warns(ShortChainWarning, match="Interrupted: the answer rests on the 10 sweeps kept until then"):
        model = SPCMMixture(model="links", **SHORT).fit(toy.matrices)
    assert model.interrupted_
    assert model.trace_["log_joint"].shape == (1, 30)


def test_embedding_of_new_matrices_agrees_with_the_old(toy):
    embedding = SpectralEmbedding().fit(toy.matrices)
    np.testing.assert_allclose(embedding.transform(toy.matrices), embedding.embedding_, atol=1e-8)
    assert embedding.n_components_ == embedding.embedding_.shape[1]
    assert embedding.eigenvalues_.shape == (60,)


def test_five_matrices_of_two_shapes():
    toy = make_toy_3d(random_state=0)
    model = SPCMMixture(n_sweeps=200, random_state=0).fit(toy.matrices)
    assert metrics.ari(toy.labels, model.labels_) == 1.0


@pytest.mark.parametrize("points", ["shape", "log-euclidean"])
def test_too_many_coordinates_are_refused_before_sampling(points):
    matrices = np.stack([np.diag(np.linspace(1, 2 + k, 110)) for k in range(3)])
    with pytest.raises(InputError, match=r"coordinates per matrix.*Use points='spectral'"):
        SPCMMixture(points=points, **SHORT).fit(matrices)


def test_clipped_matrices_are_named_in_a_warning():
    matrices = np.array(make_wishart_families(1, 3, n_per_family=20, random_state=0).matrices)
    matrices[[4, 11]] = np.diag([1e-9, 1.0, 2.0])
    with pytest.warns(NearlySingularWarning, match=r"2 of 20 matrices \(numbers 4, 11\)"):
        model = SPCMMixture(n_chains=1, n_sweeps=4, random_state=0).fit(matrices)
    assert model.nearly_singular_.tolist() == [4, 11]


def test_eigenvalues_are_raised_to_the_least_one():
    matrices = np.array(make_wishart_families(1, 3, n_per_family=20, random_state=0).matrices)
    clipped, raised = matrices.copy(), matrices.copy()
    clipped[4], raised[4] = np.diag([1e-9, 1.0, 2.0]), np.diag([0.02, 1.0, 2.0])
    settings = {"n_chains": 1, "n_sweeps": 4, "random_state": 0}
    with pytest.warns(FlooredEigenvaluesWarning, match="1 of 20 matrices"):
        model = SPCMMixture(min_eigenvalue=0.01, **settings).fit(clipped)
    np.testing.assert_allclose(model.embedding_, SPCMMixture(**settings).fit(raised).embedding_, atol=1e-12)
    assert model.nearly_singular_.tolist() == [4]


@pytest.mark.parametrize("model", ["shapes", "links"])
@pytest.mark.parametrize("data", [np.array(3.0), np.array(None), None, 3, []])
def test_what_is_no_set_of_matrices_is_refused(model, data):
    with pytest.raises(InputError):
        SPCMMixture(model=model, **SHORT).fit(data)
