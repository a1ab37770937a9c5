"""Compiled: the evidence of one recording at a time, in room that serves the next one too.

Evidence of all steps under all states would be many times as large as the data. That of a recording stays close to the
processor, and is worked out faster than it would come from memory.
"""

from __future__ import annotations

from math import lgamma
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import ZERO, inlined, jit
from homothety.models.emissions._kernels import (
    BLOCK,
    add_step,
    draw_whitener,
    factorise,
    leave_out_missing,
    log_parameter_density,
    turn_block,
    write_block_evidence,
    write_evidence,
)
from homothety.models.emissions.missing import NO_GAPS, Gaps
from homothety.models.hmm._kernels import Chain, Evidence, draw_path, filter_forward, filter_sticky, scale_evidence
from homothety.models.hmm._kernels import log_path_density as log_chain_density
from homothety.models.hmm._label_kernels import rule_out_labels
from homothety.models.hmm._stay_kernels import draw_stays, filter_stays, log_stay_density, stay_room
from homothety.models.hmm.labels import NO_LABELS, Tagged

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.emissions._kernels import Structure

_MOST_DRAWN = 64  # states between which all weights are drawn to switch a few; of more, only between those looked at
_LEAST_WEIGHT = 1e-200  # of a transition: gamma variates of small shape underflow, and subnormal products are slow
NOTHING = -1  # neither born nor dropped


class Data(NamedTuple):
    """All recordings, and parameters to evaluate them under."""

    z: FloatArray  # (n_steps, n)
    starts: IntArray  # (n_recordings + 1,)
    whiteners: FloatArray  # (n_states, n_dims, n)
    weight: float  # of a step
    structure: Structure
    least_stay: int = 1  # fewest steps of a stay
    leaving: float = 0.0  # probability of leaving a state that may be left; zero where transitions say it
    gaps: Gaps = NO_GAPS  # evidence is that of what is observed; none where steps are taken as they are filled
    known: Tagged = NO_LABELS  # evidence of a labelled step is minus infinity for states of other tags


class Scratch(NamedTuple):
    """Working space of a chain through the states of a recording."""

    listed: IntArray  # (n_states,) states the recording has
    states: IntArray  # (n_states,) their columns of the evidence
    initial: FloatArray  # (n_states,)
    transition: FloatArray  # (n_states * n_states,)
    filtered: FloatArray  # (n_rows * n_states,) two rows for a likelihood, as many as steps for a path
    cumulative: FloatArray  # (n_states,)
    least_stay: int  # fewest steps of a stay
    stays: FloatArray  # what `hmm/_stay_kernels.py` needs; nothing if a stay may have any length
    leaving: float  # as in `Data`


class Room(NamedTuple):
    """Working space for one recording; what depends on its length or on its number of states is kept flat."""

    listed: IntArray  # (n_states,) those evaluated
    columns: IntArray  # (n_states,) where the evidence of each stands, or n_states
    offsets: FloatArray  # (longest,)
    log: FloatArray  # (longest * n_states,)
    likelihood: FloatArray  # (longest * n_states,)
    block: FloatArray  # (n + 2, BLOCK)
    scratch: Scratch


def build_scratch(n_states: int, n_steps: int = 2, least_stay: int = 1, leaving: float = 0.0) -> Scratch:
    """Allocate working space for so many states and, where a path is drawn, steps."""
    listed, states = np.empty((2, n_states), dtype=np.int64)
    initial, cumulative = np.empty((2, n_states))
    filtered = np.empty(max(n_steps, 2) * n_states)
    stays = stay_room(least_stay, n_states) if least_stay > 1 else np.empty(0)
    transition = np.empty(n_states * n_states)
    return Scratch(listed, states, initial, transition, filtered, cumulative, least_stay, stays, leaving)


def build_room(data: Data, n_states: int) -> Room:
    """Allocate room for the longest recording with so many states."""
    longest = int(np.diff(data.starts).max())
    listed, columns = np.empty((2, n_states), dtype=np.int64)
    log, likelihood = np.empty((2, longest * n_states))
    block = np.empty((data.z.shape[1] + 2, BLOCK))
    scratch = build_scratch(n_states, longest, min(data.least_stay, longest), data.leaving)
    return Room(listed, columns, np.empty(longest), log, likelihood, block, scratch)


