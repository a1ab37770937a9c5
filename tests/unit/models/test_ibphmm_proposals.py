"""Proposals of the IBP-HMM: every outcome enumerated, its probability worked out from scratch, and drawn that often."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

import naive_emissions
import naive_ibphmm as naive
import naive_splits
from homothety.models.ibphmm import _kernels, moves
from homothety.models.ibphmm._trial_kernels import Concentrations
from naive_splits import Allocation, put_last, redrawn

MIN_P = 1e-4  # of tests of a distribution
AT = Concentrations(mass=1.3, concentration=0.7, alpha=0.8, kappa=1.7)
N_RECORDINGS, N_STEPS = 3, 2

# Owners of features, and paths; the first feature is split and merged.
ALONE = [[1], [1], [1]], [0, 0, 0, 0, 0, 0]
ANCHORS_ONLY = [[1, 0], [1, 1], [0, 1]], [0, 0, 0, 1, 1, 1]
WITH_OTHERS = [[1, 1], [1, 0], [1, 0]], [0, 1, 0, 0, 0, 0]
UNUSED = [[1, 1], [1, 0], [0, 1]], [1, 1, 0, 0, 1, 1]
CASES = {"alone": ALONE, "anchors only": ANCHORS_ONLY, "with others": WITH_OTHERS, "unused": UNUSED}
WORLDS = {name: replace(world, n_recordings=N_RECORDINGS, n_steps=N_STEPS) for name, world in naive.WORLDS.items()}


def make_model(world="gaussian", seed=0):
    """A model of three series of two steps drawn from the prior."""
    return naive.draw_world(np.random.default_rng(seed), WORLDS[world])[0]


def make_allocation(case, world="gaussian"):
    active, path = CASES[case]
    return Allocation(make_model(world), np.array(active, dtype=bool), np.array(path))


def both(allocation):
    return allocation.active, allocation.path


def key(allocation):
    return allocation.active.tobytes(), tuple(allocation.path.tolist())


def p_of_frequencies(observed, probs):
    """Test counts of outcomes against their probabilities; outcomes expected less than five times are pooled."""
    n = sum(observed.values())
    frequent = [outcome for outcome, prob in probs.items() if n * prob >= 5]
    counts = np.array([observed[outcome] for outcome in frequent], dtype=float)
    expected = np.array([n * probs[outcome] for outcome in frequent])
    counts, expected = np.append(counts, n - counts.sum()), np.append(expected, n - expected.sum())
    kept = expected > 1e-6
    return stats.chisquare(counts[kept], expected[kept] * counts[kept].sum() / expected[kept].sum()).pvalue


# --- densities and choice --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", CASES)
def test_density_of_an_allocation(case, world):
    allocation = make_allocation(case, world)
    expected = naive.log_density(allocation.model, *both(allocation), *AT)
    assert allocation.log_density(AT) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", CASES)
def test_second_choice(case, world):
    allocation = make_allocation(case, world)
    for a, second in product(range(allocation.n_states), range(N_RECORDINGS)):
        found = np.exp(naive_splits.log_second_choice(allocation, a, second))
        expected = naive.second_choice(allocation.model, *both(allocation), a, second)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert found.sum() == pytest.approx(1.0)
        log_choice = naive_splits.log_choice(allocation, a, int(expected.argmax()), 0, second)
        assert log_choice == pytest.approx(np.log(expected.max() / allocation.active[0].sum()))


def test_second_choice_of_far_away_steps_does_not_underflow():
    allocation = make_allocation("anchors only")
    model = replace(allocation.model, z=np.column_stack([np.ones(6), [1e8, 1e8, 1e8, -1e8, -1e8, -1e8]]))
    found = naive_splits.log_second_choice(Allocation(model, *both(allocation)), 0, 2)
    np.testing.assert_array_equal(np.exp(found), [0.0, 1.0])


@pytest.mark.parametrize("b", [0, 1, 2])
def test_feature_is_put_last(b):
    active, path = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=bool), np.array([0, 1, 2, 1, 0, 2])
    moved = put_last(Allocation(make_model(), active, path), b)
    order = [k for k in range(3) if k != b] + [b]
    np.testing.assert_array_equal(moved.active, active[:, order])
    np.testing.assert_array_equal(np.array(order)[moved.path], path)


# --- splits ----------------------------------------------------------------------------------------------------------


def anchors_of(allocation, first=0, second=1):
    """Anchors and the third series if it has the first feature: there is one order."""
    others = [i for i in np.flatnonzero(allocation.active[:, 0]) if i not in (first, second)]
    return naive_splits.Anchors(first, second, np.array(others, dtype=np.int64))


def split_probs(current, anchors):
    """Log probability of every outcome of a split, by the library."""
    rng, probs = np.random.default_rng(0), {}
    for active, path in naive.all_splits(current.model, *both(current), 0, anchors[:2]):
        target = Allocation(current.model, active, path)
        followed, log_prob = naive_splits.allocate_split(rng, current, 0, anchors, AT, target=target)
        assert key(followed) == key(target)
        probs[key(target)] = log_prob
    return probs


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", CASES)
def test_probabilities_of_splits(case, world):
    current = make_allocation(case, world)
    anchors = anchors_of(current)
    found = split_probs(current, anchors)
    assert np.logaddexp.reduce(list(found.values())) == pytest.approx(0.0, abs=1e-10)
    settings = (0, anchors[:2], anchors.order.tolist(), AT.concentration, AT.alpha, AT.kappa)
    for active, path in naive.all_splits(current.model, *both(current), 0, anchors[:2]):
        expected = naive.log_prob_of_split(current.model, both(current), (active, path), *settings)
        assert found[active.tobytes(), tuple(path.tolist())] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("case", ["alone", "with others"])
def test_splits_are_drawn_with_their_probabilities(case):
    current, rng, observed = make_allocation(case), np.random.default_rng(1), Counter()
    anchors = anchors_of(current)
    log_probs = split_probs(current, anchors)
    for _ in range(1_500):
        proposed, log_prob = naive_splits.allocate_split(rng, current, 0, anchors, AT)
        observed[key(proposed)] += 1
        assert log_prob == pytest.approx(log_probs[key(proposed)], abs=1e-10)
    assert p_of_frequencies(observed, {outcome: np.exp(log) for outcome, log in log_probs.items()}) > MIN_P


def test_split_leaves_the_current_state_alone():
    current = make_allocation("with others")
    before = key(current), current.statistics.scales.copy(), current.mean_parameters.copy()
    naive_splits.split(np.random.default_rng(2), current, 0, 0, 1, AT)
    assert key(current) == before[0]
    np.testing.assert_array_equal(current.statistics.scales, before[1])
    np.testing.assert_array_equal(current.mean_parameters, before[2])


# --- merges ----------------------------------------------------------------------------------------------------------


def merge_outcomes(current, a):
    """Every (active, path) that merging the last feature into `a` can lead to."""
    active, model = current.active[:, :-1].copy(), current.model
    active[:, a] |= current.active[:, -1]
    owners = np.flatnonzero(active[:, a])
    for steps in product(*(product(np.flatnonzero(active[i]), repeat=N_STEPS) for i in owners)):
        path = current.path.copy()
        for i, part in zip(owners, steps, strict=True):
            path[model.starts[i] : model.starts[i + 1]] = part
        yield active, path


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", ["anchors only", "with others", "unused"])
def test_probabilities_of_merges(case, world):
    active, path = CASES[case]
    active = np.column_stack([active, [1, 0, 1]]).astype(bool)
    current = Allocation(make_model(world), active, np.array([2, 2, *path[2:]]))
    rng, total = np.random.default_rng(3), 0.0
    for outcome in merge_outcomes(current, 0):
        target = Allocation(current.model, *outcome)
        followed, log_prob = naive_splits.allocate_merge(rng, current, 0, AT, target=target)
        assert key(followed) == key(target)
        expected = naive.log_prob_of_merge(current.model, both(current), outcome, 0, AT.alpha, AT.kappa)
        assert log_prob == pytest.approx(expected, abs=1e-10)
        total += np.exp(log_prob)
    assert total == pytest.approx(1.0, abs=1e-10)
    for _ in range(20):
        proposed, log_prob = naive_splits.allocate_merge(rng, current, 0, AT)
        expected = naive.log_prob_of_merge(current.model, both(current), both(proposed), 0, AT.alpha, AT.kappa)
        assert log_prob == pytest.approx(expected, abs=1e-10)


def log_ratio_from_scratch(smaller, larger, a, first, second, order):
    """Log of the chance to merge back over the chance of the split, choices included."""
    model, sticky, b = smaller.model, (AT.alpha, AT.kappa), larger.n_states - 1
    forth = np.log(naive.second_choice(model, *both(smaller), a, second)[a] / smaller.active[first].sum())
    settings = (a, (first, second), order, AT.concentration, *sticky)
    forth += naive.log_prob_of_split(model, both(smaller), both(larger), *settings)
    back = np.log(naive.second_choice(model, *both(larger), a, second)[b] / larger.active[first].sum())
    return back + naive.log_prob_of_merge(model, both(larger), both(smaller), a, *sticky) - forth


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", CASES)
def test_ratio_of_a_split_holds_the_whole_way_back(case, world):
    current, rng = make_allocation(case, world), np.random.default_rng(4)
    for _ in range(5):
        proposed, log_ratio = naive_splits.split(rng, current, 0, 0, 1, AT)
        order = anchors_of(current).order.tolist()
        assert log_ratio == pytest.approx(log_ratio_from_scratch(current, proposed, 0, 0, 1, order), abs=1e-9)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(("a", "b"), [(0, 2), (2, 0), (2, 1), (1, 2)])
def test_ratio_of_a_merge_is_that_of_the_split_upside_down(a, b, world):
    active, path = np.array([[1, 1, 1], [1, 1, 1], [0, 1, 1]], dtype=bool), np.array([0, 1, 2, 0, 2, 2])
    current, rng = Allocation(make_model(world), active, path), np.random.default_rng(5)
    for _ in range(5):
        proposed, log_ratio = naive_splits.merge(rng, current, a, b, 0, 1, AT)
        assert proposed.n_states == 2
        larger, kept = put_last(current, b), a - (b < a)
        expected = -log_ratio_from_scratch(proposed, larger, kept, 0, 1, [2])
        assert log_ratio == pytest.approx(expected, abs=1e-9)


# --- births and deaths -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_unique", "n_active"), [(0, 1), (0, 3), (1, 1), (1, 2), (3, 4)])
def test_move_ratio(n_unique, n_active):
    birth = 1.0 if n_unique == 0 or n_active == 1 else 0.5
    assert _kernels._birth_probability(n_unique, n_active) == birth
    death = 0.5 / (n_unique + 1)  # the series then has two features or more, and one of them is its own
    assert _kernels._log_move_ratio(n_unique, n_active) == pytest.approx(np.log(death / birth))


def with_window(model, *window, birth="data-driven"):
    return replace(model, proposals=replace(model.proposals, window=window, birth=birth))


def draw_window(rng, model, start, stop):
    """Draw a stretch of a series and return its posterior."""
    window = _kernels.build_window(model.z.shape[1])
    _kernels._draw_window(rng, model.z, start, stop, model.emission.weight, moves._source_of(model), window)
    return window


@pytest.mark.parametrize(
    ("window", "lengths"), [((1, 3), (1, 2, 3)), ((2, 100), (2, 3, 4)), ((15, 100), (4,)), ((4, 4), (4,))]
)
def test_windows_are_stretches_of_the_series(window, lengths):
    model, rng, observed = (
        naive.draw_world(np.random.default_rng(0), naive.GAUSSIAN)[0],
        np.random.default_rng(6),
        Counter(),
    )
    model, stretches = with_window(model, *window), {}
    for n in lengths:
        for first in range(4, 8 - n + 1):
            scale = naive_emissions.scale_matrix(model.z[first : first + n], model.emission)
            stretches[n, np.tril(scale).round(9).tobytes()] = 1 / len(lengths) / (4 - n + 1)
    for _ in range(1_500):
        sizes, scales, factors = draw_window(rng, model, 4, 8)
        observed[int(sizes[0]), np.tril(scales[0]).round(9).tobytes()] += 1
    np.testing.assert_allclose(np.tril(factors[0] @ factors[0].T), np.tril(scales[0]), atol=1e-10)
    assert set(observed) == set(stretches)
    if len(stretches) > 1:
        assert p_of_frequencies(observed, stretches) > MIN_P


@pytest.mark.parametrize("birth", ["prior", "data-driven"])
def test_newborn_parameters_follow_the_proposal(birth):
    model, rng = with_window(make_model(), 2, 2, birth=birth), np.random.default_rng(7)
    window = draw_window(rng, model, 0, 2)
    source, whitener, draws = moves._source_of(model), np.empty((1, 2)), []
    for _ in range(3_000):
        _kernels._propose_parameters(rng, source, window, whitener)
        draws.append(whitener[0, -1] ** -2)
    z, emission = model.z[:2], model.emission
    parts = [naive_emissions.posterior(steps, emission) for steps in (z[:0], z if birth == "data-driven" else z[:0])]
    laws = [stats.invgamma(dof / 2, scale=scale[0, 0] / 2) for _, _, scale, dof in parts]
    assert stats.kstest(draws, lambda value: 0.5 * (laws[0].cdf(value) + laws[1].cdf(value))).pvalue > MIN_P


# --- paths under plug-in parameters ----------------------------------------------------------------------------------


def test_a_path_is_drawn_through_its_features_alone():
    allocation, rng = make_allocation("with others"), np.random.default_rng(11)
    active = allocation.active.copy()
    active[0] = [False, True]
    arguments = (active, np.array([0]), allocation.mean_parameters, AT)
    proposed, log_probability = redrawn(rng, allocation, *arguments)
    assert log_probability == pytest.approx(0.0)
    assert proposed.path.tolist() == [1, 1, *allocation.path[2:]]
    _, log_probability = redrawn(rng, allocation, *arguments, target=allocation)
    assert log_probability == -np.inf
