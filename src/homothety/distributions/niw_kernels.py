"""Compiled statistics of clusters under a conjugate prior: built, joined, taken apart, and asked for their density.

A cluster is one row: its size, the log determinant of its posterior scale, its log marginal likelihood, then its sums
and the packed lower triangle of ``prior scale + scatter``, both about the prior mean. Such rows add over disjoint sets,
less the row of the empty set, which holds the prior and is the one before the last.

Beside it lies a factor: the posterior scale as L D L' without square roots, L below the diagonal, 1 / D on it. What is
above the diagonal is left over from `refresh` and used only there. A model whose clusters change by single points
needs no packed scale: `shift_factor` brings the factor itself up to date.

Functions that run for every pair of an item and a cluster take plain arrays: handing over a named tuple would cost more
than the arithmetic. None of them calls another.

Compiled code is cached by the file it is called from. After a change here, delete the caches of the models:
``rm -r src/homothety/models/*/__pycache__``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import inlined, jit

if TYPE_CHECKING:
    from homothety.arrays import FloatArray

SIZE, LOG_DET, LOG_MARGINAL, SUMS = 0, 1, 2, 3  # columns of the rows; sums and scale follow
LEAST_LEFT = -7.0  # of the log determinant when a point is taken out: less, and three digits are lost by it
LOG_CONSTANT, HALF_DOF = 0, 1  # columns of the prior's table over sizes


class Prior(NamedTuple):
    """Normal-inverse-Wishart (or diagonal) prior in the form the loops use."""

    by_size: FloatArray  # (n_items + 1, 2): log m = LOG_CONSTANT[n] - HALF_DOF[n] * log|posterior scale|
    mean_strength: float
    scale: FloatArray  # (n_dims, n_dims)
    diagonal: bool


@jit
def refresh(
    k: int, rows: FloatArray, factors: FloatArray, by_size: FloatArray, strength: float, diagonal: bool
) -> None:
    """Recompute what derives from the statistics of table `k`: its factor (Eq. 34) and log marginal (Eq. 20).

    The posterior scale is split into L D L' without square roots: L below the diagonal, 1 / D on it, D L' above it.
    """
    n_dims = factors.shape[1]
    shrink = 1.0 / (strength + rows[k, SIZE])
    log_det, product, packed = 0.0, 1.0, SUMS + n_dims
    for p in range(n_dims):
        shrunk = shrink * rows[k, SUMS + p]
        pivot = rows[k, packed + p] - shrunk * rows[k, SUMS + p]
        if not diagonal:
            for q in range(p):
                value = rows[k, packed + q] - shrunk * rows[k, SUMS + q]
                for r in range(q):
                    value -= factors[k, r, p] * factors[k, q, r]
                factors[k, q, p] = value
                factors[k, p, q] = value * factors[k, q, q]
                pivot -= value * factors[k, p, q]
        factors[k, p, p] = 1.0 / pivot
        packed += p + 1
        product *= pivot
        # One logarithm for many pivots, taken before their product can leave the range of doubles.
        if product < 1e-100 or product > 1e100:
            log_det += np.log(product)
            product = 1.0
    log_det += np.log(product)
    size = int(rows[k, SIZE])
    rows[k, LOG_DET] = log_det
    rows[k, LOG_MARGINAL] = by_size[size, LOG_CONSTANT] - by_size[size, HALF_DOF] * log_det


@inlined
def add_point(i: int, k: int, points: FloatArray, rows: FloatArray) -> None:
    """Add point `i` to the statistics of table `k`."""
    n_dims = points.shape[1]
    packed = SUMS + n_dims
    for p in range(n_dims):
        rows[k, SUMS + p] += points[i, p]
        for q in range(p + 1):
            rows[k, packed + q] += points[i, p] * points[i, q]
        packed += p + 1
    rows[k, SIZE] += 1.0


@inlined
def write_union(a: int, b: int, out: int, rows: FloatArray) -> None:
    """Write the statistics of two disjoint tables together into row `out`, which may be one of them."""
    empty = rows.shape[0] - 2
    for c in range(rows.shape[1]):
        rows[out, c] = rows[a, c] + (rows[b, c] - rows[empty, c])


@inlined
def write_rest(whole: int, part: int, rows: FloatArray) -> None:
    """Take the statistics of table `part` away from those of table `whole`."""
    empty = rows.shape[0] - 2
    for c in range(rows.shape[1]):
        rows[whole, c] -= rows[part, c] - rows[empty, c]


@inlined
def set_log_det(k: int, log_det: float, rows: FloatArray, by_size: FloatArray) -> None:
    """Write a log determinant that is known into row `k`, and the log marginal that follows from it."""
    size = int(rows[k, SIZE])
    rows[k, LOG_DET] = log_det
    rows[k, LOG_MARGINAL] = by_size[size, LOG_CONSTANT] - by_size[size, HALF_DOF] * log_det


@inlined
def log_det_with_point(
    i: int,
    k: int,
    sign: float,
    points: FloatArray,
    rows: FloatArray,
    factors: FloatArray,
    strength: float,
    diagonal: bool,
    solved: FloatArray,
) -> float:
    """Log determinant of the posterior scale of table `k` with point `i` added, or with `sign` -1 taken out.

    A rank-one update. Where a point is taken out that made almost all of the determinant, few digits are left, or none
    and the result is not a number: see `LEAST_LEFT`.
    """
    strength += rows[k, SIZE]
    weight, share = sign * strength / (strength + sign), 1.0 / strength
    quadratic, growth, log_growth = 0.0, 1.0, 0.0
    for p in range(points.shape[1]):
        value = points[i, p] - rows[k, SUMS + p] * share
        if not diagonal:
            for q in range(p):
                value -= factors[k, p, q] * solved[q]
        solved[p] = value
        term = value * value * factors[k, p, p]
        quadratic += term
        growth *= 1.0 + weight * term
        if growth > 1e100 or growth < 1e-100:
            log_growth += np.log(growth)
            growth = 1.0
    return rows[k, LOG_DET] + (log_growth + np.log(growth) if diagonal else np.log(1.0 + weight * quadratic))


@inlined
def shift_factor(
    i: int,
    k: int,
    added: float,
    points: FloatArray,
    rows: FloatArray,
    factors: FloatArray,
    strength: float,
    diagonal: bool,
    vector: FloatArray,
) -> float:
    """Bring point `i` into table `k` by a rank-one change of its factor, or take it out; bring its sums up to date.

    Parameters
    ----------
    added : float
        What the point counts for; negative to take it out.
    strength : float
        Of the prior mean and the points in the table before.
    vector : ndarray of shape (n_dims,)
        Scratch space.

    Returns
    -------
    log_growth : float
        Log of what the determinant of the posterior scale was multiplied by. That factor is between 0 and 1 when a
        point is taken out, and the rounding error of the table is divided by it; where no digit is left, it may come
        out negative, and its log is not a number.

    Notes
    -----
    Method C1 of Gill, Golub, Murray and Saunders (1974).
    """
    n_dims = points.shape[1]
    weight, growth, log_growth = added * strength / (strength + added), 1.0, 0.0
    for p in range(n_dims):
        vector[p] = points[i, p] - rows[k, SUMS + p] / strength
        rows[k, SUMS + p] += added * points[i, p]
    for p in range(n_dims):
        value, precision = vector[p], factors[k, p, p]
        ratio = 1.0 + weight * value * value * precision
        factors[k, p, p] = precision / ratio
        growth *= ratio
        if growth < 1e-100 or growth > 1e100:
            log_growth += np.log(growth)
            growth = 1.0
        if not diagonal:
            weight /= ratio
            for q in range(p + 1, n_dims):
                vector[q] -= value * factors[k, q, p]
                factors[k, q, p] += weight * value * precision * vector[q]
    return log_growth + np.log(growth)
