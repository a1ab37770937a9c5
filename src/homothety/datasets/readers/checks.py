"""What readers share: libraries that may be missing, bad files, checks of matrices, columns, and rows of recordings."""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager
from importlib import import_module
from math import isqrt
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from homothety.datasets.sets import SequenceSet
from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import BoolArray, FloatArray, IntArray

    Columns: TypeAlias = "Column | Sequence[Column] | None"

Column: TypeAlias = "str | int"
"""A column, by its name or by its number from 0."""

ComponentOrder = Literal["upper", "lower", "diagonal", "fsl", "nifti", "dipy", "mrtrix"]
"""How distinct entries are listed; for 3 x 3 matrices:

========  =======================  ======================
upper     xx, xy, xz, yy, yz, zz   also called "fsl"
lower     xx, xy, yy, xz, yz, zz   also "nifti" and "dipy"
diagonal  xx, yy, zz, xy, xz, yz   also "mrtrix"
========  =======================  ======================
"""

_SAME_AS: dict[str, str] = {"fsl": "upper", "nifti": "lower", "dipy": "lower", "mrtrix": "diagonal"}

# Largest asymmetry, relative to the largest entry, that is taken for rounding: single precision leaves about this.
_MAX_ASYMMETRY = 1e-6
MAX_EXACT = 2.0**53  # floats beyond it are all whole numbers


# --- files ------------------------------------------------------------------------------------------------------------


def require(module: str, extra: str | None, item: str) -> Any:
    """Return a module that only some formats need, or raise with the command that installs it.

    `extra` is the extra of this package that brings the module, if there is one.
    """
    package = module.partition(".")[0]
    try:
        import_module(package)
        return import_module(module)
    except ImportError as error:
        wanted = package if extra is None else f"'homothety[{extra}]'"
        raise ImportError(
            f"{item} needs the package {package}, which is not installed. pip install {wanted} brings it."
        ) from error


def natural_order(name: str) -> list[tuple[int, str]]:
    """Sort key by which numbers inside names are compared as numbers: "demo_2" before "demo_10"."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name.lower())]


@contextmanager
def blame_file(path: Path, remedy: str) -> Iterator[None]:
    """Turn any error that a library raises over a bad file into one that names the file and says what to do."""
    try:
        yield
    except InputError as error:
        if str(path) in str(error) or type(error) is not InputError:
            raise
        raise InputError(f"{path}: {error}", *error.parameters, item=error.item) from error
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # a broken file can make these libraries raise nearly anything
        # What is wrong is in the first sentence; others advise programmers.
        reason = " ".join(str(error).split()).split(". ")[0].rstrip(".?!") or type(error).__name__
        raise InputError(f"{path} cannot be read: {reason}. {remedy}") from error


@contextmanager
def once(category: type[Warning]) -> Iterator[None]:
    """Issue the first warning of a category, with the number of its others; warnings of other categories all pass."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", category)
        yield
    own = [one.message for one in caught if issubclass(one.category, category)]
    for other in caught:
        if not issubclass(other.category, category):
            warnings.warn(other.message, stacklevel=3)
    if own:
        more = f" The same holds for {len(own) - 1} more." if len(own) > 1 else ""
        warnings.warn(f"{own[0]}{more}", category, stacklevel=3)


# --- matrices ---------------------------------------------------------------------------------------------------------


def check_stack(array: NDArray[Any], source: str) -> FloatArray:
    """Return matrices as a finite, exactly symmetric float array of shape (n_matrices, n_dims, n_dims), or raise.

    `source` says in errors where the array comes from.
    """
    if array.dtype.kind not in "biuf":
        raise InputError(f"{source} holds values of type {array.dtype}, needed real numbers.")
    if array.ndim != 3 or array.shape[1] != array.shape[2] or 0 in array.shape:
        remedy = "Put square matrices of one size, one after the other, into one array with np.stack."
        if array.ndim == 3 and array.shape[0] == array.shape[1]:
            remedy = "np.moveaxis(array, -1, 0) puts the matrices first."
        raise InputError(
            f"{source} has shape {array.shape}, needed (n_matrices, n_dims, n_dims) with both at least 1. {remedy}"
        )
    matrices = np.ascontiguousarray(array, dtype=np.float64)
    _check_finite(matrices, source)
    _check_symmetric(matrices, source)
    return (matrices + matrices.swapaxes(1, 2)) / 2


def check_labels(labels: NDArray[Any], n_matrices: int, source: str) -> NDArray[Any]:
    """Return one label per matrix, whole numbers as integers, or raise."""
    labels = np.ravel(labels)
    if len(labels) != n_matrices:
        raise InputError(f"{source} has {len(labels)} labels for {n_matrices} matrices, needed one each.")
    missing = labels != labels
    if missing.any():
        raise InputError(
            f"{source}: the label of matrix {int(missing.argmax())}, counted from 0, is NaN ({int(missing.sum())} such "
            f"of {len(labels)}). Leave those matrices out, or the labels."
        )
    return whole_labels(labels)


def _check_finite(matrices: FloatArray, source: str) -> None:
    """Raise if a matrix holds NaN or infinity."""
    bad = np.asarray(~np.isfinite(matrices).all(axis=(1, 2)))
    if bad.any():
        raise InputError(
            f"{source}: matrix {int(bad.argmax())}, counted from 0, holds NaN or infinity "
            f"({int(bad.sum())} such of {len(bad)}). Every entry must be finite; drop or re-estimate them."
        )


