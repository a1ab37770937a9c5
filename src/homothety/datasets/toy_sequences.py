"""The paper's toy series: four states in the plane, of two shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.arrays import check_count
from homothety.datasets.sequence_set import SequenceSet

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.datasets._draws import RandomState

MEANS = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])

# The first and the last are one narrow ellipse in two directions, the others one circle in two sizes.
COVARIANCES = np.array(
    [
        [[0.1, 0.08], [0.08, 0.1]],
        [[0.2, 0.0], [0.0, 0.2]],
        [[0.05, 0.0], [0.0, 0.05]],
        [[0.1, -0.08], [-0.08, 0.1]],
    ]
)
ACTIONS = np.array([0, 1, 1, 0])

STATES_OF_SERIES = ((0, 1), (0, 2), (2, 3), (1, 3))

STAY, MOVE = 0.96, 0.04 / 3  # of a chain over all four states; a series visits two of them, so both are renormalised


def make_toy_2d(random_state: RandomState = None, *, n_steps: int = 500) -> SequenceSet:
    """Make the paper's toy series: four series in the plane, in which four states of two shapes follow each other.

    Parameters
    ----------
    random_state : int, Generator or None, default None
        Seed, or generator to draw on.
    n_steps : int, default 500
        Mean length of a series; lengths are drawn from a Poisson distribution and are at least 2.

    Returns
    -------
    toy : SequenceSet
        With true `states` 0 to 3, and true `actions`: 0 for the narrow ellipses (states 0 and 3), 1 for the circles
        (states 1 and 2).

    Notes
    -----
    Each series has two states of its own, and they stay with probability 0.986. No two series share both states.

    Examples
    --------
    >>> make_toy_2d(0)
    <SequenceSet toy_2d: 4 series, ... steps of 2 dimensions, 4 states, 2 actions>
    """
    rng = np.random.default_rng(random_state)
    n_steps = check_count(n_steps, "n_steps", 2)
    lengths = np.maximum(rng.poisson(n_steps, size=len(STATES_OF_SERIES)), 2)
    states = [_draw_path(rng, pair, length) for pair, length in zip(STATES_OF_SERIES, lengths, strict=True)]
    sequences = [_draw_points(rng, path) for path in states]
    return SequenceSet(sequences, states, [ACTIONS[path] for path in states], channels=("y1", "y2"), name="toy_2d")


def _draw_path(rng: Generator, pair: tuple[int, int], n_steps: int) -> IntArray:
    """Draw a path that begins in either of two states and changes to the other now and then."""
    changes = rng.random(n_steps) < MOVE / (STAY + MOVE)
    changes[0] = rng.random() < 0.5
    return np.array(pair)[np.cumsum(changes) % 2]


def _draw_points(rng: Generator, path: IntArray) -> FloatArray:
    """Draw a point from the Gaussian of the state at every step."""
    factors = np.linalg.cholesky(COVARIANCES)
    noise = rng.standard_normal((len(path), MEANS.shape[1]))
    return np.asarray(MEANS[path] + np.einsum("tij,tj->ti", factors[path], noise))
