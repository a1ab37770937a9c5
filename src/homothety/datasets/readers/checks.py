"""What every reader makes sure of, and how it says so."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.datasets.readers.columns import whole_labels
from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from homothety.arrays import FloatArray

# Largest asymmetry, relative to the largest entry, that is taken for rounding: single precision leaves about this.
MAX_ASYMMETRY = 1e-6


@contextmanager
def blame_file(path: Path, remedy: str) -> Iterator[None]:
    """Turn whatever a library raises over a bad file into one error that names the file and says what to do."""
    try:
        yield
    except (InputError, ImportError, MemoryError):
        raise
    except Exception as error:  # a broken file can make these libraries raise nearly anything
        # What is wrong is in the first sentence; others advise programmers.
        reason = " ".join(str(error).split()).split(". ")[0].rstrip(".?!") or type(error).__name__
        raise InputError(f"{path} cannot be read: {reason}. {remedy}") from error


@contextmanager
def once(category: type[Warning]) -> Iterator[None]:
    """Let the first warning of a kind pass, with the number of all the others; and all warnings of other kinds."""
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


def check_stack(array: NDArray[Any], source: str) -> FloatArray:
    """Return matrices as a finite, exactly symmetric float array of shape (n_matrices, n_dims, n_dims), or raise.

    `source` says in errors where the array comes from.
    """
    if array.dtype.kind not in "biuf":
        raise InputError(f"{source} holds values of type {array.dtype}, needed real numbers.")
    if array.ndim != 3 or array.shape[1] != array.shape[2] or 0 in array.shape:
        raise InputError(
            f"{source} has shape {array.shape}, needed (n_matrices, n_dims, n_dims) with both at least 1."
            f" {_how_to_stack(array)}"
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


def _how_to_stack(array: NDArray[Any]) -> str:
    if array.ndim == 3 and array.shape[0] == array.shape[1]:
        return "np.moveaxis(array, -1, 0) puts the matrices first."
    return "Put square matrices of one size, one after the other, into one array with np.stack."


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
    bad = asymmetry > MAX_ASYMMETRY * np.abs(matrices).max(axis=(1, 2))
    if bad.any():
        first = int(bad.argmax())
        raise InputError(
            f"{source}: matrix {first}, counted from 0, is not symmetric: entries differ by up to "
            f"{asymmetry[first]:.3g} ({int(bad.sum())} such of {len(bad)}). Needed covariance matrices; "
            "check which axes or columns hold a matrix."
        )
