"""Neighbors on a grid, and the SPCM similarity of any two matrices, worked out when it is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homothety.arrays import read_only, real_array
from homothety.covariance.measures import axis_lengths
from homothety.covariance.shape import coordinates_of_spectra
from homothety.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray
    from homothety.covariance.variants import SPCMVariant
    from homothety.models.ordered._kernels import Pairs


@dataclass(frozen=True, eq=False)
class PairSimilarity:
    """B-SPCM of any two of many matrices, from a few numbers of each.

    Parameters
    ----------
    features : ndarray of shape (n_items, n_features)
        Axis lengths, ascending; or, for the dispersion "log", shape coordinates such that their squared distance is the
        dissimilarity.
    variant : SPCMVariant
    strength : float
        Of the decay.
    """

    features: FloatArray
    variant: SPCMVariant
    strength: float

    @classmethod
    def of_spectra(cls, spectra: FloatArray, variant: SPCMVariant, tolerance: float) -> PairSimilarity:
        """Return the similarity of matrices with the given eigenvalues, ascending and positive."""
        n_dims = spectra.shape[1]
        features = axis_lengths(spectra, variant)
        if variant.dispersion == "log":
            doubled = 1.0 if variant.length == "sqrt" else 2.0
            features = coordinates_of_spectra(spectra) * (doubled / np.sqrt(n_dims - variant.ddof))
        return cls(read_only(features), variant, variant.strength(n_dims, tolerance))

    def take(self, items: slice) -> PairSimilarity:
        """Return the similarity of some of the items."""
        return PairSimilarity(read_only(self.features[items]), self.variant, self.strength)

    @property
    def compiled(self) -> Pairs:
        """The same as the compiled loops want it."""
        from homothety.models.ordered import _kernels

        dispersion = _kernels.DISPERSIONS[self.variant.dispersion]
        return _kernels.Pairs(
            self.features, self.variant.ddof, dispersion, _kernels.DECAYS[self.variant.decay], self.strength
        )


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
