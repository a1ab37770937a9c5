"""Draws of probabilities, however small their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray

# A draw of exactly zero would rule an event out for good. Much smaller ones are no better: products with them leave the
# range in which processors are fast.
_LEAST_PROBABILITY = 1e-200
LEAST_PARAMETER = 1e-300  # products of small numbers must not make one zero


def sample_dirichlet(rng: Generator, parameters: FloatArray) -> FloatArray:
    """Draw probabilities from Dirichlet distributions.

    Parameters
    ----------
    rng : Generator
    parameters : ndarray of shape (..., n_outcomes)
        Positive; one distribution for each of the leading axes.

    Returns
    -------
    probs : ndarray of shape (..., n_outcomes)
        The last axis sums to one; no entry is below 1e-201.

    Notes
    -----
    A gamma variable of shape a is one of shape a + 1 times the power 1 / a of a uniform one. In logarithms that holds
    for shapes whose gamma variables are too small for a double.

    Examples
    --------
    >>> probs = sample_dirichlet(np.random.default_rng(0), np.full((2, 3), 1e-8))
    >>> probs.max(axis=1).tolist(), bool(probs.min() > 0)
    ([1.0, 1.0], True)
    """
    shapes = np.maximum(parameters, LEAST_PARAMETER)
    # 1 - random() lies in (0, 1]: its logarithm is finite.
    logs = np.log(rng.standard_gamma(shapes + 1)) + np.log1p(-rng.random(shapes.shape)) / shapes
    weights = np.maximum(np.exp(logs - logs.max(axis=-1, keepdims=True)), _LEAST_PROBABILITY)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
