"""Paths whose stays last at least a number of steps: which steps are transitions, and how a path is mended."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from homothety.arrays import read_only
from homothety.models.parts import check_starts

if TYPE_CHECKING:
    from homothety.arrays import BoolArray, FloatArray, IntArray


def transition_steps(path: IntArray, starts: IntArray, least_stay: int) -> BoolArray:
    """Return which steps of a path a transition led to, (n_steps,).

    All but the first step of each series, and those that a stay lasts because it has to: the second to
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
    """Return the first step of every stay and the end of the last, (n_stays + 1,); every series begins a stay.

    Examples
    --------
    >>> stay_edges(np.array([0, 0, 1, 1, 1, 0]), np.array([0, 4, 6])).tolist()
    [0, 2, 4, 5, 6]
    """
    return np.union1d(np.flatnonzero(np.diff(path)) + 1, starts)


def has_short_stay(path: IntArray, starts: IntArray, least_stay: int) -> bool:
    """Whether a state that was entered is left again before `least_stay` steps; ends of series do not count.

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

    Of several, one with the fewest changes. A series uses only states that it has in `path`.

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
    """Return the path of one series mended: the most probable one if every step votes for its state."""
    states, numbered = np.unique(path, return_inverse=True)
    votes = np.asarray(numbered[:, None] == np.arange(len(states)), dtype=np.float64)
    # All changes together weigh less than one vote.
    change = (np.eye(len(states)) - 1.0) / (2 * len(path))
    columns = np.arange(len(states))
    return np.asarray(states[best_path(votes, columns, np.zeros(len(states)), change, least_stay)[0]])


def best_path(
    log_evidence: FloatArray, states: IntArray, log_initial: FloatArray, log_transition: FloatArray, least_stay: int
) -> tuple[IntArray, float]:
    """Return the path of largest log density through some columns of the evidence, and that density.

    Of equals, the one with longer stays, then with the first states.
    """
    from homothety.models.hmm import _stay_kernels as kernels

    n_steps, n_active = len(log_evidence), len(states)
    path, origins = np.empty(n_steps, dtype=np.int64), np.empty((n_steps, n_active), dtype=np.int64)
    room, stayed = kernels.stay_room(min(least_stay, n_steps), n_active), np.empty((n_steps, n_active), dtype=bool)
    logs, scores = (log_initial, log_transition), np.empty((2, n_active))
    best = kernels.viterbi_stays(log_evidence, states, *logs, least_stay, scores, room, origins, stayed, path)
    return path, float(best)
