"""Compiled statistics, densities and draws of a linear regression with conjugate prior, for many states at once.

A step is one vector ``z = (regressors, values)``: a constant one and the observation for Gaussian emissions, the last
observations and the new one for autoregressive ones. All that a state knows is the matrix ``G = prior + sum z z'`` of
its steps and their number, both weighted where a step is less than an observation. All that is asked of it follows from
one factor, ``G = C C'``:

    C = [[C11, 0], [C21, C22]],    C11 C11' = K_n,    C21 C11^-1 = M_n,    C22 C22' = S_n.

Parameters of a state are one matrix too, its whitener ``Y = [-W A, W]`` with ``W' W`` the inverse covariance and A the
coefficients: ``Y z`` is standard normal. Under the posterior so is ``Y C = [N, B']``, with N of standard normals and B
Bartlett's triangle. Hence a draw is ``[N, B'] C^-1`` and the log density needs no more than the norm of ``Y C``.

With independent dimensions (`diagonal`) C22 has nothing below its diagonal: every dimension is a regression of its own
on the same regressors.
"""

from __future__ import annotations

from math import lgamma
from typing import TYPE_CHECKING

import numpy as np

from homothety._jit import inlined, jit

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray

LOG_2, LOG_PI = float(np.log(2.0)), float(np.log(np.pi))
BLOCK = 192  # steps whose evidence is worked out together: their whitened values stay in the first-level cache


@jit
def add_step(z: FloatArray, t: int, weight: float, scales: FloatArray, k: int) -> None:
    """Add step `t`, counted `weight` times, to the matrix of state `k`; lower triangle only."""
    for a in range(z.shape[1]):
        value = weight * z[t, a]
        for b in range(a + 1):
            scales[k, a, b] += value * z[t, b]


@jit
def add_four_steps(z: FloatArray, t: int, weight: float, scales: FloatArray, k: int) -> None:
    """Add step `t` and the next three: the matrix is read and written a quarter as often."""
    for a in range(z.shape[1]):
        p, q, r, s = weight * z[t, a], weight * z[t + 1, a], weight * z[t + 2, a], weight * z[t + 3, a]
        for b in range(a + 1):
            scales[k, a, b] += (p * z[t, b] + q * z[t + 1, b]) + (r * z[t + 2, b] + s * z[t + 3, b])


@jit
def add_steps(
    z: FloatArray, path: IntArray, start: int, stop: int, weight: float, scales: FloatArray, sizes: FloatArray
) -> None:
    """Add the steps of a stretch of the path, counted `weight` times, to the statistics of their states.

    A negative weight takes them away.
    """
    t = start
    while t < stop:
        k = path[t]
        # Paths stay: most steps have neighbours of the same state.
        if t + 3 < stop and path[t + 1] == k and path[t + 2] == k and path[t + 3] == k:
            add_four_steps(z, t, weight, scales, k)
            sizes[k] += 4.0 * weight
            t += 4
        else:
            add_step(z, t, weight, scales, k)
            sizes[k] += weight
            t += 1


@jit
def factorise(k: int, scales: FloatArray, factors: FloatArray, n_regressors: int, diagonal: bool) -> None:
    """Write the lower factor C of the matrix of state `k`, its lower triangle given."""
    n = scales.shape[1]
    for a in range(n):
        for b in range(a):
            if diagonal and b >= n_regressors:
                factors[k, a, b] = 0.0
                continue
            value = scales[k, a, b]
            for c in range(b):
                value -= factors[k, a, c] * factors[k, b, c]
            factors[k, a, b] = value / factors[k, b, b]
        pivot = scales[k, a, a]
        for c in range(a):
            pivot -= factors[k, a, c] * factors[k, a, c]
        # Rounding may eat a pivot of a state whose steps lie in a plane; the prior keeps it positive otherwise.
        factors[k, a, a] = np.sqrt(max(pivot, 1e-12 * scales[k, a, a]))


@inlined
def summed_logs(k: int, factors: FloatArray, start: int, stop: int) -> float:
    """Sum of the logarithms of a stretch of the diagonal of a factor."""
    total = 0.0
    for a in range(start, stop):
        total += np.log(factors[k, a, a])
    return total


