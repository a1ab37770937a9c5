"""Parts of a state of a chain, checked before compiled loops see them.

A move that makes a part out of date returns it as None. Moves read such parts through functions that raise a
`SweepError` for None, and an `InputError` for an array that does not fit the model: a compiled loop does not look
whether an index is inside of an array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from homothety.errors import InputError, SweepError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from homothety.arrays import IntArray, Scalar

# None while a part is out of date. It stands for `Any`, as in typeshed: who reads a part after a check needs no cast.
MaybeNone: TypeAlias = Any

_Part = TypeVar("_Part")


class ReadOnly:
    """Base of data classes that are one point of a chain: all their arrays are made read-only."""

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)


def up_to_date(value: _Part | None, part: str, remedy: str) -> _Part:
    """Return a part of a state, or raise if it is out of date.

    Parameters
    ----------
    value : object or None
    part : str
        Its name.
    remedy : str
        Name, in the default sweep, of the move that redraws it.
    """
    if value is None:
        raise SweepError(part, remedy)
    return value


def check_array(array: NDArray[Scalar], name: str, shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Scalar]:
    """Return an array, or raise if it has another shape or type of numbers."""
    if not isinstance(array, np.ndarray):
        raise InputError(f"{name} is a {type(array).__name__}, needed an array of {dtype.__name__}, shape {shape}.")
    if array.shape != shape or array.dtype != dtype:
        raise InputError(
            f"{name} is an array of {array.dtype}, shape {array.shape}, needed {dtype.__name__}, shape {shape}."
        )
    return array


def check_labels(labels: IntArray, name: str, n_items: int, n_labels: int) -> IntArray:
    """Return labels of items, or raise if they are not one per item and all from 0 to ``n_labels - 1``."""
    check_array(labels, name, (n_items,), np.int64)
    if n_items and not 0 <= labels.min() <= labels.max() < n_labels:
        raise InputError(f"{name} has numbers from {labels.min()} to {labels.max()}, needed 0 to {n_labels - 1}.")
    return labels


def check_finite(array: NDArray[Any], name: str) -> None:
    """Raise if an array holds NaN or infinity."""
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds NaN or infinity, needed finite numbers.")


def check_starts(starts: IntArray, n_steps: int) -> IntArray:
    """Return where recordings start, or raise unless each has a step and all steps belong to one."""
    if not isinstance(starts, np.ndarray) or starts.dtype != np.int64 or starts.ndim != 1 or len(starts) < 2:
        raise InputError(f"starts is {starts!r}, needed an array of int64: where each recording starts, and the end.")
    if starts[0] != 0 or starts[-1] != n_steps or not (np.diff(starts) > 0).all():
        raise InputError(
            f"starts is {starts.tolist()}, needed increasing numbers from 0 to {n_steps}, where steps end."
        )
    return starts
