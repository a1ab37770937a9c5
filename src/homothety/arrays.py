"""Names for array types and the checks every entry point shares."""

from __future__ import annotations

import math
from mmap import mmap
from operator import index
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection

_HUGE = 2**22  # bytes from which on NumPy asks for huge pages

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)


def frozen(array: FloatArray) -> FloatArray:
    """Return `array` as a contiguous, read-only array."""
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return a contiguous view that cannot be written to; `array` itself still can.

    Compiled kernels tell arrays that can be written from those that cannot, and are compiled once for either.
    """
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view


def sparse_zeros(shape: tuple[int, ...]) -> FloatArray:
    """Return zeros, of which large arrays take memory and time only where they are written to.

    NumPy asks for huge pages, and a write to one of them clears all of it.
    """
    n_bytes = 8 * math.prod(shape)
    if n_bytes < _HUGE:
        return np.zeros(shape)
    return np.frombuffer(mmap(-1, n_bytes), dtype=np.float64).reshape(shape)


def real_array(values: ArrayLike, name: str) -> FloatArray:
    """Return `values` as an array of doubles, or raise if they are anything but real numbers."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{name} has rows of different lengths, needed an array of numbers.") from error
    if np.iscomplexobj(array):
        raise InputError(f"{name} is complex, needed real numbers. Pass the real parts if the imaginary ones are zero.")
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} has dtype {array.dtype}, needed numbers in one array or in lists.") from error


def check_whole(value: int, name: str) -> int:
    """Return a whole number, or raise naming it."""
    try:
        return index(value)
    except TypeError:
        raise InputError(f"{name} is {value!r}, needed a whole number.", name) from None


def check_count(value: int, name: str, minimum: int = 1) -> int:
    """Return a whole number of at least `minimum`, or raise naming it."""
    count = check_whole(value, name)
    if count < minimum:
        raise InputError(f"{name} is {count}, needed at least {minimum}.", name)
    return count


def check_positive(value: float, name: str) -> float:
    """Return a finite number above zero, or raise naming it."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(value, str) or not 0 < number < np.inf:
        raise InputError(f"{name} is {value!r}, needed a finite number above 0.", name)
    return number


def check_option(value: object, name: str, options: Collection[object]) -> None:
    """Raise if a value is none of those allowed."""
    if value not in options:
        *first, last = map(repr, options)
        raise InputError(f"{name} is {value!r}, needed {', '.join(first)} or {last}.", name)


def check_points(points: ArrayLike, name: str = "points") -> FloatArray:
    """Return `points` as a finite float array of shape (n_points, n_dims), or raise naming the offending row."""
    array = real_array(points, name)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"{name} has shape {array.shape}, needed (n_points, n_dims) with both at least 1.")
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(f"{name}[{row}] holds NaN or infinity ({int(bad.sum())} such rows). Drop or impute them.")
    return np.ascontiguousarray(array)


def check_similarity(similarity: ArrayLike, name: str = "similarity") -> FloatArray:
    """Return a similarity matrix as a square, symmetric array with entries in [0, 1], or raise saying why not."""
    array = real_array(similarity, name)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.shape[0] == 0:
        raise InputError(f"{name} has shape {array.shape}, needed a square matrix (n_items, n_items).")
    _check_unit_interval(array, name)
    asymmetry = np.abs(array - array.T).max()
    if asymmetry > 1e-8:
        raise InputError(f"{name} is not symmetric: entries differ by up to {asymmetry:.3g}. Use (S + S.T) / 2.")
    return np.ascontiguousarray((array + array.T) / 2)


def check_similarity_to(similarity: ArrayLike, n_items: int, name: str = "similarity") -> FloatArray:
    """Return similarities of new items to those of a fit, (n_new, n_items), entries in [0, 1], or raise."""
    array = real_array(similarity, name)
    if array.ndim != 2 or array.shape[1] != n_items:
        raise InputError(f"{name} has shape {array.shape}, needed (n_new, {n_items}): similarities to fitted items.")
    _check_unit_interval(array, name)
    return array


def _check_unit_interval(array: FloatArray, name: str) -> None:
    """Raise for the first entry of a matrix that is no number, or if any lies outside of [0, 1]."""
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise InputError(f"{name}[{row}, {column}] is {array[row, column]}. Every entry must be finite.")
    if array.min(initial=0.0) < 0 or array.max(initial=0.0) > 1 + 1e-12:
        raise InputError(
            f"{name} has entries from {array.min():.3g} to {array.max():.3g}, needed values in [0, 1]. "
            "Map distances d to similarities first, for example exp(-d**2 / (2 * median(d)**2))."
        )


# Moments of values of which some are missing, NaN


def mean_of_known(values: FloatArray, axis: int | None = 0) -> FloatArray:
    """Return the mean along an axis, or of all values, of what is not NaN; 0 where nothing is known.

    Examples
    --------
    >>> mean_of_known(np.array([[1.0, np.nan], [np.nan, np.nan], [2.0, np.nan]]))
    array([1.5, 0. ])
    """
    known = ~np.isnan(values)
    if known.all():
        return np.asarray(values.mean(axis=axis))
    return np.asarray(np.where(known, values, 0.0).sum(axis=axis) / np.maximum(known.sum(axis=axis), 1))


def variance_of_known(values: FloatArray) -> FloatArray:
    """Return the variance along the first axis of what is not NaN, 0 where nothing is known.

    Examples
    --------
    >>> variance_of_known(np.array([1.0, np.nan, 3.0]))
    array(1.)
    """
    if not np.isnan(values).any():
        return np.asarray(values.var(axis=0))
    return mean_of_known((values - mean_of_known(values)) ** 2)


def range_of_known(values: FloatArray) -> FloatArray:
    """Return the range along the first axis of what is not NaN, 0 where nothing is known.

    Examples
    --------
    >>> range_of_known(np.array([1.0, np.nan, 3.0])).item()
    2.0
    """
    return np.asarray(np.nan_to_num(np.fmax.reduce(values) - np.fmin.reduce(values)))
