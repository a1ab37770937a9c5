"""Compiled: evidence of what is observed of incomplete steps, and draws of what is missing.

The whitener Y of a state makes a step standard normal, ``r = Y z``. What is missing of a block of dimensions is known
up to some directions U: one unit vector for each missing dimension, or what a frame makes of these. With ``C = Y U``
and the Cholesky factor ``L L' = C' C``, and ``h = L^-1 C' r`` for any filling of the gap,

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
    from homothety.models.emissions.missing import Gaps
    from homothety.models.emissions.structure import Structure


@jit
def factorise_gap(
    whitener: FloatArray, block: int, g: int, structure: Structure, gaps: Gaps, carrier: FloatArray, factor: FloatArray
) -> float:
    """Write C and L of a group of gaps under a state; return the log determinant of L."""
    start, stop, n = structure.starts[block], structure.starts[block + 1], gaps.counts[g]
    for a in range(stop - start):
        row = whitener[start + a - structure.n_regressors]
        for m in range(n):
            value = 0.0
            for c in range(a + 1):
                value += row[start + c] * gaps.bases[g, c, m]
            carrier[a, m] = value
    log_determinant = 0.0
    for m in range(n):
        for b in range(m + 1):
            value = 0.0
            for a in range(stop - start):
                value += carrier[a, m] * carrier[a, b]
            for c in range(b):
                value -= factor[m, c] * factor[b, c]
            factor[m, b] = np.sqrt(value) if b == m else value / factor[b, b]
        log_determinant += np.log(factor[m, m])
    return log_determinant


@jit
def write_shift(
    row: FloatArray,
    whitener: FloatArray,
    block: int,
    n: int,
    structure: Structure,
    carrier: FloatArray,
    factor: FloatArray,
    shift: FloatArray,
) -> None:
    """Write h of one step, filled in some way."""
    start, stop = structure.starts[block], structure.starts[block + 1]
    first, last = structure.regressors[block, 0], structure.regressors[block, 1]
    for m in range(n):
        shift[m] = 0.0
    for a in range(stop - start):
        weights, white = whitener[start + a - structure.n_regressors], 0.0
        for c in range(first, last):
            white += weights[c] * row[c]
        for c in range(start, start + a + 1):
            white += weights[c] * row[c]
        for m in range(n):
            shift[m] += carrier[a, m] * white
    for m in range(n):
        for c in range(m):
            shift[m] -= factor[m, c] * shift[c]
        shift[m] /= factor[m, m]


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
    carrier, factor, shift = np.empty((widest, widest)), np.empty((widest, widest)), np.empty(widest)
    for g in range(gaps.groups[i], gaps.groups[i + 1]):
        block, n = gaps.blocks[g], gaps.counts[g]
        if n == z.shape[1] - structure.n_regressors:  # nothing is observed: no rounding of large numbers is left
            for place in range(gaps.starts[g], gaps.starts[g + 1]):
                evidence[gaps.steps[place] - offset, column] = 0.0
            continue
        constant = -factorise_gap(whitener, block, g, structure, gaps, carrier, factor)
        constant = structure.weights[block] * (constant + n / 2 * (LOG_2 + LOG_PI))
        for place in range(gaps.starts[g], gaps.starts[g + 1]):
            t, total = gaps.steps[place], constant
            write_shift(z[t], whitener, block, n, structure, carrier, factor, shift)
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
    widest = gaps.bases.shape[1]
    carrier, factor, shift = np.empty((widest, widest)), np.empty((widest, widest)), np.empty(widest)
    for g in range(gaps.blocks.shape[0]):
        block, n, known = gaps.blocks[g], gaps.counts[g], -1
        start, stop, root = structure.starts[block], structure.starts[block + 1], np.sqrt(structure.weights[block])
        for place in range(gaps.starts[g], gaps.starts[g + 1]):
            t = gaps.steps[place]
            whitener = whiteners[path[t]]
            if path[t] != known:
                known = path[t]
                factorise_gap(whitener, block, g, structure, gaps, carrier, factor)
            write_shift(z[t], whitener, block, n, structure, carrier, factor, shift)
            for m in range(n - 1, -1, -1):
                value = root * rng.standard_normal() - shift[m]
                for c in range(m + 1, n):
                    value -= factor[c, m] * shift[c]
                shift[m] = value / factor[m, m]
            for c in range(stop - start):
                for m in range(n):
                    z[t, start + c] += gaps.bases[g, c, m] * shift[m]
