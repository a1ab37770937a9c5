"""Compiled proposals of states and paths under plug-in parameters, recording after recording.

See docs/model.md, section 3.10.

What splits and merges have in common: a recording that owns some states draws its path through them, or follows a given
one, and how likely that was is the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import ZERO, inlined, jit
from homothety.models.emissions._kernels import add_steps_of, factorise, log_evidence_constant, write_mean_whitener
from homothety.models.ibphmm._kernels import (
    build_room,
    draw_sticky_path,
    evaluate_series,
    list_states,
    log_owner_density,
    log_sticky_path_density,
    scale_if_needed,
    sticky_log_likelihood,
)

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.emissions._kernels import Structure
    from homothety.models.hmm._kernels import Evidence
    from homothety.models.ibphmm._kernels import Data, Room

NEITHER, FIRST, SECOND, BOTH = 0, 1, 2, 3  # what a recording has of the two halves
ANYWHERE = (-1, -1)  # steps of all states may be drawn into any state


class Trial(NamedTuple):
    """What a proposal reads and writes."""

    data: Data  # with plug-in parameters
    active: BoolArray  # (n_recordings, n_states)
    path: IntArray  # (n_steps,) written
    target_path: IntArray  # (n_steps,) what to follow, if nothing is drawn
    target_active: BoolArray  # (n_recordings, n_states) likewise
    drawn: bool
    alpha: float
    kappa: float
    between: tuple[int, int]  # two states: steps in these stay in these, all others where they are; or ANYWHERE


class Halves(NamedTuple):
    """The two halves of a state, and what is known of them so far."""

    states: IntArray  # (2,)
    n_owners: FloatArray  # (2,)
    sizes: FloatArray  # (2,)
    scales: FloatArray  # (2, n, n)
    factors: FloatArray  # (2, n, n)
    concentration: float


class Workspace(NamedTuple):
    """Room for one recording, and what a proposal needs besides."""

    room: Room
    states: IntArray  # (n_states,) columns in use
    positions: IntArray  # (n_states,)
    stretch: IntArray  # (longest,)
    log_weights: FloatArray  # (4,) of the choices between halves
    log_likelihoods: FloatArray  # (4,)


def build_workspace(data: Data, n_states: int) -> Workspace:
    """Allocate room for the longest recording with so many states."""
    room = build_room(data, n_states)
    states, positions = np.empty((2, n_states), dtype=np.int64)
    log_weights, log_likelihoods = np.empty((2, 4))
    stretch = np.empty(len(room.offsets), dtype=np.int64)
    return Workspace(room, states, positions, stretch, log_weights, log_likelihoods)


@jit
def write_union_gains(
    a: int,
    has: BoolArray,
    sizes: FloatArray,
    scales: FloatArray,
    alone: FloatArray,
    prior_scale: FloatArray,
    log_prior_constant: float,
    structure: Structure,
    union: FloatArray,
    factor: FloatArray,
    out: FloatArray,
) -> None:
    """Write how much likelier the steps of `a` and of each other state of a recording are together than apart.

    Parameters
    ----------
    has : ndarray of bool, shape (n_states,)
        States in question.
    alone : ndarray of shape (n_states,)
        Log marginal likelihoods of the steps of every state.
    union, factor : ndarray of shape (1, n, n)
        Scratch space.
    out : ndarray of shape (n_states,)
        Minus infinity for other states, and for `a`.
    """
    for b in range(has.shape[0]):
        out[b] = -np.inf
        if has[b] and b != a:
            size = sizes[a] + sizes[b]
            for p in range(prior_scale.shape[0]):
                for q in range(prior_scale.shape[1]):
                    union[0, p, q] = scales[a, p, q] + scales[b, p, q] - prior_scale[p, q]
            factorise(ZERO, union, factor, structure)
            together = log_evidence_constant(ZERO, size, factor, structure) - log_prior_constant
            out[b] = together - alone[b] - alone[a]


@jit
def write_second_choice(a: int, has: BoolArray, uniform_share: float, gains: FloatArray) -> None:
    """Turn gains into log probabilities of choosing each state of the second recording after `a` in the first.

    The same state has twice the chance of all others together; a small share is uniform, so that every pair is
    possible.
    """
    n_own, largest, total = 0, -np.inf, 0.0
    for b in range(has.shape[0]):
        n_own += 1 if has[b] else 0
        largest = max(largest, gains[b])
    for b in range(has.shape[0]):
        gains[b] = np.exp(gains[b] - largest) if gains[b] > -np.inf else 0.0
        total += gains[b]
    others = (1.0 / 3.0 if has[a] else 1.0) if total > 0.0 else 0.0
    for b in range(has.shape[0]):
        share = gains[b] / total * others if total > 0.0 else 0.0
        if b == a and has[a]:
            share = 1.0 - others
        gains[b] = np.log((1.0 - uniform_share) * share + (uniform_share / n_own if has[b] else 0.0))


@jit
def _propose_stretch(
    rng: Generator, i: int, states: IntArray, evidence: Evidence, log_likelihood: float, trial: Trial, work: Workspace
) -> float:
    """Draw the path of a recording through the columns `states`, or follow the target; return its log probability.

    The log-likelihood, paths summed out, is needed only to follow: a draw works it out itself.
    """
    start, stretch = trial.data.starts[i], work.stretch[: evidence.offsets.shape[0]]
    alpha, kappa = trial.alpha, trial.kappa
    if trial.drawn:
        log_likelihood = draw_sticky_path(rng, states, alpha, kappa, evidence, work.room.scratch, stretch)
    for t in range(stretch.shape[0]):
        if trial.drawn:
            trial.path[start + t] = work.room.listed[stretch[t]]
        else:
            trial.path[start + t] = trial.target_path[start + t]
            stretch[t] = work.room.columns[trial.path[start + t]]
            if stretch[t] == work.room.columns.shape[0]:
                return -np.inf
    return (
        log_sticky_path_density(states, alpha, kappa, evidence.log, work.room.scratch, work.positions, stretch)
        - log_likelihood
    )


@jit
def _rule_out_others(i: int, trial: Trial, room: Room, log: FloatArray) -> None:
    """Leave the steps of a recording that are in one of two states to these two, and all others where they are."""
    (a, b), start = trial.between, trial.data.starts[i]
    for t in range(log.shape[0]):
        k = trial.target_path[start + t]
        for column in range(log.shape[1]):
            state = room.listed[column]
            if state != k and not (k in (a, b) and state in (a, b)):
                log[t, column] = -np.inf


@jit
def redraw_paths(rng: Generator, owners: IntArray, least: float, trial: Trial, work: Workspace) -> float:
    """Draw the paths of some recordings through the states they have, or follow the target; return the log probability.

    Parameters
    ----------
    rng : Generator
    owners : ndarray of shape (n_owners,)
    least : float
        Once the log probability is lower, minus infinity will do.
    trial : Trial
        Its path is written, those of other recordings left alone.
    work : Workspace
    """
    total = 0.0
    for place in range(owners.shape[0]):
        i = owners[place]
        n = list_states(trial.active[i], work.room)
        evidence = evaluate_series(i, n, trial.data, work.room)
        if trial.between[0] >= 0:
            _rule_out_others(i, trial, work.room, evidence.log)
            scale_if_needed(evidence, work.room.scratch)
        for column in range(n):
            work.states[column] = column
        states, known = work.states[:n], 0.0
        if not trial.drawn:
            known = sticky_log_likelihood(states, trial.alpha, trial.kappa, evidence, work.room.scratch)
        total += _propose_stretch(rng, i, states, evidence, known, trial, work)
        if total < least:
            return -np.inf
    return total


@jit
def _count_halves(i: int, sign: float, trial: Trial, halves: Halves) -> None:
    """Add what a recording has of the halves to their statistics, or take it away."""
    for row in range(2):
        half = halves.states[row]
        halves.n_owners[row] += sign if trial.active[i, half] else 0.0
        start, stop = trial.data.starts[i], trial.data.starts[i + 1]
        add_steps_of(
            half, trial.data.z, trial.path, start, stop, sign * trial.data.weight, row, halves.scales, halves.sizes
        )


@jit
def update_halves(data: Data, halves: Halves) -> None:
    """Set the parameters of both halves to what their steps so far say."""
    structure = data.structure
    for row in range(2):
        factorise(row, halves.scales, halves.factors, structure)
        whitener = data.whiteners[halves.states[row]]
        write_mean_whitener(row, halves.sizes[row], halves.factors, structure, whitener)


@inlined
def _log_option_prior(option: int, kept: int, n_seen: float, halves: Halves) -> float:
    """Log prior probability of what a recording may take of the halves, given those it keeps anyway."""
    total = 0.0
    for row in range(2):
        if not kept & (row + 1):
            share = halves.n_owners[row] / (n_seen + halves.concentration)
            total += np.log(share if option & (row + 1) else 1.0 - share)
    return total


@jit
def _list_option(option: int, n_listed: int, work: Workspace) -> IntArray:
    """Return the columns of a recording that takes `option`: all but the two halves, and the halves it takes."""
    n = n_listed - 2
    for column in range(n):
        work.states[column] = column
    for row in range(2):
        if option & (row + 1):
            work.states[n] = n_listed - 2 + row
            n += 1
    return work.states[:n]


@inlined
def _normalise_logs(log_weights: FloatArray) -> None:
    """Make weights, given as logarithms, sum to one."""
    largest, total = log_weights.max(), 0.0
    for option in range(log_weights.shape[0]):
        total += np.exp(log_weights[option] - largest)
    for option in range(log_weights.shape[0]):
        log_weights[option] -= largest + np.log(total)


@inlined
def _draw_option(rng: Generator, log_weights: FloatArray) -> int:
    """Draw one of the options, which sum to one."""
    threshold, total, option = rng.random(), 0.0, BOTH
    for candidate in range(BOTH, NEITHER, -1):
        if log_weights[candidate] > -np.inf and total <= threshold:
            total += np.exp(log_weights[candidate])
            option = candidate
    return option


@inlined
def _given_option(i: int, trial: Trial, halves: Halves) -> int:
    """Return what the target has of the halves in a recording."""
    option = NEITHER
    for row in range(2):
        option += row + 1 if trial.target_active[i, halves.states[row]] else 0
    return option


@inlined
def _list_with_halves(i: int, trial: Trial, halves: Halves, work: Workspace) -> int:
    """List the states of a recording with both halves as the last two, in order; it owns neither for the moment."""
    first, second = halves.states[0], halves.states[1]
    trial.active[i, first] = False
    trial.active[i, second] = False
    n = list_states(trial.active[i], work.room)
    work.room.listed[n], work.room.listed[n + 1] = first, second
    work.room.columns[first], work.room.columns[second] = n, n + 1
    return n + 2


@inlined
def _choose_halves(
    rng: Generator, i: int, kept: int, n_seen: float, trial: Trial, halves: Halves, work: Workspace
) -> float:
    """Let a recording choose halves and path, or follow the target; return the log probability of that.

    What is known of the halves is left as it is.

    Parameters
    ----------
    kept : {NEITHER, FIRST, SECOND}
        What it has for sure: an anchor keeps its own half.
    n_seen : float
        How many recordings have chosen.
    """
    n = _list_with_halves(i, trial, halves, work)
    evidence = evaluate_series(i, n, trial.data, work.room)
    for option in range(4):
        work.log_weights[option] = -np.inf
        if option == NEITHER or (option & kept) != kept:
            continue
        states = _list_option(option, n, work)
        known = sticky_log_likelihood(states, trial.alpha, trial.kappa, evidence, work.room.scratch)
        work.log_likelihoods[option] = known
        work.log_weights[option] = known + _log_option_prior(option, kept, n_seen, halves)
    _normalise_logs(work.log_weights)
    chosen = _draw_option(rng, work.log_weights) if trial.drawn else _given_option(i, trial, halves)
    for row in range(2):
        trial.active[i, halves.states[row]] = (chosen & (row + 1)) > 0
    states, known = _list_option(chosen, n, work), work.log_likelihoods[chosen]
    log_path = _propose_stretch(rng, i, states, evidence, known, trial, work)
    return work.log_weights[chosen] + log_path


@jit
def choose_together(
    rng: Generator,
    series: IntArray,
    kept: int,
    n_seen: float,
    least: float,
    trial: Trial,
    halves: Halves,
    work: Workspace,
) -> float:
    """Let some recordings choose, none of which sees another's choice; return the log probability of all choices."""
    total = 0.0
    for place in range(series.shape[0]):
        total += _choose_halves(rng, series[place], kept, n_seen, trial, halves, work)
        if total < least:
            return -np.inf
    return total


