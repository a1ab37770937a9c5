"""What the states of a fit expect of missing values."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

if TYPE_CHECKING:
    from homothety.arrays import FloatArray

_N_HALVINGS = 50  # of the interval that holds a quantile


class Imputed(NamedTuple):
    """A recording with missing values filled in, (n_steps, n_dims) each, in its own units."""

    values: FloatArray
    """Expectations of missing values; observed values as they are."""
    lower: FloatArray
    upper: FloatArray


def impute_steps(
    steps: FloatArray, probs: FloatArray, means: FloatArray, covariances: FloatArray, level: float = 0.9
) -> Imputed:
    """Return steps with missing values, NaN, filled in by their expectations, with equal-tailed intervals.

    Parameters
    ----------
    steps : ndarray of shape (n_steps, n_dims)
    probs : ndarray of shape (n_steps, n_states)
        Probability of each state at each step.
    means, covariances : ndarray of shape (n_states, n_dims), (n_states, n_dims, n_dims)
    level : float, default=0.9
        Probability that an interval holds the value.

    Examples
    --------
    >>> covariances = np.array([[[1, 0.8], [0.8, 1]]])
    >>> known = impute_steps(np.array([[1.0, np.nan]]), np.ones((1, 1)), np.zeros((1, 2)), covariances)
    >>> known.values.round(2).tolist(), known.lower.round(2).tolist()
    ([[1.0, 0.8]], [[1.0, -0.19]])
    """
    values, lower, upper = steps.copy(), steps.copy(), steps.copy()
    kinds, numbers = np.unique(np.isnan(steps), axis=0, return_inverse=True)
    for number, lacking in enumerate(kinds):
        if not lacking.any():
            continue
        chosen, known = np.flatnonzero(numbers.ravel() == number), ~lacking
        mixed, own = covariances[:, known][:, :, lacking], covariances[:, lacking][:, :, lacking]
        slopes = np.linalg.solve(covariances[:, known][:, :, known], mixed)  # (n_states, n_known, n_lacking)
        residuals = steps[np.ix_(chosen, known)][:, None] - means[:, known]
        expected = means[:, lacking] + np.einsum("tko,kom->tkm", residuals, slopes)
        variances = np.diagonal(own - np.swapaxes(slopes, 1, 2) @ mixed, axis1=1, axis2=2)
        spreads = np.sqrt(np.maximum(variances, 0.0))
        cells = np.ix_(chosen, lacking)
        values[cells] = np.einsum("tk,tkm->tm", probs[chosen], expected)
        lower[cells] = _mixture_quantile((1 - level) / 2, probs[chosen], expected, spreads)
        upper[cells] = _mixture_quantile((1 + level) / 2, probs[chosen], expected, spreads)
    return Imputed(values, lower, upper)


def _mixture_quantile(share: float, probs: FloatArray, means: FloatArray, spreads: FloatArray) -> FloatArray:
    """Return a quantile of mixtures of Gaussians, (n_steps, n_values).

    Parameters
    ----------
    share : float
    probs : ndarray of shape (n_steps, n_states)
    means : ndarray of shape (n_steps, n_states, n_values)
    spreads : ndarray of shape (n_states, n_values)

    Examples
    --------
    >>> probs, means = np.array([[0.5, 0.5]]), np.array([[[-1.0], [1.0]]])
    >>> float(np.abs(_mixture_quantile(0.5, probs, means, np.ones((2, 1))))[0, 0].round(6))
    0.0
    """
    scale = np.maximum(spreads, np.finfo(float).tiny)
    own = means + ndtri(share) * scale  # that of the mixture is between those of its parts
    low, high = own.min(axis=1), own.max(axis=1)
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        below = np.einsum("tk,tkm->tm", probs, ndtr((middle[:, None] - means) / scale)) < share
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2)
