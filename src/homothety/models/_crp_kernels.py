"""Compiled loops of the Chinese restaurant process mixture: its tables and one Gibbs sweep.

Tables are numbered 0, 1, ... without gaps, as the labels say. A table is one row, without the packed scale, and one
factor: see `distributions/niw_kernels.py`. All rows past the last table hold the prior, so the first of them is the
table an item opens. An item that joins or leaves is a rank-one change of the factor; neither that nor the predictive
density at a candidate costs more than the square of the number of dimensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import inlined, jit
from homothety.distributions.niw_kernels import (
    HALF_DOF,
    LOG_CONSTANT,
    LOG_DET,
    LOG_MARGINAL,
    SIZE,
    SUMS,
    Prior,
    log_det_with_point,
    set_log_det,
    shift_factor,
)

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray

NOBODY = -1

# Taking out a point that held nearly all the spread of its table leaves few good digits: then sum the others afresh.
LEAST_LOG_GROWTH = -14.0


class Tables(NamedTuple):
    """Who sits where, with the statistics of every table. One row more than items: the last is always the prior."""

    labels: IntArray  # (n_items,)
    rows: FloatArray  # (n_items + 1, SUMS + n_dims)
    factors: FloatArray  # (n_items + 1, n_dims, n_dims)
    weights: FloatArray  # (n_items + 1,) scratch space, as is the next
    vector: FloatArray  # (n_dims,)


def build_tables(labels: IntArray, points: FloatArray, prior: Prior) -> Tables:
    """Tables of the given labels, numbered without gaps, with all their statistics from scratch.

    Not compiled itself: allocating arrays would take longer to compile than all the rest.
    """
    n_items, n_dims = points.shape
    rows, factors = np.zeros((n_items + 1, SUMS + n_dims)), np.empty((n_items + 1, n_dims, n_dims))
    root = np.linalg.cholesky(prior.scale)
    pivots = np.diagonal(root)
    factors[:] = np.tril(root / pivots, -1) + np.diag(1 / pivots**2)  # L D L'
    rows[:, LOG_DET] = -np.log(np.diagonal(factors[0])).sum()
    tables = Tables(np.array(labels), rows, factors, np.empty(n_items + 1), np.empty(n_dims))
    _seat_all(points, tables, prior)
    return tables


def total_log_marginal(tables: Tables) -> float:
    """Log likelihood of all points given their tables (Eq. 19); rows that are no table add nothing."""
    return float(tables.rows[:, LOG_MARGINAL].sum())


@jit
def _seat_all(points: FloatArray, tables: Tables, prior: Prior) -> None:
    """Let every item join, from empty tables, the one its label says."""
    for i in range(points.shape[0]):
        seat(i, tables.labels[i], points, tables, prior)


@jit
def copy_table(source: int, target: int, rows: FloatArray, factors: FloatArray) -> None:
    """Overwrite the statistics of table `target` with those of table `source`."""
    for c in range(rows.shape[1]):
        rows[target, c] = rows[source, c]
    for p in range(factors.shape[1]):
        for q in range(p + 1):
            factors[target, p, q] = factors[source, p, q]


@inlined
def shift(i: int, k: int, sign: float, points: FloatArray, tables: Tables, prior: Prior) -> float:
    """Bring item `i` into table `k` (`sign` 1) or take it out (-1); return the log growth of the determinant."""
    _, rows, factors, _, vector = tables
    strength = prior.mean_strength + rows[k, SIZE]
    log_growth = shift_factor(i, k, sign, points, rows, factors, strength, prior.diagonal, vector)
    rows[k, SIZE] += sign
    set_log_det(k, rows[k, LOG_DET] + log_growth, rows, prior.by_size)
    return log_growth


@jit
def seat(i: int, k: int, points: FloatArray, tables: Tables, prior: Prior) -> None:
    """Let item `i` join table `k`."""
    shift(i, k, 1.0, points, tables, prior)
    tables.labels[i] = k


@jit
def _unseat(i: int, points: FloatArray, tables: Tables, prior: Prior) -> None:
    """Let item `i` leave its table, where it is not alone."""
    labels = tables.labels
    k = labels[i]
    labels[i] = NOBODY
    if shift(i, k, -1.0, points, tables, prior) > LEAST_LOG_GROWTH:
        return
    copy_table(tables.rows.shape[0] - 1, k, tables.rows, tables.factors)
    for j in range(labels.shape[0]):
        if labels[j] == k:
            shift(j, k, 1.0, points, tables, prior)


@jit
def close_table(k: int, last: int, tables: Tables) -> None:
    """Remove table `k`; the last one takes its number."""
    labels, rows, factors, _, _ = tables
    copy_table(last, k, rows, factors)
    copy_table(rows.shape[0] - 1, last, rows, factors)
    for j in range(labels.shape[0]):
        if labels[j] == last:
            labels[j] = k


@jit
def _draw_table(
    rng: Generator,
    i: int,
    n_tables: int,
    points: FloatArray,
    concentration: float,
    tables: Tables,
    prior: Prior,
) -> int:
    """Draw a table for the unseated item `i` from its exact conditional; `n_tables` stands for a new one."""
    _, rows, factors, weights, vector = tables
    by_size, strength, _, diagonal = prior
    top = -np.inf
    for k in range(n_tables + 1):
        size = int(rows[k, SIZE]) + 1
        log_det = log_det_with_point(i, k, 1.0, points, rows, factors, strength, diagonal, vector)
        weights[k] = by_size[size, LOG_CONSTANT] - by_size[size, HALF_DOF] * log_det - rows[k, LOG_MARGINAL]
        top = max(top, weights[k])
    total = 0.0
    for k in range(n_tables + 1):
        weights[k] = (rows[k, SIZE] if k < n_tables else concentration) * np.exp(weights[k] - top)
        total += weights[k]
    place = rng.random() * total
    for k in range(n_tables):
        place -= weights[k]
        if place < 0.0:
            return k
    return n_tables


@jit
def sweep_labels(
    rng: Generator, order: IntArray, points: FloatArray, concentration: float, tables: Tables, prior: Prior
) -> int:
    """Reseat every item once, in the given order. Writes into tables; returns how many items changed company."""
    labels, rows, _, _, _ = tables
    n_tables, n_changed = 0, 0
    while rows[n_tables, SIZE] > 0.0:
        n_tables += 1
    for position in range(order.shape[0]):
        i = order[position]
        k = labels[i]
        if rows[k, SIZE] == 1.0:
            n_tables -= 1
            close_table(k, n_tables, tables)
            k = n_tables  # a new table would be as good as the one it had
        else:
            _unseat(i, points, tables, prior)
        chosen = _draw_table(rng, i, n_tables, points, concentration, tables, prior)
        seat(i, chosen, points, tables, prior)
        n_tables += chosen == n_tables
        n_changed += chosen != k
    return n_changed
