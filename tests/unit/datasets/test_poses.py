"""Recordings in the coordinates of an object are the same wherever the object is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from homothety.channels import guess_blocks
from homothety.cli import segment
from homothety.cli.app import build_parser
from homothety.datasets import SequenceSet, in_object_coordinates, make_demonstrations, shared_frames
from homothety.datasets.poses import read_poses, split_poses
from homothety.errors import InputError

CHANNELS = ("x", "y", "z", "fx", "fy", "fz", "qx", "qy", "qz", "qw", "gripper")


@pytest.fixture
def posed(rng):
    """Return what a hand does about an object, the same as recorded for three poses of it, and the poses."""
    local = rng.normal(size=(9, len(CHANNELS)))
    local[:, 6:10] /= np.linalg.norm(local[:, 6:10], axis=1, keepdims=True)
    turns, places = Rotation.random(3, random_state=0), rng.normal(size=(3, 3))
    recorded = []
    for turn, place in zip(turns, places, strict=True):
        one = local.copy()
        one[:, :3] = turn.apply(local[:, :3]) + place
        one[:, 3:6] = turn.apply(local[:, 3:6])
        one[:, 6:10] = (turn * Rotation.from_quat(local[:, 6:10])).as_quat()
        recorded.append(one)
    poses = np.tile(np.eye(4), (3, 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = turns.as_matrix(), places
    return local, SequenceSet(recorded, channels=CHANNELS, rate=10.0), poses


def same_orientations(one, other):
    return np.allclose(np.abs((one * other).sum(axis=1)), 1)


@pytest.mark.parametrize("form", ["matrices", "quaternions"])
def test_all_recordings_look_the_same_from_the_object(posed, form):
    local, items, poses = posed
    if form == "quaternions":
        turns = np.roll(Rotation.from_matrix(poses[:, :3, :3]).as_quat(), 1, axis=1)
        poses = np.hstack([poses[:, :3, 3], -turns])
    seen = in_object_coordinates(items, poses)
    assert (seen.names, seen.channels, seen.rate) == (items.names, CHANNELS, 10.0)
    for one in seen.sequences:
        np.testing.assert_allclose(np.delete(one, range(6, 10), axis=1), np.delete(local, range(6, 10), axis=1))
        assert same_orientations(one[:, 6:10], local[:, 6:10])


def test_frames_of_made_up_demonstrations_are_undone():
    items = make_demonstrations(0, n_per_frame=1)
    poses = np.tile(np.eye(4), (len(items), 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = items.frames.rotation, items.frames.origin
    (position,) = (one for one, kind in zip(*_blocks(items), strict=True) if kind == "point")
    for i, one in enumerate(in_object_coordinates(items, poses).sequences):
        again = items.frames.origin[i] + one[:, position] @ items.frames.rotation[i].T
        np.testing.assert_allclose(again, items.sequences[i][:, position], atol=1e-9)


def _blocks(items):
    found = guess_blocks(items.channels or None, items.n_dims)
    return [list(channels) for channels in found.channels], found.kinds


def test_recordings_without_a_pose_stay_and_have_frames_of_their_own(posed):
    local, items, poses = posed
    poses[1] = np.nan
    seen = in_object_coordinates(items, poses)
    np.testing.assert_array_equal(seen.sequences[1], items.sequences[1])
    np.testing.assert_allclose(seen.sequences[2][:, :6], local[:, :6], atol=1e-9)
    assert shared_frames(poses) == [0, 1, 0]
    assert shared_frames(poses[[0, 2]]) == "one"


def test_a_missing_coordinate_makes_its_block_missing(posed):
    _, items, poses = posed
    items.sequences[0][4, 1] = np.nan
    seen = in_object_coordinates(items, poses)
    assert np.isnan(seen.sequences[0][4]).tolist() == [True] * 3 + [False] * 8


@pytest.mark.parametrize(
    ("poses", "said"),
    [
        (np.zeros((2, 4, 4)), r"poses has shape \(2, 4, 4\), needed \(3, 4, 4\) or \(3, 7\)"),
        (np.diag([1, 1, -1, 1]) * np.ones((3, 1, 1)), r"poses\[0\] is .*, needed a rotation"),
        (np.full((3, 4, 4), np.nan), "poses has no pose that is known"),
        (np.diag([1, 1, 1, np.nan]) * np.ones((3, 1, 1)), r"poses\[0\] is .*, needed a rotation"),
        (np.ones((3, 7)), r"poses\[0\] has a quaternion of norm 2, needed 1"),
    ],
)
def test_what_is_no_pose_is_refused(posed, poses, said):
    with pytest.raises(InputError, match=said):
        in_object_coordinates(posed[1], poses)


def test_plain_channels_cannot_be_seen_from_an_object(posed):
    _, items, poses = posed
    with pytest.raises(InputError, match="Needed a position, vector or quaternion"):
        in_object_coordinates(replace(items, channels=()), poses)
    with pytest.raises(InputError, match="Needed a position, vector or quaternion"):
        in_object_coordinates(items, poses, blocks=["plain"] * 11)


def test_poses_are_read_from_arrays_and_tables(posed, tmp_path):
    _, items, poses = posed
    np.save(tmp_path / "poses.npy", poses)
    np.testing.assert_array_equal(read_poses(tmp_path / "poses.npy"), poses)
    table = np.hstack([Rotation.from_matrix(poses[:, :3, :3]).as_quat(), poses[:, :3, 3]])
    np.savetxt(tmp_path / "poses.csv", table, header="qx,qy,qz,qw,x,y,z", delimiter=",", comments="")
    seen = [
        in_object_coordinates(items, read_poses(tmp_path / f"poses.{kind}")).sequences[2] for kind in ("npy", "csv")
    ]
    np.testing.assert_allclose(*(np.delete(one, range(6, 10), axis=1) for one in seen))
    np.savetxt(tmp_path / "poses.csv", table[:, :4], header="a,b,c,d", delimiter=",", comments="")
    with pytest.raises(InputError, match="has the columns a, b, c, d, needed a position and a quaternion"):
        read_poses(tmp_path / "poses.csv")


def test_poses_in_columns_are_those_of_the_first_step(posed):
    _, items, poses = posed
    turns = np.roll(Rotation.from_matrix(poses[:, :3, :3]).as_quat(), 1, axis=1)
    called = tuple(f"bowl.{name}" for name in ("x", "y", "z", "qw", "qx", "qy", "qz"))
    wide = []
    for one, turn, pose in zip(items.sequences, turns, poses, strict=True):
        moved = np.tile([*pose[:3, 3], *turn], (len(one), 1))
        moved[1:, :3] += 1
        wide.append(np.hstack([moved, one]))
    rest, found = split_poses(SequenceSet(wide, channels=called + CHANNELS), ["bowl"])
    assert rest.channels == CHANNELS
    np.testing.assert_allclose(found, np.hstack([poses[:, :3, 3], turns]))
    np.testing.assert_array_equal(rest.sequences[1], items.sequences[1])
    with pytest.raises(InputError, match="no columns beside those of the pose"):
        split_poses(SequenceSet([one[:, :7] for one in wide], channels=called), ["bowl"])


def test_the_command_reads_poses_and_infers_no_frames(posed, tmp_path, capsys):
    local, items, poses = posed
    for i, one in enumerate(items.sequences):
        np.savetxt(tmp_path / f"demo_{i}.csv", one, header=",".join(CHANNELS), delimiter=",", comments="")
    np.save(tmp_path / "poses.npy", poses)
    files = [str(tmp_path / f"demo_{i}.csv") for i in range(3)]
    args = build_parser().parse_args(["segment", *files, "--poses", str(tmp_path / "poses.npy")])
    seen = segment.recordings.read(args, _Silent())
    np.testing.assert_allclose(seen.sequences[1][:, :6], local[:, :6], atol=1e-9)
    assert segment._build_model(args, seen).frames == "one"
    args.frames = "auto"
    assert segment._build_model(args, seen).frames == "auto"


class _Silent:
    def say(self, text):
        pass
