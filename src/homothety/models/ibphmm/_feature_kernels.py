"""Compiled moves on the features of series: switched on and off, their weights, and a path drawn through them.

A series sees features as rows of small arrays: whether it has them, its transition weights between them, and the column
of the evidence each has. Evidence is that of the series alone, (n_steps, n_columns), in the three forms of
`hmm/_kernels.py`.
"""

from __future__ import annotations

from math import lgamma
from typing import TYPE_CHECKING

import numpy as np

from homothety._jit import inlined, jit
from homothety.models.hmm._kernels import draw_path, filter_forward
from homothety.models.hmm._stay_kernels import draw_stays, filter_stays
from homothety.models.ibphmm._series_kernels import evaluate_series, list_features

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.ibphmm._series_kernels import Data, Room, Scratch

LEAST_WEIGHT = 1e-200  # of a transition: gamma variates of small shape underflow, and subnormal products are slow


@jit
def write_chain(active: BoolArray, weights: FloatArray, columns: IntArray, scratch: Scratch) -> int:
    """Write start and transition probabilities between the features a series has; return how many there are."""
    listed, transition, n = scratch.listed, scratch.transition, 0
    for k in range(active.shape[0]):
        if active[k]:
            listed[n] = k
            n += 1
    for a in range(n):
        if scratch.leaving > 0.0 and n > 1:
            write_fixed_leaving(a, n, scratch.leaving, weights, listed, transition)
        else:
            total = 0.0
            for b in range(n):
                total += weights[listed[a], listed[b]]
            for b in range(n):
                transition[a * n + b] = weights[listed[a], listed[b]] / total
        scratch.states[a] = columns[listed[a]]
        scratch.initial[a] = 1.0 / n
    return n


@inlined
def write_fixed_leaving(
    a: int, n: int, leaving: float, weights: FloatArray, listed: IntArray, transition: FloatArray
) -> None:
    """Write a row of transition probabilities of a state that is left with a given probability.

    The weight of staying is not looked at: shares of a total with it may be as small as to be lost.
    """
    others = 0.0
    for b in range(n):
        others += weights[listed[a], listed[b]] if b != a else 0.0
    for b in range(n):
        transition[a * n + b] = leaving * (weights[listed[a], listed[b]] / others) if b != a else 1.0 - leaving


@jit
def series_log_likelihood(
    active: BoolArray,
    weights: FloatArray,
    columns: IntArray,
    log_evidence: FloatArray,
    offsets: FloatArray,
    likelihood: FloatArray,
    scratch: Scratch,
) -> float:
    """Log-likelihood of a series given its features, paths summed out."""
    n = write_chain(active, weights, columns, scratch)
    transition, filtered = scratch.transition[: n * n].reshape(n, n), scratch.filtered[: 2 * n].reshape(2, n)
    states, initial = scratch.states[:n], scratch.initial[:n]
    if scratch.least_stay > 1:
        least_stay = scratch.least_stay
        return filter_stays(log_evidence, states, initial, transition, least_stay, filtered, scratch.stays)
    return filter_forward(log_evidence, offsets, likelihood, states, initial, transition, filtered)


@inlined
def draw_series_path(
    rng: Generator,
    active: BoolArray,
    weights: FloatArray,
    columns: IntArray,
    log_evidence: FloatArray,
    offsets: FloatArray,
    likelihood: FloatArray,
    scratch: Scratch,
    path: IntArray,
) -> float:
    """Draw the path of a series, in numbers of features; return its log-likelihood."""
    n, n_steps = write_chain(active, weights, columns, scratch), path.shape[0]
    transition, filtered = (
        scratch.transition[: n * n].reshape(n, n),
        scratch.filtered[: n_steps * n].reshape(n_steps, n),
    )
    states, initial = scratch.states[:n], scratch.initial[:n]
    if scratch.least_stay > 1:
        least_stay, stays, numbers = scratch.least_stay, scratch.stays, scratch.listed[:n]
        total = filter_stays(log_evidence, states, initial, transition, least_stay, filtered, stays)
        cumulative = scratch.cumulative[:n]
        draw_stays(rng, log_evidence, states, transition, least_stay, total, filtered, stays, cumulative, numbers, path)
        return total
    log_likelihood = filter_forward(log_evidence, offsets, likelihood, states, initial, transition, filtered)
    draw_path(rng, transition, scratch.listed[:n], filtered, scratch.cumulative[:n], path)
    return log_likelihood


