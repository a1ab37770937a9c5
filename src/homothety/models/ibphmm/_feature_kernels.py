"""Compiled moves on the features of one series: switched on and off, born, dropped; and a path drawn through them.

A series sees features as rows of small arrays: whether it has them, its transition weights between them, and the column
of the evidence each has. Evidence is that of the series alone, (n_steps, n_columns), in the three forms of
`hmm/_kernels.py`. One column is spare, for a feature on trial.
"""

from __future__ import annotations

from math import lgamma
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import inlined, jit
from homothety.models.emissions._kernels import log_parameter_density
from homothety.models.hmm._kernels import draw_path, filter_forward

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray

LEAST_WEIGHT = 1e-200  # of a transition: gamma variates of small shape underflow, and subnormal products are slow


class Scratch(NamedTuple):
    """Working space of a chain through the features of a series."""

    listed: IntArray  # (n_features,) features the series has
    states: IntArray  # (n_features,) their columns of the evidence
    initial: FloatArray  # (n_features,)
    transition: FloatArray  # (n_features * n_features,)
    filtered: FloatArray  # (n_rows * n_features,) two rows for a likelihood, as many as steps for a path
    cumulative: FloatArray  # (n_features,)


def build_scratch(n_features: int, n_steps: int = 2) -> Scratch:
    """Allocate working space for so many features and, where a path is drawn, steps."""
    listed, states = np.empty((2, n_features), dtype=np.int64)
    initial, cumulative = np.empty((2, n_features))
    filtered = np.empty(max(n_steps, 2) * n_features)
    return Scratch(listed, states, initial, np.empty(n_features * n_features), filtered, cumulative)


@jit
def write_chain(active: BoolArray, weights: FloatArray, columns: IntArray, scratch: Scratch) -> int:
    """Write start and transition probabilities between the features a series has; return how many there are."""
    listed, transition, n = scratch.listed, scratch.transition, 0
    for k in range(active.shape[0]):
        if active[k]:
            listed[n] = k
            n += 1
    for a in range(n):
        total = 0.0
        for b in range(n):
            total += weights[listed[a], listed[b]]
        for b in range(n):
            transition[a * n + b] = weights[listed[a], listed[b]] / total
        scratch.states[a] = columns[listed[a]]
        scratch.initial[a] = 1.0 / n
    return n


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
    return filter_forward(log_evidence, offsets, likelihood, states, initial, transition, filtered)


@jit
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
def flip_shared_features(
    rng: Generator,
    order: IntArray,
    n_others: FloatArray,
    n_series: int,
    mass: float,
    active: BoolArray,
    weights: FloatArray,
    columns: IntArray,
    log_evidence: FloatArray,
    offsets: FloatArray,
    likelihood: FloatArray,
    scratch: Scratch,
) -> tuple[int, int, float]:
    """Try to switch every feature that another series has, once, in the given order (acceptance ratio (3)).

    Parameters
    ----------
    order : ndarray of shape (n_features,)
    n_others : ndarray of shape (n_features,)
        How many other series have each feature.
    n_series : int
    mass : float
        c of the Indian buffet process.
    active : ndarray of shape (n_features,)
        Changed in place.
    weights : ndarray of shape (n_features, n_features)
        Transition weights, drawn also for features the series does not have.

    Returns
    -------
    n_tried, n_accepted : int
    log_likelihood : float
        Of the series at the end.
    """
    current = series_log_likelihood(active, weights, columns, log_evidence, offsets, likelihood, scratch)
    n_active, n_tried, n_accepted = 0, 0, 0
    for k in range(active.shape[0]):
        n_active += 1 if active[k] else 0
    for place in range(order.shape[0]):
        k = order[place]
        if n_others[k] < 1 or (active[k] and n_active == 1):
            continue
        n_tried += 1
        active[k] = not active[k]
        proposed = series_log_likelihood(active, weights, columns, log_evidence, offsets, likelihood, scratch)
        log_odds = np.log(n_others[k] / (n_series + mass - 1.0 - n_others[k]))
        log_ratio = proposed - current + (log_odds if active[k] else -log_odds)
        if np.log(rng.random()) < log_ratio:
            current = proposed
            n_active += 1 if active[k] else -1
            n_accepted += 1
        else:
            active[k] = not active[k]
    return n_tried, n_accepted, current


