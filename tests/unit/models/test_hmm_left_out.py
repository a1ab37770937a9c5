"""The density of a look given all others of its recording, against sums over all paths."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import logsumexp

from homothety.models.emissions import Emission
from homothety.models.hmm.states import _draw_log_transitions, _left_out_densities, log_left_out
from homothety.sampling.diagnostics import leave_one_out


def log_total(evidence, log_initial, log_transition):
    """Log density of a series, by enumeration of all paths."""
    n_steps, n_states = evidence.shape
    paths = [
        log_initial[path[0]]
        + sum(evidence[t, k] for t, k in enumerate(path))
        + sum(log_transition[a, b] for a, b in pairwise(path))
        for path in product(range(n_states), repeat=n_steps)
    ]
    return logsumexp(paths)


@pytest.mark.parametrize("scale", [1.0, 800.0])  # with the second, probabilities would underflow
def test_densities_are_those_of_all_paths(scale):
    rng = np.random.default_rng(0)
    evidence, starts = scale * rng.normal(size=(9, 3)), np.array([0, 5, 9])
    log_initial = np.log(rng.dirichlet(np.ones(3)))
    log_transition = np.log(rng.dirichlet(np.ones(3), 3))
    found = _left_out_densities(evidence, starts, log_initial, log_transition)
    for start, stop in ((0, 5), (5, 9)):
        for t in range(start, stop):
            without = evidence.copy()
            without[t] = 0.0  # says nothing of the state
            given = (log_total(each[start:stop], log_initial, log_transition) for each in (evidence, without))
            assert found[t] == pytest.approx(next(given) - next(given), rel=1e-9)


def test_transitions_are_drawn_given_their_counts():
    rng, path = np.random.default_rng(0), np.array([0, 0, 0, 0, 1, 0, 0, 1])
    drawn = [_draw_log_transitions(rng, path, np.array([0, 5, 8]), 2) for _ in range(4000)]
    np.testing.assert_allclose(np.exp([one for one, _ in drawn]).mean(axis=0), [2.5 / 3, 0.5 / 3], atol=0.01)
    expected = [[4.5 / 7, 2.5 / 7], [0.5, 0.5]]
    np.testing.assert_allclose(np.exp([one for _, one in drawn]).mean(axis=0), expected, atol=0.02)


def two_states(rng, n=60):
    path = np.repeat([0, 1, 0, 1], n // 4)
    return path, rng.normal(np.array([-4.0, 4.0])[path][:, None], 1.0, (n, 1))


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_the_right_path_predicts_better_than_one_state_or_too_many(weight):
    rng = np.random.default_rng(0)
    path, steps = two_states(rng)
    emission = Emission.gaussian(np.zeros(1), 0.1, np.eye(1), 3.0)
    emission = type(emission)(
        emission.coefficients, emission.precision, emission.scale, emission.dof, emission.order, weight=weight
    )
    z, starts = emission.augment_steps(steps), np.array([0, len(steps)])

    def total(labels):
        return leave_one_out(np.array([log_left_out(rng, emission, z, starts, labels) for _ in range(100)])).sum()

    right = total(path)
    assert right > total(np.zeros_like(path)) + 5 * weight
    assert right > total(np.arange(len(path)) // 3) + 2 * weight


def test_numbers_of_states_do_not_matter():
    path, steps = two_states(np.random.default_rng(0))
    emission = Emission.gaussian(np.zeros(1), 0.1, np.eye(1), 3.0)
    z, starts = emission.augment_steps(steps), np.array([0, len(steps)])
    first, second = (log_left_out(np.random.default_rng(1), emission, z, starts, one) for one in (path, 7 + 5 * path))
    np.testing.assert_array_equal(first, second)
