"""How many steps a recording takes to say something new.

Motion is recorded a hundred times a second and more, and neighbouring steps are nearly copies. A model that takes each
of them for an observation of its own sees a hundred times the evidence there is, and finds states in every bend. The
remedy is to look at a series only as often as it has left the place it was in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.arrays import FloatArray

LAG_GROWTH = 1.25  # from one lag looked at to the next
MIN_KEPT = 25  # steps to leave in the shortest series, whatever the measurement says


def mean_squared_displacement(series: Sequence[FloatArray], lag: int) -> float:
    """Return how far series get in `lag` steps: the mean square, in units of the variance of each dimension."""
    variance = np.maximum(np.concatenate(series).var(axis=0), np.finfo(float).tiny)
    squares = [((one[lag:] - one[:-lag]) ** 2 / variance).sum(axis=1) for one in series if len(one) > lag]
    return float(np.concatenate(squares).mean())


def directed_steps(series: Sequence[FloatArray]) -> int:
    """Return for how many steps series go on in the direction they are going, 1 if they never do.

    Independent steps get no farther in two steps than in one; a random walk gets twice as far, in mean squares; motion
    that goes on in its direction gets farther than that, up to four times. Returned is the first lag at which doubling
    it does not double the mean squared displacement. For a swing to and fro that is about a quarter of its period.

    Examples
    --------
    >>> swing = np.sin(2 * np.pi * np.arange(1000) / 80)[:, None]
    >>> directed_steps([swing])
    22
    >>> directed_steps([np.random.default_rng(0).normal(size=(1000, 2))])
    1
    """
    longest = max(1, min(len(one) for one in series) // 4)
    lag = 1
    while lag < longest:
        if mean_squared_displacement(series, 2 * lag) < 2.0 * mean_squared_displacement(series, lag):
            return lag
        lag = max(lag + 1, int(lag * LAG_GROWTH))
    return longest


def decorrelating_stride(series: Sequence[FloatArray]) -> int:
    """Return how many steps to go on at a time so that each says something new: as long as series go on.

    A swing to and fro is then looked at about four times.

    Parameters
    ----------
    series : sequence of ndarray of shape (n_steps_i, n_dims)
    """
    most = max(1, min(len(one) for one in series) // MIN_KEPT)
    return min(directed_steps(series), most)
