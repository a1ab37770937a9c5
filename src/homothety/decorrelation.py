"""Subsampling of recordings whose neighbouring steps are strongly correlated.

Motion is recorded a hundred times a second and more, and neighbouring steps are nearly copies. A model that takes each
of them for an observation of its own sees a hundred times the evidence there is, and finds states in every bend. There
are two remedies, one after the other: to look at a recording only as often as it turns, and to count every look as the
share of an independent observation that it is.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from homothety.arrays import mean_of_known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.arrays import FloatArray, IntArray

_LAG_GROWTH = 1.25  # from one lag looked at to the next
_MIN_KEPT = 25  # steps to leave in the median recording, whatever the measurement says
_MIN_KEPT_OF_SHORTEST = 3  # and in the shortest: a demonstration that was broken off must not decide for all
_HARDLY = 0.1  # share of how far apart independent steps are, in mean squares: nearer ones are copies but for noise
_RESTING = 0.1  # of the size of the median recording: in smaller ones nothing goes on
_LONGEST_LAG = 200  # steps looked at
_TINY = np.finfo(float).tiny


def _in_own_size(series: Sequence[FloatArray]) -> list[FloatArray]:
    """Return recordings about their means, in units of their own size, so that where and how large they are is gone.

    Dimensions are first brought to one size among them, as their units may differ. A recording in which next to nothing
    moves stays small: its noise is not to be taken for motion.
    """
    centred = [one - mean_of_known(one) for one in series]
    spread = np.sqrt(mean_of_known(np.concatenate(centred) ** 2))
    even = [one / np.maximum(spread, _TINY) for one in centred]
    sizes = np.array([np.sqrt(mean_of_known(one**2, axis=None)) for one in even])
    least = max(_RESTING * float(np.median(sizes)), _TINY)
    return [one / max(size, least) for one, size in zip(even, sizes, strict=True)]


def mean_squared_displacement(series: Sequence[FloatArray], lag: int) -> float:
    """Return how far recordings get in `lag` steps, in mean squares; those that are shorter do not count.

    Of missing values, NaN, there is no displacement.
    """
    squares = np.concatenate([(one[lag:] - one[:-lag]) ** 2 for one in series if len(one) > lag])
    return float(mean_of_known(squares).sum() if np.isnan(squares).any() else squares.sum(axis=1).mean())


def directed_steps(series: Sequence[FloatArray]) -> int:
    """Return for how many steps recordings go on in the direction they are going, 1 if they never do.

    Independent steps get no farther in two steps than in one; a random walk gets twice as far, in mean squares; motion
    that goes on in its direction gets farther than that, up to four times. Returned is the first lag at which doubling
    it does not double the mean squared displacement. For a swing to and fro that is about a quarter of its period.

    Lags within which a recording has hardly moved are passed over: what it does there is the noise of the recording.
    Every recording is measured by its own size: that some are elsewhere, or larger, is no motion.

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
    series = _in_own_size(series)
    longest = max(1, int(np.median([len(one) for one in series])) // 4)
    least = _HARDLY * 2 * series[0].shape[1]  # independent steps are twice the variance apart, in every dimension
    lag, moved = 1, mean_squared_displacement(series, 1)
    while lag < longest:
        doubled = mean_squared_displacement(series, 2 * lag)
        if moved > least and doubled < 2.0 * moved:
            return lag
        lag = max(lag + 1, int(lag * _LAG_GROWTH))
        moved = mean_squared_displacement(series, lag)
    return longest


def decorrelating_stride(series: Sequence[FloatArray]) -> int:
    """Return how many steps to go on at a time so that each says something new: as long as recordings go on.

    A swing to and fro is then looked at about four times.

    Parameters
    ----------
    series : sequence of ndarray of shape (n_steps_i, n_dims)
    """
    lengths, n_dims = [len(one) for one in series], series[0].shape[1]
    enough = sum(lengths) // n_dims**2  # a step for every number of a covariance
    most = min(int(np.median(lengths)) // _MIN_KEPT, min(lengths) // _MIN_KEPT_OF_SHORTEST, enough)
    return min(directed_steps(series), max(1, most))


def independent_share(residuals: FloatArray, edges: IntArray, extra: float = 1.0) -> float:
    """Return how much of an independent observation a step counts as, at most 1.

    Steps with lag-one correlation r count as ``(1 - r) / (1 + r)`` for the mean of a state. For its covariance they
    count as one over the sum of squared correlations at all lags, which also includes slow drifts and swings. The
    smaller of both is returned.

    Parameters
    ----------
    residuals : ndarray of shape (n_steps, n_dims)
        Deviations of steps from what their state expects, of unit variance: what states explain is not correlation. NaN
        where they are not known.
    edges : ndarray of int, shape (n_stays + 1,)
        First step of every stay in a state, and the number of steps. Pairs of steps in one stay are compared.
    extra : float
        Number of all dimensions over that of those which count; the others are noise.

    Examples
    --------
    >>> walk = np.random.default_rng(0).normal(size=(5000, 2))
    >>> for t in range(1, len(walk)):
    ...     walk[t] += 0.5 * walk[t - 1]
    >>> print(f"{independent_share(walk, np.array([0, 5000])):.1f}")  # a third
    0.3
    """
    correlations, counts = _correlations_in_stays(residuals, edges)
    if len(correlations) == 1:
        return 1.0
    later = extra * correlations[1:]
    by_mean = (1.0 - max(later[0], 0.0)) / (1.0 + max(later[0], 0.0))
    by_chance = extra**2 / np.maximum(counts[1:] * residuals.shape[1], 1.0)  # squared correlation of independent steps
    excess = (counts[1:] / counts[0] * (later**2 - by_chance)).sum()
    return float(min(by_mean, 1.0 / (1.0 + 2.0 * max(excess, 0.0))))


def _correlations_in_stays(residuals: FloatArray, edges: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return autocorrelations of residuals inside stays, and the number of pairs at each lag, (n_lags,) each.

    Of missing residuals, NaN, there are no pairs; those of single dimensions count as parts of a pair.
    """
    longest, n_dims = min(int(np.diff(edges).max()), _LONGEST_LAG), residuals.shape[1]
    products, counts = np.zeros(longest), np.zeros(longest)
    known = ~np.isnan(residuals)
    residuals, is_whole = np.where(known, residuals, 0.0), bool(known.all())
    for start, stop in pairwise(edges.tolist()):
        sums = _products_at_lags(residuals[start:stop], longest)
        products[: len(sums)] += sums
        if is_whole:
            counts[: len(sums)] += stop - start - np.arange(len(sums))
        else:
            counts[: len(sums)] += np.rint(_products_at_lags(known[start:stop].astype(float), longest)) / n_dims
    means = products / np.maximum(counts, 1.0)
    return means / max(means[0], _TINY), counts


def _products_at_lags(values: FloatArray, longest: int) -> FloatArray:
    """Return sums over all dimensions of products of values, (n_steps, n_dims), with those some steps later."""
    n = len(values)
    spectrum = np.fft.rfft(values, 2 * n, axis=0)
    return np.asarray(np.fft.irfft((np.abs(spectrum) ** 2).sum(axis=1))[: min(n, longest)])
