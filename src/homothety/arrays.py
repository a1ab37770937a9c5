"""Names for array types and the checks every entry point shares."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from homothety.errors import InputError

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]


def frozen(array: FloatArray) -> FloatArray:
    """Return `array` as a contiguous, read-only array."""
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def check_points(points: ArrayLike, name: str = "points") -> FloatArray:
    """Return `points` as a finite float array of shape (n_points, n_dims), or raise naming the offending row."""
    array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"{name} has shape {array.shape}, needed (n_points, n_dims) with both at least 1.")
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(f"{name}[{row}] holds NaN or infinity ({int(bad.sum())} such rows). Drop or impute them.")
    return np.ascontiguousarray(array)


def check_similarity(similarity: ArrayLike, name: str = "similarity") -> FloatArray:
    """Return a similarity matrix as a square, symmetric array with entries in [0, 1], or raise saying why not."""
    array = np.asarray(similarity, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.shape[0] == 0:
        raise InputError(f"{name} has shape {array.shape}, needed a square matrix (n_items, n_items).")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise InputError(f"{name}[{row}, {column}] is {array[row, column]}. Every entry must be finite.")
    if array.min() < 0 or array.max() > 1 + 1e-12:
        raise InputError(
            f"{name} has entries from {array.min():.3g} to {array.max():.3g}, needed values in [0, 1]. "
            "Map distances d to similarities first, for example exp(-d**2 / (2 * median(d)**2))."
        )
    asymmetry = np.abs(array - array.T).max()
    if asymmetry > 1e-8:
        raise InputError(f"{name} is not symmetric: entries differ by up to {asymmetry:.3g}. Use (S + S.T) / 2.")
    return np.ascontiguousarray((array + array.T) / 2)
