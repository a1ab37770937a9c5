"""Compiled swaps: two states change places in some series, parameters and weights integrated out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import ZERO, jit
from homothety.models.emissions._kernels import add_steps_of, factorise, log_evidence_constant
from homothety.models.ibphmm._feature_kernels import log_feature_density

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.emissions._kernels import Structure


class Pair(NamedTuple):
    """Statistics of two states: what each series has of them, and sums over the series visited so far."""

    sizes: FloatArray  # (n_series, 2)
    scales: FloatArray  # (n_series, 2, n, n)
    total_sizes: FloatArray  # (2,)
    totals: FloatArray  # (2, n, n) with the prior
    scale: FloatArray  # (1, n, n) scratch space, as the next
    factor: FloatArray  # (1, n, n)


@jit
def log_evidence_with(k: int, i: int, part: int, pair: Pair, structure: Structure) -> float:
    """Return the log evidence of state `k` if it gets what series `i` has of one of the two; up to a constant."""
    for p in range(pair.scale.shape[1]):
        for q in range(pair.scale.shape[2]):
            pair.scale[0, p, q] = pair.totals[k, p, q] + pair.scales[i, part, p, q]
    factorise(ZERO, pair.scale, pair.factor, structure)
    return log_evidence_constant(ZERO, pair.total_sizes[k] + pair.sizes[i, part], pair.factor, structure)


@jit
def turn_in_order(
    rng: Generator,
    order: IntArray,
    follows: bool,
    prior_scale: FloatArray,
    pair: Pair,
    structure: Structure,
    turned: BoolArray,
) -> tuple[float, float]:
    """Let series choose, one after the other, if the two states change places in them; the first one does not.

    Each chooses by how well its steps go together with those of the series before it. If `follows`, none turns.

    Returns
    -------
    log_probability : float
        Of these choices.
    log_evidence : float
        Of all steps in the two states, up to a constant.
    """
    total, log_evidence = 0.0, 0.0
    for k in range(2):
        pair.total_sizes[k] = 0.0
        pair.totals[k] = prior_scale
    for place in range(order.shape[0]):
        i = order[place]
        stays = log_evidence_with(0, i, 0, pair, structure) + log_evidence_with(1, i, 1, pair, structure)
        turns = log_evidence_with(0, i, 1, pair, structure) + log_evidence_with(1, i, 0, pair, structure)
        turned[i] = False
        if place > 0:
            smaller = np.exp(-abs(turns - stays))
            probability = (1.0 if turns > stays else smaller) / (1.0 + smaller)
            turned[i] = not follows and rng.random() < probability
            total += min(turns - stays if turned[i] else stays - turns, 0.0) - np.log1p(smaller)
        log_evidence = turns if turned[i] else stays
        for k in range(2):
            part = 1 - k if turned[i] else k
            pair.total_sizes[k] += pair.sizes[i, part]
            pair.totals[k] += pair.scales[i, part]
    return total, log_evidence


@jit
def try_swaps(
    rng: Generator,
    n_trials: int,
    z: FloatArray,
    starts: IntArray,
    weight: float,
    prior_scale: FloatArray,
    structure: Structure,
    gamma: float,
    mass: float,
    active: BoolArray,
    path: IntArray,
) -> int:
    """Try some times to swap two states in some series; return how often it was accepted. Writes features and path."""
    (n_series, n_features), n, n_accepted = active.shape, z.shape[1], 0
    pair = Pair(
        np.empty((n_series, 2)),
        np.empty((n_series, 2, n, n)),
        np.empty(2),
        np.empty((2, n, n)),
        np.empty((1, n, n)),
        np.zeros((1, n, n)),
    )
    turned, owners = np.zeros(n_series, dtype=np.bool_), np.empty(2)
    for _ in range(n_trials):
        a, b = int(rng.integers(0, n_features)), int(rng.integers(0, n_features - 1))
        b += 1 if b >= a else 0
        order = np.flatnonzero(active[:, a] | active[:, b])
        rng.shuffle(order)
        for i in order:
            pair.sizes[i] = 0.0
            pair.scales[i] = 0.0
            add_steps_of(a, z, path, starts[i], starts[i + 1], weight, 0, pair.scales[i], pair.sizes[i])
            add_steps_of(b, z, path, starts[i], starts[i + 1], weight, 1, pair.scales[i], pair.sizes[i])
        log_back, log_current = turn_in_order(rng, order, True, prior_scale, pair, structure, turned)
        log_forth, log_proposed = turn_in_order(rng, order, False, prior_scale, pair, structure, turned)
        owners[0], owners[1] = np.sum(active[:, a]), np.sum(active[:, b])
        log_ratio = log_proposed - log_current + log_back - log_forth
        log_ratio -= log_feature_density(owners, n_series, gamma, mass)
        n_moved = 0
        for i in order:
            if turned[i]:
                gained = int(active[i, b]) - int(active[i, a])
                owners[0] += gained
                owners[1] -= gained
                n_moved += 1
        if n_moved == 0 or owners[0] == 0.0 or owners[1] == 0.0:
            continue
        log_ratio += log_feature_density(owners, n_series, gamma, mass)
        if not np.log(rng.random()) < log_ratio:  # a ratio that is NaN is refused
            continue
        n_accepted += 1
        for i in order:
            if turned[i]:
                active[i, a], active[i, b] = active[i, b], active[i, a]
                for t in range(starts[i], starts[i + 1]):
                    path[t] = b if path[t] == a else (a if path[t] == b else path[t])
    return n_accepted
