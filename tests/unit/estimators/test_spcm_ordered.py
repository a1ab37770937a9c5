"""SPCMMixture for many matrices: nothing of all pairs is kept, and the answer is that of the exact solver."""

import numpy as np
import pytest

import homothety
from homothety import SPCMMixture
from homothety.datasets import make_dti
from homothety.errors import CheckpointError, InputError, NotSPDError
from homothety.estimators import spcm
from homothety.metrics import ari

SHAPES = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 9.0], [1.0, 9.0, 9.0]])
SHORT = {"variant": "log", "n_chains": 2, "n_sweeps": 20, "random_state": 0}


def tensors(n, seed=0):
    """Matrices of three shapes, each turned and resized at random."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(len(SHAPES), size=n)
    spectra = SHAPES[truth] * np.exp(rng.normal(scale=0.1, size=(n, 3)) + rng.normal(scale=0.5, size=(n, 1)))
    axes = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
    matrices = (axes * spectra[:, None]) @ axes.transpose(0, 2, 1)
    return truth, (matrices + matrices.transpose(0, 2, 1)) / 2


@pytest.fixture(scope="module")
def fitted():
    truth, matrices = tensors(1500)
    return truth, matrices, SPCMMixture(solver="ordered", n_landmarks=300, **SHORT).fit(matrices)


def test_shapes_are_found(fitted):
    truth, _, model = fitted
    assert model.solver_ == "ordered"
    assert ari(truth, model.labels_) > 0.97
    assert not hasattr(model, "similarity_")


def test_the_answer_is_that_of_the_exact_solver(fitted):
    _, matrices, model = fitted
    exact = SPCMMixture(solver="exact", **SHORT).fit(matrices[:600])
    assert ari(exact.labels_, model.labels_[:600]) > 0.95


def test_how_sure_it_is(fitted):
    _, _, model = fitted
    assert model.probability_.shape == (1500,)
    assert ((model.probability_ > 0) & (model.probability_ <= 1)).all()
    assert model.draws_.shape == (20, 1500)
    with pytest.raises(AttributeError, match=r"coclustering_ of 1500 matrices .* probability_ says"):
        _ = model.coclustering_


def test_new_matrices_are_given_their_clusters_by_a_model_from_a_file(fitted, tmp_path, monkeypatch):
    model = fitted[2]
    model.save(tmp_path / "model.homothety")
    monkeypatch.setattr("homothety.covariance.embedding.BLOCK", 64)  # several blocks
    again = homothety.load(tmp_path / "model.homothety")
    truth, new = tensors(200, seed=1)
    assert ari(truth, again.predict(new)) > 0.95
    np.testing.assert_allclose(again.predict_proba(new).sum(axis=1), 1.0)
    np.testing.assert_array_equal(again.predict(new), model.predict(new))


@pytest.mark.parametrize("points", ["shape", "log-euclidean"])
def test_other_coordinates(points):
    truth, matrices = tensors(600)
    model = SPCMMixture(solver="ordered", points=points, **SHORT | {"n_chains": 1}).fit(matrices)
    assert model.embedding_.shape == (600, {"shape": 2, "log-euclidean": 6}[points])
    assert model.predict(matrices[:5]).shape == (5,)
    if points == "shape":
        assert ari(truth, model.labels_) > 0.9


def test_a_memory_mapped_array_gives_the_same(fitted, tmp_path, monkeypatch):
    _, matrices, _ = fitted
    monkeypatch.setattr("homothety.covariance.embedding.BLOCK", 100)
    np.save(tmp_path / "tensors.npy", matrices[:350])
    settings = {"solver": "ordered", "n_landmarks": 100, **SHORT | {"n_chains": 1, "n_sweeps": 4}}
    mapped = SPCMMixture(**settings).fit(np.load(tmp_path / "tensors.npy", mmap_mode="r"))
    whole = SPCMMixture(**settings).fit(matrices[:350].copy())
    np.testing.assert_array_equal(mapped.labels_, whole.labels_)


def test_results_do_not_depend_on_the_number_of_jobs(fitted):
    _, matrices, _ = fitted
    settings = {"solver": "ordered", "n_landmarks": 100, **SHORT | {"n_sweeps": 4}}
    one, two = (SPCMMixture(**settings, n_jobs=n).fit(matrices[:300]).draws_ for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_many_matrices_are_not_compared_pair_by_pair_unless_asked(monkeypatch):
    _, matrices = tensors(60)
    monkeypatch.setattr(spcm, "MAX_EXACT", 50)
    short = SHORT | {"n_chains": 1, "n_sweeps": 2}
    assert SPCMMixture(**short).fit(matrices).solver_ == "ordered"
    assert SPCMMixture(**short).fit(matrices[:50]).solver_ == "exact"
    assert SPCMMixture(**short, solver="exact").fit(matrices).solver_ == "exact"
    assert SPCMMixture(**short, measure="lerm").fit(matrices).solver_ == "exact"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "fast"}, "solver is 'fast', needed 'auto', 'exact', 'ordered' or 'sample'"),
        ({"solver": "ordered", "measure": "airm"}, "measure='airm' does not allow"),
        ({"solver": "ordered", "sample_concentration": True}, "sample_concentration needs all similarities"),
        ({"solver": "ordered", "n_landmarks": 1}, "n_landmarks is 1"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        SPCMMixture(**SHORT | settings).fit(tensors(20)[1])


def test_a_bad_matrix_among_many_is_named(monkeypatch):
    monkeypatch.setattr("homothety.covariance.spectra.BLOCK_ENTRIES", 90)  # of ten matrices
    _, matrices = tensors(40)
    matrices[25] = -matrices[25]
    with pytest.raises(NotSPDError, match=r"X\[20:\]\[5\] is not positive definite"):
        SPCMMixture(solver="ordered", **SHORT).fit(matrices)


def test_new_matrices_of_another_size_are_refused(fitted):
    with pytest.raises(InputError, match=r"X has shape \(2, 2, 2\), the model was fitted on 3 x 3 matrices"):
        fitted[2].predict(np.stack([np.eye(2)] * 2))


# --- neighbours in an image ------------------------------------------------------------------------------------------

NOISY = {"points": "shape", "n_landmarks": 100, **SHORT}


@pytest.fixture(scope="module")
def noisy_field():
    return make_dti((30, 30), 4, noise=0.15, random_state=0)


def test_neighbours_help_where_shapes_are_noisy_and_only_the_right_ones_do(noisy_field):
    field, elsewhere = noisy_field, np.random.default_rng(0).permutation(len(noisy_field))
    alone = SPCMMixture(solver="ordered", **NOISY).fit(field.matrices)
    near, wrong = (
        SPCMMixture(**NOISY).fit(field.matrices, positions=positions)
        for positions in (field.positions, field.positions[elsewhere])
    )
    assert near.solver_ == "ordered"  # few as they are
    found = {name: ari(field.labels, model.labels_) for name, model in (("", alone), ("near", near), ("wrong", wrong))}
    assert found["near"] > found[""] + 0.1
    assert found["near"] > found["wrong"] + 0.1


def test_positions_do_not_change_what_a_model_does_with_new_matrices(noisy_field, tmp_path):
    model = SPCMMixture(**NOISY | {"n_sweeps": 4}).fit(noisy_field.matrices, positions=noisy_field.positions)
    model.save(tmp_path / "model.homothety")
    again = homothety.load(tmp_path / "model.homothety")
    assert again.neighbor_share == model.neighbor_share
    np.testing.assert_array_equal(again.predict(noisy_field.matrices), model.predict(noisy_field.matrices))


def test_a_checkpoint_knows_the_neighbours(noisy_field, tmp_path):
    field, settings = noisy_field.take(np.arange(90)), NOISY | {"n_sweeps": 6, "n_burn": 2}
    model = SPCMMixture(**settings, checkpoint=tmp_path / "run")
    first = model.set_params(n_sweeps=4).fit(field.matrices, positions=field.positions).draws_
    resumed = model.set_params(n_sweeps=6).fit(field.matrices, positions=field.positions).draws_
    whole = SPCMMixture(**settings).fit(field.matrices, positions=field.positions)
    np.testing.assert_array_equal(resumed, whole.draws_)
    np.testing.assert_array_equal(resumed[:2], first[:2])
    with pytest.raises(CheckpointError, match="neighbors was"):
        model.fit(field.matrices, positions=field.positions[::-1])
    with pytest.raises(CheckpointError, match="neighbor_share was 10"):
        model.set_params(neighbor_share=2.0).fit(field.matrices, positions=field.positions)


@pytest.mark.parametrize(
    ("settings", "positions", "message"),
    [
        ({"solver": "exact"}, np.arange(20)[:, None], "solver='exact' knows no neighbours: use solver='ordered', or"),
        ({"measure": "airm"}, np.arange(20)[:, None], "measure='airm' does not allow. .* without positions"),
        ({}, np.arange(19)[:, None], "positions has 19 rows for 20 matrices, needed one for each"),
        ({}, np.zeros((20, 2)), r"positions\[0\] and positions\[1\] are both \[0, 0\]"),
        ({"neighbor_share": 0.0}, np.arange(20)[:, None], "neighbor_share is 0.0, needed a finite number above 0"),
    ],
)
def test_positions_that_cannot_be_used(settings, positions, message):
    with pytest.raises(InputError, match=message):
        SPCMMixture(**NOISY | settings).fit(tensors(20)[1], positions=positions)


def test_a_checkpoint_without_a_seed_can_be_resumed(noisy_field, tmp_path):
    settings = {"points": "shape", "variant": "log", "solver": "ordered", "n_chains": 1}
    matrices = noisy_field.matrices[:90]
    begun = SPCMMixture(**settings, n_sweeps=4, n_burn=1, checkpoint=tmp_path / "run").fit(matrices)
    longer = SPCMMixture(**settings, n_sweeps=8, n_burn=1, checkpoint=tmp_path / "run").fit(matrices)
    np.testing.assert_array_equal(longer.draws_[:3], begun.draws_)
