"""Actions of recordings in frames of their own: what is reported, new recordings, frames, and clear refusals."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import homothety
from benchmarks.made_up_tasks import TASKS
from homothety import ActionHMM
from homothety.datasets import SequenceSet, make_demonstrations
from homothety.errors import (
    CheckpointError,
    FewerActionsWarning,
    InputError,
    RestingRecordingWarning,
    StraightRecordingsWarning,
)
from homothety.metrics import ari, hamming

SHORT = {"n_chains": 1, "n_sweeps": 40, "random_state": 0}
QUICK = SHORT | {"n_sweeps": 4, "subsample": 12}


def with_own_similarities(seed, sequences, sizes=(0.6, 1.6)):
    """Return every recording turned, resized and moved on its own, with rotations, sizes and shifts."""
    rng = np.random.default_rng(seed)
    rotations = [Rotation.from_quat(rng.normal(size=4)).as_matrix() for _ in sequences]
    sizes = np.exp(rng.uniform(*np.log(sizes), size=len(sequences)))
    shifts = 3 * rng.normal(size=(len(sequences), 3))
    parts = zip(sequences, sizes, rotations, shifts, strict=True)
    return [size * one @ rotation.T + shift for one, size, rotation, shift in parts], rotations, sizes, shifts


def turned(seed, sequences, sizes=(0.6, 1.6)):
    """Return every recording turned, resized and moved on its own, and the rotations."""
    return with_own_similarities(seed, sequences, sizes)[:2]


def degrees_between(one, other):
    return np.degrees(Rotation.from_matrix(one @ other.T).magnitude())


@pytest.fixture(scope="module")
def made():
    return make_demonstrations(3, n_frames=2, n_per_frame=1)


@pytest.fixture(scope="module")
def model(made):
    return ActionHMM(**SHORT).fit(made)


def make_visits(seed):
    """Four short recordings, each in a frame of its own, of one visit to eight places: as many actions."""
    places = np.random.default_rng(7).uniform(-1, 1, size=(8, 3))
    rng = np.random.default_rng(seed)
    phase = np.linspace(0, 1, 50)[:, None]
    eased = phase**3 * (10 - 15 * phase + 6 * phase**2)
    recordings = []
    for _ in range(4):
        stops = np.concatenate([np.zeros((1, 3)), places]) + 0.05 * rng.normal(size=(9, 3))
        parts = [a + eased * (b - a) for a, b in pairwise(stops)]
        recordings.append(np.concatenate(parts) + 0.005 * rng.normal(size=(400, 3)))
    return turned(seed, recordings)[0]


# --- what is reported ------------------------------------------------------------------------------------------------


def test_the_actions_of_demonstrations_are_found(model, made):
    assert model.n_actions_ == 3
    assert hamming(made.actions, model.actions_) < 0.05


def test_changes_of_action_have_intervals_as_wide_as_looks_are_apart(model, made, tmp_path):
    stride = model.preprocessing_.settings.stride
    assert stride > 1
    found = [(one.series, one.step) for one in model.action_boundaries_]
    assert found == [(one.series, one.start) for one in model.action_segments_ if one.start]
    for one in [*model.action_boundaries_, *model.boundaries_]:
        assert one.high - one.low + 1 >= stride
    true = [(i, step) for i, path in enumerate(made.actions) for step in np.flatnonzero(np.diff(path)) + 1]
    is_held = [
        any(one.series == i and one.low <= step <= one.high for one in model.action_boundaries_) for i, step in true
    ]
    assert np.mean(is_held) > 0.7
    model.save(tmp_path / "model.homothety")
    assert homothety.load(tmp_path / "model.homothety").action_boundaries_ == model.action_boundaries_


def test_steps_between_the_looks_around_a_change_are_in_doubt(model):
    one = model.action_boundaries_[0]
    at_change = model.action_probability_[one.series][one.step - 1 : one.step + 1]
    assert (at_change < 0.8).all()
    steps = np.array([one.step - 1, one.step]) + model.starts_[one.series]
    together = model.action_colabelling(steps, steps)
    np.testing.assert_allclose(np.diag(together), 1.0)
    stride = model.preprocessing_.settings.stride
    assert 1 - 1 / stride - 1e-9 <= together[0, 1] <= 1


def test_shapes_of_what_is_reported(model, made):
    n_states, n_actions = model.n_states_, model.n_actions_
    for name in ("actions_", "paths_", "action_probability_", "action_change_probability_", "state_probability_"):
        assert [len(one) for one in getattr(model, name)] == [len(one) for one in made.sequences]
    assert set(np.concatenate(model.actions_)) == set(range(n_actions))
    assert (np.diff(np.bincount(np.concatenate(model.actions_))) <= 0).all()
    assert model.state_actions_.shape == (n_states,)
    assert model.coaction_.shape == (n_states, n_states)
    assert model.means_.shape == (n_states, 6)  # positions and velocities
    assert model.covariances_.shape == (n_states, 6, 6)
    assert model.transition_probs_.shape == (n_states, n_states)
    assert model.block_weights_.shape == (2,)
    assert ((model.block_weights_ > 0) & (model.block_weights_ <= 1)).all()
    assert model.frame_labels_.shape == (2,)
    assert len(model.draws_) == len(model.action_draws_) == 20
    assert model.trace_["log_joint"].shape == (1, 40)
    assert model.blocks_.sentence == "Channels: position (x, y, z)."
    assert model.merges_.shape == (n_states - 1, 2)
    assert model.merge_gains_.shape == (n_states - 1,)
    assert {segment.label for segment in model.action_segments_} == set(range(n_actions))


def test_frames_are_relative_to_the_recording_with_most_steps(model, made):
    reference = int(np.argmax([len(one) for one in made.sequences]))
    for i, frame in enumerate(model.frames_):
        assert frame.recording == i
        assert frame.name == made.names[i]
        assert frame.is_reference == (i == reference)
        np.testing.assert_allclose(frame.rotation @ frame.rotation.T, np.eye(3), atol=1e-9)
        assert frame.sizes.shape == (2,)
        assert frame.size_intervals.shape == (2, 2)
        assert (frame.size_intervals[:, 0] <= frame.size_intervals[:, 1]).all()
        assert frame.places.shape == (1, 3)
        assert frame.place_intervals.shape == (1, 3, 2)
        assert 0 < frame.agreement <= 1
    own = model.frames_[reference]
    assert own.angle == own.angle_error == 0
    np.testing.assert_allclose(own.sizes, 1)
    np.testing.assert_allclose(own.places, 0, atol=1e-9)


def test_frames_are_those_of_the_demonstrations(model, made):
    reference = next(frame.recording for frame in model.frames_ if frame.is_reference)
    truth = made.frames.rotation @ made.frames.rotation[reference].T
    for frame in model.frames_:
        assert degrees_between(frame.rotation, truth[frame.recording]) < 10
        ratio = made.frames.size[frame.recording] / made.frames.size[reference]
        assert frame.sizes[0] == pytest.approx(ratio, rel=0.15)


def test_aligned_recordings_lie_on_each_other(model, made):
    aligned = model.aligned(made.sequences)
    reference = next(frame.recording for frame in model.frames_ if frame.is_reference)
    np.testing.assert_allclose(aligned[reference], made.sequences[reference], atol=1e-9)
    for action in range(3):
        means = [one[actions == action].mean(axis=0) for one, actions in zip(aligned, made.actions, strict=True)]
        apart = [one[actions == action].mean(axis=0) for one, actions in zip(made.sequences, made.actions, strict=True)]
        assert np.linalg.norm(means[0] - means[1]) < 0.2 * np.linalg.norm(apart[0] - apart[1])


def test_aligned_finds_the_frames_of_recordings_that_are_not_those_of_the_fit(model, made):
    moved, _ = turned(0, made.sequences)  # of the same lengths
    for one, other in zip(model.aligned(moved), model.aligned(made.sequences), strict=True):
        assert np.abs(one - other).max() < 0.15


def test_any_number_of_actions_can_be_reported(model, made):
    for n_actions in range(1, model.n_states_ + 1):
        actions = model.actions_at(n_actions)
        assert len(np.unique(np.concatenate(actions))) == n_actions
        assert [len(one) for one in actions] == [len(one) for one in made.sequences]
    with pytest.raises(InputError, match=rf"n_actions is 99, but only {model.n_states_} states were found"):
        model.actions_at(99)
    assert clone(model).set_params(n_actions=2).fit(made).n_actions_ == 2


def test_more_actions_than_states_are_warned_of(made):
    message = r"n_actions is 99, but \d+ actions are reported: .* least_stay"
    with pytest.warns(FewerActionsWarning, match=message) as told:
        model = ActionHMM(**QUICK, n_actions=99).fit(made)
    assert len(told) == 1
    assert model.n_actions_ == model.n_states_ < 99


# --- scikit-learn's conventions, files, checkpoints ------------------------------------------------------------------


def test_clone_keeps_parameters_and_nothing_fitted(model):
    fresh = clone(model)
    assert fresh.get_params() == model.get_params() == ActionHMM(**SHORT).get_params()
    assert not any(name.endswith("_") for name in vars(fresh))


@pytest.mark.parametrize("call", ["predict", "predict_actions", "aligned", "predict_proba", "score"])
def test_use_before_fit_is_refused(call, made):
    with pytest.raises(NotFittedError):
        getattr(ActionHMM(), call)(made.sequences)
    with pytest.raises(NotFittedError):
        ActionHMM().frames_  # noqa: B018


def test_equal_seeds_give_equal_answers_and_a_second_fit_leaves_nothing_of_the_first(model, made):
    again = ActionHMM(**QUICK).fit([one[:400] for one in made.sequences])
    again.set_params(**model.get_params()).fit(made)
    np.testing.assert_array_equal(again.trace_["log_joint"], model.trace_["log_joint"])
    assert all(map(np.array_equal, again.actions_, model.actions_))


def test_a_saved_model_comes_back_equal(model, made, tmp_path):
    model.save(tmp_path / "model.homothety")
    loaded = homothety.load(tmp_path / "model.homothety")
    assert loaded.get_params() == model.get_params()
    assert all(map(np.array_equal, loaded.actions_, model.actions_))
    moved, _ = turned(1, made.sequences)
    (actions, details), (expected, others) = (
        one.predict_actions(moved, return_details=True) for one in (loaded, model)
    )
    assert all(map(np.array_equal, actions, expected))
    assert [one.score for one in details] == [one.score for one in others]
    for one, other in zip(loaded.frames_, model.frames_, strict=True):
        np.testing.assert_array_equal(one.rotation, other.rotation)
    assert loaded.blocks_ == model.blocks_
    assert loaded.blocks_.sentence == model.blocks_.sentence
    assert all(map(np.array_equal, loaded.aligned(made.sequences), model.aligned(made.sequences)))


@pytest.mark.parametrize("seed", [0, None])
def test_a_run_goes_on_from_its_checkpoint(seed, made, tmp_path):
    recordings = [one[:400] for one in made.sequences]
    run = ActionHMM(n_chains=1, n_sweeps=8, n_burn=2, subsample=12, random_state=seed, checkpoint=tmp_path / "run")
    first = clone(run).set_params(n_sweeps=4).fit(recordings)
    resumed = clone(run).fit(recordings)
    np.testing.assert_array_equal(resumed.trace_["log_joint"][:, :4], first.trace_["log_joint"])
    if seed is not None:
        whole = clone(run).set_params(checkpoint=None).fit(recordings)
        np.testing.assert_array_equal(resumed.trace_["log_joint"], whole.trace_["log_joint"])
    with pytest.raises(CheckpointError, match="is the checkpoint of another run"):
        clone(run).fit([one[:-1] for one in recordings])


# --- invariance and new recordings -----------------------------------------------------------------------------------


def test_recordings_in_other_frames_have_the_same_actions(made):
    moved, _ = turned(2, made.sequences)
    actions, of_moved = (np.concatenate(ActionHMM(**SHORT).fit(each).actions_) for each in (made.sequences, moved))
    assert ari(actions, of_moved) >= 0.95  # a boundary that is drawn one look later costs 0.01


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_own_similarities_leave_actions_alone_and_are_found_in_the_frames(seed):
    made = make_demonstrations(seed)
    moved, rotations, sizes, shifts = with_own_similarities(seed + 100, made.sequences)
    before, after = (ActionHMM(random_state=seed, n_jobs=2).fit(each) for each in (made.sequences, moved))
    assert ari(np.concatenate(before.actions_), np.concatenate(after.actions_)) >= 0.98
    # A step of the reference x is at s R x + b of a recording. If a recording becomes c Q x + d, that becomes
    # (c s / c0) Q R Q0' x + ...: the similarity of the recording, the frame before, and that of the reference undone.
    reference = next(one.recording for one in before.frames_ if one.is_reference)
    assert after.frames_[reference].is_reference
    middle = moved[reference].mean(axis=0)
    there = (middle - shifts[reference]) @ rotations[reference] / sizes[reference]
    for i, (old, new) in enumerate(zip(before.frames_, after.frames_, strict=True)):
        expected = rotations[i] @ old.rotation @ rotations[reference].T
        error = degrees_between(new.rotation, expected)
        assert error < 4, (i, error)
        assert error <= old.angle_error + new.angle_error + 1e-3, (i, error)
        np.testing.assert_allclose(new.sizes, old.sizes * sizes[i] / sizes[reference], rtol=0.15)
        image = sizes[i] * rotations[i] @ (old.sizes[0] * old.rotation @ there + old.places[0]) + shifts[i]
        spread = moved[i].std(axis=0).max()
        np.testing.assert_allclose(new.sizes[0] * new.rotation @ middle + new.places[0], image, atol=0.15 * spread)


def test_score_is_a_density_in_the_units_of_recordings(model, made):
    score = model.score(made.sequences)
    # Three coordinates and three velocities, all twice as large.
    assert model.score([2 * np.asarray(one) for one in made.sequences]) == pytest.approx(
        score - 6 * np.log(2), abs=0.05
    )


@pytest.mark.parametrize(("frames", "warns"), [([0, 1, 0], False), ([0, 1, 2], True)])
def test_a_recording_that_rests_needs_no_frame_if_it_is_given_that_of_another(made, frames, warns):
    resting = np.full((60, 3), 0.3)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ActionHMM(n_chains=1, n_sweeps=4, random_state=0, frames=frames).fit([*made.sequences, resting])
    messages = [str(one.message) for one in said if one.category is RestingRecordingWarning]
    assert len(messages) == warns
    assert all("mean nothing" in message for message in messages)


def test_new_recordings_in_new_frames_have_the_known_actions(model):
    new = make_demonstrations(11, n_frames=2, n_per_frame=1)
    actions, details = model.predict_actions(new.sequences, return_details=True)
    assert hamming(new.actions, actions) < 0.06
    for one, recording in zip(details, new.sequences, strict=True):
        assert one.fits
        assert one.action_probs.shape == (len(recording), 3)
        np.testing.assert_allclose(one.action_probs.sum(axis=1), 1)
        assert one.frame.sizes.shape == (2,)
        assert one.frame.places.shape == (1, 3)
    truth = new.frames.rotation[0] @ new.frames.rotation[1].T
    assert degrees_between(details[0].frame.rotation @ details[1].frame.rotation.T, truth) < 10


def test_frames_of_new_recordings_have_intervals_in_the_units_of_recordings(model, made):
    reference = next(frame for frame in model.frames_ if frame.is_reference)
    turn, size, place = Rotation.from_rotvec([0.3, -0.8, 1.0]).as_matrix(), 2.5, np.array([10.0, -20.0, 5.0])
    moved = size * made.sequences[reference.recording] @ turn.T + place
    again, (detail,) = model.predict_actions([moved], return_details=True)
    frame = detail.frame
    assert (frame.recording, frame.name, frame.is_reference, frame.shared_with) == (0, "series 0", False, ())
    assert degrees_between(frame.rotation, turn) < max(2 * frame.angle_error, 1)
    assert 0.2 < frame.angle_error < 10
    assert frame.agreement > 0.9
    low, high = frame.size_intervals[0]
    assert low < frame.sizes[0] < high
    assert 0.75 * size < low < 1.05 * size  # sizes have a prior about one
    assert 0.95 * size < high < 1.25 * size
    assert np.abs(frame.places[0] - place).max() < 0.2 * size
    assert (frame.place_intervals[0, :, 0] < frame.places[0]).all()
    assert (frame.places[0] < frame.place_intervals[0, :, 1]).all()
    assert np.ptp(frame.place_intervals[0], axis=1).max() < size
    same = model.predict_actions([moved], return_details=True)[1][0].frame
    np.testing.assert_array_equal(same.place_intervals, frame.place_intervals)
    np.testing.assert_array_equal(again, model.predict_actions([moved]))


def test_new_recordings_do_not_depend_on_each_other(model):
    new = make_demonstrations(11, n_frames=2, n_per_frame=1).sequences
    together, alone = model.predict_actions(new)[0], model.predict_actions(new[:1])[0]
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(model.predict_actions([new[0] + 1e4])[0], alone)


def test_a_recording_of_something_else_does_not_fit(model):
    time = np.linspace(0, 2 * np.pi, 800)
    knot = np.column_stack([np.sin(5 * time), np.sin(7 * time), np.cos(3 * time)])
    walk = 0.02 * np.cumsum(np.random.default_rng(0).normal(size=(800, 3)), axis=0)
    _, details = model.predict_actions([knot, walk], return_details=True)
    assert [one.fits for one in details] == [False, False]


def test_states_of_new_recordings(model, made):
    assert [len(one) for one in model.predict(made.sequences)] == [len(one) for one in made.sequences]
    assert model.predict_proba(made.sequences)[0].shape == (len(made.sequences[0]), model.n_states_)
    assert np.isfinite(model.score(made.sequences))


# --- frames and rotations --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frames", "labels"),
    [
        ("one", [0, 0, 0]),
        ("each", [0, 1, 2]),
        (["left", "right", "left"], [0, 1, 0]),
        (np.array([7, 7, 7]), [0, 0, 0]),
    ],
)
def test_given_frames_are_kept(frames, labels, made):
    recordings = [made.sequences[0][:400], made.sequences[1][:400], made.sequences[0][400:800]]
    model = ActionHMM(frames=frames, **QUICK).fit(recordings)
    assert model.frame_labels_.tolist() == labels
    for frame in model.frames_:
        assert list(frame.shared_with) == [
            i for i in range(3) if i != frame.recording and labels[i] == labels[frame.recording]
        ]
    for one in model.frames_:
        for other in model.frames_:
            if labels[one.recording] == labels[other.recording]:
                np.testing.assert_array_equal(one.rotation, other.rotation)


def test_given_frames_are_found(made):
    recordings = [*made.sequences, made.sequences[1][:500]]
    model = ActionHMM(frames=["a", "b", "b"], **SHORT).fit(recordings)
    truth = made.frames.rotation[0] @ made.frames.rotation[1].T
    found = model.frames_[0].rotation @ model.frames_[1].rotation.T
    assert degrees_between(found, truth) < 10


@pytest.mark.parametrize("rotations", ["yaw", "none"])
def test_rotations_can_be_limited(rotations, made):
    model = ActionHMM(rotations=rotations, **QUICK).fit([one[:400] for one in made.sequences])
    for frame in model.frames_:
        np.testing.assert_allclose(frame.rotation[2], [0, 0, 1], atol=1e-9)
        if rotations == "none":
            np.testing.assert_allclose(frame.rotation, np.eye(3), atol=1e-12)


# --- blocks ----------------------------------------------------------------------------------------------------------


def short_of(made, n_steps=300):
    return [one[:n_steps] for one in made.sequences]


def quaternions_of(recordings):
    return [np.roll(Rotation.from_euler("xyz", one).as_quat(), 1, axis=1) for one in recordings]


def test_blocks_go_by_the_names_of_channels(made):
    pandas = pytest.importorskip("pandas")
    recordings = short_of(made)
    named = [
        pandas.DataFrame(np.column_stack([q[:, 1:], q[:, :1], p]), columns=["qx", "qy", "qz", "qw", "x", "y", "z"])
        for p, q in zip(recordings, quaternions_of(recordings), strict=True)
    ]
    model = ActionHMM(**QUICK).fit(named)
    assert model.blocks_.kinds == ("quaternion", "point")
    assert model.blocks_.order == (3, 0, 1, 2, 4, 5, 6)
    assert model.aligned(named)[0].shape == (300, 7)
    assert len(model.predict_actions(named)) == 2


@pytest.mark.parametrize(
    ("blocks", "n_sizes"),
    [
        (["point", "quaternion"], 2),
        (["point", "vector", "plain"], 3),
        (["plain"] * 7, 0),
        (["quaternion", "point"], 2),
    ],
)
def test_blocks_can_be_listed(blocks, n_sizes, made):
    recordings = short_of(made)
    parts = {
        "point": recordings,
        "vector": [np.gradient(one, axis=0) for one in recordings],
        "quaternion": quaternions_of(recordings),
        "plain": [one[:, :1] ** 2 for one in recordings],
    }
    given = [np.column_stack([parts[kind][i] for kind in blocks]) for i in range(2)]
    if blocks[0] == "plain":
        given = [one + 0.01 * np.random.default_rng(0).normal(size=one.shape) for one in given]
    model = ActionHMM(blocks=blocks, **QUICK).fit(given)
    assert list(model.blocks_.kinds) == blocks
    assert model.frames_[0].sizes.shape[0] <= n_sizes  # blocks may be found to stay as recorded
    assert [len(one) for one in model.predict_actions(given)] == [300, 300]
    assert model.aligned(given)[0].shape == given[0].shape


def test_orientations_turn_with_positions(made):
    recordings = short_of(made, 500)
    canonical = [one @ rotation for one, rotation in zip(recordings, made.frames.rotation[:2], strict=True)]
    given = []
    for one, rotation, point in zip(canonical, made.frames.rotation, recordings, strict=True):
        orientation = Rotation.from_matrix(rotation) * Rotation.from_euler("xyz", 2 * (one - one.mean(axis=0)))
        given.append(np.column_stack([point, np.roll(orientation.as_quat(), 1, axis=1)]))
    model = ActionHMM(blocks=["point", "quaternion"], **SHORT | {"n_sweeps": 200}).fit(given)
    reference = next(frame.recording for frame in model.frames_ if frame.is_reference)
    other = 1 - reference
    truth = made.frames.rotation[other] @ made.frames.rotation[reference].T
    assert degrees_between(model.frames_[other].rotation, truth) < 10


@pytest.mark.filterwarnings("ignore::homothety.errors.DataWarning")
@pytest.mark.parametrize("is_turned", [True, False])
@pytest.mark.parametrize("kind", ["quaternion", "vector"])
def test_blocks_that_do_not_turn_with_positions_are_left_as_recorded(kind, is_turned, made):
    given = []
    for points, rotation in zip(short_of(made), made.frames.rotation, strict=True):
        canonical = (points - points.mean(axis=0)) @ rotation
        turn = Rotation.from_matrix(rotation if is_turned else np.eye(3))
        if kind == "quaternion":
            values = np.roll((turn * Rotation.from_euler("xyz", 2 * canonical)).as_quat(), 1, axis=1)
        else:
            values = turn.apply([0.3, 0.0, 1.0] + 3 * canonical)
        given.append(np.column_stack([points, values]))
    model = ActionHMM(blocks=["point", kind], **QUICK).fit(given)
    assert model.prepared_blocks_.kinds[2] == "vector"  # velocities come last, and always turn
    assert model.prepared_blocks_.still == (() if is_turned else (1,))


def test_recordings_turned_as_a_whole_though_orientations_stayed_still_in_the_fit(made):
    rng, given = np.random.default_rng(5), []
    for points, rotation in zip(short_of(made), made.frames.rotation, strict=True):
        canonical = (points - points.mean(axis=0)) @ rotation
        given.append(np.column_stack([points, np.roll(Rotation.from_euler("xyz", 2 * canonical).as_quat(), 1, axis=1)]))
    model = ActionHMM(blocks=["point", "quaternion"], **QUICK).fit(given)
    assert model.prepared_blocks_.still == (1,)
    for one, known in zip(given, model.actions_, strict=True):
        turn = Rotation.from_quat(rng.normal(size=4))
        quaternions = np.roll((turn * Rotation.from_quat(np.roll(one[:, 3:], -1, axis=1))).as_quat(), 1, axis=1)
        found, (detail,) = model.predict_actions(
            [np.column_stack([2 * turn.apply(one[:, :3]) + 1, quaternions])], return_details=True
        )
        assert detail.fits
        assert hamming([known], found) < 0.05


def test_sensors_that_were_never_tared_are_no_new_recordings(made):
    rng = np.random.default_rng(0)
    given = [np.column_stack([one, 3.0 + 0.05 * rng.normal(size=one.shape)]) for one in short_of(made)]
    model = ActionHMM(blocks=["point", "vector"], **QUICK).fit(given)
    found, details = model.predict_actions([one + 1e-9 for one in given], return_details=True)
    assert all(detail.fits for detail in details)
    assert hamming(model.actions_, found) < 0.05


def test_without_velocities_recordings_have_frames(made):
    model = ActionHMM(velocities=False, **QUICK).fit(made)
    assert model.least_looks_ > 1
    assert len(np.unique(model.frame_labels_)) == 2


def test_plain_channels_have_one_frame(made):
    model = ActionHMM(blocks=["plain"] * 3, **QUICK).fit(short_of(made))
    assert model.frame_labels_.tolist() == [0, 0]


def test_frames_of_orientations_alone(made):
    rng = np.random.default_rng(0)
    rotations = [Rotation.from_quat(rng.normal(size=4)) for _ in made.sequences]
    given = []
    for one, frame, rotation in zip(made.sequences, made.frames.rotation, rotations, strict=True):
        canonical = (one - one.mean(axis=0)) @ frame / one.std()
        given.append(np.roll((rotation * Rotation.from_rotvec(0.5 * canonical)).as_quat(), 1, axis=1))
    model = ActionHMM(blocks=["quaternion"], **SHORT).fit(given)
    reference = next(frame.recording for frame in model.frames_ if frame.is_reference)
    other = model.frames_[1 - reference]
    truth = (rotations[1 - reference] * rotations[reference].inv()).as_matrix()
    assert degrees_between(other.rotation, truth) < 10
    assert hamming(made.actions, model.actions_) < 0.25
    found = model.predict_actions([-given[0]])  # of the other sign, but the same orientations
    assert hamming(model.actions_[:1], found) < 0.05


def test_recordings_in_the_plane(made):
    canonical = [(one @ rotation)[:, :2] for one, rotation in zip(made.sequences, made.frames.rotation, strict=True)]
    angles = [0.5, 2.5]
    given = [
        one[:700] @ np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]])
        for one, a in zip(canonical, angles, strict=True)
    ]
    model = ActionHMM(**SHORT).fit(given)
    other = next(frame for frame in model.frames_ if not frame.is_reference)
    assert other.rotation.shape == (2, 2)
    assert other.angle == pytest.approx(np.degrees(2.0), abs=10)


def test_plain_channels_only():
    rng = np.random.default_rng(0)
    levels = np.repeat([0.0, 5.0, 0.0, 5.0], 100)[:, None]
    model = ActionHMM(blocks=["plain"], **SHORT).fit([levels + rng.normal(size=levels.shape) for _ in range(2)])
    assert model.n_actions_ == 2
    assert model.frames_[0].sizes.shape == (0,)
    assert model.frames_[0].angle == 0


def test_recordings_may_come_as_one_array(made):
    recordings = short_of(made)
    model = ActionHMM(**QUICK).fit(np.concatenate(recordings), lengths=[300, 300])
    assert [len(one) for one in model.actions_] == [300, 300]


# --- what cannot be used, and what can hardly be used ----------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::homothety.errors.DataWarning")
def test_a_recording_that_rests_has_the_frame_of_another(made):
    recordings = [np.tile(made.sequences[0][:1], (200, 1)), *made.sequences]
    with pytest.warns(RestingRecordingWarning, match=r"their frames cannot be inferred: 0 \(series 0\)\."):
        model = ActionHMM(**SHORT).fit(recordings)
    assert model.frame_labels_[0] in model.frame_labels_[1:]
    assert 0.3 < model.frames_[0].sizes[0] < 3
    assert hamming(made.actions, model.actions_[1:]) < 0.1
    (actions,), (details,) = model.predict_actions(recordings[:1], return_details=True)
    assert len(actions) == 200
    assert details.frame is None


@pytest.mark.filterwarnings("ignore::homothety.errors.DataWarning")
def test_recordings_that_all_rest(made):
    recordings = [np.tile(made.sequences[i][:1], (100, 1)) for i in range(2)]
    with pytest.warns(RestingRecordingWarning):
        model = ActionHMM(**QUICK).fit(recordings)
    assert model.frame_labels_.tolist() == [0, 0]


@pytest.mark.parametrize("is_turned", [False, True])
def test_recordings_that_lie_in_a_plane(is_turned, made):
    flat = [one @ turn * [1, 1, 0] for one, turn in zip(made.sequences, made.frames.rotation, strict=True)]
    recordings, rotations = turned(3, flat) if is_turned else (flat, [np.eye(3)] * 2)
    model = ActionHMM(**SHORT).fit(recordings)
    assert model.spans_ == (2, 2)
    assert hamming(made.actions, model.actions_) < 0.05
    reference = next(frame.recording for frame in model.frames_ if frame.is_reference)
    other = model.frames_[1 - reference]
    assert other.free_axis is None
    error = degrees_between(other.rotation, rotations[1 - reference] @ rotations[reference].T)
    assert error < max(2 * other.angle_error, 1e-6)
    assert 0.1 < other.angle_error < 15
    assert all(detail.fits for detail in model.predict_actions(recordings, return_details=True)[1])


def on_a_line(directions):
    """Return recordings of a slide that swings at one end, slides to the other and swings more widely there."""
    rng = np.random.default_rng(0)
    recordings = []
    for direction in directions:
        parts = []
        for _ in range(3):
            swing, slide = np.arange(rng.integers(150, 220)), np.linspace(0, 1, rng.integers(80, 120))
            way = 3 * slide**2 - 2 * slide**3
            parts += [
                0.15 * np.sin(2 * np.pi * swing / 40),
                2 * way,
                2 + 0.6 * np.sin(2 * np.pi * swing / 80),
                2 - 2 * way,
            ]
        steps = np.concatenate(parts)
        recordings.append(np.outer(steps + 0.01 * rng.normal(size=len(steps)), direction))
    return recordings


def test_the_rotation_about_straight_recordings_is_not_determined():
    directions = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8], [0.0, 1.0, 0.0]])
    recordings = on_a_line(directions)
    with pytest.warns(StraightRecordingsWarning, match="the rotation about its line cannot be determined") as told:
        model = ActionHMM(**SHORT).fit(recordings)
    assert len(told) == 1
    assert model.n_actions_ > 1
    reference = next(frame.recording for frame in model.frames_ if frame.is_reference)
    for frame in model.frames_:
        if frame.is_reference:
            assert frame.free_axis is None
            continue
        np.testing.assert_allclose(np.abs(frame.free_axis), directions[frame.recording], atol=1e-3)
        np.testing.assert_allclose(frame.rotation @ directions[reference], directions[frame.recording], atol=0.2)
        assert 0.1 < frame.angle_error < 15
        # The smallest rotation turns about an axis across both lines.
        across = Rotation.from_matrix(frame.rotation).as_rotvec()
        assert abs(across @ frame.free_axis) / np.linalg.norm(across) < 0.1
    assert all(detail.fits for detail in model.predict_actions(recordings, return_details=True)[1])


def test_a_constant_coordinate_in_the_plane():
    with pytest.warns(
        StraightRecordingsWarning, match="lies on a straight line, so that few actions can be told apart. To find"
    ):
        model = ActionHMM(**SHORT).fit(on_a_line([np.array([1.0, 0.0])] * 3))
    assert model.spans_ == (1, 1)
    assert model.n_states_ > 1
    assert model.frame_labels_.tolist() == [0, 0, 0]


def with_short(made):
    return [*made.sequences, made.sequences[0][:6]]


def with_long_quaternions(made):
    recordings = short_of(made)
    return [np.column_stack([one, 2 * q]) for one, q in zip(recordings, quaternions_of(recordings), strict=True)]


def with_constant_channel(made):
    return [np.column_stack([one, np.ones(len(one))]) for one in made.sequences]


def as_given(made):
    return made.sequences


@pytest.mark.parametrize(
    ("recordings", "parameters", "message"),
    [
        (
            as_given,
            {"blocks": ["point", "point"]},
            r"blocks is \['point', 'point'\], which needs 4 channels in 2-D or 6",
        ),
        (
            as_given,
            {"blocks": ["points"]},
            "blocks has 'points' at place 0, counted from 0, needed one of 'point', 'vector'",
        ),
        (with_long_quaternions, {"blocks": ["point", "quaternion"]}, r"has norm 2 at step 0 .*needed 1 within 0.01"),
        (with_short, {}, r"Recording 2 \(series 2\) has 6 steps, needed at least \d+: one of \d+ steps is used"),
        (with_constant_channel, {"blocks": ["point", "plain"]}, r"channel 3 .* is the same at every step of all"),
        (as_given, {"frames": ["a"]}, "frames has 1 labels for 2 recordings, needed one label for each, or 'auto'"),
        (as_given, {"frames": 2}, "frames is 2 for 2 recordings, needed one label for each, or 'auto'"),
        (as_given, {"frames": "two"}, "frames is 'two', needed 'auto', 'one', 'each' or a label for each recording"),
        (as_given, {"rotations": "up"}, "rotations is 'up', needed 'all', 'yaw' or 'none'"),
        (as_given, {"velocities": "yes"}, "velocities is 'yes', needed True, False or 'auto'"),
        (as_given, {"least_stay": 0}, "least_stay is 0, needed at least 1"),
        (as_given, {"subsample": 1.5}, "subsample is 1.5, needed a whole number"),
        (as_given, {"n_actions": 0}, "n_actions is 0, needed at least 1"),
        (as_given, {"point_estimate": "mean"}, "point_estimate is 'mean', needed 'vi' or 'map'"),
    ],
)
def test_bad_input_is_named_in_one_line(recordings, parameters, message, made):
    with pytest.raises(InputError, match=message) as caught:
        ActionHMM(**QUICK | parameters).fit(recordings(made))
    assert "\n" not in str(caught.value)


def test_bad_new_recordings_are_named(model):
    with pytest.raises(InputError, match="Recordings have 2 channels, needed 3 as fitted"):
        model.predict_actions([np.random.default_rng(0).normal(size=(100, 2))])
    with pytest.raises(InputError, match=r"Recording 0 \(series 0\) has 4 steps, needed at least"):
        model.predict_actions([np.eye(4, 3)])


def test_names_of_recordings_are_kept(made):
    named = SequenceSet(short_of(made), None, None, ("first", "second"), ("x", "y", "z"), "two")
    model = ActionHMM(**QUICK).fit(named)
    assert [frame.name for frame in model.frames_] == ["first", "second"]


def test_short_recordings_of_many_actions_are_not_one_action(monkeypatch):
    recordings = make_visits(1)
    assert ActionHMM(**QUICK | {"subsample": 4}).fit(recordings).n_states_ >= 6
    # The fault: the first weights are those of one state, which holds all differences between actions.
    monkeypatch.setattr(homothety.models.frames.defaults, "FIRST_OBSERVATIONS", (0.0,))
    assert ActionHMM(**QUICK | {"subsample": 4}).fit(recordings).n_states_ < 5


def n_states_of(task, seed):
    """Return the number of states that a short chain finds in a made-up task, with the stride that is measured."""
    return ActionHMM(**SHORT | {"n_sweeps": 4}).fit(TASKS[task](seed)).n_states_


def test_one_state_is_not_believed_on_weights_that_could_not_tell_two_apart(monkeypatch):
    assert n_states_of("Moves of three kinds, and rests", 1) >= 3
    # The fault: the search does not begin again.
    monkeypatch.setattr(homothety.models.frames.defaults, "FIRST_OBSERVATIONS", (120.0,))
    assert n_states_of("Moves of three kinds, and rests", 1) == 1


def test_one_swing_is_one_state():
    assert n_states_of("One swing", 0) == 1
