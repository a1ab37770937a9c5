"""Compiled: evidence of what is observed of incomplete steps, and draws of what is missing.

The whitener Y of a state makes a step standard normal, so ``Y' Y z`` is the slope of its log density, and of it follows
how far any filling of a gap is from the likeliest. What is missing of a block of dimensions is known up to some
directions U: one unit vector for each missing dimension, or what a frame makes of these. With ``P = U' Y' Y``, the
Cholesky factor ``L L' = P U``, and ``h = L^-1 P z`` for any filling of the gap,

    log N(observed) = log N(filled) + h'h / 2 - log |L| + m / 2 log 2 pi,    missing = filled + U L'^-1 (e - h),

with m missing dimensions and e standard normal. In a block of weight w steps are scaled by its root: h'h is weighted
already, and the other two terms are multiplied by w. A drawn value is a whole observation whatever w is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety._jit import jit
from homothety.models.emissions._kernels import LOG_2, LOG_PI

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.emissions._kernels import Structure
    from homothety.models.emissions.missing import Gaps


@jit
def write_products(whitener: FloatArray, structure: Structure, products: FloatArray) -> None:
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
def factorise_gap(
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
def write_shift(
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
    """Turn the evidence of the filled steps of a series under a state into that of what is observed of them.

    Row 0 of `evidence` is step `offset`.
    """
    widest = gaps.bases.shape[1]
    products = np.empty((whitener.shape[0] + widest, whitener.shape[1]))
    rows, factor, shift = np.empty(widest, dtype=np.int64), np.empty((widest, widest)), np.empty(widest)
    write_products(whitener, structure, products)
    for g in range(gaps.groups[i], gaps.groups[i + 1]):
        block, n = gaps.blocks[g], gaps.counts[g]
        constant = -factorise_gap(block, g, structure, gaps, products, rows, factor)
        constant = structure.weights[block] * (constant + n / 2 * (LOG_2 + LOG_PI))
        for place in range(gaps.starts[g], gaps.starts[g + 1]):
            t, total = gaps.steps[place], constant
            write_shift(z, t, block, n, structure, products, rows, factor, shift)
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
    """Do the same for all series under all states, a column each."""
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
        write_products(whiteners[k], structure, products[k])
    for g in range(gaps.blocks.shape[0]):
        block, n, known = gaps.blocks[g], gaps.counts[g], -1
        start, stop, root = structure.starts[block], structure.starts[block + 1], np.sqrt(structure.weights[block])
        for place in range(gaps.starts[g], gaps.starts[g + 1]):
            t = gaps.steps[place]
            if path[t] != known:
                known = path[t]
                factorise_gap(block, g, structure, gaps, products[known], rows, factor)
            write_shift(z, t, block, n, structure, products[known], rows, factor, shift)
            for m in range(n - 1, -1, -1):
                value = root * rng.standard_normal() - shift[m]
                for c in range(m + 1, n):
                    value -= factor[c, m] * shift[c]
                shift[m] = value / factor[m, m]
            for c in range(stop - start):
                for m in range(n):
                    z[t, start + c] += gaps.bases[g, c, m] * shift[m]
