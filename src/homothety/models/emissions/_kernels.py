"""Compiled statistics, densities and draws of a linear regression with conjugate prior, for many states at once.

A step is one vector ``z = (regressors, values)``: a constant one and the observation for Gaussian emissions, the last
observations and the new one for autoregressive ones. All that a state knows is the matrix ``G = prior + sum z z'`` of
its steps and their number, both weighted where a step is less than an observation. All that is asked of it follows from
one factor, ``G = C C'``:

    C = [[C11, 0], [C21, C22]],    C11 C11' = K_n,    C21 C11^-1 = M_n,    C22 C22' = S_n.

Parameters of a state are one matrix too, its whitener ``Y = [-W A, W]`` with ``W' W`` the inverse covariance and A the
coefficients: ``Y z`` is standard normal. Under the posterior so is ``Y C = [N, B']``, with N of standard normals and B
Bartlett's triangle. Hence a draw is ``[N, B'] C^-1`` and the log density needs no more than the norm of ``Y C``.

Dimensions form blocks that are independent given the state (`Structure`): one block of all dimensions, one for each
dimension, or anything between. A block is a regression of its own, of its values on its regressors, so C has entries
inside blocks only, and what stands elsewhere in G, C and Y is zero or ignored. The step of a block with weight w is
``sqrt(w) (regressors, values)``, so that its part of G is weighted too; a state of so many steps then has ``w size``
observations of the block.

Of steps with missing values, evidence is that of what is observed, and missing values are drawn.

The whitener Y of a state makes a step standard normal, so ``Y' Y z`` is the slope of its log density, and of it follows
how far any filling of a gap is from the likeliest. What is missing of a block of dimensions is known up to some
directions U: one unit vector for each missing dimension, or what a frame makes of these. With ``P = U' Y' Y``, the
Cholesky factor ``L L' = P U``, and ``h = L^-1 P z`` for any filling of the gap,

    log N(observed) = log N(filled) + h'h / 2 - log |L| + m / 2 log 2 pi,    missing = filled + U L'^-1 (e - h),

with m missing dimensions and e standard normal. In a block of weight w steps are scaled by its root: h'h is weighted
already, and the other two terms are multiplied by w. A drawn value is a whole observation whatever w is.
"""

from __future__ import annotations

from math import lgamma
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import ZERO, inlined, jit

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.emissions.missing import Gaps

LOG_2, LOG_PI = float(np.log(2.0)), float(np.log(np.pi))
BLOCK = 192  # steps whose evidence is worked out together: their whitened values stay in the first-level cache


class Structure(NamedTuple):
    """Blocks of dimensions that are independent given the state.

    A step is ``z = (regressors, values)``. The values of a block are neighbours in it, and so are its regressors. Two
    blocks have all regressors in common, or none.
    """

    n_regressors: int
    starts: IntArray  # (n_blocks + 1,) where the values of each block begin in z, and where the last ones end
    regressors: IntArray  # (n_blocks, 2) first regressor of each block, and the one after its last
    dofs: FloatArray  # (n_blocks,) prior degrees of freedom
    weights: FloatArray  # (n_blocks,) of a step in each block, besides the weight that all of them share


@jit
def add_step(z: FloatArray, t: int, weight: float, scales: FloatArray, k: int) -> None:
    """Add step `t`, counted `weight` times, to the matrix of state `k`; lower triangle only."""
    for a in range(z.shape[1]):
        value = weight * z[t, a]
        for b in range(a + 1):
            scales[k, a, b] += value * z[t, b]


@jit
def _add_four_steps(z: FloatArray, t: int, weight: float, scales: FloatArray, k: int) -> None:
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
            _add_four_steps(z, t, weight, scales, k)
            sizes[k] += 4.0 * weight
            t += 4
        else:
            add_step(z, t, weight, scales, k)
            sizes[k] += weight
            t += 1


