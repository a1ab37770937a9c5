"""Compiled loops of the mixture whose links lead back in an order: similarity of a pair, tables, one Gibbs sweep.

Items are numbered by their place in the order, so that a link always leads to a smaller number, or to the item itself.
Then the items that hang on an item are few, about the logarithm of all on average, and there are no cycles to look for.

Room for members. Who sits at a table is listed in a stretch of one large array. A stretch that is too short is left
behind for one of twice the length that is needed, at the end of the array; when that is full too, everything is built
anew.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import inlined, jit
from homothety.distributions._kernels import SIZE, SUMS, add_point, refresh
from homothety.models.ddcrp._kernels import (
    NOBODY,
    TARGET,
    Prior,
    Tables,
    attach,
    bound_ratios,
    collect_part,
    detach,
    log_merge_ratio,
    merge,
    open_table,
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

LEAST_ROOM = 4  # of the members of a table
POOL_PER_ITEM = 8  # two are given away at first, and one visit needs four at most


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


class Members(NamedTuple):
    """Who sits at which table."""

    pool: IntArray  # (n_pool,) members of all tables, a stretch for each slot
    start: IntArray  # (n_slots,) of its stretch
    room: IntArray  # (n_slots,) length of its stretch
    counts: IntArray  # (n_slots,) how many members there are
    place: IntArray  # (n_items,) of each item in the pool
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
def make_room(k: int, n_more: int, members: Members) -> None:
    """See to it that so many more can be listed at table `k`, with twice the room if there is too little."""
    needed = members.counts[k] + n_more
    if needed > members.room[k]:
        start = members.n_used[0]
        for place in range(members.counts[k]):
            item = members.pool[members.start[k] + place]
            members.pool[start + place] = item
            members.place[item] = start + place
        members.start[k], members.room[k] = start, max(2 * needed, LEAST_ROOM)
        members.n_used[0] = start + members.room[k]


@inlined
def add_member(i: int, k: int, members: Members) -> None:
    """List item `i` at table `k`, which has room."""
    place = members.start[k] + members.counts[k]
    members.pool[place], members.place[i] = i, place
    members.counts[k] += 1


@inlined
def remove_member(i: int, k: int, members: Members) -> None:
    """Take item `i` from the list of table `k`; the last one takes its place."""
    members.counts[k] -= 1
    last, place = members.pool[members.start[k] + members.counts[k]], members.place[i]
    members.pool[place], members.place[last] = last, place


@jit
def move_part(part: IntArray, n_part: int, source: int, destination: int, members: Members) -> None:
    """List some items at another table."""
    make_room(destination, n_part, members)
    for k in range(n_part):
        remove_member(part[k], source, members)
        add_member(part[k], destination, members)


@jit
def fill_tables(
    n_seated: int, links: IntArray, points: FloatArray, tables: Tables, members: Members, prior: Prior
) -> None:
    """Seat the first items at the table of whom they link to, all tables being empty."""
    tables.n_tables[0] = members.n_used[0] = 0
    for k in range(tables.occupied.shape[0]):
        tables.occupied[k] = tables.position[k] = k
        members.room[k] = members.counts[k] = 0
    for i in range(n_seated):
        own = open_table(tables) if links[i, TARGET] == i else tables.labels[links[i, TARGET]]
        tables.labels[i] = own
        add_point(i, own, points, tables.rows)
    for place in range(tables.n_tables[0]):
        k = tables.occupied[place]
        make_room(k, int(tables.rows[k, SIZE]), members)
        refresh(k, tables.rows, tables.factors, prior.by_size, prior.mean_strength, prior.diagonal)
    for i in range(n_seated):
        add_member(i, tables.labels[i], members)


def build_tables(
    n_seated: int, links: IntArray, points: FloatArray, prior: Prior, n_slots: int
) -> tuple[Tables, Members]:
    """Tables of the first items, with room for at least `n_slots` of them, and for twice as many as there are."""
    n_items, n_dims = points.shape
    n_slots = max(n_slots, 2 * int((links[:n_seated, TARGET] == np.arange(n_seated)).sum()))
    packed_scale = prior.scale[np.tril_indices(n_dims)]
    rows = np.zeros((n_slots + 2, SUMS + n_dims + len(packed_scale)))
    rows[:-1, SUMS + n_dims :] = packed_scale
    occupied, position, start, room, counts = np.zeros((5, n_slots), dtype=np.int64)
    labels, place = np.empty((2, n_items), dtype=np.int64)
    n_tables, n_used = np.zeros((2, 1), dtype=np.int64)
    tables = Tables(labels, rows, np.zeros((n_slots + 2, n_dims, n_dims)), occupied, position, n_tables)
    n_pool = POOL_PER_ITEM * n_items + LEAST_ROOM * n_slots
    members = Members(np.empty(n_pool, dtype=np.int64), start, room, counts, place, n_used)
    fill_tables(n_seated, links, points, tables, members, prior)
    return tables, members


def build_scratch(tables: Tables) -> Scratch:
    """Working space of a sweep."""
    n_slots, n_dims = len(tables.occupied), tables.factors.shape[1]
    part, exact = np.empty(len(tables.labels), dtype=np.int64), np.full(n_slots, NOBODY)
    return Scratch(part, np.empty(n_slots), exact, np.empty(n_slots), np.empty(n_dims))


@inlined
def is_full(tables: Tables, members: Members) -> bool:
    """Whether there may be no room for what one more item may bring about.

    That is a new table, and two longer stretches: for those who are cut off, and for the table that they join.
    """
    most = 4 * tables.labels.shape[0] + LEAST_ROOM
    return tables.n_tables[0] == tables.occupied.shape[0] or members.n_used[0] + most > members.pool.shape[0]


@inlined
def weigh_tables(
    own: int, top: float, tables: Tables, members: Members, values: FloatArray, masses: FloatArray
) -> float:
    """Write how many members each other table has, times its ratio or the bound of it, added up; return the sum."""
    total = 0.0
    for position in range(tables.n_tables[0]):
        k = tables.occupied[position]
        if k != own:
            total += members.counts[k] * np.exp(min(values[k] - top, 0.0))
        masses[position] = total
    return total


@inlined
def find_position(place: float, masses: FloatArray, n_tables: int) -> int:
    """Return the first position whose sum is above `place`."""
    position = 0
    while position < n_tables - 1 and masses[position] <= place:
        position += 1
    return position


@inlined
def exact_ratio(i: int, k: int, points: FloatArray, tables: Tables, prior: Prior, scratch: Scratch) -> float:
    """Work out the log merge ratio of the table of item `i` with table `k`, in the place of its bound."""
    if scratch.exact[k] != i:
        scratch.exact[k] = i
        scratch.ratios[k] = log_merge_ratio(
            i,
            tables.labels[i],
            k,
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
def find_top(i: int, points: FloatArray, tables: Tables, prior: Prior, scratch: Scratch) -> float:
    """Write bounds of the log merge ratios of all tables, replace the largest by the ratios; return the largest."""
    own = tables.labels[i]
    highest = bound_ratios(own, tables, prior.by_size, scratch.ratios)
    scratch.exact[own] = i
    for _ in range(MAX_TIGHTENINGS):
        if scratch.exact[highest] == i:
            break
        exact_ratio(i, highest, points, tables, prior, scratch)
        highest = slot_of_largest(scratch.ratios, tables.occupied, tables.n_tables[0])
    return scratch.ratios[highest]


@inlined
def propose_member(
    rng: Generator, i: int, place: float, pairs: Pairs, tables: Tables, members: Members, scratch: Scratch, top: float
) -> tuple[int, float]:
    """Propose a member of the table at `place`, and what to take it with besides its ratio, by which it was drawn."""
    k = tables.occupied[find_position(place, scratch.masses, tables.n_tables[0])]
    j = members.pool[members.start[k] + int(rng.random() * members.counts[k])]
    if j >= i:
        return j, 0.0
    return j, similarity_of(i, j, pairs) / np.exp(min(scratch.ratios[k] - top, 0.0))


@inlined
def draw_link(
    rng: Generator,
    i: int,
    points: FloatArray,
    weights: LinkWeights,
    tables: Tables,
    members: Members,
    prior: Prior,
    scratch: Scratch,
) -> int:
    """Draw the link of item `i` from its exact conditional by rejection (Eq. 22); NOBODY to keep the one it has.

    Two ways of proposing take turns, each exact by itself. Any item before `i`, taken with its similarity and with the
    merge ratio of its table over the largest: good for items that few are before. And a table by its size and ratio,
    then any of its members, taken with its similarity if it is before `i`: good for tables that few sit at.
    """
    if i == 0:
        return i  # nobody is before it
    neighbors, labels, own = weights.neighbors, tables.labels, tables.labels[i]
    top = find_top(i, points, tables, prior, scratch)
    alone, n_near = weights.concentration * np.exp(-top), neighbors.counts[i]
    near = neighbors.share * i if n_near > 0 else 0.0
    by_table = weigh_tables(own, top, tables, members, scratch.ratios, scratch.masses)
    for trial in range(MAX_PROPOSALS):
        from_table = trial % 2 == 1
        place = rng.random() * (alone + near + (by_table if from_table else float(i))) - alone
        if place < 0.0:
            return i
        if place < near:
            j, weight = neighbors.items[i, min(int(place / near * n_near), n_near - 1)], 1.0
        elif from_table:
            j, weight = propose_member(rng, i, place - near, weights.pairs, tables, members, scratch, top)
        else:
            j = min(int(place - near), i - 1)
            weight = similarity_of(i, j, weights.pairs)
        threshold, k = rng.random(), labels[j]
        if threshold >= weight * np.exp(min(scratch.ratios[k] - top, 0.0)):
            continue  # not even if the bound were the ratio
        was_bound = scratch.exact[k] != i
        if threshold < weight * np.exp(min(exact_ratio(i, k, points, tables, prior, scratch) - top, 0.0)):
            return j
        if was_bound:
            by_table = weigh_tables(own, top, tables, members, scratch.ratios, scratch.masses)
    return NOBODY


@jit
def sweep_links(
    rng: Generator,
    first: int,
    points: FloatArray,
    weights: LinkWeights,
    links: IntArray,
    tables: Tables,
    members: Members,
    prior: Prior,
    scratch: Scratch,
) -> int:
    """Resample the links of all items from `first` on, in order, by collapsed Gibbs.

    Returns the item at which there was no room left, or the number of items.
    """
    labels, part = tables.labels, scratch.part
    for k in range(tables.occupied.shape[0]):
        scratch.exact[k] = NOBODY
    for i in range(first, points.shape[0]):
        if is_full(tables, members):
            return i
        old, whole, n_part = links[i, TARGET], labels[i], 0
        detach(i, links)
        if old != i:
            n_part = collect_part(i, links, part)
            split_off(part, n_part, points, tables, prior)
            move_part(part, n_part, whole, labels[i], members)
        j = draw_link(rng, i, points, weights, tables, members, prior, scratch)
        j = old if j == NOBODY else j
        if labels[j] != labels[i]:
            if n_part == 0:
                n_part = collect_part(i, links, part)
            move_part(part, n_part, labels[i], labels[j], members)
            merge(part, n_part, labels[j], tables, prior)
        attach(i, j, links)
    return points.shape[0]


@jit
def seat_links(
    rng: Generator,
    first: int,
    points: FloatArray,
    weights: LinkWeights,
    links: IntArray,
    tables: Tables,
    members: Members,
    prior: Prior,
    scratch: Scratch,
) -> int:
    """Draw the links of all items from `first` on, one after the other, each given those before it.

    Returns the item at which there was no room left, or the number of items.
    """
    rows, factors, part = tables.rows, tables.factors, scratch.part
    for k in range(tables.occupied.shape[0]):
        scratch.exact[k] = NOBODY
    for i in range(first, points.shape[0]):
        if is_full(tables, members):
            return i
        own = open_table(tables)
        tables.labels[i] = own
        add_point(i, own, points, rows)
        make_room(own, 1, members)
        add_member(i, own, members)
        refresh(own, rows, factors, prior.by_size, prior.mean_strength, prior.diagonal)
        j = draw_link(rng, i, points, weights, tables, members, prior, scratch)
        j = i if j == NOBODY else j
        if j != i:
            part[0] = i
            move_part(part, 1, own, tables.labels[j], members)
            merge(part, 1, tables.labels[j], tables, prior)
        attach(i, j, links)
    return points.shape[0]