@inlined
def draw_weight(rng: Generator, shape: float) -> float:
    """Draw the weight of a transition."""
    return max(rng.standard_gamma(shape), LEAST_WEIGHT)


@jit
def draw_missing_weights(rng: Generator, active: BoolArray, alpha: float, kappa: float, weights: FloatArray) -> None:
    """Draw the weights from and to features the series does not have, from their prior."""
    for j in range(active.shape[0]):
        for k in range(active.shape[0]):
            if not (active[j] and active[k]):
                weights[j, k] = draw_weight(rng, alpha + kappa if j == k else alpha)


@jit
def clear_missing_weights(active: BoolArray, weights: FloatArray) -> None:
    """Set the weights from and to features the series does not have to zero."""
    for j in range(active.shape[0]):
        for k in range(active.shape[0]):
            if not (active[j] and active[k]):
                weights[j, k] = 0.0


@inlined
def flip_shared_features(
    rng: Generator,
    order: IntArray,
    log_odds: FloatArray,
    active: BoolArray,
    weights: FloatArray,
    columns: IntArray,
    log_evidence: FloatArray,
    offsets: FloatArray,
    likelihood: FloatArray,
    scratch: Scratch,
) -> tuple[int, int]:
    """Try to switch every feature that another series has, once, in the given order.

    The acceptance ratio is that of docs/model.md, section 3.8.

    Parameters
    ----------
    order : ndarray of shape (n_features,)
    log_odds : ndarray of shape (n_features,)
        Prior odds of having each feature; minus infinity for those that are not shared.
    active : ndarray of shape (n_features,)
        Changed in place.
    weights : ndarray of shape (n_features, n_features)
        Transition weights, drawn also for features the series does not have.

    Returns
    -------
    n_tried, n_accepted : int
    """
    current = series_log_likelihood(active, weights, columns, log_evidence, offsets, likelihood, scratch)
    n_active, n_tried, n_accepted = 0, 0, 0
    for k in range(active.shape[0]):
        n_active += 1 if active[k] else 0
    for place in range(order.shape[0]):
        k = order[place]
        if log_odds[k] == -np.inf or (active[k] and n_active == 1):
            continue
        n_tried += 1
        active[k] = not active[k]
        proposed = series_log_likelihood(active, weights, columns, log_evidence, offsets, likelihood, scratch)
        log_ratio = proposed - current + (log_odds[k] if active[k] else -log_odds[k])
        if np.log(rng.random()) < log_ratio:
            current = proposed
            n_active += 1 if active[k] else -1
            n_accepted += 1
        else:
            active[k] = not active[k]
    return n_tried, n_accepted


@inlined
def flip_features_of(
    rng: Generator,
    i: int,
    order: IntArray,
    log_odds: FloatArray,
    alpha: float,
    kappa: float,
    active: BoolArray,
    weights: FloatArray,
    data: Data,
    room: Room,
) -> tuple[int, int]:
    """Try to switch the shared features of a series; return how often that was tried and accepted."""
    n_features = active.shape[0]
    for k in range(n_features):
        room.features[k] = k
        room.columns[k] = k
    draw_missing_weights(rng, active, alpha, kappa, weights)
    log, offsets, likelihood = evaluate_series(i, n_features, data, room)
    tried, accepted = flip_shared_features(
        rng, order, log_odds, active, weights, room.columns, log, offsets, likelihood, room.scratch
    )
    clear_missing_weights(active, weights)
    return tried, accepted


@jit
def write_log_odds(n_others: FloatArray, n_series: int, mass: float, log_odds: FloatArray) -> None:
    """Write the odds of a series to have each feature, given how many others have it; of none, minus infinity."""
    for k in range(n_others.shape[0]):
        log_odds[k] = -np.inf
        if n_others[k] > 0.0:
            log_odds[k] = np.log(n_others[k] / (n_series + mass - 1.0 - n_others[k]))


