"""Series from motion capture in .bvh files: the channels of the joints, or where the joints are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from homothety.datasets.readers.checks import blame_file
from homothety.datasets.readers.columns import take_columns
from homothety.datasets.sets import SequenceSet
from homothety.errors import InputError
from homothety.times import common_rate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from homothety.arrays import FloatArray
    from homothety.datasets.readers.options import ReadingOptions

CHANNELS, POSITIONS = "channels", "positions"
REMEDY = "Needed a .bvh file: a HIERARCHY of joints with OFFSET and CHANNELS, then MOTION with one line per frame."
AXES, KINDS = "XYZ", ("position", "rotation")


@dataclass(frozen=True, slots=True)
class Joint:
    """A joint: where it is from its parent, and which numbers of a frame move it."""

    name: str
    parent: int  # place among the joints, -1 for a root
    offset: tuple[float, ...] = (0.0, 0.0, 0.0)
    channels: tuple[str, ...] = ()  # such as Xposition or Zrotation, in the order of the numbers


def read_bvh_series(path: Path, options: ReadingOptions) -> SequenceSet:
    """Read one recording: its channels as they are, or the positions that follow from them."""
    wanted = options.variable or CHANNELS
    if wanted not in (CHANNELS, POSITIONS):
        raise InputError(f"{path} has no {wanted!r}. It holds {CHANNELS} and {POSITIONS}: choose with variable=.")
    with blame_file(path, REMEDY):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        start = [line.strip().upper() for line in lines].index("MOTION")
        joints = _parse_joints(iter(" ".join(lines[:start]).split()))
        steps = _parse_frames(lines[start + 1 :], joints, path)
    names = [f"{joint.name}.{channel}" for joint in joints for channel in joint.channels]
    if wanted == POSITIONS:
        names = [f"{joint.name}.{axis}" for joint in joints for axis in "xyz"]
        steps = joint_positions(joints, steps)
    kept, channels = take_columns(steps, options.columns, tuple(names), path)
    return SequenceSet([kept], None, None, (path.stem,), channels, path.stem, rate=_parse_rate(lines[start + 1 :]))


def joint_positions(joints: list[Joint], frames: FloatArray) -> FloatArray:
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
            at = AXES.index(axis)
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
    if axis not in AXES or kind not in KINDS:
        raise InputError(f"A channel is called {name!r}, needed Xposition, Yrotation and the like. {REMEDY}")
    return f"{axis}{kind}"


def _parse_rate(lines: list[str]) -> float | None:
    """Return the frames per second, if the file tells them."""
    told = [line.split(":")[1].strip() for line in lines if line.strip().upper().startswith("FRAME TIME:")]
    try:
        seconds = float(told[0]) if told else 0.0
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
    announced = [int(line.split(":")[1]) for line in lines if line.strip().upper().startswith("FRAMES:")]
    if announced and announced[0] != len(rows):
        raise InputError(
            f"{path} says that it has {announced[0]} frames but has {len(rows)} lines of numbers, needed as many. Copy "
            "it again if it was cut short, or correct the number after Frames."
        )
    if not rows or not n_channels:
        raise InputError(f"{path} has {len(rows)} frames of {n_channels} channels, needed at least one of each.")
    return np.array(rows, dtype=np.float64)
