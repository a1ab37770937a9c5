"""Recordings with missing values: what segmenters make of them, and what they leave as it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from sklearn.base import clone

import homothety
from homothety import IBPHMM, ICSCHMM, ActionHMM, HMMSelection, StickyHDPHMM
from homothety.datasets import make_demonstrations, make_toy_2d
from homothety.errors import InputError, MissingCoordinateWarning
from homothety.estimators import action_hmm
from homothety.metrics import hamming
from homothety.models.frames.defaults import model_and_starts
from homothety.preprocessing import Preprocessing

SHORT = {"n_chains": 1, "n_sweeps": 40, "random_state": 0}
SAMPLED = [IBPHMM(**SHORT), StickyHDPHMM(max_states=8, **SHORT), ICSCHMM(**SHORT)]
each_sampler = pytest.mark.parametrize("estimator", SAMPLED, ids=lambda one: type(one).__name__)


@pytest.fixture(scope="module")
def toy():
    return make_toy_2d(0, n_steps=150)


@pytest.fixture(scope="module")
def gappy(toy):
    """The same with a third of the values missing, and a dimension that one series lacks."""
    rng = np.random.default_rng(1)
    series = [np.where(rng.random(one.shape) < 0.3, np.nan, one) for one in toy.sequences]
    series[1][:, 0] = np.nan
    return series


@pytest.fixture(scope="module")
def fitted(gappy):
    models = {type(estimator).__name__: clone(estimator).fit(gappy) for estimator in SAMPLED}
    return lambda estimator: models[type(estimator).__name__]


@each_sampler
def test_segments_are_found_in_spite_of_gaps(estimator, fitted, toy):
    found = fitted(estimator)
    assert [len(path) for path in found.paths_] == [len(one) for one in toy.sequences]
    assert hamming(np.concatenate(toy.states), np.concatenate(found.paths_)) < 0.15


@each_sampler
def test_covariances_are_not_narrowed_by_gaps(estimator, fitted, toy):
    whole = clone(estimator).fit(toy.sequences)
    found = fitted(estimator)
    assert found.n_states_ >= whole.n_states_
    sizes = [np.sort([np.linalg.slogdet(one)[1] for one in model.covariances_[:3]]) for model in (whole, found)]
    np.testing.assert_allclose(*sizes, atol=1.0)


@each_sampler
def test_gaps_of_new_recordings_are_filled_in(estimator, fitted, gappy, toy):
    model = fitted(estimator)
    imputed = model.impute(gappy)
    inside = []
    for one, whole, gaps in zip(imputed, toy.sequences, map(np.isnan, gappy), strict=True):
        assert (one.values[~gaps] == whole[~gaps]).all()
        assert (one.lower[gaps] < one.values[gaps]).all()
        assert (one.values[gaps] < one.upper[gaps]).all()
        inside.append(((one.lower <= whole) & (whole <= one.upper))[gaps])
    assert 0.8 < np.concatenate(inside).mean() < 0.97


def test_intervals_are_wider_at_a_higher_level(fitted, gappy):
    narrow, wide = (fitted(SAMPLED[0]).impute(gappy[:1], level=level)[0] for level in (0.5, 0.95))
    gaps = np.isnan(gappy[0])
    assert (wide.upper - wide.lower > narrow.upper - narrow.lower)[gaps].all()
    with pytest.raises(InputError, match="level is 1, needed a probability between 0 and 1"):
        fitted(SAMPLED[0]).impute(gappy, level=1)


@each_sampler
def test_the_same_seed_gives_the_same_paths(estimator, fitted, gappy):
    again = clone(estimator).fit(gappy)
    assert all((a == b).all() for a, b in zip(again.paths_, fitted(estimator).paths_, strict=True))
    assert (again.means_ == fitted(estimator).means_).all()


@each_sampler
def test_a_run_goes_on_from_its_checkpoint(estimator, gappy, tmp_path):
    whole = clone(estimator).set_params(n_sweeps=12, n_burn=4).fit(gappy)
    model = clone(whole).set_params(checkpoint=tmp_path / "run")
    model.set_params(n_sweeps=6).fit(gappy)
    model.set_params(n_sweeps=12).fit(gappy)
    assert (model.trace_["log_joint"] == whole.trace_["log_joint"]).all()


def test_a_saved_model_says_the_same_of_gaps(fitted, gappy, tmp_path):
    model = fitted(SAMPLED[0])
    model.save(tmp_path / "model.zip")
    loaded = homothety.load(tmp_path / "model.zip")
    assert loaded.score(gappy) == model.score(gappy)
    assert (loaded.impute(gappy)[0].values == model.impute(gappy)[0].values).all()


@pytest.mark.parametrize("estimator", [*[clone(one).set_params(missing="error") for one in SAMPLED], HMMSelection()])
def test_missing_values_are_refused_if_they_are_errors(estimator, gappy):
    with pytest.raises(InputError, match="Recording 0 holds nan at step"):
        clone(estimator).fit(gappy)


def test_settings_that_cannot_be_are_named(gappy):
    with pytest.raises(InputError, match="missing"):
        IBPHMM(missing="drop").fit(gappy)
    with pytest.raises(InputError, match="autoregressive states need the steps before each one"):
        IBPHMM(emission="autoregressive").fit(gappy)
    with pytest.raises(InputError, match="Channel 1 is NaN at every step of all recordings"):
        IBPHMM().fit([np.column_stack([one[:, 0], np.full(len(one), np.nan)]) for one in gappy])


def test_scores_do_not_depend_on_units_of_what_is_missing(toy, gappy):
    scaled = {"preprocessing": Preprocessing(scale=(10.0, 0.1)), **SHORT, "step_weight": 1.0}
    plain = IBPHMM(**(scaled | {"preprocessing": Preprocessing()})).fit(toy.sequences)
    other = IBPHMM(**scaled).fit(toy.sequences)
    assert other.score(gappy) == pytest.approx(plain.score(gappy), abs=0.02)


def test_a_long_gap_does_not_hold_its_sides_together(fitted):
    """In a gap states follow the transitions alone; at its end nothing is known of its beginning."""
    model = fitted(SAMPLED[0])
    series = np.full((402, 2), np.nan)
    series[0], series[-1] = model.means_[0], model.means_[1]
    probs = model.predict_proba([series])[0]
    alone = model.predict_proba([series[-1:]])[0]
    powers = np.linalg.matrix_power(model.transition_probs_, 400)
    assert np.ptp(powers, axis=0).max() < 0.05, "transitions forget in as many steps"
    assert probs[0].argmax() == 0
    assert probs[-1].argmax() == 1
    # The first look changes next to nothing at the last one, whatever it was.
    series[0] = model.means_[2]
    np.testing.assert_allclose(model.predict_proba([series])[0][-1], probs[-1], atol=0.05)
    assert alone[0].argmax() == 1
    np.testing.assert_allclose(probs[200], powers[0], atol=0.05)


# Recordings in frames of their own


@pytest.fixture(scope="module")
def demonstrations():
    return make_demonstrations(0)


@pytest.fixture(scope="module")
def holed(demonstrations):
    """The same with a fifth of the values missing, and stretches in which the marker was not seen."""
    rng = np.random.default_rng(0)
    sequences = [np.where(rng.random(one.shape) < 0.2, np.nan, one) for one in demonstrations.sequences]
    for one in sequences:
        one[200:260] = np.nan
    return replace(demonstrations, sequences=sequences)


@pytest.fixture(scope="module")
def acting(holed):
    return ActionHMM(n_chains=1, n_sweeps=30, random_state=0).fit(holed)


def test_actions_are_found_in_spite_of_gaps(acting, demonstrations):
    assert acting.n_actions_ == 3
    assert hamming(np.concatenate(demonstrations.actions), np.concatenate(acting.actions_)) < 0.06


def test_frames_are_found_in_spite_of_gaps(acting, demonstrations):
    whole = ActionHMM(n_chains=1, n_sweeps=30, random_state=0).fit(demonstrations)
    for gappy, known in zip(acting.frames_, whole.frames_, strict=True):
        between = Rotation.from_matrix(gappy.rotation @ known.rotation.T).magnitude()
        assert np.degrees(between) < 15
        np.testing.assert_allclose(gappy.sizes, known.sizes, rtol=0.2)


def test_actions_of_new_recordings_with_gaps_are_found(acting, holed, demonstrations):
    found, details = acting.predict_actions(holed.sequences[:2], return_details=True)
    assert hamming(np.concatenate(demonstrations.actions[:2]), np.concatenate(found)) < 0.08
    assert all(one.fits for one in details)
    assert np.isfinite(acting.score(holed.sequences[:2]))


def test_gaps_are_filled_in_in_the_frame_of_each_recording(acting, holed, demonstrations):
    inside, n_missing = 0.0, 0
    for one, whole, gappy in zip(acting.impute(holed), demonstrations.sequences, holed.sequences, strict=True):
        gaps = np.isnan(gappy)
        assert (one.values[~gaps] == whole[~gaps]).all()
        inside, n_missing = inside + ((one.lower <= whole) & (whole <= one.upper))[gaps].sum(), n_missing + gaps.sum()
    assert 0.8 < inside / n_missing < 0.99
    (alone,) = acting.impute(holed.sequences[:1])  # in a frame that is found anew
    assert np.nanmax(np.abs(alone.values - acting.impute(holed)[0].values)) < 0.3 * np.ptp(demonstrations.sequences[0])


def distance_without_a_coordinate(demonstrations):
    """Share of steps with a wrong action if every second recording lacks a coordinate."""
    sequences = [one.copy() for one in demonstrations.sequences]
    for one in sequences[1::2]:
        one[:, 0] = np.nan
    model = ActionHMM(n_chains=1, n_sweeps=30, random_state=0).fit(sequences)
    imputed = model.impute(sequences)[1]  # where the recording is along what it lacks, nothing tells
    assert np.isnan(imputed.values[:, 0]).all()
    assert (imputed.values[:, 1:] == sequences[1][:, 1:]).all()
    return hamming(np.concatenate(demonstrations.actions), np.concatenate(model.actions_))


def test_actions_of_recordings_that_lack_a_coordinate_are_found_by_the_others(demonstrations, monkeypatch):
    assert distance_without_a_coordinate(demonstrations) < 0.08
    # As if the coordinate stood still: recordings are flattened, and fit no frame.
    monkeypatch.setattr(action_hmm, "starts_in_observed", lambda rng, task, lacking: model_and_starts(rng, task))
    assert distance_without_a_coordinate(demonstrations) > 0.2


def test_recordings_that_all_lack_a_coordinate_are_warned_of(demonstrations):
    sequences = [one.copy() for one in demonstrations.sequences[:4]]
    for i, one in enumerate(sequences):
        one[:, i % 2] = np.nan
    with pytest.warns(MissingCoordinateWarning, match="Every recording lacks a coordinate"):
        ActionHMM(n_chains=1, n_sweeps=4, random_state=0).fit(sequences)


def test_orientations_may_be_missing():
    rng = np.random.default_rng(0)
    series = []
    for _ in range(3):
        angle = np.repeat([0.3, 1.5, 0.3, 1.5], 60) + 0.1 * rng.normal(size=240)
        place = np.repeat([[0, 0, 0], [1, 2, 0]] * 2, 60, axis=0) + 0.1 * rng.normal(size=(240, 3))
        quaternions = Rotation.from_rotvec(angle[:, None] * [0.6, 0.0, 0.8]).as_quat(scalar_first=True)
        series.append(np.hstack([place, quaternions]))
    model = ActionHMM(blocks=["point", "quaternion"], n_chains=1, n_sweeps=10, random_state=0)
    whole = np.concatenate(model.fit(series).paths_)
    series[0][30:50, 3:], series[1][100, 5], series[2][70:90, :3] = np.nan, np.nan, np.nan
    assert hamming(whole, np.concatenate(model.fit(series).paths_)) < 0.05
    with pytest.raises(InputError, match="Orientations are missing"):
        model.impute(series)
    filled = model.impute([np.hstack([one[:, :3], np.nan_to_num(one[:, 3:], nan=0.5)]) for one in series[2:]])[0]
    assert np.isfinite(filled.values).all()


def test_missing_values_in_frames_are_refused_if_they_are_errors(holed):
    with pytest.raises(InputError, match=r"Recording 0 .*holds nan at step"):
        ActionHMM(missing="error").fit(holed)
