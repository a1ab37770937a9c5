"""Chains that do not agree get weights by how well they predict."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from homothety.sampling.diagnostics import draws_by_weight, leave_one_out, stacking_weights, thinned
from homothety.sampling.trace import Trace


def objective(weights, log_densities):
    """Log density of all observations under the mixture, with the prior."""
    n_chains = log_densities.shape[1]
    fit = logsumexp(np.log(weights) + log_densities, axis=1).sum()
    return fit + np.log(weights).sum() / n_chains


@pytest.mark.parametrize("seed", range(4))
def test_weights_of_two_chains_are_the_best_of_a_grid(seed):
    log_densities = np.random.default_rng(seed).normal([0.0, 0.3], 1.0, (30, 2))
    grid = np.linspace(1e-4, 1 - 1e-4, 20_001)
    best = grid[np.argmax([objective(np.array([one, 1 - one]), log_densities) for one in grid])]
    assert stacking_weights(log_densities)[0] == pytest.approx(best, abs=1e-4)


def test_a_chain_that_predicts_worse_everywhere_has_no_weight():
    good = np.random.default_rng(0).normal(size=200)
    weights = stacking_weights(np.column_stack([good, good - 3.0, good]))
    assert weights[1] < 0.01
    np.testing.assert_allclose(weights[[0, 2]], (1 - weights[1]) / 2)


def test_equal_chains_share_their_weight():
    column = np.random.default_rng(0).normal(size=50)
    np.testing.assert_allclose(stacking_weights(np.column_stack([column] * 4)), 0.25, atol=1e-12)


def test_chains_that_predict_different_parts_both_have_weight():
    first = np.where(np.arange(100) < 70, 0.0, -50.0)
    weights = stacking_weights(np.column_stack([first, -50.0 - first]))
    np.testing.assert_allclose(weights, [0.7, 0.3], atol=0.01)


def test_chains_of_equal_sums_but_other_patterns_need_not_have_equal_weights():
    weights = stacking_weights(np.array([[0.0, -1.5], [0.0, -1.5], [0.0, -1.5], [-6.0, -1.5]]))
    assert weights.sum() == pytest.approx(1.0)
    assert abs(weights[0] - weights[1]) > 0.05


def test_impossible_observations_count_where_a_chain_can_explain_them():
    log_densities = np.random.default_rng(2).normal(size=(40, 3))
    expected = stacking_weights(log_densities)
    nowhere = np.vstack([log_densities, np.full((5, 3), -np.inf)])
    np.testing.assert_array_equal(stacking_weights(nowhere), expected)
    np.testing.assert_allclose(stacking_weights(nowhere[40:]), 1 / 3)
    in_one = np.vstack([log_densities, np.tile([-np.inf, 0.0, -np.inf], (40, 1))])
    assert stacking_weights(in_one)[1] > expected[1] + 0.1


def test_observations_impossible_under_a_draw_have_no_density():
    log_densities = np.random.default_rng(2).normal(size=(30, 4))
    expected = leave_one_out(log_densities)
    log_densities[3, 1] = log_densities[:, 2] = -np.inf
    np.testing.assert_array_equal(leave_one_out(log_densities)[[0, 3]], expected[[0, 3]])
    assert (leave_one_out(log_densities)[[1, 2]] == -np.inf).all()


def test_the_order_of_chains_does_not_matter():
    log_densities = np.random.default_rng(1).normal(size=(80, 5))
    order = np.array([3, 0, 4, 1, 2])
    expected = stacking_weights(log_densities)[order]
    np.testing.assert_allclose(stacking_weights(log_densities[:, order]), expected, atol=1e-9)


def test_left_out_densities_are_those_of_a_gaussian_with_the_others():
    # Mean unknown, flat prior: given the others, an observation is Gaussian about their mean with variance 1 + 1/(n-1).
    rng, n = np.random.default_rng(0), 30
    y = rng.normal(size=n)
    means = rng.normal(y.mean(), np.sqrt(1 / n), 4000)
    found = leave_one_out(-0.5 * (y - means[:, None]) ** 2 - 0.5 * np.log(2 * np.pi))
    others, variance = (y.sum() - y) / (n - 1), 1 + 1 / (n - 1)
    expected = -0.5 * (y - others) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)
    np.testing.assert_allclose(found, expected, atol=0.03)
    assert found.sum() < (-0.5 * (y - y.mean()) ** 2 - 0.5 * np.log(2 * np.pi)).sum()  # which has seen each of them


def test_one_draw_with_a_small_density_counts_less_than_in_the_harmonic_mean():
    log_densities = np.array([[-1.0]] * 15 + [[-9.0]])
    harmonic = np.log(16) - logsumexp(-log_densities)
    assert harmonic + 1 < leave_one_out(log_densities)[0] < -1.0


@pytest.mark.parametrize(
    ("weights", "n_kept", "counts"),
    [
        ([0.25] * 4, [100] * 4, [100] * 4),
        ([0.7, 0.3, 0.0, 0.0], [100] * 4, [100, 43, 0, 0]),
        ([0.999, 0.001], [100, 100], [100, 0]),
        ([0.5, 0.5], [100, 20], [20, 20]),
    ],
)
def test_chains_contribute_draws_in_proportion_to_their_weights(weights, n_kept, counts):
    chosen = draws_by_weight(np.array(weights), n_kept)
    assert [len(one) for one in chosen] == counts
    for one, n in zip(chosen, n_kept, strict=True):
        assert len(set(one.tolist())) == len(one)
        if len(one) > 1:
            assert np.ptp(np.diff(one)) <= 1
            assert 0 <= one[0] < one[-1] < n


def test_draws_are_thinned_evenly():
    assert thinned(100, 4).tolist() == [12, 37, 62, 87]
    assert thinned(3, 10).tolist() == [0, 1, 2]
    assert thinned(0, 10).tolist() == []


def test_a_trace_gives_away_some_of_its_draws():
    trace = Trace({"log_joint": [1.0, 2.0, 3.0, 4.0]}, kept=["b", "c", "d"])
    taken = trace.taken(np.array([0, 2]))
    assert (taken.scalars, taken.kept) == ({"log_joint": [2.0, 4.0]}, ["b", "d"])
