"""Independent normal-gamma priors, one per coordinate: the diagonal alternative to the normal-inverse-Wishart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln
from scipy.stats import t as student_t

from homothety.arrays import frozen
from homothety.errors import InputError

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray


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