@jit
def log_multigamma(x: float, n_dims: int, diagonal: bool) -> float:
    """Logarithm of the multivariate gamma function, or of the product of as many simple ones."""
    if diagonal:
        return n_dims * lgamma(x)
    total = n_dims * (n_dims - 1) / 4 * LOG_PI
    for d in range(n_dims):
        total += lgamma(x - d / 2)
    return total


@jit
def log_evidence_constant(
    k: int, size: float, factors: FloatArray, dof: float, n_regressors: int, diagonal: bool
) -> float:
    """Return what the log marginal likelihood takes from a factor, of which the prior's is to be subtracted.

    Size counts the steps behind the factor, zero for the prior itself.
    """
    n = factors.shape[1]
    n_dims, dof_n = n - n_regressors, dof + size
    log_gamma = log_multigamma(dof_n / 2, n_dims, diagonal)
    log_scale = dof_n * summed_logs(k, factors, n_regressors, n)
    return log_gamma - log_scale - n_dims * summed_logs(k, factors, 0, n_regressors) - size * n_dims / 2 * LOG_PI


@jit
def log_parameter_density(
    k: int, size: float, factors: FloatArray, whitener: FloatArray, dof: float, n_regressors: int, diagonal: bool
) -> float:
    """Log density of coefficients and covariance, given as a whitener, under the posterior of a factor."""
    n = factors.shape[1]
    n_dims, dof_n = n - n_regressors, dof + size
    norm, log_whitener = 0.0, 0.0
    for d in range(n_dims):
        log_whitener += np.log(whitener[d, n_regressors + d])
        for b in range(n):
            value = 0.0
            for a in range(b, n):
                value += whitener[d, a] * factors[k, a, b]
            norm += value * value
    power = dof_n + n_regressors + (2 if diagonal else n_dims + 1)
    log_scale = dof_n * summed_logs(k, factors, n_regressors, n) + n_dims * summed_logs(k, factors, 0, n_regressors)
    log_constant = log_multigamma(dof_n / 2, n_dims, diagonal) + dof_n * n_dims / 2 * LOG_2
    log_constant += n_dims * n_regressors / 2 * (LOG_2 + LOG_PI)
    return log_scale - log_constant + power * log_whitener - norm / 2


@jit
def divide_by_factor(k: int, factors: FloatArray, whitener: FloatArray) -> None:
    """Replace the rows Y of a whitener by Y C^-1, in place."""
    n = factors.shape[1]
    for d in range(whitener.shape[0]):
        for b in range(n - 1, -1, -1):
            value = whitener[d, b]
            for a in range(b + 1, n):
                value -= whitener[d, a] * factors[k, a, b]
            whitener[d, b] = value / factors[k, b, b]


@jit
def draw_whitener(
    rng: Generator,
    k: int,
    size: float,
    factors: FloatArray,
    dof: float,
    n_regressors: int,
    diagonal: bool,
    whitener: FloatArray,
) -> None:
    """Draw the parameters of a state from the posterior of its factor."""
    n_dims = whitener.shape[0]
    for d in range(n_dims):
        for a in range(n_regressors):
            whitener[d, a] = rng.standard_normal()
        for e in range(n_dims):
            whitener[d, n_regressors + e] = rng.standard_normal() if e < d and not diagonal else 0.0
        # Bartlett's triangle, turned round so that the product with C^-1 is lower triangular again.
        degrees = dof + size - (0.0 if diagonal else n_dims - 1.0 - d)
        whitener[d, n_regressors + d] = np.sqrt(2.0 * rng.standard_gamma(degrees / 2))
    divide_by_factor(k, factors, whitener)


@jit
def write_mean_whitener(
    k: int, size: float, factors: FloatArray, dof: float, n_regressors: int, diagonal: bool, whitener: FloatArray
) -> None:
    """Write the parameters at the posterior means of coefficients and covariance."""
    n_dims = whitener.shape[0]
    root = np.sqrt(dof + size - (2.0 if diagonal else n_dims + 1.0))
    for d in range(n_dims):
        for a in range(whitener.shape[1]):
            whitener[d, a] = root if a == n_regressors + d else 0.0
    divide_by_factor(k, factors, whitener)


@inlined
def turn_block(z: FloatArray, first: int, width: int, block: FloatArray) -> None:
    """Write some steps into the rows of `block`, so that loops over steps run over neighbours in memory."""
    for s in range(width):
        for a in range(z.shape[1]):
            block[a, s] = z[first + s, a]


