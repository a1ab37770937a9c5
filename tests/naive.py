"""Slow, obvious twins of the loops over links and over partitions, and small models enumerated in full.

Nothing here keeps statistics: a table is a set of items, and whatever is asked of it is computed from its points.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import cache, partial
from itertools import accumulate, product

import numpy as np
from scipy.special import gammaln

# --- everything a small model can be ---------------------------------------------------------------------------------


def replaced(values, i, value):
    """The same tuple with another value at place `i`."""
    return (*values[:i], value, *values[i + 1 :])


def all_links(n_items):
    """All link vectors, (n_items ** n_items, n_items)."""
    return np.array(list(product(range(n_items), repeat=n_items)))


def all_partitions(n_items):
    """All partitions as label tuples, numbered in order of first appearance."""
    partitions = [()]
    for _ in range(n_items):
        partitions = [(*labels, k) for labels in partitions for k in range(max(labels, default=-1) + 2)]
    return partitions


def components(links):
    """Connected components of the links as frozensets, in order of their smallest item."""
    tables = []
    for i, j in enumerate(links):
        touching = [table for table in tables if i in table or j in table]
        tables = [table for table in tables if table not in touching] + [{i, int(j)}.union(*touching)]
    return [frozenset(table) for table in sorted(tables, key=min)]


def labels_of(links):
    """Label of each item, numbered in order of first appearance."""
    tables = components(links)
    return tuple(next(k for k, table in enumerate(tables) if i in table) for i in range(len(links)))


def prior_rows(weights, concentration):
    """Probability of each link, row by row."""
    rows = np.where(np.eye(len(weights), dtype=bool), concentration, weights)
    return rows / rows.sum(axis=1, keepdims=True)


def exact_link_posterior(weights, concentration, log_marginal):
    """All link vectors and their posterior probabilities."""
    links = all_links(len(weights))
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior_rows(weights, concentration))[np.arange(len(weights)), links].sum(axis=1)
    log_marginal = cache(log_marginal)
    log_joint = log_prior + [sum(log_marginal(table) for table in components(vector)) for vector in links]
    posterior = np.exp(log_joint - log_joint.max())
    return links, posterior / posterior.sum()


def by_partition(links, probabilities):
    """Total probability of each partition among the link vectors."""
    totals = {}
    for vector, probability in zip(links, probabilities, strict=True):
        totals[labels_of(vector)] = totals.get(labels_of(vector), 0.0) + probability
    return totals


def partition_frequencies(links):
    """Share of each partition in a chain of link vectors, (n_sweeps, n_items)."""
    vectors, counts = np.unique(links, axis=0, return_counts=True)
    return by_partition(vectors, counts / len(links))


def total_variation(exact, observed):
    return sum(abs(exact.get(key, 0.0) - observed.get(key, 0.0)) for key in exact.keys() | observed.keys()) / 2


# --- conjugate priors ------------------------------------------------------------------------------------------------


def posterior_scale(points, base):
    """Scale of the posterior by Eq. 34, with the scatter about the sample mean; diagonal if the prior is."""
    n_points = len(points)
    if n_points == 0:
        return np.array(base.scale)
    centre = points.mean(axis=0)
    shrink = base.mean_strength * n_points / (base.mean_strength + n_points)
    scale = base.scale + (points - centre).T @ (points - centre)
    scale = scale + shrink * np.outer(centre - base.mean, centre - base.mean)
    return np.diag(np.diagonal(scale)) if base.diagonal else scale


def log_multigamma(value, n_dims):
    return n_dims * (n_dims - 1) / 4 * math.log(math.pi) + sum(gammaln(value - p / 2) for p in range(n_dims))


def niw_log_marginal(points, base):
    """Eq. 20, written out."""
    n_points, n_dims = points.shape
    strength, dof = base.mean_strength + n_points, base.dof + n_points
    log_det, log_det_prior = (np.linalg.slogdet(scale)[1] for scale in (posterior_scale(points, base), base.scale))
    return (
        -n_points * n_dims / 2 * math.log(math.pi)
        + log_multigamma(dof / 2, n_dims)
        - log_multigamma(base.dof / 2, n_dims)
        + base.dof / 2 * log_det_prior
        - dof / 2 * log_det
        + n_dims / 2 * math.log(base.mean_strength / strength)
    )


def normal_gamma_log_marginal(points, base):
    """Product over coordinates, each written out."""
    shape, strength = base.shape + len(points) / 2, base.mean_strength + len(points)
    rates = np.diagonal(posterior_scale(points, base)) / 2
    return sum(
        gammaln(shape)
        - gammaln(base.shape)
        + base.shape * math.log(prior_rate)
        - shape * math.log(rate)
        + math.log(base.mean_strength / strength) / 2
        - len(points) / 2 * math.log(2 * math.pi)
        for prior_rate, rate in zip(base.rate, rates, strict=True)
    )


def log_marginal(points, base):
    return normal_gamma_log_marginal(points, base) if base.diagonal else niw_log_marginal(points, base)


def marginal_of_tables(points, base):
    """Function from a frozenset of items to the log marginal of their points, remembered."""
    return cache(lambda table: log_marginal(points[sorted(table)], base))


def sample_gaussian(rng, base):
    """Draw a mean and a covariance from the prior: Bartlett's decomposition, or one gamma per coordinate."""
    n_dims = len(base.mean)
    if base.diagonal:
        covariance = np.diag(base.rate / rng.gamma(base.shape, size=n_dims))
    else:
        factor = np.tril(rng.standard_normal((n_dims, n_dims)), -1)
        factor += np.diag(np.sqrt(rng.chisquare(base.dof - np.arange(n_dims))))
        half = np.linalg.cholesky(np.linalg.inv(base.scale)) @ factor
        covariance = np.linalg.inv(half @ half.T)
    root = np.linalg.cholesky(covariance)
    return base.mean + root @ rng.standard_normal(n_dims) / math.sqrt(base.mean_strength), covariance


