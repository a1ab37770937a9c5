"""Kinds of clusters: how wide, and how round. Each is a normal-inverse-Wishart prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import multigammaln

from homothety.arrays import frozen
from homothety.distributions import NIW
from homothety.distributions.niw import multigammaln_of
from homothety.errors import InputError

if TYPE_CHECKING:
    from homothety.arrays import FloatArray

# Neighbouring widths differ by this factor: a cluster is at most a factor of 1.4 from one of them.
WIDTH_RATIO = 2.0
# Degrees of freedom beyond those at which the mean of the covariance exists: an ellipsoid, or nearly a ball. The
# sampling noise of log axis lengths is nearly a ball, so small clusters need not pay for a covariance of their own.
ROUNDNESS = (10.0, 100.0)
# Standard deviation, per coordinate, of shapes before any is seen: axis lengths differ by a factor of about 1.6.
UNIT = 0.5


@dataclass(frozen=True, eq=False)
class ClusterKinds:
    """Priors of the mean and covariance of a cluster, one for each kind.

    Parameters
    ----------
    mean : ndarray of shape (n_dims,)
        Prior mean of the mean of a cluster.
    strength : ndarray of shape (n_kinds,)
        How many points the prior mean counts for.
    scale : ndarray of shape (n_kinds,)
        Scale matrix of the inverse Wishart, as a multiple of the identity.
    dof : ndarray of shape (n_kinds,)
        Degrees of freedom of the inverse Wishart.

    Notes
    -----
    The mean of a cluster has the same broad prior whatever its width: its strength is the ratio of the two variances.
    """

    mean: FloatArray
    strength: FloatArray
    scale: FloatArray
    dof: FloatArray

    def __post_init__(self) -> None:
        for name in ("mean", "strength", "scale", "dof"):
            object.__setattr__(self, name, frozen(np.array(getattr(self, name), dtype=np.float64)))
        if not len(self.strength) == len(self.scale) == len(self.dof) > 0:
            raise InputError("strength, scale and dof need one number for each kind of cluster.")
        if not ((self.strength > 0).all() and (self.scale > 0).all() and (self.dof > self.n_dims - 1).all()):
            raise InputError("strength and scale must be positive, dof more than n_dims - 1.")

    @classmethod
    def of_points(cls, points: FloatArray, narrowest: float) -> ClusterKinds:
        """Return kinds from the narrowest width up to the spread of all points, of every roundness."""
        n_dims = points.shape[1]
        variance = float(points.var(axis=0).mean()) + UNIT**2
        n_widths = 1 + max(int(np.ceil(np.log(np.sqrt(variance) / narrowest) / np.log(WIDTH_RATIO))), 0)
        widths, extra = np.meshgrid(narrowest * WIDTH_RATIO ** np.arange(n_widths), ROUNDNESS, indexing="ij")
        width, free = widths.ravel() ** 2, extra.ravel()
        return cls(points.mean(axis=0), width / variance, width * free, n_dims + 1 + free)

    @property
    def n_kinds(self) -> int:
        """Number of kinds."""
        return len(self.scale)

    @property
    def n_dims(self) -> int:
        """Number of coordinates of a point."""
        return len(self.mean)

    def prior(self, kind: int) -> NIW:
        """Return one kind as a distribution."""
        scale = self.scale[kind] * np.eye(self.n_dims)
        return NIW(self.mean, float(self.strength[kind]), scale, float(self.dof[kind]))

    def size_tables(self, max_size: int) -> tuple[FloatArray, FloatArray]:
        """Tabulate what the log marginal of n points depends on besides their weights and scatter.

        Returns
        -------
        log_constant, half_dof : ndarray of shape (n_kinds, max_size + 1)
            The log marginal is ``log_constant[n] - half_dof[n] * log|posterior scale|``, plus ``n_dims / 2`` times the
            logarithm of the prior strength over the posterior strength.
        """
        sizes, n_dims = np.arange(max_size + 1), self.n_dims
        half_dof = (self.dof[:, None] + sizes) / 2
        log_constant = np.empty_like(half_dof)
        for kind, halves in enumerate(half_dof):
            log_gammas = multigammaln_of(halves, n_dims) - multigammaln(self.dof[kind] / 2, n_dims)
            log_scale = self.dof[kind] / 2 * n_dims * np.log(self.scale[kind])
            log_constant[kind] = log_gammas + log_scale - sizes * n_dims / 2 * np.log(np.pi)
        return log_constant, half_dof
