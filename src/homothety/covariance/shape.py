"""Coordinates in which covariance matrices are ordinary points: of their shape alone, or of the whole matrix."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import helmert

from homothety.arrays import frozen
from homothety.covariance.spectra import DEFAULT_FLOOR, eigenvalues, floored_covariances

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray

_EXPLAINED = 0.99  # share of the variance of few points that is clustered


def shape_coordinates(X: ArrayLike, *, floor: float = DEFAULT_FLOOR, name: str = "X") -> FloatArray:
    """Return the shape of each matrix as a point, free of rotation and scale.

    Parameters
    ----------
    X : array_like of shape (n_matrices, n_dims, n_dims)
        Symmetric positive definite matrices.
    floor : float
        Relative floor of the eigenvalues, see `eigenvalues`.
    name : str
        What the messages call the stack.

    Returns
    -------
    coordinates : ndarray of shape (n_matrices, n_dims - 1)
        Logarithms of the axis lengths (half the logarithms of the eigenvalues, ascending), centred per matrix and
        written in an orthonormal basis of what is left, Helmert's. A sphere is the origin.

    Notes
    -----
    The Euclidean distance of two rows divided by the root of n_dims is the root of the SPCM dissimilarity of variant
    ``"log"``. The axes of a nearly spherical matrix swap rank under noise, so that points cannot cross the walls of the
    cone of ascending spectra: clusters near spheres are not Gaussian there.

    Examples
    --------
    >>> shape_coordinates([np.diag([1.0, 4.0]), np.diag([36.0, 9.0])]).round(4)
    array([[-0.4901],
           [-0.4901]])
    """
    return coordinates_of_spectra(eigenvalues(X, floor=floor, name=name))


def fractional_anisotropy(matrices: FloatArray) -> FloatArray:
    """Return how far from a ball each tensor is, from 0 to 1.

    Parameters
    ----------
    matrices : ndarray of shape (n_matrices, n_dims, n_dims)
        Symmetric positive definite, of two dimensions or more.

    Returns
    -------
    anisotropies : ndarray of shape (n_matrices,)

    Examples
    --------
    >>> fractional_anisotropy(np.array([np.eye(3), np.diag([1.0, 0.0, 0.0])]))
    array([0., 1.])
    """
    spectra = np.linalg.eigvalsh(matrices)
    n_dims = spectra.shape[1]
    deviations = spectra - spectra.mean(axis=1, keepdims=True)
    return np.sqrt(n_dims / (n_dims - 1) * (deviations**2).sum(axis=1) / (spectra**2).sum(axis=1))


@cache
def _helmert_basis(n_dims: int) -> FloatArray:
    """Return Helmert's orthonormal basis of what is left of centred vectors, (n_dims, n_dims - 1)."""
    return frozen(helmert(n_dims).T)


def coordinates_of_spectra(spectra: FloatArray) -> FloatArray:
    """Return the shape coordinates of matrices with given eigenvalues, ascending and positive."""
    log_lengths = np.log(spectra) / 2
    # Helmert's rows are orthogonal to constants only up to rounding, which a large common scale would magnify.
    centred = log_lengths - log_lengths.mean(axis=1, keepdims=True)
    return np.ascontiguousarray(centred @ _helmert_basis(centred.shape[1]))


def shape_points(spectra: FloatArray, *, use_size: bool = False) -> FloatArray:
    """Return the shape coordinates of matrices with given eigenvalues, and their size as a last one if wanted.

    The size is the mean log axis length times the root of the number of axes: distances are then those between vectors
    of log axis lengths.
    """
    points = coordinates_of_spectra(spectra)
    if not use_size:
        return points
    sizes = np.log(spectra).mean(axis=1) / 2 * np.sqrt(spectra.shape[1])
    return np.column_stack([points, sizes])


def span_of(points: FloatArray, least_spread: float) -> tuple[FloatArray, FloatArray]:
    """Return an orthonormal basis (n_dims, n_used) and origin (n_dims,) of the points, if they are fewer than axes.

    The basis is the identity if there are more points than coordinates. Otherwise it has the principal directions that
    make up 99 % of the variance, of these only the ones in which the standard deviation of the points is at least
    `least_spread`, and the first one in any case.
    """
    n_points, n_dims = points.shape
    if n_points > n_dims:
        return np.eye(n_dims), np.zeros(n_dims)
    origin = points.mean(axis=0)
    _, spreads, directions = np.linalg.svd(points - origin, full_matrices=False)
    explained = np.cumsum(spreads**2) - spreads**2  # by the directions before
    is_used = (explained < _EXPLAINED * np.sum(spreads**2)) & (spreads >= least_spread * np.sqrt(n_points))
    n_used = max(int(is_used.sum()), 1)
    return directions[:n_used].T, origin


def log_euclidean_coordinates(X: ArrayLike, *, floor: float = DEFAULT_FLOOR, name: str = "X") -> FloatArray:
    """Return each matrix as the vector of its logarithm, so that Euclidean distance is the log-Euclidean one.

    Parameters
    ----------
    X : array_like of shape (n_matrices, n_dims, n_dims)
        Symmetric positive definite matrices.
    floor : float
        Relative floor of the eigenvalues, see `eigenvalues`.
    name : str
        What the messages call the stack.

    Returns
    -------
    coordinates : ndarray of shape (n_matrices, n_dims * (n_dims + 1) / 2)
        Upper triangle of the matrix logarithm, row by row, off-diagonal entries times the root of two.

    Examples
    --------
    >>> log_euclidean_coordinates([np.diag([1.0, np.exp(2.0)])]).round(12)
    array([[0., 0., 2.]])
    """
    spectra, vectors = np.linalg.eigh(floored_covariances(X, floor=floor, name=name))
    logarithms = (vectors * np.log(spectra)[:, np.newaxis, :]) @ vectors.swapaxes(-1, -2)
    rows, columns = np.triu_indices(spectra.shape[1])
    # An off-diagonal entry occurs twice in the Frobenius norm and once here.
    weights = np.where(rows == columns, 1.0, np.sqrt(2.0))
    return np.ascontiguousarray(logarithms[:, rows, columns] * weights)