def sample_points(rng, labels, base):
    """Draw the points of all items given their tables."""
    points = np.empty((len(labels), len(base.mean)))
    for k in set(labels):
        members = [i for i, label in enumerate(labels) if label == k]
        mean, covariance = sample_gaussian(rng, base)
        points[members] = mean + rng.standard_normal((len(members), len(mean))) @ np.linalg.cholesky(covariance).T
    return points


def table_row(points, base):
    """Row of statistics of a table of points: size, log determinant, log marginal, sums, packed scale and scatter."""
    centred = points - base.mean
    packed = (base.scale + centred.T @ centred)[np.tril_indices(len(base.mean))]
    log_det = np.linalg.slogdet(posterior_scale(points, base))[1]
    return np.concatenate([[len(points), log_det, log_marginal(points, base)], centred.sum(axis=0), packed])


def root_free_factor(matrix):
    """Unit lower triangle of L D L' with 1 / D on the diagonal and D L' above."""
    root = np.linalg.cholesky(matrix)
    pivots = np.diagonal(root) ** 2
    lower = root / np.diagonal(root)
    return np.tril(lower, -1) + np.diag(1 / pivots) + np.triu((lower * pivots).T, 1)


# --- links -----------------------------------------------------------------------------------------------------------


def children_of(links):
    """For each item the list of those who link to it, the latest first; linkless items have target None."""
    children = [[] for _ in links]
    for i, target in enumerate(links):
        if target is not None:
            children[target].insert(0, i)
    return children


def leads_to(links, start, goal):
    """Whether following the links from `start` arrives at `goal`, which may be linkless."""
    j = start
    for _ in range(len(links) + 1):
        if j == goal:
            return True
        if links[j] is None:
            return False
        j = links[j]
    return False


def part_of(links, i):
    """All items whose links lead to `i`."""
    return frozenset(j for j in range(len(links)) if leads_to(links, j, i))


def cut(links, i):
    """The links with that of `i` gone: a self-link joins nothing."""
    return [i if j == i else int(target) for j, target in enumerate(links)]


def table_holding(tables, i):
    return next(table for table in tables if i in table)


def split_by_cutting(links, i):
    """Whether cutting the link of `i` parts its table in two, by looking at the whole graph."""
    return len(components(cut(links, i))) > len(components(links))


# --- drawing a link by rejection from the prior ----------------------------------------------------------------------


def fill_alias(weights):
    """Probability to stay in each column, the column to go to otherwise, and the sum of the weights."""
    n_items, mass = len(weights), float(np.sum(weights))
    keep = [weight * n_items / mass if mass > 0 else 0.0 for weight in weights]
    other = [int(np.argmax(weights))] * n_items
    small = [j for j in range(n_items) if keep[j] < 1]
    large = [j for j in range(n_items) if keep[j] >= 1]
    while small and large:
        poor, rich = small.pop(), large[-1]
        other[poor] = rich
        keep[rich] -= 1 - keep[poor]
        if keep[rich] < 1:
            small.append(large.pop())
    return keep, other, mass


