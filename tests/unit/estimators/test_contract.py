"""What every estimator keeps to: scikit-learn's conventions, saving, and clear refusals."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import homothety
from homothety import CRPMixture, GMMSelection, SimilarityMixture, SPCMMixture, SpectralEmbedding
from homothety.datasets import make_toy_6d
from homothety.errors import CheckpointError, InputError, ShortChainWarning
from homothety.estimators import sampled

SHORT = {"n_sweeps": 20, "n_chains": 2, "random_state": 0}
ON_POINTS = [SimilarityMixture(**SHORT), CRPMixture(**SHORT), GMMSelection(n_init=1, max_components=3, random_state=0)]
ON_MATRICES = [SPCMMixture(**SHORT), SpectralEmbedding()]
SAMPLED = [SPCMMixture(**SHORT), SimilarityMixture(**SHORT), CRPMixture(**SHORT)]


def names(estimator):
    return type(estimator).__name__


@pytest.fixture(scope="module")
def toy():
    return make_toy_6d(random_state=1, n_per_class=6)


@pytest.fixture(scope="module")
def points(toy):
    return SpectralEmbedding(n_components=3).fit_transform(toy.matrices)


def data_for(estimator, toy, points):
    return toy.matrices if isinstance(estimator, SPCMMixture | SpectralEmbedding) else points


@parametrize_with_checks([type(e)(**e.get_params()) for e in ON_POINTS])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ON_POINTS + ON_MATRICES, ids=names)
def test_clone_keeps_parameters_and_nothing_fitted(estimator, toy, points):
    fitted = clone(estimator).fit(data_for(estimator, toy, points))
    fresh = clone(fitted)
    assert fresh.get_params() == estimator.get_params()
    assert not any(name.endswith("_") for name in vars(fresh))


@pytest.mark.parametrize("estimator", ON_POINTS + ON_MATRICES, ids=names)
def test_fit_returns_self_and_does_not_change_parameters(estimator, toy, points):
    model = clone(estimator)
    assert model.fit(data_for(estimator, toy, points)) is model
    assert model.get_params() == estimator.get_params()


@pytest.mark.parametrize("estimator", ON_POINTS + ON_MATRICES, ids=names)
def test_saved_model_comes_back_equal(estimator, toy, points, tmp_path):
    model = clone(estimator).fit(data_for(estimator, toy, points))
    model.save(tmp_path / "model.homothety")
    loaded = homothety.load(tmp_path / "model.homothety")
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    for name in ("labels_", "draws_", "similarity_", "embedding_", "criteria_"):
        if hasattr(model, name):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))


@pytest.mark.parametrize("estimator", SAMPLED, ids=names)
def test_equal_seeds_give_equal_results_whatever_the_number_of_jobs(estimator, toy, points):
    data = data_for(estimator, toy, points)
    one = clone(estimator).fit(data)
    two = clone(estimator).set_params(n_jobs=2).fit(data)
    np.testing.assert_array_equal(one.draws_, two.draws_)
    np.testing.assert_array_equal(one.trace_["log_joint"], two.trace_["log_joint"])


@pytest.mark.parametrize("seed", [0, None])
@pytest.mark.parametrize("estimator", SAMPLED, ids=names)
def test_a_run_goes_on_from_its_checkpoint_and_is_the_one_that_was_not_stopped(estimator, seed, toy, points, tmp_path):
    data = data_for(estimator, toy, points)
    model = clone(estimator).set_params(n_burn=4, random_state=seed, checkpoint=tmp_path / "run")
    first = clone(model).set_params(n_sweeps=8).fit(data)
    resumed = clone(model).fit(data)
    np.testing.assert_array_equal(resumed.trace_["log_joint"][:, :8], first.trace_["log_joint"])
    if seed is not None:
        np.testing.assert_array_equal(resumed.draws_, clone(model).set_params(checkpoint=None).fit(data).draws_)
    with pytest.raises(CheckpointError, match=r"is the checkpoint of another run: .*points was"):
        clone(model).fit(data[:-1])


@pytest.mark.parametrize("estimator", SAMPLED, ids=names)
def test_shapes_of_what_is_reported(estimator, toy, points):
    model = clone(estimator).fit(data_for(estimator, toy, points))
    n_items = len(toy.matrices)
    assert model.labels_.shape == model.map_labels_.shape == (n_items,)
    assert model.draws_.shape == (20, n_items)  # half of 20 sweeps, 2 chains
    assert model.coclustering_.shape == (n_items, n_items)
    assert model.trace_["log_joint"].shape == (2, 20)
    assert model.n_clusters_ == len(np.unique(model.labels_))
    sizes = np.bincount(model.labels_)
    assert (np.diff(sizes) <= 0).all()


@pytest.mark.parametrize("estimator", SAMPLED, ids=names)
def test_prediction_for_fitted_items_is_their_own_cluster(estimator, toy, points):
    data = data_for(estimator, toy, points)
    model = clone(estimator).fit(data)
    np.testing.assert_array_equal(model.predict(data), model.labels_)
    probability = model.predict_proba(data)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)


@pytest.mark.parametrize("estimator", SAMPLED, ids=names)
def test_predict_before_fit_is_refused(estimator, toy, points):
    with pytest.raises(NotFittedError):
        clone(estimator).predict(data_for(estimator, toy, points))


@pytest.mark.parametrize("estimator", ON_POINTS + ON_MATRICES, ids=names)
def test_a_model_that_is_not_fitted_is_not_saved(estimator, tmp_path):
    with pytest.raises(NotFittedError):
        clone(estimator).save(tmp_path / "model.homothety")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("estimator", SAMPLED, ids=names)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_chains": 0}, "n_chains is 0, needed at least 1"),
        ({"n_chains": 1.5}, "n_chains is 1.5, needed a whole number"),
        ({"n_sweeps": 8.5}, "n_sweeps is 8.5, needed a whole number"),
        ({"n_burn": 2.0}, "n_burn is 2.0, needed a whole number"),
        ({"n_jobs": 0}, "n_jobs is 0, needed 1 or more"),
        ({"random_state": -1}, "random_state is -1, needed at least 0"),
        ({"random_state": 0.5}, "random_state is 0.5, needed a whole number"),
        ({"n_sweeps": 5, "n_burn": 5}, "n_burn is 5 and n_sweeps is 5"),
        ({"concentration": 0.0}, "concentration is 0.0, needed a finite number above 0"),
        ({"concentration": np.nan}, "concentration is nan, needed a finite number above 0"),
        ({"point_estimate": "mean"}, "point_estimate is 'mean', needed 'vi' or 'map'"),
        ({"dof": 0.5}, "dof is 0.5, needed more than n_dims - 1"),
        ({"dof": np.inf}, "dof is inf, needed a finite number above 0"),
        ({"mean_strength": -1.0}, "mean_strength is -1.0, needed a finite number above 0"),
        ({"mean_strength": np.inf}, "mean_strength is inf, needed a finite number above 0"),
        ({"scale": 0.0}, "scale is 0.0, needed a finite number above 0"),
        ({"prior_share": -0.1}, "prior_share is -0.1, needed a finite number of at least 0"),
        ({"prior_share": np.nan}, "prior_share is nan, needed a finite number of at least 0"),
    ],
)
def test_bad_parameters_are_named(estimator, parameters, message, toy, points):
    with pytest.raises(InputError, match=message):
        clone(estimator).set_params(**parameters).fit(data_for(estimator, toy, points))


@pytest.mark.parametrize("estimator", SAMPLED, ids=names)
def test_a_second_fit_leaves_nothing_of_the_first(estimator, toy, points):
    data = data_for(estimator, toy, points)
    model = clone(estimator).fit(data)
    assert model.coclustering_.shape == (18, 18)
    model.fit(data[:10])
    fresh = clone(estimator).fit(data[:10])
    np.testing.assert_array_equal(model.coclustering_, fresh.coclustering_)


@pytest.mark.parametrize("factor", [1e-100, 1e-9, 1e9])
@pytest.mark.parametrize("estimator", [SimilarityMixture(**SHORT), CRPMixture(**SHORT)], ids=names)
def test_units_of_points_do_not_matter(estimator, factor, rng):
    points = np.concatenate([rng.normal(0, 0.1, (10, 2)), rng.normal(3, 0.1, (10, 2))])
    np.testing.assert_array_equal(clone(estimator).fit(factor * points).labels_, clone(estimator).fit(points).labels_)


@pytest.mark.parametrize("estimator", [SimilarityMixture(**SHORT), CRPMixture(**SHORT)], ids=names)
@pytest.mark.parametrize("value", [0.0, 1.0, 1e9])
def test_points_that_are_all_the_same_are_one_cluster(estimator, value):
    assert clone(estimator).fit(np.full((8, 2), value)).n_clusters_ == 1


def test_map_estimate_is_a_kept_draw_of_largest_joint(toy):
    model = SPCMMixture(**SHORT, point_estimate="map").fit(toy.matrices)
    best = int(np.argmax(model.trace_["log_joint"][:, 10:].ravel()))
    np.testing.assert_array_equal(
        model.labels_[:, None] == model.labels_, model.draws_[best][:, None] == model.draws_[best]
    )


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.full((2, 18), np.nan), r"\[0, 0\] is nan"),
        (np.full((2, 18), -0.5), r"has entries from -0.5 to -0.5, needed values in \[0, 1\]"),
        (np.full((2, 18), 3.0), r"has entries from 3 to 3, needed values in \[0, 1\]"),
        (np.ones((2, 17)), r"has shape \(2, 17\), needed \(n_new, 18\)"),
        (np.ones((2, 18)) * 1j, "is complex, needed real numbers"),
    ],
)
def test_similarities_of_new_items_are_checked(bad, message, toy, points):
    similarity = homothety.pairwise_similarity(toy.matrices)
    of_pairs = SPCMMixture(measure="precomputed", **SHORT).fit(similarity)
    of_points = SimilarityMixture(**SHORT).fit(points, similarity=similarity)
    with pytest.raises(InputError, match=f"X.*{message}"):
        of_pairs.predict(bad)
    with pytest.raises(InputError, match=f"similarity.*{message}"):
        of_points.predict(points[:2], similarity=bad)
    with pytest.raises(InputError, match="similarity has 1 rows for 2 points, needed one for each"):
        of_points.predict(points[:2], similarity=np.ones((1, 18)))


@pytest.mark.parametrize(("cut", "told"), [((0, 1), True), ((0, 4), False)])
def test_chains_that_were_not_begun_are_an_interrupt(cut, told, points, monkeypatch):
    run_chains = sampled.run_chains
    monkeypatch.setattr(sampled, "run_chains", lambda *args, **options: run_chains(*args, **options)[slice(*cut)])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", ShortChainWarning)
        model = CRPMixture(n_chains=2, n_sweeps=6, random_state=0).fit(points)
    assert model.interrupted_ == told
    assert any(issubclass(one.category, ShortChainWarning) for one in seen) == told
