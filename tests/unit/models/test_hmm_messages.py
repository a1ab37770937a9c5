"""Messages of a hidden Markov model against slow twins in logarithms and the enumeration of all paths."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import naive_hmm as naive
from homothety.errors import InputError
from homothety.models import hmm
from homothety.models.hmm import _kernels

MAX_Z = 4.5  # standard errors a frequency may be off; a few dozen are compared at a time


def make_chain(n_steps, n_states, seed=0, spread=2.0, states=None, stickiness=1.0):
    """Evidence (n_steps, n_states), initial and transition probabilities of the states in use."""
    rng = np.random.default_rng(seed)
    n_active = n_states if states is None else len(states)
    evidence = rng.normal(scale=spread, size=(n_steps, n_states))
    transition = rng.dirichlet(np.ones(n_active), size=n_active) + stickiness * np.eye(n_active)
    return evidence, rng.dirichlet(np.ones(n_active)), transition / transition.sum(axis=1, keepdims=True)


def inactive_wins(n_steps=6, drop=1e3, seed=1):
    """Evidence whose largest entry of every step belongs to a state that is not in use."""
    states = np.array([3, 1])
    evidence, initial, transition = make_chain(n_steps, 4, seed=seed, states=states)
    evidence[:, states] -= drop
    return evidence, initial, transition, states


SIZES = [(1, 1), (1, 3), (5, 1), (2, 2), (6, 2), (5, 3), (4, 4), (3, 5), (3, 7)]


# --- against every path ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_steps", "n_states"), SIZES)
def test_likelihood_and_marginals_equal_enumeration(n_steps, n_states):
    chain = make_chain(n_steps, n_states)
    smoothed = hmm.smooth_series(*chain)
    marginals, pairs = naive.enumerated_marginals(*chain)
    assert hmm.log_likelihood(*chain) == pytest.approx(naive.enumerated_log_likelihood(*chain), abs=1e-12)
    assert smoothed.log_likelihood == hmm.log_likelihood(*chain)
    np.testing.assert_allclose(smoothed.probs, marginals, atol=1e-13)
    np.testing.assert_allclose(smoothed.n_transitions, pairs, atol=1e-13)


@pytest.mark.parametrize(("n_steps", "n_states"), SIZES)
def test_path_densities_give_a_likelihood_and_probabilities_that_sum_to_one(n_steps, n_states):
    evidence, initial, transition = make_chain(n_steps, n_states)
    positions, chain = np.empty(n_states, dtype=np.int64), _kernels.Chain(np.arange(n_states), initial, transition)
    logs = []
    for path in naive.all_paths(n_states, n_steps):
        found = _kernels.log_path_density(np.array(path), evidence, chain, positions)
        assert found == pytest.approx(naive.log_joint(path, evidence, initial, transition), abs=1e-12)
        logs.append(found)
    assert np.exp(np.array(logs) - hmm.log_likelihood(evidence, initial, transition)).sum() == pytest.approx(1.0)


@pytest.mark.parametrize(("n_steps", "n_states"), SIZES)
def test_viterbi_finds_the_best_path(n_steps, n_states):
    chain = make_chain(n_steps, n_states, seed=3)
    path, log_density = hmm.most_likely_path(*chain)
    best = max(naive.all_paths(n_states, n_steps), key=lambda p: naive.log_joint(p, *chain))
    assert tuple(path.tolist()) == best
    assert log_density == pytest.approx(naive.log_joint(best, *chain), abs=1e-12)


def test_viterbi_breaks_ties_by_the_first_state():
    path, _ = hmm.most_likely_path(np.zeros((5, 3)), np.full(3, 1 / 3), np.full((3, 3), 1 / 3), states=[2, 0, 1])
    assert path.tolist() == [2] * 5


# --- longer series against twins in logarithms -----------------------------------------------------------------------


@pytest.mark.parametrize("n_states", [1, 2, 3, 4, 5, 8, 11, 17])
@pytest.mark.parametrize("spread", [0.1, 3.0, 60.0, 1000.0])
def test_messages_equal_their_twins(n_states, spread):
    chain = make_chain(60, n_states, seed=n_states, spread=spread)
    smoothed = hmm.smooth_series(*chain)
    probs, pairs = naive.smoothed(*chain)
    assert smoothed.log_likelihood == pytest.approx(naive.log_likelihood(*chain), rel=1e-12)
    np.testing.assert_allclose(smoothed.probs, probs, atol=1e-10)
    np.testing.assert_allclose(smoothed.n_transitions, pairs, atol=1e-9)
    path, log_density = hmm.most_likely_path(*chain)
    expected = naive.viterbi(*chain)
    assert (path.tolist(), log_density) == (expected[0], pytest.approx(expected[1], rel=1e-12))


def test_draws_equal_their_twin_draw_for_draw():
    evidence, initial, transition = make_chain(200, 6, states=np.array([4, 0, 5, 2]))
    states = np.array([4, 0, 5, 2])
    filtered = naive.filtered_probs(evidence[:, states], initial, transition)
    for seed in range(20):
        path, log_prob = hmm.sample_path(np.random.default_rng(seed), evidence, initial, transition, states=states)
        uniforms = np.random.default_rng(seed).random(200)
        assert path.tolist() == naive.draw_path(uniforms, filtered, transition, states).tolist()
        position = [states.tolist().index(k) for k in path]
        expected = naive.log_joint(position, evidence[:, states], initial, transition)
        expected -= naive.log_likelihood(evidence[:, states], initial, transition)
        assert log_prob == pytest.approx(expected, abs=1e-9)


def test_compiled_and_interpreted_agree(interpret):
    evidence, initial, transition, states = inactive_wins()
    chains = [((evidence, initial, transition), {"states": states}), (make_chain(300, 5), {})]

    def results():
        found = []
        for chain, settings in chains:
            path, log_prob = hmm.sample_path(np.random.default_rng(2), *chain, **settings)
            smoothed = hmm.smooth_series(*chain, **settings)
            found += [path, log_prob, smoothed.probs, smoothed.n_transitions, smoothed.log_likelihood]
            found += list(hmm.most_likely_path(*chain, **settings))
        return found

    compiled = results()
    interpret(_kernels)
    for one, other in zip(compiled, results(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_two_rows_give_the_same_likelihood_as_all():
    evidence, initial, transition = make_chain(501, 5, spread=30.0)
    arguments = _kernels.scaled(evidence), _kernels.Chain(np.arange(5), initial, transition)
    kept, two, three = np.empty((501, 5)), np.empty((2, 5)), np.empty((3, 5))
    found = {_kernels.filter_forward(*arguments, rows) for rows in (kept, two, three)}
    assert len(found) == 1
    np.testing.assert_array_equal(kept[500], two[0])


@pytest.mark.parametrize("spread", [1.0, 30.0, 3000.0])
@pytest.mark.parametrize("n_states", [1, 2, 5])
def test_a_sticky_chain_is_filtered_like_any_other(n_states, spread):
    evidence, initial, _ = make_chain(301, 5, spread=spread)
    initial = initial[:n_states] / initial[:n_states].sum()
    transition = np.full((n_states, n_states), 0.1) + np.eye(n_states) * (1 - 0.1 * n_states)
    arguments = _kernels.scaled(evidence), _kernels.Chain(np.arange(n_states), initial, transition)
    quick, slow = np.empty((301, n_states)), np.empty((301, n_states))
    assert _kernels.filter_sticky(*arguments, quick) == pytest.approx(_kernels.filter_forward(*arguments, slow))
    np.testing.assert_allclose(quick / quick.sum(axis=1)[:, None], slow / slow.sum(axis=1)[:, None], atol=1e-12)


def test_scaled_evidence_is_a_share_of_the_largest():
    evidence = np.array([[-1e5, -1e5 - 1], [0.0, -np.inf], [-np.inf, -np.inf], [700.0, 0.0]])
    _, offsets, likelihood = _kernels.scaled(evidence)
    np.testing.assert_array_equal(offsets, [-1e5, 0.0, 0.0, 700.0])
    np.testing.assert_allclose(likelihood, [[1, np.exp(-1)], [1, 0], [0, 0], [1, 0]], atol=1e-300)


# --- the range of doubles --------------------------------------------------------------------------------------------


def test_long_series_neither_underflow_nor_overflow():
    chain = make_chain(100_000, 3, spread=3.0)
    smoothed = hmm.smooth_series(*chain)
    probs, pairs = naive.smoothed(*chain)
    assert smoothed.log_likelihood == pytest.approx(naive.log_likelihood(*chain), rel=1e-12)
    np.testing.assert_allclose(smoothed.probs, probs, atol=1e-7)
    np.testing.assert_allclose(smoothed.n_transitions, pairs, rtol=1e-7)


@pytest.mark.parametrize("level", [-1e5, 1e5])
def test_level_of_the_evidence_only_shifts_the_likelihood(level):
    n_steps = 100_000
    evidence, initial, transition = make_chain(n_steps, 3, spread=3.0)
    near = hmm.smooth_series(evidence, initial, transition)
    far = hmm.smooth_series(evidence + level, initial, transition)
    assert far.log_likelihood == pytest.approx(near.log_likelihood + n_steps * level, rel=1e-12)
    np.testing.assert_allclose(far.probs, near.probs, atol=1e-8)
    path, log_prob = hmm.sample_path(np.random.default_rng(0), evidence + level, initial, transition)
    assert np.isfinite(log_prob)
    assert log_prob < 0
    assert set(path.tolist()) == {0, 1, 2}


@pytest.mark.parametrize("drop", [10.0, 200.0, 400.0, 700.0, 1e3, 1e5])
@pytest.mark.parametrize("where", ["everywhere", "first", "last", "inside"])
def test_largest_evidence_may_belong_to_a_state_not_in_use(drop, where):
    evidence, initial, transition, states = inactive_wins(drop=0.0)
    steps = {"everywhere": slice(None), "first": slice(0, 1), "last": slice(5, 6), "inside": slice(2, 4)}[where]
    evidence[steps, 1] -= drop
    evidence[steps, 3] -= drop
    inner = evidence[:, states]
    expected = naive.enumerated_log_likelihood(inner, initial, transition)
    smoothed = hmm.smooth_series(evidence, initial, transition, states=states)
    assert smoothed.log_likelihood == pytest.approx(expected, rel=1e-13, abs=1e-11)
    np.testing.assert_allclose(smoothed.probs, naive.enumerated_marginals(inner, initial, transition)[0], atol=1e-9)


def test_state_that_can_hardly_be_reached_is_believed_when_the_rest_is_impossible():
    evidence = np.array([[0.0, -5.0], [-1e4, -3.0], [0.0, -1e4]])
    chain = evidence, np.array([1.0, 0.0]), np.array([[1.0, 1e-200], [0.5, 0.5]])
    assert hmm.log_likelihood(*chain) == pytest.approx(naive.enumerated_log_likelihood(*chain), rel=1e-12)
    path, log_prob = hmm.sample_path(np.random.default_rng(0), *chain)
    assert path.tolist() == [0, 1, 0]
    assert log_prob == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(hmm.smoothed_probs(*chain), [[1, 0], [0, 1], [1, 0]], atol=1e-12)


def test_smoothing_survives_predictions_too_small_to_divide_by():
    evidence = np.array([[0.0, -np.inf], [-np.inf, 0.0], [0.0, -np.inf]])
    chain = evidence, np.array([1.0, 0.0]), np.array([[1.0, 1e-310], [0.5, 0.5]])
    np.testing.assert_allclose(hmm.smoothed_probs(*chain), [[1, 0], [0, 1], [1, 0]], atol=1e-12)


def test_rare_transitions_do_not_underflow_in_a_path():
    n_steps = 1000
    transition = np.array([[1.0, 1e-250], [1e-250, 1.0]])
    path, positions = np.arange(n_steps) % 2, np.empty(2, dtype=np.int64)
    arguments = np.zeros((n_steps, 2)), _kernels.Chain(np.arange(2), np.array([0.5, 0.5]), transition)
    expected = np.log(0.5) + (n_steps - 1) * np.log(1e-250)
    assert _kernels.log_path_density(path, *arguments, positions) == pytest.approx(expected, rel=1e-13)


# --- impossible things -----------------------------------------------------------------------------------------------


def test_minus_infinity_forbids_a_state():
    evidence, initial, transition = make_chain(5, 3)
    evidence[2, :2] = -np.inf
    chain = evidence, initial, transition
    assert hmm.log_likelihood(*chain) == pytest.approx(naive.enumerated_log_likelihood(*chain), abs=1e-12)
    for seed in range(20):
        assert hmm.sample_path(np.random.default_rng(seed), *chain)[0][2] == 2
    assert hmm.most_likely_path(*chain)[0][2] == 2


@pytest.mark.parametrize("t", [0, 2, 4])
@pytest.mark.parametrize("states", [None, [1, 2]])
def test_series_without_a_path_has_no_likelihood(t, states):
    evidence, initial, transition = make_chain(5, 3, states=states)
    evidence[t, 1:] = -np.inf
    evidence[t, 0] = -np.inf if states is None else 5.0
    chain = evidence, initial, transition
    assert hmm.log_likelihood(*chain, states=states) == -np.inf
    for function in (hmm.smoothed_probs, hmm.most_likely_path):
        with pytest.raises(InputError, match="No path through the states is possible"):
            function(*chain, states=states)
    with pytest.raises(InputError, match="No path through the states is possible"):
        hmm.sample_path(np.random.default_rng(0), *chain, states=states)


def test_path_through_a_state_not_in_use_is_impossible():
    evidence, initial, transition, states = inactive_wins()
    positions = np.empty(4, dtype=np.int64)
    arguments = evidence, _kernels.Chain(states, initial, transition), positions
    assert _kernels.log_path_density(np.array([1, 3, 1, 0, 1, 1]), *arguments) == -np.inf
    assert np.isfinite(_kernels.log_path_density(np.array([1, 3, 1, 3, 1, 1]), *arguments))


BAD_INPUT = [
    ({"log_evidence": [0.0, 1.0]}, r"log_evidence has shape \(2,\)"),
    ({"log_evidence": [[0.0, np.nan]]}, r"log_evidence\[0, 1\] is nan"),
    ({"log_evidence": [[0.0, np.inf]]}, r"log_evidence\[0, 1\] is inf"),
    ({"initial": [1.0]}, r"initial has shape \(1,\), needed \(2,\)"),
    ({"initial": [0.7, 0.7]}, "initial has a smallest entry of 0.7 and sums off one by up to 0.4"),
    ({"transition": np.eye(3)}, r"transition has shape \(3, 3\)"),
    ({"transition": [[1.5, -0.5], [0.5, 0.5]]}, "transition has a smallest entry of -0.5"),
    ({"transition": [[np.nan, 1.0], [0.5, 0.5]]}, "transition has a smallest entry of nan"),
    ({"states": [0, 0]}, r"states is \[0, 0\], needed distinct numbers from 0 to 1"),
    ({"states": [0, 2]}, r"states is \[0, 2\], needed distinct numbers from 0 to 1"),
    ({"states": []}, r"states has shape \(0,\)"),
]


@pytest.mark.parametrize(("change", "message"), BAD_INPUT, ids=[message for _, message in BAD_INPUT])
def test_bad_input_is_named(change, message):
    good = {"log_evidence": np.zeros((4, 2)), "initial": [0.5, 0.5], "transition": np.eye(2)}
    with pytest.raises(InputError, match=message):
        hmm.log_likelihood(**(good | change))


# --- frequencies of draws --------------------------------------------------------------------------------------------

N_DRAWS = 20_000


def largest_z(draw, chain, states):
    """Largest difference between frequencies of paths and their probabilities, by the largest standard error."""
    evidence, initial, transition = chain
    rng = np.random.default_rng(5)
    counts = Counter(tuple(draw(rng, evidence, initial, transition, states)) for _ in range(N_DRAWS))
    exact = naive.path_probs(evidence[:, states], initial, transition)
    probs = np.array(list(exact.values()))
    found = np.array([counts[tuple(int(states[k]) for k in path)] for path in exact])
    return float(np.abs(found / N_DRAWS - probs).max() / np.sqrt((probs * (1 - probs) / N_DRAWS).max()))


def library_draw(rng, evidence, initial, transition, states):
    return hmm.sample_path(rng, evidence, initial, transition, states=states)[0].tolist()


def draw_by_wrong_direction(rng, evidence, initial, transition, states):
    """Looks back through the row of the next state in place of its column."""
    filtered = naive.filtered_probs(evidence[:, states], initial, transition)
    return naive.draw_path(rng.random(len(evidence)), filtered, transition.T, states).tolist()


def draw_each_step_alone(rng, evidence, initial, transition, states):
    """Draws from smoothed probabilities, each step for itself."""
    probs = hmm.smoothed_probs(evidence, initial, transition, states=states)
    return [int(states[rng.choice(len(states), p=row)]) for row in probs]


SMALL = [((4, 2), [0, 1]), ((3, 3), [0, 1, 2]), ((3, 4), [3, 1])]


@pytest.mark.parametrize(("size", "states"), SMALL, ids=str)
def test_paths_are_drawn_as_often_as_they_are_probable(size, states):
    assert largest_z(library_draw, make_chain(*size, states=states, seed=2, spread=1.0), states) < MAX_Z


def test_paths_are_drawn_right_where_a_state_not_in_use_wins():
    evidence, initial, transition, states = inactive_wins(n_steps=4)
    assert largest_z(library_draw, (evidence, initial, transition), states) < MAX_Z


@pytest.mark.parametrize("draw", [draw_by_wrong_direction, draw_each_step_alone])
def test_broken_draw_is_caught(draw):
    chain = make_chain(4, 2, seed=2, spread=1.0)
    assert largest_z(draw, chain, [0, 1]) > 2 * MAX_Z


def test_frequencies_of_states_are_smoothed_probabilities():
    chain = make_chain(30, 4, seed=4, spread=1.0)
    rng, n_draws, counts = np.random.default_rng(6), 4000, np.zeros((30, 4))
    for _ in range(n_draws):
        counts[np.arange(30), hmm.sample_path(rng, *chain)[0]] += 1
    probs = hmm.smoothed_probs(*chain)
    error = np.sqrt(probs * (1 - probs) / n_draws) + 1e-3
    assert (np.abs(counts / n_draws - probs) / error).max() < MAX_Z


# --- likelihoods with a fault, which the same comparison must catch --------------------------------------------------


def largest_error(log_likelihood):
    """Largest error over a case where every state is in use and one where the best are not."""
    evidence, initial, transition, states = inactive_wins()
    cases = [(evidence, states, initial, transition)]
    evidence, initial, transition = make_chain(5, 3)
    cases.append((evidence, np.arange(3), initial, transition))
    exact = [naive.enumerated_log_likelihood(case[0][:, case[1]], *case[2:]) for case in cases]
    return max(abs(log_likelihood(*case) - value) for case, value in zip(cases, exact, strict=True))


def test_likelihoods_are_exact():
    def library(evidence, states, initial, transition):
        return hmm.log_likelihood(evidence, initial, transition, states=states)

    assert largest_error(library) < 1e-9
    assert largest_error(naive.scaled_filter) < 1e-9


@pytest.mark.parametrize("fault", naive.FAULTS)
def test_broken_likelihood_is_caught(fault):
    def broken(*case):
        return naive.scaled_filter(*case, fault=fault)

    assert not largest_error(broken) < 1e-2
