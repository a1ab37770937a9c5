"""Discovery of actions: what is reported fits together, and what was turned, moved or resized is one action."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

import homothety
from homothety import IBPHMM, ICSCHMM, HMMSelection, StickyHDPHMM, TwoStageHMM
from homothety.datasets import make_toy_2d
from homothety.errors import InputError
from homothety.estimators.hmm import _shares_of_actions, _typical_variances, make_grouping
from homothety.metrics import ari, hamming
from homothety.models import icsc
from homothety.preprocessing import Preprocessing
from homothety.sequences import check_sequences

SHORT = {"n_chains": 2, "n_sweeps": 40, "random_state": 0}


@pytest.fixture(scope="module")
def toy():
    return make_toy_2d(0, n_steps=200)


@pytest.fixture(scope="module")
def model(toy):
    return ICSCHMM(**SHORT).fit(toy.sequences)


def test_the_toy_has_four_states_and_two_actions(model, toy):
    assert (model.n_states_, model.n_actions_) == (4, 2)
    assert hamming(toy.states, model.paths_) < 0.01
    assert hamming(toy.actions, model.actions_) < 0.01


def test_states_and_actions_fit_together(model):
    assert model.state_actions_.shape == (model.n_states_,)
    assert sorted(set(model.state_actions_.tolist())) == list(range(model.n_actions_))
    for path, actions in zip(model.paths_, model.actions_, strict=True):
        assert (model.state_actions_[path] == actions).mean() > 0.95


def test_uncertainty_of_actions(model, toy):
    for values, series in zip(model.action_probability_, toy.sequences, strict=True):
        assert values.shape == (len(series),)
        assert values.min() >= 0
        assert values.max() <= 1
    assert model.coaction_.shape == (model.n_states_, model.n_states_)
    np.testing.assert_allclose(model.coaction_, model.coaction_.T)
    together = model.state_actions_[:, None] == model.state_actions_
    assert model.coaction_[together].min() > 0.5 > model.coaction_[~together].max()
    # A change of action is a change of state; the reverse need not be so.
    for action, state in zip(model.action_change_probability_, model.change_probability_, strict=True):
        assert (action <= state + 1e-12).all()


def test_segments_of_actions_tile_every_series(model, toy):
    for i, series in enumerate(toy.sequences):
        own = [segment for segment in model.action_segments_ if segment.series == i]
        assert own[0].start == 0
        assert own[-1].end == len(series)
        assert all(a.end == b.start and a.label != b.label for a, b in pairwise(own))


def test_new_series_of_a_known_frame(model, toy):
    assert hamming(toy.actions, model.predict_actions(toy.sequences)) < 0.02


def test_trace_has_both_parts_of_the_joint_density(model):
    assert np.isfinite(model.trace_["log_joint"]).all()
    assert np.isfinite(model.trace_["log_clusters"]).all()
    assert model.trace_["n_actions"].min() >= 1


def test_a_saved_model_comes_back_equal(model, toy, tmp_path):
    model.save(tmp_path / "model.zip")
    again = homothety.load(tmp_path / "model.zip")
    assert all(map(np.array_equal, again.actions_, model.actions_))
    assert all(map(np.array_equal, again.predict_actions(toy.sequences), model.predict_actions(toy.sequences)))


def test_equal_seeds_give_equal_results_whatever_the_number_of_jobs(model, toy):
    again = clone(model).set_params(n_jobs=2).fit(toy.sequences)
    assert all(map(np.array_equal, again.actions_, model.actions_))


def test_a_resumed_run_is_the_run_that_was_not_stopped(model, toy, tmp_path):
    short = clone(model).set_params(n_sweeps=25, n_burn=20, checkpoint=tmp_path / "run")
    short.fit(toy.sequences)
    longer = clone(short).set_params(n_sweeps=40).fit(toy.sequences)
    assert all(map(np.array_equal, longer.actions_, model.actions_))
    np.testing.assert_array_equal(longer.trace_["n_actions"], model.trace_["n_actions"])


def test_series_that_are_turned_moved_and_resized_have_the_same_actions(toy, rng):
    turned = []
    for series in toy.sequences:
        angle, scale = rng.uniform(0, 2 * np.pi), rng.uniform(0.5, 2)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        turned.append(scale * series @ turn.T + rng.normal(scale=3, size=2))
    model = ICSCHMM(preprocessing=Preprocessing(centre="series"), **SHORT | {"n_sweeps": 80}).fit(turned)
    assert ari(toy.actions, model.actions_) > 0.95


@pytest.mark.parametrize("options", [{"grouping": "links"}, {"coupling": "paper"}, {"covariances": "draw"}])
def test_the_paper_s_choices_run(options, toy):
    model = ICSCHMM(**SHORT | {"n_sweeps": 12}, **options).fit(toy.sequences)
    assert 1 <= model.n_actions_ <= model.n_states_ + 1


def test_a_grouping_of_one_s_own(toy, tmp_path):
    own = icsc.ShapeGrouping(versions=10.0)
    model = ICSCHMM(grouping=own, **SHORT | {"n_sweeps": 12}).fit(toy.sequences)
    model.save(tmp_path / "model.zip")
    assert homothety.load(tmp_path / "model.zip").grouping == own
    assert make_grouping(own) is own


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"grouping": "colour"}, "grouping is 'colour', needed 'shapes', 'links'"),
        ({"coupling": "loose"}, "coupling is 'loose', needed 'burnin', 'paper' or None"),
        ({"covariances": "median"}, "covariances is 'median', needed 'sample', 'mean' or 'draw'"),
    ],
)
def test_bad_parameters_are_named(parameters, message, toy):
    with pytest.raises(InputError, match=message):
        ICSCHMM(**SHORT, **parameters).fit(toy.sequences)


def test_shares_of_actions():
    found = _shares_of_actions(np.array([0, 0, 1, 1, 1, 1]), np.array([5, 7, 7, 7, 7, 5]), 2)
    np.testing.assert_allclose(found, [[0.5, 0.5], [0.25, 0.75]])


# --- the decoupled variant -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["HMMSelection", "StickyHDPHMM", "IBPHMM"])
def two_stages(request, toy):
    segmenter = {
        "HMMSelection": HMMSelection(max_states=5, n_init=2, random_state=0),
        "StickyHDPHMM": StickyHDPHMM(max_states=6, **SHORT),
        "IBPHMM": IBPHMM(**SHORT),
    }[request.param]
    return TwoStageHMM(segmenter=segmenter, grouping="shapes", random_state=0).fit(toy.sequences)


def test_any_segmenter_will_do(two_stages, toy):
    assert two_stages.n_states_ in (4, 5)
    assert two_stages.n_actions_ == 2
    assert hamming(toy.actions, two_stages.actions_) < 0.02
    assert hamming(toy.actions, two_stages.predict_actions(toy.sequences)) < 0.02
    assert np.isfinite(two_stages.score(toy.sequences))
    assert not hasattr(two_stages.segmenter, "paths_")  # the segmenter that was given is left as it was


def test_a_saved_pair_of_stages_comes_back_equal(two_stages, toy, tmp_path):
    two_stages.save(tmp_path / "model.zip")
    again = homothety.load(tmp_path / "model.zip")
    assert all(map(np.array_equal, again.actions_, two_stages.actions_))
    assert all(map(np.array_equal, again.predict_actions(toy.sequences), two_stages.predict_actions(toy.sequences)))


def test_actions_are_numbered_by_their_steps(two_stages):
    counts = np.bincount(np.concatenate(two_stages.actions_))
    assert (np.diff(counts) <= 0).all()


def test_the_paper_s_two_stages_run(toy):
    model = TwoStageHMM(segmenter=HMMSelection(max_states=4, n_init=1, random_state=0), n_draws=5, random_state=0)
    assert 1 <= model.fit(toy.sequences).n_actions_ <= 4
    assert clone(model).get_params()["segmenter__max_states"] == 4


def test_draws_are_counted(toy):
    with pytest.raises(InputError, match="n_draws is 0, needed at least 1"):
        TwoStageHMM(n_draws=0).fit(toy.sequences)


# --- the prior of states ---------------------------------------------------------------------------------------------


def test_places_and_single_sizes_do_not_set_the_prior(rng):
    series = [rng.normal(size=(200, 2)) for _ in range(5)]
    plain = _typical_variances(check_sequences(series))
    np.testing.assert_allclose(plain, 1.0, rtol=0.2)
    moved = [one + 100.0 * i for i, one in enumerate(series)]
    np.testing.assert_allclose(_typical_variances(check_sequences(moved)), plain)
    for factor in (1e-6, 1e3):
        odd = _typical_variances(check_sequences([*series[:4], factor * series[4]]))
        np.testing.assert_allclose(odd, plain, rtol=0.3)


def test_a_dimension_that_only_tells_series_apart_does_not_shrink_the_others(rng):
    series = [np.column_stack([rng.normal(size=200), np.full(200, float(i))]) for i in range(3)]
    found = _typical_variances(check_sequences(series, allow_constant=True))
    assert found[0] == pytest.approx(1.0, rel=0.2)
    assert found[1] == pytest.approx(2 / 3, rel=0.2)
