"""What the affine of an image says: how large voxels are, and which way the axes of the array run in the body."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from homothety.arrays import FloatArray


class Axis(NamedTuple):
    """An axis of an array, and whether its indices grow (1) or shrink (-1) in a direction."""

    number: int
    sign: int


def voxel_sizes(affine: FloatArray) -> FloatArray:
    """Return the distance of neighbouring voxels along each axis of an image, in millimetres.

    Parameters
    ----------
    affine : ndarray of shape (4, 4)
        From voxel indices to millimetres.

    Examples
    --------
    >>> voxel_sizes(np.diag([2.0, -2.0, 4.0, 1.0]))
    array([2., 2., 4.])
    """
    return np.asarray(np.linalg.norm(affine[:3, :3], axis=0))


def anatomical_axes(affine: FloatArray) -> tuple[Axis, Axis, Axis]:
    """Return the axes of an image that run, as nearly as possible, to the right, to the front and up.

    Parameters
    ----------
    affine : ndarray of shape (4, 4)
        From voxel indices to millimetres, which grow to the right, to the front and up, as in NIfTI.

    Notes
    -----
    The rotation nearest to the affine, of voxels of equal size, decides. The axis of the array that is best aligned
    with a direction gets it, then the next best, as nibabel's `io_orientation` has it.

    Examples
    --------
    The first axis of the array runs to the left:

    >>> anatomical_axes(np.diag([-2.0, 2.0, 2.0, 1.0]))[0]
    Axis(number=0, sign=-1)
    """
    sizes = voxel_sizes(affine)
    left, _, right = np.linalg.svd(affine[:3, :3] / np.where(sizes > 0, sizes, 1.0))
    rotation = left @ right
    order = np.argsort(-(rotation**2).max(axis=0), kind="stable")
    axes: dict[int, Axis] = {}
    for number in order.tolist():
        free = [direction for direction in range(3) if direction not in axes]
        direction = max(free, key=lambda one: abs(rotation[one, number]))
        axes[direction] = Axis(number, 1 if rotation[direction, number] >= 0 else -1)
    return axes[0], axes[1], axes[2]
