"""The chain over partitions against posteriors enumerated in full: every partition of four or five items."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import naive_crp as naive
from homothety.distributions import NIW, NormalGamma
from homothety.models.crp import ChainState, Model, default_sweep, init_state, resample_concentration
from homothety.sampling import iterate
from naive import all_partitions, total_variation

CONCENTRATION = 0.6
N_SWEEPS = 40_000
MAX_DISTANCE = 0.02  # total variation; so many sweeps over 52 partitions leave less than half of it
MAX_Z = 4.0  # standard errors a mean may be off


@dataclass(frozen=True)
class Case:
    """A model small enough to enumerate."""

    points: np.ndarray
    base: NIW | NormalGamma

    @property
    def model(self):
        return Model(self.points, self.base)

    def exact(self):
        return naive.exact_posterior(self.points, self.base, [CONCENTRATION])


def make_case(name):
    rng = np.random.default_rng(7)
    points = rng.normal(size=(4 if name == "four" else 5, 2))
    base = NIW(np.full(2, 0.1), 0.7, 0.5 * np.eye(2) + 0.1, 3.0)
    if name == "diagonal":
        base = NormalGamma(np.full(2, 0.1), 0.7, 1.5, np.array([0.4, 0.8]))
    elif name == "far apart":
        points[:2] += 6.0
    elif name == "coincident":
        points[1:3] = points[0]
    return Case(points, base)


CASES = ("four", "five", "diagonal", "far apart", "coincident")


def run_chain(seed, model, state, n_sweeps=N_SWEEPS, **settings):
    """Labels and concentration after every sweep."""
    chain = iterate(np.random.default_rng(seed), model, state, default_sweep(**settings))
    states = [next(chain)[0] for _ in range(n_sweeps)]
    return [state.labels for state in states], np.array([state.concentration for state in states])


@pytest.mark.parametrize("name", CASES)
def test_partition_frequencies_are_the_posterior(name):
    case = make_case(name)
    labels, _ = run_chain(1, case.model, init_state(case.model, CONCENTRATION))
    assert total_variation(case.exact(), naive.frequencies(labels)) < MAX_DISTANCE


def test_start_does_not_matter():
    case = make_case("five")
    labels, _ = run_chain(2, case.model, init_state(case.model, CONCENTRATION, singletons=True))
    assert total_variation(case.exact(), naive.frequencies(labels)) < MAX_DISTANCE


# --- the same test applied to a slow sampler, right and broken -------------------------------------------------------


def slow_distance(case, **steps):
    """Total variation between the posterior and a chain of the slow sampler."""
    rng = np.random.default_rng(3)
    chain = naive.gibbs_chain(rng, N_SWEEPS // 4, case.points, case.base, CONCENTRATION, **steps)
    return total_variation(case.exact(), naive.frequencies(chain))


def test_slow_sampler_reaches_the_posterior():
    assert slow_distance(make_case("four")) < MAX_DISTANCE


@pytest.mark.parametrize("fault", naive.BROKEN_STEPS)
def test_broken_sampler_is_caught(fault):
    assert slow_distance(make_case("four"), **naive.BROKEN_STEPS[fault]) > 2 * MAX_DISTANCE


@pytest.mark.parametrize("name", CASES)
def test_slow_sampler_leaves_the_posterior_where_it_is(name):
    case = make_case(name)
    assert naive.distance_from_stationary(case.points, case.base, CONCENTRATION) < 1e-12


@pytest.mark.parametrize("fault", naive.BROKEN_STEPS)
def test_broken_sampler_moves_the_posterior(fault):
    case = make_case("four")
    assert naive.distance_from_stationary(case.points, case.base, CONCENTRATION, **naive.BROKEN_STEPS[fault]) > 1e-2


# --- prior alone -----------------------------------------------------------------------------------------------------


def without_likelihood(model):
    """The same model in which every set of points has density one."""
    prior = model.compiled_prior
    model.__dict__["compiled_prior"] = prior._replace(by_size=np.zeros_like(prior.by_size))
    return model


def test_without_likelihood_partitions_follow_ewens():
    model = without_likelihood(make_case("five").model)
    labels, _ = run_chain(4, model, init_state(model, CONCENTRATION))
    exact = {partition: naive.ewens(partition, CONCENTRATION) for partition in all_partitions(5)}
    assert sum(exact.values()) == pytest.approx(1.0)
    assert total_variation(exact, naive.frequencies(labels)) < MAX_DISTANCE


def test_without_likelihood_the_mean_number_of_clusters_is_known():
    points = np.random.default_rng(5).normal(size=(30, 2))
    model = without_likelihood(Model(points, make_case("four").base))
    labels, _ = run_chain(5, model, init_state(model, 1.7), n_sweeps=10_000)
    expected = sum(1.7 / (1.7 + i) for i in range(30))
    n_clusters = np.array([row.max() + 1 for row in labels])
    assert naive.z_scores(n_clusters, expected) < MAX_Z


# --- the concentration -----------------------------------------------------------------------------------------------

GAMMA_PRIOR = (1.5, 0.8)
GRID = np.linspace(1e-6, 80.0, 400_001)


def concentration_statistics(values):
    """What is compared, by its mean."""
    return np.column_stack([values, values**2, np.log(values), np.exp(-values), 1 / (1 + values)])


def z_of_concentration(step, n_clusters, n_items):
    """Off by how many standard errors a chain of the given step is from the posterior by quadrature."""
    density = naive.concentration_density(GRID, n_clusters, n_items, *GAMMA_PRIOR)
    expected = np.trapezoid(concentration_statistics(GRID) * density[:, None], GRID, axis=0)
    rng, value, chain = np.random.default_rng(6), 1.0, []
    for _ in range(20_000):
        value = step(rng, value)
        chain.append(value)
    return naive.z_scores(concentration_statistics(np.array(chain)), expected).max()


def labels_with(n_clusters, n_items):
    return np.minimum(np.arange(n_items), n_clusters - 1)


PARTITIONS = [(1, 5), (3, 12), (12, 12), (4, 300)]


@pytest.mark.parametrize(("n_clusters", "n_items"), PARTITIONS)
def test_concentration_follows_its_posterior(n_clusters, n_items):
    model = replace(Model(np.zeros((n_items, 2)), make_case("four").base), concentration_prior=GAMMA_PRIOR)

    def step(rng, value):
        state, _ = resample_concentration(rng, model, ChainState(labels_with(n_clusters, n_items), value))
        return state.concentration

    assert z_of_concentration(step, n_clusters, n_items) < MAX_Z


@pytest.mark.parametrize(("n_clusters", "n_items"), PARTITIONS)
def test_slow_concentration_follows_its_posterior(n_clusters, n_items):
    step = lambda rng, value: naive.escobar_west(rng, value, n_clusters, n_items, *GAMMA_PRIOR)  # noqa: E731
    assert z_of_concentration(step, n_clusters, n_items) < MAX_Z


@pytest.mark.parametrize("fault", naive.BROKEN_CONCENTRATIONS)
def test_broken_concentration_is_caught(fault):
    broken = naive.BROKEN_CONCENTRATIONS[fault]
    assert z_of_concentration(lambda rng, value: broken(rng, value, 3, 12, *GAMMA_PRIOR), 3, 12) > 2 * MAX_Z


def test_partition_and_concentration_together():
    case, grid = make_case("four"), np.linspace(1e-6, 60.0, 6_001)
    model = replace(case.model, concentration_prior=GAMMA_PRIOR)
    labels, concentrations = run_chain(8, model, init_state(model), sample_concentration=True)
    weights = grid ** (GAMMA_PRIOR[0] - 1) * np.exp(-GAMMA_PRIOR[1] * grid)
    exact = naive.exact_posterior(case.points, case.base, grid, weights)
    assert total_variation(exact, naive.frequencies(labels)) < MAX_DISTANCE
    of_sizes = {k: sum(p for labels, p in exact.items() if max(labels) + 1 == k) for k in range(1, 5)}
    density = sum(of_sizes[k] * naive.concentration_density(GRID, k, 4, *GAMMA_PRIOR) for k in of_sizes)
    expected = np.trapezoid(concentration_statistics(GRID) * density[:, None], GRID, axis=0)
    assert naive.z_scores(concentration_statistics(concentrations), expected).max() < MAX_Z
