"""Points to cluster and the prior of a cluster; the Chinese restaurant process prior of partitions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from homothety.arrays import frozen
from homothety.errors import InputError
from homothety.models.partitions import PointsOfClusters, log_likelihood

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.distributions import NIW, NormalGamma
    from homothety.models.crp._kernels import Prior
    from homothety.models.crp.state import ChainState


def log_partition_prior(labels: IntArray, concentration: float) -> float:
    """Log probability of a partition under the Chinese restaurant process (Ewens' formula).

    Parameters
    ----------
    labels : ndarray of shape (n_items,)
        Cluster of each item, by any labels.
    concentration : float
        Weight of a new cluster, where a cluster has its size for weight.

    Examples
    --------
    Two items share a cluster as often as not:

    >>> float(np.exp(log_partition_prior(np.array([0, 0]), 1.0)))
    0.5
    """
    sizes = np.unique(labels, return_counts=True)[1]
    log_weights = len(sizes) * np.log(concentration) + gammaln(sizes).sum()
    return float(log_weights + gammaln(concentration) - gammaln(concentration + len(labels)))


def sample_labels(rng: Generator, n_items: int, concentration: float) -> IntArray:
    """Draw a partition (n_items,) from its prior, clusters numbered in order of first appearance."""
    labels = np.zeros(n_items, dtype=np.int64)
    for i in range(1, n_items):
        # Picking the cluster of a uniformly drawn earlier item picks clusters in proportion to their size.
        opens = rng.random() * (i + concentration) < concentration
        labels[i] = labels[:i].max() + 1 if opens else labels[rng.integers(i)]
    return labels


@dataclass(frozen=True, eq=False)
class Model(PointsOfClusters):
    """Points to cluster and the prior of a cluster. Never changes.

    Parameters
    ----------
    points : ndarray of shape (n_items, n_dims)
        Finite; kept as a read-only array.
    base : NIW or NormalGamma
        Prior of the mean and covariance of a cluster.
    concentration_prior : tuple of two floats
        Shape and rate of the gamma prior of the concentration, used only by the move that resamples it.
    """

    points: FloatArray
    base: NIW | NormalGamma
    concentration_prior: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", frozen(np.array(self.check_points())))
        if not all(np.isfinite(value) and value > 0 for value in self.concentration_prior):
            raise InputError(f"concentration_prior is {self.concentration_prior}, needed a positive shape and rate.")

    def check_state(self, state: ChainState) -> None:
        """Raise if a state does not fit this model."""
        from homothety.models.crp.state import check_state

        check_state(self, state)

    @cached_property
    def compiled_prior(self) -> Prior:
        """The base measure as the compiled loops want it."""
        from homothety.models.crp._kernels import Prior

        by_size = np.column_stack(self.base.size_tables(self.n_items))
        root = np.linalg.cholesky(self.base.scale)
        pivots = np.diagonal(root)
        factor = np.tril(root / pivots, -1) + np.diag(1 / pivots**2)
        return Prior(by_size, float(self.base.mean_strength), factor, self.base.diagonal)


def log_joint(model: Model, state: ChainState) -> float:
    """Log of partition prior times likelihood given the concentration, the reference of trace and tests."""
    return log_partition_prior(state.labels, state.concentration) + log_likelihood(model, state)
