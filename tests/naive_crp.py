"""Slow, obvious twin of the Chinese restaurant process mixture, whose every step can be replaced by a wrong one.

Tables are a list of frozensets of items. Nothing keeps statistics: what is asked of a table comes from its points.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.special import gammaln

from naive import all_partitions, draw_by_scan, marginal_of_tables, posterior_scale

NEW = frozenset()


def tables_of(labels):
    """Tables in the order of their labels."""
    return [frozenset(i for i, label in enumerate(labels) if label == k) for k in sorted(set(labels))]


def labels_of(tables):
    """Label of each item, numbered in order of first appearance."""
    place = {i: table for table in tables for i in table}
    seen = []
    for i in range(len(place)):
        if place[i] not in seen:
            seen.append(place[i])
    return tuple(seen.index(place[i]) for i in range(len(place)))


def ewens(labels, concentration):
    """Probability of a partition under the Chinese restaurant process, seating one item after the other."""
    probability = 1.0
    for i, label in enumerate(labels):
        n_before = labels[:i].count(label)
        probability *= (n_before or concentration) / (i + concentration)
    return probability


def exact_posterior(points, base, concentrations, weights=(1.0,)):
    """Posterior probability of every partition; the concentration is averaged over, with the given prior weights."""
    log_m = marginal_of_tables(points, base)
    masses = {
        labels: math.exp(sum(log_m(table) for table in tables_of(labels)))
        * sum(weight * ewens(labels, value) for weight, value in zip(weights, concentrations, strict=True))
        for labels in all_partitions(len(points))
    }
    total = sum(masses.values())
    return {labels: mass / total for labels, mass in masses.items()}


def frequencies(chain):
    """Share of each partition among label tuples, numbered in order of first appearance."""
    partitions, counts = np.unique(np.array(chain), axis=0, return_counts=True)
    return {tuple(int(k) for k in labels): count / len(chain) for labels, count in zip(partitions, counts, strict=True)}


def student_log_density(difference, scale, dof):
    """Log density of a multivariate Student t at a difference from its location, scale matrix given."""
    n_dims = len(difference)
    distance = difference @ np.linalg.solve(scale, difference)
    log_constant = math.lgamma((dof + n_dims) / 2) - math.lgamma(dof / 2) - n_dims / 2 * math.log(dof * math.pi)
    return log_constant - np.linalg.slogdet(scale)[1] / 2 - (dof + n_dims) / 2 * math.log1p(distance / dof)


def log_predictive(point, members, base):
    """Log density of a point given the other members of its table: Student t, or one per coordinate."""
    strength, centred = base.mean_strength + len(members), members - base.mean
    difference = point - base.mean - centred.sum(axis=0) / strength
    scale = posterior_scale(members, base) * (strength + 1) / strength
    if base.diagonal:
        dof = 2 * base.shape + len(members)
        parts = zip(difference[:, None], np.diagonal(scale)[:, None, None] / dof, strict=True)
        return sum(student_log_density(part, spread, dof) for part, spread in parts)
    dof = base.dof + len(members) - len(point) + 1
    return student_log_density(difference, scale / dof, dof)


def predictive_of_points(points, base):
    """Function from an item and a table to the log density of its point given theirs, remembered."""
    return cache(lambda i, table: log_predictive(points[i], points[sorted(table)], base))


# --- the steps of the sampler, right and wrong -----------------------------------------------------------------------


def right_leave(tables, i):
    """Tables without item `i`; if one is emptied it closes and the last one takes its place."""
    rest = [table - {i} for table in tables]
    if NEW in rest:
        rest[rest.index(NEW)] = rest[-1]
        rest.pop()
    return rest


def right_sizes(tables, _own, concentration):
    return [*map(len, tables), concentration]


def right_predictive(log_p, i, table, _own):
    return log_p(i, table)


def leave_but_never_close(tables, i):
    return [table - {i} for table in tables]


def sizes_with_emptied(tables, _own, concentration):
    """An emptied table still counts as one item."""
    return [*(max(len(table), 1) for table in tables), concentration]


def sizes_with_item(tables, own, concentration):
    """The table an item left still counts it."""
    return [*(len(table) + (len(own) > 1 and table < own) for table in tables), concentration]


def concentration_plus_one(tables, _own, concentration):
    return [*map(len, tables), concentration + 1]


def concentration_per_table(tables, _own, concentration):
    return [*map(len, tables), concentration / (len(tables) + 1)]


def predictive_with_item(log_p, i, table, own):
    """The table an item left is still described by it."""
    return log_p(i, own if table and table < own else table)


def predictive_without_prior(log_p, i, table, _own):
    """A new table explains any point with density one."""
    return log_p(i, table) if table else 0.0


def predictive_of_prior(log_p, i, _table, _own):
    """Tables say nothing of their points."""
    return log_p(i, NEW)


BROKEN_STEPS = {
    "emptied table keeps its weight": {"leave": leave_but_never_close, "sizes": sizes_with_emptied},
    "table counts the item that left": {"sizes": sizes_with_item},
    "predictive sees the point itself": {"predictive": predictive_with_item},
    "new table weighs alpha + 1": {"sizes": concentration_plus_one},
    "new table weighs alpha / tables": {"sizes": concentration_per_table},
    "new table ignores the point": {"predictive": predictive_without_prior},
    "tables ignore their points": {"predictive": predictive_of_prior},
}


def conditional(tables, i, concentration, log_p, *, leave=right_leave, sizes=right_sizes, predictive=right_predictive):
    """Tables without item `i` and the masses of joining each of them or a new one, up to a common factor."""
    own = next(table for table in tables if i in table)
    rest = leave(tables, i)
    logs = [predictive(log_p, i, table, own) for table in [*rest, NEW]]
    weights = sizes(rest, own, concentration)
    return rest, [weight * math.exp(value - max(logs)) for weight, value in zip(weights, logs, strict=True)]


def joined(tables, i, k):
    """Tables with item `i` at table `k`, or at one of its own; none of them empty."""
    tables = [*tables, NEW]
    tables[k] |= {i}
    return [table for table in tables if table]


def sweep(rng, order, tables, concentration, log_p, **steps):
    """Reseat every item once; return the tables, and how many items sit in other company than before."""
    n_changed = 0
    for i in order:
        own = next(table for table in tables if i in table)
        rest, masses = conditional(tables, i, concentration, log_p, **steps)
        tables = joined(rest, i, draw_by_scan(rng, masses))
        n_changed += own not in tables
    return tables, n_changed


def gibbs_chain(rng, n_sweeps, points, base, concentration, **steps):
    """Run the sampler from one table and return the labels after every sweep."""
    log_p = predictive_of_points(points, base)
    tables, chain = [frozenset(range(len(points)))], []
    for _ in range(n_sweeps):
        tables, _ = sweep(rng, rng.permutation(len(points)).tolist(), tables, concentration, log_p, **steps)
        chain.append(labels_of(tables))
    return chain


def distance_from_stationary(points, base, concentration, **steps):
    """Largest total variation by which reseating one item moves the exact posterior: zero for a right sampler."""
    posterior, log_p = exact_posterior(points, base, [concentration]), predictive_of_points(points, base)
    distances = []
    for i in range(len(points)):
        moved = dict.fromkeys(posterior, 0.0)
        for labels, probability in posterior.items():
            rest, masses = conditional(tables_of(labels), i, concentration, log_p, **steps)
            for k, mass in enumerate(masses):
                moved[labels_of(joined(rest, i, k))] += probability * mass / sum(masses)
        distances.append(sum(abs(moved[labels] - posterior[labels]) for labels in posterior) / 2)
    return max(distances)


# --- the concentration -----------------------------------------------------------------------------------------------


def concentration_density(grid, n_clusters, n_items, shape, rate):
    """Density of the concentration on an even grid given the number of clusters, normalised by the trapezoid rule."""
    logs = (shape - 1 + n_clusters) * np.log(grid) - rate * grid + gammaln(grid) - gammaln(grid + n_items)
    density = np.exp(logs - logs.max())
    return density / np.trapezoid(density, grid)


def escobar_west(rng, concentration, n_clusters, n_items, shape, rate):
    """One step on the concentration as its inventors wrote it: a mixture of two gammas."""
    fraction = rng.beta(concentration + 1, n_items)
    tilted = rate - math.log(fraction)
    odds = (shape + n_clusters - 1) / (n_items * tilted)
    larger = rng.random() < odds / (1 + odds)
    return rng.gamma(shape + n_clusters - 1 + larger, 1 / tilted)


def without_second_gamma(rng, concentration, n_clusters, n_items, shape, rate):
    """Broken: always the gamma of larger shape."""
    return rng.gamma(shape + n_clusters, 1 / (rate - math.log(rng.beta(concentration + 1, n_items))))


def without_fraction(rng, concentration, n_clusters, n_items, shape, rate):
    """Broken: the rate of the prior, as if the number of items meant nothing."""
    from_items = rng.random() * (n_items + concentration) < n_items
    return rng.gamma(shape + n_clusters - from_items, 1 / rate)


def beta_without_one(rng, concentration, n_clusters, n_items, shape, rate):
    """Broken: the fraction drawn as Beta(alpha, M)."""
    from_items = rng.random() * (n_items + concentration) < n_items
    fraction = max(rng.beta(concentration, n_items), np.finfo(float).tiny)
    return rng.gamma(shape + n_clusters - from_items, 1 / (rate - math.log(fraction)))


BROKEN_CONCENTRATIONS = {
    "always the larger shape": without_second_gamma,
    "rate of the prior": without_fraction,
    "Beta(alpha, M)": beta_without_one,
}


# --- comparing means -------------------------------------------------------------------------------------------------


def mean_and_error(values, n_batches=50):
    """Mean and its Monte Carlo standard error by batch means, which holds for correlated draws too."""
    values = np.asarray(values, dtype=float)
    batches = values[: len(values) // n_batches * n_batches].reshape(n_batches, -1, *values.shape[1:]).mean(axis=1)
    return values.mean(axis=0), batches.std(axis=0, ddof=1) / math.sqrt(n_batches)


def z_scores(values, expected, error_of_expected=0.0):
    """How many standard errors the means of `values` (n_draws, n_statistics) are off."""
    mean, error = mean_and_error(values)
    return np.abs(mean - expected) / np.sqrt(error**2 + np.square(error_of_expected))
