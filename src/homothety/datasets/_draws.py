"""Random pieces the generators are put together from."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from homothety.errors import InputError

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray

RandomState: TypeAlias = "int | Generator | None"
"""A seed, a generator to draw on, or None for fresh entropy."""


def haar_orthogonal(rng: Generator, n_matrices: int, n_dims: int) -> FloatArray:
    """Draw orthogonal matrices from the uniform (Haar) distribution, shape (n_matrices, n_dims, n_dims).

    Reflections are drawn as often as rotations. On covariances both act alike: flipping an eigenvector changes nothing.
    """
    orthogonal, triangular = np.linalg.qr(rng.standard_normal((n_matrices, n_dims, n_dims)))
    # QR is unique only up to signs, and the library's choice of them is not uniform (Mezzadri 2007).
    signs = np.sign(np.einsum("mii->mi", triangular))
    return orthogonal * signs[:, None, :]


def rotate_spectra(rng: Generator, spectra: FloatArray) -> FloatArray:
    """Return covariances with the given eigenvalues, shape (n_matrices, n_dims), along random axes."""
    axes = haar_orthogonal(rng, *spectra.shape)
    return gram(axes * np.sqrt(spectra)[:, None, :])


def lognormal_noise(rng: Generator, n_matrices: int, n_dims: int, spread: float) -> FloatArray:
    """Draw positive definite matrices about the identity: exponentials of symmetric Gaussian ones.

    Parameters
    ----------
    rng : Generator
    n_matrices, n_dims : int
    spread : float
        Standard deviation of the diagonal of the logarithm; off the diagonal it is smaller by the square root of 2,
        which makes the distribution the same along all axes.

    Returns
    -------
    noise : ndarray of shape (n_matrices, n_dims, n_dims)
    """
    normals = rng.standard_normal((n_matrices, n_dims, n_dims))
    values, vectors = np.linalg.eigh(spread * (normals + normals.swapaxes(1, 2)) / 2)
    return gram(vectors * np.exp(values / 2)[:, None, :])


def wishart_factors(rng: Generator, n_matrices: int, n_dims: int, dof: int) -> FloatArray:
    """Draw triangular factors of sample covariances of white noise, shape (n_matrices, n_dims, n_dims).

    Bartlett's decomposition: the cost does not depend on the degrees of freedom.
    """
    factors = np.tril(rng.standard_normal((n_matrices, n_dims, n_dims)), k=-1)
    diagonal = np.arange(n_dims)
    factors[:, diagonal, diagonal] = np.sqrt(rng.chisquare(dof - diagonal, size=(n_matrices, n_dims)))
    return factors / np.sqrt(dof)


def with_noise(rng: Generator, factors: FloatArray, noise: float) -> FloatArray:
    """Return the covariances F F' with noise of the given spread put in between, or as they are if it is 0."""
    if noise == 0:
        return gram(factors)
    return congruence(factors, lognormal_noise(rng, len(factors), factors.shape[1], noise))


def congruence(factors: FloatArray, inner: FloatArray) -> FloatArray:
    """Return F S F' for stacks of factors F and symmetric S, exactly symmetric."""
    product = factors @ inner @ factors.swapaxes(1, 2)
    return (product + product.swapaxes(1, 2)) / 2


def gram(factors: FloatArray) -> FloatArray:
    """Return F F' for a stack of factors F, exactly symmetric."""
    product = factors @ factors.swapaxes(1, 2)
    return (product + product.swapaxes(1, 2)) / 2


def shape_distance(spectrum: FloatArray, others: FloatArray) -> FloatArray:
    """How much the shapes of two ascending spectra differ; leading axes broadcast.

    The standard deviation, over axes, of the difference of log axis lengths: zero for one shape at any two scales.
    """
    return np.std(np.log(spectrum) - np.log(others), axis=-1) / 2


def check_spread(value: float, name: str) -> float:
    """Return a finite number that is not negative, or raise naming it."""
    if not (np.isfinite(value) and value >= 0):
        raise InputError(f"{name} is {value}, needed a finite number of at least 0.")
    return float(value)


def check_choice(value: str, name: str, choices: tuple[str, ...]) -> None:
    """Raise unless the value is one of the choices."""
    if value not in choices:
        raise InputError(f"{name} is {value!r}, needed one of {', '.join(map(repr, choices))}.")
