"""Who lies beside whom on a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.arrays import real_array
from homothety.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from homothety.arrays import IntArray

NO_NEIGHBOR = -1


def grid_neighbors(positions: ArrayLike) -> IntArray:
    """Return the items one step away along each axis of a grid.

    Parameters
    ----------
    positions : array_like of int, shape (n_items, n_axes)
        Place of each item, such as its voxel. Places of which no item is are background, and nobody's neighbours.

    Returns
    -------
    neighbors : ndarray of int, shape (n_items, 2 * n_axes)
        The item before and the item behind along the first axis, then along the others; -1 where there is none.

    Notes
    -----
    Sorting puts neighbours along the axis that varies fastest next to each other: one sort per axis finds them all,
    however large the grid is around them.

    Examples
    --------
    Three in a row, and one below the first:

    >>> grid_neighbors([[0, 0], [0, 1], [0, 2], [1, 0]])
    array([[-1,  3, -1,  1],
           [-1, -1,  0,  2],
           [-1, -1,  1, -1],
           [ 0, -1, -1, -1]])
    """
    places = _check_places(positions)
    neighbors = np.full((len(places), 2 * places.shape[1]), NO_NEIGHBOR)
    for axis in range(places.shape[1]):
        keys = np.roll(places, places.shape[1] - 1 - axis, axis=1)  # this axis last
        order = np.lexsort(keys.T[::-1])
        steps = np.diff(keys[order], axis=0)
        _check_apart(steps, order, places)
        beside = (steps[:, -1] == 1) & ~steps[:, :-1].any(axis=1)
        before, behind = order[:-1][beside], order[1:][beside]
        neighbors[behind, 2 * axis], neighbors[before, 2 * axis + 1] = before, behind
    return neighbors


def _check_places(positions: ArrayLike) -> IntArray:
    """Return places on a grid as whole numbers, or raise naming the first that is none."""
    array = real_array(positions, "positions")
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(
            f"positions has shape {array.shape}, needed (n_items, n_axes): one column per axis of the grid."
        )
    bad = ~(np.isfinite(array) & (np.rint(array) == array)).all(axis=1)
    if bad.any():
        first, n_bad = int(bad.argmax()), int(bad.sum())
        raise InputError(
            f"positions[{first}] is {array[first].tolist()}, needed whole numbers ({n_bad} such of {len(bad)}): the "
            "indices of voxels, not millimetres."
        )
    return array.astype(np.int64)


def _check_apart(steps: IntArray, order: IntArray, places: IntArray) -> None:
    """Raise if two items, next to each other in an order, are in the same place."""
    same = ~steps.any(axis=1)
    if same.any():
        one, other = sorted(order[[same.argmax(), same.argmax() + 1]].tolist())
        raise InputError(
            f"positions[{one}] and positions[{other}] are both {places[one].tolist()} ({int(same.sum())} such pairs): "
            "needed a place of its own for every item. Drop one of them."
        )
