"""The least stay of estimators: what is reported, predicted, saved and refused."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest

import homothety
from homothety import IBPHMM, ICSCHMM, HMMSelection, StickyHDPHMM, TwoStageHMM
from homothety.errors import InputError
from homothety.preprocessing import Preprocessing

SHORT = {"n_chains": 2, "n_sweeps": 12, "random_state": 0}


@pytest.fixture(scope="module")
def flicker():
    """Two recordings of long stays, one of which flickers to a third place and back every six steps."""
    rng = np.random.default_rng(0)
    series = []
    for length in (60, 90):
        levels = np.repeat([0.0, 5.0], length)
        levels[length::6] = 9.0
        series.append(rng.normal(levels, 0.3)[:, None] * [1.0, 0.5] + rng.normal(scale=0.3, size=(2 * length, 2)))
    return series


def shortest_inside(path):
    """Length of the shortest stay that neither begins nor ends a path."""
    lengths = [len(list(steps)) for _, steps in groupby(path)][1:-1]
    return min(lengths, default=len(path))


ESTIMATORS = [
    IBPHMM(**SHORT, least_stay=5, preprocessing=Preprocessing()),
    IBPHMM(**SHORT, least_stay=5, preprocessing=Preprocessing(), point_estimate="map"),
    ICSCHMM(**SHORT, least_stay=5, preprocessing=Preprocessing()),
    StickyHDPHMM(**SHORT, max_states=6, least_stay=5, preprocessing=Preprocessing()),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: f"{type(one).__name__}-{one.point_estimate}")
def test_no_stay_is_shorter_than_the_least(flicker, estimator, tmp_path):
    model = estimator.fit(flicker)
    assert min(shortest_inside(path) for path in model.paths_) >= 5
    assert min(shortest_inside(path) for draw in model.draws_ for path in np.split(draw, model.starts_[1:-1])) >= 5
    assert min(shortest_inside(path) for path in model.predict(flicker)) >= 5
    assert model.states_.least_stay == 5
    if isinstance(model, ICSCHMM):
        assert min(shortest_inside(path) for path in model.actions_) >= 5
        assert min(shortest_inside(path) for path in model.predict_actions(flicker)) >= 5
    model.save(tmp_path / "model")
    again = homothety.load(tmp_path / "model")
    assert again.least_stay == 5
    assert again.score(flicker) == model.score(flicker)
    for one, other in zip(again.predict(flicker), model.predict(flicker), strict=True):
        np.testing.assert_array_equal(one, other)


def test_without_it_the_flicker_is_a_state(flicker):
    model = IBPHMM(**SHORT, start="clusters", step_weight=1.0, preprocessing=Preprocessing()).fit(flicker)
    assert min(shortest_inside(path) for path in model.paths_) == 1


@pytest.mark.parametrize(("least_stay", "looks"), [(1, 1), (3, 1), (4, 2), (6, 2), (7, 3)])
def test_steps_are_rounded_up_to_whole_strides(flicker, least_stay, looks):
    settings = {"n_chains": 1, "n_sweeps": 2, "random_state": 0, "preprocessing": Preprocessing(subsample=3)}
    assert IBPHMM(**settings, least_stay=least_stay).fit(flicker).states_.least_stay == looks


@pytest.mark.parametrize("least_stay", [0, -2, 1.5, "4"])
@pytest.mark.parametrize("estimator", [IBPHMM, ICSCHMM, StickyHDPHMM, TwoStageHMM])
def test_bad_least_stay_is_named(flicker, estimator, least_stay):
    with pytest.raises(InputError, match=r"least_stay is .*, needed"):
        estimator(least_stay=least_stay).fit(flicker)


def test_a_segmenter_that_is_given_has_its_own(flicker):
    with pytest.raises(InputError, match=r"Set it there: segmenter=IBPHMM\(least_stay=3"):
        TwoStageHMM(segmenter=IBPHMM(**SHORT), least_stay=3).fit(flicker)
    model = TwoStageHMM(segmenter=HMMSelection(max_states=2, n_init=1), n_draws=2, random_state=0).fit(flicker)
    assert model.least_stay == 1
