"""Compiled loops of the mixture of shapes: tables of clusters, one Gibbs sweep, one split or merge.

Clusters are numbered 0, 1, ... without gaps. A table is one row (size, weight, log determinant, weighted sums about the
prior mean) and one factor: the posterior scale as L D L', L below the diagonal, 1 / D on it. A point that joins or
leaves is a rank-one change of the factor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import ZERO, inlined, jit
from homothety.distributions.niw_kernels import SUMS, shift_factor

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray

NOBODY = -1
SIZE, WEIGHT, LOG_DET = 0, 1, 2  # columns of the rows; sums follow
LEAST_LOG_GROWTH = -14.0  # taking out a point that made more than this of a determinant leaves few good digits
NEGLIGIBLE = 40.0  # terms of a sum of exponentials that are smaller than the largest by this are left out
_N_SCANS = 2  # restricted Gibbs scans from which a split is proposed


class Compiled(NamedTuple):
    """Points and priors."""

    points: FloatArray  # (n_items, n_dims) about the prior mean
    precisions: FloatArray  # (n_spreads,)
    log_precisions: FloatArray  # (n_spreads,) log probability of a spread, and what it adds to log densities
    alone: FloatArray  # (n_items, n_spreads, n_kinds) log density of an item alone in a cluster, spread included
    log_constant: FloatArray  # (n_kinds, n_items + 1) by size
    half_dof: FloatArray  # (n_kinds, n_items + 1) by size
    strength: FloatArray  # (n_kinds,)
    scale: FloatArray  # (n_kinds,)
    attraction: float


class Tables(NamedTuple):
    """Who is in which cluster, with statistics. The last two rows are free for proposals."""

    labels: IntArray  # (n_items,)
    kinds: IntArray  # (n_items + 2,)
    spreads: IntArray  # (n_items,)
    rows: FloatArray  # (n_items + 2, SUMS + n_dims)
    factors: FloatArray  # (n_items + 2, n_dims, n_dims)
    vector: FloatArray  # (n_dims,) working space
    members: IntArray  # (n_items,) working space


def build_tables(labels: IntArray, kinds: IntArray, spreads: IntArray, model: Compiled) -> Tables:
    """Tables of the given labels and kinds, with all their statistics from scratch."""
    n_items, n_dims = model.points.shape
    all_kinds = np.zeros(n_items + 2, dtype=np.int64)
    all_kinds[: len(kinds)] = kinds
    rows, factors = np.zeros((n_items + 2, SUMS + n_dims)), np.zeros((n_items + 2, n_dims, n_dims))
    working = np.empty(n_dims), np.empty(n_items, dtype=np.int64)
    tables = Tables(np.array(labels), all_kinds, np.array(spreads), rows, factors, *working)
    fill(len(kinds), tables, model)
    return tables


@jit
def fill(n_clusters: int, tables: Tables, model: Compiled) -> None:
    """Let every item join the cluster its label says, all being empty."""
    for k in range(n_clusters):
        clear(k, tables, model)
    for i in range(tables.labels.shape[0]):
        shift(i, tables.labels[i], 1.0, tables, model)


@jit
def clear(k: int, tables: Tables, model: Compiled) -> None:
    """Empty table `k`, of the kind it has."""
    scale, n_dims = model.scale[tables.kinds[k]], model.points.shape[1]
    for c in range(tables.rows.shape[1]):
        tables.rows[k, c] = 0.0
    for p in range(n_dims):
        for q in range(p):
            tables.factors[k, p, q] = 0.0
        tables.factors[k, p, p] = 1.0 / scale
    tables.rows[k, LOG_DET] = n_dims * np.log(scale)


@inlined
def shift(i: int, k: int, sign: float, tables: Tables, model: Compiled) -> float:
    """Bring item `i` into table `k` (`sign` 1) or take it out (-1); return the log growth of the determinant."""
    rows, added = tables.rows, sign * model.precisions[tables.spreads[i]]
    strength = model.strength[tables.kinds[k]] + rows[k, WEIGHT]
    log_growth = shift_factor(i, k, added, model.points, rows, tables.factors, strength, False, tables.vector)
    rows[k, SIZE] += sign
    rows[k, WEIGHT] += added
    rows[k, LOG_DET] += log_growth
    return log_growth


@inlined
def leave(i: int, tables: Tables, model: Compiled) -> None:
    """Take item `i` out of its cluster, in which it is not alone."""
    k = tables.labels[i]
    tables.labels[i] = NOBODY
    if shift(i, k, -1.0, tables, model) > LEAST_LOG_GROWTH:
        return
    rebuild(k, tables, model)


@jit
def rebuild(k: int, tables: Tables, model: Compiled) -> None:
    """Sum the statistics of cluster `k` afresh."""
    clear(k, tables, model)
    for j in range(tables.labels.shape[0]):
        if tables.labels[j] == k:
            shift(j, k, 1.0, tables, model)


@jit
def close(k: int, last: int, tables: Tables) -> None:
    """Remove cluster `k`; the last one takes its number."""
    if k == last:
        return
    tables.kinds[k] = tables.kinds[last]
    for c in range(tables.rows.shape[1]):
        tables.rows[k, c] = tables.rows[last, c]
    for p in range(tables.factors.shape[1]):
        for q in range(p + 1):
            tables.factors[k, p, q] = tables.factors[last, p, q]
    for j in range(tables.labels.shape[0]):
        if tables.labels[j] == last:
            tables.labels[j] = k


@inlined
def _distance_to(i: int, k: int, tables: Tables, model: Compiled) -> float:
    """Return the squared distance of item `i` to the mean of table `k`, by its posterior scale."""
    points, rows, factors, vector = model.points, tables.rows, tables.factors, tables.vector
    share, total = 1.0 / (model.strength[tables.kinds[k]] + rows[k, WEIGHT]), 0.0
    for p in range(points.shape[1]):
        value = points[i, p] - rows[k, SUMS + p] * share
        for q in range(p):
            value -= factors[k, p, q] * vector[q]
        vector[p] = value
        total += value * value * factors[k, p, p]
    return total


@inlined
def _log_joining(distance: float, k: int, precision: float, tables: Tables, model: Compiled) -> float:
    """Return the log density of a point of given precision, at some distance, given the others of table `k`."""
    kind, size = tables.kinds[k], int(tables.rows[k, SIZE])
    strength = model.strength[kind] + tables.rows[k, WEIGHT]
    share = strength / (strength + precision)
    growth = np.log(1.0 + precision * share * distance)
    change = model.log_constant[kind, size + 1] - model.log_constant[kind, size]
    change -= (model.half_dof[kind, size + 1] - model.half_dof[kind, size]) * tables.rows[k, LOG_DET]
    return change - model.half_dof[kind, size + 1] * growth + model.points.shape[1] / 2 * np.log(share)


@inlined
def _log_odds_of_second(i: int, first: int, tables: Tables, model: Compiled) -> float:
    """Return the log odds that item `i` joins the table after `first`, not `first`; what `_log_joining` has of both."""
    precision, odds, ratio = model.precisions[tables.spreads[i]], 0.0, 1.0
    for side in range(2):
        k = first + side
        kind, size, sign = tables.kinds[k], int(tables.rows[k, SIZE]), 2.0 * side - 1.0
        strength = model.strength[kind] + tables.rows[k, WEIGHT]
        share = strength / (strength + precision)
        ratio = share / ratio  # of both shares in the end
        growth = np.log(1.0 + precision * share * _distance_to(i, k, tables, model))
        odds += sign * (model.log_constant[kind, size + 1] - model.log_constant[kind, size])
        odds -= sign * (model.half_dof[kind, size + 1] - model.half_dof[kind, size]) * tables.rows[k, LOG_DET]
        odds -= sign * model.half_dof[kind, size + 1] * growth
    attracted = np.log(tables.rows[first + 1, SIZE] / tables.rows[first, SIZE])
    return odds + model.attraction * attracted + model.points.shape[1] / 2 * np.log(ratio)


@inlined
def _draw_from_logs(rng: Generator, logs: FloatArray, n_logs: int) -> int:
    """Draw an index with probability proportional to the exponential of the first `n_logs` values; overwrites these."""
    top, total = -np.inf, 0.0
    for place in range(n_logs):
        top = max(top, logs[place])
    for place in range(n_logs):
        log = logs[place] - top
        logs[place] = np.exp(log) if log > -NEGLIGIBLE else 0.0
        total += logs[place]
    rest = rng.random() * total
    for place in range(n_logs):
        rest -= logs[place]
        if rest < 0.0:
            return place
    return n_logs - 1


@inlined
def _add_to(values: FloatArray, others: FloatArray) -> None:
    """Add other values in place."""
    for place in range(values.shape[0]):
        values[place] += others[place]


@jit
def _log_sum(logs: FloatArray) -> float:
    """Log of the sum of exponentials."""
    top, total = -np.inf, 0.0
    for place in range(logs.shape[0]):
        top = max(top, logs[place])
    for place in range(logs.shape[0]):
        total += np.exp(logs[place] - top)
    return top + np.log(total)


@jit
def log_alone(log_shares: FloatArray, alone: FloatArray, out: FloatArray) -> None:
    """Write the log density of each item alone in a cluster of any kind, for every spread."""
    n_items, n_spreads, n_kinds = alone.shape
    for i in range(n_items):
        for u in range(n_spreads):
            top, total = -np.inf, 0.0
            for g in range(n_kinds):
                top = max(top, log_shares[g] + alone[i, u, g])
            for g in range(n_kinds):
                term = log_shares[g] + alone[i, u, g] - top
                if term > -NEGLIGIBLE:
                    total += np.exp(term)
            out[i, u] = top + np.log(total)


@jit
def sweep_labels(
    rng: Generator,
    order: IntArray,
    n_clusters: int,
    concentration: float,
    log_shares: FloatArray,
    by_itself: FloatArray,
    tables: Tables,
    model: Compiled,
    weights: FloatArray,
) -> int:
    """Redraw cluster and spread of every item given all others; return the number of clusters.

    Parameters
    ----------
    by_itself : ndarray of shape (n_items, n_spreads)
        What `log_alone` writes.
    weights : ndarray of shape ((n_items + 1) * n_spreads + n_kinds,)
        Working space.
    """
    labels, spreads, rows = tables.labels, tables.spreads, tables.rows
    n_spreads = model.precisions.shape[0]
    for i in order:
        k = labels[i]
        if rows[k, SIZE] == 1.0:
            n_clusters -= 1
            labels[i] = NOBODY
            close(k, n_clusters, tables)
        else:
            leave(i, tables, model)
        for k in range(n_clusters):
            attracted, distance = model.attraction * np.log(rows[k, SIZE]), _distance_to(i, k, tables, model)
            for u in range(n_spreads):
                joining = _log_joining(distance, k, model.precisions[u], tables, model)
                weights[k * n_spreads + u] = attracted + joining + model.log_precisions[u]
        for u in range(n_spreads):
            weights[n_clusters * n_spreads + u] = np.log(concentration) + by_itself[i, u]
        chosen = _draw_from_logs(rng, weights, (n_clusters + 1) * n_spreads)
        k, spreads[i] = chosen // n_spreads, chosen % n_spreads
        if k == n_clusters:
            for g in range(log_shares.shape[0]):
                weights[g] = log_shares[g] + model.alone[i, spreads[i], g]
            tables.kinds[k] = _draw_from_logs(rng, weights, log_shares.shape[0])
            clear(k, tables, model)
            n_clusters += 1
        labels[i] = k
        shift(i, k, 1.0, tables, model)
    return n_clusters


@jit
def log_marginals(members: IntArray, n_members: int, spreads: IntArray, model: Compiled, out: FloatArray) -> None:
    """Write the log marginal likelihood of some items as one cluster, for every kind; spreads not included."""
    n_dims, weight = model.points.shape[1], 0.0
    mean, scatter, factor = np.zeros(n_dims), np.zeros((n_dims, n_dims)), np.empty((n_dims, n_dims))
    for place in range(n_members):
        i = members[place]
        precision = model.precisions[spreads[i]]
        weight += precision
        for p in range(n_dims):
            mean[p] += precision * model.points[i, p]
    for p in range(n_dims):
        mean[p] /= weight
    for place in range(n_members):
        i = members[place]
        precision = model.precisions[spreads[i]]
        for p in range(n_dims):
            value = precision * (model.points[i, p] - mean[p])
            for q in range(p + 1):
                scatter[p, q] += value * (model.points[i, q] - mean[q])
    for g in range(out.shape[0]):
        strength = model.strength[g]
        pull, log_det = strength * weight / (strength + weight), 0.0
        for p in range(n_dims):
            for q in range(p + 1):
                value = scatter[p, q] + pull * mean[p] * mean[q]
                if p == q:
                    value += model.scale[g]
                for r in range(q):
                    value -= factor[p, r] * factor[q, r]
                if p == q:
                    log_det += np.log(value)
                    factor[p, p] = np.sqrt(value)
                else:
                    factor[p, q] = value / factor[q, q]
        out[g] = model.log_constant[g, n_members] - model.half_dof[g, n_members] * log_det
        out[g] += n_dims / 2 * np.log(strength / (strength + weight))


@inlined
def collect(labels: IntArray, k: int, members: IntArray) -> int:
    """Write the members of a cluster; return how many there are."""
    n_members = ZERO
    for i in range(labels.shape[0]):
        if labels[i] == k:
            members[n_members] = i
            n_members += 1
    return n_members


@jit
def sweep_kinds(
    rng: Generator,
    n_clusters: int,
    labels: IntArray,
    spreads: IntArray,
    log_shares: FloatArray,
    kinds: IntArray,
    model: Compiled,
) -> float:
    """Redraw the kind of every cluster given its members; return the log likelihood with kinds integrated out."""
    members, logs, total = np.empty(labels.shape[0], dtype=np.int64), np.empty(log_shares.shape[0]), 0.0
    for k in range(n_clusters):
        n_members = collect(labels, k, members)
        log_marginals(members, n_members, spreads, model, logs)
        _add_to(logs, log_shares)
        total += _log_sum(logs)
        kinds[k] = _draw_from_logs(rng, logs, logs.shape[0])
    for i in range(labels.shape[0]):
        total += model.log_precisions[spreads[i]]
    return total


@jit
def start_sides(i: int, j: int, first: int, tables: Tables, model: Compiled, sides: IntArray, wanted: IntArray) -> int:
    """Gather the clusters of two items and seat every member, in tables `first` and the next, with the nearer of them.

    Writes the members, `i` and `j` first, on which side each is and on which it was; returns how many there are.
    """
    labels, members = tables.labels, tables.members
    n_members, members[0], members[1] = 2, i, j
    for m in range(labels.shape[0]):
        if m != i and m != j and (labels[m] == labels[i] or labels[m] == labels[j]):
            members[n_members] = m
            n_members += 1
    for side in range(2):
        clear(first + side, tables, model)
    for place in range(n_members):
        near, far = 0.0, 0.0
        for p in range(model.points.shape[1]):
            near += (model.points[members[place], p] - model.points[i, p]) ** 2
            far += (model.points[members[place], p] - model.points[j, p]) ** 2
        sides[place] = place if place < 2 else (0 if near < far else 1)
        wanted[place] = 0 if labels[members[place]] == labels[i] else 1
        shift(members[place], first + sides[place], 1.0, tables, model)
    return n_members


@jit
def scan_sides(
    rng: Generator,
    n_members: int,
    sides: IntArray,
    wanted: IntArray,
    follows: bool,
    first: int,
    tables: Tables,
    model: Compiled,
) -> float:
    """Redraw several times which of two tables, `first` and the next, each member but the first two is in.

    Returns the log probability of the last scan. If `follows`, members then go where `wanted` says, not at random.
    """
    total = 0.0
    for scan in range(_N_SCANS + 1):
        for place in range(2, n_members):
            i = tables.members[place]
            shift(i, first + sides[place], -1.0, tables, model)
            odds = _log_odds_of_second(i, first, tables, model)
            smaller = np.exp(-abs(odds))  # without overflow
            second = (1.0 if odds > 0.0 else smaller) / (1.0 + smaller)
            sides[place] = 1 if rng.random() < second else 0
            if scan == _N_SCANS:
                if follows:
                    sides[place] = wanted[place]
                total += min(odds if sides[place] == 1 else -odds, 0.0) - np.log1p(smaller)
            shift(i, first + sides[place], 1.0, tables, model)
    return total


@jit
def marginal_of_side(
    rng: Generator,
    n_members: int,
    sides: IntArray,
    side: int,
    log_shares: FloatArray,
    tables: Tables,
    model: Compiled,
    logs: FloatArray,
) -> tuple[float, int, int]:
    """Return log marginal with the kind integrated out, size and a drawn kind of the members on one side, or of all."""
    some, n_some = np.empty(n_members, dtype=np.int64), ZERO
    for place in range(n_members):
        if side == NOBODY or sides[place] == side:
            some[n_some] = tables.members[place]
            n_some += 1
    log_marginals(some, n_some, tables.spreads, model, logs)
    _add_to(logs, log_shares)
    return _log_sum(logs), n_some, _draw_from_logs(rng, logs, logs.shape[0])


@jit
def sum_partitions(n_items: int, log_concentration: float, attraction: float, log_gammas: FloatArray) -> float:
    """Log of the sum over all partitions of ``concentration ** n_clusters`` times gammas of sizes to a power."""
    sums = np.zeros(n_items + 1)
    for n in range(1, n_items + 1):
        # Terms are largest for one cluster of all or for a single item; both ends are followed until nothing is added.
        top, total = -np.inf, 0.0
        for end in range(2):
            for step in range((n + 1) // 2 if end == 0 else n // 2):
                k = n - step if end == 0 else 1 + step
                term = log_gammas[n] - log_gammas[k] - log_gammas[n - k + 1] + attraction * log_gammas[k] + sums[n - k]
                if term > top:
                    total = total * np.exp(top - term) + 1.0 if total > 0.0 else 1.0
                    top = term
                elif term > top - NEGLIGIBLE:
                    total += np.exp(term - top)
                elif attraction > 1.0 and step > 50:
                    break
        sums[n] = log_concentration + top + np.log(total)
    return sums[n_items]
