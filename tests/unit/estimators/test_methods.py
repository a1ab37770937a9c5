"""The methods that tables compare: each is what it is called, and takes the settings it has."""

from __future__ import annotations

import numpy as np
import pytest

from homothety import ICSCHMM, TwoStageHMM
from homothety.datasets import make_toy_2d
from homothety.estimators.methods import METHODS, OneState, fit_whole, labels_of
from homothety.metrics import nmi
from homothety.preprocessing import Preprocessing


@pytest.mark.parametrize("name", METHODS)
def test_settings_reach_every_part_that_has_them(name):
    preprocessing = Preprocessing(subsample=3)
    model = METHODS[name].make(7, 3, 11, preprocessing=preprocessing, max_states=5)
    wanted = {"n_sweeps": 7, "n_chains": 3, "random_state": 11, "preprocessing": preprocessing, "max_states": 5}
    parts = [part for part in (model, getattr(model, "segmenter", None)) if part is not None]
    for part in parts:
        has = part.get_params(deep=False)
        assert {key: has[key] for key in wanted if key in has} == {key: wanted[key] for key in wanted if key in has}


def test_what_is_not_given_stays_as_the_method_has_it():
    assert METHODS["icsc"].make().get_params() == ICSCHMM().get_params()
    assert METHODS["hmm"].make(max_states=None).max_states == 15


def test_making_one_leaves_the_next_untouched():
    METHODS["two-stage"].make(7, 3, 11)
    assert METHODS["two-stage"].make().segmenter.n_sweeps == "auto"


def test_the_published_method_is_the_published_one():
    given = METHODS["icsc-paper"].make().get_params()
    published = {"grouping": "links", "coupling": "paper", "covariances": "draw", "include_unused": True}
    assert given == ICSCHMM().get_params() | published | {"step_weight": 1.0}


def test_labels_are_actions_where_there_are_any():
    toy = make_toy_2d(0, n_steps=40)
    model = METHODS["two-stage"].make(6, 1, 0).fit(toy.sequences)
    assert isinstance(model, TwoStageHMM)
    assert labels_of(model) is model.actions_
    assert labels_of(model.segmenter_) is model.segmenter_.paths_


def test_one_state_calls_every_step_of_all_series_the_same():
    toy = make_toy_2d(0, n_steps=40)
    labels = labels_of(OneState().fit(toy.sequences))
    assert [len(path) for path in labels] == [len(one) for one in toy.sequences]
    assert np.unique(np.concatenate(labels)).tolist() == [0]
    assert nmi(toy.actions, labels) == 0
    joined = OneState().fit(np.concatenate(toy.sequences), lengths=[len(one) for one in toy.sequences])
    assert [len(path) for path in joined.paths_] == [len(path) for path in labels]


def test_half_a_chain_is_no_run():
    class Stopped:
        interrupted_ = True

        def fit(self, points):
            return self

    with pytest.raises(KeyboardInterrupt):
        fit_whole(Stopped(), np.zeros((2, 2)))
