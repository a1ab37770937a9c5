"""States with fixed parameters, to be found in new recordings, and what follows from them.

How well drawn states predict left-out steps; what the states of a fit expect of missing values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from scipy.special import ndtr, ndtri

from homothety.errors import InputError
from homothety.models.emissions.missing import (
    NO_GAPS,
    augmented,
    completed_steps,
    expected_statistics,
    observed_evidence,
)
from homothety.models.emissions.regression import draw_parameters, mean_parameters, statistics_of
from homothety.models.hmm.messages import log_likelihood, most_likely_path, smoothed_probs, transition_steps

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.emissions import Emission
    from homothety.models.emissions.missing import Gaps
    from homothety.sequences import Sequences

_Scalar = TypeVar("_Scalar", bound=np.generic)

_LOG_2_PI = float(np.log(2 * np.pi))
_PRIOR_COUNT = 0.5  # added to the number of transitions between every two states
_N_HALVINGS = 50  # of the interval that holds a quantile


@dataclass(frozen=True, eq=False)
class StateModel:
    """A hidden Markov model with given parameters.

    Parameters
    ----------
    initial : ndarray of shape (n_states,)
    transition : ndarray of shape (n_states, n_states)
    coefficients : ndarray of shape (n_states, n_dims, n_regressors)
        Means of the states, one column, or coefficients of their autoregressions.
    covariances : ndarray of shape (n_states, n_dims, n_dims)
    order : int
        Number of past steps in the regressors; 0 for Gaussian states.
    weight : float
        How much of an independent observation a step counts as where a path is looked for.
    dim_weights : ndarray of shape (n_dims,), optional
        The same for each dimension, besides the weight of all of them: covariances are block-diagonal then, and the
        dimensions of a block have the same weight. All are 1 if not given.
    least_stay : int
        Fewest steps that a state lasts once it is entered.
    """

    initial: FloatArray
    transition: FloatArray
    coefficients: FloatArray
    covariances: FloatArray
    order: int = 0
    weight: float = 1.0
    dim_weights: FloatArray | None = None
    least_stay: int = 1

    @classmethod
    def from_path(cls, emission: Emission, sequences: Sequences, path: IntArray, least_stay: int = 1) -> StateModel:
        """Return the states of a path at their posterior means; transitions pooled over recordings.

        Parameters
        ----------
        emission : Emission
        sequences : Sequences
            Values may be missing.
        path : ndarray of shape (n_augmented_steps,)
            States 0, 1, ... of the steps that `emission.augment` leaves.
        least_stay : int, default=1
        """
        z, starts, gaps = augmented(emission, sequences)
        n_states = int(path.max()) + 1
        whiteners = mean_parameters(emission, expected_statistics(emission, z, path, gaps, n_states))
        initial, transition = pooled_transitions(path, starts, n_states, least_stay)
        return cls(
            initial,
            transition,
            emission.coefficients_of(whiteners) if emission.order else emission.means_of(whiteners)[:, :, None],
            emission.covariances_of(whiteners),
            emission.order,
            emission.weight,
            None if emission.blocks is None else emission.dim_weights,
            least_stay,
        )

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.initial)

    def log_evidence(self, series: FloatArray) -> FloatArray:
        """Return the log density of every step but the first `order` under every state, (n_kept, n_states).

        Of a step with missing values, NaN, it is that of what is observed.
        """
        return self._log_evidence(series, np.ones(self.covariances.shape[1]))

    def weighted_log_evidence(self, series: FloatArray) -> FloatArray:
        """Return the same with the weights of steps and dimensions: what a path is looked for by."""
        dim_weights = np.ones(self.covariances.shape[1]) if self.dim_weights is None else self.dim_weights
        return self.weight * self._log_evidence(series, dim_weights)

    def _log_evidence(self, series: FloatArray, dim_weights: FloatArray) -> FloatArray:
        if np.isnan(series).any():
            return self._log_evidence_of_observed(series, dim_weights)
        regressors, observed = _regression_of(series, self.order)
        residuals = observed[None] - regressors @ self.coefficients.transpose(0, 2, 1)
        roots = np.linalg.cholesky(self.covariances)
        white = np.linalg.solve(roots, residuals.transpose(0, 2, 1))
        log_dets = (dim_weights * np.log(np.diagonal(roots, axis1=1, axis2=2))).sum(axis=1)
        squares = (dim_weights[:, None] * white**2).sum(axis=1)
        return np.ascontiguousarray((-0.5 * squares - log_dets[:, None] - dim_weights.sum() / 2 * _LOG_2_PI).T)

    def _log_evidence_of_observed(self, series: FloatArray, dim_weights: FloatArray) -> FloatArray:
        if self.order:
            raise InputError(
                "Recordings have missing values, which autoregressive states cannot be found in. Interpolate."
            )
        evidence = np.zeros((len(series), self.n_states))
        kinds, numbers = np.unique(~np.isnan(series), axis=0, return_inverse=True)
        for number, known in enumerate(kinds):
            if known.any():
                steps = np.flatnonzero(numbers.ravel() == number)
                part = replace(
                    self, coefficients=self.coefficients[:, known], covariances=self.covariances[:, known][:, :, known]
                )
                evidence[steps] = part._log_evidence(series[np.ix_(steps, known)], dim_weights[known])
        return evidence

    def path(self, series: FloatArray) -> IntArray:
        """Return the most probable path of a recording, (n_steps,); the first `order` steps go with the next one."""
        evidence = self.weighted_log_evidence(series)
        return self._from_first(
            most_likely_path(evidence, self.initial, self.transition, least_stay=self.least_stay)[0]
        )

    def probs(self, series: FloatArray) -> FloatArray:
        """Return the probability of each state at each step given the whole recording, (n_steps, n_states)."""
        evidence = self.weighted_log_evidence(series)
        return self._from_first(smoothed_probs(evidence, self.initial, self.transition, least_stay=self.least_stay))

    def log_likelihood(self, series: FloatArray) -> float:
        """Return the log-likelihood of a recording, its path summed out."""
        evidence = self.log_evidence(series)
        return log_likelihood(evidence, self.initial, self.transition, least_stay=self.least_stay)

    def sample(self, rng: Generator, n_steps: int) -> tuple[IntArray, FloatArray]:
        """Draw the path of a recording and the recording, (n_steps,) and (n_steps, n_dims).

        The first `order` steps are zero, and go with the next one. Weights of steps and dimensions do not count.
        """
        n_drawn = n_steps - self.order
        path = [int(rng.choice(self.n_states, p=self.initial))]
        while len(path) < n_drawn:
            k = int(rng.choice(self.n_states, p=self.transition[path[-1]]))
            path.extend([k] * (1 if k == path[-1] else self.least_stay))
        drawn = np.array(path[:n_drawn], dtype=np.int64)
        noise = rng.standard_normal((n_drawn, self.covariances.shape[1]))
        noise = np.einsum("tde,te->td", np.linalg.cholesky(self.covariances)[drawn], noise)
        if self.order == 0:
            return drawn, self.coefficients[drawn, :, 0] + noise
        series = np.zeros((n_steps, noise.shape[1]))
        for t, (k, shock) in enumerate(zip(drawn.tolist(), noise, strict=True), start=self.order):
            series[t] = self.coefficients[k] @ series[t - self.order : t][::-1].ravel() + shock
        return self._from_first(drawn), series

    def _from_first(self, values: NDArray[_Scalar]) -> NDArray[_Scalar]:
        return np.concatenate([np.repeat(values[:1], self.order, axis=0), values])


def _regression_of(series: FloatArray, order: int) -> tuple[FloatArray, FloatArray]:
    """Return regressors, a one or the last `order` steps, and the steps they are of: all but the first `order`."""
    n_kept = len(series) - order
    if order == 0:
        return np.ones((n_kept, 1)), series
    return np.hstack([series[order - lag : order - lag + n_kept] for lag in range(1, order + 1)]), series[order:]


def pooled_transitions(
    path: IntArray, starts: IntArray, n_states: int, least_stay: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Return start and transition probabilities of a path over all recordings, each count raised by a half."""
    counts = np.full((n_states, n_states), 0.5)
    initial = np.full(n_states, 0.5) + np.bincount(path[starts[:-1]], minlength=n_states)
    later = np.flatnonzero(transition_steps(path, starts, least_stay))
    np.add.at(counts, (path[later - 1], path[later]), 1.0)
    return initial / initial.sum(), counts / counts.sum(axis=1, keepdims=True)


