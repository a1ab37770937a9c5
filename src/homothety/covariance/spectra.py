"""Spectra of covariance matrices: what is checked, what is symmetrised, and which eigenvalues are raised to a floor.

Shape is read off ratios of eigenvalues, and a ratio explodes when an eigenvalue is zero up to rounding. Every measure
of this package therefore goes through the functions of this file, so that the same matrix is accepted, refused or
floored whatever is computed from it.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from homothety.arrays import real_array
from homothety.errors import FlooredEigenvaluesWarning, InputError, NotSPDError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from homothety.arrays import BoolArray, FloatArray

DEFAULT_FLOOR = 1e-12
BLOCK_ENTRIES = 2**17  # of matrices that are looked at together where there are many: they stay close to the processor
_MAX_ASYMMETRY = 1e-8  # relative to the largest entry of the matrix
_MAX_ASYMMETRY_SINGLE = 1e-6  # the same for matrices that were computed in single precision
_NEGATIVE_ROUNDING = 1e-10  # times n_dims and the largest eigenvalue: below minus this, it is no longer rounding


def check_covariances(X: ArrayLike, name: str = "X") -> FloatArray:
    """Return a stack of symmetric positive definite matrices, or raise naming the first that is not.

    Parameters
    ----------
    X : array_like of shape (n_matrices, n_dims, n_dims)
        At least one matrix, of at least two dimensions. A list of equal-sized matrices will do.
    name : str
        What the messages call the stack.

    Returns
    -------
    covariances : ndarray of shape (n_matrices, n_dims, n_dims)
        Exactly symmetric, finite. An eigenvalue that is zero or negative by no more than rounding passes, because
        sample covariances have such: `eigenvalues` and `floored_covariances` raise it to a floor.

    Raises
    ------
    InputError
        For a wrong shape, NaN or infinity.
    NotSPDError
        For a matrix that is not symmetric, or has a negative eigenvalue.

    Examples
    --------
    >>> check_covariances([[[2.0, 1.0], [1.0, 2.0]]]).shape
    (1, 2, 2)
    """
    covariances = _symmetrised(X, name)
    _checked_spectra(covariances, name)
    return covariances


def eigenvalues(X: ArrayLike, *, floor: float = DEFAULT_FLOOR, name: str = "X") -> FloatArray:
    """Return the eigenvalues of each matrix, ascending and positive.

    Parameters
    ----------
    X : array_like of shape (n_matrices, n_dims, n_dims)
        Symmetric positive definite matrices; checked as by `check_covariances`.
    floor : float
        Eigenvalues below `floor` times the largest of their matrix are raised to that value, with a warning that
        counts the matrices. The axes so raised say nothing about shape: regularise rank-deficient estimates first.
    name : str
        What the messages call the stack.

    Returns
    -------
    eigenvalues : ndarray of shape (n_matrices, n_dims)

    Examples
    --------
    >>> eigenvalues([[[2.0, 1.0], [1.0, 2.0]]]).round(12)
    array([[1., 3.]])
    """
    return _floored(_checked_spectra(_symmetrised(X, name), name), floor, name)


def spectra_in_blocks(X: ArrayLike, *, floor: float = DEFAULT_FLOOR, name: str = "X") -> FloatArray:
    """Return what `eigenvalues` does, block by block: of arrays mapped from a file, and faster of large matrices.

    Parameters are those of `eigenvalues`.
    """
    if isinstance(X, list | tuple):
        _check_equal_shapes(X, name)
    array = X if isinstance(X, np.ndarray) else np.asarray(X)
    if array.ndim != 3 or array.shape[1] != array.shape[2] or array.size <= BLOCK_ENTRIES:
        return eigenvalues(array, floor=floor, name=name)
    n_rows, spectra = max(1, BLOCK_ENTRIES // array[0].size), np.empty(array.shape[:2])
    for start in range(0, len(array), n_rows):
        block, called = array[start : start + n_rows], f"{name}[{start}:]"
        spectra[start : start + n_rows] = _checked_spectra(_symmetrised(block, called), called)
    return _floored(spectra, floor, name)


def without_missing(X: ArrayLike, name: str = "X") -> tuple[FloatArray, BoolArray]:
    """Return matrices whose missing rows and columns are those of a diagonal matrix, and which dimensions are missing.

    Parameters
    ----------
    X : array_like of shape (n_matrices, n_dims, n_dims)
        NaN throughout the rows and columns of a dimension that is missing.
    name : str
        What the messages call the stack.

    Returns
    -------
    filled : ndarray of shape (n_matrices, n_dims, n_dims)
        With the median of the known diagonal in place of a missing one.
    missing : ndarray of bool, shape (n_matrices, n_dims)

    Raises
    ------
    InputError
        If NaN stands elsewhere, or fewer than two dimensions of a matrix are known.

    Examples
    --------
    >>> filled, missing = without_missing([[[4.0, 1.0, np.nan], [1.0, 2.0, np.nan], [np.nan] * 3]])
    >>> filled[0].tolist(), missing[0].tolist()
    ([[4.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 3.0]], [False, False, True])
    """
    filled = np.array(_as_stack(X, name))
    gaps = np.isnan(filled)
    missing = np.diagonal(gaps, axis1=1, axis2=2)
    wrong = (gaps != (missing[:, :, None] | missing[:, None, :])).any(axis=(1, 2))
    few = (~missing).sum(axis=1) < 2
    if wrong.any() or few.any():
        index = _first(wrong | few)
        found = "has NaN outside of" if wrong[index] else "has fewer than two dimensions besides"
        raise InputError(
            f"{name}[{index}] {found} missing dimensions, of which whole rows and columns are NaN. Repair or drop it."
        )
    for i in np.flatnonzero(missing.any(axis=1)).tolist():
        gone = np.flatnonzero(missing[i])
        filled[i][gaps[i]] = 0.0
        filled[i, gone, gone] = np.median(np.diagonal(filled[i])[~missing[i]])
    return filled, missing


def floored_covariances(X: ArrayLike, *, floor: float = DEFAULT_FLOOR, name: str = "X") -> FloatArray:
    """Return the matrices with every eigenvalue at or above the floor, hence invertible.

    Parameters
    ----------
    X : array_like of shape (n_matrices, n_dims, n_dims)
        Symmetric positive definite matrices; checked as by `check_covariances`.
    floor : float
        As for `eigenvalues`, with the same warning.
    name : str
        What the messages call the stack.

    Returns
    -------
    covariances : ndarray of shape (n_matrices, n_dims, n_dims)
        Matrices that needed no floor come back as they were.
    """
    covariances = _symmetrised(X, name)
    spectra = _checked_spectra(covariances, name)
    raised = _below_floor(spectra, floor).any(axis=1)
    if raised.any():
        _, vectors = np.linalg.eigh(covariances[raised])
        rebuilt = (vectors * _floored(spectra, floor, name)[raised, None, :]) @ vectors.swapaxes(-1, -2)
        covariances[raised] = (rebuilt + rebuilt.swapaxes(-1, -2)) / 2
    return covariances


def _symmetrised(X: ArrayLike, name: str) -> FloatArray:
    """Return a fresh, finite, exactly symmetric stack, or raise."""
    stack = _as_stack(X, name)
    broken: BoolArray = np.logical_not(np.isfinite(stack).all(axis=(1, 2)))
    if broken.any():
        raise InputError(
            f"{name}[{_first(broken)}] holds NaN or infinity ({int(broken.sum())} of {len(stack)} matrices do). "
            "Drop or repair them.",
            item=_first(broken),
        )
    allowed, largest = _allowed_asymmetry(X), np.abs(stack).max(axis=(1, 2))
    asymmetry = np.abs(stack / 2 - stack.swapaxes(-1, -2) / 2).max(axis=(1, 2)) * 2
    asymmetric = asymmetry > allowed * largest
    if asymmetric.any():
        index = _first(asymmetric)
        raise NotSPDError(
            f"{name}[{index}] is not symmetric: entries across the diagonal differ by {asymmetry[index]:.3g}, needed "
            f"at most {allowed:g} of its largest entry, {largest[index]:.3g}. If only rounding did this, pass "
            f"({name} + {name}.swapaxes(-1, -2)) / 2."
        )
    # Halved before they are added: the sum of two huge entries would overflow.
    return stack / 2 + stack.swapaxes(-1, -2) / 2


def _allowed_asymmetry(X: ArrayLike) -> float:
    """Return the relative asymmetry that is taken for rounding."""
    dtype = np.asarray(X).dtype
    return _MAX_ASYMMETRY_SINGLE if dtype.kind == "f" and dtype.itemsize <= 4 else _MAX_ASYMMETRY


def _as_stack(X: ArrayLike, name: str) -> FloatArray:
    """Return `X` as a float array of shape (n_matrices, n_dims, n_dims), or raise saying what its shape is."""
    if isinstance(X, list | tuple):
        _check_equal_shapes(X, name)
    array = real_array(X, name)
    if array.ndim == 2:
        raise InputError(
            f"{name} has shape {array.shape}, needed (n_matrices, n_dims, n_dims). "
            "Pass X[np.newaxis] for one matrix; for observations in rows, estimate covariances first."
        )
    if array.ndim != 3 or array.shape[1] != array.shape[2] or array.shape[0] == 0:
        raise InputError(
            f"{name} has shape {array.shape}, needed (n_matrices, n_dims, n_dims) with at least one square matrix."
        )
    if array.shape[1] < 2:
        raise InputError(f"{name} has shape {array.shape}: matrices need at least 2 dimensions to have a shape.")
    return array


def _check_equal_shapes(matrices: list[ArrayLike] | tuple[ArrayLike, ...], name: str) -> None:
    """Raise if the matrices of a list differ in shape: NumPy's own message would not say which one does."""
    shapes = [np.shape(matrix) for matrix in matrices]
    for index, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise InputError(
                f"{name}[{index}] has shape {shape} but {name}[0] has shape {shapes[0]}: all matrices need the same "
                "number of dimensions. Compare matrices of different size separately."
            )


