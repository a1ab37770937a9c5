"""Messages of a hidden Markov model with a least stay against the enumeration of all paths."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import naive_hmm as naive
from homothety.errors import InputError
from homothety.models import hmm
from homothety.models.hmm import _stay_kernels as kernels
from homothety.models.hmm._kernels import Chain
from homothety.models.hmm.messages import has_short_stay, mend_short_stays, transition_steps

MAX_Z = 4.5  # standard errors a frequency may be off; a few dozen are compared at a time
SIZES = [(1, 1), (1, 3), (6, 1), (2, 2), (3, 2), (9, 2), (6, 3), (5, 4)]
STAYS = [1, 2, 3, 4, 12]


def make_chain(n_steps, n_states, seed=0, spread=2.0, states=None):
    """Evidence (n_steps, n_states), initial and transition probabilities of the states in use."""
    rng = np.random.default_rng(seed)
    n_active = n_states if states is None else len(states)
    evidence = rng.normal(scale=spread, size=(n_steps, n_states))
    transition = rng.dirichlet(np.ones(n_active), size=n_active) + np.eye(n_active)
    return evidence, rng.dirichlet(np.ones(n_active)), transition / transition.sum(axis=1, keepdims=True)


def filter_with(log_evidence, initial, transition, least_stay):
    """Log-likelihood by the kernel, also with a least stay of one."""
    n_steps, n_states = log_evidence.shape
    room = kernels.stay_room(min(least_stay, n_steps), n_states)
    chain = Chain(np.arange(n_states), initial, transition)
    return kernels.filter_stays(log_evidence, chain, least_stay, np.empty((2, n_states)), room)


# --- against every path ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("least_stay", STAYS)
@pytest.mark.parametrize(("n_steps", "n_states"), SIZES)
def test_likelihood_and_marginals_equal_enumeration(n_steps, n_states, least_stay):
    chain = make_chain(n_steps, n_states)
    _, expected = naive.stay_probs(*chain, least_stay)
    assert filter_with(*chain, least_stay) == pytest.approx(expected, abs=1e-11)
    assert hmm.log_likelihood(*chain, least_stay=least_stay) == pytest.approx(expected, abs=1e-11)
    marginals, pairs = naive.stay_marginals(*chain, least_stay)
    smoothed = hmm.smooth_series(*chain, least_stay=least_stay)
    np.testing.assert_allclose(smoothed.probs, marginals, atol=1e-11)
    np.testing.assert_allclose(smoothed.n_transitions, pairs, atol=1e-11)
    assert smoothed.log_likelihood == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("least_stay", STAYS)
@pytest.mark.parametrize(("n_steps", "n_states"), SIZES)
def test_densities_of_paths_and_the_best_one_equal_enumeration(n_steps, n_states, least_stay):
    evidence, initial, transition = make_chain(n_steps, n_states, seed=3)
    positions, states = np.empty(n_states, dtype=np.int64), np.arange(n_states)
    logs = {}
    for path in naive.all_paths(n_states, n_steps):
        arguments = evidence, Chain(states, initial, transition), least_stay, positions
        logs[path] = kernels.log_stay_density(np.array(path), *arguments)
        expected = naive.log_stay_joint(path, evidence, initial, transition, least_stay)
        assert logs[path] == pytest.approx(expected, abs=1e-11)
    total = hmm.log_likelihood(evidence, initial, transition, least_stay=least_stay)
    assert np.exp(np.array(list(logs.values())) - total).sum() == pytest.approx(1.0)
    path, log_density = hmm.most_likely_path(evidence, initial, transition, least_stay=least_stay)
    assert tuple(path.tolist()) == max(logs, key=logs.__getitem__)
    assert log_density == pytest.approx(max(logs.values()), abs=1e-11)


@pytest.mark.parametrize("least_stay", [1, 2, 3, 5])
@pytest.mark.parametrize("n_states", [2, 3])
def test_transitions_are_counted_as_the_density_has_them(n_states, least_stay):
    for path in naive.all_paths(n_states, 7):
        expected, found = naive.stay_counts(path, least_stay, n_states), np.zeros((n_states, n_states))
        starts = np.array([0, 7])
        assert has_short_stay(np.array(path), starts, least_stay) == (expected is None)
        if expected is not None:
            steps = np.flatnonzero(transition_steps(np.array(path), starts, least_stay))
            np.add.at(found, (np.array(path)[steps - 1], np.array(path)[steps]), 1.0)
            np.testing.assert_array_equal(found, expected)


def test_series_are_counted_each_on_its_own():
    path, starts = np.array([0, 0, 1, 1, 0, 2, 2, 2]), np.array([0, 3, 5, 8])
    assert transition_steps(path, starts, 2).tolist() == [False, True, True, False, True, False, True, True]
    assert not has_short_stay(path, starts, 3)
    assert has_short_stay(path, np.array([0, 8]), 3)


# --- draws -----------------------------------------------------------------------------------------------------------


def frequencies(draw, chain, least_stay, n_draws=20_000):
    """Largest difference between frequencies of paths and their probabilities, by the largest standard error."""
    rng = np.random.default_rng(5)
    counts = Counter(tuple(draw(rng, *chain, least_stay)) for _ in range(n_draws))
    exact, _ = naive.stay_probs(*chain, least_stay)
    probs, found = np.array(list(exact.values())), np.array([counts[path] for path in exact])
    assert not found[probs == 0].any()
    return float(np.abs(found / n_draws - probs).max() / np.sqrt((probs * (1 - probs) / n_draws).max()))


def library_draw(rng, evidence, initial, transition, least_stay):
    return hmm.sample_path(rng, evidence, initial, transition, least_stay=least_stay)[0].tolist()


@pytest.mark.parametrize("least_stay", [2, 3, 4])
@pytest.mark.parametrize(("n_steps", "n_states"), [(2, 3), (6, 2), (5, 3)])
def test_paths_are_drawn_as_often_as_they_are_probable(n_steps, n_states, least_stay):
    chain = make_chain(n_steps, n_states, seed=2, spread=1.0)
    assert frequencies(library_draw, chain, least_stay, 6_000) < MAX_Z


def rejected_draw(rng, evidence, initial, transition, least_stay):
    """Draw from the plain chain until no stay is too short: self-transitions then count for every step."""
    while True:
        path = hmm.sample_path(rng, evidence, initial, transition)[0]
        if not has_short_stay(path, np.array([0, len(path)]), least_stay):
            return path.tolist()


def test_broken_draw_is_caught():
    assert frequencies(rejected_draw, make_chain(6, 2, seed=2, spread=1.0), 4, 6_000) > 2 * MAX_Z


def test_log_probability_of_a_draw_is_that_of_its_path_and_no_stay_is_short():
    states, rng = np.array([4, 0, 2]), np.random.default_rng(0)
    evidence, initial, transition = make_chain(200, 6, states=states)
    total = naive.log_stay_likelihood(evidence[:, states], initial, transition, 4)
    for _ in range(20):
        path, log_prob = hmm.sample_path(rng, evidence, initial, transition, states=states, least_stay=4)
        assert not has_short_stay(path, np.array([0, 200]), 4)
        position = [states.tolist().index(k) for k in path]
        expected = naive.log_stay_joint(position, evidence[:, states], initial, transition, 4) - total
        assert log_prob == pytest.approx(expected, abs=1e-9)


def test_frequencies_of_states_are_smoothed_probabilities():
    chain = make_chain(30, 4, seed=4, spread=1.0)
    rng, n_draws, counts = np.random.default_rng(6), 4000, np.zeros((30, 4))
    for _ in range(n_draws):
        counts[np.arange(30), hmm.sample_path(rng, *chain, least_stay=5)[0]] += 1
    probs = hmm.smoothed_probs(*chain, least_stay=5)
    error = np.sqrt(probs * (1 - probs) / n_draws) + 1e-3
    assert (np.abs(counts / n_draws - probs) / error).max() < MAX_Z


# --- a least stay of one ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [0.1, 3.0, 1000.0])
def test_least_stay_of_one_is_the_plain_chain(spread):
    chain = make_chain(300, 5, spread=spread)
    for function in (hmm.log_likelihood, hmm.smoothed_probs):
        np.testing.assert_array_equal(function(*chain), function(*chain, least_stay=1))
    one, other = (hmm.sample_path(np.random.default_rng(1), *chain, **stay) for stay in ({}, {"least_stay": 1}))
    assert one[0].tolist() == other[0].tolist()
    assert one[1] == other[1]
    # The kernels themselves agree too, to rounding.
    assert filter_with(*chain, 1) == pytest.approx(hmm.log_likelihood(*chain), rel=1e-12)


# --- the range of doubles --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("least_stay", [2, 5])
@pytest.mark.parametrize("spread", [0.1, 60.0, 1000.0, 1e5])
@pytest.mark.parametrize("n_states", [2, 5])
def test_evidence_of_any_size_equals_the_twin(n_states, spread, least_stay):
    chain = make_chain(60, n_states, seed=n_states, spread=spread)
    expected = naive.log_stay_likelihood(*chain, least_stay)
    smoothed = hmm.smooth_series(*chain, least_stay=least_stay)
    assert smoothed.log_likelihood == pytest.approx(expected, rel=1e-12, abs=1e-9)
    np.testing.assert_allclose(smoothed.probs.sum(axis=1), 1.0)
    path, log_prob = hmm.sample_path(np.random.default_rng(0), *chain, least_stay=least_stay)
    assert log_prob <= 1e-6
    assert not has_short_stay(path, np.array([0, 60]), least_stay)


def test_a_stay_must_go_on_however_bad_it_looks():
    # Two steps of overwhelming evidence for a state that has to last four, then two against it.
    evidence = np.zeros((12, 2))
    evidence[5:7] = [-2000.0, 0.0]
    evidence[7:] = [0.0, -1500.0]
    chain = evidence, np.array([1.0, 0.0]), np.array([[0.9, 0.1], [0.1, 0.9]])
    expected = naive.log_stay_likelihood(*chain, 4)
    assert hmm.log_likelihood(*chain, least_stay=4) == pytest.approx(expected, rel=1e-12)
    expected, _ = naive.stay_marginals(*chain, 4)
    np.testing.assert_allclose(hmm.smoothed_probs(*chain, least_stay=4), expected, atol=1e-9)


@pytest.mark.parametrize("level", [0.0, -1e5, 1e5])
def test_long_series_neither_underflow_nor_lose_digits(level):
    evidence, initial, transition = make_chain(20_000, 3, spread=3.0)
    near = hmm.smooth_series(evidence, initial, transition, least_stay=3)
    far = hmm.smooth_series(evidence + level, initial, transition, least_stay=3)
    assert far.log_likelihood == pytest.approx(near.log_likelihood + 20_000 * level, rel=1e-12)
    np.testing.assert_allclose(far.probs, near.probs, atol=1e-4 if level else 0)
    assert near.log_likelihood == pytest.approx(naive.log_stay_likelihood(evidence, initial, transition, 3), rel=1e-11)


@pytest.mark.parametrize("drop", [10.0, 700.0, 1e5])
def test_largest_evidence_may_belong_to_a_state_not_in_use(drop):
    states = np.array([3, 1])
    evidence, initial, transition = make_chain(8, 4, seed=1, states=states)
    evidence[:, states] -= drop
    arguments = evidence, initial, transition
    inner = evidence[:, states], initial, transition
    found = hmm.smooth_series(*arguments, states=states, least_stay=3)
    assert found.log_likelihood == pytest.approx(naive.stay_probs(*inner, 3)[1], rel=1e-13)
    np.testing.assert_allclose(found.probs, naive.stay_marginals(*inner, 3)[0], atol=1e-9)
    path, density = hmm.most_likely_path(*arguments, states=states, least_stay=3)
    assert set(path.tolist()) <= {1, 3}
    assert density == pytest.approx(max(naive.log_stay_joint(p, *inner, 3) for p in naive.all_paths(2, 8)), rel=1e-12)


# --- impossible things -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("least_stay", [2, 3])
def test_minus_infinity_forbids_a_state(least_stay):
    evidence, initial, transition = make_chain(7, 3)
    evidence[2, :2], evidence[5, 2] = -np.inf, -np.inf
    chain = evidence, initial, transition
    expected = naive.stay_probs(*chain, least_stay)[1]
    assert hmm.log_likelihood(*chain, least_stay=least_stay) == pytest.approx(expected, abs=1e-12)
    marginals, pairs = naive.stay_marginals(*chain, least_stay)
    smoothed = hmm.smooth_series(*chain, least_stay=least_stay)
    np.testing.assert_allclose(smoothed.probs, marginals, atol=1e-12)
    np.testing.assert_allclose(smoothed.n_transitions, pairs, atol=1e-12)
    for seed in range(20):
        path = hmm.sample_path(np.random.default_rng(seed), *chain, least_stay=least_stay)[0]
        assert (path[2], path[5] == 2) == (2, False)


def test_transitions_that_never_happen():
    chain = make_chain(6, 3)[0], np.array([1.0, 0.0, 0.0]), np.array([[0.0, 1.0, 0.0], [0.0, 0.5, 0.5], [1.0, 0, 0]])
    for least_stay in (2, 3):
        expected = naive.stay_probs(*chain, least_stay)[1]
        assert hmm.log_likelihood(*chain, least_stay=least_stay) == pytest.approx(expected, abs=1e-12)
        marginals, pairs = naive.stay_marginals(*chain, least_stay)
        smoothed = hmm.smooth_series(*chain, least_stay=least_stay)
        np.testing.assert_allclose(smoothed.probs, marginals, atol=1e-12)
        np.testing.assert_allclose(smoothed.n_transitions, pairs, atol=1e-12)


def test_series_without_a_path_has_no_likelihood():
    evidence, initial, transition = make_chain(5, 3)
    evidence[2] = -np.inf
    chain = evidence, initial, transition
    assert hmm.log_likelihood(*chain, least_stay=2) == -np.inf
    for function in (hmm.smoothed_probs, hmm.most_likely_path):
        with pytest.raises(InputError, match="No path through the states is possible"):
            function(*chain, least_stay=2)
    with pytest.raises(InputError, match="No path through the states is possible"):
        hmm.sample_path(np.random.default_rng(0), *chain, least_stay=2)


@pytest.mark.parametrize(("value", "message"), [(0, "least_stay is 0, needed at least 1"), (1.5, "needed a whole")])
def test_bad_least_stay_is_named(value, message):
    with pytest.raises(InputError, match=message):
        hmm.log_likelihood(*make_chain(5, 3), least_stay=value)


# --- mending ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("least_stay", [2, 3, 4])
def test_mended_paths_keep_as_many_steps_as_any_other(least_stay):
    rng, starts = np.random.default_rng(0), np.array([0, 8])
    for _ in range(20):
        path = rng.integers(3, size=8)
        valid = [p for p in naive.all_paths(3, 8) if not has_short_stay(np.array(p), starts, least_stay)]
        mended = mend_short_stays(path, starts, least_stay)
        assert not has_short_stay(mended, starts, least_stay)
        assert set(mended) <= set(path)
        assert (mended == path).sum() == max((np.array(p) == path).sum() for p in valid)


def test_mending_leaves_good_series_alone_and_works_on_each():
    path, starts = np.array([5, 5, 7, 7, 5, 5, 7, 5, 5]), np.array([0, 4, 9])
    assert mend_short_stays(path, starts, 2).tolist() == [5, 5, 7, 7, 5, 5, 5, 5, 5]
    assert mend_short_stays(path, starts, 1).tolist() == path.tolist()


# --- compiled and not ------------------------------------------------------------------------------------------------


def test_compiled_and_interpreted_agree(interpret):
    evidence, initial, transition = make_chain(40, 4, spread=30.0)
    evidence[3, 1] = -np.inf
    chain = evidence, initial, transition

    def results():
        path, log_prob = hmm.sample_path(np.random.default_rng(2), *chain, least_stay=3)
        smoothed = hmm.smooth_series(*chain, least_stay=3)
        return [path, log_prob, *smoothed, *hmm.most_likely_path(*chain, least_stay=3)]

    compiled = results()
    interpret(kernels)
    with np.errstate(invalid="ignore"):
        interpreted = results()
    for one, other in zip(compiled, interpreted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