def log_left_out(
    rng: Generator, emission: Emission, z: FloatArray, starts: IntArray, path: IntArray, gaps: Gaps = NO_GAPS
) -> FloatArray:
    """Return the log density of every step given all other steps of its recording, under parameters that are drawn.

    Parameters
    ----------
    rng : Generator
    emission : Emission
    z : ndarray of shape (n_steps, n)
        Augmented steps, see `Emission.augment`.
    starts : ndarray of shape (n_recordings + 1,)
        First step of each recording, and the number of all.
    path : ndarray of int, shape (n_steps,)
        State of every step, by any numbers.
    gaps : Gaps
        Values that are missing and filled in: densities are those of what is observed.

    Returns
    -------
    log_density : ndarray of shape (n_steps,)
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
    log_initial, log_transition = _draw_log_transitions(rng, numbered, starts, n_states)
    return _left_out_densities(evidence, starts, log_initial, log_transition)


def _draw_log_transitions(
    rng: Generator, path: IntArray, starts: IntArray, n_states: int
) -> tuple[FloatArray, FloatArray]:
    """Draw start and transition probabilities given a path through states 0, 1, ...; return their logarithms."""
    initial = np.bincount(path[starts[:-1]], minlength=n_states) + _PRIOR_COUNT
    counts, later = np.full((n_states, n_states), _PRIOR_COUNT), np.ones(len(path), dtype=bool)
    later[starts[:-1]] = False
    after = np.flatnonzero(later)
    np.add.at(counts, (path[after - 1], path[after]), 1.0)
    tiny = np.finfo(float).tiny
    rows = [np.log(np.maximum(rng.dirichlet(row), tiny)) for row in (initial, *counts)]
    return rows[0], np.stack(rows[1:])


def _left_out_densities(
    log_evidence: FloatArray, starts: IntArray, log_initial: FloatArray, log_transition: FloatArray
) -> FloatArray:
    """Return the log density of every step given the other steps of its recording, (n_steps,).

    Parameters
    ----------
    log_evidence : ndarray of shape (n_steps, n_states)
        Log density of every step under every state.
    starts : ndarray of shape (n_recordings + 1,)
    log_initial, log_transition : ndarray of shape (n_states,) and (n_states, n_states)
        Logarithms of probabilities.

    Examples
    --------
    One state that explains all steps predicts each by its own density:

    >>> _left_out_densities(np.log([[0.2], [0.5]]), np.array([0, 2]), np.zeros(1), np.zeros((1, 1))).round(3).tolist()
    [-1.609, -0.693]
    """
    from homothety.models.hmm._kernels import write_left_out

    n_steps, n_states = log_evidence.shape
    forward, backward, out = np.empty((n_steps, n_states)), np.empty((2, n_states)), np.empty(n_steps)
    for start, stop in pairwise(starts):
        write_left_out(start, stop, log_evidence, log_initial, log_transition, forward, backward, out)
    return out


class Imputed(NamedTuple):
    """A recording with missing values filled in, (n_steps, n_dims) each, in its own units."""

    values: FloatArray
    """Expectations of missing values; observed values as they are."""
    lower: FloatArray
    upper: FloatArray


def impute_steps(
    steps: FloatArray, probs: FloatArray, means: FloatArray, covariances: FloatArray, level: float = 0.9
) -> Imputed:
    """Return steps with missing values, NaN, filled in by their expectations, with equal-tailed intervals.

    Parameters
    ----------
    steps : ndarray of shape (n_steps, n_dims)
    probs : ndarray of shape (n_steps, n_states)
        Probability of each state at each step.
    means, covariances : ndarray of shape (n_states, n_dims), (n_states, n_dims, n_dims)
    level : float, default=0.9
        Probability that an interval holds the value.

    Examples
    --------
    >>> covariances = np.array([[[1, 0.8], [0.8, 1]]])
    >>> known = impute_steps(np.array([[1.0, np.nan]]), np.ones((1, 1)), np.zeros((1, 2)), covariances)
    >>> known.values.round(2).tolist(), known.lower.round(2).tolist()
    ([[1.0, 0.8]], [[1.0, -0.19]])
    """
    values, lower, upper = steps.copy(), steps.copy(), steps.copy()
    kinds, numbers = np.unique(np.isnan(steps), axis=0, return_inverse=True)
    for number, lacking in enumerate(kinds):
        if not lacking.any():
            continue
        chosen, known = np.flatnonzero(numbers.ravel() == number), ~lacking
        mixed, own = covariances[:, known][:, :, lacking], covariances[:, lacking][:, :, lacking]
        slopes = np.linalg.solve(covariances[:, known][:, :, known], mixed)  # (n_states, n_known, n_lacking)
        residuals = steps[np.ix_(chosen, known)][:, None] - means[:, known]
        expected = means[:, lacking] + np.einsum("tko,kom->tkm", residuals, slopes)
        variances = np.diagonal(own - np.swapaxes(slopes, 1, 2) @ mixed, axis1=1, axis2=2)
        spreads = np.sqrt(np.maximum(variances, 0.0))
        cells = np.ix_(chosen, lacking)
        values[cells] = np.einsum("tk,tkm->tm", probs[chosen], expected)
        lower[cells] = _mixture_quantile((1 - level) / 2, probs[chosen], expected, spreads)
        upper[cells] = _mixture_quantile((1 + level) / 2, probs[chosen], expected, spreads)
    return Imputed(values, lower, upper)


def _mixture_quantile(share: float, probs: FloatArray, means: FloatArray, spreads: FloatArray) -> FloatArray:
    """Return a quantile of mixtures of Gaussians, (n_steps, n_values).

    Parameters
    ----------
    share : float
    probs : ndarray of shape (n_steps, n_states)
    means : ndarray of shape (n_steps, n_states, n_values)
    spreads : ndarray of shape (n_states, n_values)

    Examples
    --------
    >>> probs, means = np.array([[0.5, 0.5]]), np.array([[[-1.0], [1.0]]])
    >>> float(np.abs(_mixture_quantile(0.5, probs, means, np.ones((2, 1))))[0, 0].round(6))
    0.0
    """
    scale = np.maximum(spreads, np.finfo(float).tiny)
    own = means + ndtri(share) * scale  # that of the mixture is between those of its parts
    low, high = own.min(axis=1), own.max(axis=1)
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        below = np.einsum("tk,tkm->tm", probs, ndtr((middle[:, None] - means) / scale)) < share
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2)
