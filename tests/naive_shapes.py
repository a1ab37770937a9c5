"""Slow, obvious twin of the mixture of shapes: densities straight from their formulas, all states enumerated."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.special import gammaln, logsumexp

from homothety.distributions import NIW
from homothety.models.shapes import ChainState
from homothety.models.shapes.model import _LOG_DENSITY, CONCENTRATIONS, SHARE_MASS
from naive import all_partitions


def log_marginal(points, precisions, prior):
    """Log density of points as one cluster, from predictive densities of one point after the other."""
    total = 0.0
    for point, precision in zip(points, precisions, strict=True):
        n_dims, dof = prior.n_dims, prior.dof - prior.n_dims + 1
        spread = prior.scale * (1 / prior.mean_strength + 1 / precision) / dof
        difference = point - prior.mean
        distance = difference @ np.linalg.solve(spread, difference)
        total += gammaln((dof + n_dims) / 2) - gammaln(dof / 2) - n_dims / 2 * math.log(dof * math.pi)
        total -= np.linalg.slogdet(spread)[1] / 2 + (dof + n_dims) / 2 * math.log1p(distance / dof)
        prior = with_point(prior, point, precision)
    return total


def with_point(prior, point, precision):
    """Posterior given one point of some precision."""
    strength, difference = prior.mean_strength + precision, point - prior.mean
    scale = prior.scale + precision * prior.mean_strength / strength * np.outer(difference, difference)
    return NIW(prior.mean + precision / strength * difference, strength, scale, prior.dof + 1)


def table_row(points, precisions, prior):
    """Size, weight, log determinant of the posterior scale and weighted sums about the prior mean of a cluster."""
    posterior = prior
    for point, precision in zip(points, precisions, strict=True):
        posterior = with_point(posterior, point, precision)
    sums = precisions @ (points - prior.mean)
    return np.array([len(points), precisions.sum(), np.linalg.slogdet(posterior.scale)[1], *sums])


def log_kinds_prior(kinds, n_kinds):
    """Log probability of the kinds of clusters, their shares integrated out."""
    counts, share = np.bincount(kinds, minlength=n_kinds), SHARE_MASS / n_kinds
    return gammaln(SHARE_MASS) - gammaln(SHARE_MASS + len(kinds)) + (gammaln(counts + share) - gammaln(share)).sum()


def log_weight(labels, concentration, attraction):
    """Log weight of a partition."""
    sizes = np.bincount(labels)
    return len(sizes) * math.log(concentration) + attraction * gammaln(sizes).sum()


def log_normaliser(n_items, concentration, attraction):
    """Log of the sum of the weights of all partitions, one by one."""
    return logsumexp([log_weight(labels, concentration, attraction) for labels in all_partitions(n_items)])


def log_normaliser_by_recursion(n_items, concentration, attraction):
    """The same for many items: over all sizes of the cluster of the first item, every term summed."""
    logs = [0.0]
    for n in range(1, n_items + 1):
        sizes = np.arange(1, n + 1)
        choices = gammaln(n) - gammaln(sizes) - gammaln(n - sizes + 1)
        rest = np.array(logs)[n - sizes]
        logs.append(math.log(concentration) + logsumexp(choices + attraction * gammaln(sizes) + rest))
    return logs[n_items]


def log_prior_of_partition(labels, attraction):
    """Log probability of a partition up to a constant, the concentration summed out."""
    terms = [
        density + log_weight(labels, value, attraction) - log_normaliser(len(labels), value, attraction)
        for value, density in zip(CONCENTRATIONS, _LOG_DENSITY, strict=True)
    ]
    return logsumexp(terms)


def exact_posterior(model):
    """Probability of every partition of the points of a model: sums over spreads, kinds and concentrations."""
    n_kinds, priors = model.kinds.n_kinds, [model.kinds.prior(kind) for kind in range(model.kinds.n_kinds)]
    logs = {}
    for labels in all_partitions(model.n_items):
        terms = []
        for spreads in itertools.product(range(len(model.precisions)), repeat=model.n_items):
            precisions = np.array(model.precisions)[list(spreads)]
            log_spreads = np.log(np.array(model.precision_shares)[list(spreads)]).sum()
            members = [np.flatnonzero(np.array(labels) == k) for k in range(max(labels) + 1)]
            table = [[log_marginal(model.points[m], precisions[m], prior) for prior in priors] for m in members]
            for kinds in itertools.product(range(n_kinds), repeat=len(members)):
                value = sum(row[kind] for row, kind in zip(table, kinds, strict=True))
                terms.append(log_spreads + log_kinds_prior(np.array(kinds), n_kinds) + value)
        logs[labels] = log_prior_of_partition(labels, model.attraction) + logsumexp(terms)
    total = logsumexp(list(logs.values()))
    return {labels: math.exp(value - total) for labels, value in logs.items()}


def sample_state(rng, n_items, kinds, attraction, precision_shares):
    """Draw a state from the prior."""
    density = np.exp(_LOG_DENSITY - logsumexp(_LOG_DENSITY))
    concentration = float(rng.choice(CONCENTRATIONS, p=density))
    partitions = list(all_partitions(n_items))
    logs = np.array([log_weight(labels, concentration, attraction) for labels in partitions])
    labels = np.array(partitions[rng.choice(len(partitions), p=np.exp(logs - logsumexp(logs)))])
    shares = rng.dirichlet(np.full(kinds.n_kinds, SHARE_MASS / kinds.n_kinds))
    drawn = rng.choice(kinds.n_kinds, size=labels.max() + 1, p=shares)
    spreads = rng.choice(len(precision_shares), size=n_items, p=precision_shares)
    return ChainState(labels, drawn, spreads, np.log(np.maximum(shares, 1e-300)), concentration)


def sample_points(rng, state, kinds, precisions):
    """Draw points given a state."""
    points = np.empty((len(state.labels), kinds.n_dims))
    for k, kind in enumerate(state.kinds):
        mean, covariance = kinds.prior(int(kind)).sample(rng)
        for i in np.flatnonzero(state.labels == k):
            points[i] = rng.multivariate_normal(mean, covariance / precisions[state.spreads[i]])
    return points