@jit
def list_states(active: BoolArray, room: Room) -> int:
    """List the states a recording has, a column for each; return how many there are."""
    n, n_states = 0, active.shape[0]
    for k in range(n_states):
        room.columns[k] = n_states
        if active[k]:
            room.listed[n] = k
            room.columns[k] = n
            n += 1
    return n


@inlined
def _evidence_in(n_steps: int, n_columns: int, room: Room) -> Evidence:
    """Return room for the evidence of a recording."""
    log = room.log[: n_steps * n_columns].reshape(n_steps, n_columns)
    likelihood = room.likelihood[: n_steps * n_columns].reshape(n_steps, n_columns)
    return Evidence(log, room.offsets[:n_steps], likelihood)


@jit
def _write_listed(i: int, n: int, data: Data, room: Room, log: FloatArray) -> None:
    """Write the weighted log densities of the steps of a recording under the listed states, a column each."""
    start, n_steps = data.starts[i], data.starts[i + 1] - data.starts[i]
    for first in range(0, n_steps, BLOCK):
        width = min(BLOCK, n_steps - first)
        turn_block(data.z, start + first, width, room.block)
        for column in range(n):
            whitener = data.whiteners[room.listed[column]]
            write_block_evidence(first, width, whitener, data.weight, data.structure, column, log, room.block)
    if data.gaps.steps.shape[0] > 0:
        for column in range(n):
            whitener = data.whiteners[room.listed[column]]
            leave_out_missing(i, start, data.z, whitener, data.weight, data.structure, data.gaps, column, log)
    if data.known.labels.shape[0] > 0:
        for column in range(n):
            rule_out_labels(start, data.known.tags[room.listed[column]], data.known.labels, column, log)


@inlined
def scale_if_needed(evidence: Evidence, scratch: Scratch) -> None:
    """Write the scaled forms of the evidence, unless stays have a least length: their messages take logarithms."""
    if scratch.least_stay == 1:
        scale_evidence(evidence)


@jit
def evaluate_series(i: int, n: int, data: Data, room: Room) -> Evidence:
    """Return the evidence of a recording under the listed states."""
    evidence = _evidence_in(data.starts[i + 1] - data.starts[i], n, room)
    _write_listed(i, n, data, room, evidence.log)
    scale_if_needed(evidence, room.scratch)
    return evidence


@inlined
def _chain_in(n: int, states: IntArray, scratch: Scratch) -> Chain:
    """Return the chain through `n` states whose probabilities stand in working space."""
    return Chain(states, scratch.initial[:n], scratch.transition[: n * n].reshape(n, n))


@jit
def _write_sticky_chain(n: int, alpha: float, kappa: float, scratch: Scratch) -> None:
    """Write start and transition probabilities between `n` states at the prior means of their weights."""
    stay, move = (alpha + kappa) / (n * alpha + kappa), alpha / (n * alpha + kappa)
    if scratch.leaving > 0.0:
        stay, move = (1.0 - scratch.leaving, scratch.leaving / (n - 1)) if n > 1 else (1.0, 0.0)
    for a in range(n):
        scratch.initial[a] = 1.0 / n
        for b in range(n):
            scratch.transition[a * n + b] = stay if a == b else move


@jit
def sticky_log_likelihood(states: IntArray, alpha: float, kappa: float, evidence: Evidence, scratch: Scratch) -> float:
    """Log-likelihood of a recording that has the given states, paths summed out."""
    n = states.shape[0]
    _write_sticky_chain(n, alpha, kappa, scratch)
    chain, filtered = _chain_in(n, states, scratch), scratch.filtered[: 2 * n].reshape(2, n)
    if scratch.least_stay > 1:
        return filter_stays(evidence.log, chain, scratch.least_stay, filtered, scratch.stays)
    return filter_sticky(evidence, chain, filtered)


