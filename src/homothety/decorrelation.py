"""How many steps a recording takes to say something new.

Motion is recorded a hundred times a second and more, and neighbouring steps are nearly copies. A model that takes each
of them for an observation of its own sees a hundred times the evidence there is, and finds states in every bend. There
are two remedies, one after the other: to look at a series only as often as it turns, and to count every look as the
share of an independent observation that it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.arrays import FloatArray

LAG_GROWTH = 1.25  # from one lag looked at to the next
MIN_KEPT = 25  # steps to leave in the median series, whatever the measurement says
MIN_KEPT_OF_SHORTEST = 3  # and in the shortest: a demonstration that was broken off must not decide for all
HARDLY = 0.1  # share of how far apart independent steps are, in mean squares: nearer ones are copies but for noise
RESTING = 0.1  # of the size of the median series: in smaller ones nothing goes on
CLEARLY = 2.0  # times the variance that noise alone would give
TINY = np.finfo(float).tiny
RELATIVE_RANK = 1e-8  # directions in which a series moves less, relative to the widest, are rounding


def in_own_size(series: Sequence[FloatArray]) -> list[FloatArray]:
    """Return series about their means, in units of their own size, so that where and how large they are is gone.

    Dimensions are first brought to one size among them, as their units may differ. A recording in which next to nothing
    moves stays small: its noise is not to be taken for motion.
    """
    centred = [one - one.mean(axis=0) for one in series]
    spread = np.sqrt(np.mean(np.concatenate(centred) ** 2, axis=0))
    even = [one / np.maximum(spread, TINY) for one in centred]
    sizes = np.array([np.sqrt(np.mean(one**2)) for one in even])
    least = max(RESTING * float(np.median(sizes)), TINY)
    return [one / max(size, least) for one, size in zip(even, sizes, strict=True)]


def mean_squared_displacement(series: Sequence[FloatArray], lag: int) -> float:
    """Return how far series get in `lag` steps, in mean squares; those that are shorter do not count."""
    squares = [((one[lag:] - one[:-lag]) ** 2).sum(axis=1) for one in series if len(one) > lag]
    return float(np.concatenate(squares).mean())


def directed_steps(series: Sequence[FloatArray]) -> int:
    """Return for how many steps series go on in the direction they are going, 1 if they never do.

    Independent steps get no farther in two steps than in one; a random walk gets twice as far, in mean squares; motion
    that goes on in its direction gets farther than that, up to four times. Returned is the first lag at which doubling
    it does not double the mean squared displacement. For a swing to and fro that is about a quarter of its period.

    Lags within which a series has hardly moved are passed over: what it does there is the noise of the recording. Every
    series is measured by its own size: that some are elsewhere, or larger, is no motion.

    Examples
    --------
    >>> swing = np.sin(2 * np.pi * np.arange(1000) / 80)[:, None]
    >>> directed_steps([swing])
    22
    >>> directed_steps([swing + np.random.default_rng(0).normal(scale=0.05, size=swing.shape)])
    22
    >>> directed_steps([np.random.default_rng(0).normal(size=(1000, 2))])
    1
    """
    series = in_own_size(series)
    longest = max(1, int(np.median([len(one) for one in series])) // 4)
    least = HARDLY * 2 * series[0].shape[1]  # independent steps are twice the variance apart, in every dimension
    lag, moved = 1, mean_squared_displacement(series, 1)
    while lag < longest:
        doubled = mean_squared_displacement(series, 2 * lag)
        if moved > least and doubled < 2.0 * moved:
            return lag
        lag = max(lag + 1, int(lag * LAG_GROWTH))
        moved = mean_squared_displacement(series, lag)
    return longest


def decorrelating_stride(series: Sequence[FloatArray]) -> int:
    """Return how many steps to go on at a time so that each says something new: as long as series go on.

    A swing to and fro is then looked at about four times.

    Parameters
    ----------
    series : sequence of ndarray of shape (n_steps_i, n_dims)
    """
    lengths, n_dims = [len(one) for one in series], series[0].shape[1]
    enough = sum(lengths) // n_dims**2  # a step for every number of a covariance
    most = min(int(np.median(lengths)) // MIN_KEPT, min(lengths) // MIN_KEPT_OF_SHORTEST, enough)
    return min(directed_steps(series), max(1, most))


def lag_one_correlations(one: FloatArray) -> FloatArray:
    """Return how much a step of a series tells of the next, in each of the directions it moves in: their correlations.

    The series is measured by its own covariance, so the result does not change if it is moved, turned, resized or
    otherwise mapped by a matrix.

    Returns
    -------
    correlations : ndarray of shape (n_directions,)
        Ascending: the first direction is the one in which steps tell least of the next.

    Examples
    --------
    >>> walk = np.random.default_rng(0).normal(size=(5000, 2))
    >>> for t in range(1, len(walk)):
    ...     walk[t] += [0.2, 0.8] * walk[t - 1]
    >>> lag_one_correlations(walk @ [[3.0, 1.0], [0.0, 0.1]]).round(1)
    array([0.2, 0.8])
    """
    # Whatever basis spans the directions in which the series moves at all will do.
    left, spread, _ = np.linalg.svd(one - one.mean(axis=0), full_matrices=False)
    white = left[:, spread > RELATIVE_RANK * spread[0]] * np.sqrt(len(one))
    moves = np.diff(white, axis=0)
    products = np.eye(white.shape[1]) - moves.T @ moves / (2 * len(moves))
    correlations = np.asarray(np.linalg.eigvalsh(products), dtype=np.float64)
    return drawn_together(correlations, noise=(len(correlations) + 1) / (2 * len(one)))


def drawn_together(values: FloatArray, noise: float) -> FloatArray:
    """Return the mean of values in the place of each, unless they lie farther apart than noise alone would put them.

    Eigenvalues of a noisy matrix lie apart even if those of what it measures are all the same.
    """
    return values if values.var() > CLEARLY * noise else np.full_like(values, values.mean())


def independent_share(series: Sequence[FloatArray]) -> float:
    """Return how much of an independent observation a step counts as, at most 1.

    The variance of a mean of n steps, each correlated with the next by r and with later ones by powers of it, is that
    of a mean of ``n (1 - r) / (1 + r)`` independent ones. That is so in every direction; the share is the mean over
    directions and series.

    Parameters
    ----------
    series : sequence of ndarray of shape (n_steps_i, n_dims)
        As they are looked at, subsampled.
    """
    measured = [one for one in series if len(one) > 1 and np.ptp(one, axis=0).any()]
    if not measured:
        return 1.0
    correlations = [np.clip(lag_one_correlations(one), 0.0, 1.0) for one in measured]
    shares = [((1.0 - each) / (1.0 + each)).mean() for each in correlations]
    fewest = 1.0 / max(len(one) for one in series)  # a series is at least one observation
    return float(max(np.average(shares, weights=[len(one) - 1 for one in measured]), fewest))
