"""The toy series have the paper's states, shapes and stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from homothety.datasets import SequenceSet, make_demonstrations, make_toy_2d
from homothety.datasets.sequence_set import join_sets
from homothety.datasets.toy_sequences import COVARIANCES, MEANS, STATES_OF_SERIES
from homothety.errors import InputError


def test_same_seed_same_series():
    first, again, other = make_toy_2d(3), make_toy_2d(3), make_toy_2d(4)
    np.testing.assert_array_equal(first.sequences[2], again.sequences[2])
    assert first.n_steps != other.n_steps


def test_states_belong_to_their_series_and_actions_to_states():
    toy = make_toy_2d(0)
    assert [tuple(np.unique(path)) for path in toy.states] == list(STATES_OF_SERIES)
    for states, actions in zip(toy.states, toy.actions, strict=True):
        np.testing.assert_array_equal(actions, np.isin(states, [1, 2]))
    assert len({len(one) for one in toy.sequences}) > 1
    assert abs(toy.n_steps - 2000) < 5 * np.sqrt(2000)


def test_states_have_their_moments_and_stays():
    toy = make_toy_2d(1, n_steps=20_000)
    steps, states = np.concatenate(toy.sequences), np.concatenate(toy.states)
    for k in range(4):
        points = steps[states == k]
        np.testing.assert_allclose(points.mean(axis=0), MEANS[k], atol=0.03)
        np.testing.assert_allclose(np.cov(points.T), COVARIANCES[k], atol=0.01)
    changes = np.mean(np.concatenate([np.diff(path) != 0 for path in toy.states]))
    expected = (0.04 / 3) / (0.96 + 0.04 / 3)
    assert abs(changes - expected) < 4 * np.sqrt(expected / len(steps))


def test_like_the_stored_instance(shared_data):
    stored = shared_data("toy_2d_seed0.npz")
    np.testing.assert_array_equal(stored["true_mu"], MEANS)
    np.testing.assert_allclose(stored["true_sigma"], COVARIANCES)
    assert [tuple(np.flatnonzero(row)) for row in stored["true_features"]] == list(STATES_OF_SERIES)


def test_bad_length():
    with pytest.raises(InputError, match="n_steps is 1, needed at least 2"):
        make_toy_2d(0, n_steps=1)


def test_sets_say_what_is_in_them():
    assert repr(make_toy_2d(0)).endswith("of 2 dimensions, 4 states, 2 actions>")
    plain = SequenceSet([np.zeros((3, 2))])
    assert repr(plain) == "<SequenceSet sequences: 1 series, 3 steps of 2 dimensions>"
    assert plain.names == ("series 0",)


def test_joining_keeps_what_all_know():
    toy, plain = make_toy_2d(0), SequenceSet([np.zeros((3, 2))], actions=[np.zeros(3, dtype=int)])
    joined = join_sets([toy, plain], "both")
    assert (len(joined), joined.states, len(joined.actions), joined.name) == (5, None, 5, "both")
    assert joined.frames is None


def test_joined_sets_share_no_frame():
    made = [make_demonstrations(seed, n_frames=2, n_per_frame=1) for seed in range(2)]
    joined = join_sets(made, "both").frames
    assert joined.label.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(joined.rotation[2:], made[1].frames.rotation)
    with pytest.raises(InputError, match="rotation of frames has 4 entries for 2 series"):
        replace(made[0], frames=joined)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"states": []}, "states of 0 series but there are 1"),
        ({"actions": [np.zeros(2)]}, r"actions\[0\] has shape \(2,\), needed one for each of 3 steps"),
        ({"names": ("a", "b")}, "2 names for 1 series"),
    ],
)
def test_sets_that_do_not_fit(known, message):
    with pytest.raises(InputError, match=message):
        SequenceSet([np.zeros((3, 2))], **known)
