"""Summaries of draws of frames: relative to one recording, in the units of recordings, other modes counted apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from homothety.models.frames.frames import Blocks, Frames, aligned_steps, rotation_matrices, turn_of_matrix
from homothety.summaries.frames import (
    PreparedBlocks,
    _angle_between_turns,
    _mean_turn,
    _without_twist,
    frame_table,
    relative_to,
    rotation_angle,
    sharing,
)

BLOCKS = Blocks(("point", "vector"), 3)
PREPARED = PreparedBlocks(BLOCKS, 2, np.zeros(6), np.ones(6))


def some_turns(rng, n):
    return np.stack([turn_of_matrix(Rotation.from_quat(rng.normal(size=4)).as_matrix()) for _ in range(n)])


def some_frames(rng, labels):
    n = max(labels) + 1
    return Frames(np.array(labels), some_turns(rng, n), 0.3 * rng.normal(size=(n, 2)), rng.normal(size=(n, 1, 3)))


def near(rng, frames, spread):
    small = [Rotation.from_rotvec(spread * rng.normal(size=3)) for _ in range(frames.n_frames)]
    turns = np.stack(
        [
            turn_of_matrix((Rotation.from_matrix(r) * s).as_matrix())
            for r, s in zip(frames.rotations, small, strict=True)
        ]
    )
    sizes = frames.log_sizes + spread * rng.normal(size=frames.log_sizes.shape)
    return Frames(frames.labels, turns, sizes, frames.places + spread * rng.normal(size=frames.places.shape))


def test_relative_frames_align_with_the_reference(rng):
    frames = some_frames(rng, [0, 1, 0])
    steps, starts = rng.normal(size=(30, 6)), np.array([0, 10, 20, 30])
    canonical = aligned_steps(BLOCKS, frames, steps, starts)
    relative = relative_to(BLOCKS, frames, reference=1)
    in_reference = aligned_steps(BLOCKS, relative, steps, starts)
    np.testing.assert_allclose(in_reference[10:20], steps[10:20])
    alone = Frames(np.zeros(3, dtype=int), frames.turns[1:], frames.log_sizes[1:], frames.places[1:])
    np.testing.assert_allclose(aligned_steps(BLOCKS, alone, in_reference, starts), canonical)


def test_a_common_transform_changes_nothing(rng):
    frames, common = some_frames(rng, [0, 1]), Rotation.from_quat(rng.normal(size=4)).as_matrix()
    turns = np.stack([turn_of_matrix(rotation @ common) for rotation in frames.rotations])
    size, place = 0.4, rng.normal(size=3)
    carried = np.exp(frames.log_sizes[:, :1]) * (frames.rotations @ place)
    other = Frames(frames.labels, turns, frames.log_sizes + size, frames.places + carried[:, None])
    one, same = (relative_to(BLOCKS, each, 0) for each in (frames, other))
    np.testing.assert_allclose(rotation_matrices(same.turns), rotation_matrices(one.turns), atol=1e-9)
    np.testing.assert_allclose(same.log_sizes, one.log_sizes, atol=1e-9)


def test_a_table_has_means_intervals_and_agreement(rng):
    centre = some_frames(rng, [0, 1, 2])
    draws = [near(rng, centre, 0.02) for _ in range(40)]
    flipped = Frames(centre.labels, centre.turns.copy(), centre.log_sizes, centre.places)
    turns = flipped.turns.copy()
    turns[2] = turn_of_matrix(flipped.rotations[2] @ np.diag([1.0, -1.0, -1.0]))
    draws += [Frames(centre.labels, turns, centre.log_sizes, centre.places)] * 10
    table = frame_table(PREPARED, draws, ("a", "b", "c"), 0, best=0, middle=np.zeros(6))
    np.testing.assert_allclose(table.agreements, [1.0, 1.0, 0.8])
    truth = relative_to(BLOCKS, centre, 0)
    errors = np.degrees(_angle_between_turns(table.turns, truth.turns))
    assert errors.max() < 3
    np.testing.assert_allclose(table.log_sizes, truth.log_sizes, atol=0.05)
    assert (np.degrees(table.angle_errors) < 6).all()
    assert (table.size_intervals[1:, :, 0] < table.log_sizes[1:]).all()
    assert (table.log_sizes[1:] < table.size_intervals[1:, :, 1]).all()
    np.testing.assert_array_equal(table.labels, [0, 1, 2])


def test_rows_are_in_the_units_of_the_recordings(rng):
    """A step of the reference, taken through its row, is where the frame of prepared steps takes it."""
    frames = some_frames(rng, [0, 1])
    offset, factors = np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0]), np.repeat([4.0, 0.5], 3)
    prepared = PreparedBlocks(BLOCKS, 2, offset, factors)
    table = frame_table(prepared, [frames], ("a", "b"), 0, best=0, middle=np.zeros(6))
    rows = table.rows
    step = rng.normal(size=3)
    prepared = (step - offset[:3]) * factors[:3]
    own = table.frames
    moved = np.exp(own.log_sizes[1, 0]) * own.rotations[1] @ prepared + own.places[1, 0]
    np.testing.assert_allclose(
        rows[1].sizes[0] * rows[1].rotation @ step + rows[1].places[0], moved / factors[:3] + offset[:3]
    )
    assert (rows[0].is_reference, rows[1].is_reference) == (True, False)
    assert rows[1].angle == pytest.approx(np.degrees(rotation_angle(rows[1].rotation)))


def test_intervals_of_places_are_those_of_the_origin_of_the_recordings(rng):
    # Far from the origin, a small rotation moves it a lot.
    centre, middle = some_frames(rng, [0, 1]), np.array([30.0, -20.0, 10.0, 0.0, 0.0, 0.0])
    offset, factors = np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0]), np.repeat([4.0, 0.5], 3)
    draws = [near(rng, centre, 0.02) for _ in range(60)]
    prepared = PreparedBlocks(BLOCKS, 2, offset, factors)
    table = frame_table(prepared, draws, ("a", "b"), 0, best=0, middle=middle)
    alone = [frame_table(prepared, [one], ("a", "b"), 0, best=0, middle=middle) for one in draws]
    places = np.array([one.rows[1].places for one in alone])
    row = table.rows[1]
    np.testing.assert_allclose(np.moveaxis(row.place_intervals, -1, 0), np.quantile(places, [0.05, 0.95], axis=0))
    assert (row.place_intervals[..., 0] < row.places).all()
    assert (row.places < row.place_intervals[..., 1]).all()


def test_sharing_is_what_most_draws_have():
    def drawn(labels):
        n = max(labels) + 1
        return Frames(np.array(labels), np.tile([1.0, 0, 0, 0], (n, 1)), np.zeros((n, 2)), np.zeros((n, 1, 3)))

    draws = [drawn([0, 0, 1, 2]), drawn([0, 0, 1, 1]), drawn([0, 1, 2, 2])]
    assert sharing(draws).tolist() == [0, 0, 1, 1]


def test_angles(rng):
    assert rotation_angle(np.eye(3)) == 0
    assert rotation_angle(np.array([[0.0, 1.0], [-1.0, 0.0]])) == pytest.approx(np.pi / 2)
    one, other = some_turns(rng, 2)
    expected = rotation_angle(rotation_matrices(one) @ rotation_matrices(other).T)
    assert _angle_between_turns(one, other) == pytest.approx(expected)
    assert _angle_between_turns(one, -other) == pytest.approx(expected)
    plane = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert _angle_between_turns(plane[0], plane[1]) == pytest.approx(np.pi / 2)


def test_the_mean_of_turns_does_not_mind_signs(rng):
    (turn,) = some_turns(rng, 1)
    np.testing.assert_allclose(_mean_turn(np.stack([turn, -turn, turn]), turn), turn)


def test_without_its_twist_a_rotation_carries_the_same_to_the_axis(rng):
    axis = np.array([0.6, 0.0, 0.8])
    for turn in some_turns(rng, 5):
        smallest = rotation_matrices(_without_twist(turn, axis))
        np.testing.assert_allclose(smallest.T @ axis, rotation_matrices(turn).T @ axis, atol=1e-9)
        origin = smallest.T @ axis
        assert rotation_angle(smallest) == pytest.approx(np.arccos(origin @ axis))
    back = rotation_matrices(_without_twist(np.array([0.0, 0.0, 1.0, 0.0]), axis))
    np.testing.assert_allclose(back @ -axis, axis, atol=1e-9)
    np.testing.assert_allclose(back.T @ back, np.eye(3), atol=1e-9)


def test_the_rotation_about_a_line_is_left_out_of_the_rotation_and_its_error(rng):
    centre, axis = some_frames(rng, [0, 1]), np.array([0.6, 0.0, 0.8])
    draws = []
    for draw in (near(rng, centre, 0.02) for _ in range(40)):
        twist = Rotation.from_rotvec(rng.uniform(0, 2 * np.pi) * axis).as_matrix()
        turns = np.stack([draw.turns[0], turn_of_matrix(twist @ draw.rotations[1])])
        draws.append(Frames(draw.labels, turns, draw.log_sizes, draw.places))
    axes = np.stack([np.zeros(3), axis])
    table = frame_table(PREPARED, draws, ("a", "b"), 0, 0, np.zeros(6), axes)
    assert table.agreements[1] == 1
    assert table.angle_errors[1] < 0.2
    rows = table.rows
    assert rows[0].free_axis is None
    np.testing.assert_allclose(rows[1].free_axis, axis)
    truth = centre.rotations[1] @ centre.rotations[0].T
    np.testing.assert_allclose(rows[1].rotation.T @ axis, truth.T @ axis, atol=0.05)
    shared = frame_table(
        PREPARED,
        [Frames(np.zeros(2, int), *(getattr(centre, name)[:1] for name in ("turns", "log_sizes", "places")))],
        ("a", "b"),
        0,
        0,
        np.zeros(6),
        axes,
    )
    assert not shared.free_axes.any()
