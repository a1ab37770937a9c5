"""Compiled messages of a hidden Markov model whose stays last at least `least_stay` steps.

A state that is entered is kept for `least_stay` steps, whatever the transition probabilities say. From then on the stay
may end: each further step is a transition, to the same state or to another. The first stay of a recording may end at
once, since nobody knows when it began, and the last one may be cut off by the end. So a path has a factor `initial` for
its first step, a factor for every change of state, and a self-transition for every further step of the first stay and
for every step of a later stay beyond its first `least_stay`.

All messages are logarithms, each state with its own: a stay that has to go on can be the only one left however bad it
looks, so states cannot share one scale as they do in `_kernels.py`. The evidence of the first steps of a stay is a sum
over a window. It is added up from sums that end and begin at a multiple of `least_stay`: nothing is subtracted, so
minus infinity stays a value and long recordings lose no digits.

With a least stay of one this is the model of `_kernels.py`, which is faster. No kernel allocates or checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety._jit import inlined, jit
from homothety.models.hmm._kernels import Chain, exp_of_negative, predict

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray

NEGLIGIBLE = 40.0  # nats: adding a number that is smaller by so much changes nothing
_LEAST_SUM = 1e-200  # shares that sum to less are added up through logarithms
_LEAST_PROBABILITY = 1e-25  # of an entry: what is less adds nothing to expected counts


def stay_room(least_stay: int, n_active: int) -> FloatArray:
    """Allocate working space of the kernels, for up to so many states and so long a least stay."""
    return np.empty((3 * least_stay + 4 + n_active) * n_active)


@inlined
def _entries_in(least: int, n_active: int, room: FloatArray) -> FloatArray:
    """Return where probabilities of entering each state stand, (least, n_active), steps in turn.

    They are shares: the logarithms of what they are shares of stand in `_scales_in`.
    """
    return room[: least * n_active].reshape(least, n_active)


@inlined
def _scales_in(least: int, n_active: int, room: FloatArray) -> FloatArray:
    """Return where the logarithms of scales of entries stand, (least, n_active)."""
    return room[least * n_active : 2 * least * n_active].reshape(least, n_active)


@inlined
def _sums_in(least: int, n_active: int, room: FloatArray) -> FloatArray:
    """Return where sums of evidence stand, (least + 2, n_active): see `_write_windows`."""
    return room[2 * least * n_active : (3 * least + 2) * n_active].reshape(least + 2, n_active)


@inlined
def _log_add(a: float, b: float) -> float:
    """Logarithm of a sum of two numbers given as logarithms."""
    larger, smaller = (a, b) if a > b else (b, a)
    # The difference of two infinities is no number, and not below any.
    return larger + np.log1p(np.exp(smaller - larger)) if larger - smaller < NEGLIGIBLE else larger


@inlined
def _log_or_minus_infinity(x: float) -> float:
    """Logarithm, of zero too."""
    return np.log(x) if x > 0.0 else -np.inf


@inlined
def _log_entered(entry: int, k: int, entries: FloatArray, scales: FloatArray) -> float:
    """Log probability of the recording before a step and of entering a state there."""
    row = entry % entries.shape[0]
    return _log_or_minus_infinity(entries[row, k]) + scales[row, k]


@inlined
def _log_add_share(value: float, share: float, log_scale: float) -> float:
    """Logarithm of the sum of a number, given as its logarithm, and a share of another.

    Takes no logarithm where the share adds nothing, which is most of the time.
    """
    difference = value - log_scale
    # The difference of two infinities is no number, and not above any.
    if difference > NEGLIGIBLE or share == 0.0 or log_scale == -np.inf:
        return value
    return log_scale + np.log(share + np.exp(difference))


@inlined
def _write_windows(t: int, least: int, log_evidence: FloatArray, states: IntArray, sums: FloatArray) -> None:
    """Write the evidence of the last `least` steps up to `t` into the last row of `sums`; of fewer, something else.

    Steps are taken in turn. Rows before hold, of the last full block of `least` steps, sums from each step to its end,
    and the sum of the block that has begun.
    """
    place = t % least
    for k in range(states.shape[0]):
        begun = log_evidence[t, states[k]] + (sums[least, k] if place > 0 else 0.0)
        sums[least, k] = begun
        sums[least + 1, k] = begun + sums[place + 1, k] if t >= least and place + 1 < least else begun
    if place + 1 == least:
        for k in range(states.shape[0]):
            total = 0.0
            for back in range(least):
                total += log_evidence[t - back, states[k]]
                sums[least - 1 - back, k] = total


@jit
def _log_entry(k: int, free: FloatArray, before: int, transition: FloatArray) -> float:
    """Log probability of leaving another state for `k`, from logarithms alone."""
    largest, total = -np.inf, 0.0
    for j in range(transition.shape[0]):
        if j != k and transition[j, k] > 0.0 and free[before, j] > -np.inf:
            value = free[before, j] + np.log(transition[j, k])
            if value > largest:
                total = total * np.exp(largest - value) + 1.0
                largest = value
            else:
                total += np.exp(value - largest)
    return largest + np.log(total) if largest > -np.inf else largest


@jit
def _write_entries(
    free: FloatArray,
    before: int,
    transition: FloatArray,
    leaving: FloatArray,
    shares: FloatArray,
    entries: FloatArray,
    scales: FloatArray,
    row: int,
) -> None:
    """Write probabilities of entering each state, from those of stays that may end one step before.

    Parameters
    ----------
    free : ndarray of shape (n_rows, n_active)
        Row `before` is read.
    transition, leaving : ndarray of shape (n_active, n_active)
        The second without its diagonal.
    shares : ndarray of shape (1, n_active)
        Scratch space.
    entries, scales : ndarray of shape (n_entries, n_active)
        Row `row` is written: shares, and the logarithms of what they are shares of.
    """
    n_active, largest = transition.shape[0], -np.inf
    for j in range(n_active):
        largest = max(largest, free[before, j])
    if largest == -np.inf:
        for k in range(n_active):
            entries[row, k] = 0.0
            scales[row, k] = 0.0
        return
    for j in range(n_active):
        shares[0, j] = exp_of_negative(free[before, j] - largest)
    predict(shares, 0, leaving, entries, row)
    for k in range(n_active):
        scales[row, k] = largest
        # Where the sum is that small it may have lost states, most often since nearly everything is in `k` itself.
        if entries[row, k] < _LEAST_SUM:
            log_scale = _log_entry(k, free, before, transition)
            # Zero at any scale, if it cannot be entered.
            entries[row, k] = 1.0 if log_scale > -np.inf else 0.0
            scales[row, k] = log_scale if log_scale > -np.inf else 0.0


@jit
def filter_stays(log_evidence: FloatArray, chain: Chain, least_stay: int, free: FloatArray, room: FloatArray) -> float:
    """Log-likelihood of a recording whose stays last at least so many steps, paths summed out.

    Parameters
    ----------
    log_evidence : ndarray of shape (n_steps, n_states)
    chain : Chain
    least_stay : int
    free : ndarray of shape (n_rows, n_active)
        Written, rows in turn: log probability of the recording so far and of being in a stay that may end. With as many
        rows as steps all are kept, which `draw_stays` and `smooth_stays` need; two are enough for the log-likelihood.
    room : ndarray
        As `stay_room` allocates it, for this least stay or a longer one. Holds what those two kernels need besides.

    Returns
    -------
    log_likelihood : float
        Minus infinity if no path is possible.
    """
    states, initial, transition = chain
    n_steps, n_active, n_rows = log_evidence.shape[0], states.shape[0], free.shape[0]
    least = min(least_stay, n_steps)
    entries, scales = _entries_in(least, n_active, room), _scales_in(least, n_active, room)
    sums, rest = _sums_in(least, n_active, room), room[(3 * least + 2) * n_active :]
    shares, log_self = rest[:n_active].reshape(1, n_active), rest[n_active : 2 * n_active]
    leaving = rest[2 * n_active : (2 + n_active) * n_active].reshape(n_active, n_active)
    for j in range(n_active):
        log_self[j] = _log_or_minus_infinity(transition[j, j])
        for k in range(n_active):
            leaving[j, k] = transition[j, k] if j != k else 0.0
    row = 0
    for t in range(n_steps):
        before = row - 1 if row > 0 else n_rows - 1
        _write_windows(t, least, log_evidence, states, sums)
        if t == 0:
            for k in range(n_active):
                free[row, k] = _log_or_minus_infinity(initial[k]) + log_evidence[t, states[k]]
        else:
            entry = t - least + 1
            _write_entries(free, before, transition, leaving, shares, entries, scales, t % least)
            for k in range(n_active):
                value = free[before, k] + log_self[k] + log_evidence[t, states[k]]
                if entry >= 1:
                    place = entry % least
                    value = _log_add_share(value, entries[place, k], scales[place, k] + sums[least + 1, k])
                free[row, k] = value
        row = row + 1 if row + 1 < n_rows else 0
    return _log_end(log_evidence, states, least, free, row - 1 if row > 0 else n_rows - 1, entries, scales)


@jit
def _log_end(
    log_evidence: FloatArray,
    states: IntArray,
    least: int,
    free: FloatArray,
    last: int,
    entries: FloatArray,
    scales: FloatArray,
) -> float:
    """Log-likelihood from the last row of `free` and the stays that the end cuts off."""
    n_steps, total = log_evidence.shape[0], -np.inf
    for k in range(states.shape[0]):
        total = _log_add(total, free[last, k])
        tail = 0.0
        for entry in range(n_steps - 1, max(n_steps - least, 0), -1):
            tail += log_evidence[entry, states[k]]
            total = _log_add(total, _log_entered(entry, k, entries, scales) + tail)
    return total


@inlined
def _draw_end(
    rng: Generator,
    log_evidence: FloatArray,
    states: IntArray,
    least: int,
    log_likelihood: float,
    free: FloatArray,
    entries: FloatArray,
    scales: FloatArray,
) -> tuple[int, int]:
    """Draw the last state, and where it was entered if the end cuts its stay off; else minus one."""
    n_steps, threshold, total = log_evidence.shape[0], rng.random(), 0.0
    drawn, entered = 0, -1
    for k in range(states.shape[0]):
        if free[n_steps - 1, k] > -np.inf and total <= threshold:
            total += np.exp(free[n_steps - 1, k] - log_likelihood)
            drawn, entered = k, -1
        tail = 0.0
        for entry in range(n_steps - 1, max(n_steps - least, 0), -1):
            tail += log_evidence[entry, states[k]]
            value = _log_entered(entry, k, entries, scales) + tail
            if value > -np.inf and total <= threshold:
                total += np.exp(value - log_likelihood)
                drawn, entered = k, entry
    return drawn, entered


@inlined
def _write_origins(k: int, free: FloatArray, before: int, transition: FloatArray, shares: FloatArray) -> float:
    """Write how probable each state is to be the one left for `k`, up to a factor; return the sum."""
    largest, total = -np.inf, 0.0
    for j in range(transition.shape[0]):
        shares[j] = -np.inf
        if j != k and transition[j, k] > 0.0:
            shares[j] = free[before, j] + np.log(transition[j, k])
        largest = max(largest, shares[j])
    for j in range(transition.shape[0]):
        shares[j] = np.exp(shares[j] - largest) if shares[j] > -np.inf else 0.0
        total += shares[j]
    return total


@jit
def draw_stays(
    rng: Generator,
    log_evidence: FloatArray,
    chain: Chain,
    least_stay: int,
    log_likelihood: float,
    free: FloatArray,
    room: FloatArray,
    cumulative: FloatArray,
    numbers: IntArray,
    path: IntArray,
) -> None:
    """Draw a path from its posterior, last stay first.

    Parameters
    ----------
    rng : Generator
    log_evidence, chain, least_stay
        As in `filter_stays`.
    log_likelihood : float
        What `filter_stays` returned, for a recording with a possible path.
    free, room : ndarray
        As `filter_stays` leaves them, all steps kept.
    cumulative : ndarray of shape (n_active,)
        Scratch space.
    numbers : ndarray of shape (n_active,)
        What a path calls the states.
    path : ndarray of shape (n_steps,)
        Written.
    """
    (n_steps, n_active), (states, _, transition) = free.shape, chain
    least = min(least_stay, n_steps)
    entries, scales, t = _entries_in(least, n_active, room), _scales_in(least, n_active, room), n_steps - 1
    k, entered = _draw_end(rng, log_evidence, states, least, log_likelihood, free, entries, scales)
    while t >= 0:
        if entered < 0:
            # A stay that may end: one step before, it did so too, or has just begun to.
            path[t] = numbers[k]
            if t == 0:
                break
            if t >= least:
                log_stay = free[t - 1, k] + _log_or_minus_infinity(transition[k, k]) + log_evidence[t, states[k]]
                if rng.random() >= np.exp(log_stay - free[t, k]):
                    entered = t - least + 1
            if entered < 0:
                t -= 1
                continue
        for r in range(entered, t + 1):
            path[r] = numbers[k]
        total = _write_origins(k, free, entered - 1, transition, cumulative)
        threshold, reached, origin = rng.random() * total, 0.0, k
        for j in range(n_active):
            if cumulative[j] > 0.0 and reached <= threshold:
                reached += cumulative[j]
                origin = j
        t, k, entered = entered - 1, origin, -1


@jit
def log_stay_density(
    path: IntArray, log_evidence: FloatArray, chain: Chain, least_stay: int, positions: IntArray
) -> float:
    """Log density of a path and its recording together; minus infinity if a stay is too short.

    Parameters are those of `log_path_density`, and the least stay.
    """
    states, initial, transition = chain
    n_active = states.shape[0]
    for k in range(positions.shape[0]):
        positions[k] = n_active
    for k in range(n_active):
        positions[states[k]] = k
    log_density, before, left = 0.0, n_active, 0  # steps for which the stay must go on
    for t in range(path.shape[0]):
        k = positions[path[t]]
        if k == n_active:
            return -np.inf
        log_density += log_evidence[t, path[t]]
        if t == 0:
            log_density += _log_or_minus_infinity(initial[k])
        elif k != before:
            if left > 0:
                return -np.inf
            log_density += _log_or_minus_infinity(transition[before, k])
            left = least_stay - 1
        elif left > 0:
            left -= 1
        else:
            log_density += _log_or_minus_infinity(transition[k, k])
        before = k
    return log_density


@jit
def smooth_stays(
    log_evidence: FloatArray,
    chain: Chain,
    least_stay: int,
    log_likelihood: float,
    free: FloatArray,
    room: FloatArray,
    shares: FloatArray,
    entered: FloatArray,
    smoothed: FloatArray,
    pairs: FloatArray,
) -> None:
    """Write the probabilities of states given the whole recording, and add the expected numbers of transitions.

    Parameters
    ----------
    log_evidence, chain, least_stay, log_likelihood, free, room
        As in `draw_stays`.
    shares : ndarray of shape (n_active,)
        Scratch space.
    entered : ndarray of shape (n_steps, n_active)
        Written: probability that each state is entered at each step; of the first step, zero.
    smoothed : ndarray of shape (n_steps, n_active)
        Written; rows sum to one.
    pairs : ndarray of shape (n_active, n_active)
        Increased by the expected numbers of transitions: steps that a stay lasts because it has to are none.

    Notes
    -----
    `draw_stays` with probabilities in place of draws.
    """
    (n_steps, n_active), (states, _, transition) = free.shape, chain
    least = min(least_stay, n_steps)
    entries, scales = _entries_in(least, n_active, room), _scales_in(least, n_active, room)
    for t in range(n_steps):
        for k in range(n_active):
            entered[t, k] = 0.0
    for k in range(n_active):
        smoothed[n_steps - 1, k] = np.exp(free[n_steps - 1, k] - log_likelihood)
        tail = 0.0
        for entry in range(n_steps - 1, max(n_steps - least, 0), -1):
            tail += log_evidence[entry, states[k]]
            entered[entry, k] = np.exp(_log_entered(entry, k, entries, scales) + tail - log_likelihood)
    # At first `smoothed` holds the probabilities of stays that may end.
    for t in range(n_steps - 1, 0, -1):
        for k in range(n_active):
            may_end, stayed = smoothed[t, k], smoothed[t, k]
            if may_end > 0.0 and t >= least:
                log_stay = free[t - 1, k] + _log_or_minus_infinity(transition[k, k]) + log_evidence[t, states[k]]
                stayed = may_end * min(np.exp(log_stay - free[t, k]), 1.0)
                entered[t - least + 1, k] += may_end - stayed
            pairs[k, k] += stayed
            smoothed[t - 1, k] = stayed
        for k in range(n_active):
            if entered[t, k] > _LEAST_PROBABILITY:
                factor = entered[t, k] / _write_origins(k, free, t - 1, transition, shares)
                for j in range(n_active):
                    pairs[j, k] += factor * shares[j]
                    smoothed[t - 1, j] += factor * shares[j]
    for t in range(n_steps):
        total = 0.0
        for k in range(n_active):
            for entry in range(max(t - least + 2, 1), t + 1):
                smoothed[t, k] += entered[entry, k]
            total += smoothed[t, k]
        for k in range(n_active):
            smoothed[t, k] /= total


@jit
def viterbi_stays(
    log_evidence: FloatArray,
    chain: Chain,
    least_stay: int,
    scores: FloatArray,
    room: FloatArray,
    origins: IntArray,
    stayed: BoolArray,
    path: IntArray,
) -> float:
    """Write the most probable path and return its log density together with the recording.

    Of equals, the longer stay, then the first state.

    Parameters
    ----------
    log_evidence : ndarray of shape (n_steps, n_states)
    chain : Chain
        With logarithms of probabilities.
    least_stay : int
    scores : ndarray of shape (2, n_active)
        Scratch space, as are the next three.
    room : ndarray
        As `stay_room` allocates it.
    origins : ndarray of shape (n_steps, n_active)
    stayed : ndarray of bool, shape (n_steps, n_active)
    path : ndarray of shape (n_steps,)
        Written: numbers of states, as in `states`.
    """
    (n_steps, n_active), (states, log_initial, log_transition) = origins.shape, chain
    least = min(least_stay, n_steps)
    entries, sums = _entries_in(least, n_active, room), _sums_in(least, n_active, room)
    for t in range(n_steps):
        row, before, entry = t % 2, 1 - t % 2, t - least + 1
        _write_windows(t, least, log_evidence, states, sums)
        for k in range(n_active):
            stayed[t, k] = True
            if t == 0:
                scores[row, k] = log_initial[k] + log_evidence[t, states[k]]
                continue
            best, origin = -np.inf, k
            for j in range(n_active):
                score = scores[before, j] + log_transition[j, k]
                if j != k and score > best:
                    best, origin = score, j
            entries[t % least, k] = best
            origins[t, k] = origin
            scores[row, k] = scores[before, k] + log_transition[k, k] + log_evidence[t, states[k]]
            if entry >= 1:
                score = entries[entry % least, k] + sums[least + 1, k]
                if score > scores[row, k]:
                    scores[row, k] = score
                    stayed[t, k] = False
    best, k, entered = -np.inf, 0, -1
    for j in range(n_active):
        if scores[(n_steps - 1) % 2, j] > best:
            best, k, entered = scores[(n_steps - 1) % 2, j], j, -1
        tail = 0.0
        for entry in range(n_steps - 1, max(n_steps - least, 0), -1):
            tail += log_evidence[entry, states[j]]
            if entries[entry % least, j] + tail > best:
                best, k, entered = entries[entry % least, j] + tail, j, entry
    t = n_steps - 1
    while t >= 0:
        if entered < 0 and not stayed[t, k]:
            entered = t - least + 1
        first = t if entered < 0 else entered
        for r in range(first, t + 1):
            path[r] = states[k]
        if entered >= 0:
            k = origins[entered, k]
        t, entered = first - 1, -1
    return best


@jit
def mark_transitions(path: IntArray, starts: IntArray, least_stay: int, marked: BoolArray) -> bool:
    """Mark the steps that a transition led to; return whether every stay is long enough.

    Parameters
    ----------
    path : ndarray of shape (n_steps,)
        All recordings one after the other.
    starts : ndarray of shape (n_recordings + 1,)
    least_stay : int
    marked : ndarray of bool, shape (n_steps,)
        Written: false for first steps, and for those that a stay lasts because it has to.
    """
    all_long = True
    for i in range(starts.shape[0] - 1):
        left = 0
        for t in range(starts[i], starts[i + 1]):
            if t == starts[i]:
                marked[t] = False
            elif path[t] != path[t - 1]:
                all_long = all_long and left == 0
                marked[t] = True
                left = least_stay - 1
            else:
                marked[t] = left == 0
                left = max(left - 1, 0)
    return all_long


@jit
def smooth_recordings(
    log_evidence: FloatArray,
    starts: IntArray,
    initial: FloatArray,
    transition: FloatArray,
    least_stay: int,
    smoothed: FloatArray,
    pairs: FloatArray,
    totals: FloatArray,
) -> None:
    """Smooth several recordings one after the other.

    Parameters
    ----------
    log_evidence : ndarray of shape (n_steps, n_states)
    starts : ndarray of shape (n_recordings + 1,)
    initial, transition : ndarray
    least_stay : int
    smoothed : ndarray of shape (n_steps, n_states)
        Written, as in `smooth_stays`.
    pairs : ndarray of shape (n_states, n_states)
        Increased, as in `smooth_stays`.
    totals : ndarray of shape (n_recordings,)
        Log-likelihoods, written; minus infinity if no path is possible: then all states are as probable.
    """
    n_states = log_evidence.shape[1]
    chain, shares = Chain(np.arange(n_states), initial, transition), np.empty(n_states)
    room = np.empty((3 * least_stay + 4 + n_states) * n_states)
    for i in range(starts.shape[0] - 1):
        evidence, n_steps = log_evidence[starts[i] : starts[i + 1]], starts[i + 1] - starts[i]
        free, entered = np.empty((n_steps, n_states)), np.empty((n_steps, n_states))
        least = min(least_stay, n_steps)
        found = filter_stays(evidence, chain, least, free, room)
        probs, totals[i] = smoothed[starts[i] : starts[i + 1]], found
        if found == -np.inf:
            probs[:] = 1.0 / n_states
            continue
        smooth_stays(evidence, chain, least, found, free, room, shares, entered, probs, pairs)
