"""Choosing columns by name or number, and cutting rows into series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import BoolArray, FloatArray, IntArray

    Scalar = TypeVar("Scalar", bound=np.generic)

Column: TypeAlias = "str | int"
"""A column, by its name or by its number from 0."""

MAX_EXACT = 2.0**53  # floats beyond it are all whole numbers


def find_column(column: Column, names: Sequence[str], n_columns: int, path: Path) -> int:
    """Return the number of a column, or raise saying which there are."""
    if isinstance(column, str):
        if column in names:
            return list(names).index(column)
        found = f"columns {', '.join(names)}" if names else "columns without names, counted from 0"
        raise InputError(f"{path} has no column {column!r}; it has {found}.")
    if not 0 <= column < n_columns:
        raise InputError(f"{path} has no column {column}; it has {n_columns}, counted from 0.")
    return int(column)


def find_columns(
    columns: Column | Sequence[Column], names: Sequence[str], n_columns: int, path: Path, option: str = "columns"
) -> list[int]:
    """Return the numbers of columns, or raise; a single one need not be in a list.

    A name that only begins those of columns, as "position" does "position.x" and "position[0]", stands for all of them.
    `option` says in errors who named the columns.
    """
    wanted = [columns] if isinstance(columns, str | int) else list(columns)
    if not wanted:
        raise InputError(f"{option} is empty, needed at least one name or number. Leave it out to read all.")
    found = [at for column in wanted for at in _find_all(column, names, n_columns, path)]
    for place, at in enumerate(found):
        if at in found[:place]:
            called = names[at] if names else at
            raise InputError(f"{option} names column {called!r} twice, needed each once at most. Leave one out.")
    return found


def _find_all(column: Column, names: Sequence[str], n_columns: int, path: Path) -> list[int]:
    """Return the number of a column, or the numbers of the columns of which it names the whole."""
    parts = [at for at, name in enumerate(names) if str(name).startswith((f"{column}.", f"{column}["))]
    if isinstance(column, str) and column not in names and parts:
        return parts
    return [find_column(column, names, n_columns, path)]


def take_columns(
    steps: FloatArray, columns: Column | Sequence[Column] | None, channels: tuple[str, ...], path: Path
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the chosen dimensions and their names."""
    n_dims = steps.shape[1]
    channels = channels if len(channels) == n_dims else ()
    if columns is None:
        return steps, channels
    chosen = find_columns(columns, channels, n_dims, path)
    return steps[:, chosen], tuple(channels[at] for at in chosen) if channels else ()


def cut_by_lengths(n_steps: int, lengths: ArrayLike, path: Path) -> list[IntArray]:
    """Return the rows of each series, the series standing one after the other."""
    counts = check_lengths(lengths, path)
    if counts.sum() != n_steps:
        raise InputError(f"{path} has {n_steps} steps but lengths add up to {counts.sum()}. They must agree.")
    return np.split(np.arange(n_steps), np.cumsum(counts)[:-1])


def check_lengths(lengths: ArrayLike, path: Path) -> IntArray:
    """Return the number of steps of each series, shape (n_series,), or raise."""
    counts = np.ravel(np.asarray(lengths))
    is_whole = counts.dtype.kind in "iuf" and bool((np.isfinite(counts) & (counts == np.round(counts))).all())
    if counts.size == 0 or not is_whole or (counts < 1).any():
        raise InputError(f"{path}: lengths is {counts.tolist()}, needed a whole number of steps for each series.")
    return counts.astype(np.int64)


def is_missing(values: NDArray[Any]) -> BoolArray:
    """Say which entries of a column, shape (n_rows,), hold nothing: an empty cell, None or NaN."""
    return np.array([value is None or value == "" or value != value for value in values.tolist()], dtype=np.bool_)


def take_rows(values: NDArray[Scalar] | None, rows: list[IntArray]) -> list[NDArray[Scalar]] | None:
    """Return an array's rows for each series, or None if there is no array."""
    return None if values is None else [values[one] for one in rows]


def as_numbers(array: NDArray[Any], item: str) -> FloatArray:
    """Return a 2-D array of numbers as floats, or raise."""
    if array.dtype.kind not in "biuf":
        raise InputError(f"{item} holds values of type {array.dtype}, needed real numbers.")
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(
            f"{item} has shape {array.shape}, needed (n_steps, n_dims) with both at least 1. "
            "Put each series into an array of its own, in one .npz file."
        )
    return np.ascontiguousarray(array, dtype=np.float64)


def whole_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels as a row, whole numbers as integers."""
    labels = np.ravel(labels)
    is_whole = labels.dtype.kind == "f" and bool(((labels == np.round(labels)) & (np.abs(labels) <= MAX_EXACT)).all())
    return labels.astype(np.int64) if is_whole else labels