@jit
def count_transitions(path: IntArray, start: int, stop: int, counts: FloatArray) -> None:
    """Add the transitions of a stretch of a path to their counts, (n_features, n_features)."""
    for t in range(start + 1, stop):
        counts[path[t - 1], path[t]] += 1.0


@jit
def count_all_transitions(path: IntArray, starts: IntArray, counts: FloatArray) -> None:
    """Add the transitions of all series to their counts, (n_series, n_features, n_features)."""
    for i in range(counts.shape[0]):
        count_transitions(path, starts[i], starts[i + 1], counts[i])


@jit
def draw_transition_weights(
    rng: Generator, active: BoolArray, counts: FloatArray, alpha: float, kappa: float, weights: FloatArray
) -> None:
    """Draw the weights between the features a series has, given its path: a Dirichlet row times a gamma total."""
    n, n_active = active.shape[0], 0.0
    for k in range(n):
        n_active += 1.0 if active[k] else 0.0
    for j in range(n):
        total = 0.0
        for k in range(n):
            weights[j, k] = 0.0
            if active[j] and active[k]:
                weights[j, k] = draw_weight(rng, alpha + counts[j, k] + (kappa if j == k else 0.0))
                total += weights[j, k]
        # The data say nothing of the total, yet it decides how much a feature added later takes from the others.
        scale = rng.standard_gamma(n_active * alpha + kappa) / max(total, LEAST_WEIGHT)
        for k in range(n):
            if active[j] and active[k]:
                weights[j, k] = max(weights[j, k] * scale, LEAST_WEIGHT)


@jit
def draw_all_weights(
    rng: Generator, active: BoolArray, counts: FloatArray, alpha: float, kappa: float, weights: FloatArray
) -> None:
    """Draw the weights of all series, (n_series, n_features, n_features)."""
    for i in range(active.shape[0]):
        draw_transition_weights(rng, active[i], counts[i], alpha, kappa, weights[i])


@jit
def log_birth_density(
    size: float,
    factors: FloatArray,
    prior_factor: FloatArray,
    whitener: FloatArray,
    dof: float,
    n_regressors: int,
    diagonal: bool,
    data_driven: bool,
) -> float:
    """Log of how much less likely the proposal makes these parameters than their prior: log prior - log proposal.

    Data-driven proposals are an even mixture of the prior and the posterior of a window, whose factor is given.
    """
    if not data_driven:
        return 0.0
    log_prior = log_parameter_density(0, 0.0, prior_factor, whitener, dof, n_regressors, diagonal)
    log_window = log_parameter_density(0, size, factors, whitener, dof, n_regressors, diagonal)
    largest = max(log_prior, log_window)
    mixture = 0.5 * np.exp(log_prior - largest) + 0.5 * np.exp(log_window - largest)
    return log_prior - largest - np.log(mixture)


@jit
def log_path_densities(counts: FloatArray, active: BoolArray, alpha: float, kappa: float, out: FloatArray) -> None:
    """Write the log probability of the path of every series, transition weights integrated out (section 1.1)."""
    n_series, n = active.shape
    log_gamma, log_gamma_own = lgamma(alpha), lgamma(alpha + kappa)
    for i in range(n_series):
        n_active = 0.0
        for k in range(n):
            n_active += 1.0 if active[i, k] else 0.0
        row_prior = n_active * alpha + kappa
        log_gamma_row, total = lgamma(row_prior), -np.log(n_active)
        for j in range(n):
            leaving = 0.0
            for k in range(n):
                count = counts[i, j, k]
                # Most pairs have no transition, and add nothing.
                if count > 0.0:
                    leaving += count
                    total += (
                        lgamma(alpha + kappa + count) - log_gamma_own if j == k else lgamma(alpha + count) - log_gamma
                    )
            if leaving > 0.0:
                total += log_gamma_row - lgamma(row_prior + leaving)
        out[i] = total
