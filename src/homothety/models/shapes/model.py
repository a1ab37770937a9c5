"""What a chain of the mixture of shapes is conditioned on, and its joint density."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from homothety.arrays import check_points, frozen, read_only
from homothety.errors import InputError
from homothety.models.shapes.prior import ATTRACTION, CONCENTRATIONS, LOG_DENSITY, log_normalisers, log_partition_weight

if TYPE_CHECKING:
    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.distributions import NIW
    from homothety.models.shapes._kernels import Compiled
    from homothety.models.shapes.kinds import ClusterKinds
    from homothety.models.shapes.state import ChainState

# Tails: one item in ten spreads twice as far about the mean of its cluster, one in a hundred four times. The smallest
# axis of a covariance from few samples has such a tail, and would make clusters of single matrices otherwise.
PRECISIONS, PRECISION_SHARES = (1.0, 1 / 4, 1 / 16), (0.89, 0.1, 0.01)
SHARE_MASS = 1.0  # of the Dirichlet prior of the shares of kinds, all kinds together: clusters tend to be of few kinds
N_NEAREST = 20  # neighbours among which half of all split-merge proposals choose


@dataclass(frozen=True, eq=False)
class Model:
    """Points to cluster and what is known of clusters beforehand. Never changes.

    Parameters
    ----------
    points : ndarray of shape (n_items, n_dims)
    kinds : ClusterKinds
    attraction : float
        Power of the size by which a cluster attracts items.
    precisions, precision_shares : tuple of float
        By what the precision of an item may be multiplied, and how probable that is.
    """

    points: FloatArray
    kinds: ClusterKinds
    attraction: float = ATTRACTION
    precisions: tuple[float, ...] = PRECISIONS
    precision_shares: tuple[float, ...] = PRECISION_SHARES

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", frozen(np.array(check_points(self.points))))
        if self.kinds.n_dims != self.points.shape[1]:
            raise InputError(f"The prior has {self.kinds.n_dims} dimensions, the points have {self.points.shape[1]}.")

    def check_state(self, state: ChainState) -> None:
        """Raise if a state does not fit this model."""
        from homothety.models.shapes.state import check_state

        check_state(self, state)

    @property
    def n_items(self) -> int:
        """Number of items to cluster."""
        return len(self.points)

    @cached_property
    def concentration_weights(self) -> FloatArray:
        """Log prior of the values of the concentration, less the log normaliser of the partitions."""
        return frozen(LOG_DENSITY - log_normalisers(self.n_items, self.attraction))

    @cached_property
    def nearest(self) -> IntArray:
        """The items nearest to each item, (n_items, n_nearest), itself among them."""
        from scipy.spatial import cKDTree

        n_nearest = min(N_NEAREST + 1, self.n_items)
        found = cKDTree(self.points).query(self.points, k=n_nearest)[1]
        return read_only(np.asarray(found, dtype=np.int64).reshape(self.n_items, n_nearest))

    @cached_property
    def compiled(self) -> Compiled:
        """Points and priors as the compiled loops want them."""
        from homothety.models.shapes._kernels import Compiled

        kinds, points = self.kinds, np.ascontiguousarray(self.points - self.kinds.mean)
        log_constant, half_dof = kinds.size_tables(self.n_items)
        precisions = np.array(self.precisions, dtype=np.float64)
        log_precisions = kinds.n_dims / 2 * np.log(precisions) + np.log(self.precision_shares)
        # Log density of a point alone in a cluster, for every precision and kind.
        strength = kinds.strength * precisions[:, None] / (kinds.strength + precisions[:, None])
        spread = np.square(points).sum(axis=1)[:, None, None] * strength / kinds.scale
        log_det = kinds.n_dims * np.log(kinds.scale) + np.log1p(spread)
        log_strength = kinds.n_dims / 2 * np.log(strength / precisions[:, None])
        alone = log_constant[:, 1] - half_dof[:, 1] * log_det + log_strength
        return Compiled(
            points,
            frozen(precisions),
            frozen(log_precisions),
            frozen(alone + log_precisions[:, None]),
            frozen(log_constant),
            frozen(half_dof),
            kinds.strength,
            kinds.scale,
            float(self.attraction),
        )


def log_likelihood(model: Model, state: ChainState) -> float:
    """Log density of points and spreads given partition and kinds, means and covariances integrated out."""
    from homothety.models.shapes._kernels import log_marginals

    compiled, logs = model.compiled, np.empty(model.kinds.n_kinds)
    total = float(compiled.log_precisions[state.spreads].sum())
    for k, kind in enumerate(state.kinds):
        members = np.flatnonzero(state.labels == k)
        log_marginals(members, len(members), np.array(state.spreads), compiled, logs)
        total += float(logs[kind])
    return total


def log_joint(model: Model, state: ChainState) -> float:
    """Log of the density of everything in a state and the points: the reference of trace and tests."""
    n_kinds = model.kinds.n_kinds
    share = SHARE_MASS / n_kinds
    place = int(np.abs(CONCENTRATIONS - state.concentration).argmin())
    log_shares = (share - 1) * state.log_shares.sum() + gammaln(SHARE_MASS) - n_kinds * gammaln(share)
    log_partition = log_partition_weight(state.labels, state.concentration, model.attraction)
    log_kinds = float(state.log_shares[state.kinds].sum())
    log_concentration = float(model.concentration_weights[place])
    return log_partition + log_concentration + float(log_shares) + log_kinds + log_likelihood(model, state)


def cluster_posterior(model: Model, members: BoolArray) -> NIW:
    """Return what is known of the mean and covariance of a cluster, under its most likely kind.

    The kind is that of the largest marginal likelihood: all kinds count alike, because draws do not keep how probable
    each kind was. All members count as of the usual spread.
    """
    from homothety.models.shapes._kernels import log_marginals

    items, logs = np.flatnonzero(members), np.empty(model.kinds.n_kinds)
    log_marginals(items, len(items), np.zeros(model.n_items, dtype=np.int64), model.compiled, logs)
    return model.kinds.prior(int(logs.argmax())).posterior(model.points[items])
