"""Compiled loops of the similarity-dependent CRP mixture: the link graph, its tables, and one Gibbs sweep.

Layout. The links are one row per item, ``(target, first child, next sibling, previous sibling)``: a link and the list
of those who link to me, in one cache line. A table is one row of statistics too: see `distributions/niw_kernels.py`.

Functions that run for every pair of an item and a table take plain arrays: handing over a named tuple would cost more
than the arithmetic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import inlined, jit
from homothety.distributions.niw_kernels import (
    HALF_DOF,
    LEAST_LEFT,
    LOG_CONSTANT,
    LOG_DET,
    LOG_MARGINAL,
    SIZE,
    SUMS,
    Prior,
    add_point,
    log_det_with_point,
    refresh,
    set_log_det,
    write_rest,
    write_union,
)

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray

NOBODY = -1
TARGET, FIRST_CHILD, NEXT, PREVIOUS = 0, 1, 2, 3  # columns of the links

# After this many rejected proposals one exact pass over the row is cheaper than going on.
MAX_PROPOSALS = 64

# Bounds of merge ratios are replaced by the ratios, largest first, until the largest is no mere bound; or this often.
MAX_TIGHTENINGS = 6

# Alias tables are packed into 64 bits: a sign, a probability in units of 2^-30, and an index below 2^32.
_KEEP_UNITS = 2**30
_INDEX_BITS = 32
_INDEX_MASK = 2**32 - 1


class Proposals(NamedTuple):
    """Walker's alias tables of each row of the weights, self-links left out: one draw costs one look-up.

    Each entry packs the probability to stay in a column once it was picked uniformly, in units of 2^-30, and the
    column to go to otherwise. A draw is off by less than 1e-9 in total variation.
    """

    alias: IntArray  # (n_items, n_items)
    row_mass: FloatArray  # (n_items,) sum of the weights of each row


class Tables(NamedTuple):
    """Connected components of the links with their statistics. Slot numbers are the labels.

    There are three slots more than items. The last one is scratch space, the one before it is the empty table, and the
    one before that keeps a table as it was before the item at hand left it.
    """

    labels: IntArray  # (n_items,) slot of each item
    rows: FloatArray  # (n_items + 3, SUMS + n_dims + n_dims * (n_dims + 1) / 2)
    factors: FloatArray  # (n_items + 3, n_dims, n_dims) L D L' factors of the posterior scale
    occupied: IntArray  # (n_items,) the first n_tables entries are the slots in use
    position: IntArray  # (n_items,) where a slot stands in `occupied`
    n_tables: IntArray  # (1,)


class Scratch(NamedTuple):
    """Working space of a sweep. A stamp marks what was written for the item at hand."""

    visited: IntArray  # (n_items,) stamp of the walk that came by last
    part: IntArray  # (n_items,) items cut off
    ratios: FloatArray  # (n_items,) log merge ratios of one table with all others, or bounds of them
    exact: IntArray  # (n_items,) stamp of those that are no mere bounds
    solved: FloatArray  # (n_dims,)


@inlined
def _fill_alias(weights: FloatArray, keep: FloatArray, other: IntArray, small: IntArray, large: IntArray) -> float:
    """Fill the alias table of one row of weights; return the sum of the row."""
    n_items = weights.shape[0]
    mass, heaviest = 0.0, 0
    for j in range(n_items):
        mass += weights[j]
        if weights[j] > weights[heaviest]:
            heaviest = j
    n_small, n_large = 0, 0
    for j in range(n_items):
        keep[j] = weights[j] * n_items / mass if mass > 0.0 else 0.0
        # Rounding may leave a column of weight zero without a partner; the heaviest column takes it.
        other[j] = heaviest
        if keep[j] < 1.0:
            small[n_small] = j
            n_small += 1
        else:
            large[n_large] = j
            n_large += 1
    while n_small > 0 and n_large > 0:
        n_small -= 1
        poor, rich = small[n_small], large[n_large - 1]
        other[poor] = rich
        keep[rich] -= 1.0 - keep[poor]
        if keep[rich] < 1.0:
            n_large -= 1
            small[n_small] = rich
            n_small += 1
    return mass


@jit
def _fill_proposals(
    weights: FloatArray,
    alias: IntArray,
    row_mass: FloatArray,
    keep: FloatArray,
    other: IntArray,
    small: IntArray,
    large: IntArray,
) -> None:
    """Fill packed alias tables and sums of every row of `weights`; the last four are scratch space for one row."""
    n_items = weights.shape[0]
    for i in range(n_items):
        row_mass[i] = _fill_alias(weights[i], keep, other, small, large)
        for j in range(n_items):
            stay = min(int(keep[j] * _KEEP_UNITS), _KEEP_UNITS)
            alias[i, j] = (stay << _INDEX_BITS) | other[j]


def build_proposals(weights: FloatArray) -> Proposals:
    """Packed alias tables of every row of `weights` (n_items, n_items), whose diagonal must be zero."""
    n_items = len(weights)
    alias, row_mass = np.empty((n_items, n_items), dtype=np.int64), np.empty(n_items)
    _fill_proposals(weights, alias, row_mass, np.empty(n_items), *np.empty((3, n_items), dtype=np.int64))
    return Proposals(alias, row_mass)


def build_scratch(n_items: int, n_dims: int) -> Scratch:
    """Working space of a sweep."""
    visited, part, exact = np.empty((3, n_items), dtype=np.int64)
    return Scratch(visited, part, np.empty(n_items), exact, np.empty(n_dims))


@inlined
def _propose_link(rng: Generator, i: int, concentration: float, alias: IntArray, row_mass: FloatArray) -> int:
    """Draw a link of item `i` from its prior, with one uniform number."""
    place = rng.random() * (concentration + row_mass[i]) - concentration
    if place < 0.0 or row_mass[i] <= 0.0:
        return i
    n_items = alias.shape[1]
    scaled = place / row_mass[i] * n_items
    j = min(int(scaled), n_items - 1)
    entry = alias[i, j]
    if (scaled - j) * _KEEP_UNITS < (entry >> _INDEX_BITS):
        return j
    return entry & _INDEX_MASK


@jit
def log_merge_ratio(
    i: int,
    own: int,
    k: int,
    rest: int,
    points: FloatArray,
    rows: FloatArray,
    factors: FloatArray,
    by_size: FloatArray,
    strength: float,
    diagonal: bool,
    solved: FloatArray,
) -> float:
    """Log of m(A and B together) / (m(A) m(B)) for the table `own` of item `i` and table `k` (Eq. 23).

    With `rest`, from which `own` has been split off, it makes the table that is kept.
    """
    if k == own:
        return 0.0
    apart = rows[own, LOG_MARGINAL] + rows[k, LOG_MARGINAL]
    if k == rest:
        return rows[rows.shape[0] - 3, LOG_MARGINAL] - apart
    if rows[own, SIZE] == 1.0:
        log_det = log_det_with_point(i, k, 1.0, points, rows, factors, strength, diagonal, solved)
        size = int(rows[k, SIZE]) + 1
        return by_size[size, LOG_CONSTANT] - by_size[size, HALF_DOF] * log_det - apart
    scratch = rows.shape[0] - 1
    write_union(own, k, scratch, rows)
    refresh(scratch, rows, factors, by_size, strength, diagonal)
    return rows[scratch, LOG_MARGINAL] - apart


@inlined
def _bound_merge_ratio(own: int, k: int, rows: FloatArray, by_size: FloatArray) -> float:
    """Upper bound of the log merge ratio that needs no factorisation.

    The scatter of a union is at least that of either set, hence so is its determinant.
    """
    if k == own:
        return 0.0
    size = int(rows[own, SIZE] + rows[k, SIZE])
    together = by_size[size, LOG_CONSTANT] - by_size[size, HALF_DOF] * max(rows[own, LOG_DET], rows[k, LOG_DET])
    return together - rows[own, LOG_MARGINAL] - rows[k, LOG_MARGINAL]


@inlined
def open_table(tables: Tables) -> int:
    """Take a free slot for an empty table and return it."""
    k = tables.occupied[tables.n_tables[0]]
    tables.n_tables[0] += 1
    empty = tables.rows.shape[0] - 2
    for c in range(tables.rows.shape[1]):
        tables.rows[k, c] = tables.rows[empty, c]
    return k


@inlined
def close_table(k: int, tables: Tables) -> None:
    """Give slot `k` back by swapping it with the last occupied one."""
    last = tables.n_tables[0] - 1
    moved, place = tables.occupied[last], tables.position[k]
    tables.occupied[place], tables.position[moved] = moved, place
    tables.occupied[last], tables.position[k] = k, last
    tables.n_tables[0] = last


@inlined
def attach(i: int, target: int, links: IntArray) -> None:
    """Let item `i` link to `target`."""
    head = links[target, FIRST_CHILD]
    links[i, TARGET] = target
    links[i, NEXT] = head
    links[i, PREVIOUS] = NOBODY
    if head != NOBODY:
        links[head, PREVIOUS] = i
    links[target, FIRST_CHILD] = i


@inlined
def detach(i: int, links: IntArray) -> None:
    """Cut the link of item `i`."""
    before, after = links[i, PREVIOUS], links[i, NEXT]
    if before == NOBODY:
        links[links[i, TARGET], FIRST_CHILD] = after
    else:
        links[before, NEXT] = after
    if after != NOBODY:
        links[after, PREVIOUS] = before
    links[i, TARGET] = NOBODY


@inlined
def lies_on_cycle(i: int, links: IntArray, visited: IntArray, stamp: int) -> bool:
    """Whether the links lead from item `i` back to it; if so, cutting its link splits nothing.

    Every component has exactly one cycle, so the walk ends at `i` or at an item seen before.
    """
    j = links[i, TARGET]
    while j != i and visited[j] != stamp:
        visited[j] = stamp
        j = links[j, TARGET]
    return j == i


@jit
def collect_part(i: int, links: IntArray, part: IntArray) -> int:
    """List into `part` all items whose links lead to `i`, itself linkless; return how many there are."""
    part[0] = i
    n_part, k = 1, 0
    while k < n_part:
        child = links[part[k], FIRST_CHILD]
        while child != NOBODY:
            part[n_part] = child
            n_part += 1
            child = links[child, NEXT]
        k += 1
    return n_part


@jit
def attach_all(targets: IntArray, links: IntArray) -> None:
    """Write links and children lists of the given targets."""
    for i in range(targets.shape[0]):
        links[i, FIRST_CHILD] = NOBODY
    for i in range(targets.shape[0]):
        attach(i, targets[i], links)


def build_links(targets: IntArray) -> IntArray:
    """Links and children lists, (n_items, 4), of the given targets."""
    links = np.empty((len(targets), 4), dtype=np.int64)
    attach_all(targets, links)
    return links


@jit
def find_components(links: IntArray, labels: IntArray, path: IntArray) -> int:
    """Write the number of the connected component of each item into `labels`; return how many there are.

    `path` is scratch space of the same size.
    """
    n_items, n_components = labels.shape[0], 0
    for i in range(n_items):
        labels[i] = NOBODY
    for i in range(n_items):
        j, n_path = i, 0
        while labels[j] == NOBODY:
            labels[j] = n_components  # provisional: meeting it again on this very walk closes a new component
            path[n_path] = j
            n_path += 1
            j = links[j, TARGET]
        label = labels[j]
        for k in range(n_path):
            labels[path[k]] = label
        if label == n_components:
            n_components += 1
    return n_components


@jit
def fill_tables(links: IntArray, points: FloatArray, tables: Tables, prior: Prior) -> None:
    """Seat every item at the table of its component, all tables being empty, and work out their statistics."""
    rows, factors = tables.rows, tables.factors
    tables.n_tables[0] = find_components(links, tables.labels, tables.position)
    for i in range(points.shape[0]):
        tables.occupied[i] = tables.position[i] = i
        add_point(i, tables.labels[i], points, rows)
    for k in range(tables.n_tables[0]):
        refresh(k, rows, factors, prior.by_size, prior.mean_strength, prior.diagonal)
    refresh(rows.shape[0] - 2, rows, factors, prior.by_size, prior.mean_strength, prior.diagonal)


def build_tables(links: IntArray, points: FloatArray, prior: Prior) -> Tables:
    """Tables of the given links with all their statistics, from scratch.

    Arrays are allocated outside of compiled code, where that costs seconds of compilation.
    """
    n_items, n_dims = points.shape
    packed_scale = prior.scale[np.tril_indices(n_dims)]
    rows = np.zeros((n_items + 3, SUMS + n_dims + len(packed_scale)))
    rows[:-1, SUMS + n_dims :] = packed_scale
    labels, occupied, position = np.empty((3, n_items), dtype=np.int64)
    factors = np.zeros((n_items + 3, n_dims, n_dims))
    tables = Tables(labels, rows, factors, occupied, position, np.empty(1, dtype=np.int64))
    fill_tables(links, points, tables, prior)
    return tables


def total_log_marginal(tables: Tables) -> float:
    """Log likelihood of all points given their tables (Eq. 19)."""
    occupied = tables.occupied[: tables.n_tables[0]]
    return float(tables.rows[occupied, LOG_MARGINAL].sum())


@inlined
def copy_table(source: int, destination: int, rows: FloatArray, factors: FloatArray) -> None:
    """Copy statistics and factor of a slot to another."""
    for c in range(rows.shape[1]):
        rows[destination, c] = rows[source, c]
    for p in range(factors.shape[1]):
        for q in range(factors.shape[1]):
            factors[destination, p, q] = factors[source, p, q]


@inlined
def relabel(part: IntArray, n_part: int, destination: int, labels: IntArray) -> None:
    """Write that the listed items sit at table `destination`."""
    for k in range(n_part):
        labels[part[k]] = destination


@jit
def split_off(
    part: IntArray,
    n_part: int,
    own: int,
    rest: int,
    points: FloatArray,
    tables: Tables,
    prior: Prior,
    solved: FloatArray,
) -> bool:
    """Take the listed items, fewer than all, from table `rest` to the empty table `own`; labels are not looked at.

    The table they left is kept. Returns whether the factors of both tables are left out of date, as for a single item:
    their determinants follow from those of the kept and of the empty table, and mostly the item comes back. `settle`
    makes up for it.
    """
    rows, factors = tables.rows, tables.factors
    strength, diagonal, by_size = prior.mean_strength, prior.diagonal, prior.by_size
    i, kept, empty = part[0], rows.shape[0] - 3, rows.shape[0] - 2
    copy_table(rest, kept, rows, factors)
    for k in range(n_part):
        add_point(part[k], own, points, rows)
    write_rest(rest, own, rows)
    if n_part == 1:
        log_det = log_det_with_point(i, kept, -1.0, points, rows, factors, strength, diagonal, solved)
        if log_det - rows[kept, LOG_DET] > LEAST_LEFT:
            set_log_det(rest, log_det, rows, by_size)
            alone = log_det_with_point(i, empty, 1.0, points, rows, factors, strength, diagonal, solved)
            set_log_det(own, alone, rows, by_size)
            return True
    refresh(rest, rows, factors, by_size, strength, diagonal)
    refresh(own, rows, factors, by_size, strength, diagonal)
    return False


@jit
def settle(own: int, rest: int, tables: Tables, prior: Prior) -> None:
    """Bring the factors of two tables up to date that have parted."""
    for k in (own, rest):
        refresh(k, tables.rows, tables.factors, prior.by_size, prior.mean_strength, prior.diagonal)


@jit
def rejoin(own: int, rest: int, tables: Tables) -> None:
    """Let all items of table `own` come back to the table that is kept as it was."""
    copy_table(tables.rows.shape[0] - 3, rest, tables.rows, tables.factors)
    close_table(own, tables)


@inlined
def merge(own: int, destination: int, tables: Tables, prior: Prior) -> None:
    """Let all items of table `own` join table `destination`; labels are not looked at."""
    write_union(destination, own, destination, tables.rows)
    close_table(own, tables)
    refresh(destination, tables.rows, tables.factors, prior.by_size, prior.mean_strength, prior.diagonal)


@inlined
def bound_ratios(own: int, tables: Tables, by_size: FloatArray, values: FloatArray) -> int:
    """Write upper bounds of the log merge ratios of table `own` with all tables; return the slot of the largest."""
    rows, occupied, highest = tables.rows, tables.occupied, own
    values[own] = 0.0
    for position in range(tables.n_tables[0]):
        k = occupied[position]
        values[k] = _bound_merge_ratio(own, k, rows, by_size)
        if values[k] > values[highest]:
            highest = k
    return highest


@inlined
def slot_of_largest(values: FloatArray, occupied: IntArray, n_tables: int) -> int:
    """Return the slot in use whose value is the largest."""
    highest = occupied[0]
    for position in range(1, n_tables):
        if values[occupied[position]] > values[highest]:
            highest = occupied[position]
    return highest


@inlined
def _largest_within_reach(i: int, weights: FloatArray, labels: IntArray, values: FloatArray) -> float:
    """Return the largest value of a table that item `i` is in or may link to."""
    largest = values[labels[i]]
    for j in range(weights.shape[1]):
        if weights[i, j] > 0.0 and values[labels[j]] > largest:
            largest = values[labels[j]]
    return largest


@inlined
def _draw_link_by_scan(
    rng: Generator, i: int, weights: FloatArray, concentration: float, labels: IntArray, factors: FloatArray
) -> int:
    """Draw the link of item `i` from its exact conditional by passing over its row (Eq. 22).

    `factors` holds, by slot, the merge ratios up to a common factor.
    """
    n_items = weights.shape[1]
    total = 0.0
    for j in range(n_items):
        total += (concentration if j == i else weights[i, j]) * factors[labels[j]]
    target, running, chosen = rng.random() * total, 0.0, i
    for j in range(n_items):
        weight = (concentration if j == i else weights[i, j]) * factors[labels[j]]
        if weight > 0.0:
            chosen = j  # so that rounding never runs past the last item that can be drawn
            running += weight
            if target < running:
                break
    return chosen


@inlined
def draw_link(
    rng: Generator,
    i: int,
    rest: int,
    stamp: int,
    points: FloatArray,
    weights: FloatArray,
    concentration: float,
    proposals: Proposals,
    tables: Tables,
    prior: Prior,
    scratch: Scratch,
) -> int:
    """Draw the link of item `i` from its exact conditional, by rejection from its prior (Eq. 22).

    A proposal is accepted with the merge ratio of its table over an upper bound of all ratios, which leaves exactly
    the conditional; so does giving up after a fixed number of proposals and drawing from the conditional itself.
    """
    labels, rows, factors, by_size = tables.labels, tables.rows, tables.factors, prior.by_size
    alias, row_mass, occupied, n_tables = proposals.alias, proposals.row_mass, tables.occupied, tables.n_tables[0]
    strength, diagonal = prior.mean_strength, prior.diagonal
    values, exact, solved = scratch.ratios, scratch.exact, scratch.solved
    own = labels[i]
    highest = bound_ratios(own, tables, by_size, values)
    exact[own] = stamp
    for _ in range(MAX_TIGHTENINGS):
        if exact[highest] == stamp:
            break
        values[highest] = log_merge_ratio(
            i, own, highest, rest, points, rows, factors, by_size, strength, diagonal, solved
        )
        exact[highest] = stamp
        highest = slot_of_largest(values, occupied, n_tables)
    top = values[highest]
    for _ in range(MAX_PROPOSALS):
        j = _propose_link(rng, i, concentration, alias, row_mass)
        k = labels[j]
        if exact[k] != stamp:
            values[k] = log_merge_ratio(i, own, k, rest, points, rows, factors, by_size, strength, diagonal, solved)
            exact[k] = stamp
        if values[k] >= top or rng.random() < np.exp(values[k] - top):
            return j
    for position in range(n_tables):
        k = occupied[position]
        values[k] = log_merge_ratio(i, own, k, rest, points, rows, factors, by_size, strength, diagonal, solved)
    # A table out of reach, of weight zero, must not set the scale: all that is within reach might underflow.
    top = _largest_within_reach(i, weights, labels, values)
    for position in range(n_tables):
        k = occupied[position]
        values[k] = np.exp(min(values[k] - top, 0.0))
    return _draw_link_by_scan(rng, i, weights, concentration, labels, values)


@jit
def sweep_links(
    rng: Generator,
    order: IntArray,
    points: FloatArray,
    weights: FloatArray,
    concentration: float,
    proposals: Proposals,
    links: IntArray,
    tables: Tables,
    prior: Prior,
    scratch: Scratch,
) -> None:
    """Resample every link once, in the given order, by collapsed Gibbs (Algorithm 2). Writes into links and tables."""
    labels, visited, part = tables.labels, scratch.visited, scratch.part
    for i in range(order.shape[0]):
        visited[i] = scratch.exact[i] = NOBODY
    for stamp in range(order.shape[0]):
        i = order[stamp]
        splits = not lies_on_cycle(i, links, visited, stamp)
        detach(i, links)
        n_part, own, rest, unsettled = 0, labels[i], NOBODY, False
        if splits:
            n_part, own, rest = collect_part(i, links, part), open_table(tables), labels[i]
            unsettled = split_off(part, n_part, own, rest, points, tables, prior, scratch.solved)
            relabel(part, n_part, own, labels)
        j = draw_link(rng, i, rest, stamp, points, weights, concentration, proposals, tables, prior, scratch)
        destination = labels[j]
        if destination == rest:
            rejoin(own, rest, tables)
        elif unsettled:
            settle(own, rest, tables, prior)
        if destination not in (own, rest):
            merge(own, destination, tables, prior)
            if n_part == 0:
                n_part = collect_part(i, links, part)
        if destination != own:
            relabel(part, n_part, destination, labels)
        attach(i, j, links)
