"""Compiled proposals of paths under plug-in parameters: transitions at their prior means, sticky and alike for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homothety._jit import jit
from homothety.models.hmm._kernels import draw_path, filter_sticky, log_path_density
from homothety.models.hmm._stay_kernels import draw_stays, filter_stays, log_stay_density

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.ibphmm._series_kernels import Scratch


@jit
def write_sticky_chain(n: int, alpha: float, kappa: float, scratch: Scratch) -> None:
    """Write start and transition probabilities between `n` features at the prior means of their weights."""
    stay, move = (alpha + kappa) / (n * alpha + kappa), alpha / (n * alpha + kappa)
    if scratch.leaving > 0.0:
        stay, move = (1.0 - scratch.leaving, scratch.leaving / (n - 1)) if n > 1 else (1.0, 0.0)
    for a in range(n):
        scratch.initial[a] = 1.0 / n
        for b in range(n):
            scratch.transition[a * n + b] = stay if a == b else move


@jit
def sticky_log_likelihood(
    states: IntArray,
    alpha: float,
    kappa: float,
    log_evidence: FloatArray,
    offsets: FloatArray,
    likelihood: FloatArray,
    scratch: Scratch,
) -> float:
    """Log-likelihood of a series that has the given features, paths summed out."""
    n = states.shape[0]
    write_sticky_chain(n, alpha, kappa, scratch)
    transition, filtered = scratch.transition[: n * n].reshape(n, n), scratch.filtered[: 2 * n].reshape(2, n)
    if scratch.least_stay > 1:
        initial, least_stay = scratch.initial[:n], scratch.least_stay
        return filter_stays(log_evidence, states, initial, transition, least_stay, filtered, scratch.stays)
    return filter_sticky(log_evidence, offsets, likelihood, states, scratch.initial[:n], transition, filtered)


@jit
def draw_sticky_path(
    rng: Generator,
    states: IntArray,
    alpha: float,
    kappa: float,
    log_evidence: FloatArray,
    offsets: FloatArray,
    likelihood: FloatArray,
    scratch: Scratch,
    path: IntArray,
) -> float:
    """Draw the path of a series that has the given features; return its log-likelihood, paths summed out."""
    n, n_steps = states.shape[0], path.shape[0]
    write_sticky_chain(n, alpha, kappa, scratch)
    transition, initial = scratch.transition[: n * n].reshape(n, n), scratch.initial[:n]
    filtered = scratch.filtered[: n_steps * n].reshape(n_steps, n)
    if scratch.least_stay > 1:
        least_stay, stays, cumulative = scratch.least_stay, scratch.stays, scratch.cumulative[:n]
        total = filter_stays(log_evidence, states, initial, transition, least_stay, filtered, stays)
        draw_stays(rng, log_evidence, states, transition, least_stay, total, filtered, stays, cumulative, states, path)
        return total
    log_likelihood = filter_sticky(log_evidence, offsets, likelihood, states, initial, transition, filtered)
    draw_path(rng, transition, states, filtered, scratch.cumulative[:n], path)
    return log_likelihood


@jit
def log_sticky_path_density(
    states: IntArray,
    alpha: float,
    kappa: float,
    log_evidence: FloatArray,
    scratch: Scratch,
    positions: IntArray,
    path: IntArray,
) -> float:
    """Log density of a path and its series together."""
    n = states.shape[0]
    write_sticky_chain(n, alpha, kappa, scratch)
    transition = scratch.transition[: n * n].reshape(n, n)
    if scratch.least_stay > 1:
        initial = scratch.initial[:n]
        return log_stay_density(path, log_evidence, states, initial, transition, scratch.least_stay, positions)
    return log_path_density(path, log_evidence, states, scratch.initial[:n], transition, positions)
