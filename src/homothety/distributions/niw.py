"""Conjugate priors of a Gaussian, normal-inverse-Wishart and normal-gamma: posterior, marginal likelihood and draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln, multigammaln
from scipy.stats import t as student_t

from homothety.arrays import frozen
from homothety.errors import InputError, NotSPDError

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class NIW:
    r"""Normal-inverse-Wishart distribution of a Gaussian's mean and covariance.

    :math:`\Sigma \sim \mathcal{IW}(\Lambda_0, \nu_0)` and, given it,
    :math:`\mu \sim \mathcal N(\mu_0, \Sigma / \kappa_0)`.

    Parameters
    ----------
    mean : ndarray of shape (n_dims,)
        :math:`\mu_0`.
    mean_strength : float
        :math:`\kappa_0`, positive: how many observations the prior mean is worth.
    scale : ndarray of shape (n_dims, n_dims)
        :math:`\Lambda_0`, symmetric positive definite.
    dof : float
        :math:`\nu_0`, more than ``n_dims - 1``. The prior mean of the covariance, ``scale / (dof - n_dims - 1)``,
        exists for ``dof > n_dims + 1``.

    Examples
    --------
    >>> prior = NIW(mean=np.zeros(2), mean_strength=1.0, scale=np.eye(2), dof=4.0)
    >>> posterior = prior.posterior(np.array([[1.0, 0.0], [3.0, 0.0]]))
    >>> float(posterior.dof), posterior.mean.tolist()
    (6.0, [1.3333333333333333, 0.0])
    """

    mean: FloatArray
    mean_strength: float
    scale: FloatArray
    dof: float

    diagonal = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", frozen(np.array(self.mean, dtype=np.float64)))
        object.__setattr__(self, "scale", frozen(np.array(self.scale, dtype=np.float64)))
        if self.scale.shape != (self.n_dims, self.n_dims):
            raise InputError(f"scale has shape {self.scale.shape}, needed {(self.n_dims, self.n_dims)} to match mean.")
        if not is_spd(self.scale):
            raise NotSPDError("scale is not symmetric positive definite. Use (scale + scale.T) / 2, add a ridge.")
        if not self.mean_strength > 0:
            raise InputError(f"mean_strength is {self.mean_strength}, needed a positive number.")
        if not self.dof > self.n_dims - 1:
            raise InputError(f"dof is {self.dof}, needed more than n_dims - 1 = {self.n_dims - 1}.")

    @property
    def n_dims(self) -> int:
        """Number of dimensions of the points."""
        return int(self.mean.shape[0])

    def posterior(self, points: FloatArray) -> NIW:
        """Return the distribution given `points` of shape (n_points, n_dims) (Eq. 34)."""
        centred = points - self.mean
        strength = self.mean_strength + len(points)
        total = centred.sum(axis=0)
        # Statistics centred at the prior mean add over disjoint sets; the scatter about the sample mean does not.
        scale = self.scale + centred.T @ centred - np.outer(total, total) / strength
        return NIW(self.mean + total / strength, strength, scale, self.dof + len(points))

    def log_marginal(self, points: FloatArray) -> float:
        """Log density of `points` of shape (n_points, n_dims) with mean and covariance integrated out (Eq. 20)."""
        log_constant, half_dof = self.size_tables(len(points))
        log_det = np.linalg.slogdet(self.posterior(points).scale)[1]
        return float(log_constant[-1] - half_dof[-1] * log_det)

    def size_tables(self, max_size: int) -> tuple[FloatArray, FloatArray]:
        """Tabulate the two parts of the log marginal likelihood that depend on the number of points alone.

        Returns
        -------
        log_constant, half_dof : ndarray of shape (max_size + 1,)
            The log marginal of n points is ``log_constant[n] - half_dof[n] * log|posterior scale|``.
        """
        sizes = np.arange(max_size + 1)
        half_dof = (self.dof + sizes) / 2
        log_gammas = multigammaln_of(half_dof, self.n_dims) - multigammaln(self.dof / 2, self.n_dims)
        log_strengths = self.n_dims / 2 * np.log(self.mean_strength / (self.mean_strength + sizes))
        log_scale = self.dof / 2 * np.linalg.slogdet(self.scale)[1]
        log_constant = log_gammas + log_strengths + log_scale - sizes * self.n_dims / 2 * np.log(np.pi)
        return log_constant, half_dof

    def log_predictive(self, points: FloatArray) -> FloatArray:
        """Log density of each of `points` (n_points, n_dims) on its own: a multivariate Student t."""
        tails = self.dof - self.n_dims + 1
        factor = np.linalg.cholesky(self.scale * (self.mean_strength + 1) / (self.mean_strength * tails))
        standardised = solve_triangular(factor, (points - self.mean).T, lower=True)
        distance = (standardised**2).sum(axis=0)
        log_constant = gammaln((tails + self.n_dims) / 2) - gammaln(tails / 2)
        log_constant -= self.n_dims / 2 * np.log(tails * np.pi) + np.log(np.diagonal(factor)).sum()
        return np.asarray(log_constant - (tails + self.n_dims) / 2 * np.log1p(distance / tails))

    def sample(self, rng: Generator) -> tuple[FloatArray, FloatArray]:
        """Draw a mean (n_dims,) and a covariance (n_dims, n_dims)."""
        # Bartlett's triangle gives a root of the covariance as well: with few degrees of freedom the covariance itself
        # is often too close to singular to be factorised.
        triangle = np.tril(rng.standard_normal((self.n_dims, self.n_dims)), -1)
        triangle += np.diag(np.sqrt(rng.chisquare(self.dof - np.arange(self.n_dims))))
        root = np.linalg.solve(triangle, np.linalg.cholesky(self.scale).T).T
        return self.mean + root @ rng.standard_normal(self.n_dims) / np.sqrt(self.mean_strength), root @ root.T


def is_spd(matrix: FloatArray) -> bool:
    """Whether a square matrix is finite, symmetric up to rounding and positive definite."""
    return bool(np.isfinite(matrix).all() and np.allclose(matrix, matrix.T) and np.linalg.eigvalsh(matrix)[0] > 0)


def multigammaln_of(values: FloatArray, n_dims: int) -> FloatArray:
    """Logarithm of the multivariate gamma function, for an array of arguments at once."""
    halves = np.arange(n_dims) / 2
    constant = n_dims * (n_dims - 1) / 4 * np.log(np.pi)
    return np.asarray(constant + gammaln(values[:, None] - halves).sum(axis=1))


@dataclass(frozen=True, eq=False)
class NormalGamma:
    """Gaussian with independent coordinates, each with its own mean and precision.

    It has fewer parameters than the full covariance, but, unlike it, is not invariant to rotations of the points.

    Parameters
    ----------
    mean : ndarray of shape (n_dims,)
        Prior mean of the means.
    mean_strength : float
        How many observations the prior mean is worth.
    shape : float
        Shape of the gamma distribution of each precision.
    rate : ndarray of shape (n_dims,)
        Rate of the gamma distribution of each precision.
    """

    mean: FloatArray
    mean_strength: float
    shape: float
    rate: FloatArray

    diagonal = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", frozen(np.array(self.mean, dtype=np.float64)))
        object.__setattr__(self, "rate", frozen(np.array(self.rate, dtype=np.float64)))
        if self.rate.shape != self.mean.shape or not (self.rate > 0).all():
            raise InputError(f"rate must hold {self.n_dims} positive numbers, found {self.rate}.")
        if not (self.mean_strength > 0 and self.shape > 0):
            raise InputError(f"mean_strength and shape must be positive, found {self.mean_strength} and {self.shape}.")

    @property
    def n_dims(self) -> int:
        """Number of dimensions of the points."""
        return int(self.mean.shape[0])

    @property
    def scale(self) -> FloatArray:
        """Twice the rates on a diagonal, so that statistics enter as in the normal-inverse-Wishart."""
        return np.diag(2 * self.rate)

    def posterior(self, points: FloatArray) -> NormalGamma:
        """Return the distribution given `points` of shape (n_points, n_dims)."""
        centred = points - self.mean
        strength = self.mean_strength + len(points)
        total = centred.sum(axis=0)
        rate = self.rate + ((centred**2).sum(axis=0) - total**2 / strength) / 2
        return NormalGamma(self.mean + total / strength, strength, self.shape + len(points) / 2, rate)

    def log_marginal(self, points: FloatArray) -> float:
        """Log density of `points` of shape (n_points, n_dims) with means and precisions integrated out."""
        log_constant, half_dof = self.size_tables(len(points))
        log_det = np.log(2 * self.posterior(points).rate).sum()
        return float(log_constant[-1] - half_dof[-1] * log_det)

    def size_tables(self, max_size: int) -> tuple[FloatArray, FloatArray]:
        """Tabulate the two parts of the log marginal likelihood that depend on the number of points alone.

        Returns
        -------
        log_constant, half_dof : ndarray of shape (max_size + 1,)
            The log marginal of n points is ``log_constant[n] - half_dof[n] * sum(log(2 * posterior rate))``.
        """
        sizes = np.arange(max_size + 1)
        shapes = self.shape + sizes / 2
        per_dim = gammaln(shapes) - gammaln(self.shape) + shapes * np.log(2) - sizes / 2 * np.log(2 * np.pi)
        per_dim += np.log(self.mean_strength / (self.mean_strength + sizes)) / 2
        return self.n_dims * per_dim + self.shape * np.log(self.rate).sum(), shapes

    def log_predictive(self, points: FloatArray) -> FloatArray:
        """Log density of each of `points` (n_points, n_dims) on its own: a product of Student t densities."""
        spread = np.sqrt(self.rate * (self.mean_strength + 1) / (self.shape * self.mean_strength))
        return np.asarray(student_t.logpdf(points, 2 * self.shape, self.mean, spread).sum(axis=1))

    def sample(self, rng: Generator) -> tuple[FloatArray, FloatArray]:
        """Draw a mean (n_dims,) and a diagonal covariance (n_dims, n_dims)."""
        variances = self.rate / rng.standard_gamma(self.shape, self.n_dims)
        means = self.mean + np.sqrt(variances / self.mean_strength) * rng.standard_normal(self.n_dims)
        return means, np.diag(variances)
