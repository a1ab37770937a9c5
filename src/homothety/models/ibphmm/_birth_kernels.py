"""Compiled births and deaths of features of one series alone, paths summed out (docs/model.md, section 3.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import ZERO, inlined, jit
from homothety.models.emissions._kernels import (
    add_step,
    draw_whitener,
    factorise,
    log_parameter_density,
    write_evidence,
)
from homothety.models.emissions._missing_kernels import leave_out_missing
from homothety.models.ibphmm._feature_kernels import draw_weight, series_log_likelihood
from homothety.models.ibphmm._series_kernels import list_features, scale_if_needed, tables_of, write_listed

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.emissions._kernels import Structure
    from homothety.models.ibphmm._series_kernels import Data, Room

NOTHING = -1  # neither born nor dropped


class Source(NamedTuple):
    """Where the parameters of a new feature come from."""

    shortest: int  # window
    longest: int
    data_driven: bool
    prior_scale: FloatArray  # (n, n)
    prior_factor: FloatArray  # (1, n, n)
    structure: Structure


class Births(NamedTuple):
    """How features come and go."""

    log_rate: float  # of features of one series alone
    alpha: float
    kappa: float
    source: Source


class Window(NamedTuple):
    """The posterior of a stretch of the series: what a new feature may look like."""

    sizes: FloatArray  # (1,)
    scales: FloatArray  # (1, n, n)
    factors: FloatArray  # (1, n, n)


class Newborns(NamedTuple):
    """What every series would have if its birth were accepted, the newborn last."""

    active: BoolArray  # (n_series, n_features + 1)
    weights: FloatArray  # (n_series, n_features + 1, n_features + 1)
    whiteners: FloatArray  # (n_series, n_dims, n)


def build_window(n: int) -> Window:
    """Allocate a window over steps of `n` numbers."""
    return Window(np.zeros(1), np.zeros((1, n, n)), np.zeros((1, n, n)))


@jit
def birth_probability(n_unique: int, n_active: int) -> float:
    """Return how often a birth is tried rather than a death."""
    return 1.0 if n_unique == 0 or n_active == 1 else 0.5


@jit
def log_move_ratio(n_unique: int, n_active: int) -> float:
    """Log of the chance to undo a birth over the chance to try it, at the smaller state."""
    death = (1.0 - birth_probability(n_unique + 1, n_active + 1)) / (n_unique + 1)
    return np.log(death / birth_probability(n_unique, n_active))


@inlined
def draw_window(
    rng: Generator, z: FloatArray, start: int, stop: int, weight: float, source: Source, window: Window
) -> None:
    """Draw a stretch of a series, whatever the state of the chain, and write its posterior."""
    longest = min(source.longest, stop - start)
    length = stop - start
    if source.shortest <= longest:
        length = source.shortest + int(rng.random() * (longest - source.shortest + 1))
    first = start + int(rng.random() * (stop - start - length + 1))
    for a in range(source.prior_scale.shape[0]):
        for b in range(source.prior_scale.shape[1]):
            window.scales[0, a, b] = source.prior_scale[a, b]
    window.sizes[0] = length * weight
    for t in range(first, first + length):
        add_step(z, t, weight, window.scales, ZERO)
    factorise(ZERO, window.scales, window.factors, source.structure)


@jit
def propose_parameters(rng: Generator, source: Source, window: Window, whitener: FloatArray) -> None:
    """Draw parameters of a new feature from the prior, or half of the time from the posterior of the window."""
    if source.data_driven and rng.random() < 0.5:
        draw_whitener(rng, ZERO, window.sizes[0], window.factors, source.structure, whitener)
    else:
        draw_whitener(rng, ZERO, 0.0, source.prior_factor, source.structure, whitener)


@jit
def log_prior_over_proposal(source: Source, window: Window, whitener: FloatArray) -> float:
    """Log of the prior density of parameters over that of proposing them.

    Data-driven proposals are an even mixture of the prior and the posterior of the window.
    """
    if not source.data_driven:
        return 0.0
    log_prior = log_parameter_density(ZERO, 0.0, source.prior_factor, whitener, source.structure)
    log_window = log_parameter_density(ZERO, window.sizes[0], window.factors, whitener, source.structure)
    largest = max(log_prior, log_window)
    mixture = 0.5 * np.exp(log_prior - largest) + 0.5 * np.exp(log_window - largest)
    return log_prior - largest - np.log(mixture)


@jit
def draw_newborn_weights(rng: Generator, active: BoolArray, alpha: float, kappa: float, weights: FloatArray) -> None:
    """Draw the weights of the last slot from and to the features of a series."""
    newborn = active.shape[0] - 1
    for k in range(newborn):
        if active[k]:
            weights[k, newborn] = draw_weight(rng, alpha)
            weights[newborn, k] = draw_weight(rng, alpha)
    weights[newborn, newborn] = draw_weight(rng, alpha + kappa)


@inlined
def draw_unique(rng: Generator, n_unique: int, n_owners: FloatArray, active: BoolArray) -> int:
    """Draw one of the features a series has alone."""
    place = int(rng.random() * n_unique)
    for k in range(n_owners.shape[0]):
        if active[k] and n_owners[k] == 1.0:
            if place == 0:
                return k
            place -= 1
    return NOTHING


@inlined
def jump(
    rng: Generator,
    i: int,
    n_owners: FloatArray,
    births: Births,
    data: Data,
    window: Window,
    room: Room,
    newborns: Newborns,
) -> int:
    """Try one birth or death in a series; return the place of the newborn, of the dead feature, or `NOTHING`."""
    active, weights, n_features = newborns.active[i], newborns.weights[i], n_owners.shape[0]
    start, stop = data.starts[i], data.starts[i + 1]
    n_own, n_unique = list_features(active, room), 0
    for k in range(n_features):
        n_unique += 1 if active[k] and n_owners[k] == 1.0 else 0
    has_gaps = data.gaps.steps.shape[0] > 0
    # Missing values are summed out: what is proposed must not depend on those of the chain.
    shown = data.gaps.fill if has_gaps else data.z
    draw_window(rng, shown, start, stop, data.weight, births.source, window)
    born = rng.random() < birth_probability(n_unique, n_own)
    log, offsets, likelihood = tables_of(stop - start, n_own + 1 if born else n_own, room)
    write_listed(i, n_own, data, room, log)
    if born:
        place, whitener = n_features, newborns.whiteners[i]
        propose_parameters(rng, births.source, window, whitener)
        draw_newborn_weights(rng, active, births.alpha, births.kappa, weights)
        room.columns[place] = n_own
        write_evidence(
            data.z[start:stop], 0, stop - start, whitener, data.weight, data.structure, n_own, log, room.block
        )
        if has_gaps:
            leave_out_missing(i, start, data.z, whitener, data.weight, data.structure, data.gaps, n_own, log)
    else:
        place = draw_unique(rng, n_unique, n_owners, active)
        whitener = data.whiteners[place]
    scale_if_needed(log, offsets, likelihood, room.scratch)
    before = series_log_likelihood(active, weights, room.columns, log, offsets, likelihood, room.scratch)
    active[place] = born
    after = series_log_likelihood(active, weights, room.columns, log, offsets, likelihood, room.scratch)
    # A death is a birth undone: the ratio of the birth, at the smaller of both states, counts the other way.
    n_less = 0 if born else 1
    log_birth = births.log_rate + log_move_ratio(n_unique - n_less, n_own - n_less)
    log_birth += log_prior_over_proposal(births.source, window, whitener)
    return place if np.log(rng.random()) < after - before + (log_birth if born else -log_birth) else NOTHING


@jit
def jump_all(
    rng: Generator,
    series: IntArray,
    n_owners: FloatArray,
    births: Births,
    data: Data,
    window: Window,
    room: Room,
    newborns: Newborns,
    outcomes: IntArray,
) -> None:
    """Let some series try one birth or death each, whatever becomes of the others."""
    for place in range(series.shape[0]):
        i = series[place]
        outcomes[i] = jump(rng, i, n_owners, births, data, window, room, newborns)
