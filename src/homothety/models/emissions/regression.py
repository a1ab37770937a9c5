"""Linear regression with conjugate prior as the emission of a state: Gaussian and autoregressive in one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from homothety.arrays import frozen
from homothety.distributions.niw import is_spd
from homothety.errors import InputError, NotSPDError

if TYPE_CHECKING:
    from homothety.arrays import FloatArray, IntArray
    from homothety.sequences import Sequences


@dataclass(frozen=True, eq=False)
class Emission:
    r"""How a state emits observations, with a prior over its parameters.

    :math:`x_t = A \tilde x_t + e_t` with :math:`e_t \sim \mathcal N(0, \Sigma)`, and the matrix-normal inverse-Wishart
    prior :math:`A \mid \Sigma \sim \mathcal{MN}(M_0, \Sigma, K^{-1})`, :math:`\Sigma \sim \mathcal{IW}(S_0, \nu_0)`.
    With the constant regressor :math:`\tilde x_t = 1` that is a Gaussian with normal-inverse-Wishart prior; with the
    last `order` observations as regressors, a vector autoregression.

    Parameters
    ----------
    coefficients : ndarray of shape (n_dims, n_regressors)
        Prior mean of the coefficients, :math:`M_0`.
    precision : ndarray of shape (n_regressors, n_regressors)
        How much that prior mean counts, :math:`K`.
    scale : ndarray of shape (n_dims, n_dims)
        :math:`S_0`.
    dof : float
        :math:`\nu_0`, more than ``n_dims + 1``, so that the covariance has a prior mean.
    order : int, default=0
        Number of past observations in the regressors; 0 for a Gaussian.
    diagonal : bool, default=False
        Whether dimensions are independent given the regressors; of `scale` only the diagonal counts then.
    weight : float, default=1
        How much of an independent observation a step counts as: the density of a step is raised to this power. Less
        than one where neighbouring steps resemble each other.
    """

    coefficients: FloatArray
    precision: FloatArray
    scale: FloatArray
    dof: float
    order: int = 0
    diagonal: bool = False
    weight: float = 1.0

    def __post_init__(self) -> None:
        for name in ("coefficients", "precision", "scale"):
            object.__setattr__(self, name, frozen(np.array(getattr(self, name), dtype=np.float64)))
        for name, n in (("precision", self.n_regressors), ("scale", self.n_dims)):
            matrix = getattr(self, name)
            if matrix.shape != (n, n):
                raise InputError(f"{name} has shape {matrix.shape}, needed {(n, n)} to match coefficients.")
            if not is_spd(matrix):
                raise NotSPDError(f"{name} is not symmetric positive definite. Use (m + m.T) / 2, or add a ridge.")
        least = 2 if self.diagonal else self.n_dims + 1
        if not self.dof > least:
            raise InputError(f"dof is {self.dof}, needed more than {least} for the covariance to have a prior mean.")
        if not 0 < self.weight <= 1:
            raise InputError(f"weight is {self.weight}, needed a number above 0, and at most 1.")

    @classmethod
    def gaussian(
        cls, mean: FloatArray, mean_strength: float, scale: FloatArray, dof: float, *, diagonal: bool = False
    ) -> Emission:
        """Return Gaussian emissions with normal-inverse-Wishart prior."""
        return cls(np.asarray(mean)[:, None], np.array([[mean_strength]]), scale, dof, 0, diagonal)

    @classmethod
    def autoregressive(
        cls, order: int, precision: float, scale: FloatArray, dof: float, *, diagonal: bool = False
    ) -> Emission:
        """Return autoregressive emissions whose coefficients are zero a priori."""
        n_dims = len(scale)
        coefficients = np.zeros((n_dims, n_dims * order))
        return cls(coefficients, precision * np.eye(n_dims * order), scale, dof, order, diagonal)

    @property
    def n_dims(self) -> int:
        """Number of dimensions of an observation."""
        return int(self.coefficients.shape[0])

    @property
    def n_regressors(self) -> int:
        """Number of regressors."""
        return int(self.coefficients.shape[1])

    @cached_property
    def prior_scale(self) -> FloatArray:
        """Matrix G of a state without steps, (n, n): the prior in the form of observations."""
        weighted = self.coefficients @ self.precision
        scale = np.diag(np.diagonal(self.scale)) if self.diagonal else self.scale
        return frozen(np.block([[self.precision, weighted.T], [weighted, scale + weighted @ self.coefficients.T]]))

    @cached_property
    def prior_factor(self) -> FloatArray:
        """Factor of it, (1, n, n)."""
        return frozen(np.asarray(np.linalg.cholesky(self.prior_scale), dtype=np.float64)[None])

    @cached_property
    def log_prior_constant(self) -> float:
        """What the log marginal likelihood takes from the prior's factor."""
        from homothety.models.emissions._kernels import log_evidence_constant

        return log_evidence_constant(0, 0.0, self.prior_factor, self.dof, self.n_regressors, self.diagonal)

    def augment(self, sequences: Sequences) -> tuple[FloatArray, IntArray]:
        """Return the vectors ``z = (regressors, observation)`` of all steps, and where each series starts.

        The first `order` steps of a series are regressors only: they are left out.
        """
        augmented = [self._augment_one(series) for series in sequences]
        starts = np.concatenate([[0], np.cumsum([len(part) for part in augmented])]).astype(np.int64)
        starts.setflags(write=False)
        return frozen(np.ascontiguousarray(np.concatenate(augmented))), starts

    def _augment_one(self, series: FloatArray) -> FloatArray:
        if self.order == 0:
            return np.column_stack([np.ones(len(series)), series])
        n_kept = len(series) - self.order
        lags = [series[self.order - lag : self.order - lag + n_kept] for lag in range(1, self.order + 1)]
        return np.column_stack([*lags, series[self.order :]])

    def coefficients_of(self, whiteners: FloatArray) -> FloatArray:
        """Return the coefficients, (n_states, n_dims, n_regressors), of parameters as the sampler keeps them."""
        solved = np.linalg.solve(whiteners[:, :, self.n_regressors :], whiteners[:, :, : self.n_regressors])
        return np.asarray(-solved, dtype=np.float64)

    def covariances_of(self, whiteners: FloatArray) -> FloatArray:
        """Return the covariances, (n_states, n_dims, n_dims), of parameters as the sampler keeps them."""
        roots = np.linalg.inv(whiteners[:, :, self.n_regressors :])
        return np.asarray(roots @ roots.transpose(0, 2, 1))

    def whiteners_of(self, coefficients: FloatArray, covariances: FloatArray) -> FloatArray:
        """Return parameters as the sampler keeps them, (n_states, n_dims, n_regressors + n_dims)."""
        inverse_roots = np.linalg.inv(np.linalg.cholesky(covariances))
        return np.ascontiguousarray(np.concatenate([-inverse_roots @ coefficients, inverse_roots], axis=2))
