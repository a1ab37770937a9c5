"""The chain over links against posteriors enumerated in full: every link vector of four or five items."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numba
import numpy as np
import pytest
from scipy.stats import chisquare

import naive
from homothety.arrays import frozen
from homothety.distributions import NIW, NormalGamma
from homothety.models import _ddcrp_kernels as _kernels
from homothety.models.ddcrp import Model, init_state, resample_links

CONCENTRATION = 0.6
N_SWEEPS = 60_000
MAX_DISTANCE = 0.02  # total variation; 60,000 sweeps over 52 partitions leave about half of it
LEAST_P_VALUE = 1e-4


@dataclass(frozen=True)
class Case:
    """A model small enough to enumerate."""

    points: np.ndarray
    weights: np.ndarray
    base: NIW | NormalGamma

    @property
    def model(self):
        return Model(frozen(self.points), frozen(self.weights), self.base)

    @property
    def log_marginal(self):
        return naive.marginal_of_tables(self.points, self.base)

    def exact(self):
        links, posterior = naive.exact_link_posterior(self.weights, CONCENTRATION, self.log_marginal)
        return naive.by_partition(links, posterior)


def random_similarity(rng, n_items):
    weights = rng.uniform(0.05, 1.0, (n_items, n_items))
    weights = (weights + weights.T) / 2
    np.fill_diagonal(weights, 0.0)
    return weights


def full_prior(n_dims):
    return NIW(np.full(n_dims, 0.1), 0.7, 0.5 * np.eye(n_dims) + 0.1, n_dims + 1.0)


def diagonal_prior(n_dims):
    return NormalGamma(np.full(n_dims, 0.1), 0.7, 1.5, np.linspace(0.4, 0.8, n_dims))


def make_case(name):
    rng = np.random.default_rng(7)
    n_items = 4 if name == "four" else 5
    points, weights, base = rng.normal(size=(n_items, 2)), random_similarity(rng, n_items), full_prior(2)
    if name == "diagonal":
        base = diagonal_prior(2)
    elif name == "asymmetric":
        weights = rng.uniform(0.0, 2.0, (n_items, n_items)) * (1 - np.eye(n_items))
    elif name == "forbidden":
        weights[rng.random(weights.shape) < 0.4] = 0.0
        weights[2] = 0.0
    elif name == "far apart":
        points[:2] += 6.0
    return Case(points, weights, base)


CASES = ("four", "five", "diagonal", "asymmetric", "forbidden", "far apart")


# Not cached: numba would not notice a change of the kernels that this calls.
@numba.njit
def sweep_many(rng, orders, points, weights, concentration, proposals, links, tables, empty_rows, prior, scratch):
    """Run one sweep after the other as the move does, without leaving compiled code; return all links."""
    chain = np.empty(orders.shape, dtype=np.int64)
    for s in range(orders.shape[0]):
        tables.rows[:] = empty_rows
        _kernels.fill_tables(links, points, tables, prior)
        _kernels.sweep_links(rng, orders[s], points, weights, concentration, proposals, links, tables, prior, scratch)
        chain[s] = links[:, 0]
    return chain


def run_chain(seed, model, concentration=CONCENTRATION, n_sweeps=N_SWEEPS, prior=None):
    rng = np.random.default_rng(seed)
    orders = rng.permuted(np.tile(np.arange(model.n_items), (n_sweeps, 1)), axis=1)
    prior = model.compiled_prior if prior is None else prior
    arguments = (model.centred_points, model.weights, concentration, model.proposals)
    links = _kernels.build_links(np.arange(model.n_items))
    tables = _kernels.build_tables(links, model.centred_points, prior)
    empty_rows = np.tile(tables.rows[-2], (len(tables.rows), 1))
    scratch = _kernels.build_scratch(*model.points.shape)
    return sweep_many(rng, orders, *arguments, links, tables, empty_rows, prior, scratch)


@pytest.mark.parametrize("name", CASES)
def test_partition_frequencies_are_the_posterior(name):
    case = make_case(name)
    observed = naive.partition_frequencies(run_chain(1, case.model))
    assert naive.total_variation(case.exact(), observed) < MAX_DISTANCE


def test_the_move_itself_reaches_the_posterior():
    case, rng = make_case("four"), np.random.default_rng(2)
    model, chain = case.model, []
    state = init_state(model, CONCENTRATION)
    for _ in range(N_SWEEPS // 3):
        state, _ = resample_links(rng, model, state)
        chain.append(state.links)
    assert naive.total_variation(case.exact(), naive.partition_frequencies(np.array(chain))) < MAX_DISTANCE


# --- the same test applied to a slow sampler, right and broken -------------------------------------------------------


def slow_distance(case, **steps):
    """Total variation between the posterior and a chain of the slow sampler."""
    rng, start = np.random.default_rng(3), range(len(case.weights))
    chain = naive.gibbs_chain(rng, N_SWEEPS // 3, case.weights, CONCENTRATION, case.log_marginal, start, **steps)
    return naive.total_variation(case.exact(), naive.partition_frequencies(chain))


def test_slow_sampler_reaches_the_posterior():
    assert slow_distance(make_case("four")) < MAX_DISTANCE


@pytest.mark.parametrize("fault", naive.BROKEN_STEPS)
def test_broken_sampler_is_caught(fault):
    assert slow_distance(make_case("four"), **naive.BROKEN_STEPS[fault]) > 2 * MAX_DISTANCE


@pytest.mark.parametrize("name", ["four", "diagonal", "forbidden"])
def test_slow_sampler_leaves_the_posterior_where_it_is(name):
    case = make_case(name)
    case = Case(case.points[:4], case.weights[:4, :4], case.base)
    assert naive.distance_from_stationary(case.weights, CONCENTRATION, case.log_marginal) < 1e-12


@pytest.mark.parametrize("fault", naive.BROKEN_STEPS)
def test_broken_sampler_moves_the_posterior(fault):
    case, steps = make_case("four"), naive.BROKEN_STEPS[fault]
    assert naive.distance_from_stationary(case.weights, CONCENTRATION, case.log_marginal, **steps) > 1e-3


# --- one link at a time: every path through the draw -----------------------------------------------------------------


def crowded_case(seed, n_items, n_places, n_dims=2, diagonal=False):
    """Items in several places, some links forbidden, so that many tables differ widely in their ratios."""
    rng = np.random.default_rng(seed)
    places = rng.normal(scale=3.0, size=(n_places, n_dims))
    points = places[rng.integers(n_places, size=n_items)] + rng.normal(scale=0.6, size=(n_items, n_dims))
    weights = random_similarity(rng, n_items)
    weights[rng.random(weights.shape) < 0.2] = 0.0
    base = diagonal_prior(n_dims) if diagonal else full_prior(n_dims)
    return Case(points, weights, base)


def draw_links(rng, case, links, i, n_draws):
    """Draw the link of `i` again and again from one state; also how many tables were left with a mere bound."""
    model, prior = case.model, case.model.compiled_prior
    tables = _kernels.build_tables(_kernels.build_links(np.array(naive.cut(links, i))), model.centred_points, prior)
    scratch = _kernels.build_scratch(*model.points.shape)
    scratch.exact[:] = -1
    draws, n_bounded = np.zeros(model.n_items), []
    for stamp in range(n_draws):
        arguments = (model.centred_points, model.weights, CONCENTRATION, model.proposals, tables, prior)
        draws[_kernels.draw_link(rng, i, _kernels.NOBODY, stamp, *arguments, scratch)] += 1
        n_bounded.append(int((scratch.exact[: tables.n_tables[0]] != stamp).sum()))
    return draws, n_bounded


def p_value(case, links, i, draws):
    """Of a chi-squared test of drawn links against their conditional; links of weight zero must not occur."""
    expected = draws.sum() * naive.link_conditional(links, i, case.weights, CONCENTRATION, case.log_marginal)
    assert draws[expected == 0].sum() == 0
    frequent = expected > 5
    pooled = [(counts[frequent], counts[~frequent].sum()) for counts in (draws, expected)]
    observed, expected = (np.append(often, rest) if expected[~frequent].sum() > 5 else often for often, rest in pooled)
    return chisquare(observed, expected * observed.sum() / expected.sum()).pvalue if len(observed) > 1 else 1.0


def random_links(rng, case, self_weight=10.0):
    """Links that leave many tables: self-links are made likelier than in the model."""
    rows = naive.prior_rows(case.weights, self_weight)
    return [int(rng.choice(len(rows), p=row)) for row in rows]


LIMITS = {
    "bounds and proposals": {"MAX_TIGHTENINGS": 0},
    "scan": {"MAX_PROPOSALS": 0},
    "one proposal, then scan": {"MAX_PROPOSALS": 1, "MAX_TIGHTENINGS": 1},
    "proposals without end": {"MAX_PROPOSALS": 10**6},
}


@pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])
@pytest.mark.parametrize("path", LIMITS)
def test_every_path_draws_from_the_conditional(interpret, path, diagonal):
    case, rng = crowded_case(11, 8, 3, diagonal=diagonal), np.random.default_rng(4)
    interpret(_kernels, **LIMITS[path])
    for i in (0, 5):
        links = random_links(rng, case)
        draws, _ = draw_links(rng, case, links, i, 1500)
        assert p_value(case, links, i, draws) > LEAST_P_VALUE


@pytest.mark.parametrize("path", ["bounds and proposals", "scan"])
def test_every_path_leads_to_the_posterior(interpret, path):
    interpret(_kernels, **LIMITS[path])
    case, rng = make_case("four"), np.random.default_rng(5)
    model, chain = case.model, []
    state = init_state(model, CONCENTRATION)
    for _ in range(2000):
        state, _ = resample_links(rng, model, state)
        chain.append(state.links)
    # Fifteen partitions after 2,000 correlated sweeps: the Monte Carlo error alone is about 0.03.
    assert naive.total_variation(case.exact(), naive.partition_frequencies(np.array(chain))) < 0.06


@pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])
def test_conditional_is_exact_among_many_tables_known_by_bounds_alone(diagonal):
    case, rng = crowded_case(12, 40, 6, n_dims=3, diagonal=diagonal), np.random.default_rng(6)
    p_values, n_bounded = [], []
    for i in range(0, 40, 5):
        links = random_links(rng, case)
        draws, bounded = draw_links(rng, case, links, i, 3000)
        p_values.append(p_value(case, links, i, draws))
        n_bounded += bounded
    assert min(p_values) > LEAST_P_VALUE
    assert np.mean(n_bounded) > 2


def test_conditional_of_a_whole_part_not_just_one_item():
    case, rng = crowded_case(13, 12, 3), np.random.default_rng(7)
    links = [1, 2, 2, 4, 2, 5, 5, 6, 8, 9, 9, 11]
    for i in (2, 4, 5):
        draws, _ = draw_links(rng, case, links, i, 4000)
        assert len(naive.right_tables(links, i)[0]) > 1
        assert p_value(case, links, i, draws) > LEAST_P_VALUE


def test_table_out_of_reach_with_an_overwhelming_ratio_is_never_joined():
    # Points far from where the prior expects them, alike but of weight zero: the ratio of joining them is e^3600.
    points, base = np.full((4, 1), 10.0), NIW(np.zeros(1), 1.0, np.eye(1), 2000.0)
    weights = np.zeros((4, 4))
    weights[2, 3] = 0.5
    case = Case(points, weights, base)
    chain = run_chain(8, case.model, n_sweeps=200)
    assert (chain[:, [0, 1, 3]] == [0, 1, 3]).all()
    assert (chain[:, 2] == 3).all()


# --- prior alone -----------------------------------------------------------------------------------------------------


def without_likelihood(model):
    prior = model.compiled_prior
    return prior._replace(by_size=np.zeros_like(prior.by_size))


@pytest.mark.parametrize("name", ["five", "asymmetric", "forbidden"])
def test_links_follow_the_prior_row_by_row(name):
    model = make_case(name).model
    chain = run_chain(9, model, prior=without_likelihood(model))
    rows = naive.prior_rows(model.weights, CONCENTRATION)
    for row, links in zip(rows, chain.T, strict=True):
        counts, possible = np.bincount(links, minlength=model.n_items), row > 0
        assert counts[~possible].sum() == 0
        assert possible.sum() == 1 or chisquare(counts[possible], len(chain) * row[possible]).pvalue > LEAST_P_VALUE


def test_expected_number_of_self_links():
    model = make_case("five").model
    chain = run_chain(10, model, prior=without_likelihood(model))
    probabilities = CONCENTRATION / (CONCENTRATION + model.weights.sum(axis=1))
    n_self_links = (chain == np.arange(5)).sum(axis=1)
    standard_error = math.sqrt((probabilities * (1 - probabilities)).sum() / len(chain))
    assert abs(n_self_links.mean() - probabilities.sum()) < 4 * standard_error


def ewens(n_items, concentration):
    """Probability of each partition under the Chinese restaurant process."""
    log_total = math.lgamma(concentration + n_items) - math.lgamma(concentration)
    return {
        labels: math.exp(sum(math.log(concentration) + math.lgamma(labels.count(k)) for k in set(labels)) - log_total)
        for labels in naive.all_partitions(n_items)
    }


def test_sequential_links_of_equal_weight_are_the_chinese_restaurant_process():
    points, weights = np.zeros((5, 2)), np.tril(np.ones((5, 5)), -1)
    model = Case(points, weights, full_prior(2)).model
    links, prior = naive.exact_link_posterior(weights, CONCENTRATION, lambda table: 0.0)
    exact = ewens(5, CONCENTRATION)
    assert naive.total_variation(exact, naive.by_partition(links, prior)) < 1e-12
    chain = run_chain(11, model, prior=without_likelihood(model))
    assert naive.total_variation(exact, naive.partition_frequencies(chain)) < MAX_DISTANCE


@pytest.mark.parametrize(("n_items", "n_partitions"), [(4, 15), (5, 52)])
def test_enumeration_is_complete(n_items, n_partitions):
    assert len(naive.all_links(n_items)) == n_items**n_items
    partitions = naive.all_partitions(n_items)
    assert len(partitions) == len(set(partitions)) == n_partitions
    assert {naive.labels_of(links) for links in naive.all_links(n_items)} == set(partitions)