@jit
def count_all_halves(series: IntArray, sign: float, trial: Trial, halves: Halves) -> None:
    """Add what some recordings have of the halves to their statistics, or take it away; then set their parameters."""
    for place in range(series.shape[0]):
        _count_halves(series[place], sign, trial, halves)
    update_halves(trial.data, halves)


@jit
def allocate_halves(
    rng: Generator,
    order: IntArray,
    first: int,
    second: int,
    least: float,
    trial: Trial,
    halves: Halves,
    work: Workspace,
) -> float:
    """Let all owners of a state choose between its halves, each by what those before it chose.

    Returns the log probability of what came of it.

    Parameters
    ----------
    order : ndarray of shape (n_others,)
        Owners but the anchors, who own neither half yet.
    first, second : int
        The anchors, who own a half each, with their steps in it. They choose last, once more.
    least : float
        Once the log probability is lower, minus infinity will do.
    """
    total, n_recordings, n_others = 0.0, trial.active.shape[0], order.shape[0]
    anchors = (first, second)
    for row in range(2):
        _count_halves(anchors[row], 1.0, trial, halves)
    # One call for all of them: a kernel is compiled anew for every constant it is called with.
    for place in range(n_others + 2):
        kept = max(place - n_others + 1, 0)  # NEITHER, and for the anchors FIRST and SECOND
        i = anchors[kept - 1] if kept else order[place]
        if kept:
            _count_halves(i, -1.0, trial, halves)
        update_halves(trial.data, halves)
        n_seen = min(n_recordings - n_others + place, n_recordings - 1)
        total += _choose_halves(rng, i, kept, float(n_seen), trial, halves, work)
        if total < least:
            return -np.inf
        _count_halves(i, 1.0, trial, halves)
    return total


