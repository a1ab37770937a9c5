"""Intervals of changes and probabilities of states are right as often as they say, on series drawn from the model.

Paths are drawn step by step, and only every `STRIDE`-th step is looked at. States are known in the first test, so that
draws are exact; in the second they are found by `IBPHMM`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from homothety import IBPHMM
from homothety.models.hmm.messages import sample_path
from homothety.preprocessing import Preprocessing
from homothety.summaries.paths import (
    boundary_intervals,
    colabelling,
    minimise_expected_vi_paths,
    state_probability,
)

STRIDE, N_LOOKS, N_DRAWS, N_STATES = 7, 60, 200, 3
N_STEPS = STRIDE * (N_LOOKS - 1) + 1
LEAVING = 0.01  # probability to change at a step
LEAST_SHARE = 0.95  # of draws with a change, for its interval to be read
MAX_Z = 4.0


def draw_series(rng, n_dims, apart):
    """A path over all steps, and noisy observations of its states at all steps."""
    is_change = rng.random(N_STEPS) < LEAVING
    path = np.cumsum(np.where(is_change, rng.integers(1, N_STATES, size=N_STEPS), 0)) % N_STATES
    means = apart * np.eye(N_STATES, n_dims)
    return path, means, means[path] + rng.standard_normal((N_STEPS, n_dims))


def changes_held(point, intervals, path):
    """Whether intervals that are to be read hold the true change between the changes reported before and after."""
    reported = [0, *(np.flatnonzero(np.diff(point)) + 1).tolist(), len(path)]
    held = []
    for number, one in enumerate(intervals, start=1):
        true = np.flatnonzero(np.diff(path)) + 1
        inside = true[(true > reported[number - 1]) & (true < reported[number + 1])]
        if one.share >= LEAST_SHARE and len(inside):
            nearest = inside[np.abs(inside - one.step).argmin()]
            held.append(one.low <= nearest <= one.high)
    return held


def claims_and_truth(seed):
    """Held changes, probabilities of steps and of pairs of steps, and whether these are true, for exact draws."""
    rng = np.random.default_rng(seed)
    path, means, steps = draw_series(rng, n_dims=3, apart=2.5)
    evidence = -0.5 * ((steps[::STRIDE, None] - means) ** 2).sum(axis=2)
    step_transition = (1 - LEAVING) * np.eye(N_STATES) + LEAVING / (N_STATES - 1) * (1 - np.eye(N_STATES))
    transition = np.linalg.matrix_power(step_transition, STRIDE)
    expand = Preprocessing(subsample=STRIDE).fit([steps]).expand
    looks = [sample_path(rng, evidence, np.eye(N_STATES)[path[0]], transition)[0] for _ in range(N_DRAWS)]
    draws, point = [expand(one, N_STEPS) for one in looks], expand(minimise_expected_vi_paths(looks), N_STEPS)
    found = boundary_intervals(point, draws, [0, N_STEPS], stride=STRIDE)
    pairs = rng.integers(N_STEPS, size=(2, 40))
    # The point has no names of states: each is given that of the true state with most of its steps.
    names = np.array([np.bincount(path[point == k]).argmax() for k in range(point.max() + 1)])
    return (
        changes_held(point, found, path),
        (state_probability(point, draws, [0, N_STEPS], STRIDE), names[point] == path),
        (colabelling(draws, *pairs, [0, N_STEPS], STRIDE).ravel(), (path[pairs[0]][:, None] == path[pairs[1]]).ravel()),
    )


@pytest.mark.slow
def test_exact_draws_give_calibrated_numbers():
    n_sets = 300
    held, *claims = zip(*(claims_and_truth(seed) for seed in range(n_sets)), strict=True)
    held = np.concatenate(held)
    assert len(held) > 500
    assert 0.88 < held.mean() < 0.97  # whole steps: an interval holds 90 % or a little more
    for kind in claims:
        error = np.array(
            [[(true[in_bin] - claimed[in_bin]).sum() for in_bin in bins_of(claimed)] for claimed, true in kind]
        )
        count = np.array([[in_bin.sum() for in_bin in bins_of(claimed)] for claimed, _ in kind]).sum(axis=0)
        # Steps of one set are not independent, sets are.
        spread = np.sqrt(n_sets) * error.std(axis=0)
        assert (np.abs(error.sum(axis=0)) < MAX_Z * spread + 0.005 * count).all()


def bins_of(claimed):
    """Which claims are in each range of probabilities."""
    edges = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.01]
    return [(claimed >= low) & (claimed < high) for low, high in pairwise(edges)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::homothety.errors.ConvergenceWarning")
def test_intervals_of_a_fit_hold_true_changes():
    held = []
    for seed in range(40):
        path, _, steps = draw_series(np.random.default_rng(seed), n_dims=2, apart=4.0)
        model = IBPHMM(
            preprocessing=Preprocessing(subsample=STRIDE), step_weight=1.0, n_chains=2, n_sweeps=120, random_state=seed
        ).fit([steps])
        held += changes_held(model.paths_[0], model.boundaries_, path)
    assert len(held) > 80
    assert 0.8 < np.mean(held) < 0.99