def propose_link(rng, i, concentration, weights):
    """Draw a link from its prior with one uniform number, as the alias table prescribes."""
    keep, other, mass = fill_alias(weights[i])
    place = rng.random() * (concentration + mass) - concentration
    if place < 0 or mass <= 0:
        return i
    scaled = place / mass * len(keep)
    column = min(int(scaled), len(keep) - 1)
    return column if scaled - column < math.floor(keep[column] * 2**30) / 2**30 else other[column]


def alias_distribution(entries, n_units=2**30):
    """Probability of each column under one row of packed alias entries."""
    probabilities = np.zeros(len(entries))
    for column, entry in enumerate(int(entry) for entry in entries):
        stay, other = (entry >> 32) / n_units, entry & (2**32 - 1)
        probabilities[column] += stay / len(entries)
        probabilities[other] += (1 - stay) / len(entries)
    return probabilities


def log_merge_ratio(log_m, own, table):
    return 0.0 if own == table else log_m(own | table) - log_m(own) - log_m(table)


def bound_merge_ratio(log_m, own, table, points, base):
    """The merge ratio, had the union no larger scatter than the larger of both."""
    if own == table:
        return 0.0
    log_dets = [np.linalg.slogdet(posterior_scale(points[sorted(items)], base))[1] for items in (own, table)]
    log_constant, half_dof = base.size_tables(len(own) + len(table))
    return log_constant[-1] - half_dof[-1] * max(log_dets) - log_m(own) - log_m(table)


def draw_by_scan(rng, masses):
    """Draw an index in proportion to its mass."""
    cumulative = list(accumulate(masses))
    return bisect_right(cumulative, rng.random() * cumulative[-1])


def draw_link(rng, i, tables, points, weights, concentration, base, log_m, max_tightenings, max_proposals):
    """Draw the link of `i`: bounds, some of them tightened, proposals from the prior, at last the whole row."""
    own = table_holding(tables, i)
    ratio = partial(log_merge_ratio, log_m, own)
    values = {table: bound_merge_ratio(log_m, own, table, points, base) for table in tables}
    exact = {own}
    for _ in range(max_tightenings):
        highest = max(values, key=values.get)
        if highest in exact:
            break
        values[highest] = ratio(highest)
        exact.add(highest)
    top = max(values.values())
    for _ in range(max_proposals):
        j = propose_link(rng, i, concentration, weights)
        log_odds = ratio(table_holding(tables, j)) - top
        if log_odds >= 0 or rng.random() < math.exp(log_odds):
            return j
    return draw_by_scan(rng, conditional_masses(i, tables, weights, concentration, ratio))


def conditional_masses(i, tables, weights, concentration, ratio):
    """Eq. 22: weight times merge ratio of every link of `i`, up to a common factor."""
    row = [concentration if j == i else weights[i][j] for j in range(len(weights))]
    ratios = [ratio(table_holding(tables, j)) for j in range(len(weights))]
    top = max(value for value, weight in zip(ratios, row, strict=True) if weight > 0)
    return [weight * math.exp(min(value - top, 0.0)) for value, weight in zip(ratios, row, strict=True)]


def sweep_links(rng, order, points, weights, concentration, base, links, max_tightenings, max_proposals):
    """Resample every link once, in the given order; returns the new links."""
    log_m, links = marginal_of_tables(points, base), [int(j) for j in links]
    for i in order:
        tables = components(cut(links, i))
        arguments = (points, weights, concentration, base, log_m, max_tightenings, max_proposals)
        links[i] = draw_link(rng, i, tables, *arguments)
    return links


# --- a Gibbs sampler whose every step can be replaced by a wrong one -------------------------------------------------


def right_tables(links, i):
    """The table of `i` once its link is cut, and all tables."""
    tables = components(cut(links, i))
    return table_holding(tables, i), tables


def right_ratio(log_m, own, table, _whole):
    return log_merge_ratio(log_m, own, table)


def right_self_weight(concentration):
    return concentration


def tables_never_split(links, i):
    tables = components(links)
    return table_holding(tables, i), tables


def ratio_without_own(log_m, own, table, _whole):
    return 0.0 if own == table else log_m(own | table) - log_m(table)


def ratio_of_stale_part(log_m, own, table, whole):
    """The part that was split off still carries the marginal of the table it came from."""
    return 0.0 if own == table else log_m(own | table) - log_m(whole) - log_m(table)