class Pair(NamedTuple):
    """Statistics of two states: what each recording has of them, and sums over the recordings visited so far."""

    sizes: FloatArray  # (n_recordings, 2)
    scales: FloatArray  # (n_recordings, 2, n, n)
    total_sizes: FloatArray  # (2,)
    totals: FloatArray  # (2, n, n) with the prior
    scale: FloatArray  # (1, n, n) scratch space, as the next
    factor: FloatArray  # (1, n, n)


@jit
def _log_evidence_with(k: int, i: int, part: int, pair: Pair, structure: Structure) -> float:
    """Return the log evidence of state `k` if it gets what recording `i` has of one of the two; up to a constant."""
    for p in range(pair.scale.shape[1]):
        for q in range(pair.scale.shape[2]):
            pair.scale[0, p, q] = pair.totals[k, p, q] + pair.scales[i, part, p, q]
    factorise(ZERO, pair.scale, pair.factor, structure)
    return log_evidence_constant(ZERO, pair.total_sizes[k] + pair.sizes[i, part], pair.factor, structure)


@jit
def _turn_in_order(
    rng: Generator,
    order: IntArray,
    follows: bool,
    prior_scale: FloatArray,
    pair: Pair,
    structure: Structure,
    turned: BoolArray,
) -> tuple[float, float]:
    """Let recordings choose, one after the other, if the two states change places in them; the first one does not.

    Each chooses by how well its steps go together with those of the recording before it. If `follows`, none turns.

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
        stays = _log_evidence_with(0, i, 0, pair, structure) + _log_evidence_with(1, i, 1, pair, structure)
        turns = _log_evidence_with(0, i, 1, pair, structure) + _log_evidence_with(1, i, 0, pair, structure)
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
    mass: float,
    concentration: float,
    active: BoolArray,
    path: IntArray,
    tags: IntArray,
) -> int:
    """Try some times to swap two states in some recordings; return how often that was accepted.

    States that hold labelled steps are left alone; `tags` (n_states,) says which these are, and is empty for none.
    """
    (n_recordings, n_states), n, n_accepted = active.shape, z.shape[1], 0
    pair = Pair(
        np.empty((n_recordings, 2)),
        np.empty((n_recordings, 2, n, n)),
        np.empty(2),
        np.empty((2, n, n)),
        np.empty((1, n, n)),
        np.zeros((1, n, n)),
    )
    turned, owners = np.zeros(n_recordings, dtype=np.bool_), np.empty(2)
    for _ in range(n_trials):
        a, b = int(rng.integers(0, n_states)), int(rng.integers(0, n_states - 1))
        b += 1 if b >= a else 0
        if tags.shape[0] > 0 and (tags[a] >= 0 or tags[b] >= 0):
            continue
        order = np.flatnonzero(active[:, a] | active[:, b])
        rng.shuffle(order)
        for i in order:
            pair.sizes[i] = 0.0
            pair.scales[i] = 0.0
            add_steps_of(a, z, path, starts[i], starts[i + 1], weight, 0, pair.scales[i], pair.sizes[i])
            add_steps_of(b, z, path, starts[i], starts[i + 1], weight, 1, pair.scales[i], pair.sizes[i])
        log_back, log_current = _turn_in_order(rng, order, True, prior_scale, pair, structure, turned)
        log_forth, log_proposed = _turn_in_order(rng, order, False, prior_scale, pair, structure, turned)
        owners[0], owners[1] = np.sum(active[:, a]), np.sum(active[:, b])
        log_ratio = log_proposed - log_current + log_back - log_forth
        log_ratio -= log_owner_density(owners, n_recordings, mass, concentration)
        n_moved = 0
        for i in order:
            if turned[i]:
                gained = int(active[i, b]) - int(active[i, a])
                owners[0] += gained
                owners[1] -= gained
                n_moved += 1
        if n_moved == 0 or owners[0] == 0.0 or owners[1] == 0.0:
            continue
        log_ratio += log_owner_density(owners, n_recordings, mass, concentration)
        if not np.log(rng.random()) < log_ratio:  # a ratio that is NaN is refused
            continue
        n_accepted += 1
        for i in order:
            if turned[i]:
                active[i, a], active[i, b] = active[i, b], active[i, a]
                for t in range(starts[i], starts[i + 1]):
                    path[t] = b if path[t] == a else (a if path[t] == b else path[t])
    return n_accepted