@jit
def flip_in_turn(
    rng: Generator,
    series: IntArray,
    orders: IntArray,
    n_owners: FloatArray,
    mass: float,
    alpha: float,
    kappa: float,
    active: BoolArray,
    weights: FloatArray,
    data: Data,
    room: Room,
    log_odds: FloatArray,
) -> tuple[int, int]:
    """Switch the shared features of all series, one after the other: each sees what the others have by then.

    Parameters
    ----------
    series : ndarray of shape (n_series,)
        In which order.
    orders : ndarray of shape (n_series, n_tried)
        Which features each series tries, in order.
    n_owners : ndarray of shape (n_features,)
        Changed in place, as are the next two.
    active : ndarray of shape (n_series, n_features)
    weights : ndarray of shape (n_series, n_features, n_features)
    log_odds : ndarray of shape (n_features,)
        Scratch space.
    """
    n_tried, n_accepted, n_features = 0, 0, active.shape[1]
    for place in range(series.shape[0]):
        i = series[place]
        for k in range(n_features):
            n_owners[k] -= 1.0 if active[i, k] else 0.0
        write_log_odds(n_owners, active.shape[0], mass, log_odds)
        tried, accepted = flip_features_of(rng, i, orders[i], log_odds, alpha, kappa, active[i], weights[i], data, room)
        for k in range(n_features):
            n_owners[k] += 1.0 if active[i, k] else 0.0
        n_tried += tried
        n_accepted += accepted
    return n_tried, n_accepted


@jit
def flip_by_odds(
    rng: Generator,
    series: IntArray,
    orders: IntArray,
    log_odds: FloatArray,
    alpha: float,
    kappa: float,
    active: BoolArray,
    weights: FloatArray,
    data: Data,
    room: Room,
) -> tuple[int, int]:
    """Switch the shared features of some series by given odds, whatever becomes of the others."""
    n_tried, n_accepted = 0, 0
    for place in range(series.shape[0]):
        i = series[place]
        tried, accepted = flip_features_of(rng, i, orders[i], log_odds, alpha, kappa, active[i], weights[i], data, room)
        n_tried += tried
        n_accepted += accepted
    return n_tried, n_accepted


@jit
def draw_paths(
    rng: Generator, series: IntArray, active: BoolArray, weights: FloatArray, data: Data, room: Room, path: IntArray
) -> float:
    """Draw the paths of some series; return their log-likelihood."""
    total = 0.0
    for place in range(series.shape[0]):
        i = series[place]
        n = list_features(active[i], room)
        log, offsets, likelihood = evaluate_series(i, n, data, room)
        stretch = path[data.starts[i] : data.starts[i + 1]]
        total += draw_series_path(
            rng, active[i], weights[i], room.columns, log, offsets, likelihood, room.scratch, stretch
        )
    return total


@jit
def write_log_likelihoods(
    series: IntArray, active: BoolArray, weights: FloatArray, data: Data, room: Room, out: FloatArray
) -> None:
    """Write the log-likelihoods of some series, paths summed out."""
    for place in range(series.shape[0]):
        i = series[place]
        n = list_features(active[i], room)
        log, offsets, likelihood = evaluate_series(i, n, data, room)
        out[place] = series_log_likelihood(active[i], weights[i], room.columns, log, offsets, likelihood, room.scratch)


@jit
def count_transitions(path: IntArray, start: int, stop: int, counts: FloatArray, least_stay: int = 1) -> None:
    """Add the transitions of a series to their counts, (n_features, n_features).

    Steps that a stay lasts because it has to are none: see `hmm/_stay_kernels.py`.
    """
    left = 0
    for t in range(start + 1, stop):
        if path[t] != path[t - 1]:
            left = least_stay - 1
        elif left > 0:
            left -= 1
            continue
        counts[path[t - 1], path[t]] += 1.0


@jit
def count_all_transitions(path: IntArray, starts: IntArray, counts: FloatArray, least_stay: int = 1) -> None:
    """Add the transitions of all series to their counts, (n_series, n_features, n_features)."""
    for i in range(counts.shape[0]):
        count_transitions(path, starts[i], starts[i + 1], counts[i], least_stay)


@jit
def draw_transition_weights(
    rng: Generator,
    active: BoolArray,
    counts: FloatArray,
    alpha: float,
    kappa: float,
    weights: FloatArray,
    leaving: float = 0.0,
) -> None:
    """Draw the weights between the features a series has, given its path: a Dirichlet row times a gamma total.

    Where the probability of leaving is fixed, a path says nothing of the weight of staying: it comes from its prior.
    """
    n, n_active = active.shape[0], 0.0
    for k in range(n):
        n_active += 1.0 if active[k] else 0.0
    for j in range(n):
        total = 0.0
        for k in range(n):
            weights[j, k] = 0.0
            if active[j] and active[k] and not (j == k and leaving > 0.0):
                weights[j, k] = draw_weight(rng, alpha + counts[j, k] + (kappa if j == k else 0.0))
                total += weights[j, k]
        # The data say nothing of the total, yet it decides how much a feature added later takes from the others.
        prior_total = n_active * alpha + kappa if leaving == 0.0 else (n_active - 1.0) * alpha
        scale = rng.standard_gamma(prior_total) / max(total, LEAST_WEIGHT) if prior_total > 0.0 else 0.0
        for k in range(n):
            if active[j] and active[k] and not (j == k and leaving > 0.0):
                weights[j, k] = max(weights[j, k] * scale, LEAST_WEIGHT)
        if leaving > 0.0 and active[j]:
            weights[j, j] = draw_weight(rng, alpha + kappa)


