"""Kernels of the IBP-HMM against slow twins: every path enumerated, every distribution from scipy."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import stats

import naive_emissions
import naive_hmm
import naive_ibphmm as naive
from homothety.models.hmm._kernels import scaled
from homothety.models.ibphmm import _kernels
from homothety.models.ibphmm._kernels import build_scratch
from homothety.models.ibphmm.model import _log_repeated_unused, expected_new, log_owner_prior, log_path_prior

MIN_P = 1e-4  # of tests of a distribution
ALPHA, KAPPA, MASS = 0.8, 1.7, 0.6
N_STEPS, N_FEATURES = 4, 4
COLUMNS = np.array([2, 0, 4, 1])  # where each feature stands in the evidence


@pytest.fixture(params=["compiled", "interpreted"])
def _mode(request, interpret):
    """Run a test with kernels as they are, and as plain Python."""
    if request.param == "interpreted":
        interpret(_kernels)


def make_series(seed=0, active=(True, False, True, True)):
    """Features and weights of a series, and its evidence in three forms; one column belongs to nobody."""
    rng = np.random.default_rng(seed)
    log_evidence = rng.normal(scale=1.5, size=(N_STEPS, N_FEATURES + 1))
    weights = rng.gamma(1.0, size=(N_FEATURES, N_FEATURES))
    return np.array(active), weights, scaled(log_evidence)


def chain_of(active, weights):
    """Start and transition probabilities among the features a series has."""
    own = np.flatnonzero(active)
    transition = weights[np.ix_(own, own)]
    return np.full(len(own), 1 / len(own)), transition / transition.sum(axis=1, keepdims=True)


def p_of_frequencies(observed, expected):
    """Test counts of outcomes against their probabilities; outcomes expected less than five times are pooled."""
    n = sum(observed.values())
    frequent = [key for key, prob in expected.items() if n * prob >= 5]
    counts = np.array([observed[key] for key in frequent], dtype=float)
    probs = np.array([expected[key] for key in frequent])
    if n * (1 - probs.sum()) >= 5:
        counts, probs = np.append(counts, n - counts.sum()), np.append(probs, 1 - probs.sum())
    return stats.chisquare(counts, probs / probs.sum() * counts.sum()).pvalue


ACTIVE = [(True, False, True, True), (False, True, False, False), (True, True, True, True), (False, True, True, False)]


# --- features of a series --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_mode")
@pytest.mark.parametrize("active", ACTIVE)
def test_chain_goes_through_the_features_of_the_series(active):
    active, weights, _ = make_series(active=active)
    scratch, own = build_scratch(N_FEATURES), np.flatnonzero(active)
    n = _kernels._write_chain(active, weights, COLUMNS, scratch)
    initial, transition = chain_of(active, weights)
    assert n == len(own)
    np.testing.assert_array_equal(scratch.listed[:n], own)
    np.testing.assert_array_equal(scratch.states[:n], COLUMNS[own])
    np.testing.assert_allclose(scratch.initial[:n], initial)
    np.testing.assert_allclose(scratch.transition[: n * n].reshape(n, n), transition)


@pytest.mark.usefixtures("_mode")
@pytest.mark.parametrize("active", ACTIVE)
def test_log_likelihood_sums_over_all_paths(active):
    active, weights, evidence = make_series(active=active)
    found = _kernels._series_log_likelihood(active, weights, COLUMNS, evidence, build_scratch(N_FEATURES))
    assert found == pytest.approx(naive.log_likelihood(active, weights, evidence[0][:, COLUMNS]), abs=1e-12)


@pytest.mark.usefixtures("_mode")
@pytest.mark.parametrize("active", ACTIVE)
def test_path_is_drawn_as_by_its_twin(active):
    active, weights, evidence = make_series(active=active)
    own, path = np.flatnonzero(active), np.empty(N_STEPS, dtype=np.int64)
    arguments = (active, weights, COLUMNS, evidence, build_scratch(N_FEATURES, N_STEPS))
    initial, transition = chain_of(active, weights)
    filtered = naive_hmm.filtered_probs(evidence[0][:, COLUMNS[own]], initial, transition)
    for seed in range(20):
        log_likelihood = _kernels._draw_series_path(np.random.default_rng(seed), *arguments, path)
        uniforms = np.random.default_rng(seed).random(N_STEPS)
        np.testing.assert_array_equal(path, naive_hmm.draw_path(uniforms, filtered, transition, own))
    assert log_likelihood == pytest.approx(naive.log_likelihood(active, weights, evidence[0][:, COLUMNS]), abs=1e-12)


def test_paths_are_drawn_from_their_posterior():
    active, weights, evidence = make_series(active=ACTIVE[-1])
    own, path, rng = np.flatnonzero(active), np.empty(N_STEPS, dtype=np.int64), np.random.default_rng(1)
    arguments, observed = (active, weights, COLUMNS, evidence, build_scratch(N_FEATURES, N_STEPS)), Counter()
    for _ in range(4_000):
        _kernels._draw_series_path(rng, *arguments, path)
        observed[tuple(np.searchsorted(own, path).tolist())] += 1
    expected = naive_hmm.path_probs(evidence[0][:, COLUMNS[own]], *chain_of(active, weights))
    assert p_of_frequencies(observed, expected) > MIN_P


@pytest.mark.usefixtures("_mode")
@pytest.mark.parametrize("active", ACTIVE)
def test_features_are_flipped_as_by_their_twin(active):
    _, weights, evidence = make_series(active=active)
    n_others, scratch, n_changed = np.array([2.0, 0.0, 1.0, 2.0]), build_scratch(N_FEATURES), 0
    log_odds = np.empty(N_FEATURES)
    _kernels._write_log_odds(n_others, 3, MASS, log_odds)
    for seed in range(30):
        found, order = np.array(active), np.random.default_rng(seed).permutation(N_FEATURES)
        n_tried, n_accepted = _kernels._flip_shared_states(
            np.random.default_rng(seed), order, log_odds, found, weights, COLUMNS, evidence, scratch
        )
        expected = naive.flip_shared_features(
            np.random.default_rng(seed), order, n_others, 3, MASS, active, weights, evidence[0][:, COLUMNS]
        )
        np.testing.assert_array_equal(found, expected[0])
        assert (n_tried, n_accepted) == expected[1:]
        n_changed += n_accepted
    assert n_changed > 0


def test_last_feature_is_never_switched_off():
    _, weights, evidence = make_series()
    log_odds, scratch = np.array([-np.inf, 0.7, -np.inf, -np.inf]), build_scratch(N_FEATURES)
    for seed in range(20):
        active, order = np.array(ACTIVE[1]), np.arange(N_FEATURES)
        rng = np.random.default_rng(seed)
        n_tried, *_ = _kernels._flip_shared_states(rng, order, log_odds, active, weights, COLUMNS, evidence, scratch)
        assert n_tried == 0
        np.testing.assert_array_equal(active, ACTIVE[1])


# --- weights ---------------------------------------------------------------------------------------------------------


def test_missing_weights_come_from_their_prior():
    active, rng = np.array([True, False, True]), np.random.default_rng(2)
    draws = np.empty((3_000, 3, 3))
    for weights in draws:
        weights[:] = 7.0
        _kernels._draw_missing_weights(rng, active, ALPHA, KAPPA, weights)
    kept = np.ix_(active, active)
    for j in range(3):
        for k in range(3):
            if active[j] and active[k]:
                continue
            shape = ALPHA + KAPPA * (j == k)
            assert stats.kstest(draws[:, j, k], stats.gamma(shape).cdf).pvalue > MIN_P
    assert (draws[:, *kept] == 7.0).all()


def test_weights_given_a_path_are_dirichlet_rows_times_gamma_totals():
    active, rng = np.array([True, False, True, True]), np.random.default_rng(3)
    counts = np.array([[3.0, 0, 1, 0], [0, 0, 0, 0], [2, 0, 0, 5], [0, 0, 0, 0]])
    draws = np.zeros((4_000, 4, 4))
    for weights in draws:
        _kernels._draw_transition_weights(rng, active, counts, ALPHA, KAPPA, weights)
    pairs = np.outer(active, active)
    assert (draws[:, ~pairs] == 0).all()
    assert (draws[:, pairs] > 0).all()
    shapes = (counts + ALPHA + KAPPA * np.eye(4)) * pairs
    for j in np.flatnonzero(active):
        total = draws[:, j].sum(axis=1)
        assert stats.kstest(total, stats.gamma(3 * ALPHA + KAPPA).cdf).pvalue > MIN_P
        for k in np.flatnonzero(active):
            share = stats.beta(shapes[j, k], shapes[j].sum() - shapes[j, k])
            assert stats.kstest(draws[:, j, k] / total, share.cdf).pvalue > MIN_P
            assert stats.pearsonr(draws[:, j, k] / total, total).pvalue > MIN_P


def test_weights_drawn_compiled_and_interpreted_agree():
    active, counts = np.array([True, False, True]), np.ones((3, 3))
    for kernel, arguments in (
        (_kernels._draw_transition_weights, (counts, ALPHA, KAPPA)),
        (_kernels._draw_missing_weights, (ALPHA, KAPPA)),
    ):
        found, expected = np.ones((2, 3, 3))
        kernel(np.random.default_rng(4), active, *arguments, found)
        kernel.py_func(np.random.default_rng(4), active, *arguments, expected)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_tiny_shapes_do_not_make_weights_of_zero():
    active, weights, rng = np.ones(3, dtype=bool), np.empty((3, 3)), np.random.default_rng(5)
    for _ in range(50):
        _kernels._draw_transition_weights(rng, active, np.zeros((3, 3)), 1e-4, 1e-4, weights)
        assert (weights > 0).all()
        assert np.isfinite(weights).all()


@pytest.mark.usefixtures("_mode")
def test_transitions_are_counted_within_the_stretch():
    path, counts = np.array([0, 0, 1, 2, 2, 2, 0]), np.zeros((3, 3))
    _kernels.count_transitions(path, 1, 6, counts)
    np.testing.assert_array_equal(counts, [[0, 1, 0], [0, 0, 1], [0, 0, 2]])


# --- densities -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_mode")
@pytest.mark.parametrize("world", naive.WORLDS)
def test_birth_density_is_prior_over_mixture(world):
    rng, emission = np.random.default_rng(6), naive.WORLDS[world].emission
    z = rng.normal(size=(3, 2))
    scales = naive_emissions.scale_matrix(z, emission)[None]
    window = _kernels.Window(np.array([3.0]), scales, np.linalg.cholesky(scales))
    prior = (emission.prior_scale, emission.prior_factor.copy())
    for _ in range(5):
        parameters = naive.draw_parameters(rng, emission)
        log_prior = naive_emissions.log_parameter_density(z[:0], emission, *parameters)
        log_window = naive_emissions.log_parameter_density(z, emission, *parameters)
        log_mixture = np.log(0.5 * np.exp(log_prior) + 0.5 * np.exp(log_window))
        whitener = naive_emissions.whitener(*parameters)
        for data_driven, expected in ((True, log_prior - log_mixture), (False, 0.0)):
            source = _kernels.Source(1, 3, data_driven, *prior, emission.structure)
            found = _kernels._log_prior_over_proposal(source, window, whitener)
            assert found == pytest.approx(expected, abs=1e-9)


def make_paths(seed=7):
    """Features of three series, and a path of seven steps through those of each."""
    rng = np.random.default_rng(seed)
    active = np.array([[True, False, True, True], [True, True, False, False], [False, False, True, False]])
    return active, [rng.choice(np.flatnonzero(row), size=7) for row in active]


@pytest.mark.usefixtures("_mode")
def test_path_prior_predicts_step_by_step():
    active, paths = make_paths()
    counts = np.zeros((3, 4, 4))
    for i, path in enumerate(paths):
        _kernels.count_transitions(path, 0, len(path), counts[i])
    found = log_path_prior(counts, active, ALPHA, KAPPA)
    assert found == pytest.approx(naive.log_path_prior(paths, active, ALPHA, KAPPA), abs=1e-10)


def test_path_prior_sums_to_one():
    active, total = np.array([[True, False, True]]), 0.0
    for path in naive_hmm.all_paths(2, 4):
        counts = np.zeros((1, 3, 3))
        _kernels.count_transitions(2 * np.array(path), 0, 4, counts[0])
        total += np.exp(log_path_prior(counts, active, ALPHA, KAPPA))
    assert total == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("concentration", [0.4, 1.0, 3.0])
def test_feature_prior_is_that_of_poisson_numbers_of_patterns(concentration):
    active, _ = make_paths()
    found = log_owner_prior(active.sum(axis=0), 3, 1.3, concentration)
    assert found == pytest.approx(naive.log_feature_prior(active, 1.3, concentration), abs=1e-12)


def test_number_of_features_is_poisson_of_the_expected_rate():
    rng, mass, concentration = np.random.default_rng(8), 1.4, 0.6
    numbers = [naive.draw_buffet(rng, 3, mass, concentration).shape[1] for _ in range(4_000)]
    rate = mass * expected_new(3, concentration)
    expected = {n: stats.poisson.pmf(n, rate) for n in range(12)}
    assert p_of_frequencies(Counter(numbers), expected) > MIN_P


def test_orders_of_unused_features_that_look_alike():
    active = np.array([[1, 1, 1, 1, 0, 1], [0, 0, 0, 1, 1, 0]], dtype=bool)
    used = np.array([True, False, False, False, False, False])
    assert _log_repeated_unused(active, used) == pytest.approx(np.log(6))  # three of the first series alone
    assert _log_repeated_unused(active, ~used) == 0.0


# --- paths under plug-in parameters ----------------------------------------------------------------------------------


def propose(rng, states, evidence, drawn, path):
    """Draw a path under plug-in parameters, or take it as given; return the log probability of drawing it."""
    scratch, positions = build_scratch(len(states), N_STEPS), np.empty(N_FEATURES + 1, dtype=np.int64)
    if drawn:
        log_likelihood = _kernels.draw_sticky_path(rng, states, ALPHA, KAPPA, evidence, scratch, path)
    else:
        log_likelihood = _kernels.sticky_log_likelihood(states, ALPHA, KAPPA, evidence, scratch)
    arguments = (states, ALPHA, KAPPA, evidence[0], scratch, positions, path)
    return _kernels.log_sticky_path_density(*arguments) - log_likelihood


@pytest.mark.usefixtures("_mode")
@pytest.mark.parametrize("states", [[1], [3, 0], [0, 2, 4]])
def test_sticky_log_likelihood_sums_over_all_paths(states):
    _, _, evidence = make_series()
    n, states = len(states), np.array(states)
    found = _kernels.sticky_log_likelihood(states, ALPHA, KAPPA, evidence, build_scratch(n))
    weights = naive.sticky_weights(n, ALPHA, KAPPA)
    assert found == pytest.approx(naive.log_likelihood(np.ones(n), weights, evidence[0][:, states]), abs=1e-12)


@pytest.mark.usefixtures("_mode")
def test_probabilities_of_proposed_paths_sum_to_one():
    _, _, evidence = make_series()
    states = np.array([3, 0])
    weights = naive.sticky_weights(2, ALPHA, KAPPA)
    expected = naive_hmm.path_probs(evidence[0][:, states], *chain_of(np.ones(2, dtype=bool), weights))
    rng, found = np.random.default_rng(9), {}
    for path in naive_hmm.all_paths(2, N_STEPS):
        given = states[list(path)]
        found[path] = np.exp(propose(rng, states, evidence, False, given))
        np.testing.assert_array_equal(given, states[list(path)])
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-12)
    assert found == pytest.approx(expected, abs=1e-12)


def test_proposed_paths_come_with_their_probability():
    _, _, evidence = make_series()
    states, path = np.array([3, 0]), np.empty(N_STEPS, dtype=np.int64)
    weights = naive.sticky_weights(2, ALPHA, KAPPA)
    expected = naive_hmm.path_probs(evidence[0][:, states], *chain_of(np.ones(2, dtype=bool), weights))
    rng, observed = np.random.default_rng(10), Counter()
    for _ in range(4_000):
        log_prob = propose(rng, states, evidence, True, path)
        drawn = tuple((path == 0).astype(int).tolist())
        observed[drawn] += 1
        assert np.exp(log_prob) == pytest.approx(expected[drawn], abs=1e-12)
    assert p_of_frequencies(observed, expected) > MIN_P


@pytest.mark.usefixtures("_mode")
def test_path_through_a_feature_the_series_lacks_has_no_probability():
    _, _, evidence = make_series()
    assert propose(np.random.default_rng(11), np.array([3, 0]), evidence, False, np.array([3, 0, 1, 0])) == -np.inf
