"""How well the states of a drawn path predict every look from all other looks of its recording."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from homothety.models.emissions.missing import NO_GAPS, completed_steps, observed_evidence
from homothety.models.emissions.statistics import draw_parameters, statistics_of

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.emissions import Emission
    from homothety.models.emissions.missing import Gaps

PRIOR_COUNT = 0.5  # added to the number of transitions between every two states


def log_left_out(
    rng: Generator, emission: Emission, z: FloatArray, starts: IntArray, path: IntArray, gaps: Gaps = NO_GAPS
) -> FloatArray:
    """Return the log density of every look given all other looks of its recording, under parameters that are drawn.

    Parameters
    ----------
    rng : Generator
    emission : Emission
    z : ndarray of shape (n_looks, n)
        Augmented steps, see `Emission.augment`.
    starts : ndarray of shape (n_series + 1,)
        First look of each recording, and the number of all.
    path : ndarray of int, shape (n_looks,)
        State of every look, by any numbers.
    gaps : Gaps
        Values that are missing and filled in: densities are those of what is observed.

    Returns
    -------
    log_density : ndarray of shape (n_looks,)
        Counted by the weights of steps and dimensions, as the emission has them.

    Notes
    -----
    Parameters of states and transition probabilities are drawn from their posteriors given the path, and the path is
    then summed out by forward and backward messages. Transitions are those of all recordings together, each count
    raised by one half. A least stay is not part of the messages: the steps that it lasts count as transitions of a
    state to itself.
    """
    labels, numbered = np.unique(path, return_inverse=True)
    numbered, n_states = numbered.astype(np.int64), len(labels)
    if len(gaps.steps):
        z = completed_steps(rng, emission, z, numbered, gaps)
    whiteners = draw_parameters(rng, emission, statistics_of(emission, z, numbered, n_states))
    evidence = observed_evidence(emission, z, whiteners, gaps)
    log_initial, log_transition = draw_log_transitions(rng, numbered, starts, n_states)
    return left_out_densities(evidence, starts, log_initial, log_transition)


def draw_log_transitions(
    rng: Generator, path: IntArray, starts: IntArray, n_states: int
) -> tuple[FloatArray, FloatArray]:
    """Draw start and transition probabilities given a path through states 0, 1, ...; return their logarithms."""
    initial = np.bincount(path[starts[:-1]], minlength=n_states) + PRIOR_COUNT
    counts, later = np.full((n_states, n_states), PRIOR_COUNT), np.ones(len(path), dtype=bool)
    later[starts[:-1]] = False
    after = np.flatnonzero(later)
    np.add.at(counts, (path[after - 1], path[after]), 1.0)
    tiny = np.finfo(float).tiny
    rows = [np.log(np.maximum(rng.dirichlet(row), tiny)) for row in (initial, *counts)]
    return rows[0], np.stack(rows[1:])


def left_out_densities(
    log_evidence: FloatArray, starts: IntArray, log_initial: FloatArray, log_transition: FloatArray
) -> FloatArray:
    """Return the log density of every look given the other looks of its recording, (n_looks,).

    Parameters
    ----------
    log_evidence : ndarray of shape (n_looks, n_states)
        Log density of every look under every state.
    starts : ndarray of shape (n_series + 1,)
    log_initial, log_transition : ndarray of shape (n_states,) and (n_states, n_states)
        Logarithms of probabilities.

    Examples
    --------
    One state that explains all looks predicts each by its own density:

    >>> left_out_densities(np.log([[0.2], [0.5]]), np.array([0, 2]), np.zeros(1), np.zeros((1, 1))).round(3).tolist()
    [-1.609, -0.693]
    """
    from homothety.models.hmm._kernels import write_left_out

    n_looks, n_states = log_evidence.shape
    forward, backward, out = np.empty((n_looks, n_states)), np.empty((2, n_states)), np.empty(n_looks)
    for start, stop in pairwise(starts):
        write_left_out(start, stop, log_evidence, log_initial, log_transition, forward, backward, out)
    return out
