"""Short runs before the chains."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from homothety.models import ibphmm
from homothety.models.emissions import Emission
from homothety.models.ibphmm.starts import init_annealed, measured_weight, weight_in_states
from homothety.sequences import check_sequences


def switching(rng, n_recordings=4, n_steps=200, stay=40, correlation=0.0, n_dims=2):
    """Series that go to and fro between three places, with correlated noise about them."""
    states = np.arange(n_steps) // stay % 3
    noise = rng.normal(size=(n_recordings, n_steps, n_dims)) * np.sqrt(1 - correlation**2)
    centres = 6.0 * rng.normal(size=(3, n_dims))
    return [lfilter([1.0], [1.0, -correlation], one, axis=0) + centres[states] for one in noise], states


def model_of(series):
    sequences = check_sequences(series)
    n = sequences.n_dims
    scale = 0.1 * 5.0 * np.diag(sequences.steps.var(axis=0))
    return ibphmm.Model.from_sequences(sequences, Emission.gaussian(np.zeros(n), 1.0, scale, n + 2.0))


@pytest.mark.parametrize("n_clusters", [1, 20])
def test_the_clusters_of_the_start_are_forgotten(n_clusters, rng):
    series, states = switching(rng)
    model = model_of(series)
    start = init_annealed(rng, model, n_clusters=n_clusters)
    model.check_state(start)
    assert start.step == 0
    path = np.unique(start.path, return_inverse=True)[1]
    table = np.zeros((3, path.max() + 1))
    np.add.at(table, (np.tile(states, 4), path), 1)
    assert table.max(axis=0).sum() > 0.97 * len(path)  # every state found lies in one of the true ones
    assert (table.max(axis=1) > 0.9 * table.sum(axis=1)).all()  # and none of these is cut


def test_a_run_of_no_sweeps_is_where_it_starts(rng):
    model = model_of(switching(rng)[0])
    start = init_annealed(np.random.default_rng(1), model, n_sweeps=0)
    expected = ibphmm.init_from_clusters(np.random.default_rng(1), model)
    np.testing.assert_array_equal(start.path, expected.path)


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_the_weight_is_that_inside_states(correlation, rng):
    series, states = switching(rng, n_recordings=6, n_steps=300, correlation=correlation)
    model, expected = model_of(series), (1 - correlation) / (1 + correlation)
    assert weight_in_states(model, np.tile(states, 6)) == pytest.approx(expected, abs=0.08)
    assert measured_weight(rng, model, 40) == pytest.approx(expected, abs=0.1)
    alone = np.zeros(model.n_steps, dtype=np.int64)  # states that are taken for one look like slow noise
    assert weight_in_states(model, alone) < 0.5 * expected


def test_two_recordings_in_many_dimensions_keep_their_states(rng):
    # Few looks whose states last long: persistence is no redundancy.
    series, _ = switching(rng, n_recordings=2, n_steps=120, stay=30, n_dims=12)
    assert measured_weight(rng, model_of(series), 40) > 0.8


def test_series_always_count_as_some_observations(rng):
    slow = [np.cumsum(rng.normal(size=(300, 2)), axis=0) for _ in range(2)]
    path = np.repeat([0, 1], 300)
    assert weight_in_states(model_of(slow), path) == 60 / 600
