"""Compiled trials of splits, merges, halves, joins and swaps against their twin in Python, draw for draw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import naive_ibphmm as naive
import naive_splits
import naive_swaps
from homothety.models.emissions import Emission
from homothety.models.ibphmm import Model, _blocks, _trial_kernels, init_state, split_merge
from homothety.sequences import check_sequences

TINY = {
    "gaussian": replace(naive.GAUSSIAN, n_steps=6),
    "autoregressive": replace(naive.AUTOREGRESSIVE, n_steps=6),
    "blocks": naive.BlockWorld(n_steps=6),
    "weighted": replace(naive.GAUSSIAN, n_steps=6, weight=0.3),
    "least stay": replace(naive.GAUSSIAN, n_steps=7, least_stay=3),
    "leaving": replace(naive.GAUSSIAN, n_steps=6, leaving=0.3, least_stay=2),
    "leaving drawn": replace(naive.GAUSSIAN, n_steps=6, leaving=0.3, leaving_range=(0.05, 0.5)),
}
MOVES = {
    "splits and merges": (split_merge.split_or_merge, naive_splits.split_or_merge),
    "halves and joins": (split_merge.halve_or_join, naive_splits.halve_or_join),
    "swaps": (split_merge.swap_states, naive_swaps.swap_states),
}


def make_long(*, diagonal=False):
    """A model of longer series in three dimensions, and a state of five features."""
    rng = np.random.default_rng(0)
    labels = [np.repeat(rng.integers(5, size=n // 5), 5) for n in (60, 45, 80, 30)]
    means = 2.0 * rng.normal(size=(5, 3))
    series = [means[path] + rng.normal(size=(len(path), 3)) for path in labels]
    emission = Emission.gaussian(np.zeros(3), 0.1, np.eye(3), 5.0, diagonal=diagonal)
    model = Model.from_sequences(check_sequences(series), emission)
    return model, init_state(rng, model, path=np.concatenate(labels), mass=2.0)


def assert_same_trials(name, model, state, seed):
    """Make a move in both ways; return how many trials were accepted."""
    move, twin = MOVES[name]
    generators = np.random.default_rng(seed), np.random.default_rng(seed)
    (found, info), (expected, expected_info) = move(generators[0], model, state), twin(generators[1], model, state)
    assert info == expected_info
    assert found.next_id == expected.next_id
    for part in ("active", "ids", "path"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))
    assert generators[0].random() == generators[1].random()
    assert found.weights is None
    assert found.whiteners is None
    return info.n_accepted


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("world", TINY)
def test_trials_equal_their_twin(world, name):
    rng, n_accepted = np.random.default_rng(1), 0
    for seed in range(40):
        model, state = naive.draw_world(rng, TINY[world])
        n_accepted += assert_same_trials(name, model, state, seed)
    assert n_accepted > 5


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("diagonal", [False, True])
def test_trials_on_longer_series_equal_their_twin(diagonal, name):
    model, state = make_long(diagonal=diagonal)
    model = replace(model, proposals=replace(model.proposals, n_split_merge=10, n_halving=10))
    for seed in range(20):
        assert_same_trials(name, model, state, seed)


@pytest.mark.parametrize("name", MOVES)
def test_trials_in_blocks_equal_their_twin(name, monkeypatch):
    monkeypatch.setattr(_blocks, "MANY_STEPS", 1)
    monkeypatch.setattr(_blocks, "_STEPS_TOGETHER", 1)
    rng = np.random.default_rng(2)
    for seed in range(20):
        model, state = naive.draw_world(rng, naive.World(6, 2, mass=1.0, concentration=1.0, alpha=0.8, kappa=1.5))
        assert len(model.blocks) > 1
        assert_same_trials(name, model, state, seed)


def test_swaps_whose_ratio_is_no_number_are_refused():
    model, state = make_long()
    model = replace(model, proposals=replace(model.proposals, n_swaps=50))
    assert assert_same_trials("swaps", model, replace(state, concentration=np.nan), 1) == 0


def test_a_single_series_is_halved_but_not_split():
    rng = np.random.default_rng(3)
    model, state = naive.draw_world(rng, replace(naive.GAUSSIAN, n_recordings=1, n_steps=8))
    assert split_merge.split_or_merge(rng, model, state)[1].n_tried == 0
    assert split_merge.halve_or_join(rng, model, state)[1].n_tried > 0


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("n_dims", [1, 2, 4])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 50])
def test_second_half_equals_its_twin(n, n_dims, axis):
    rng = np.random.default_rng(n)
    path = rng.permutation(np.repeat([1, 0], [n, 7]))
    values, marked = rng.normal(size=(n + 7, n_dims)) * 10.0 ** np.arange(n_dims), path.copy()
    _trial_kernels._mark_second_half(1, 5, axis, values, marked)
    own = path == 1
    assert set(marked[~own].tolist()) == {0}
    assert set(marked[own].tolist()) <= {1, 5}
    if n_dims < n:  # else axes are not unique
        np.testing.assert_array_equal(marked[own] == 5, naive_splits.second_half(values[own], axis))
