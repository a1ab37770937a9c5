"""Partitions, tables and their ratios, whatever the points: bounds, invariances, books."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import naive
from homothety.arrays import frozen
from homothety.distributions import NIW, NormalGamma
from homothety.metrics import vi
from homothety.models import _ddcrp_kernels as _kernels
from homothety.models.ddcrp import ChainState, Model, labels_from_links, log_joint
from homothety.summaries import coclustering, expected_vi, minimise_expected_vi, relabel_by_size

relaxed = settings(deadline=None, max_examples=60)  # the first example of each may have to compile
coordinates = st.floats(-50, 50).map(lambda value: round(value, 3))
draws_of_partitions = hnp.arrays(np.int64, st.tuples(st.integers(1, 8), st.integers(1, 7)), elements=st.integers(0, 4))


@st.composite
def small_models(draw, diagonal=None, isotropic=False, max_items=7):
    """A model of a few points and any links between them."""
    n_items, n_dims = draw(st.integers(2, max_items)), draw(st.integers(1, 4))
    points = draw(hnp.arrays(np.float64, (n_items, n_dims), elements=coordinates))
    size, strength = draw(st.floats(0.01, 100)), draw(st.floats(0.01, 20))
    extra = draw(st.floats(0.05, 30))
    if draw(st.booleans()) if diagonal is None else diagonal:
        base = NormalGamma(np.zeros(n_dims), strength, extra, np.full(n_dims, size))
    else:
        tilt = 0.0 if isotropic else draw(st.floats(0, 0.9))
        scale = size * ((1 - tilt) * np.eye(n_dims) + tilt)
        base = NIW(np.zeros(n_dims), strength, scale, n_dims - 1 + extra)
    targets = draw(hnp.arrays(np.int64, n_items, elements=st.integers(0, n_items - 1)))
    weights = frozen(np.full((n_items, n_items), 0.5) * (1 - np.eye(n_items)))
    return Model(frozen(points), weights, base), targets


def build_tables(model, targets):
    return _kernels.build_tables(_kernels.build_links(targets), model.centred_points, model.compiled_prior)


def merge_ratios(model, targets):
    """Log merge ratios of all pairs of tables, by the smallest items of both."""
    tables = build_tables(model, targets)
    heads = [int(np.flatnonzero(tables.labels == k)[0]) for k in range(tables.n_tables[0])]
    prior, solved = model.compiled_prior, np.empty(model.points.shape[1])
    arguments = (model.centred_points, tables.rows, tables.factors, prior.by_size, prior.mean_strength, prior.diagonal)
    ratios = {
        (i, j): _kernels.log_merge_ratio(i, tables.labels[i], tables.labels[j], _kernels.NOBODY, *arguments, solved)
        for i in heads
        for j in heads
    }
    bounds = {
        (i, j): _kernels._bound_merge_ratio(tables.labels[i], tables.labels[j], tables.rows, prior.by_size)
        for i in heads
        for j in heads
    }
    return ratios, bounds


@relaxed
@given(small_models())
def test_bound_is_never_below_the_ratio(case):
    ratios, bounds = merge_ratios(*case)
    for pair, ratio in ratios.items():
        assert bounds[pair] >= ratio - 1e-7 * max(1.0, abs(ratio))


@relaxed
@given(small_models())
def test_merge_ratio_is_symmetric(case):
    ratios, _ = merge_ratios(*case)
    for (i, j), ratio in ratios.items():
        assert ratio == pytest.approx(ratios[j, i], rel=1e-7, abs=1e-7)


@relaxed
@given(small_models(diagonal=False, isotropic=True), st.integers(0, 2**32 - 1))
def test_rotating_points_changes_no_merge_ratio_under_an_isotropic_prior(case, seed):
    model, targets = case
    n_dims = model.points.shape[1]
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(n_dims, n_dims)))[0]
    rotated = Model(frozen(model.points @ rotation), model.weights, model.base)
    before, after = merge_ratios(model, targets)[0], merge_ratios(rotated, targets)[0]
    for pair, ratio in before.items():
        assert after[pair] == pytest.approx(ratio, rel=1e-6, abs=1e-6)


@relaxed
@given(small_models(), st.randoms(use_true_random=False))
def test_relabelling_items_changes_no_joint_density(case, random):
    model, targets = case
    order = np.array(random.sample(range(model.n_items), model.n_items))
    position = np.argsort(order)
    weights = model.weights * (1 + np.arange(model.n_items**2, dtype=float).reshape(model.weights.shape))
    model = Model(model.points, frozen(weights), model.base)
    permuted = Model(frozen(model.points[order]), frozen(weights[np.ix_(order, order)]), model.base)
    state, permuted_state = ChainState(targets, 0.7), ChainState(position[targets[order]], 0.7)
    assert log_joint(permuted, permuted_state) == pytest.approx(log_joint(model, state), rel=1e-9, abs=1e-9)
    together = state.labels[:, None] == state.labels
    permuted_together = permuted_state.labels[:, None] == permuted_state.labels
    np.testing.assert_array_equal(permuted_together, together[np.ix_(order, order)])


@relaxed
@given(small_models())
def test_parting_and_joining_leaves_a_table_as_it_was(case):
    model, targets = case
    tables = build_tables(model, np.zeros_like(targets))
    whole = tables.rows[0].copy()
    part = np.flatnonzero(targets % 2).astype(np.int64)
    if 0 < len(part) < model.n_items:
        own, solved = _kernels.open_table(tables), np.empty(model.points.shape[1])
        _kernels.split_off(part, len(part), own, 0, model.centred_points, tables, model.compiled_prior, solved)
        _kernels.merge(own, 0, tables, model.compiled_prior)
        scale = np.abs(whole).max()
        np.testing.assert_allclose(tables.rows[0], whole, rtol=1e-6, atol=1e-9 * scale)


@relaxed
@given(hnp.arrays(np.int64, st.integers(1, 12), elements=st.integers(0, 11)))
def test_labels_of_links_are_components(targets):
    targets = targets % len(targets)
    assert tuple(labels_from_links(targets).tolist()) == naive.labels_of(targets)


@relaxed
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30).map(np.array))
def test_alias_table_holds_its_weights(weights):
    alias, row_mass = _kernels.build_proposals(np.tile(weights, (len(weights), 1)))
    np.testing.assert_allclose(row_mass, weights.sum(), rtol=1e-12)
    if weights.sum() > 1e-290:
        probabilities = naive.alias_distribution(alias[0])
        np.testing.assert_allclose(probabilities, weights / weights.sum(), atol=1e-8)
        assert (probabilities[weights == 0] == 0).all()


# --- summaries -------------------------------------------------------------------------------------------------------


@relaxed
@given(draws_of_partitions)
def test_coclustering_is_brute_force(draws):
    np.testing.assert_allclose(coclustering(draws), naive.coclustering(draws.tolist()), atol=1e-12)


@relaxed
@given(draws_of_partitions)
def test_expected_vi_is_the_metric_averaged(draws):
    expected = [np.mean([vi(row, draw) for draw in draws]) for row in draws]
    np.testing.assert_allclose(expected_vi(draws, draws), expected, atol=1e-10)


@relaxed
@given(draws_of_partitions)
def test_point_estimate_is_a_local_minimum(draws):
    found = minimise_expected_vi(draws)
    value = expected_vi([found], draws)[0]
    assert value <= expected_vi(draws, draws).min() + 1e-9
    assert value <= expected_vi(naive.neighbours(found.tolist()), draws).min() + 1e-9


@relaxed
@given(draws_of_partitions)
def test_relabelling_by_size_is_canonical(draws):
    labels, names = draws[0], np.array([30, 10, 20, 50, 40])
    relabelled = relabel_by_size(labels)
    assert len({*zip(labels.tolist(), relabelled.tolist(), strict=True)}) == len(set(labels.tolist()))
    assert (np.diff(np.bincount(relabelled)) <= 0).all()
    np.testing.assert_array_equal(relabel_by_size(names[labels]), relabelled)
