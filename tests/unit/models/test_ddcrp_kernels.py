"""Every loop over links and tables equals its twin, compiled and not, and keeps its books."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import naive
from homothety.arrays import frozen
from homothety.distributions import NIW, NormalGamma
from homothety.models import _ddcrp_kernels as _kernels
from homothety.models._ddcrp_kernels import NOBODY
from homothety.models.ddcrp import Model

CONCENTRATION = 0.8


@pytest.fixture(params=["compiled", "interpreted"])
def kernels(request, interpret):
    """The kernels as users run them, and as plain Python, also where they call each other."""
    if request.param == "interpreted":
        interpret(_kernels)
    return _kernels


def make_base(n_dims, diagonal):
    rng = np.random.default_rng(n_dims)
    if diagonal:
        return NormalGamma(rng.normal(size=n_dims), 0.6, 1.3, rng.uniform(0.5, 2.0, n_dims))
    factor = rng.normal(size=(n_dims, n_dims))
    return NIW(rng.normal(size=n_dims), 0.6, factor @ factor.T / n_dims + np.eye(n_dims), n_dims + 0.5)


def make_model(seed=0, n_items=9, n_dims=2, diagonal=False, share_of_zeros=0.2):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(size=(n_items, n_items)) * (rng.random((n_items, n_items)) >= share_of_zeros)
    np.fill_diagonal(weights, 0.0)
    points = rng.normal(size=(n_items, n_dims)) * rng.uniform(0.5, 3.0, n_dims)
    return Model(frozen(points), frozen(weights), make_base(n_dims, diagonal))


def random_links(rng, model, self_weight=3.0):
    """Links that weights allow, leaving several tables."""
    rows = naive.prior_rows(model.weights, self_weight)
    return np.array([rng.choice(len(rows), p=row) for row in rows])


def build(model, targets):
    links = _kernels.build_links(targets)
    return links, _kernels.build_tables(links, model.centred_points, model.compiled_prior)


def members(tables, k):
    return np.flatnonzero(tables.labels == k)


def prior_arguments(model):
    prior = model.compiled_prior
    return prior.by_size, prior.mean_strength, prior.diagonal


def check_tables(model, links, tables, tolerance=1e-8):
    """Tables are the components of the links, and what they remember is what their points say."""
    targets = links[:, _kernels.TARGET]
    n_items = model.n_items
    graph = coo_array((np.ones(n_items), (np.arange(n_items), targets)), shape=(n_items, n_items))
    n_components, components = connected_components(graph, directed=False)
    assert tables.n_tables[0] == n_components == len(np.unique(tables.labels))
    assert len({*zip(tables.labels.tolist(), components.tolist(), strict=True)}) == n_components
    occupied = tables.occupied[:n_components]
    assert set(occupied.tolist()) == set(tables.labels.tolist())
    assert (tables.occupied[tables.position] == np.arange(n_items)).all()
    for k in occupied:
        expected = naive.table_row(model.points[members(tables, k)], model.base)
        np.testing.assert_allclose(tables.rows[k], expected, rtol=tolerance, atol=tolerance)


def check_links(links):
    """Children lists hold exactly those who link here, and can be walked both ways."""
    for j in range(len(links)):
        walked, before, child = [], _kernels.NOBODY, links[j, _kernels.FIRST_CHILD]
        while child != _kernels.NOBODY:
            assert links[child, _kernels.PREVIOUS] == before
            walked.append(int(child))
            before, child = child, links[child, _kernels.NEXT]
        assert sorted(walked) == np.flatnonzero(links[:, _kernels.TARGET] == j).tolist()


both_priors = pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])


# --- proposals -------------------------------------------------------------------------------------------------------


def alias_weights():
    rng = np.random.default_rng(1)
    return {
        "uniform": rng.uniform(size=12),
        "equal": np.ones(7),
        "one": np.eye(6)[2],
        "wide range": np.exp(rng.normal(scale=12.0, size=15)),
        "many zeros": rng.uniform(size=20) * (rng.random(20) < 0.2),
        "tiny": 1e-300 * rng.uniform(size=8),
        "single": np.array([0.3]),
    }


@pytest.mark.parametrize("name", alias_weights())
def test_alias_table_equals_its_twin(kernels, name):
    weights = alias_weights()[name]
    n_items = len(weights)
    keep, other = np.empty(n_items), np.empty(n_items, dtype=np.int64)
    mass = kernels._fill_alias(weights, keep, other, np.empty_like(other), np.empty_like(other))
    expected_keep, expected_other, expected_mass = naive.fill_alias(weights)
    assert mass == pytest.approx(expected_mass, rel=1e-14)
    np.testing.assert_allclose(keep, expected_keep, atol=1e-12)
    assert other.tolist() == expected_other


@pytest.mark.parametrize("name", alias_weights())
def test_packed_alias_table_holds_the_distribution_of_its_row(kernels, name):
    weights = alias_weights()[name]
    alias, row_mass = kernels.build_proposals(np.tile(weights, (len(weights), 1)))
    probabilities = naive.alias_distribution(alias[-1])
    np.testing.assert_allclose(probabilities, weights / weights.sum(), atol=1e-8)
    assert (probabilities[weights == 0] == 0).all()
    np.testing.assert_allclose(row_mass, weights.sum())


def test_proposals_equal_their_twin_draw_for_draw(kernels):
    model = make_model(2, n_items=7, share_of_zeros=0.4)
    alias, row_mass = kernels.build_proposals(model.weights)
    rng, twin_rng = np.random.default_rng(3), np.random.default_rng(3)
    for i in 30 * list(range(7)):
        j = kernels._propose_link(rng, i, CONCENTRATION, alias, row_mass)
        assert j == naive.propose_link(twin_rng, i, CONCENTRATION, model.weights)


def test_items_of_no_weight_propose_themselves(kernels):
    alias, row_mass = kernels.build_proposals(np.zeros((3, 3)))
    rng = np.random.default_rng(4)
    assert all(kernels._propose_link(rng, i, 1e-9, alias, row_mass) == i for i in 20 * [0, 1, 2])


def test_columns_of_weight_zero_are_never_proposed(kernels):
    weights = np.zeros((6, 6))
    weights[0, [2, 3]] = 0.1, 1e-9
    alias, row_mass = kernels.build_proposals(weights)
    rng = np.random.default_rng(5)
    assert {kernels._propose_link(rng, 0, 0.1, alias, row_mass) for _ in range(300)} == {0, 2}


# --- statistics of tables --------------------------------------------------------------------------------------------


@both_priors
@pytest.mark.parametrize("n_dims", [1, 2, 6, 12])
def test_built_tables_equal_their_twin(kernels, n_dims, diagonal):
    model = make_model(6, n_items=15, n_dims=n_dims, diagonal=diagonal)
    links, tables = build(model, random_links(np.random.default_rng(6), model))
    check_tables(model, links, tables, tolerance=1e-11)
    for k in tables.occupied[: tables.n_tables[0]]:
        scale = naive.posterior_scale(model.points[members(tables, k)], model.base)
        np.testing.assert_allclose(tables.factors[k], naive.root_free_factor(scale), rtol=1e-9, atol=1e-10)
    total = sum(naive.log_marginal(model.points[members(tables, k)], model.base) for k in np.unique(tables.labels))
    assert kernels.total_log_marginal(tables) == pytest.approx(total, rel=1e-12)


@both_priors
@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_determinants_beyond_the_range_of_doubles(kernels, size, diagonal):
    n_dims = 12
    base = NormalGamma(np.zeros(n_dims), 1.0, 2.0, np.full(n_dims, size / 2))
    base = base if diagonal else NIW(np.zeros(n_dims), 1.0, size * np.eye(n_dims), 14.0)
    points = np.sqrt(size) * np.random.default_rng(7).normal(size=(4, n_dims))
    model = Model(frozen(points), frozen(np.zeros((4, 4))), base)
    links, tables = build(model, np.array([0, 0, 0, 3]))
    check_tables(model, links, tables, tolerance=1e-10)
    assert abs(tables.rows[0, _kernels.LOG_DET]) > 745


@both_priors
def test_points_and_tables_join_and_part(kernels, diagonal):
    model = make_model(8, n_dims=3, diagonal=diagonal)
    _, tables = build(model, np.array([0, 0, 0, 3, 3, 5, 6, 7, 8]))
    rows, scratch = tables.rows, len(tables.rows) - 1

    def statistics(items):
        return naive.table_row(model.points[items], model.base)[_kernels.SUMS :]

    kernels.write_union(0, 1, scratch, rows)
    np.testing.assert_allclose(rows[scratch, _kernels.SUMS :], statistics([0, 1, 2, 3, 4]), atol=1e-12)
    kernels.write_rest(scratch, 0, rows)
    np.testing.assert_allclose(rows[scratch, _kernels.SUMS :], statistics([3, 4]), atol=1e-12)
    kernels.add_point(5, scratch, model.centred_points, rows)
    np.testing.assert_allclose(rows[scratch, _kernels.SUMS :], statistics([3, 4, 5]), atol=1e-12)
    assert rows[scratch, _kernels.SIZE] == 3
    kernels.refresh(scratch, rows, tables.factors, *prior_arguments(model))
    np.testing.assert_allclose(rows[scratch], naive.table_row(model.points[[3, 4, 5]], model.base), atol=1e-11)


@both_priors
@pytest.mark.parametrize("n_dims", [1, 2, 6, 12])
def test_log_determinant_with_a_point_more_or_less(kernels, n_dims, diagonal):
    model = make_model(9, n_dims=n_dims, diagonal=diagonal)
    _, tables = build(model, np.array([0, 0, 0, 3, 3, 5, 6, 7, 8]))
    arguments = (model.centred_points, tables.rows, tables.factors, model.base.mean_strength, diagonal)
    for k, items in ((0, [0, 1, 2]), (1, [3, 4]), (2, [5])):
        found = kernels.log_det_with_point(8, k, 1.0, *arguments, np.empty(n_dims))
        scale = naive.posterior_scale(model.points[[*items, 8]], model.base)
        assert found == pytest.approx(np.linalg.slogdet(scale)[1], rel=1e-11, abs=1e-11)
        found = kernels.log_det_with_point(items[0], k, -1.0, *arguments, np.empty(n_dims))
        scale = naive.posterior_scale(model.points[items[1:]], model.base)
        assert found == pytest.approx(np.linalg.slogdet(scale)[1], rel=1e-9, abs=1e-9)


def test_far_point_in_many_diagonal_dimensions_does_not_overflow(kernels):
    n_dims = 200
    points = np.random.default_rng(10).normal(size=(3, n_dims)) * [[0.03], [0.03], [3.0]]
    base = NormalGamma(np.zeros(n_dims), 1.0, 1.0, np.full(n_dims, 0.01))
    model = Model(frozen(points), frozen(np.zeros((3, 3))), base)
    _, tables = build(model, np.array([0, 0, 2]))
    found = merge_ratio(kernels, model, tables, 2, 0)
    log_m = naive.marginal_of_tables(points, base)
    assert found == pytest.approx(naive.log_merge_ratio(log_m, frozenset({2}), frozenset({0, 1})), rel=1e-10)


def merge_ratio(kernels, model, tables, i, k):
    arguments = (model.centred_points, tables.rows, tables.factors, *prior_arguments(model))
    return kernels.log_merge_ratio(i, tables.labels[i], k, NOBODY, *arguments, np.empty(model.points.shape[1]))


@both_priors
@pytest.mark.parametrize("n_dims", [1, 2, 6, 12])
def test_merge_ratios_and_their_bounds(kernels, n_dims, diagonal):
    model = make_model(11, n_dims=n_dims, diagonal=diagonal)
    _, tables = build(model, np.array([0, 0, 0, 3, 3, 5, 6, 6, 8]))
    log_m = naive.marginal_of_tables(model.points, model.base)
    by_slot = {k: frozenset(members(tables, k).tolist()) for k in range(tables.n_tables[0])}
    for i in (0, 3, 5, 8):
        own = tables.labels[i]
        for k, table in by_slot.items():
            ratio = naive.log_merge_ratio(log_m, by_slot[own], table)
            assert merge_ratio(kernels, model, tables, i, k) == pytest.approx(ratio, rel=1e-10, abs=1e-10)
            bound = kernels._bound_merge_ratio(own, k, tables.rows, model.compiled_prior.by_size)
            twin = naive.bound_merge_ratio(log_m, by_slot[own], table, model.points, model.base)
            assert bound == pytest.approx(twin, rel=1e-10, abs=1e-10)
            assert bound >= ratio - 1e-10


def test_bounds_of_all_tables_and_the_largest(kernels):
    model = make_model(12, n_items=12)
    _, tables = build(model, np.array([0, 0, 2, 2, 4, 4, 4, 7, 8, 8, 10, 10]))
    by_size, n_tables = model.compiled_prior.by_size, tables.n_tables[0]
    for own in range(n_tables):
        values = np.full(model.n_items, np.nan)
        highest = kernels.bound_ratios(own, tables, by_size, values)
        expected = [kernels._bound_merge_ratio(own, k, tables.rows, by_size) for k in range(n_tables)]
        np.testing.assert_array_equal(values[:n_tables], expected)
        assert highest == kernels.slot_of_largest(values, tables.occupied, n_tables) == np.argmax(expected)


def test_largest_within_reach(kernels):
    labels, values = np.array([0, 0, 1, 2, 3]), np.array([0.5, 7.0, 9.0, -1.0])
    weights = np.zeros((5, 5))
    weights[0, [2, 4]] = 0.1
    reached = [kernels._largest_within_reach(i, weights, labels, values) for i in range(5)]
    assert reached == [7.0, 0.5, 7.0, 9.0, -1.0]


# --- links and slots -------------------------------------------------------------------------------------------------


def test_cutting_and_linking_keeps_the_lists_of_children(kernels):
    rng = np.random.default_rng(13)
    targets = rng.integers(10, size=10)
    links = kernels.build_links(targets)
    assert (links[:, _kernels.TARGET] == targets).all()
    for _ in range(200):
        i, j = rng.integers(10, size=2)
        kernels.detach(i, links)
        assert links[i, _kernels.TARGET] == _kernels.NOBODY
        check_links(links)
        kernels.attach(i, j, links)
        assert links[i, _kernels.TARGET] == j
        check_links(links)


def every_small_link_vector():
    return [*naive.all_links(3), *naive.all_links(4)]


def test_cut_splits_exactly_off_the_cycle(kernels):
    for targets in every_small_link_vector():
        links = kernels.build_links(targets)
        visited = np.full(len(targets), -1)
        for i in range(len(targets)):
            assert bool(kernels.lies_on_cycle(i, links, visited, i)) != naive.split_by_cutting(targets, i)


def test_part_is_all_that_leads_to_the_item(kernels):
    for targets in every_small_link_vector():
        for i in range(len(targets)):
            links, part = kernels.build_links(targets), np.empty(len(targets), dtype=np.int64)
            kernels.detach(i, links)
            n_part = kernels.collect_part(i, links, part)
            linkless = [None if j == i else int(target) for j, target in enumerate(targets)]
            assert part[0] == i
            assert sorted(part[:n_part].tolist()) == sorted(naive.part_of(linkless, i))
            assert naive.part_of(linkless, i) == naive.right_tables(targets, i)[0]


def test_components_are_numbered_by_first_appearance(kernels):
    for targets in every_small_link_vector():
        labels = np.empty(len(targets), dtype=np.int64)
        n_components = kernels.find_components(kernels.build_links(targets), labels, np.empty_like(labels))
        assert tuple(labels.tolist()) == naive.labels_of(targets)
        assert n_components == max(labels) + 1


def test_slots_are_taken_and_given_back(kernels):
    rng = np.random.default_rng(14)
    model = make_model(14, n_items=6)
    _, tables = build(model, np.arange(6))
    in_use, empty_row = set(range(6)), tables.rows[-2].copy()
    for _ in range(300):
        if in_use and (rng.random() < 0.5 or len(in_use) == 6):
            k = rng.choice(sorted(in_use))
            kernels.close_table(k, tables)
            in_use.remove(k)
        else:
            k = kernels.open_table(tables)
            assert k not in in_use
            np.testing.assert_array_equal(tables.rows[k], empty_row)
            in_use.add(k)
        assert set(tables.occupied[: tables.n_tables[0]].tolist()) == in_use
        assert (tables.occupied[tables.position] == np.arange(6)).all()


def split(kernels, model, links, tables, i):
    """Cut the link of an item; return whom it takes along, both tables, and whether these are to be settled."""
    part, solved = np.empty(len(links), dtype=np.int64), np.empty(model.points.shape[1])
    kernels.detach(i, links)
    n_part, rest, own = kernels.collect_part(i, links, part), tables.labels[i], kernels.open_table(tables)
    unsettled = kernels.split_off(part, n_part, own, rest, model.centred_points, tables, model.compiled_prior, solved)
    kernels.relabel(part, n_part, own, tables.labels)
    return part[:n_part], own, rest, unsettled


@both_priors
@pytest.mark.parametrize(("i", "alone"), [(1, False), (2, True)])
def test_tables_split_and_merge(kernels, diagonal, i, alone):
    model = make_model(15, n_dims=3, diagonal=diagonal)
    links, tables = build(model, np.array([0, 0, 1, 1, 4, 4, 6, 6, 8]))
    part, own, rest, unsettled = split(kernels, model, links, tables, i)
    assert (len(part) == 1) == unsettled == alone
    log_marginals = tables.rows[[own, rest], _kernels.LOG_MARGINAL].copy()
    if unsettled:
        kernels.settle(own, rest, tables, model.compiled_prior)
    np.testing.assert_allclose(log_marginals, tables.rows[[own, rest], _kernels.LOG_MARGINAL], rtol=1e-10)
    kernels.attach(i, i, links)
    check_tables(model, links, tables)
    kernels.detach(i, links)
    destination = tables.labels[4]
    kernels.merge(own, destination, tables, model.compiled_prior)
    kernels.relabel(part, len(part), destination, tables.labels)
    kernels.attach(i, 4, links)
    check_tables(model, links, tables)
    assert tables.labels[i] == tables.labels[5] != tables.labels[0]


@both_priors
@pytest.mark.parametrize("i", [1, 2])
def test_who_comes_back_finds_the_table_as_it_was(kernels, diagonal, i):
    model = make_model(15, n_dims=3, diagonal=diagonal)
    links, tables = build(model, np.array([0, 0, 1, 1, 4, 4, 6, 6, 8]))
    row, factor = tables.rows[0].copy(), np.tril(tables.factors[0])
    part, own, rest, _ = split(kernels, model, links, tables, i)
    arguments = (model.centred_points, tables.rows, tables.factors, *prior_arguments(model), np.empty(3))
    known = kernels.log_merge_ratio(i, own, rest, rest, *arguments)
    kernels.settle(own, rest, tables, model.compiled_prior)
    assert known == pytest.approx(kernels.log_merge_ratio(i, own, rest, NOBODY, *arguments), rel=1e-9)
    kernels.rejoin(own, rest, tables)
    kernels.relabel(part, len(part), rest, tables.labels)
    np.testing.assert_array_equal(tables.rows[0], row)
    np.testing.assert_array_equal(np.tril(tables.factors[0]), factor)
    kernels.attach(i, 0, links)
    check_tables(model, links, tables)


def test_point_that_made_all_of_a_determinant_is_taken_out_with_care(kernels):
    points = np.array([[0.0, 0.0], [1e-2, 0.0], [1e2, 1e2]])
    model = Model(frozen(points), frozen(np.zeros((3, 3))), NIW(np.zeros(2), 1.0, 1e-4 * np.eye(2), 4.0))
    links, tables = build(model, np.array([0, 0, 0]))
    _, own, rest, unsettled = split(kernels, model, links, tables, 2)
    assert not unsettled
    for k, items in ((rest, [0, 1]), (own, [2])):
        expected = naive.log_marginal(points[items], model.base)
        assert tables.rows[k, _kernels.LOG_MARGINAL] == pytest.approx(expected, rel=1e-4)


# --- drawing ---------------------------------------------------------------------------------------------------------


def test_scan_equals_its_twin_draw_for_draw(kernels):
    model, labels = make_model(16), np.array([0, 0, 1, 1, 2, 2, 2, 3, 3])
    factors = np.array([1.0, 0.3, 1e-3, 0.0, np.nan, np.nan, np.nan, np.nan, np.nan])
    rng, twin_rng = np.random.default_rng(17), np.random.default_rng(17)
    for i in 20 * list(range(9)):
        found = kernels._draw_link_by_scan(rng, i, model.weights, CONCENTRATION, labels, factors)
        masses = [(CONCENTRATION if j == i else model.weights[i, j]) * factors[label] for j, label in enumerate(labels)]
        if sum(masses) > 0:
            assert found == naive.draw_by_scan(twin_rng, masses)
        else:
            twin_rng.random()


def test_scan_stays_in_its_row_when_all_weights_are_denormal(kernels):
    weights, rng = np.full((2, 2), 5e-324), np.random.default_rng(18)
    draws = {kernels._draw_link_by_scan(rng, 0, weights, 5e-324, np.array([0, 1]), np.ones(2)) for _ in range(50)}
    assert draws <= {0, 1}


def sweep(kernels, rng, model, links, tables, order):
    arguments = (model.centred_points, model.weights, CONCENTRATION, model.proposals, links, tables)
    kernels.sweep_links(rng, order, *arguments, model.compiled_prior, kernels.build_scratch(*model.points.shape))


@both_priors
@pytest.mark.parametrize("n_dims", [1, 2, 6, 12])
def test_sweep_equals_its_twin_draw_for_draw(kernels, n_dims, diagonal):
    model = make_model(19, n_items=10, n_dims=n_dims, diagonal=diagonal)
    rng, twin_rng = np.random.default_rng(20), np.random.default_rng(20)
    twin_links = np.arange(10)
    links, tables = build(model, twin_links)
    limits = (_kernels.MAX_TIGHTENINGS, _kernels.MAX_PROPOSALS)
    for _ in range(6):
        sweep(kernels, rng, model, links, tables, rng.permutation(10))
        order = twin_rng.permutation(10)
        arguments = (model.points, model.weights, CONCENTRATION, model.base, twin_links)
        twin_links = naive.sweep_links(twin_rng, order, *arguments, *limits)
        assert links[:, _kernels.TARGET].tolist() == twin_links
        check_tables(model, links, tables)
        check_links(links)


@pytest.mark.parametrize("limits", [(0, 64), (6, 0), (0, 0), (1, 2)])
def test_sweep_equals_its_twin_whatever_the_limits(interpret, limits):
    interpret(_kernels, MAX_TIGHTENINGS=limits[0], MAX_PROPOSALS=limits[1])
    model = make_model(21, n_items=12)
    rng, twin_rng = np.random.default_rng(22), np.random.default_rng(22)
    links, tables = build(model, np.arange(12))
    twin_links = np.arange(12)
    for _ in range(4):
        sweep(_kernels, rng, model, links, tables, np.arange(12))
        arguments = (model.points, model.weights, CONCENTRATION, model.base, twin_links)
        twin_links = naive.sweep_links(twin_rng, range(12), *arguments, *limits)
        assert links[:, _kernels.TARGET].tolist() == twin_links


def edge_models():
    rng = np.random.default_rng(23)
    base = make_base(2, False)
    alike = frozen(np.ones((8, 8)) - np.eye(8))
    return {
        "one item": Model(frozen(rng.normal(size=(1, 2))), frozen(np.zeros((1, 1))), base),
        "two items": Model(frozen(rng.normal(size=(2, 2))), frozen(np.array([[0.0, 0.4], [0.4, 0.0]])), base),
        "no weights": Model(frozen(rng.normal(size=(6, 2))), frozen(np.zeros((6, 6))), base),
        "identical points": Model(frozen(np.ones((8, 2))), alike, base),
        "identical points at the mean": Model(frozen(np.tile(base.mean, (8, 1))), alike, base),
        "far points": Model(frozen(1e4 + rng.normal(size=(8, 2))), alike, base),
        "many items": make_model(24, n_items=120, n_dims=4),
    }


@pytest.mark.parametrize("name", edge_models())
def test_books_are_kept_over_many_sweeps_without_a_rebuild(name):
    model, rng = edge_models()[name], np.random.default_rng(25)
    links, tables = build(model, np.arange(model.n_items))
    for s in range(100):
        sweep(_kernels, rng, model, links, tables, rng.permutation(model.n_items))
        check_links(links)
        if s % 10 == 9 or s < 3:
            check_tables(model, links, tables)
    targets = links[:, _kernels.TARGET]
    chosen = targets != np.arange(model.n_items)
    assert (model.weights[np.flatnonzero(chosen), targets[chosen]] > 0).all()
