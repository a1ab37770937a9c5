"""Weights of chains that do not agree, by how well each predicts what it has not seen.

Yao, Vehtari and Gelman (2022), Stacking for non-mixing Bayesian computations, Journal of Machine Learning Research 23.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp, softmax

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.arrays import FloatArray, IntArray

MAX_ROUNDS = 10_000
TOLERANCE = 1e-8  # largest change of a weight at which the search ends


def stacking_weights(log_densities: FloatArray) -> FloatArray:
    """Return the weights of chains whose mixture predicts best.

    Parameters
    ----------
    log_densities : ndarray of shape (n_looks, n_chains)
        Log density of every observation under every chain, given the other observations.

    Returns
    -------
    weights : ndarray of shape (n_chains,)
        They sum to one. Chains that give every observation the same density have equal weights.

    Notes
    -----
    Maximises the sum over observations of the log of the weighted mean density, plus the log density of a Dirichlet
    prior with parameters ``1 + 1 / n_chains``, by expectation-maximisation from equal weights. The function is concave,
    so that there is one maximum. Observations that are impossible under every chain (minus infinity) do not count.

    Examples
    --------
    The second chain is never better than the first:

    >>> stacking_weights(np.array([[0.0, -3.0], [0.0, -1.0], [0.0, -2.0]])).round(2).tolist()
    [0.85, 0.15]
    """
    log_densities = log_densities[(log_densities > -np.inf).any(axis=1)]
    n_chains = log_densities.shape[1]
    weights = np.full(n_chains, 1 / n_chains)
    for _ in range(MAX_ROUNDS):
        with np.errstate(divide="ignore"):
            shares = softmax(np.log(weights) + log_densities, axis=1)
        found = (shares.sum(axis=0) + 1 / n_chains) / (len(log_densities) + 1)
        is_over = np.abs(found - weights).max() < TOLERANCE
        weights = found
        if is_over:
            break
    return np.asarray(weights / weights.sum())


def leave_one_out(log_densities: FloatArray) -> FloatArray:
    """Return the log density of every observation given the others, from draws that have seen all.

    Parameters
    ----------
    log_densities : ndarray of shape (n_draws, n_looks)
        Log density of every observation given the parameters of every draw.

    Returns
    -------
    log_density : ndarray of shape (n_looks,)
        Minus infinity for an observation that is impossible under one of the draws.

    Notes
    -----
    A draw counts by the inverse of the density it gives to the observation, which undoes that it has seen it. Without
    more, the result is the harmonic mean of the densities. Such weights can be very uneven, so that none counts more
    than their mean times the square root of the number of draws (Ionides 2008, Truncated importance sampling).
    """
    n_draws, n_looks = log_densities.shape
    found, is_possible = np.full(n_looks, -np.inf), (log_densities > -np.inf).all(axis=0)
    log_densities = log_densities[:, is_possible]
    mean = logsumexp(-log_densities, axis=0) - np.log(n_draws)
    log_weights = np.minimum(-log_densities, mean + 0.5 * np.log(n_draws))
    found[is_possible] = logsumexp(log_weights + log_densities, axis=0) - logsumexp(log_weights, axis=0)
    return found


def draws_by_weight(weights: FloatArray, n_kept: Sequence[int]) -> list[IntArray]:
    """Return which of its kept draws each chain contributes, so that there are as many as it has weight.

    Parameters
    ----------
    weights : ndarray of shape (n_chains,)
        They sum to one.
    n_kept : sequence of int
        Draws that each chain has.

    Returns
    -------
    chosen : list of ndarray of int
        Evenly spaced; all draws of the chain that has the largest weight for its number of draws.

    Examples
    --------
    >>> [chosen.tolist() for chosen in draws_by_weight(np.array([0.66, 0.34, 0.0]), [4, 4, 4])]
    [[0, 1, 2, 3], [1, 3], []]
    """
    counts = np.asarray(n_kept)
    n_draws = min(count / weight for count, weight in zip(counts, weights, strict=True) if count and weight > 0)
    wanted = np.minimum(np.rint(weights * n_draws).astype(np.int64), counts)
    return [thinned(int(count), int(number)) for count, number in zip(counts, wanted, strict=True)]


def thinned(n_kept: int, n_wanted: int) -> IntArray:
    """Return some of the kept draws of a chain, evenly spaced; all if there are no more than wanted."""
    number = min(n_kept, n_wanted)
    return ((np.arange(number) + 0.5) * n_kept / max(number, 1)).astype(np.int64)
