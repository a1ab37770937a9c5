"""What a hidden Markov model says of one recording, given the log-likelihood of every step under every state.

Nothing is known here of what emits. A sampler that asks thousands of times about the same recording calls the compiled
loops of `_kernels.py` itself, with arrays it keeps; these functions check, allocate and call them once.

Where stays last at least a number of steps: which steps are transitions, and how a path is mended.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.arrays import check_count, read_only
from homothety.errors import InputError
from homothety.models._parts import check_starts

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.hmm._kernels import Chain

_SUM_TOLERANCE = 1e-8  # how far from one probabilities may sum


class _Smoothed(NamedTuple):
    """What expectation-maximisation needs of one recording."""

    probs: FloatArray
    """Probability of each state at each step given the whole recording, (n_steps, n_active)."""
    n_transitions: FloatArray
    """Expected number of steps from one state to another, (n_active, n_active)."""
    log_likelihood: float


def log_likelihood(
    log_evidence: ArrayLike,
    initial: ArrayLike,
    transition: ArrayLike,
    *,
    states: ArrayLike | None = None,
    least_stay: int = 1,
) -> float:
    """Log-likelihood of a recording, its path summed out.

    Parameters
    ----------
    log_evidence : array-like of shape (n_steps, n_states)
        Log-likelihood of each step under each state. Minus infinity is a value.
    initial : array-like of shape (n_active,)
        Probabilities of the first state; they sum to one.
    transition : array-like of shape (n_active, n_active)
        From row to column; rows sum to one.
    states : array-like of shape (n_active,), optional
        Columns of `log_evidence` the chain moves through, in the order of `initial` and `transition`; all of them by
        default.
    least_stay : int, default=1
        Fewest steps that a state lasts once it is entered; the first stay of a recording, and the last one, may be
        shorter. Transition probabilities apply from the `least_stay`-th step of a stay on, and from the first step of
        the first stay.

    Returns
    -------
    log_likelihood : float
        Minus infinity if no path is possible.

    Examples
    --------
    A fair coin, seen three times through glasses that are right two times in three:

    >>> heads, tails = np.log([2 / 3, 1 / 3]), np.log([1 / 3, 2 / 3])
    >>> coin = np.full(2, 0.5), np.full((2, 2), 0.5)
    >>> round(float(np.exp(log_likelihood([heads, tails, heads], *coin))), 12)
    0.125
    """
    evidence, chain = _check_chain(log_evidence, initial, transition, states)
    return _filter(evidence, chain, check_count(least_stay, "least_stay"), n_rows=2).log_likelihood


def smoothed_probs(
    log_evidence: ArrayLike,
    initial: ArrayLike,
    transition: ArrayLike,
    *,
    states: ArrayLike | None = None,
    least_stay: int = 1,
) -> FloatArray:
    """Probability of each state at each step given the whole recording, (n_steps, n_active).

    Parameters are those of `log_likelihood`. Raises `InputError` if no path is possible.

    Examples
    --------
    A chain that never leaves its state learns about its first step from the second:

    >>> smoothed_probs(np.log([[0.5, 0.5], [0.9, 0.1]]), [0.5, 0.5], np.eye(2)).round(3).tolist()
    [[0.9, 0.1], [0.9, 0.1]]
    """
    return smooth_series(log_evidence, initial, transition, states=states, least_stay=least_stay).probs


def smooth_series(
    log_evidence: ArrayLike,
    initial: ArrayLike,
    transition: ArrayLike,
    *,
    states: ArrayLike | None = None,
    least_stay: int = 1,
) -> _Smoothed:
    """Return smoothed probabilities, expected numbers of transitions and the log-likelihood of a recording at once.

    Parameters are those of `log_likelihood`. Raises `InputError` if no path is possible. Steps that a stay lasts
    because of `least_stay` are no transitions.

    Examples
    --------
    >>> smoothed = smooth_series(np.zeros((5, 2)), [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]])
    >>> smoothed.n_transitions.round(6).tolist(), round(smoothed.log_likelihood, 6)
    ([[1.0, 1.0], [1.0, 1.0]], 0.0)
    """
    from homothety.models.hmm import _kernels, _stay_kernels

    evidence, chain = _check_chain(log_evidence, initial, transition, states)
    kept = _filter(evidence, chain, check_count(least_stay, "least_stay"))
    check_possible(kept.log_likelihood)
    probs, n_transitions, n_active = np.empty_like(kept.rows), np.zeros_like(chain.transition), len(chain.states)
    if least_stay > 1:
        working = np.empty(n_active), np.empty_like(probs)
        _stay_kernels.smooth_stays(evidence, chain, least_stay, *kept, *working, probs, n_transitions)
    else:
        _kernels.smooth(chain.transition, kept.rows, np.empty((1, n_active)), probs, n_transitions)
    return _Smoothed(probs, n_transitions, kept.log_likelihood)


def sample_path(
    rng: Generator,
    log_evidence: ArrayLike,
    initial: ArrayLike,
    transition: ArrayLike,
    *,
    states: ArrayLike | None = None,
    least_stay: int = 1,
) -> tuple[IntArray, float]:
    """Draw a path from its posterior: forward filtering, backward sampling.

    Parameters other than `rng` are those of `log_likelihood`. Raises `InputError` if no path is possible.

    Returns
    -------
    path : ndarray of shape (n_steps,)
        Numbers of states: columns of `log_evidence`.
    log_prob : float
        Log of the probability with which this path was drawn.

    Examples
    --------
    >>> evidence = np.log([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]])
    >>> path, log_prob = sample_path(np.random.default_rng(0), evidence, [1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]])
    >>> path.tolist(), round(log_prob, 12)
    ([0, 1, 0], 0.0)
    """
    from homothety.models.hmm import _kernels, _stay_kernels

    evidence, chain = _check_chain(log_evidence, initial, transition, states)
    path, log_total = draw_path(rng, evidence, chain, check_count(least_stay, "least_stay"))
    positions = np.empty(evidence.shape[1], dtype=np.int64)
    if least_stay > 1:
        return path, float(_stay_kernels.log_stay_density(path, evidence, chain, least_stay, positions) - log_total)
    return path, float(_kernels.log_path_density(path, evidence, chain, positions)) - log_total


def draw_path(rng: Generator, log_evidence: FloatArray, chain: Chain, least_stay: int) -> tuple[IntArray, float]:
    """Draw a path from its posterior, and return it with the log-likelihood of the recording.

    The chain is not checked: probabilities that were just drawn need no checks.
    """
    from homothety.models.hmm import _kernels, _stay_kernels

    kept = _filter(log_evidence, chain, least_stay)
    check_possible(kept.log_likelihood)
    path, cumulative = np.empty(len(log_evidence), dtype=np.int64), np.empty(len(chain.states))
    if least_stay > 1:
        _stay_kernels.draw_stays(rng, log_evidence, chain, least_stay, *kept, cumulative, chain.states, path)
    else:
        _kernels.draw_path(rng, chain.transition, chain.states, kept.rows, cumulative, path)
    return path, kept.log_likelihood


def most_likely_path(
    log_evidence: ArrayLike,
    initial: ArrayLike,
    transition: ArrayLike,
    *,
    states: ArrayLike | None = None,
    least_stay: int = 1,
) -> tuple[IntArray, float]:
    """Find the most probable path given the recording (Viterbi); of equally probable states, the first.

    Parameters are those of `log_likelihood`. Raises `InputError` if no path is possible.

    Returns
    -------
    path : ndarray of shape (n_steps,)
        Numbers of states: columns of `log_evidence`.
    log_density : float
        Log density of path and recording together.

    Examples
    --------
    >>> evidence = np.log([[0.9, 0.1], [0.4, 0.6], [0.9, 0.1]])
    >>> most_likely_path(evidence, [0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]])[0].tolist()
    [0, 0, 0]
    """
    from homothety.models.hmm._kernels import Chain

    evidence, chain = _check_chain(log_evidence, initial, transition, states)
    with np.errstate(divide="ignore"):
        logs = Chain(chain.states, np.log(chain.initial), np.log(chain.transition))
    path, best = _best_path(evidence, logs, check_count(least_stay, "least_stay"))
    check_possible(best)
    return path, best


def _best_path(log_evidence: FloatArray, chain: Chain, least_stay: int) -> tuple[IntArray, float]:
    """Return the path of largest log density, given logarithms of the probabilities of the chain, and that density.

    Of equals, the one with longer stays, then with the first states.
    """
    from homothety.models.hmm import _kernels, _stay_kernels

    n_steps, n_active = len(log_evidence), len(chain.states)
    path, scores = np.empty(n_steps, dtype=np.int64), np.empty((2, n_active))
    origins = np.empty((n_steps, n_active), dtype=np.int64)
    if least_stay == 1:
        return path, float(_kernels.viterbi(log_evidence, chain, scores, origins, path))
    room, stayed = _stay_kernels.stay_room(min(least_stay, n_steps), n_active), np.empty(origins.shape, dtype=bool)
    best = _stay_kernels.viterbi_stays(log_evidence, chain, least_stay, scores, room, origins, stayed, path)
    return path, float(best)


class _Filtered(NamedTuple):
    """What the filter leaves behind, as the compiled loops want it."""

    log_likelihood: float
    rows: (
        FloatArray  # (n_rows, n_active) as `filter_forward` writes them, or `filter_stays` if stays have a least length
    )
    room: FloatArray  # as `filter_stays` leaves it; else empty


def _filter(log_evidence: FloatArray, chain: Chain, least_stay: int, n_rows: int | None = None) -> _Filtered:
    """Filter a recording, with all rows by default."""
    from homothety.models.hmm import _kernels, _stay_kernels

    n_steps, n_active = len(log_evidence), len(chain.states)
    rows = np.empty((n_rows or n_steps, n_active))
    if least_stay > 1:
        room = _stay_kernels.stay_room(min(least_stay, n_steps), n_active)
        return _Filtered(float(_stay_kernels.filter_stays(log_evidence, chain, least_stay, rows, room)), rows, room)
    total = _kernels.filter_forward(_kernels.scaled(log_evidence), chain, rows)
    return _Filtered(float(total), rows, np.empty(0))


def check_possible(log_density: float) -> None:
    """Raise if the recording has probability zero, or one that is no number."""
    if not np.isfinite(log_density):
        raise InputError(
            "No path through the states is possible: at some step log_evidence is -inf for every state the chain can "
            "be in. Floor the evidence, or allow more transitions; of data, standardise them and look for outliers."
        )


def _check_chain(
    log_evidence: ArrayLike, initial: ArrayLike, transition: ArrayLike, states: ArrayLike | None
) -> tuple[FloatArray, Chain]:
    """Return evidence and chain as the compiled loops want them, or raise saying what does not fit."""
    from homothety.models.hmm._kernels import Chain

    evidence = _check_evidence(log_evidence)
    columns = _check_states(states, evidence.shape[1])
    start = _check_probs(initial, (len(columns),), "initial")
    moves = _check_probs(transition, (len(columns), len(columns)), "transition")
    return evidence, Chain(columns, start, moves)


def _check_evidence(log_evidence: ArrayLike) -> FloatArray:
    """Return log-likelihoods as an array (n_steps, n_states) without NaN or plus infinity, or raise."""
    evidence = np.ascontiguousarray(log_evidence, dtype=np.float64)
    if evidence.ndim != 2 or 0 in evidence.shape:
        raise InputError(f"log_evidence has shape {evidence.shape}, needed (n_steps, n_states), both at least 1.")
    bad = np.isnan(evidence) | (evidence == np.inf)
    if bad.any():
        t, k = np.argwhere(bad)[0]
        raise InputError(f"log_evidence[{t}, {k}] is {evidence[t, k]}, needed a number or minus infinity.")
    return evidence


def _check_states(states: ArrayLike | None, n_states: int) -> IntArray:
    """Return distinct columns of the evidence, all of them by default, or raise."""
    columns = np.ascontiguousarray(np.arange(n_states) if states is None else states, dtype=np.int64)
    if columns.ndim != 1 or not len(columns):
        raise InputError(f"states has shape {columns.shape}, needed (n_active,) with at least one state.")
    if columns.min() < 0 or columns.max() >= n_states or len(np.unique(columns)) < len(columns):
        raise InputError(f"states is {columns.tolist()}, needed distinct numbers from 0 to {n_states - 1}.")
    return columns


def _check_probs(probs: ArrayLike, shape: tuple[int, ...], name: str) -> FloatArray:
    """Return probabilities of the given shape whose last axis sums to one, or raise."""
    array = np.ascontiguousarray(probs, dtype=np.float64)
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}, needed {shape}, one entry per state in use.")
    off = np.abs(array.sum(axis=-1) - 1)
    if not (array.min() >= 0 and off.max() <= _SUM_TOLERANCE):
        raise InputError(
            f"{name} has a smallest entry of {array.min():.3g} and sums off one by up to {off.max():.3g}. "
            "Needed probabilities; divide by their sum."
        )
    return array


def transition_steps(path: IntArray, starts: IntArray, least_stay: int) -> BoolArray:
    """Return which steps of a path a transition led to, (n_steps,).

    All but the first step of each recording, and those that a stay lasts because it has to: the second to
    `least_stay`-th step after a change of state.

    Examples
    --------
    >>> transition_steps(np.array([0, 0, 1, 1, 1, 1]), np.array([0, 6]), 3).astype(int).tolist()
    [0, 1, 1, 0, 0, 1]
    """
    from homothety.models.hmm._stay_kernels import mark_transitions

    marked = np.empty(len(path), dtype=bool)
    mark_transitions(read_only(path), check_starts(starts, len(path)), least_stay, marked)
    return marked


def stay_edges(path: IntArray, starts: IntArray) -> IntArray:
    """Return the first step of every stay and the end of the last, (n_stays + 1,); every recording begins a stay.

    Examples
    --------
    >>> stay_edges(np.array([0, 0, 1, 1, 1, 0]), np.array([0, 4, 6])).tolist()
    [0, 2, 4, 5, 6]
    """
    return np.union1d(np.flatnonzero(np.diff(path)) + 1, starts)


def has_short_stay(path: IntArray, starts: IntArray, least_stay: int) -> bool:
    """Whether a state that was entered is left again before `least_stay` steps; ends of recordings do not count.

    Examples
    --------
    >>> has_short_stay(np.array([0, 1, 1, 0]), np.array([0, 4]), 2), has_short_stay(np.array([0, 1, 0]), [0, 3], 2)
    (False, True)
    """
    from homothety.models.hmm._stay_kernels import mark_transitions

    if least_stay == 1:
        return False
    starts = check_starts(np.asarray(starts), len(path))
    return not mark_transitions(read_only(path), starts, least_stay, np.empty(len(path), dtype=bool))


def mend_short_stays(path: IntArray, starts: IntArray, least_stay: int) -> IntArray:
    """Return a path without stays shorter than `least_stay` that has as many steps in common with `path` as can be.

    Of several, one with the fewest changes. A recording uses only states that it has in `path`.

    Examples
    --------
    >>> mend_short_stays(np.array([0, 0, 1, 0, 0, 2, 2]), np.array([0, 7]), 2).tolist()
    [0, 0, 0, 0, 0, 2, 2]
    """
    mended = np.array(path, dtype=np.int64)
    for start, stop in pairwise(starts):
        if has_short_stay(mended[start:stop], np.array([0, stop - start]), least_stay):
            mended[start:stop] = _mend(mended[start:stop], least_stay)
    return mended


def _mend(path: IntArray, least_stay: int) -> IntArray:
    """Return the path of one recording mended: the most probable one if every step votes for its state."""
    states, numbered = np.unique(path, return_inverse=True)
    votes = np.asarray(numbered[:, None] == np.arange(len(states)), dtype=np.float64)
    return np.asarray(states[best_path(votes, least_stay)[0]])


def best_path(votes: FloatArray, least_stay: int) -> tuple[IntArray, float]:
    """Return the path of one recording with most votes, then fewest changes, and its score.

    Parameters
    ----------
    votes : ndarray of shape (n_steps, n_states)
        Of each step for each state, whole numbers or minus infinity.
    least_stay : int
        Fewest steps of a stay, but for the first and the last.

    Returns
    -------
    path : ndarray of int, shape (n_steps,)
    score : float
        Minus infinity if no path is possible; `path` then means nothing.
    """
    from homothety.models.hmm._kernels import Chain

    n_steps, n_states = votes.shape
    # All changes together weigh less than one vote.
    change = (np.eye(n_states) - 1.0) / (2 * n_steps)
    return _best_path(votes, Chain(np.arange(n_states), np.zeros(n_states), change), least_stay)
