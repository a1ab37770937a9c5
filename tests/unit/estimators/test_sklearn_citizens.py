"""Estimators among those of scikit-learn: parameters, copies, pipelines, grids, data frames.

`test_contract` runs all of scikit-learn's checks over what takes points. Series and matrices are no 2-D arrays, so of
its checks only those that need no data hold for the others; what these ask of data is asked here in our own way.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

import homothety
from homothety import (
    IBPHMM,
    ICSCHMM,
    ActionHMM,
    CRPMixture,
    GMMSelection,
    HMMSelection,
    SimilarityMixture,
    SPCMMixture,
    SpectralEmbedding,
    StickyHDPHMM,
    TwoStageHMM,
)
from homothety.datasets import make_toy_2d, make_toy_6d
from homothety.preprocessing import Preprocessing

QUICK = {"n_chains": 1, "n_sweeps": 4, "random_state": 0}
EM = HMMSelection(max_states=2, n_init=1, random_state=0)
ON_POINTS = [SimilarityMixture(**QUICK), CRPMixture(**QUICK), GMMSelection(max_components=3, n_init=1, random_state=0)]
ON_MATRICES = [SPCMMixture(**QUICK), SpectralEmbedding()]
ON_SERIES = [
    ActionHMM(**QUICK),
    IBPHMM(**QUICK),
    ICSCHMM(**QUICK),
    StickyHDPHMM(max_states=4, **QUICK),
    EM,
    TwoStageHMM(segmenter=EM, n_draws=5, random_state=0),
]
ALL = [*ON_POINTS, *ON_MATRICES, *ON_SERIES]

WITHOUT_DATA = [
    estimator_checks.check_estimator_cloneable,
    estimator_checks.check_estimator_repr,
    estimator_checks.check_get_params_invariance,
    estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_parameters_default_constructible,
    estimator_checks.check_set_params,
    estimator_checks.check_valid_tag_types,
]


def names(item):
    return getattr(item, "__name__", type(item).__name__)


def test_no_estimator_is_left_out():
    estimators = {name for name in homothety.__all__ if isinstance(getattr(homothety, name), type)}
    assert {names(estimator) for estimator in ALL} == estimators


@pytest.mark.parametrize("check", WITHOUT_DATA, ids=names)
@pytest.mark.parametrize("estimator", [*ON_MATRICES, *ON_SERIES], ids=names)
def test_scikit_learn_checks_that_need_no_data(estimator, check):
    check(names(estimator), clone(estimator))


@pytest.fixture(scope="module")
def matrices():
    return make_toy_6d(random_state=1, n_per_class=5)


@pytest.fixture(scope="module")
def series():
    return make_toy_2d(0, n_steps=30)


@pytest.fixture(scope="module")
def points(matrices):
    return SpectralEmbedding(n_components=3).fit_transform(matrices.matrices)


@pytest.fixture(scope="module")
def data(matrices, series, points):
    """Return a function that gives each estimator what it takes."""
    kinds = {names(one): points for one in ON_POINTS} | {names(one): matrices.matrices for one in ON_MATRICES}
    return lambda estimator: kinds.get(names(estimator), series.sequences)


@pytest.fixture(scope="module")
def fitted(data):
    """Each estimator fitted once; tests must not change them."""
    models = {names(estimator): clone(estimator).fit(data(estimator)) for estimator in ALL}
    return lambda estimator: models[names(estimator)]


def copied(X):
    return [one.copy() for one in X] if isinstance(X, list) else X.copy()


def answer(model, X):
    """Return what a fitted model says of data, as one array."""
    said = (model.transform if hasattr(model, "transform") else model.predict)(X)
    return np.concatenate(said) if isinstance(said, list) else said


@pytest.mark.parametrize("estimator", ALL, ids=names)
def test_data_are_not_changed_and_may_be_read_only(estimator, data):
    X, given = data(estimator), copied(data(estimator))
    for one in given if isinstance(given, list) else [given]:
        one.setflags(write=False)
    model = clone(estimator).fit(given)
    answer(model, given)
    np.testing.assert_array_equal(np.concatenate(given), np.concatenate(X))


@pytest.mark.parametrize("estimator", ALL, ids=names)
def test_a_y_that_tells_nothing_changes_nothing_and_a_second_fit_repeats_the_first(estimator, data, fitted):
    X = data(estimator)
    y = [np.full(len(one), -1) for one in X] if names(estimator) in map(names, ON_SERIES) else np.arange(len(X))
    again = clone(estimator).fit(X[:3]).fit(X, y)
    np.testing.assert_array_equal(answer(again, X), answer(fitted(estimator), X))


@pytest.mark.parametrize("estimator", ALL, ids=names)
def test_a_pickled_model_says_the_same(estimator, data, fitted):
    X, model = data(estimator), fitted(estimator)
    np.testing.assert_array_equal(answer(pickle.loads(pickle.dumps(model)), X), answer(model, X))


@pytest.mark.parametrize("estimator", ALL, ids=names)
def test_what_is_said_of_an_item_does_not_depend_on_the_others(estimator, data, fitted):
    X, model = data(estimator), fitted(estimator)
    one_by_one = np.concatenate([answer(model, X[i : i + 1]) for i in range(4)])
    np.testing.assert_allclose(one_by_one, answer(model, X[:4]), atol=1e-12)


@pytest.mark.parametrize("estimator", ALL, ids=names)
def test_weights_of_samples_are_refused(estimator, data):
    X = data(estimator)
    with pytest.raises(TypeError, match="sample_weight"):
        clone(estimator).fit(X, sample_weight=np.ones(len(X)))


def test_parameters_of_parts_have_two_underscores():
    model = TwoStageHMM(segmenter=HMMSelection()).set_params(segmenter__max_states=7, grouping="shapes")
    assert (model.segmenter.max_states, model.grouping) == (7, "shapes")
    with pytest.raises(ValueError, match="Invalid parameter 'n_states'"):
        model.set_params(n_states=3)


@pytest.mark.parametrize("last", ON_POINTS, ids=names)
def test_matrices_go_through_a_pipeline_into_any_clustering_of_points(last, matrices, points):
    model = make_pipeline(SpectralEmbedding(n_components=3), clone(last))
    np.testing.assert_array_equal(model.fit_predict(matrices.matrices), clone(last).fit(points).labels_)
    np.testing.assert_allclose(model.predict_proba(matrices.matrices).sum(axis=1), 1.0)


@pytest.mark.parametrize("last", ON_SERIES[:1] + ON_SERIES[3:], ids=names)
def test_series_go_through_a_pipeline(last, series):
    doubled = FunctionTransformer(lambda X: [2 * one for one in X])
    model = make_pipeline(doubled, clone(last)).fit(series.sequences)
    alone = clone(last).fit([2 * one for one in series.sequences])
    np.testing.assert_array_equal(
        np.concatenate(model.predict(series.sequences)), answer(alone, doubled.transform(series.sequences))
    )
    assert np.isfinite(model.score(series.sequences))


def test_a_grid_over_the_embedding_and_the_mixture(matrices):
    model = make_pipeline(SpectralEmbedding(), CRPMixture(n_chains=1, n_sweeps=20, random_state=0))
    grid = {"spectralembedding__n_components": [1, 3], "crpmixture__concentration": [1.0]}
    shuffled = np.random.default_rng(0).permutation(len(matrices))
    search = GridSearchCV(model, grid, scoring="adjusted_rand_score", cv=2, error_score="raise")
    search.fit(matrices.matrices[shuffled], matrices.labels[shuffled])
    assert search.best_params_["spectralembedding__n_components"] == 3
    assert adjusted_rand_score(matrices.labels, search.predict(matrices.matrices)) > 0.9


@pytest.mark.parametrize("estimator", [EM, IBPHMM(**QUICK)], ids=names)
def test_a_grid_over_models_of_series_compares_them_by_their_likelihood(estimator, series):
    choices = [Preprocessing(subsample=1), Preprocessing(subsample=1, centre="series")]
    search = GridSearchCV(estimator, {"preprocessing": choices}, cv=2, error_score="raise").fit(series.sequences)
    expected = [clone(estimator).set_params(preprocessing=one).fit(series.sequences[2:]) for one in choices]
    scores = [model.score(series.sequences[:2]) for model in expected]
    np.testing.assert_allclose(search.cv_results_["split0_test_score"], scores)
    assert search.score(series.sequences) == search.best_estimator_.score(series.sequences)


@pytest.mark.parametrize("kind", ["default", "pandas"])
def test_coordinates_as_a_data_frame(kind, matrices, points):
    if kind == "pandas":
        pytest.importorskip("pandas")
    model = SpectralEmbedding(n_components=3).set_output(transform=kind)
    found = model.fit_transform(matrices.matrices)
    columns = [f"spectralembedding{i}" for i in range(3)]
    assert model.get_feature_names_out().tolist() == columns
    assert (list(getattr(found, "columns", [])) == columns) == (kind == "pandas")
    np.testing.assert_array_equal(np.asarray(found), points)
    np.testing.assert_array_equal(np.asarray(model.transform(matrices.matrices[:2])).shape, (2, 3))
    clustered = CRPMixture(**QUICK).fit(found)
    assert hasattr(clustered, "feature_names_in_") == (kind == "pandas")


def test_gaussians_have_the_numbers_of_their_clusters(points):
    model = GMMSelection(max_components=5, n_init=2, random_state=0).fit(points)
    np.testing.assert_array_equal(model.predict(points), model.labels_)
    centres = [points[model.labels_ == k].mean(axis=0) for k in range(model.n_clusters_)]
    np.testing.assert_allclose(model.means_[: model.n_clusters_], centres, atol=0.05)
    assert model.predict_proba(points).shape == (len(points), len(model.weights_))
