"""What mixtures that sample a partition of points share: the points, checks of labels, what is recorded of a sweep."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.arrays import check_points, frozen
from homothety.errors import InputError
from homothety.models.parts import check_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from homothety.arrays import FloatArray, IntArray
    from homothety.distributions import NIW, NormalGamma


class PointsOfClusters:
    """Base of models of points (n_items, n_dims) whose clusters have a conjugate prior, `base`."""

    points: FloatArray
    base: NIW | NormalGamma

    @property
    def n_items(self) -> int:
        """Number of items to cluster."""
        return len(self.points)

    @cached_property
    def centred_points(self) -> FloatArray:
        """Points relative to the prior mean: sums of them can be subtracted without loss of digits."""
        return frozen(self.points - self.base.mean)

    def check_points(self) -> FloatArray:
        """Return the points, or raise if they are not finite or not of the dimension of the prior."""
        points = check_points(self.points)
        if self.base.n_dims != points.shape[1]:
            raise InputError(f"The prior has {self.base.n_dims} dimensions, the points have {points.shape[1]}.")
        return points


def log_likelihood(model: PointsOfClusters, state: Any) -> float:
    """Log density of the points given the partition, parameters integrated out (Eq. 19)."""
    labels = state.labels
    return float(sum(model.base.log_marginal(model.points[labels == k]) for k in np.unique(labels)))


def number_by_appearance(labels: IntArray) -> IntArray:
    """Return the same partition with clusters numbered in order of first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse], dtype=np.int64)


def check_partition(labels: IntArray, n_items: int) -> IntArray:
    """Return the size of each cluster, or raise if labels are not a partition of the items numbered without gaps."""
    sizes = np.bincount(check_labels(labels, "labels", n_items, n_items))
    if not sizes.all():
        raise InputError(f"No item has label {int(sizes.argmin())}, needed 0 to {len(sizes) - 1} without gaps.")
    return sizes


def scalars_of(state: Any, log_prior: float, log_likelihood: float) -> dict[str, float]:
    """Return the numbers that are traced of a state with clusters and a concentration."""
    return {
        "log_joint": log_prior + log_likelihood,
        "log_likelihood": log_likelihood,
        "n_clusters": state.n_clusters,
        "concentration": state.concentration,
    }


def keep_labels(state: Any) -> NDArray[np.integer[Any]]:
    """Return what is kept of a state after burn-in: the partition, in as few bytes as possible."""
    compact: NDArray[np.integer[Any]] = state.labels.astype(np.min_scalar_type(state.n_clusters))
    return compact
