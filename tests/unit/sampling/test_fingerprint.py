"""Two runs can be told apart, and by what."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from homothety.errors import CheckpointError
from homothety.sampling.checkpoint import differences, fingerprint
from homothety.sequences import check_sequences
from walks import GROUND, Ground, walk


def test_leaves_are_named_by_their_way():
    prints = fingerprint(model={"ground": GROUND}, sweep={"walk": partial(walk, pace=2), "rest": walk})
    assert list(prints) == ["model.ground.slope", "model.ground.friction", "sweep.walk.pace", "sweep.rest"]
    assert prints["model.ground.friction"] == "0.5"
    assert prints["sweep.walk.pace"] == "2"
    assert prints["sweep.rest"] == "function"


@pytest.mark.parametrize(
    "other",
    [
        np.array([0.1, np.nextafter(-0.2, 0)]),
        np.array([0.1, -0.2], dtype=np.float32),
        np.array([[0.1, -0.2]]),
        np.array([-0.2, 0.1]),
    ],
)
def test_arrays_are_the_same_only_bit_for_bit(other):
    before, now = fingerprint(model=GROUND), fingerprint(model=Ground(other))
    assert before["model.friction"] == now["model.friction"]
    (text,) = differences(before, now)
    assert text == f"model.slope was {before['model.slope']}, is {now['model.slope']}"


def test_names_of_channels_do_not_matter():
    steps = np.eye(3)
    before, now = check_sequences([steps]), check_sequences([steps], channels=["x", "y", "z"])
    assert differences(fingerprint(data=before), fingerprint(data=now)) == []


def test_layout_does_not_matter():
    array = np.arange(6.0).reshape(2, 3)
    assert fingerprint(a=array) == fingerprint(a=np.asfortranarray(array))


@pytest.mark.parametrize(
    ("before", "now", "text"),
    [
        ({"a": 1}, {"a": 2}, "s.a was 1, is 2"),
        ({"a": 1}, {"b": 1}, "s.a was 1, is absent"),
        ({"a": None}, {"a": "x"}, "s.a was None, is 'x'"),
        ({"a": [1, 2]}, {"a": [1, 3]}, "s.a was [1, 2], is [1, 3]"),
        ({"a": 0.1}, {"a": 0.1 + 1e-17 + 2e-17}, "s.a was 0.1, is 0.10000000000000003"),
        ({"a": {}}, {"a": {"b": 1}}, "s.a was empty, is absent"),
    ],
)
def test_differences_are_spelled_out(before, now, text):
    assert differences(fingerprint(s=before), fingerprint(s=now))[0] == text


def test_long_lists_are_told_apart_by_any_item():
    one, other = list(range(100)), [*range(99), 0]
    before, now = fingerprint(names=one), fingerprint(names=other)
    assert before["names"].startswith("100 items ")
    assert differences(before, now)
    assert not differences(before, fingerprint(names=tuple(one)))


def test_lists_of_arrays_are_compared_by_content():
    assert fingerprint(a=[np.zeros(2)]) != fingerprint(a=[np.ones(2)])


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(CheckpointError, match=r"settings\.a is a object: a checkpoint cannot tell"):
        fingerprint(settings={"a": object()})
