"""Compiled: the evidence of one series at a time, in room that serves the next one too.

Evidence of all steps under all features would be many times as large as the data. That of a series stays close to the
processor, and is worked out faster than it would come from memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import inlined, jit
from homothety.models.emissions._kernels import BLOCK, turn_block, write_block_evidence
from homothety.models.emissions._missing_kernels import leave_out_missing
from homothety.models.emissions.missing import NO_GAPS, Gaps
from homothety.models.hmm._kernels import draw_path, filter_sticky, log_path_density, scale_evidence
from homothety.models.hmm._stay_kernels import draw_stays, filter_stays, log_stay_density, stay_room

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.emissions._kernels import Structure


Tables = tuple["FloatArray", "FloatArray", "FloatArray"]


class Data(NamedTuple):
    """All series, and parameters to evaluate them under."""

    z: FloatArray  # (n_steps, n)
    starts: IntArray  # (n_series + 1,)
    whiteners: FloatArray  # (n_features, n_dims, n)
    weight: float  # of a step
    structure: Structure
    least_stay: int = 1  # fewest steps of a stay
    leaving: float = 0.0  # probability of leaving a state that may be left; zero where transitions say it
    gaps: Gaps = NO_GAPS  # evidence is that of what is observed; none where steps are taken as they are filled


class Scratch(NamedTuple):
    """Working space of a chain through the features of a series."""

    listed: IntArray  # (n_features,) features the series has
    states: IntArray  # (n_features,) their columns of the evidence
    initial: FloatArray  # (n_features,)
    transition: FloatArray  # (n_features * n_features,)
    filtered: FloatArray  # (n_rows * n_features,) two rows for a likelihood, as many as steps for a path
    cumulative: FloatArray  # (n_features,)
    least_stay: int  # fewest steps of a stay
    stays: FloatArray  # what `hmm/_stay_kernels.py` needs; nothing if a stay may have any length
    leaving: float  # as in `Data`


class Room(NamedTuple):
    """Working space for one series; what depends on its length or on its number of features is kept flat."""

    features: IntArray  # (n_features,) those evaluated
    columns: IntArray  # (n_features,) where the evidence of each stands, or n_features
    offsets: FloatArray  # (longest,)
    log: FloatArray  # (longest * n_features,)
    likelihood: FloatArray  # (longest * n_features,)
    block: FloatArray  # (n + 2, BLOCK)
    scratch: Scratch


def build_scratch(n_features: int, n_steps: int = 2, least_stay: int = 1, leaving: float = 0.0) -> Scratch:
    """Allocate working space for so many features and, where a path is drawn, steps."""
    listed, states = np.empty((2, n_features), dtype=np.int64)
    initial, cumulative = np.empty((2, n_features))
    filtered = np.empty(max(n_steps, 2) * n_features)
    stays = stay_room(least_stay, n_features) if least_stay > 1 else np.empty(0)
    transition = np.empty(n_features * n_features)
    return Scratch(listed, states, initial, transition, filtered, cumulative, least_stay, stays, leaving)


def build_room(data: Data, n_features: int) -> Room:
    """Allocate room for the longest series with so many features."""
    longest = int(np.diff(data.starts).max())
    features, columns = np.empty((2, n_features), dtype=np.int64)
    log, likelihood = np.empty((2, longest * n_features))
    block = np.empty((data.z.shape[1] + 2, BLOCK))
    scratch = build_scratch(n_features, longest, min(data.least_stay, longest), data.leaving)
    return Room(features, columns, np.empty(longest), log, likelihood, block, scratch)


@jit
def list_features(active: BoolArray, room: Room) -> int:
    """List the features a series has, a column for each; return how many there are."""
    n, n_features = 0, active.shape[0]
    for k in range(n_features):
        room.columns[k] = n_features
        if active[k]:
            room.features[n] = k
            room.columns[k] = n
            n += 1
    return n


@inlined
def tables_of(n_steps: int, n_columns: int, room: Room) -> Tables:
    """Return room for the evidence of a series in the three forms of `hmm/_kernels.py`."""
    log = room.log[: n_steps * n_columns].reshape(n_steps, n_columns)
    likelihood = room.likelihood[: n_steps * n_columns].reshape(n_steps, n_columns)
    return log, room.offsets[:n_steps], likelihood


@jit
def write_listed(i: int, n: int, data: Data, room: Room, log: FloatArray) -> None:
    """Write the weighted log densities of the steps of a series under the listed features, a column each."""
    start, n_steps = data.starts[i], data.starts[i + 1] - data.starts[i]
    for first in range(0, n_steps, BLOCK):
        width = min(BLOCK, n_steps - first)
        turn_block(data.z, start + first, width, room.block)
        for column in range(n):
            whitener = data.whiteners[room.features[column]]
            write_block_evidence(first, width, whitener, data.weight, data.structure, column, log, room.block)
    if data.gaps.steps.shape[0] > 0:
        for column in range(n):
            whitener = data.whiteners[room.features[column]]
            leave_out_missing(i, start, data.z, whitener, data.weight, data.structure, data.gaps, column, log)


@inlined
def scale_if_needed(log: FloatArray, offsets: FloatArray, likelihood: FloatArray, scratch: Scratch) -> None:
    """Write the scaled forms of the evidence, unless stays have a least length: their messages take logarithms."""
    if scratch.least_stay == 1:
        scale_evidence(log, offsets, likelihood)


@jit
def evaluate_series(i: int, n: int, data: Data, room: Room) -> Tables:
    """Return the evidence of a series under the listed features, in the three forms of `hmm/_kernels.py`."""
    log, offsets, likelihood = tables_of(data.starts[i + 1] - data.starts[i], n, room)
    write_listed(i, n, data, room, log)
    scale_if_needed(log, offsets, likelihood, room.scratch)
    return log, offsets, likelihood


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