def _checked_spectra(covariances: FloatArray, name: str) -> FloatArray:
    """Return the eigenvalues, ascending, of a symmetric stack, or raise for the first matrix with a negative one."""
    # LAPACK returns them ascending; axes are paired by rank, so the order is made sure of and not relied upon.
    spectra: FloatArray = np.sort(np.linalg.eigvalsh(covariances), axis=1)
    smallest, largest = spectra[:, 0], spectra[:, -1]
    rounding = _NEGATIVE_ROUNDING * spectra.shape[1] * largest
    bad = (smallest < -rounding) | (largest <= 0)
    if bad.any():
        index = _first(bad)
        raise NotSPDError(
            f"{name}[{index}] is not positive definite: smallest eigenvalue {smallest[index]:.3g}, needed > 0 "
            f"(rounding excuses {0 - max(rounding[index], 0):.3g}); {int(bad.sum())} of {len(spectra)} matrices fail. "
            "Estimate it with shrinkage or a ridge, or drop it.",
            item=index,
        )
    return spectra


def _floored(spectra: FloatArray, floor: float, name: str) -> FloatArray:
    """Return the spectra with tiny eigenvalues raised to the floor, warning with the number of matrices touched."""
    raised = _below_floor(spectra, floor)
    n_matrices = int(raised.any(axis=1).sum())
    if n_matrices == 0:
        return spectra
    warnings.warn(
        f"{name}: {n_matrices} of {len(spectra)} matrices have eigenvalues below {floor:g} of their largest; these "
        "were raised to that floor and say nothing about shape. Regularise the estimates first (sample_covariance "
        "with ridge or shrinkage).",
        FlooredEigenvaluesWarning,
        stacklevel=3,
    )
    return np.where(raised, _floor_values(spectra, floor), spectra)


def _below_floor(spectra: FloatArray, floor: float) -> BoolArray:
    return spectra < _floor_values(spectra, floor)


def _floor_values(spectra: FloatArray, floor: float) -> FloatArray:
    """Return the smallest admissible eigenvalue of each matrix, as a column."""
    if not 0 < floor < 1:
        raise InputError(f"floor is {floor}, needed a number between 0 and 1, such as {DEFAULT_FLOOR:g}.")
    # The smallest normal number keeps reciprocals finite for matrices of absurdly small scale.
    return np.maximum(floor * spectra[:, -1:], np.finfo(np.float64).tiny)


def _first(mask: BoolArray) -> int:
    return int(np.flatnonzero(mask)[0])
