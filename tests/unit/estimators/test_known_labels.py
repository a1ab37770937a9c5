"""Fits that know the labels of some steps: what is reported agrees with them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from homothety import IBPHMM, ICSCHMM, ActionHMM, StickyHDPHMM
from homothety.datasets import make_demonstrations, make_toy_2d
from homothety.errors import InputError
from homothety.estimators._known_labels import labels_of_modelled
from homothety.metrics import hamming
from homothety.preprocessing import Preprocessing

SHORT = {"n_chains": 1, "n_sweeps": 12, "random_state": 0}
TOY, DEMONSTRATIONS = make_toy_2d(random_state=0, n_steps=80), make_demonstrations(0)
MODELS = {
    "IBPHMM": (IBPHMM(**SHORT), TOY),
    "IBPHMM, most probable": (IBPHMM(**SHORT, point_estimate="map"), TOY),
    "IBPHMM, every third step": (IBPHMM(**SHORT, preprocessing=Preprocessing(subsample=3), least_stay=6), TOY),
    "IBPHMM, autoregressive": (IBPHMM(**SHORT, emission="autoregressive", order=2), TOY),
    "StickyHDPHMM": (StickyHDPHMM(**SHORT, max_states=6), TOY),
    "ICSCHMM": (ICSCHMM(**SHORT), TOY),
    "ActionHMM": (ActionHMM(**SHORT), DEMONSTRATIONS),
}


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def reported(model):
    """What labels are of: actions, or states."""
    return model.paths_ if model.labels_are_states else model.actions_


def agree(y, found):
    """Whether labels and what was found are the same partition of the labelled steps."""
    pairs = {
        (label, number)
        for labels, numbers in zip(y, found, strict=True)
        for label, number in zip([] if labels is None else labels.tolist(), numbers.tolist(), strict=False)
        if label >= 0
    }
    return len(pairs) == len({label for label, _ in pairs}) == len({number for _, number in pairs})


def odd_labels(data):
    """Labels that are not what any model would find: thirds of some recordings, none of the others."""
    thirds = [np.arange(len(one)) * 3 // len(one) for one in data.sequences]
    return [np.where(part == 1, -1, 4 * part + 3) if i % 2 == 0 else None for i, part in enumerate(thirds)]


@pytest.mark.parametrize("name", MODELS)
def test_labels_are_reproduced_exactly(name):
    model, data = MODELS[name]
    y = odd_labels(data)
    assert agree(y, reported(model.fit(data.sequences, y)))
    assert not agree(y, reported(model.fit(data.sequences)))


def test_true_labels_of_half_of_the_recordings_help_with_the_others():
    y = [one if i < len(TOY) // 2 else None for i, one in enumerate(TOY.states)]
    model = IBPHMM(**SHORT | {"n_sweeps": 60}).fit(TOY.sequences, y)
    assert model.n_states_ == 4
    assert hamming(TOY.states, model.paths_) < 0.05


def test_labels_come_as_one_array_too():
    whole, lengths = np.concatenate(TOY.sequences), [len(one) for one in TOY.sequences]
    y = [
        np.full(len(one), -1) if labels is None else labels
        for one, labels in zip(TOY.sequences, odd_labels(TOY), strict=True)
    ]
    one = IBPHMM(**SHORT).fit(whole, np.concatenate(y), lengths=lengths)
    other = IBPHMM(**SHORT).fit(TOY.sequences, y)
    assert [path.tolist() for path in one.paths_] == [path.tolist() for path in other.paths_]


@pytest.mark.parametrize("name", ["IBPHMM", "StickyHDPHMM", "ICSCHMM"])
def test_without_a_known_label_nothing_changes(name):
    model, data = MODELS[name]
    traces = [
        model.fit(data.sequences, y).trace_["log_joint"].copy()
        for y in (None, [np.full(len(one), -1) for one in data.sequences])
    ]
    np.testing.assert_array_equal(*traces)


def test_a_short_stay_that_is_labelled_makes_the_default_least_stay_shorter():
    y = [np.full(len(one), -1) for one in DEMONSTRATIONS.sequences]
    stride = ActionHMM(**SHORT).fit(DEMONSTRATIONS).preprocessing_.settings.stride
    y[0][:] = np.arange(len(y[0])) // (2 * stride) % 2
    assert agree(y, ActionHMM(**SHORT).fit(DEMONSTRATIONS, y).actions_)
    with pytest.raises(InputError, match="recording 0 in y change after fewer than least_stay"):
        ActionHMM(**SHORT, least_stay=10 * stride).fit(DEMONSTRATIONS, y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ("walking", "y has 7 parts for 4 recordings"),
        (3, "y is 3 for 4 recordings"),
        ([None] * 3 + [[0, 1]], r"y\[3\] .* has shape \(2,\) .* needed \d+ whole numbers"),
        ([None] * 3 + [np.full(80, 0.5)], r"dtype float64, needed \d+ whole numbers"),
        ([None] * 3 + [np.full(80, -2)], r"least -2, needed \d+ whole numbers"),
    ],
)
def test_labels_that_do_not_fit_are_refused(y, message):
    assert len(TOY) == 4
    with pytest.raises(InputError, match=message):
        IBPHMM(**SHORT).fit(TOY.sequences, y)


def test_labels_need_states_and_actions_of_their_own():
    y = [np.arange(len(one)) % 7 for one in TOY.sequences]
    with pytest.raises(InputError, match=r"y has 7 labels, but there are 6 states\. Raise max_states"):
        StickyHDPHMM(**SHORT, max_states=6).fit(TOY.sequences, y)
    with pytest.raises(InputError, match="grouping is 'links': needed 'shapes'"):
        ICSCHMM(**SHORT, grouping="links").fit(TOY.sequences, TOY.actions)
    with pytest.raises(InputError, match="n_actions is 1, needed 2 or more: y has so many labels"):
        ActionHMM(**SHORT, n_actions=1).fit(DEMONSTRATIONS, odd_labels(DEMONSTRATIONS))


def test_a_label_between_the_steps_in_use_is_refused():
    with pytest.raises(InputError, match="Label number 1 of y, counted from the smallest, is too short"):
        labels_of_modelled(np.array([0, 0, 1, 0]), np.array([0, 0, 0, 1]), 2)