@jit
def write_block_evidence(
    first: int, width: int, whitener: FloatArray, weight: float, column: int, evidence: FloatArray, block: FloatArray
) -> None:
    """Write the weighted log densities of a block of steps, turned, under one state into a column of `evidence`."""
    n_dims, n = whitener.shape
    n_regressors = n - n_dims
    constant = -n_dims / 2 * (LOG_2 + LOG_PI)
    for d in range(n_dims):
        constant += np.log(whitener[d, n_regressors + d])
    white, total = block[n], block[n + 1]
    for s in range(width):
        total[s] = constant
    for d in range(n_dims):
        for s in range(width):
            white[s] = 0.0
        for a in range(n_regressors + d + 1):
            factor, row = whitener[d, a], block[a]
            for s in range(width):
                white[s] += factor * row[s]
        for s in range(width):
            total[s] -= 0.5 * white[s] * white[s]
    for s in range(width):
        evidence[first + s, column] = weight * total[s]


@jit
def write_evidence(
    z: FloatArray,
    start: int,
    stop: int,
    whitener: FloatArray,
    weight: float,
    column: int,
    evidence: FloatArray,
    block: FloatArray,
) -> None:
    """Write the weighted log densities of a stretch of steps under one state into a column of `evidence`.

    `block` is scratch space, (n + 2, BLOCK): a block of steps turned, and two rows to work in.
    """
    for first in range(start, stop, BLOCK):
        width = min(BLOCK, stop - first)
        turn_block(z, first, width, block)
        write_block_evidence(first, width, whitener, weight, column, evidence, block)


@jit
def factorise_all(scales: FloatArray, factors: FloatArray, n_regressors: int, diagonal: bool) -> None:
    """Factorise the matrices of all states."""
    for k in range(scales.shape[0]):
        factorise(k, scales, factors, n_regressors, diagonal)


@jit
def write_log_marginals(
    sizes: FloatArray,
    factors: FloatArray,
    prior_factor: FloatArray,
    dof: float,
    n_regressors: int,
    diagonal: bool,
    out: FloatArray,
) -> None:
    """Write the log marginal likelihood of the steps of every state."""
    prior = log_evidence_constant(0, 0.0, prior_factor, dof, n_regressors, diagonal)
    for k in range(sizes.shape[0]):
        out[k] = log_evidence_constant(k, sizes[k], factors, dof, n_regressors, diagonal) - prior


@jit
def draw_whiteners(
    rng: Generator,
    sizes: FloatArray,
    factors: FloatArray,
    dof: float,
    n_regressors: int,
    diagonal: bool,
    whiteners: FloatArray,
) -> None:
    """Draw the parameters of every state from its posterior."""
    for k in range(sizes.shape[0]):
        draw_whitener(rng, k, sizes[k], factors, dof, n_regressors, diagonal, whiteners[k])


@jit
def write_mean_whiteners(
    sizes: FloatArray, factors: FloatArray, dof: float, n_regressors: int, diagonal: bool, whiteners: FloatArray
) -> None:
    """Write the parameters of every state at their posterior means."""
    for k in range(sizes.shape[0]):
        write_mean_whitener(k, sizes[k], factors, dof, n_regressors, diagonal, whiteners[k])


@jit
def write_all_evidence(
    z: FloatArray, start: int, stop: int, whiteners: FloatArray, weight: float, evidence: FloatArray, block: FloatArray
) -> None:
    """Write the weighted log densities of a stretch of steps under every state, a column each."""
    for first in range(start, stop, BLOCK):
        width = min(BLOCK, stop - first)
        turn_block(z, first, width, block)
        for k in range(whiteners.shape[0]):
            write_block_evidence(first, width, whiteners[k], weight, k, evidence, block)


@jit
def add_steps_of(
    feature: int,
    z: FloatArray,
    path: IntArray,
    start: int,
    stop: int,
    weight: float,
    row: int,
    scales: FloatArray,
    sizes: FloatArray,
) -> None:
    """Add the steps of one state in a stretch of the path, counted `weight` times, to a row of statistics."""
    t = start
    while t < stop:
        if path[t] != feature:
            t += 1
        elif t + 3 < stop and path[t + 1] == feature and path[t + 2] == feature and path[t + 3] == feature:
            add_four_steps(z, t, weight, scales, row)
            sizes[row] += 4.0 * weight
            t += 4
        else:
            add_step(z, t, weight, scales, row)
            sizes[row] += weight
            t += 1
