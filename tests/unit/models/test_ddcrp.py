"""Model, prior, state, moves and records of the chain over links."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest

import naive
from homothety.distributions import NIW, NormalGamma
from homothety.errors import InputError
from homothety.models.ddcrp import (
    RECORDING,
    ChainState,
    Model,
    _log_concentration_density,
    default_sweep,
    init_state,
    labels_from_links,
    link_weights,
    log_joint,
    log_likelihood,
    log_link_prior,
    resample_concentration,
    resample_links,
    sample_links,
)


def make_similarity(rng, n_items):
    similarity = rng.uniform(0.05, 1.0, (n_items, n_items))
    similarity = (similarity + similarity.T) / 2
    np.fill_diagonal(similarity, 1.0)
    return similarity


@pytest.fixture
def base():
    return NIW(np.array([0.2, -0.1]), 0.8, np.array([[1.0, 0.3], [0.3, 0.7]]), 3.0)


@pytest.fixture
def model(rng, base):
    return Model.from_similarity(rng.normal(size=(6, 2)), make_similarity(rng, 6), base)


# --- prior -----------------------------------------------------------------------------------------------------------


def test_weights_are_similarities_without_the_diagonal(rng):
    similarity = make_similarity(rng, 5)
    weights = link_weights(similarity)
    assert (np.diagonal(weights) == 0).all()
    off_diagonal = ~np.eye(5, dtype=bool)
    assert (weights[off_diagonal] == similarity[off_diagonal]).all()
    assert (np.diagonal(similarity) == 1).all()


def test_prior_of_all_link_vectors_sums_to_one(rng):
    weights = link_weights(make_similarity(rng, 4))
    weights[1, 2] = 0.0
    total = sum(math.exp(log_link_prior(links, weights, 0.6)) for links in naive.all_links(4))
    assert total == pytest.approx(1.0, abs=1e-12)


def test_prior_of_links_is_the_product_of_their_rows(rng):
    weights, links = link_weights(make_similarity(rng, 4)), np.array([1, 1, 0, 2])
    rows = naive.prior_rows(weights, 0.6)
    expected = sum(math.log(rows[i, j]) for i, j in enumerate(links))
    assert log_link_prior(links, weights, 0.6) == pytest.approx(expected, rel=1e-13)


def test_forbidden_link_has_no_prior_probability():
    assert log_link_prior(np.array([1, 1]), np.zeros((2, 2)), 1.0) == -math.inf


def test_sampled_links_follow_the_prior(rng):
    weights = link_weights(make_similarity(rng, 5))
    weights[3] = 0.0
    draws = np.array([sample_links(rng, weights, 0.6) for _ in range(8000)])
    rows = naive.prior_rows(weights, 0.6)
    for i, row in enumerate(rows):
        shares = np.bincount(draws[:, i], minlength=5) / len(draws)
        assert (np.abs(shares - row) <= 4.5 * np.sqrt(row * (1 - row) / len(draws))).all()


def test_labels_are_components_of_the_links(rng):
    for links in rng.integers(8, size=(100, 8)):
        assert tuple(labels_from_links(links).tolist()) == naive.labels_of(links)


# --- model and state -------------------------------------------------------------------------------------------------


def test_model_keeps_the_caller_free_to_write(rng, base):
    points, similarity = rng.normal(size=(3, 2)), make_similarity(rng, 3)
    model = Model.from_similarity(points, similarity, base)
    points[0], similarity[0, 1] = 99.0, 0.0
    assert model.points.max() < 99
    assert model.weights[0, 1] > 0
    with pytest.raises(ValueError, match="read-only"):
        model.points[0] = 0.0


def test_model_caches_what_the_loops_need(model):
    np.testing.assert_allclose(model.centred_points, model.points - model.base.mean)
    np.testing.assert_allclose(model.row_mass, model.weights.sum(axis=1))
    np.testing.assert_allclose(model.proposals.row_mass, model.row_mass)
    log_constant, half_dof = model.base.size_tables(6)
    np.testing.assert_array_equal(model.compiled_prior.by_size, np.column_stack([log_constant, half_dof]))
    assert model.compiled_prior.diagonal is False


def test_model_refuses_points_and_similarity_of_different_items(rng, base):
    with pytest.raises(InputError, match="There are 4 points but similarity is 5 x 5"):
        Model.from_similarity(rng.normal(size=(4, 2)), make_similarity(rng, 5), base)


def test_model_refuses_a_prior_of_other_dimensions(rng, base):
    with pytest.raises(InputError, match="prior has 2 dimensions, the points have 3"):
        Model.from_similarity(rng.normal(size=(4, 3)), make_similarity(rng, 4), base)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda points, similarity: points.__setitem__((2, 0), np.nan), r"points\[2\] holds NaN"),
        (lambda points, similarity: similarity.__setitem__((0, 1), 0.0), "not symmetric"),
        (lambda points, similarity: similarity.__setitem__((1, 1), 1.5), "needed values in"),
        (lambda points, similarity: similarity.__setitem__((3, 1), np.inf), r"similarity\[3, 1\] is inf"),
    ],
)
def test_model_refuses_bad_arrays(rng, base, spoil, message):
    points, similarity = rng.normal(size=(4, 2)), make_similarity(rng, 4)
    spoil(points, similarity)
    with pytest.raises(InputError, match=message):
        Model.from_similarity(points, similarity, base)


def test_log_joint_is_prior_times_marginals(model, rng):
    log_m = naive.marginal_of_tables(model.points, model.base)
    for links in rng.integers(6, size=(20, 6)):
        state = ChainState(links, 0.6)
        expected = sum(log_m(table) for table in naive.components(links))
        assert log_likelihood(model, state) == pytest.approx(expected, rel=1e-12)
        expected += log_link_prior(links, model.weights, 0.6)
        assert log_joint(model, state) == pytest.approx(expected, rel=1e-12)


def test_chain_starts_with_everybody_alone(model):
    state = init_state(model, 0.5)
    assert state.links.tolist() == state.labels.tolist() == list(range(6))
    assert (state.n_clusters, state.concentration, state.step) == (6, 0.5, 0)
    model.check_state(state)


@pytest.mark.parametrize("concentration", [0.0, -1.0, np.nan, np.inf])
def test_concentration_must_be_positive(model, concentration):
    with pytest.raises(InputError, match=r"concentration is .*, needed a finite number above 0"):
        init_state(model, concentration)


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([0, 1, 2], r"links is an array of int64, shape \(3,\), needed int64, shape \(6,\)"),
        ([0, 1, 2, 3, 4, 6], "links has numbers from 0 to 6, needed 0 to 5"),
        ([-1, 1, 2, 3, 4, 5], "links has numbers from -1 to 5, needed 0 to 5"),
    ],
)
def test_state_of_other_items_is_refused(model, links, message):
    with pytest.raises(InputError, match=message):
        model.check_state(ChainState(np.array(links), 1.0))


def test_state_with_a_forbidden_link_is_refused(rng, base):
    similarity = make_similarity(rng, 4)
    similarity[1, 3] = similarity[3, 1] = 0.0
    model = Model.from_similarity(rng.normal(size=(4, 2)), similarity, base)
    model.check_state(ChainState(np.array([1, 0, 3, 3]), 1.0))
    with pytest.raises(InputError, match="item 3 links to item 1, but their similarity is zero"):
        model.check_state(ChainState(np.array([0, 1, 2, 1]), 1.0))


# --- moves -----------------------------------------------------------------------------------------------------------


def test_links_move_leaves_its_argument_alone_and_says_what_it_did(model, rng):
    state = init_state(model, 0.5)
    for _ in range(20):
        before = state.links.copy()
        moved, info = resample_links(rng, model, state)
        model.check_state(moved)
        assert (state.links == before).all()
        assert not moved.links.flags.writeable
        assert info.n_changed == (moved.links != before).sum()
        assert info.log_likelihood == pytest.approx(log_likelihood(model, moved), rel=1e-10)
        assert (moved.concentration, moved.step) == (state.concentration, state.step)
        state = moved


def test_links_move_is_determined_by_its_generator(model):
    draws = [resample_links(np.random.default_rng(5), model, init_state(model))[0].links.tolist() for _ in range(2)]
    assert draws[0] == draws[1]


def test_default_sweep_samples_the_concentration_on_request():
    assert list(default_sweep()) == ["links"]
    assert list(default_sweep(sample_concentration=True)) == ["links", "concentration"]


def concentration_density(model, links, shape, rate):
    """Normalised density of the concentration given the links, from its definition."""
    n_self_links = sum(i == j for i, j in enumerate(links))

    def unnormalised(value):
        rows = np.prod(value + model.weights.sum(axis=1))
        return value ** (shape - 1) * math.exp(-rate * value) * value**n_self_links / rows

    total = quad(unnormalised, 0, np.inf)[0]
    return lambda value: unnormalised(value) / total


@pytest.mark.parametrize("links", [[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0], [0, 0, 0, 3, 3, 3]])
def test_log_density_of_the_concentration(model, links):
    model = replace(model, concentration_prior=(2.0, 1.5))
    density, state = concentration_density(model, links, 2.0, 1.5), ChainState(np.array(links), 1.0)
    found = [_log_concentration_density(model, state, value) for value in (0.3, 1.0, 4.0)]
    expected = [math.log(density(value)) for value in (0.3, 1.0, 4.0)]
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-9)


def concentration_chain(rng, move, model, state, n_steps=20_000, thin=20):
    values = []
    for _ in range(n_steps):
        state, _ = move(rng, model, state)
        values.append(state.concentration)
    return np.array(values[::thin])


def without_jacobian(rng, model, state):
    """The same walk on the logarithm, accepted as if it were a walk on the concentration: broken."""
    proposed = state.concentration * np.exp(0.5 * rng.standard_normal())
    log_ratio = _log_concentration_density(model, state, proposed)
    log_ratio -= _log_concentration_density(model, state, state.concentration)
    return (replace(state, concentration=proposed) if np.log(rng.random()) < log_ratio else state), None


def distance_from_density(chain, density):
    grid = np.linspace(0, 30, 3001)[1:]
    mass = np.cumsum([density(value) for value in grid])
    return kstest(chain, lambda values: np.interp(values, grid, mass / mass[-1])).pvalue


@pytest.mark.parametrize(("move", "is_right"), [(resample_concentration, True), (without_jacobian, False)])
def test_concentration_move_reaches_its_density(model, move, is_right):
    links, rng = [0, 1, 0, 3, 2, 2], np.random.default_rng(8)
    chain = concentration_chain(rng, move, model, ChainState(np.array(links), 1.0))
    p_value = distance_from_density(chain, concentration_density(model, links, 1.0, 1.0))
    assert (p_value > 1e-3) == is_right


def test_concentration_move_reports_acceptance(model, rng):
    state = ChainState(np.array([0, 1, 0, 3, 2, 2]), 1.0)
    moved = [resample_concentration(rng, model, state) for _ in range(200)]
    assert all((new.concentration != 1.0) is info.accepted for new, info in moved)
    assert {info.accepted for _, info in moved} == {True, False}
    assert all((new.links == state.links).all() for new, _ in moved)


# --- records ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("diagonal", [False, True])
def test_recorded_log_joint_is_the_reference(rng, diagonal):
    base = NormalGamma(np.zeros(2), 1.0, 2.0, np.ones(2)) if diagonal else NIW(np.zeros(2), 1.0, np.eye(2), 3.0)
    model = Model.from_similarity(rng.normal(size=(8, 2)), make_similarity(rng, 8), base)
    state = init_state(model, 0.7)
    for _ in range(10):
        state, links_info = resample_links(rng, model, state)
        state, concentration_info = resample_concentration(rng, model, state)
        infos = {"links": links_info, "concentration": concentration_info}
        scalars = RECORDING.scalars(model, state, infos)
        assert scalars["log_joint"] == pytest.approx(log_joint(model, state), rel=1e-10)
        assert scalars["log_likelihood"] == pytest.approx(log_likelihood(model, state), rel=1e-10)
        assert scalars["n_clusters"] == len(set(state.labels.tolist()))
        assert scalars["concentration"] == state.concentration
        assert RECORDING.keep(state).tolist() == list(naive.labels_of(state.links))