@jit
def draw_sticky_path(
    rng: Generator, states: IntArray, alpha: float, kappa: float, evidence: Evidence, scratch: Scratch, path: IntArray
) -> float:
    """Draw the path of a recording that has the given states; return its log-likelihood, paths summed out."""
    n, n_steps = states.shape[0], path.shape[0]
    _write_sticky_chain(n, alpha, kappa, scratch)
    chain, filtered = _chain_in(n, states, scratch), scratch.filtered[: n_steps * n].reshape(n_steps, n)
    cumulative = scratch.cumulative[:n]
    if scratch.least_stay > 1:
        least_stay, stays = scratch.least_stay, scratch.stays
        total = filter_stays(evidence.log, chain, least_stay, filtered, stays)
        draw_stays(rng, evidence.log, chain, least_stay, total, filtered, stays, cumulative, states, path)
        return total
    total = filter_sticky(evidence, chain, filtered)
    draw_path(rng, chain.transition, states, filtered, cumulative, path)
    return total


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
    """Log density of a path and its recording together."""
    n = states.shape[0]
    _write_sticky_chain(n, alpha, kappa, scratch)
    chain = _chain_in(n, states, scratch)
    if scratch.least_stay > 1:
        return log_stay_density(path, log_evidence, chain, scratch.least_stay, positions)
    return log_chain_density(path, log_evidence, chain, positions)


