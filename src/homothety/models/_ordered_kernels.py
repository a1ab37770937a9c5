"""Compiled loops of the mixture whose links lead back in an order: similarity of a pair, tables, one Gibbs sweep.

Items are numbered by their place in the order, so that a link always leads to a smaller number, or to the item itself.
Then the items that hang on an item are few, about the logarithm of all on average, and there are no cycles to look for.

Items are visited in order, so whoever is before the item at hand has been visited, and stays where it is until the
sweep ends. A visitor chooses among the tables, then among those who are before it there: they are listed table by table
as they are visited, and nobody is ever taken off a list.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import inlined, jit
from homothety.distributions.niw_kernels import SUMS, Prior, add_point, refresh
from homothety.models._ddcrp_kernels import (
    NOBODY,
    TARGET,
    Tables,
    attach,
    bound_ratios,
    collect_part,
    detach,
    log_merge_ratio,
    merge,
    open_table,
    rejoin,
    relabel,
    settle,
    slot_of_largest,
    split_off,
)

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray

VARIANCE, STD, CV, LOG = 0, 1, 2, 3
BOUNDED, EXPONENTIAL, EXPONENTIAL_ROOT = 0, 1, 2
DISPERSIONS = MappingProxyType({"variance": VARIANCE, "std": STD, "cv": CV, "log": LOG})
DECAYS = MappingProxyType({"bounded": BOUNDED, "exponential": EXPONENTIAL, "exponential-root": EXPONENTIAL_ROOT})

# Bounds of merge ratios are replaced by the ratios until the largest is no mere bound; or this often. Items that many
# hang on have bounds far above all ratios, and against such a bound every proposal is rejected.
MAX_TIGHTENINGS = 64

# After so many rejected proposals an item keeps its link, which leaves the conditional as it is: whether it comes to
# that does not depend on the link.
MAX_PROPOSALS = 500

# Lists that are full are left behind for others of twice the length, so all that were ever made of one table are
# together at most four times as long as the last one is full; but no shorter than this.
LEAST_ROOM, ROOM_PER_ITEM = 4, 4


class Pairs(NamedTuple):
    """What the similarity of two items is worked out from; see `PairSimilarity`."""

    features: FloatArray  # (n_items, n_features)
    ddof: int
    dispersion: int
    decay: int
    strength: float


class Neighbors(NamedTuple):
    """Items that each may link to besides, such as those beside it in an image."""

    items: IntArray  # (n_items, n_most), all before the item; NOBODY where there are no more
    counts: IntArray  # (n_items,)
    share: float  # weight of all of them together, as a share of the number of items before


class LinkWeights(NamedTuple):
    """What an item draws its link by, before the points are looked at."""

    concentration: float  # of a link to itself
    pairs: Pairs
    neighbors: Neighbors


class Before(NamedTuple):
    """Who sits at which table, of those before the item at hand."""

    pool: IntArray  # (n_pool,) a stretch for each slot
    start: IntArray  # (n_slots,) of its stretch
    room: IntArray  # (n_slots,) length of its stretch
    counts: IntArray  # (n_slots,) how many are listed in it
    n_used: IntArray  # (1,) how much of the pool is given away


class Scratch(NamedTuple):
    """Working space of a sweep. A stamp marks what was written for the item at hand."""

    part: IntArray  # (n_items,) items cut off
    ratios: FloatArray  # (n_slots,) log merge ratios of one table with all others, or bounds of them
    exact: IntArray  # (n_slots,) stamp of those that are no mere bounds
    masses: FloatArray  # (n_slots,) by position: how much of all proposals of a table it has
    solved: FloatArray  # (n_dims,)


@inlined
def spread_of_ratios(i: int, j: int, features: FloatArray, ddof: int, dispersion: int) -> float:
    """Return how unequal the ratios of the axis lengths of two items are, in the direction that magnifies."""
    n = features.shape[1]
    forth, back = 0.0, 0.0
    for k in range(n):
        forth += features[i, k] / features[j, k]
        back += features[j, k] / features[i, k]
    forth, back = forth / n, back / n
    one, other = 0.0, 0.0
    for k in range(n):
        one += (features[i, k] / features[j, k] - forth) ** 2
        other += (features[j, k] / features[i, k] - back) ** 2
    one, other = one / (n - ddof), other / (n - ddof)
    if dispersion != VARIANCE:
        one, other = np.sqrt(one), np.sqrt(other)
    if dispersion == CV:
        one, other = one / forth, other / back
    spread = one if forth > back else other
    if forth == back:
        spread = (one + other) / 2.0
    return spread if spread == spread else np.inf  # an overflowed ratio is infinitely different


@inlined
def similarity_of(i: int, j: int, pairs: Pairs) -> float:
    """Return the similarity of two items, from 0 to 1."""
    if pairs.dispersion == LOG:
        spread = 0.0
        for k in range(pairs.features.shape[1]):
            spread += (pairs.features[i, k] - pairs.features[j, k]) ** 2
    else:
        spread = spread_of_ratios(i, j, pairs.features, pairs.ddof, pairs.dispersion)
    if pairs.decay == BOUNDED:
        return 1.0 / (1.0 + pairs.strength * spread)
    return np.exp(-pairs.strength * (spread if pairs.decay == EXPONENTIAL else np.sqrt(spread)))


@jit
def sum_log_weights(targets: IntArray, weights: LinkWeights) -> float:
    """Return the sum of the log weights of all links."""
    neighbors, total = weights.neighbors, 0.0
    for i in range(targets.shape[0]):
        j = targets[i]
        weight = weights.concentration if j == i else similarity_of(i, j, weights.pairs)
        for place in range(neighbors.counts[i]):
            weight += neighbors.share * i / neighbors.counts[i] if neighbors.items[i, place] == j else 0.0
        total += np.log(weight)
    return total


@inlined
def _list_item(i: int, k: int, before: Before) -> None:
    """List item `i` at table `k`, in a stretch of twice the length if its own is full."""
    n_there = before.counts[k]
    if n_there == before.room[k]:
        start = before.n_used[0]
        for place in range(n_there):
            before.pool[start + place] = before.pool[before.start[k] + place]
        before.start[k], before.room[k] = start, max(2 * n_there, LEAST_ROOM)
        before.n_used[0] = start + before.room[k]
    before.pool[before.start[k] + n_there] = i
    before.counts[k] = n_there + 1


@jit
def fill_tables(
    n_seated: int, first: int, links: IntArray, points: FloatArray, tables: Tables, before: Before, prior: Prior
) -> None:
    """Seat the first items at the table of whom they link to, all tables being empty; list those before `first`."""
    tables.n_tables[0] = before.n_used[0] = 0
    for k in range(tables.occupied.shape[0]):
        tables.occupied[k] = tables.position[k] = k
        before.room[k] = before.counts[k] = 0
    for i in range(n_seated):
        own = open_table(tables) if links[i, TARGET] == i else tables.labels[links[i, TARGET]]
        tables.labels[i] = own
        add_point(i, own, points, tables.rows)
        if i < first:
            _list_item(i, own, before)
    for place in range(tables.n_tables[0]):
        k = tables.occupied[place]
        refresh(k, tables.rows, tables.factors, prior.by_size, prior.mean_strength, prior.diagonal)
    empty = tables.rows.shape[0] - 2
    refresh(empty, tables.rows, tables.factors, prior.by_size, prior.mean_strength, prior.diagonal)


def build_tables(
    n_seated: int, first: int, links: IntArray, points: FloatArray, prior: Prior, n_slots: int
) -> tuple[Tables, Before]:
    """Tables of the first items, with room for at least `n_slots` of them, and for twice as many as there are."""
    n_items, n_dims = points.shape
    n_slots = max(n_slots, 2 * int((links[:n_seated, TARGET] == np.arange(n_seated)).sum()))
    packed_scale = prior.scale[np.tril_indices(n_dims)]
    rows = np.zeros((n_slots + 3, SUMS + n_dims + len(packed_scale)))
    rows[:-1, SUMS + n_dims :] = packed_scale
    occupied, position, start, room, counts = np.zeros((5, n_slots), dtype=np.int64)
    n_tables, n_used = np.zeros((2, 1), dtype=np.int64)
    labels, factors = np.empty(n_items, dtype=np.int64), np.zeros((n_slots + 3, n_dims, n_dims))
    pool = np.empty(ROOM_PER_ITEM * n_items + LEAST_ROOM * n_slots, dtype=np.int64)
    tables, before = (
        Tables(labels, rows, factors, occupied, position, n_tables),
        Before(pool, start, room, counts, n_used),
    )
    fill_tables(n_seated, first, links, points, tables, before, prior)
    return tables, before


def build_scratch(tables: Tables) -> Scratch:
    """Working space of a sweep."""
    n_slots, n_dims = len(tables.occupied), tables.factors.shape[1]
    part, exact = np.empty(len(tables.labels), dtype=np.int64), np.full(n_slots, NOBODY)
    return Scratch(part, np.empty(n_slots), exact, np.empty(n_slots), np.empty(n_dims))


@inlined
def _weigh_tables(top: float, tables: Tables, before: Before, values: FloatArray, masses: FloatArray) -> float:
    """Write how many are before at each table, times its ratio or the bound of it, added up; return the sum."""
    total = 0.0
    for position in range(tables.n_tables[0]):
        k = tables.occupied[position]
        if before.counts[k] > 0:
            total += before.counts[k] * np.exp(min(values[k] - top, 0.0))
        masses[position] = total
    return total


@inlined
def _find_position(place: float, masses: FloatArray, n_tables: int) -> int:
    """Return the first position whose sum is above `place`."""
    position = 0
    while position < n_tables - 1 and masses[position] <= place:
        position += 1
    return position


@inlined
def _exact_ratio(
    i: int, k: int, rest: int, points: FloatArray, tables: Tables, prior: Prior, scratch: Scratch
) -> float:
    """Work out the log merge ratio of the table of item `i` with table `k`, in the place of its bound."""
    if scratch.exact[k] != i:
        scratch.exact[k] = i
        scratch.ratios[k] = log_merge_ratio(
            i,
            tables.labels[i],
            k,
            rest,
            points,
            tables.rows,
            tables.factors,
            prior.by_size,
            prior.mean_strength,
            prior.diagonal,
            scratch.solved,
        )
    return scratch.ratios[k]


@inlined
def _find_top(i: int, rest: int, points: FloatArray, tables: Tables, prior: Prior, scratch: Scratch) -> float:
    """Write bounds of the log merge ratios of all tables, replace the largest by the ratios; return the largest."""
    own = tables.labels[i]
    highest = bound_ratios(own, tables, prior.by_size, scratch.ratios)
    scratch.exact[own] = i
    for _ in range(MAX_TIGHTENINGS):
        if scratch.exact[highest] == i:
            break
        _exact_ratio(i, highest, rest, points, tables, prior, scratch)
        highest = slot_of_largest(scratch.ratios, tables.occupied, tables.n_tables[0])
    return scratch.ratios[highest]


@inlined
def draw_link(
    rng: Generator,
    i: int,
    rest: int,
    points: FloatArray,
    weights: LinkWeights,
    tables: Tables,
    before: Before,
    prior: Prior,
    scratch: Scratch,
) -> int:
    """Draw the link of item `i` from its exact conditional by rejection (Eq. 22); NOBODY to keep the one it has.

    A table is proposed by how many sit there before `i` and by its merge ratio, or by a bound of it; then any of them,
    taken with its similarity, and with the ratio over the bound. Neighbours are proposed by themselves.
    """
    if i == 0:
        return i  # nobody is before it
    neighbors, ratios = weights.neighbors, scratch.ratios
    top = _find_top(i, rest, points, tables, prior, scratch)
    alone, n_near = weights.concentration * np.exp(-top), neighbors.counts[i]
    near = neighbors.share * i if n_near > 0 else 0.0
    by_table = _weigh_tables(top, tables, before, ratios, scratch.masses)
    for _ in range(MAX_PROPOSALS):
        place, threshold = rng.random() * (alone + near + by_table) - alone, rng.random()
        if place < 0.0:
            return i
        if place < near:
            j, similarity, bound = neighbors.items[i, min(int(place / near * n_near), n_near - 1)], 1.0, top
            k = tables.labels[j]
        else:
            k = tables.occupied[_find_position(place - near, scratch.masses, tables.n_tables[0])]
            if before.counts[k] == 0:
                continue  # rounding has led past the last table
            j = before.pool[before.start[k] + int(rng.random() * before.counts[k])]
            similarity, bound = similarity_of(i, j, weights.pairs), min(ratios[k], top)
        if threshold >= similarity:
            continue  # not even if the bound were the ratio
        was_bound = scratch.exact[k] != i
        if threshold < similarity * np.exp(_exact_ratio(i, k, rest, points, tables, prior, scratch) - bound):
            return j
        if was_bound:
            by_table = _weigh_tables(top, tables, before, ratios, scratch.masses)
    return NOBODY


@jit
def sweep_links(
    rng: Generator,
    first: int,
    points: FloatArray,
    weights: LinkWeights,
    links: IntArray,
    tables: Tables,
    before: Before,
    prior: Prior,
    scratch: Scratch,
) -> int:
    """Resample the links of all items from `first` on, in order, by collapsed Gibbs.

    Returns the item at which there was no room left for one more table, or the number of items.
    """
    labels, part = tables.labels, scratch.part
    for k in range(tables.occupied.shape[0]):
        scratch.exact[k] = NOBODY
    for i in range(first, points.shape[0]):
        if tables.n_tables[0] == tables.occupied.shape[0]:
            return i
        old, own, rest, n_part, unsettled = links[i, TARGET], labels[i], NOBODY, 0, False
        detach(i, links)
        if old != i:
            n_part, own, rest = collect_part(i, links, part), open_table(tables), labels[i]
            unsettled = split_off(part, n_part, own, rest, points, tables, prior, scratch.solved)
            labels[i] = own  # labels of later items are not read
        j = draw_link(rng, i, rest, points, weights, tables, before, prior, scratch)
        j = old if j == NOBODY else j
        destination = labels[j]
        if destination == rest:
            rejoin(own, rest, tables)
            labels[i] = rest
        elif unsettled:
            settle(own, rest, tables, prior)
        if destination not in (own, rest):
            merge(own, destination, tables, prior)
        if destination != rest:
            if n_part == 0:
                n_part = collect_part(i, links, part)
            relabel(part, n_part, destination, labels)
        attach(i, j, links)
        _list_item(i, destination, before)
    return points.shape[0]


@jit
def seat_links(
    rng: Generator,
    first: int,
    points: FloatArray,
    weights: LinkWeights,
    links: IntArray,
    tables: Tables,
    before: Before,
    prior: Prior,
    scratch: Scratch,
) -> int:
    """Draw the links of all items from `first` on, one after the other, each given those before it.

    Returns the item at which there was no room left for one more table, or the number of items.
    """
    rows, factors, labels = tables.rows, tables.factors, tables.labels
    for k in range(tables.occupied.shape[0]):
        scratch.exact[k] = NOBODY
    for i in range(first, points.shape[0]):
        if tables.n_tables[0] == tables.occupied.shape[0]:
            return i
        own = open_table(tables)
        labels[i] = own
        add_point(i, own, points, rows)
        refresh(own, rows, factors, prior.by_size, prior.mean_strength, prior.diagonal)
        j = draw_link(rng, i, NOBODY, points, weights, tables, before, prior, scratch)
        j = i if j == NOBODY else j
        if j != i:
            merge(own, labels[j], tables, prior)
            labels[i] = labels[j]
        attach(i, j, links)
        _list_item(i, labels[i], before)
    return points.shape[0]
