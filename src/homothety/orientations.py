"""Orientations as rotation vectors: how far, and about which axis, each is turned from the middle of its recording.

A rotation vector has three numbers, no sign to choose, and turns with the recording as a force does. What an object was
held by, or which axes its markers were given, changes every orientation of a recording by the same product from the
right, and drops out with the middle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from homothety.arrays import FloatArray

SMALL = 1e-12


def rotation_vectors(quaternions: FloatArray, middle: FloatArray) -> FloatArray:
    """Return the rotation of each orientation from a middle one, as its axis times its angle in radians.

    Parameters
    ----------
    quaternions : ndarray of shape (n_steps, 4)
        Unit quaternions, w first, in the order of time: signs are chosen such that they do not jump, so that a turn
        may go on beyond 180 degrees. After 360 degrees from the middle it begins anew.
    middle : ndarray of shape (4,)

    Returns
    -------
    vectors : ndarray of shape (n_steps, 3)

    Examples
    --------
    A quarter turn about the third axis, and then minus the same quaternion, which is the same orientation:

    >>> half = np.sqrt(0.5)
    >>> turning = np.array([[1, 0, 0, 0], [half, 0, 0, half], [-half, 0, 0, -half]])
    >>> rotation_vectors(turning, np.array([1.0, 0, 0, 0]))[:, 2].round(4)
    array([0.    , 1.5708, 1.5708])
    """
    relative = product(quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True), inverse(middle))
    jumps = np.where((relative[1:] * relative[:-1]).sum(axis=1) < 0, -1.0, 1.0)
    relative = relative * np.concatenate([[1.0], np.cumprod(jumps)])[:, None]
    relative = relative if np.median(relative[:, 0]) >= 0 else -relative
    lengths = np.linalg.norm(relative[:, 1:], axis=1)
    angles = 2 * np.arctan2(lengths, relative[:, 0])
    factors = np.where(lengths > SMALL, angles / np.maximum(lengths, SMALL), 2.0)
    return np.asarray(factors[:, None] * relative[:, 1:])


def orientations(vectors: FloatArray, middle: FloatArray) -> FloatArray:
    """Return unit quaternions, w first, from rotation vectors and the middle they are counted from."""
    angles = np.linalg.norm(vectors, axis=1, keepdims=True)
    axes = np.where(angles > SMALL, np.sin(angles / 2) / np.maximum(angles, SMALL), 0.5) * vectors
    return product(np.hstack([np.cos(angles / 2), axes]), middle)


def middle_orientation(quaternions: FloatArray) -> FloatArray:
    """Return the mean of orientations, (n_steps, 4): a unit quaternion, of either sign."""
    # The leading eigenvector of the sum of q q' does not change when a sign does (Markley et al. 2007).
    return np.asarray(np.linalg.eigh(quaternions.T @ quaternions)[1][:, -1])


def product(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return products of quaternions, w first, (..., 4)."""
    a, b, c, d = np.moveaxis(left, -1, 0)
    w, x, y, z = np.moveaxis(right, -1, 0)
    return np.stack(
        [
            a * w - b * x - c * y - d * z,
            a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x,
            a * z + b * y - c * x + d * w,
        ],
        axis=-1,
    )


def inverse(quaternion: FloatArray) -> FloatArray:
    """Return the inverse of a unit quaternion."""
    return quaternion * np.array([1.0, -1.0, -1.0, -1.0])