@inlined
def _factorise_row(k: int, a: int, first: int, last: int, start: int, scales: FloatArray, factors: FloatArray) -> None:
    """Write row `a` of the factor of state `k`, of which columns `first` to `last` and `start` to `a` are in use."""
    for b in range(first, last):
        value = scales[k, a, b]
        for c in range(first, b):
            value -= factors[k, a, c] * factors[k, b, c]
        factors[k, a, b] = value / factors[k, b, b]
    for b in range(start, a):
        value = scales[k, a, b]
        for c in range(first, last):
            value -= factors[k, a, c] * factors[k, b, c]
        for c in range(start, b):
            value -= factors[k, a, c] * factors[k, b, c]
        factors[k, a, b] = value / factors[k, b, b]
    pivot = scales[k, a, a]
    for c in range(first, last):
        pivot -= factors[k, a, c] * factors[k, a, c]
    for c in range(start, a):
        pivot -= factors[k, a, c] * factors[k, a, c]
    # Rounding may eat a pivot of a state whose steps lie in a plane; the prior keeps it positive otherwise.
    factors[k, a, a] = np.sqrt(max(pivot, 1e-12 * scales[k, a, a]))


@jit
def factorise(k: int, scales: FloatArray, factors: FloatArray, structure: Structure) -> None:
    """Write the lower factor C of the matrix of state `k`, its lower triangle given; inside blocks only."""
    n_done = 0  # blocks may share their regressors
    for block in range(structure.dofs.shape[0]):
        first, last = structure.regressors[block, 0], structure.regressors[block, 1]
        for a in range(n_done, last):
            _factorise_row(k, a, first, a, a, scales, factors)
        n_done = last
        start = structure.starts[block]
        for a in range(start, structure.starts[block + 1]):
            _factorise_row(k, a, first, last, start, scales, factors)


@inlined
def _summed_logs(k: int, factors: FloatArray, start: int, stop: int) -> float:
    """Sum of the logarithms of a stretch of the diagonal of a factor."""
    total = 0.0
    for a in range(start, stop):
        total += np.log(factors[k, a, a])
    return total


@jit
def _log_multigamma(x: float, n_dims: int) -> float:
    """Logarithm of the multivariate gamma function."""
    total = n_dims * (n_dims - 1) / 4 * LOG_PI
    for d in range(n_dims):
        total += lgamma(x - d / 2)
    return total


@jit
def log_evidence_constant(k: int, size: float, factors: FloatArray, structure: Structure) -> float:
    """Return what the log marginal likelihood takes from a factor, of which the prior's is to be subtracted.

    Size counts the steps behind the factor, zero for the prior itself.
    """
    total = 0.0
    for block in range(structure.dofs.shape[0]):
        first, last = structure.regressors[block, 0], structure.regressors[block, 1]
        start, stop = structure.starts[block], structure.starts[block + 1]
        n_dims, size_n = stop - start, structure.weights[block] * size
        dof_n = structure.dofs[block] + size_n
        log_gamma = _log_multigamma(dof_n / 2, n_dims)
        log_scale = dof_n * _summed_logs(k, factors, start, stop)
        log_scale_of_means = n_dims * _summed_logs(k, factors, first, last)
        total += log_gamma - log_scale - log_scale_of_means - size_n * n_dims / 2 * LOG_PI
    return total


@jit
def log_parameter_density(
    k: int, size: float, factors: FloatArray, whitener: FloatArray, structure: Structure
) -> float:
    """Log density of coefficients and covariance, given as a whitener, under the posterior of a factor."""
    total = 0.0
    for block in range(structure.dofs.shape[0]):
        first, last = structure.regressors[block, 0], structure.regressors[block, 1]
        start, stop = structure.starts[block], structure.starts[block + 1]
        n_dims, n_regressors = stop - start, last - first
        dof_n = structure.dofs[block] + structure.weights[block] * size
        norm, log_whitener = 0.0, 0.0
        for column in range(start, stop):
            row = whitener[column - structure.n_regressors]
            log_whitener += np.log(row[column])
            for b in range(first, last):
                value = 0.0
                for a in range(b, last):
                    value += row[a] * factors[k, a, b]
                for a in range(start, column + 1):
                    value += row[a] * factors[k, a, b]
                norm += value * value
            for b in range(start, column + 1):
                value = 0.0
                for a in range(b, column + 1):
                    value += row[a] * factors[k, a, b]
                norm += value * value
        power = dof_n + n_regressors + (n_dims + 1)
        log_scale = dof_n * _summed_logs(k, factors, start, stop) + n_dims * _summed_logs(k, factors, first, last)
        log_constant = _log_multigamma(dof_n / 2, n_dims) + dof_n * n_dims / 2 * LOG_2
        log_constant += n_dims * n_regressors / 2 * (LOG_2 + LOG_PI)
        total += log_scale - log_constant + power * log_whitener - norm / 2
    return total


