"""Densities of Gaussians, many points under many of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.errors import NotSPDError

if TYPE_CHECKING:
    from homothety.arrays import FloatArray

BLOCK = 2048  # points worked on together: they stay in the cache, and products too small for threads to get in the way


def gaussian_log_density(points: FloatArray, means: FloatArray, covariances: FloatArray) -> FloatArray:
    """Log density of every point under every Gaussian.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_dims)
    means : ndarray of shape (n_gaussians, n_dims)
    covariances : ndarray of shape (n_gaussians, n_dims, n_dims)
        Symmetric positive definite; lower triangles are read.

    Returns
    -------
    log_density : ndarray of shape (n_points, n_gaussians)
        C order, as the messages of hidden Markov models want their evidence.

    Examples
    --------
    >>> density = np.exp(gaussian_log_density(np.zeros((1, 2)), np.zeros((1, 2)), np.eye(2)[None]))
    >>> bool(np.isclose(density[0, 0], 1 / (2 * np.pi)))
    True
    """
    roots = _cholesky_factors(covariances)
    # The inverse of a triangle is cheap, a triangular solve per point is not.
    whiteners, n_dims = np.asarray(np.linalg.inv(roots), dtype=np.float64), points.shape[1]
    constants = -np.log(np.diagonal(roots, axis1=-2, axis2=-1)).sum(axis=-1) - n_dims / 2 * np.log(2 * np.pi)
    log_density = np.empty((len(points), len(means)))
    for start in range(0, len(points), BLOCK):
        block = slice(start, start + BLOCK)
        distances = _squared_distances(points[block], means, whiteners)
        log_density[block] = (constants[:, None] - 0.5 * distances).T
    return log_density


def _squared_distances(points: FloatArray, means: FloatArray, whiteners: FloatArray) -> FloatArray:
    """Squared Mahalanobis distances of every point from every mean, (n_gaussians, n_points).

    Points are laid out by dimension: with few dimensions, that is what makes rows long enough to be worth a vector.
    """
    columns, distances = np.ascontiguousarray(points.T), np.empty((len(means), len(points)))
    for mean, whitener, row in zip(means, whiteners, distances, strict=True):
        whitened = whitener @ (columns - mean[:, None])
        np.einsum("dn,dn->n", whitened, whitened, out=row)
    return distances


def _cholesky_factors(covariances: FloatArray) -> FloatArray:
    """Lower triangular roots of covariances (n_gaussians, n_dims, n_dims), or an error that names the offender."""
    try:
        return np.asarray(np.linalg.cholesky(covariances))
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(covariances)[:, 0]
        k = int(smallest.argmin())
        raise NotSPDError(
            f"covariances[{k}] is not positive definite: its smallest eigenvalue is {smallest[k]:.3g}, needed more "
            "than rounding leaves of zero. Add a ridge to it."
        ) from None
