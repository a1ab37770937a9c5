"""What mixtures that sample a partition of points share: points and prior, checks of labels, what is recorded."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.arrays import check_points, check_positive, frozen
from homothety.covariance.estimate import mean_variance
from homothety.distributions import NIW, NormalGamma
from homothety.errors import InputError
from homothety.models._parts import check_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from homothety.arrays import FloatArray, IntArray
    from homothety.distributions.niw_kernels import Prior


def base_measure(
    points: FloatArray, *, mean_strength: float, dof: float | None, scale: float | None, share: float, diagonal: bool
) -> NIW | NormalGamma:
    """Return the prior of a cluster, set to the size of the points.

    Centred at the mean of the points; its expected covariance is isotropic with the mean variance of the points, and it
    counts as much as `share` times the number of points. `dof` and `scale`, if given, replace that: the scale matrix is
    then `scale` times the mean variance times the identity.
    """
    for name, value in (("mean_strength", mean_strength), ("dof", dof), ("scale", scale)):
        if value is not None:
            check_positive(value, name)
    if not 0 <= share < np.inf:
        raise InputError(f"prior_share is {share}, needed a finite number of at least 0.")
    n_points, n_dims = points.shape
    variance = mean_variance(points)
    if diagonal:
        shape = n_dims if dof is None else dof / 2
        rate = variance if scale is None else scale * variance / 2
        return NormalGamma(points.mean(axis=0), mean_strength, shape, np.full(n_dims, rate))
    dof = n_dims + 2 + share * n_points if dof is None else dof
    factor = max(dof - n_dims - 1, 1.0) if scale is None else scale
    return NIW(points.mean(axis=0), mean_strength, factor * variance * np.eye(n_dims), dof)


def compiled_prior(base: NIW | NormalGamma, n_items: int) -> Prior:
    """Return the prior of a cluster of up to `n_items` items as the compiled loops want it."""
    from homothety.distributions.niw_kernels import Prior

    by_size = np.column_stack(base.size_tables(n_items))
    return Prior(by_size, float(base.mean_strength), np.array(base.scale), base.diagonal)


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

    @cached_property
    def compiled_prior(self) -> Prior:
        """The prior of a cluster as the compiled loops want it."""
        return compiled_prior(self.base, self.n_items)

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