@jit
def _divide_by_factor(k: int, factors: FloatArray, structure: Structure, whitener: FloatArray) -> None:
    """Replace the rows Y of a whitener, lower triangular inside blocks, by Y C^-1, in place."""
    for block in range(structure.dofs.shape[0]):
        first, last = structure.regressors[block, 0], structure.regressors[block, 1]
        start = structure.starts[block]
        for column in range(start, structure.starts[block + 1]):
            row = whitener[column - structure.n_regressors]
            for b in range(column, start - 1, -1):
                value = row[b]
                for a in range(b + 1, column + 1):
                    value -= row[a] * factors[k, a, b]
                row[b] = value / factors[k, b, b]
            for b in range(last - 1, first - 1, -1):
                value = row[b]
                for a in range(b + 1, last):
                    value -= row[a] * factors[k, a, b]
                for a in range(start, column + 1):
                    value -= row[a] * factors[k, a, b]
                row[b] = value / factors[k, b, b]


@jit
def draw_whitener(
    rng: Generator, k: int, size: float, factors: FloatArray, structure: Structure, whitener: FloatArray
) -> None:
    """Draw the parameters of a state from the posterior of its factor."""
    for block in range(structure.dofs.shape[0]):
        first, last = structure.regressors[block, 0], structure.regressors[block, 1]
        start, stop = structure.starts[block], structure.starts[block + 1]
        for column in range(start, stop):
            row = whitener[column - structure.n_regressors]
            row[:] = 0.0
            for a in range(first, last):
                row[a] = rng.standard_normal()
            for a in range(start, column):
                row[a] = rng.standard_normal()
            # Bartlett's triangle, turned round so that the product with C^-1 is lower triangular again.
            degrees = structure.dofs[block] + structure.weights[block] * size - (stop - 1.0 - column)
            row[column] = np.sqrt(2.0 * rng.standard_gamma(degrees / 2))
    _divide_by_factor(k, factors, structure, whitener)


@jit
def write_mean_whitener(k: int, size: float, factors: FloatArray, structure: Structure, whitener: FloatArray) -> None:
    """Write the parameters at the posterior means of coefficients and covariance."""
    for block in range(structure.dofs.shape[0]):
        start, stop = structure.starts[block], structure.starts[block + 1]
        root = np.sqrt(structure.dofs[block] + structure.weights[block] * size - (stop - start + 1.0))
        for column in range(start, stop):
            whitener[column - structure.n_regressors] = 0.0
            whitener[column - structure.n_regressors, column] = root
    _divide_by_factor(k, factors, structure, whitener)


@inlined
def turn_block(z: FloatArray, first: int, width: int, block: FloatArray) -> None:
    """Write some steps into the rows of `block`, so that loops over steps run over neighbours in memory."""
    for s in range(width):
        for a in range(z.shape[1]):
            block[a, s] = z[first + s, a]


@inlined
def _add_multiple(factor: float, row: FloatArray, width: int, white: FloatArray) -> None:
    """Add a multiple of a row of a block of steps to what is summed up."""
    for s in range(width):
        white[s] += factor * row[s]


@jit
def write_block_evidence(
    first: int,
    width: int,
    whitener: FloatArray,
    weight: float,
    structure: Structure,
    column: int,
    evidence: FloatArray,
    block: FloatArray,
) -> None:
    """Write the weighted log densities of a block of steps, turned, under one state into a column of `evidence`."""
    n, n_regressors, constant = whitener.shape[1], structure.n_regressors, 0.0
    white, total = block[n], block[n + 1]
    for part in range(structure.dofs.shape[0]):
        start, stop = structure.starts[part], structure.starts[part + 1]
        own = -(stop - start) / 2 * (LOG_2 + LOG_PI)
        for a in range(start, stop):
            own += np.log(whitener[a - n_regressors, a])
        constant += structure.weights[part] * own
    for s in range(width):
        total[s] = constant
    for part in range(structure.dofs.shape[0]):
        start, stop = structure.starts[part], structure.starts[part + 1]
        for last in range(start, stop):
            row = whitener[last - n_regressors]
            for s in range(width):
                white[s] = 0.0
            for a in range(structure.regressors[part, 0], structure.regressors[part, 1]):
                _add_multiple(row[a], block[a], width, white)
            for a in range(start, last + 1):
                _add_multiple(row[a], block[a], width, white)
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
    structure: Structure,
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
        write_block_evidence(first, width, whitener, weight, structure, column, evidence, block)


