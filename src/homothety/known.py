"""Moments of values of which some are missing, NaN; bit for bit NumPy's where none is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from homothety.arrays import FloatArray


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