def ratio_of_prior(_log_m, _own, _table, _whole):
    return 0.0


def self_weight_plus_one(concentration):
    return 1 + concentration


BROKEN_STEPS = {
    "cut never splits": {"tables_of": tables_never_split},
    "ratio lacks m(own)": {"ratio": ratio_without_own},
    "part not updated": {"ratio": ratio_of_stale_part},
    "prior only": {"ratio": ratio_of_prior},
    "self weight 1 + alpha": {"self_weight": self_weight_plus_one},
}


def link_conditional(
    links,
    i,
    weights,
    concentration,
    log_m,
    *,
    tables_of=right_tables,
    ratio=right_ratio,
    self_weight=right_self_weight,
):
    """Probability of every link of `i` given all other links."""
    own, tables = tables_of(links, i)
    whole = table_holding(components(links), i)
    masses = conditional_masses(
        i, tables, weights, self_weight(concentration), lambda table: ratio(log_m, own, table, whole)
    )
    return np.array(masses) / sum(masses)


def gibbs_chain(rng, n_sweeps, weights, concentration, log_m, links, **steps):
    """Run the sampler and return the links after every sweep, (n_sweeps, n_items)."""

    @cache
    def cumulative(links, i):
        return np.cumsum(link_conditional(links, i, weights, concentration, log_m, **steps)).tolist()

    links, chain = tuple(int(j) for j in links), []
    orders = rng.permuted(np.tile(np.arange(len(links)), (n_sweeps, 1)), axis=1).tolist()
    for order, uniforms in zip(orders, rng.random((n_sweeps, len(links))).tolist(), strict=True):
        for i, uniform in zip(order, uniforms, strict=True):
            row = cumulative(links, i)
            links = replaced(links, i, bisect_right(row, uniform * row[-1]))
        chain.append(links)
    return np.array(chain)


def distance_from_stationary(weights, concentration, log_m, **steps):
    """Largest total variation by which resampling one link moves the exact posterior: zero for a right sampler."""
    links, posterior = exact_link_posterior(weights, concentration, log_m)
    number = {tuple(vector): s for s, vector in enumerate(links.tolist())}
    distances = []
    for i in range(len(weights)):
        moved = np.zeros(len(links))
        for vector, probability in zip(number, posterior, strict=True):
            conditional = link_conditional(vector, i, weights, concentration, log_m, **steps)
            for j, share in enumerate(conditional):
                moved[number[replaced(vector, i, j)]] += probability * share
        distances.append(np.abs(moved - posterior).sum() / 2)
    return max(distances)


# --- partitions ------------------------------------------------------------------------------------------------------


def coclustering(draws):
    n_items = len(draws[0])
    return [[np.mean([row[i] == row[j] for row in draws]) for j in range(n_items)] for i in range(n_items)]


def entropy(labels):
    """Entropy in bits of the label of a random item."""
    labels = list(labels)
    shares = [labels.count(label) / len(labels) for label in set(labels)]
    return -sum(share * math.log2(share) for share in shares)


def variation_of_information(a, b):
    return 2 * entropy(zip(a, b, strict=True)) - entropy(a) - entropy(b)


def expected_vi(labels, draws):
    return sum(variation_of_information(labels, row) for row in draws) / len(draws)


def neighbours(labels):
    """All labellings that differ in one item, which joins another cluster or one of its own."""
    return [replaced(labels, i, k) for i in range(len(labels)) for k in range(max(labels) + 2)]


def polish(labels, draws):
    """Move one item after the other to where the labelling is nearest to the draws, one empty cluster on offer."""
    labels, n_slots, moved = list(labels), max(labels) + 2, True
    while moved:
        moved = False
        for i in range(len(labels)):
            options = [expected_vi(replaced(labels, i, k), draws) for k in range(n_slots)]
            if min(options) < options[labels[i]] - 1e-9:
                labels[i], moved = int(np.argmin(options)), True
    return labels


# --- grids -----------------------------------------------------------------------------------------------------------


def grid_neighbors(positions):
    """The item one step before and one step behind each along each axis, looked up one by one; -1 for nobody."""
    places = [tuple(int(index) for index in place) for place in positions]
    at = {place: i for i, place in enumerate(places)}
    steps = [(axis, step) for axis in range(len(places[0])) for step in (-1, 1)]
    return [[at.get(replaced(place, axis, place[axis] + step), -1) for axis, step in steps] for place in places]