@jit
def factorise_all(scales: FloatArray, factors: FloatArray, structure: Structure) -> None:
    """Factorise the matrices of all states."""
    for k in range(scales.shape[0]):
        factorise(k, scales, factors, structure)


@jit
def write_log_marginals(
    sizes: FloatArray, factors: FloatArray, prior_factor: FloatArray, structure: Structure, out: FloatArray
) -> None:
    """Write the log marginal likelihood of the steps of every state."""
    prior = log_evidence_constant(ZERO, 0.0, prior_factor, structure)
    for k in range(sizes.shape[0]):
        out[k] = log_evidence_constant(k, sizes[k], factors, structure) - prior


@jit
def draw_whiteners(
    rng: Generator, sizes: FloatArray, factors: FloatArray, structure: Structure, whiteners: FloatArray
) -> None:
    """Draw the parameters of every state from its posterior."""
    for k in range(sizes.shape[0]):
        draw_whitener(rng, k, sizes[k], factors, structure, whiteners[k])


@jit
def write_mean_whiteners(sizes: FloatArray, factors: FloatArray, structure: Structure, whiteners: FloatArray) -> None:
    """Write the parameters of every state at their posterior means."""
    for k in range(sizes.shape[0]):
        write_mean_whitener(k, sizes[k], factors, structure, whiteners[k])


@jit
def write_all_evidence(
    z: FloatArray,
    start: int,
    stop: int,
    whiteners: FloatArray,
    weight: float,
    structure: Structure,
    evidence: FloatArray,
    block: FloatArray,
) -> None:
    """Write the weighted log densities of a stretch of steps under every state, a column each."""
    for first in range(start, stop, BLOCK):
        width = min(BLOCK, stop - first)
        turn_block(z, first, width, block)
        for k in range(whiteners.shape[0]):
            write_block_evidence(first, width, whiteners[k], weight, structure, k, evidence, block)


