"""Covariance matrices from observations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from homothety.arrays import FloatArray, check_points
from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

Shrinkage: TypeAlias = Literal["ledoit-wolf", "oas"] | float | None

_ROUNDING = 1e-10  # differences between points below this share of the largest coordinate mean nothing


def sample_covariance(
    samples: ArrayLike,
    *,
    assume_centered: bool = False,
    ddof: int = 0,
    ridge: float = 0.0,
    shrinkage: Shrinkage = None,
    name: str = "samples",
) -> FloatArray:
    """Return the covariance matrix of observations, regularised on request.

    Parameters
    ----------
    samples : array_like of shape (n_samples, n_dims)
        One observation per row.
    assume_centered : bool
        Take the mean to be zero instead of estimating it.
    ddof : int
        The scatter is divided by ``n_samples - ddof``.
    ridge : float
        Adds ``ridge * trace(C) * I`` to the covariance C, at least 0. This bounds the condition number by
        ``1 + 1 / ridge`` whatever the rank.
    shrinkage : {"ledoit-wolf", "oas"}, float or None
        Replaces C by ``(1 - s) * C + s * trace(C) / n_dims * I``, with the intensity s given or estimated by
        scikit-learn. The ridge comes after.
    name : str
        What the messages call the observations.

    Returns
    -------
    covariance : ndarray of shape (n_dims, n_dims)
        Symmetric. Singular if there are no more samples than dimensions and nothing was asked for against it.

    Notes
    -----
    Eq. (3) of the paper with the default arguments. Both remedies pull the eigenvalues together, hence every shape
    towards the sphere: use the same ones for all matrices that are to be compared.

    Examples
    --------
    >>> sample_covariance([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    array([[0.5, 0. ],
           [0. , 2. ]])
    """
    points = check_points(samples, name)
    n_samples, n_dims = points.shape
    needed = ddof + 1 if assume_centered else max(ddof + 1, 2)
    if n_samples < needed:
        raise InputError(f"{name} has {n_samples} rows, needed at least {needed} for a covariance with ddof={ddof}.")
    if not 0 <= ridge < np.inf:
        raise InputError(f"ridge is {ridge}, needed a finite number of at least 0, such as 1e-3.")
    centred = points if assume_centered else points - points.mean(axis=0)
    covariance = centred.T @ centred / (n_samples - ddof)
    intensity = _shrinkage_intensity(centred, shrinkage)
    trace = np.trace(covariance)
    return (1 - intensity) * covariance + (intensity / n_dims + ridge) * trace * np.eye(n_dims)


def sample_covariances(
    groups: Sequence[ArrayLike] | FloatArray,
    *,
    assume_centered: bool = False,
    ddof: int = 0,
    ridge: float = 0.0,
    shrinkage: Shrinkage = None,
) -> FloatArray:
    """Return one covariance matrix per group of observations.

    Parameters
    ----------
    groups : sequence of array_like of shape (n_samples, n_dims)
        The number of samples may differ between groups, the number of dimensions may not. An array of shape
        (n_groups, n_samples, n_dims) will do.
    assume_centered, ddof, ridge, shrinkage
        As for `sample_covariance`; shrinkage is estimated for each group on its own.

    Returns
    -------
    covariances : ndarray of shape (n_groups, n_dims, n_dims)
    """
    if len(groups) == 0:
        raise InputError("groups is empty, needed at least one array of observations.")
    covariances = [
        sample_covariance(
            samples,
            assume_centered=assume_centered,
            ddof=ddof,
            ridge=ridge,
            shrinkage=shrinkage,
            name=f"groups[{index}]",
        )
        for index, samples in enumerate(groups)
    ]
    n_dims = len(covariances[0])
    for index, covariance in enumerate(covariances):
        if len(covariance) != n_dims:
            raise InputError(
                f"groups[{index}] has {len(covariance)} dimensions but groups[0] has {n_dims}: all need the same."
            )
    return np.stack(covariances)


def mean_variance(points: FloatArray) -> float:
    """Return the mean, over coordinates, of the variances of `points` (n_points, n_dims); positive in any units.

    Points that are equal up to rounding get what rounding alone could make: priors scaled by it stay proper.
    """
    rounding = (_ROUNDING * np.abs(points).max()) ** 2
    return float(max(points.var(axis=0).mean(), rounding, np.finfo(np.float64).tiny))


def _shrinkage_intensity(centred: FloatArray, shrinkage: Shrinkage) -> float:
    """Return the share of the sphere in the shrunk covariance."""
    if shrinkage is None:
        return 0.0
    if shrinkage == "ledoit-wolf":
        from sklearn.covariance import ledoit_wolf_shrinkage

        return float(ledoit_wolf_shrinkage(centred, assume_centered=True))
    if shrinkage == "oas":
        from sklearn.covariance import oas

        return float(oas(centred, assume_centered=True)[1])
    if isinstance(shrinkage, str) or not 0 <= shrinkage <= 1:
        raise InputError(f"shrinkage is {shrinkage!r}, needed 'ledoit-wolf', 'oas', a number between 0 and 1, or None.")
    return float(shrinkage)
