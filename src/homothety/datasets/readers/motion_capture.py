"""Recordings from motion capture: markers in .c3d files, and joint channels or joint positions from .bvh files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy.spatial.transform import Rotation

from homothety.datasets.readers.checks import blame_file, require, whole_series
from homothety.errors import InputError
from homothety.times import common_rate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from homothety.arrays import FloatArray
    from homothety.datasets.readers.checks import Columns
    from homothety.datasets.sets import SequenceSet

_UNSEEN = -1  # in .c3d files, what stands in the place of the error of a marker that no camera saw
_CHANNELS, _POSITIONS = "channels", "positions"
_BVH_REMEDY = "Needed a .bvh file: a HIERARCHY of joints with OFFSET and CHANNELS, then MOTION with one line per frame."
_AXES, _KINDS = "XYZ", ("position", "rotation")


def read_c3d_series(path: Path, columns: Columns) -> SequenceSet:
    """Read the positions of the markers in every frame; where one was not seen they are NaN."""
    c3d = require("c3d", "mocap", f"Reading {path}")
    with blame_file(path, "Check that it is a complete C3D file."), path.open("rb") as file, catch_warnings():
        simplefilter("ignore")  # files without analogue channels are fine
        reader = c3d.Reader(file)
        labels = [str(label).strip() for label in reader.point_labels][: reader.point_used]
        frames = [points for _, points, _ in reader.read_frames()]
        rate = float(reader.point_rate)
    if not frames or not labels:
        raise InputError(f"{path} has {len(frames)} frames of {len(labels)} markers, needed at least one of each.")
    points = np.asarray(frames, dtype=np.float64)
    places = np.where(points[:, :, 3:4] == _UNSEEN, np.nan, points[:, :, :3])
    names = tuple(f"{label}.{axis}" for label in labels for axis in "xyz")
    steps = places.reshape(len(frames), -1)
    return whole_series([steps], columns, names, path, rate=rate if rate > 0 else None)


@dataclass(frozen=True, slots=True)
class Joint:
    """A joint: where it is from its parent, and which numbers of a frame move it."""

    name: str
    parent: int  # place among the joints, -1 for a root
    offset: tuple[float, ...] = (0.0, 0.0, 0.0)
    channels: tuple[str, ...] = ()  # such as Xposition or Zrotation, in the order of the numbers


def read_bvh_series(path: Path, columns: Columns, variable: str | None) -> SequenceSet:
    """Read one recording: its channels as they are, or the positions that follow from them."""
    wanted = variable or _CHANNELS
    if wanted not in (_CHANNELS, _POSITIONS):
        raise InputError(
            f"{path} has no {wanted!r}. It holds {_CHANNELS} and {_POSITIONS}: choose with variable=.", "variable"
        )
    with blame_file(path, _BVH_REMEDY):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        start = [line.strip().upper() for line in lines].index("MOTION")
        joints = _parse_joints(iter(" ".join(lines[:start]).split()))
        steps = _parse_frames(lines[start + 1 :], joints, path)
    names = [f"{joint.name}.{channel}" for joint in joints for channel in joint.channels]
    if wanted == _POSITIONS:
        names = [f"{joint.name}.{axis}" for joint in joints for axis in "xyz"]
        steps = _joint_positions(joints, steps)
    return whole_series([steps], columns, tuple(names), path, rate=_parse_rate(lines[start + 1 :]))


def _joint_positions(joints: list[Joint], frames: FloatArray) -> FloatArray:
    """Return where the joints are, shape (n_frames, 3 * n_joints), by turning each about its parent.

    Parameters
    ----------
    joints : list of Joint
        Parents before their children.
    frames : ndarray of shape (n_frames, n_channels)
        Lengths, and angles in degrees.
    """
    places: list[FloatArray] = []
    turns: list[Rotation] = []
    ends = np.cumsum([len(joint.channels) for joint in joints])
    for joint, values in zip(joints, np.split(frames, ends[:-1], axis=1), strict=True):
        shift, turn = _movement(joint, values)
        if joint.parent < 0:
            places.append(shift)
            turns.append(turn)
        else:
            places.append(places[joint.parent] + turns[joint.parent].apply(shift))
            turns.append(turns[joint.parent] * turn)
    return np.hstack(places)


def _movement(joint: Joint, values: FloatArray) -> tuple[FloatArray, Rotation]:
    """Return the shift (n_frames, 3) of a joint from its parent and its turn, in every frame."""
    shift = np.tile(np.asarray(joint.offset), (len(values), 1))
    turn = Rotation.identity(len(values))
    for channel, numbers in zip(joint.channels, values.T, strict=True):
        axis, kind = channel[0], channel[1:]
        if kind == "position":
            # That of a root is from its offset; elsewhere it is from the parent, in place of the offset.
            at = _AXES.index(axis)
            shift[:, at] = numbers + joint.offset[at] if joint.parent < 0 else numbers
        else:  # each about the axis as the turns before it left it
            turn = turn * Rotation.from_euler(axis, numbers[:, None], degrees=True)
    return shift, turn


def _parse_joints(words: Iterator[str]) -> list[Joint]:
    """Return the joints of a hierarchy, parents before their children."""
    joints: list[Joint] = []
    for word in words:
        if word.upper() == "ROOT":
            _parse_joint(next(words), -1, words, joints)
    return joints


def _parse_joint(name: str, parent: int, words: Iterator[str], joints: list[Joint]) -> None:
    """Add a joint and those below it; the ends of limbs never move on their own and are left out."""
    place = len(joints)
    joints.append(Joint(name, parent))
    for word in words:
        match word.upper():
            case "OFFSET":
                joints[place] = replace(joints[place], offset=tuple(map(float, islice(words, 3))))
            case "CHANNELS":
                channels = tuple(islice(words, int(next(words))))
                joints[place] = replace(joints[place], channels=tuple(map(_check_channel, channels)))
            case "JOINT":
                _parse_joint(next(words), place, words, joints)
            case "END":
                next(word for word in words if word == "}")
            case "}":
                return


def _check_channel(name: str) -> str:
    """Return the name of a channel as all files should spell it, or raise."""
    axis, kind = name[:1].upper(), name[1:].lower()
    if axis not in _AXES or kind not in _KINDS:
        raise InputError(f"A channel is called {name!r}, needed Xposition, Yrotation and the like. {_BVH_REMEDY}")
    return f"{axis}{kind}"


def _entry(lines: list[str], key: str) -> str | None:
    """Return what stands after a key such as "FRAMES:" in the lines of a motion; None if no line has it."""
    return next((line.split(":")[1] for line in lines if line.strip().upper().startswith(key)), None)


def _parse_rate(lines: list[str]) -> float | None:
    """Return the frames per second; None if the file does not state them."""
    try:
        seconds = float(_entry(lines, "FRAME TIME:") or 0)
    except ValueError:
        return None
    return common_rate([1 / seconds]) if seconds > 0 else None


def _parse_frames(lines: list[str], joints: list[Joint], path: Path) -> FloatArray:
    """Return the numbers of all frames, shape (n_frames, n_channels)."""
    n_channels = sum(len(joint.channels) for joint in joints)
    rows = [line.split() for line in lines if line.strip() and ":" not in line]
    for number, row in enumerate(rows):
        if len(row) != n_channels:
            raise InputError(
                f"{path}, frame {number}, counted from 0, has {len(row)} numbers, needed {n_channels}: one for each "
                "channel of the hierarchy."
            )
    announced = _entry(lines, "FRAMES:")
    if announced is not None and int(announced) != len(rows):
        raise InputError(
            f"{path} says that it has {int(announced)} frames but has {len(rows)} lines of numbers, needed as many. "
            "Copy it again if it was cut short, or correct the number after Frames."
        )
    if not rows or not n_channels:
        raise InputError(f"{path} has {len(rows)} frames of {n_channels} channels, needed at least one of each.")
    return np.array(rows, dtype=np.float64)
