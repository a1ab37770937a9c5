"""Paths as runs: small, and the same paths."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from homothety.sampling.codec import from_bytes, to_bytes
from homothety.sampling.trace import RunPath, count_segments, occupancy_entropy

PATHS = st.lists(st.integers(0, 3), min_size=1, max_size=30).map(np.array)


@given(PATHS)
def test_runs_expand_to_the_path(path):
    runs = RunPath.of(path)
    np.testing.assert_array_equal(runs.expand(), path)
    assert (runs.labels[1:] != runs.labels[:-1]).all()
    assert (runs.lengths > 0).all()


def test_a_checkpoint_holds_runs():
    runs = from_bytes(to_bytes(RunPath.of(np.array([4, 4, 1]))))
    assert isinstance(runs, RunPath)
    assert runs.expand().tolist() == [4, 4, 1]


def test_every_series_begins_a_segment():
    path = np.array([0, 0, 1, 1, 1, 1, 0])
    assert count_segments(path, np.array([0, 7])) == 3
    assert count_segments(path, np.array([0, 4, 7])) == 4  # cut inside a run
    assert count_segments(path, np.array([0, 2, 7])) == 3  # cut at a change


@given(PATHS)
def test_entropy_is_that_of_the_shares(path):
    shares = np.array([np.mean(path == label) for label in set(path.tolist())])
    np.testing.assert_allclose(occupancy_entropy(path), -(shares * np.log2(shares)).sum(), atol=1e-12)


def test_entropy_of_known_shares():
    assert occupancy_entropy(np.array([7, 7, 7])) == 0
    np.testing.assert_allclose(occupancy_entropy(np.array([0, 1, 2, 3])), 2)
