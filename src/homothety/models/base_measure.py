"""The prior of a cluster, set to the size of the points it is to hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.arrays import check_positive
from homothety.covariance.estimate import mean_variance
from homothety.distributions import NIW, NormalGamma
from homothety.errors import InputError

if TYPE_CHECKING:
    from homothety.arrays import FloatArray


def base_measure(
    points: FloatArray, *, mean_strength: float, dof: float | None, scale: float | None, share: float, diagonal: bool
) -> NIW | NormalGamma:
    """Return the data-driven prior of a cluster.

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