@jit
def add_steps_of(
    state: int,
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
        if path[t] != state:
            t += 1
        elif t + 3 < stop and path[t + 1] == state and path[t + 2] == state and path[t + 3] == state:
            _add_four_steps(z, t, weight, scales, row)
            sizes[row] += 4.0 * weight
            t += 4
        else:
            add_step(z, t, weight, scales, row)
            sizes[row] += weight
            t += 1


@jit
def _write_products(whitener: FloatArray, structure: Structure, products: FloatArray) -> None:
    """Write the rows of Y'Y that belong to values, inside blocks, (n_dims, n)."""
    for block in range(structure.dofs.shape[0]):
        start, stop = structure.starts[block], structure.starts[block + 1]
        first, last = structure.regressors[block, 0], structure.regressors[block, 1]
        for a in range(start, stop):
            row = products[a - structure.n_regressors]
            for b in range(first, last):
                row[b] = 0.0
            for b in range(start, stop):
                row[b] = 0.0
            for c in range(a, stop):  # the whitener is triangular inside a block
                factor = whitener[c - structure.n_regressors]
                for b in range(first, last):
                    row[b] += factor[a] * factor[b]
                for b in range(start, c + 1):
                    row[b] += factor[a] * factor[b]


@jit
def _factorise_gap(
    block: int, g: int, structure: Structure, gaps: Gaps, products: FloatArray, rows: IntArray, factor: FloatArray
) -> float:
    """Write L of a group of gaps, and which rows of `products` are P; return the log determinant of L.

    Rows for other directions than those of dimensions are added to `products`, after its first ones.
    """
    start, stop, n = structure.starts[block], structure.starts[block + 1], gaps.counts[g]
    n_dims, shift = products.shape[1] - structure.n_regressors, start - structure.n_regressors
    is_turned = gaps.dims[g, 0] < 0
    for m in range(n):
        rows[m] = n_dims + m if is_turned else shift + gaps.dims[g, m]
        if is_turned:
            row = products[rows[m]]
            for b in range(structure.regressors[block, 0], structure.regressors[block, 1]):
                row[b] = 0.0
                for c in range(stop - start):
                    row[b] += gaps.bases[g, c, m] * products[shift + c, b]
            for b in range(start, stop):
                row[b] = 0.0
                for c in range(stop - start):
                    row[b] += gaps.bases[g, c, m] * products[shift + c, b]
    log_determinant = 0.0
    for m in range(n):
        row = products[rows[m]]
        for b in range(m + 1):
            value = 0.0
            if is_turned:
                for c in range(stop - start):
                    value += row[start + c] * gaps.bases[g, c, b]
            else:
                value = row[start + gaps.dims[g, b]]
            largest = value
            for c in range(b):
                value -= factor[m, c] * factor[b, c]
            # Rounding may eat a pivot of a state that is nearly flat.
            factor[m, b] = np.sqrt(max(value, 1e-12 * largest)) if b == m else value / factor[b, b]
        log_determinant += np.log(factor[m, m])
    return log_determinant


@jit
def _write_shift(
    z: FloatArray,
    t: int,
    block: int,
    n: int,
    structure: Structure,
    products: FloatArray,
    rows: IntArray,
    factor: FloatArray,
    shift: FloatArray,
) -> None:
    """Write h of one step, filled in some way."""
    start, stop = structure.starts[block], structure.starts[block + 1]
    first, last = structure.regressors[block, 0], structure.regressors[block, 1]
    for m in range(n):
        row, value = products[rows[m]], 0.0
        for c in range(first, last):
            value += row[c] * z[t, c]
        for c in range(start, stop):
            value += row[c] * z[t, c]
        for c in range(m):
            value -= factor[m, c] * shift[c]
        shift[m] = value / factor[m, m]


@jit
def leave_out_missing(
    i: int,
    offset: int,
    z: FloatArray,
    whitener: FloatArray,
    weight: float,
    structure: Structure,
    gaps: Gaps,
    column: int,
    evidence: FloatArray,
) -> None:
    """Turn the evidence of the filled steps of a recording under a state into that of what is observed of them.

    Row 0 of `evidence` is step `offset`.
    """
    widest = gaps.bases.shape[1]
    products = np.empty((whitener.shape[0] + widest, whitener.shape[1]))
    rows, factor, shift = np.empty(widest, dtype=np.int64), np.empty((widest, widest)), np.empty(widest)
    _write_products(whitener, structure, products)
    for g in range(gaps.groups[i], gaps.groups[i + 1]):
        block, n = gaps.blocks[g], gaps.counts[g]
        constant = -_factorise_gap(block, g, structure, gaps, products, rows, factor)
        constant = structure.weights[block] * (constant + n / 2 * (LOG_2 + LOG_PI))
        for place in range(gaps.starts[g], gaps.starts[g + 1]):
            t, total = gaps.steps[place], constant
            _write_shift(z, t, block, n, structure, products, rows, factor, shift)
            for m in range(n):
                total += 0.5 * shift[m] * shift[m]
            evidence[t - offset, column] += weight * total


@jit
def leave_out_all_missing(
    z: FloatArray,
    whiteners: FloatArray,
    weight: float,
    structure: Structure,
    gaps: Gaps,
    evidence: FloatArray,
) -> None:
    """Do the same for all recordings under all states, a column each."""
    for i in range(gaps.groups.shape[0] - 1):
        for k in range(whiteners.shape[0]):
            leave_out_missing(i, 0, z, whiteners[k], weight, structure, gaps, k, evidence)


@jit
def draw_missing(
    rng: Generator, z: FloatArray, path: IntArray, whiteners: FloatArray, structure: Structure, gaps: Gaps
) -> None:
    """Draw what is missing of all steps given the rest of them and their states, in place."""
    widest, n_states = gaps.bases.shape[1], whiteners.shape[0]
    products = np.empty((n_states, whiteners.shape[1] + widest, whiteners.shape[2]))
    rows, factor, shift = np.empty(widest, dtype=np.int64), np.empty((widest, widest)), np.empty(widest)
    for k in range(n_states):
        _write_products(whiteners[k], structure, products[k])
    for g in range(gaps.blocks.shape[0]):
        block, n, known = gaps.blocks[g], gaps.counts[g], -1
        start, stop, root = structure.starts[block], structure.starts[block + 1], np.sqrt(structure.weights[block])
        for place in range(gaps.starts[g], gaps.starts[g + 1]):
            t = gaps.steps[place]
            if path[t] != known:
                known = path[t]
                _factorise_gap(block, g, structure, gaps, products[known], rows, factor)
            _write_shift(z, t, block, n, structure, products[known], rows, factor, shift)
            for m in range(n - 1, -1, -1):
                value = root * rng.standard_normal() - shift[m]
                for c in range(m + 1, n):
                    value -= factor[c, m] * shift[c]
                shift[m] = value / factor[m, m]
            for c in range(stop - start):
                for m in range(n):
                    z[t, start + c] += gaps.bases[g, c, m] * shift[m]