def _check_symmetric(matrices: FloatArray, source: str) -> None:
    """Raise if a matrix is further from symmetric than rounding explains."""
    asymmetry = np.abs(matrices - matrices.swapaxes(1, 2)).max(axis=(1, 2))
    bad = asymmetry > _MAX_ASYMMETRY * np.abs(matrices).max(axis=(1, 2))
    if bad.any():
        first = int(bad.argmax())
        raise InputError(
            f"{source}: matrix {first}, counted from 0, is not symmetric: entries differ by up to "
            f"{asymmetry[first]:.3g} ({int(bad.sum())} such of {len(bad)}). Needed covariance matrices; "
            "check which axes or columns hold a matrix."
        )


def unpack_symmetric(components: NDArray[Any], order: str) -> NDArray[Any]:
    """Return the matrices whose distinct entries are listed along the last axis.

    Parameters
    ----------
    components : ndarray of shape (n_matrices, n_dims * (n_dims + 1) / 2)
    order : str
        One of `ComponentOrder`.

    Returns
    -------
    matrices : ndarray of shape (n_matrices, n_dims, n_dims)
    """
    n_dims = n_dims_of_triangle(components.shape[-1])
    rows, columns = entries_of(check_order(order), n_dims)
    matrices = np.empty((len(components), n_dims, n_dims), dtype=components.dtype)
    matrices[:, rows, columns] = components
    matrices[:, columns, rows] = components
    return matrices


def n_dims_of_triangle(n_components: int) -> int:
    """Return the size of symmetric matrices with this number of distinct entries, 0 if no size has this number."""
    n_dims = (isqrt(8 * n_components + 1) - 1) // 2
    return n_dims if n_dims * (n_dims + 1) // 2 == n_components else 0


def check_order(order: str) -> str:
    """Return the order under its plain name, or raise listing the names there are."""
    if order not in get_args(ComponentOrder):
        raise InputError(
            f"order is {order!r}, needed one of {', '.join(map(repr, get_args(ComponentOrder)))}.", "order"
        )
    return _SAME_AS.get(order, order)


def entries_of(order: str, n_dims: int) -> tuple[IntArray, IntArray]:
    """Return row and column of each component in turn, in an order by its plain name."""
    if order == "upper":
        return np.triu_indices(n_dims)
    if order == "lower":
        return np.tril_indices(n_dims)
    diagonal = np.arange(n_dims)
    rows, columns = np.triu_indices(n_dims, k=1)
    return np.concatenate([diagonal, rows]), np.concatenate([diagonal, columns])


# --- columns of measurements and of labels ----------------------------------------------------------------------------


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
        raise InputError(f"{option} is empty, needed at least one name or number. Leave it out to read all.", option)
    found = [at for column in wanted for at in _find_all(column, names, n_columns, path)]
    for place, at in enumerate(found):
        if at in found[:place]:
            called = names[at] if names else at
            raise InputError(
                f"{option} names column {called!r} twice, needed each once at most. Leave one out.", option
            )
    return found


def _find_all(column: Column, names: Sequence[str], n_columns: int, path: Path) -> list[int]:
    """Return the number of a column, or the numbers of the columns of which it names the whole."""
    parts = [at for at, name in enumerate(names) if str(name).startswith((f"{column}.", f"{column}["))]
    if isinstance(column, str) and column not in names and parts:
        return parts
    return [find_column(column, names, n_columns, path)]


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


def is_missing(values: NDArray[Any]) -> BoolArray:
    """Say which entries of a column, shape (n_rows,), hold nothing: an empty cell, None or NaN."""
    return np.array([value is None or value == "" or value != value for value in values.tolist()], dtype=np.bool_)


# --- recordings -------------------------------------------------------------------------------------------------------


def cut_by_lengths(n_steps: int, lengths: ArrayLike | None, path: Path) -> tuple[list[IntArray], tuple[str, ...]]:
    """Return the rows of each recording and its name, the recordings standing one after the other.

    Without lengths, all rows are one recording.
    """
    if lengths is None:
        return [np.arange(n_steps)], (path.stem,)
    counts = check_lengths(lengths, path)
    if counts.sum() != n_steps:
        raise InputError(f"{path} has {n_steps} steps but lengths add up to {counts.sum()}. They must agree.")
    rows = np.split(np.arange(n_steps), np.cumsum(counts)[:-1])
    return rows, tuple(f"{path.stem} {i}" for i in range(len(rows)))


def check_lengths(lengths: ArrayLike, path: Path) -> IntArray:
    """Return the number of steps of each recording, shape (n_recordings,), or raise."""
    counts = np.ravel(np.asarray(lengths))
    is_whole = counts.dtype.kind in "iuf" and bool((np.isfinite(counts) & (counts == np.round(counts))).all())
    if counts.size == 0 or not is_whole or (counts < 1).any():
        raise InputError(f"{path}: lengths is {counts.tolist()}, needed a whole number of steps for each series.")
    return counts.astype(np.int64)


def take_columns(
    steps: FloatArray, columns: Columns, channels: tuple[str, ...], path: Path
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the chosen dimensions and their names."""
    n_dims = steps.shape[1]
    channels = channels if len(channels) == n_dims else ()
    if columns is None:
        return steps, channels
    chosen = find_columns(columns, channels, n_dims, path)
    return steps[:, chosen], tuple(channels[at] for at in chosen) if channels else ()


def whole_series(
    series: Sequence[FloatArray],
    columns: Columns,
    channels: tuple[str, ...],
    path: Path,
    *,
    names: tuple[str, ...] = (),
    actions: list[NDArray[Any]] | None = None,
    rate: float | None = None,
) -> SequenceSet:
    """Return the chosen channels of recordings that are not cut any further; a single one has the name of its file."""
    taken = [take_columns(steps, columns, channels, path) for steps in series]
    steps, kept = [one for one, _ in taken], taken[0][1]
    return SequenceSet(steps, None, actions, names or (path.stem,), kept, path.stem, rate=rate)
