"""Recordings in the coordinates of an object whose pose is known, so that their frames need not be inferred."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.spatial.transform import Rotation

from homothety.channels import check_blocks, guess_blocks
from homothety.datasets.readers.arrays import load_array
from homothety.datasets.readers.checks import find_columns
from homothety.datasets.readers.dispatch import read_sequences
from homothety.datasets.sets import SequenceSet
from homothety.errors import InputError
from homothety.sequences import check_sequences

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from numpy.typing import ArrayLike

    from homothety.arrays import BoolArray, FloatArray

_TOLERANCE = 1e-2  # of rotations and quaternions, which are often written with two or three decimals
_POSE = ("point", "quaternion")


def in_object_coordinates(X: Any, poses: ArrayLike, *, blocks: Sequence[str] | str = "auto") -> SequenceSet:
    """Return recordings as they look from an object whose pose in each of them is known.

    Parameters
    ----------
    X : recordings
        As estimators take them.
    poses : array_like of shape (n_recordings, 4, 4), (n_recordings, 7) or (n_recordings, 3, 3)
        Pose of the object in each recording, in the coordinates of the recordings: a homogeneous matrix, or a position
        and a unit quaternion, w first; of recordings in the plane a 3 x 3 homogeneous matrix. A pose of NaN is not
        known, and its recording stays as it is.
    blocks : "auto" or sequence of {"point", "vector", "quaternion", "plain"}, default="auto"
        What the channels are, as `ActionHMM` takes it. "auto" goes by their names.

    Returns
    -------
    recordings : SequenceSet
        Positions relative to the object, along its axes; vectors along its axes; orientations relative to its own.
        Plain channels are as they were. If a coordinate of a block is missing, the whole block is.

    Notes
    -----
    ``ActionHMM(frames=shared_frames(poses))`` then infers only the frames of recordings whose pose is not known, and
    no frame if all are known. What it reports is in the coordinates of the object. With ``frames="auto"`` it also
    infers which recordings do not go by the object.

    Examples
    --------
    A hand 1 in front of an object that lies at (5, 0) and is turned by 90 degrees:

    >>> pose = [[0, -1, 5], [1, 0, 0], [0, 0, 1]]
    >>> in_object_coordinates([[[5.0, 1.0], [5.0, 3.0]]], [pose]).sequences[0]
    array([[1., 0.],
           [3., 0.]])
    """
    items = _as_set(X)
    names = items.channels or None
    found = guess_blocks(names, items.n_dims) if isinstance(blocks, str) else check_blocks(blocks, items.n_dims, names)
    if set(found.kinds) <= {"plain"}:
        raise InputError(
            f"{items.name}: {found.sentence} Needed a position, vector or quaternion to see from an object: name the "
            "channels, or list what they are in blocks."
        )
    matrices = _check_poses(poses, len(items), found.dim)
    sequences = [one.copy() for one in items.sequences]
    for kind, channels in zip(found.kinds, found.channels, strict=True):
        for one, matrix in zip(sequences, matrices, strict=True):
            if not np.isnan(matrix).all():
                one[:, list(channels)] = _seen_from(matrix, kind, one[:, list(channels)])
    return replace(items, sequences=sequences, frames=None)


def _as_set(X: Any) -> SequenceSet:
    """Return recordings of any kind as a SequenceSet."""
    if isinstance(X, SequenceSet):
        return X
    checked = check_sequences(X, min_steps=1, allow_constant=True, allow_missing=True)
    sequences = [checked.steps[start:stop] for start, stop in zip(checked.starts, checked.starts[1:], strict=False)]
    return SequenceSet(sequences, names=checked.names, channels=checked.channels or (), rate=checked.rate)


def _seen_from(pose: FloatArray, kind: str, values: FloatArray) -> FloatArray:
    """Return the values of a block, (n_steps, n_channels), in the coordinates of an object."""
    rotation, place = pose[:-1, :-1], pose[:-1, -1]
    if kind == "point":
        return np.asarray((values - place) @ rotation)
    if kind == "vector":
        return np.asarray(values @ rotation)
    return values @ _left_product(rotation.T).T if kind == "quaternion" else values


def _left_product(rotation: FloatArray) -> FloatArray:
    """Return the matrix that multiplies quaternions, w first, by that of a rotation from the left."""
    x, y, z, w = Rotation.from_matrix(rotation).as_quat()
    return np.array([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])


def _check_poses(poses: ArrayLike, n_recordings: int, dim: int) -> FloatArray:
    """Return poses as homogeneous matrices, (n_recordings, dim + 1, dim + 1), or raise naming one that is no pose."""
    values = np.asarray(poses, dtype=np.float64)
    if values.ndim == 2 and values.shape[1] == 7:
        values = _matrices_of(values)
    known = _is_known(values)
    needed = (n_recordings, dim + 1, dim + 1)
    if values.shape != needed:
        raise InputError(
            f"poses has shape {np.shape(poses)}, needed {needed}" + f" or {(n_recordings, 7)}" * (dim == 3) + ": one "
            "pose for each recording."
        )
    if not known.any():
        raise InputError("poses has no pose that is known, needed at least one. Leave them out to infer all frames.")
    for i in np.flatnonzero(known):
        pose = values[i]
        rotation = pose[:-1, :-1]
        is_turn = np.allclose(rotation @ rotation.T, np.eye(dim), atol=_TOLERANCE) and np.linalg.det(rotation) > 0
        if not np.isfinite(pose).all() or not is_turn or not np.allclose(pose[-1], np.eye(dim + 1)[-1]):
            raise InputError(
                f"poses[{i}] is {np.round(pose, 3).tolist()}, needed a rotation and a place in a homogeneous matrix. "
                "Rotations have columns of length 1 at right angles, and no mirroring."
            )
    left, _, right = np.linalg.svd(values[known, :-1, :-1])  # exactly orthogonal, so that lengths stay as they are
    values = values.copy()
    values[known, :-1, :-1] = left @ right
    return values


def _is_known(poses: FloatArray) -> BoolArray:
    """Return which poses are known, (n_recordings,); those of NaN alone are not."""
    return np.asarray(~np.isnan(poses.reshape(len(poses), -1)).all(axis=1))


def shared_frames(poses: ArrayLike) -> Literal["one"] | list[int]:
    """Return the parameter `frames` of `ActionHMM` for recordings in the coordinates of an object.

    Parameters
    ----------
    poses : array_like
        As `in_object_coordinates` takes them.

    Returns
    -------
    frames : "one" or list of int
        All recordings with a known pose share a frame; each other one has its own.

    Examples
    --------
    >>> shared_frames([[0, 0, 0, 1, 0, 0, 0], [np.nan] * 7])
    [0, 1]
    """
    known = _is_known(np.asarray(poses, dtype=np.float64))
    return "one" if known.all() else np.where(known, 0, np.cumsum(~known)).tolist()


def _matrices_of(poses: FloatArray) -> FloatArray:
    """Return positions and quaternions, w first, (n_recordings, 7), as homogeneous matrices."""
    known = _is_known(poses)
    norms = np.linalg.norm(poses[:, 3:], axis=1)
    wrong = np.flatnonzero(known & ~(np.abs(norms - 1) <= _TOLERANCE))
    if wrong.size:
        raise InputError(
            f"poses[{wrong[0]}] has a quaternion of norm {norms[wrong[0]]:.3g}, needed 1 within {_TOLERANCE}. Order: "
            "x, y, z, then w, x, y, z of the quaternion."
        )
    matrices = np.tile(np.eye(4), (len(poses), 1, 1))
    matrices[known, :3, :3] = Rotation.from_quat(np.roll(poses[known, 3:], -1, axis=1)).as_matrix()
    matrices[known, :3, 3] = poses[known, :3]
    matrices[~known] = np.nan
    return matrices


def read_poses(path: str | PathLike[str]) -> FloatArray:
    """Return poses from a file: an array, or a table with one row for each recording.

    Parameters
    ----------
    path : str or Path
        ``.npy`` with an array as `in_object_coordinates` takes it; or a table with columns such as x, y, z, qw, qx, qy,
        qz, in the order of the recordings.

    Returns
    -------
    poses : ndarray of shape (n_recordings, 4, 4), (n_recordings, 7) or (n_recordings, 3, 3)
    """
    path = Path(path)
    if path.suffix.lower() == ".npy":
        return np.asarray(load_array(path), dtype=np.float64)
    read = read_sequences(path)
    return _ordered(np.concatenate(read.sequences), read.channels, str(path))


def _ordered(values: FloatArray, channels: Sequence[str], item: str) -> FloatArray:
    """Return columns of a pose in the order x, y, z and w, x, y, z, by their names."""
    if values.shape[1] == 7:
        if not channels:
            return values
        blocks = guess_blocks(channels, 7)
        if sorted(blocks.kinds) == sorted(_POSE):
            return np.hstack([values[:, list(blocks.channels[blocks.kinds.index(kind)])] for kind in _POSE])
    raise InputError(
        f"{item} has the columns {', '.join(channels) or values.shape[1]}, needed a position and a quaternion. Name "
        "them x, y, z, qw, qx, qy, qz."
    )


def split_poses(items: SequenceSet, columns: Sequence[int | str]) -> tuple[SequenceSet, FloatArray]:
    """Return recordings without the columns of an object's pose, and where the object is at their first steps.

    Parameters
    ----------
    items : SequenceSet
    columns : sequence of int or str
        Columns of the position and the quaternion of the object.

    Returns
    -------
    recordings : SequenceSet
    poses : ndarray of shape (n_recordings, 7)
    """
    taken = find_columns(list(columns), items.channels, items.n_dims, Path(items.name), "pose_columns")
    kept = [dim for dim in range(items.n_dims) if dim not in taken]
    if not kept:
        raise InputError(f"{items.name} has no columns beside those of the pose, needed measurements too.")
    called = [items.channels[dim] for dim in taken] if items.channels else []
    poses = _ordered(np.stack([one[0, taken] for one in items.sequences]), called, items.name)
    channels = tuple(items.channels[dim] for dim in kept) if items.channels else ()
    return replace(items, sequences=[one[:, kept] for one in items.sequences], channels=channels), poses