@jit
def draw_all_weights(
    rng: Generator,
    active: BoolArray,
    counts: FloatArray,
    alpha: float,
    kappa: float,
    weights: FloatArray,
    leaving: float = 0.0,
) -> None:
    """Draw the weights of all series, (n_series, n_features, n_features)."""
    for i in range(active.shape[0]):
        draw_transition_weights(rng, active[i], counts[i], alpha, kappa, weights[i], leaving)


@jit
def log_path_density(
    n: int, counts: FloatArray, active: BoolArray, alpha: float, kappa: float, leaving: float = 0.0
) -> float:
    """Log probability of the path of a series, transition weights integrated out (docs/model.md, section 3.4).

    Where the probability of leaving is fixed, transition weights only say where to.

    Parameters
    ----------
    n : int
        Number of features.
    counts : ndarray of shape (n, n), or larger
    active : ndarray of shape (n,), or larger
    """
    log_gamma, log_gamma_own, n_active = lgamma(alpha), lgamma(alpha + kappa), 0.0
    for k in range(n):
        n_active += 1.0 if active[k] else 0.0
    row_prior = n_active * alpha + kappa if leaving == 0.0 else max(n_active - 1.0, 1.0) * alpha
    log_gamma_row, total = lgamma(row_prior), -np.log(n_active)
    for j in range(n):
        left = 0.0
        for k in range(n):
            count = counts[j, k]
            # Most pairs have no transition, and add nothing.
            if count > 0.0 and leaving > 0.0 and j == k:
                total += count * np.log(1.0 - leaving) if n_active > 1.0 else 0.0
            elif count > 0.0:
                left += count
                total += lgamma(alpha + kappa + count) - log_gamma_own if j == k else lgamma(alpha + count) - log_gamma
        if left > 0.0:
            total += log_gamma_row - lgamma(row_prior + left)
            total += left * np.log(leaving) if leaving > 0.0 else 0.0
    return total


@jit
def log_path_densities(
    counts: FloatArray, active: BoolArray, alpha: float, kappa: float, leaving: float = 0.0
) -> float:
    """Log probability of the paths of all series, transition weights integrated out."""
    total = 0.0
    for i in range(active.shape[0]):
        total += log_path_density(active.shape[1], counts[i], active[i], alpha, kappa, leaving)
    return total


@jit
def log_feature_density(n_owners: FloatArray, n_series: int, gamma: float, mass: float) -> float:
    """Log density of which series has which feature, features told apart (docs/model.md, section 3.3)."""
    total, log_rate = 0.0, np.log(gamma * mass) - lgamma(n_series + mass)
    for k in range(n_owners.shape[0]):
        total += log_rate + lgamma(n_owners[k]) + lgamma(n_series - n_owners[k] + mass)
    for i in range(n_series):
        total -= gamma * mass / (mass + i)
    return total


@jit
def walk_concentrations(
    rng: Generator,
    n_trials: int,
    log_step: float,
    alpha: float,
    kappa: float,
    shapes: tuple[float, float],
    rates: tuple[float, float],
    counts: FloatArray,
    active: BoolArray,
    leaving: float,
) -> tuple[float, float, int]:
    """Walk on the logarithms of alpha and kappa in turn, which have gamma priors; return them.

    How many steps were accepted comes last.
    """
    values, n_accepted = np.array([alpha, kappa]), 0
    current = log_path_densities(counts, active, alpha, kappa, leaving)
    for trial in range(n_trials):
        which = trial % 2
        before = values[which]
        values[which] *= np.exp(log_step * rng.standard_normal())
        proposed = log_path_densities(counts, active, values[0], values[1], leaving)
        # The walk is symmetric in the logarithm; its Jacobian makes the power of the prior one more.
        log_prior = shapes[which] * np.log(values[which] / before) - rates[which] * (values[which] - before)
        if np.log(rng.random()) < proposed - current + log_prior:
            current, n_accepted = proposed, n_accepted + 1
        else:
            values[which] = before
    return values[0], values[1], n_accepted