@jit
def _write_chain(active: BoolArray, weights: FloatArray, columns: IntArray, scratch: Scratch) -> int:
    """Write start and transition probabilities between the states a recording has; return how many there are."""
    listed, transition, n = scratch.listed, scratch.transition, 0
    for k in range(active.shape[0]):
        if active[k]:
            listed[n] = k
            n += 1
    for a in range(n):
        if scratch.leaving > 0.0 and n > 1:
            _write_fixed_leaving(a, n, scratch.leaving, weights, listed, transition)
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
def _write_fixed_leaving(
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
def _series_log_likelihood(
    active: BoolArray, weights: FloatArray, columns: IntArray, evidence: Evidence, scratch: Scratch
) -> float:
    """Log-likelihood of a recording given its states, paths summed out."""
    n = _write_chain(active, weights, columns, scratch)
    chain, filtered = _chain_in(n, scratch.states[:n], scratch), scratch.filtered[: 2 * n].reshape(2, n)
    if scratch.least_stay > 1:
        return filter_stays(evidence.log, chain, scratch.least_stay, filtered, scratch.stays)
    return filter_forward(evidence, chain, filtered)


@inlined
def _draw_series_path(
    rng: Generator,
    active: BoolArray,
    weights: FloatArray,
    columns: IntArray,
    evidence: Evidence,
    scratch: Scratch,
    path: IntArray,
) -> float:
    """Draw the path of a recording, in numbers of states; return its log-likelihood."""
    n, n_steps = _write_chain(active, weights, columns, scratch), path.shape[0]
    chain, filtered = _chain_in(n, scratch.states[:n], scratch), scratch.filtered[: n_steps * n].reshape(n_steps, n)
    cumulative, numbers = scratch.cumulative[:n], scratch.listed[:n]
    if scratch.least_stay > 1:
        least_stay, stays = scratch.least_stay, scratch.stays
        total = filter_stays(evidence.log, chain, least_stay, filtered, stays)
        draw_stays(rng, evidence.log, chain, least_stay, total, filtered, stays, cumulative, numbers, path)
        return total
    total = filter_forward(evidence, chain, filtered)
    draw_path(rng, chain.transition, numbers, filtered, cumulative, path)
    return total


@inlined
def _draw_weight(rng: Generator, shape: float) -> float:
    """Draw the weight of a transition."""
    return max(rng.standard_gamma(shape), _LEAST_WEIGHT)


@jit
def _draw_missing_weights(rng: Generator, active: BoolArray, alpha: float, kappa: float, weights: FloatArray) -> None:
    """Draw the weights from and to states the recording does not have, from their prior."""
    for j in range(active.shape[0]):
        for k in range(active.shape[0]):
            if not (active[j] and active[k]):
                weights[j, k] = _draw_weight(rng, alpha + kappa if j == k else alpha)


@jit
def _clear_missing_weights(active: BoolArray, weights: FloatArray) -> None:
    """Set the weights from and to states the recording does not have to zero."""
    for j in range(active.shape[0]):
        for k in range(active.shape[0]):
            if not (active[j] and active[k]):
                weights[j, k] = 0.0


@inlined
def _flip_shared_states(
    rng: Generator,
    order: IntArray,
    log_odds: FloatArray,
    active: BoolArray,
    weights: FloatArray,
    columns: IntArray,
    evidence: Evidence,
    scratch: Scratch,
) -> tuple[int, int]:
    """Try to switch every state that another recording has, once, in the given order.

    The acceptance ratio is that of docs/model.md, section 3.8.

    Parameters
    ----------
    order : ndarray of shape (n_states,)
    log_odds : ndarray of shape (n_states,)
        Prior odds of having each state; minus infinity for those that are not shared.
    active : ndarray of shape (n_states,)
        Changed in place.
    weights : ndarray of shape (n_states, n_states)
        Transition weights, drawn also for states the recording does not have.

    Returns
    -------
    n_tried, n_accepted : int
    """
    current = _series_log_likelihood(active, weights, columns, evidence, scratch)
    n_active, n_tried, n_accepted = 0, 0, 0
    for k in range(active.shape[0]):
        n_active += 1 if active[k] else 0
    for place in range(order.shape[0]):
        k = order[place]
        if log_odds[k] == -np.inf or (active[k] and n_active == 1):
            continue
        n_tried += 1
        active[k] = not active[k]
        proposed = _series_log_likelihood(active, weights, columns, evidence, scratch)
        log_ratio = proposed - current + (log_odds[k] if active[k] else -log_odds[k])
        if np.log(rng.random()) < log_ratio:
            current = proposed
            n_active += 1 if active[k] else -1
            n_accepted += 1
        else:
            active[k] = not active[k]
    return n_tried, n_accepted


@jit
def _flip_among_many(
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
    """Try to switch a few of very many states; return how often that was tried and accepted.

    Only states that the recording has or tries are looked at: the same move, since weights of all others would be drawn
    and not used. Of many short recordings each may begin with states of its own, and without this the cost of a sweep
    would grow with the cube of their number.
    """
    n, listed = 0, room.listed
    for k in range(active.shape[0]):
        if active[k]:
            listed[n] = k
            n += 1
    tried = np.empty(order.shape[0], dtype=np.int64)
    for place in range(order.shape[0]):
        tried[place] = n
        for a in range(n):
            if listed[a] == order[place]:
                tried[place] = a
        if tried[place] == n:
            listed[n] = order[place]
            n += 1
    own, odds, between = np.empty(n, dtype=np.bool_), np.empty(n), np.empty((n, n))
    for a in range(n):
        own[a], odds[a], room.columns[a] = active[listed[a]], log_odds[listed[a]], a
        for b in range(n):
            between[a, b] = weights[listed[a], listed[b]]
    _draw_missing_weights(rng, own, alpha, kappa, between)
    evidence = evaluate_series(i, n, data, room)
    counted = _flip_shared_states(rng, tried, odds, own, between, room.columns, evidence, room.scratch)
    _clear_missing_weights(own, between)
    for a in range(n):
        active[listed[a]] = own[a]
        for b in range(n):
            weights[listed[a], listed[b]] = between[a, b]
    return counted


@inlined
def _flip_states_of(
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
    """Try to switch the shared states of a recording; return how often that was tried and accepted."""
    n_states = active.shape[0]
    if n_states > _MOST_DRAWN:
        return _flip_among_many(rng, i, order, log_odds, alpha, kappa, active, weights, data, room)
    for k in range(n_states):
        room.listed[k] = k
        room.columns[k] = k
    _draw_missing_weights(rng, active, alpha, kappa, weights)
    evidence = evaluate_series(i, n_states, data, room)
    tried, accepted = _flip_shared_states(rng, order, log_odds, active, weights, room.columns, evidence, room.scratch)
    _clear_missing_weights(active, weights)
    return tried, accepted


@jit
def _write_log_odds(n_others: FloatArray, n_recordings: int, concentration: float, log_odds: FloatArray) -> None:
    """Write the odds of a recording to have each state, given how many others have it; of none, minus infinity."""
    for k in range(n_others.shape[0]):
        log_odds[k] = -np.inf
        if n_others[k] > 0.0:
            log_odds[k] = np.log(n_others[k] / (n_recordings + concentration - 1.0 - n_others[k]))


@jit
def flip_in_turn(
    rng: Generator,
    series: IntArray,
    orders: IntArray,
    n_owners: FloatArray,
    concentration: float,
    alpha: float,
    kappa: float,
    active: BoolArray,
    weights: FloatArray,
    data: Data,
    room: Room,
    log_odds: FloatArray,
) -> tuple[int, int]:
    """Switch the shared states of all recordings, one after the other: each sees what the others have by then.

    Parameters
    ----------
    series : ndarray of shape (n_recordings,)
        In which order.
    orders : ndarray of shape (n_recordings, n_tried)
        Which states each recording tries, in order.
    n_owners : ndarray of shape (n_states,)
        Changed in place, as are the next two.
    active : ndarray of shape (n_recordings, n_states)
    weights : ndarray of shape (n_recordings, n_states, n_states)
    log_odds : ndarray of shape (n_states,)
        Scratch space.
    """
    n_tried, n_accepted, n_states = 0, 0, active.shape[1]
    for place in range(series.shape[0]):
        i = series[place]
        for k in range(n_states):
            n_owners[k] -= 1.0 if active[i, k] else 0.0
        _write_log_odds(n_owners, active.shape[0], concentration, log_odds)
        tried, accepted = _flip_states_of(rng, i, orders[i], log_odds, alpha, kappa, active[i], weights[i], data, room)
        for k in range(n_states):
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
    """Switch the shared states of some recordings by given odds, whatever becomes of the others."""
    n_tried, n_accepted = 0, 0
    for place in range(series.shape[0]):
        i = series[place]
        tried, accepted = _flip_states_of(rng, i, orders[i], log_odds, alpha, kappa, active[i], weights[i], data, room)
        n_tried += tried
        n_accepted += accepted
    return n_tried, n_accepted


@jit
def draw_paths(
    rng: Generator, series: IntArray, active: BoolArray, weights: FloatArray, data: Data, room: Room, path: IntArray
) -> float:
    """Draw the paths of some recordings; return their log-likelihood."""
    total = 0.0
    for place in range(series.shape[0]):
        i = series[place]
        n = list_states(active[i], room)
        evidence = evaluate_series(i, n, data, room)
        stretch = path[data.starts[i] : data.starts[i + 1]]
        total += _draw_series_path(rng, active[i], weights[i], room.columns, evidence, room.scratch, stretch)
    return total


@jit
def write_log_likelihoods(
    series: IntArray, active: BoolArray, weights: FloatArray, data: Data, room: Room, out: FloatArray
) -> None:
    """Write the log-likelihoods of some recordings, paths summed out."""
    for place in range(series.shape[0]):
        i = series[place]
        n = list_states(active[i], room)
        evidence = evaluate_series(i, n, data, room)
        out[place] = _series_log_likelihood(active[i], weights[i], room.columns, evidence, room.scratch)


@jit
def carry_weights(active: BoolArray, weights: FloatArray, places: IntArray, carried: FloatArray) -> None:
    """Copy the weights between the states that each recording has, to new places of these states.

    Most pairs of many states are of no recording, and are not looked at.

    Parameters
    ----------
    active : ndarray of shape (n_recordings, n_states)
    weights : ndarray of shape (n_recordings, n_states, n_states)
    places : ndarray of shape (n_states,)
        Negative for states that are left out.
    carried : ndarray of shape (n_recordings, n_places, n_places)
        Zeros, changed in place.
    """
    for i in range(active.shape[0]):
        for j in range(active.shape[1]):
            if active[i, j] and places[j] >= 0:
                for k in range(active.shape[1]):
                    if active[i, k] and places[k] >= 0:
                        carried[i, places[j], places[k]] = weights[i, j, k]


@jit
def count_transitions(path: IntArray, start: int, stop: int, counts: FloatArray, least_stay: int = 1) -> None:
    """Add the transitions of a recording to their counts, (n_states, n_states).

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
    """Add the transitions of all recordings to their counts, (n_recordings, n_states, n_states)."""
    for i in range(counts.shape[0]):
        count_transitions(path, starts[i], starts[i + 1], counts[i], least_stay)


@jit
def _draw_transition_weights(
    rng: Generator,
    active: BoolArray,
    counts: FloatArray,
    alpha: float,
    kappa: float,
    weights: FloatArray,
    leaving: float = 0.0,
) -> None:
    """Draw the weights between the states a recording has, given its path: a Dirichlet row times a gamma total.

    All other weights must be zero. Where the probability of leaving is fixed, a path says nothing of the weight of
    staying: it comes from its prior.
    """
    n, n_active = active.shape[0], 0.0
    for k in range(n):
        n_active += 1.0 if active[k] else 0.0
    for j in range(n):
        total = 0.0
        for k in range(n if active[j] else 0):
            if active[k] and not (j == k and leaving > 0.0):
                weights[j, k] = _draw_weight(rng, alpha + counts[j, k] + (kappa if j == k else 0.0))
                total += weights[j, k]
        # The data say nothing of the total, yet it decides how much a state added later takes from the others.
        prior_total = n_active * alpha + kappa if leaving == 0.0 else (n_active - 1.0) * alpha
        scale = rng.standard_gamma(prior_total) / max(total, _LEAST_WEIGHT) if prior_total > 0.0 else 0.0
        for k in range(n if active[j] else 0):
            if active[k] and not (j == k and leaving > 0.0):
                weights[j, k] = max(weights[j, k] * scale, _LEAST_WEIGHT)
        if leaving > 0.0 and active[j]:
            weights[j, j] = _draw_weight(rng, alpha + kappa)


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
    """Draw the weights of all recordings, (n_recordings, n_states, n_states)."""
    for i in range(active.shape[0]):
        _draw_transition_weights(rng, active[i], counts[i], alpha, kappa, weights[i], leaving)


@jit
def log_path_density(
    n: int, counts: FloatArray, active: BoolArray, alpha: float, kappa: float, leaving: float = 0.0
) -> float:
    """Log probability of the path of a recording, transition weights integrated out (docs/model.md, section 3.4).

    Where the probability of leaving is fixed, transition weights only say where to.

    Parameters
    ----------
    n : int
        Number of states.
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
        for k in range(n if active[j] else 0):  # there are no transitions from states that the recording does not have
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
    """Log probability of the paths of all recordings, transition weights integrated out."""
    total = 0.0
    for i in range(active.shape[0]):
        total += log_path_density(active.shape[1], counts[i], active[i], alpha, kappa, leaving)
    return total


@jit
def log_owner_density(n_owners: FloatArray, n_recordings: int, mass: float, concentration: float) -> float:
    """Log density of which recording has which state, states told apart (docs/model.md, section 3.3)."""
    total, log_rate = 0.0, np.log(mass * concentration) - lgamma(n_recordings + concentration)
    for k in range(n_owners.shape[0]):
        total += log_rate + lgamma(n_owners[k]) + lgamma(n_recordings - n_owners[k] + concentration)
    for i in range(n_recordings):
        total -= mass * concentration / (concentration + i)
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


class Source(NamedTuple):
    """Where the parameters of a new state come from."""

    shortest: int  # window
    longest: int
    data_driven: bool
    prior_scale: FloatArray  # (n, n)
    prior_factor: FloatArray  # (1, n, n)
    structure: Structure


class Births(NamedTuple):
    """How states come and go."""

    log_rate: float  # of states of one recording alone
    alpha: float
    kappa: float
    source: Source


class Window(NamedTuple):
    """The posterior of a stretch of the recording: what a new state may look like."""

    sizes: FloatArray  # (1,)
    scales: FloatArray  # (1, n, n)
    factors: FloatArray  # (1, n, n)


class Newborns(NamedTuple):
    """What every recording would have if its birth were accepted, the newborn last."""

    active: BoolArray  # (n_recordings, n_states + 1)
    weights: FloatArray  # (n_recordings, n_states + 1, n_states + 1)
    whiteners: FloatArray  # (n_recordings, n_dims, n)
    tags: IntArray = NO_LABELS.tags  # (n_recordings,) of the newborns; empty if no labels are known


def build_window(n: int) -> Window:
    """Allocate a window over steps of `n` numbers."""
    return Window(np.zeros(1), np.zeros((1, n, n)), np.zeros((1, n, n)))


@jit
def _birth_probability(n_unique: int, n_active: int) -> float:
    """Return how often a birth is tried rather than a death."""
    return 1.0 if n_unique == 0 or n_active == 1 else 0.5


@jit
def _log_move_ratio(n_unique: int, n_active: int) -> float:
    """Log of the chance to undo a birth over the chance to try it, at the smaller state."""
    death = (1.0 - _birth_probability(n_unique + 1, n_active + 1)) / (n_unique + 1)
    return np.log(death / _birth_probability(n_unique, n_active))


@inlined
def _draw_window(
    rng: Generator, z: FloatArray, start: int, stop: int, weight: float, source: Source, window: Window
) -> None:
    """Draw a stretch of a recording, whatever the state of the chain, and write its posterior."""
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
def _propose_parameters(rng: Generator, source: Source, window: Window, whitener: FloatArray) -> None:
    """Draw parameters of a new state from the prior, or half of the time from the posterior of the window."""
    if source.data_driven and rng.random() < 0.5:
        draw_whitener(rng, ZERO, window.sizes[0], window.factors, source.structure, whitener)
    else:
        draw_whitener(rng, ZERO, 0.0, source.prior_factor, source.structure, whitener)


@jit
def _log_prior_over_proposal(source: Source, window: Window, whitener: FloatArray) -> float:
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
def _draw_newborn_weights(rng: Generator, active: BoolArray, alpha: float, kappa: float, weights: FloatArray) -> None:
    """Draw the weights of the last slot from and to the states of a recording."""
    newborn = active.shape[0] - 1
    for k in range(newborn):
        if active[k]:
            weights[k, newborn] = _draw_weight(rng, alpha)
            weights[newborn, k] = _draw_weight(rng, alpha)
    weights[newborn, newborn] = _draw_weight(rng, alpha + kappa)


@inlined
def _draw_unique(rng: Generator, n_unique: int, n_owners: FloatArray, active: BoolArray) -> int:
    """Draw one of the states a recording has alone."""
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
    """Try one birth or death in a recording; return the place of the newborn, of the dead state, or `NOTHING`."""
    active, weights, n_states = newborns.active[i], newborns.weights[i], n_owners.shape[0]
    start, stop = data.starts[i], data.starts[i + 1]
    n_own, n_unique = list_states(active, room), 0
    for k in range(n_states):
        n_unique += 1 if active[k] and n_owners[k] == 1.0 else 0
    has_gaps = data.gaps.steps.shape[0] > 0
    # Missing values are summed out: what is proposed must not depend on those of the chain.
    shown = data.gaps.fill if has_gaps else data.z
    _draw_window(rng, shown, start, stop, data.weight, births.source, window)
    born = rng.random() < _birth_probability(n_unique, n_own)
    evidence = _evidence_in(stop - start, n_own + 1 if born else n_own, room)
    log = evidence.log
    _write_listed(i, n_own, data, room, log)
    if born:
        place, whitener = n_states, newborns.whiteners[i]
        _propose_parameters(rng, births.source, window, whitener)
        _draw_newborn_weights(rng, active, births.alpha, births.kappa, weights)
        room.columns[place] = n_own
        write_evidence(
            data.z[start:stop], 0, stop - start, whitener, data.weight, data.structure, n_own, log, room.block
        )
        if has_gaps:
            leave_out_missing(i, start, data.z, whitener, data.weight, data.structure, data.gaps, n_own, log)
        if data.known.labels.shape[0] > 0:
            rule_out_labels(start, newborns.tags[i], data.known.labels, n_own, log)
    else:
        place = _draw_unique(rng, n_unique, n_owners, active)
        whitener = data.whiteners[place]
    scale_if_needed(evidence, room.scratch)
    before = _series_log_likelihood(active, weights, room.columns, evidence, room.scratch)
    active[place] = born
    after = _series_log_likelihood(active, weights, room.columns, evidence, room.scratch)
    # A death is a birth undone: the ratio of the birth, at the smaller of both states, counts the other way.
    n_less = 0 if born else 1
    log_birth = births.log_rate + _log_move_ratio(n_unique - n_less, n_own - n_less)
    log_birth += _log_prior_over_proposal(births.source, window, whitener)
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
    """Let some recordings try one birth or death each, whatever becomes of the others."""
    for place in range(series.shape[0]):
        i = series[place]
        outcomes[i] = jump(rng, i, n_owners, births, data, window, room, newborns)
