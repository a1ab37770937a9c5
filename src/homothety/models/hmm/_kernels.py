"""Compiled messages of a hidden Markov model: they know log-likelihoods, and nothing of what emits.

The evidence of a recording is a table (n_steps, n_states) over all states there are. A chain uses some of them:
`states` lists its columns, and everything else here of size `n_active` is in that order. `Evidence` is derived from a
table once and serves all chains through it, so that inner loops take no exponential.

Filtered probabilities are kept up to a factor: a row sums to the evidence of the steps since the last rescaling. That
leaves one logarithm and one division for many steps; whatever reads the rows needs their proportions alone. A state
less probable than the others by a factor of 1e190 may be taken for impossible.

No kernel allocates or checks; `messages.py` does both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import inlined, jit

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray

_RESCALE_BELOW = 1e-50  # rows summing to less are divided by their sum
_REDO_BELOW = 1e-100  # one step took the sum down by more than 1e50: its scaled likelihoods cannot be trusted
_NO_LIKELIHOOD_BELOW = -667.0  # logarithm of 1e-290: products with smaller numbers lose digits, and slow the machine
_LEAST_PREDICTED = 1e-300  # keeps quotients finite


class Evidence(NamedTuple):
    """Evidence of the steps of a recording, in the three forms that filters read."""

    log: FloatArray  # (n_steps, n_states) may hold minus infinity
    offsets: FloatArray  # (n_steps,) largest log evidence of each step, 0 where all are minus infinity
    likelihood: FloatArray  # (n_steps, n_states) evidence as a share of the largest of its step


class Chain(NamedTuple):
    """A Markov chain through some of the states; of the most probable paths, logarithms of its probabilities."""

    states: IntArray  # (n_active,) columns of the evidence
    initial: FloatArray  # (n_active,)
    transition: FloatArray  # (n_active, n_active) from row to column, C order


def scaled(log_evidence: FloatArray) -> Evidence:
    """Return evidence (n_steps, n_states) in the three forms."""
    evidence = Evidence(log_evidence, np.empty(len(log_evidence)), np.empty_like(log_evidence))
    scale_evidence(evidence)
    return evidence


@inlined
def exp_of_negative(x: float) -> float:
    """Exponential of a number up to zero, to twelve digits; zero where it is too small to be of use.

    The series of exp(x / 4096), squared twelve times: only sums and products, of several numbers at once in vector
    registers, where the library's exponential takes one after the other.
    """
    r = (x if x > _NO_LIKELIHOOD_BELOW else _NO_LIKELIHOOD_BELOW) * (1.0 / 4096.0)
    value = r * (1.0 / 3628800.0) + 1.0 / 362880.0
    value = ((value * r + 1.0 / 40320.0) * r + 1.0 / 5040.0) * r + 1.0 / 720.0
    value = ((value * r + 1.0 / 120.0) * r + 1.0 / 24.0) * r + 1.0 / 6.0
    value = ((value * r + 0.5) * r + 1.0) * r + 1.0
    for _ in range(12):
        value *= value
    return value if x > _NO_LIKELIHOOD_BELOW else 0.0


@jit
def scale_evidence(evidence: Evidence) -> None:
    """Write offsets and likelihoods of evidence whose logarithms are given."""
    log_evidence, offsets, likelihood = evidence
    n_steps, n_states = log_evidence.shape
    for t in range(n_steps):
        offset = -np.inf
        for k in range(n_states):
            offset = max(offset, log_evidence[t, k])
        if offset == -np.inf:
            offset = 0.0
        offsets[t] = offset
        for k in range(n_states):
            likelihood[t, k] = log_evidence[t, k] - offset
    # All entries in one row: the loop is long enough to run in vector registers.
    flat = likelihood.reshape(n_steps * n_states)
    for e in range(n_steps * n_states):
        flat[e] = exp_of_negative(flat[e])


@inlined
def predict(filtered: FloatArray, before: int, transition: FloatArray, predicted: FloatArray, row: int) -> None:
    """Write into a row of `predicted` where the chain goes from a row of `filtered`, which may be the same array."""
    n_active = transition.shape[0]
    n_in_fours = n_active - n_active % 4
    for k in range(n_active):
        predicted[row, k] = 0.0
    # The loop over k runs in vector registers; four states at a time write the row a quarter as often.
    for j in range(0, n_in_fours, 4):
        a, b, c, d = filtered[before, j], filtered[before, j + 1], filtered[before, j + 2], filtered[before, j + 3]
        for k in range(n_active):
            predicted[row, k] += (a * transition[j, k] + b * transition[j + 1, k]) + (
                c * transition[j + 2, k] + d * transition[j + 3, k]
            )
    for j in range(n_in_fours, n_active):
        a = filtered[before, j]
        for k in range(n_active):
            predicted[row, k] += a * transition[j, k]


@inlined
def _normalise(row: int, weights: FloatArray) -> float:
    """Divide a row by its sum, and return what that was."""
    total = 0.0
    for k in range(weights.shape[1]):
        total += weights[row, k]
    for k in range(weights.shape[1]):
        weights[row, k] /= total
    return total


@jit
def _redo_step(t: int, before: int, row: int, evidence: Evidence, chain: Chain, filtered: FloatArray) -> float:
    """Write a filtered row through logarithms, divided by its sum, and return the logarithm of that sum.

    The likelihoods of a step are shares of the largest over all states. Where that of the states in use is far below
    it, or belongs to a state the chain can hardly be in, they are too small for a double.
    """
    n_active = chain.states.shape[0]
    if t == 0:
        for k in range(n_active):
            filtered[row, k] = chain.initial[k]
    else:
        predict(filtered, before, chain.transition, filtered, row)
    largest = -np.inf
    for k in range(n_active):
        filtered[row, k] = np.log(filtered[row, k]) + evidence.log[t, chain.states[k]]
        largest = max(largest, filtered[row, k])
    if largest == -np.inf:
        return largest
    for k in range(n_active):
        filtered[row, k] = np.exp(filtered[row, k] - largest)
    return largest + np.log(_normalise(row, filtered))


@inlined
def _rescale(
    t: int, before: int, row: int, total: float, evidence: Evidence, chain: Chain, filtered: FloatArray
) -> float:
    """Divide a filtered row that has become small by its sum, and return the logarithm of that."""
    if total < _REDO_BELOW:
        return _redo_step(t, before, row, evidence, chain, filtered) - evidence.offsets[t]
    return np.log(_normalise(row, filtered))


@jit
def filter_forward(evidence: Evidence, chain: Chain, filtered: FloatArray) -> float:
    """Log-likelihood of a recording, paths summed out; leaves its filtered probabilities behind.

    Parameters
    ----------
    evidence : Evidence
    chain : Chain
    filtered : ndarray of shape (n_rows, n_active)
        Written, rows in turn: with as many rows as steps all are kept; two are enough for the log-likelihood.

    Returns
    -------
    log_likelihood : float
        Minus infinity if no path is possible; `filtered` then holds nothing of use.
    """
    (_, offsets, likelihood), (states, initial, transition) = evidence, chain
    n_active, n_rows = states.shape[0], filtered.shape[0]
    log_scale, total, row = 0.0, 1.0, 0
    for t in range(offsets.shape[0]):
        before = row - 1 if row > 0 else n_rows - 1
        if t == 0:
            for k in range(n_active):
                filtered[row, k] = initial[k]
        else:
            predict(filtered, before, transition, filtered, row)
        total = 0.0
        for k in range(n_active):
            filtered[row, k] *= likelihood[t, states[k]]
            total += filtered[row, k]
        log_scale += offsets[t]
        if total < _RESCALE_BELOW:
            log_total = _rescale(t, before, row, total, evidence, chain, filtered)
            if log_total == -np.inf:
                return log_total
            log_scale += log_total
            total = 1.0
        row = row + 1 if row + 1 < n_rows else 0
    return log_scale + np.log(total)


@jit
def filter_sticky(evidence: Evidence, chain: Chain, filtered: FloatArray) -> float:
    """Do what `filter_forward` does for a chain that goes to all other states alike, wherever it is.

    Two numbers say where it goes, so a step takes a time in proportion to the states, not to their square. Of the
    transition matrix only the first row is read, as long as nothing underflows.
    """
    (_, offsets, likelihood), (states, initial, transition) = evidence, chain
    n_active, n_rows = states.shape[0], filtered.shape[0]
    move = transition[0, n_active - 1] if n_active > 1 else 0.0
    stay = transition[0, 0] - move
    log_scale, total, row = 0.0, 1.0, 0
    for t in range(offsets.shape[0]):
        before = row - 1 if row > 0 else n_rows - 1
        arriving = move * total
        total = 0.0
        for k in range(n_active):
            predicted = arriving + stay * filtered[before, k] if t > 0 else initial[k]
            filtered[row, k] = predicted * likelihood[t, states[k]]
            total += filtered[row, k]
        log_scale += offsets[t]
        if total < _RESCALE_BELOW:
            log_total = _rescale(t, before, row, total, evidence, chain, filtered)
            if log_total == -np.inf:
                return log_total
            log_scale += log_total
            total = 1.0
        row = row + 1 if row + 1 < n_rows else 0
    return log_scale + np.log(total)


@jit
def draw_path(
    rng: Generator,
    transition: FloatArray,
    states: IntArray,
    filtered: FloatArray,
    cumulative: FloatArray,
    path: IntArray,
) -> None:
    """Draw a path from its posterior, last step first, by one uniform number per step.

    Parameters
    ----------
    rng : Generator
    transition : ndarray of shape (n_active, n_active)
    states : ndarray of shape (n_active,)
    filtered : ndarray of shape (n_steps, n_active)
        As `filter_forward` leaves it, all steps kept, for a recording with a possible path.
    cumulative : ndarray of shape (n_active,)
        Scratch space.
    path : ndarray of shape (n_steps,)
        Written: numbers of states, as in `states`.
    """
    n_steps, n_active = filtered.shape
    drawn = 0
    for t in range(n_steps - 1, -1, -1):
        total = 0.0
        for k in range(n_active):
            total += filtered[t, k] if t == n_steps - 1 else filtered[t, k] * transition[k, drawn]
            cumulative[k] = total
        # A count has no branch to mispredict. The threshold is below the total, even rounded, so the state that is
        # drawn has a positive weight: whoever is drawn next was predicted by the same products.
        threshold, drawn = rng.random() * total, 0
        for k in range(n_active):
            drawn += cumulative[k] <= threshold
        drawn = min(drawn, n_active - 1)  # if no path is possible the total is zero
        path[t] = states[drawn]


@jit
def log_path_density(path: IntArray, log_evidence: FloatArray, chain: Chain, positions: IntArray) -> float:
    """Log density of a path and its recording together; less the log-likelihood, it is the log probability of the path.

    Parameters
    ----------
    path : ndarray of shape (n_steps,)
        Numbers of states; one that is not in `states` makes the path impossible.
    log_evidence : ndarray of shape (n_steps, n_states)
    chain : Chain
    positions : ndarray of shape (n_states,)
        Scratch space.
    """
    states, initial, transition = chain
    n_active = states.shape[0]
    for k in range(positions.shape[0]):
        positions[k] = n_active
    for k in range(n_active):
        positions[states[k]] = k
    log_density, product, before = 0.0, 1.0, n_active
    for t in range(path.shape[0]):
        k = positions[path[t]]
        if k == n_active:
            return -np.inf
        log_density += log_evidence[t, path[t]]
        probability = initial[k] if t == 0 else transition[before, k]
        if probability < 1e-100:
            log_density += np.log(probability)
        else:
            product *= probability
        # One logarithm for many steps, taken before their product can leave the range of doubles.
        if product < 1e-100:
            log_density += np.log(product)
            product = 1.0
        before = k
    return log_density + np.log(product)


@jit
def smooth(
    transition: FloatArray, filtered: FloatArray, predicted: FloatArray, smoothed: FloatArray, pairs: FloatArray
) -> None:
    """Write the probabilities of states given the whole recording, and add those of pairs of states in succession.

    Parameters
    ----------
    transition : ndarray of shape (n_active, n_active)
    filtered : ndarray of shape (n_steps, n_active)
        As `filter_forward` leaves it, all steps kept, for a recording with a possible path.
    predicted : ndarray of shape (1, n_active)
        Scratch space.
    smoothed : ndarray of shape (n_steps, n_active)
        Written; rows sum to one.
    pairs : ndarray of shape (n_active, n_active)
        Increased by the expected number of steps from one state to another.

    Notes
    -----
    Given the next state, where the chain comes from depends on filtered probabilities alone. So this is `draw_path`
    with probabilities in place of draws: no evidence is read, and no product of messages can vanish.
    """
    n_steps, n_active = filtered.shape
    last = n_steps - 1
    for k in range(n_active):
        smoothed[last, k] = filtered[last, k]
    _normalise(last, smoothed)
    for t in range(last - 1, -1, -1):
        predict(filtered, t, transition, predicted, 0)
        for k in range(n_active):
            predicted[0, k] = smoothed[t + 1, k] / max(predicted[0, k], _LEAST_PREDICTED)
        for j in range(n_active):
            total = 0.0
            for k in range(n_active):
                pair = filtered[t, j] * transition[j, k] * predicted[0, k]
                pairs[j, k] += pair
                total += pair
            smoothed[t, j] = total
        _normalise(t, smoothed)


@jit
def viterbi(log_evidence: FloatArray, chain: Chain, scores: FloatArray, origins: IntArray, path: IntArray) -> float:
    """Write the most probable path and return its log density together with the recording; of equals, the first state.

    Parameters
    ----------
    log_evidence : ndarray of shape (n_steps, n_states)
    chain : Chain
        With logarithms of probabilities.
    scores : ndarray of shape (2, n_active)
        Scratch space, as is the next.
    origins : ndarray of shape (n_steps, n_active)
    path : ndarray of shape (n_steps,)
        Written: numbers of states, as in `states`.
    """
    (n_steps, n_active), (states, log_initial, log_transition) = origins.shape, chain
    for t in range(n_steps):
        row, before = t % 2, 1 - t % 2
        for k in range(n_active):
            best, origin = log_initial[k], 0
            if t > 0:
                best = scores[before, 0] + log_transition[0, k]
                for j in range(1, n_active):
                    score = scores[before, j] + log_transition[j, k]
                    if score > best:
                        best, origin = score, j
            scores[row, k] = best + log_evidence[t, states[k]]
            origins[t, k] = origin
    row, k = (n_steps - 1) % 2, 0
    for j in range(1, n_active):
        if scores[row, j] > scores[row, k]:
            k = j
    best = scores[row, k]
    for t in range(n_steps - 1, -1, -1):
        path[t] = states[k]
        k = origins[t, k]
    return best


@inlined
def _add_logs(total: float, value: float) -> float:
    """Logarithm of the sum of two numbers given by their logarithms."""
    if value == -np.inf:
        return total
    if total < value:
        total, value = value, total
    return total + np.log1p(np.exp(value - total))


@jit
def write_left_out(
    start: int,
    stop: int,
    log_evidence: FloatArray,
    log_initial: FloatArray,
    log_transition: FloatArray,
    forward: FloatArray,
    backward: FloatArray,
    out: FloatArray,
) -> None:
    """Write the log density of every step of one recording given all its other steps, all states being active.

    Parameters
    ----------
    start, stop : int
        The recording is this stretch of all steps.
    log_evidence : ndarray of shape (n_steps, n_states)
    log_initial, log_transition : ndarray of shape (n_states,), (n_states, n_states)
    forward : ndarray of shape (n_steps, n_states)
        Scratch: log density of each state and all steps before.
    backward : ndarray of shape (2, n_states)
        Scratch: log density of all later steps given each state, of two steps in turn.
    out : ndarray of shape (n_steps,)
        Written.
    """
    n_states = log_evidence.shape[1]
    for k in range(n_states):
        forward[start, k] = log_initial[k]
    for t in range(start + 1, stop):
        for k in range(n_states):
            total = -np.inf
            for j in range(n_states):
                total = _add_logs(total, forward[t - 1, j] + log_evidence[t - 1, j] + log_transition[j, k])
            forward[t, k] = total
    row = 0
    for k in range(n_states):
        backward[row, k] = 0.0
    for t in range(stop - 1, start - 1, -1):
        without, whole = -np.inf, -np.inf
        for k in range(n_states):
            around = forward[t, k] + backward[row, k]
            without = _add_logs(without, around)
            whole = _add_logs(whole, around + log_evidence[t, k])
        out[t] = whole - without
        for j in range(n_states):
            total = -np.inf
            for k in range(n_states):
                total = _add_logs(total, log_transition[j, k] + log_evidence[t, k] + backward[row, k])
            backward[1 - row, j] = total
        row = 1 - row
