r"""Known actions in a frame of its own: shapes and order are held, everything else is found anew.

A new recording may be turned, moved and resized as nobody has seen it. What stays is the shape :math:`\Lambda_z` of
each action, the squared lengths of its axes up to a common factor, and what follows what. So a state of action
:math:`z` is

.. math::

    x_t \sim \mathcal N\big(\mu_z, \; s_z R_z \Lambda_z R_z^\top\big)

with unknown place, size and rotation, found by expectation-maximisation from many starts. Its rotation is that of the
scatter :math:`V \operatorname{diag}(l) V^\top` of its steps, axes matched in order, and its size the mean of
:math:`l_d / \lambda_d`: of all covariances of this shape the likeliest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homothety.models.emissions.statistics import residual_scatters, statistics_of
from homothety.models.hmm.messages import smooth_series
from homothety.models.hmm.states import StateModel, regression_of
from homothety.models.icsc.moves import SPHERE, sample_covariances
from homothety.models.icsc.shapes import spectra_of

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.emissions import Emission

N_STARTS, MAX_ITERATIONS = 40, 60
LEAST_GAIN = 1e-3  # of log-likelihood in one iteration
TINY = np.finfo(float).tiny
LEAST_SIZE = 1e-100  # of a state: a recording that stands still has none
REST = 0.1  # share of all states together in any step, at the start


@dataclass(frozen=True, eq=False)
class KnownActions:
    """What is kept of actions in any frame.

    A series may show an action in several versions, and each has a state of its own.

    Parameters
    ----------
    actions : ndarray of int, shape (n_states,)
        Action of each state.
    spectra : ndarray of shape (n_states, n_dims)
        Squared lengths of the axes of its shape, ascending, with product one.
    initial : ndarray of shape (n_states,)
    transition : ndarray of shape (n_states, n_states)
    """

    actions: IntArray
    spectra: FloatArray
    initial: FloatArray
    transition: FloatArray

    @classmethod
    def of_path(
        cls, emission: Emission, z: FloatArray, starts: IntArray, path: IntArray, actions: IntArray
    ) -> KnownActions:
        """Return what a path through augmented steps says of the actions of its states.

        Parameters
        ----------
        emission : Emission
        z, starts : ndarray
            Augmented steps and where series begin, from `Emission.augment`.
        path : ndarray of int, shape (n_steps,)
            States 0, 1, ..., of which each has a step.
        actions : ndarray of int, shape (n_states,)
        """
        statistics = statistics_of(emission, z, path, len(actions))
        covariances = sample_covariances(residual_scatters(emission, statistics), statistics.sizes)
        spectra = pooled_spectra(covariances, statistics.sizes, actions)
        shown = np.repeat(np.arange(len(spectra)), versions_per_series(path, starts, actions))
        return cls(shown, spectra[shown], *transitions_between(path, starts, actions, shown))

    def in_frame_of(self, rng: Generator, series: FloatArray, order: int = 0, weight: float = 1.0) -> StateModel:
        """Return the states of the actions in the frame of a series: the likeliest of those found from many starts."""
        fits = (self._fit(rng, series, order, weight) for _ in range(N_STARTS))
        return max(fits, key=lambda fit: fit[1])[0]

    def _fit(self, rng: Generator, series: FloatArray, order: int, weight: float) -> tuple[StateModel, float]:
        """Return states and their log-likelihood, found from a random start."""
        regressors, observed = regression_of(series, order)
        probs, log_likelihood = self._start(rng, len(observed)), -np.inf
        for _ in range(MAX_ITERATIONS):
            states = self._states(regressors, observed, probs, order, weight)
            smoothed = smooth_series(weight * states.log_evidence(series), self.initial, self.transition)
            gain, log_likelihood = smoothed.log_likelihood - log_likelihood, smoothed.log_likelihood
            if gain < LEAST_GAIN:
                break
            probs = smoothed.probs
        return states, log_likelihood

    def _start(self, rng: Generator, n_steps: int) -> FloatArray:
        """Return shares of the steps: every state has a piece as long as a typical stay, and little of the rest.

        Pieces, and not paths drawn from the known order: those give all states much of everything, and many starts
        end at the same wrong place.
        """
        shares = np.full((n_steps, len(self.actions)), REST / len(self.actions))
        leaves = np.maximum(1.0 - np.diagonal(self.transition), 1.0 / n_steps)
        stays = np.clip(1.0 / leaves, 2, n_steps).astype(np.int64)
        for k, length in enumerate(stays):
            first = rng.integers(n_steps - length + 1)
            shares[first : first + length, k] += 1.0
        return shares

    def _states(
        self, regressors: FloatArray, observed: FloatArray, probs: FloatArray, order: int, weight: float
    ) -> StateModel:
        """Return the likeliest states of given shapes, if each has these shares of the steps."""
        anywhere = np.cov(observed.T, ddof=0).reshape(observed.shape[1], -1)
        coefficients, covariances = [], []
        for share, spectrum in zip(probs.T, self.spectra, strict=True):
            fitted, scatter = weighted_regression(regressors, observed, share)
            # What is anywhere counts as a fifth of a step: a state must not shrink to a point.
            scatter = (scatter + SPHERE * anywhere) / (share.sum() + SPHERE)
            coefficients.append(fitted)
            covariances.append(of_shape(scatter, spectrum))
        return StateModel(self.initial, self.transition, np.array(coefficients), np.array(covariances), order, weight)


def pooled_spectra(covariances: FloatArray, sizes: FloatArray, actions: IntArray) -> FloatArray:
    """Return the shape of each action, (n_actions, n_dims): the mean of its states, by their numbers of steps."""
    logs = np.log(spectra_of(covariances))
    logs -= logs.mean(axis=1, keepdims=True)
    members = np.eye(actions.max() + 1)[actions] * sizes[:, None]
    return np.asarray(np.exp((members.T @ logs) / np.maximum(members.sum(axis=0), TINY)[:, None]))


def versions_per_series(path: IntArray, starts: IntArray, actions: IntArray) -> IntArray:
    """Return how many states of an action a series shows that shows any, on average, rounded, (n_actions,).

    None of an action that no state is mostly of.
    """
    series = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    shown = np.zeros((len(starts) - 1, len(actions)))
    shown[series, path] = 1.0
    numbers = shown @ np.eye(actions.max() + 1)[actions]
    n_showing = np.maximum(1, (numbers > 0).sum(axis=0))
    return np.rint(numbers.sum(axis=0) / n_showing).astype(np.int64)


def transitions_between(
    path: IntArray, starts: IntArray, actions: IntArray, shown: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return start and transition probabilities between versions of actions, from those of a path.

    Versions of an action are alike: each follows as often as the others, but for the one that goes on. Every count is
    raised by a half.
    """
    begins, goes_on = np.zeros(len(path), dtype=bool), np.zeros(len(path), dtype=bool)
    begins[starts[:-1]] = True
    goes_on[1:] = (path[1:] == path[:-1]) & ~begins[1:]
    n_actions, found = actions.max() + 1, actions[path]
    n_versions = np.maximum(1, np.bincount(shown, minlength=n_actions))
    initial = np.bincount(found[begins], minlength=n_actions) + 0.5
    stays = np.bincount(found[goes_on], minlength=n_actions) + 0.5
    changes = np.full((n_actions, n_actions), 0.5)
    changed = np.flatnonzero(~begins & ~goes_on)
    np.add.at(changes, (found[changed - 1], found[changed]), 1.0)
    transition = (changes / n_versions)[np.ix_(shown, shown)] + np.diag(stays[shown])
    begun = (initial / n_versions)[shown]
    return begun / begun.sum(), transition / transition.sum(axis=1, keepdims=True)


def weighted_regression(
    regressors: FloatArray, observed: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return coefficients, (n_dims, n_regressors), and the weighted scatter about them, (n_dims, n_dims)."""
    weighted = weights[:, None] * regressors
    coefficients = np.linalg.pinv(weighted.T @ regressors, hermitian=True) @ weighted.T @ observed
    residuals = observed - regressors @ coefficients
    return coefficients.T, (weights[:, None] * residuals).T @ residuals


def of_shape(scatter: FloatArray, spectrum: FloatArray) -> FloatArray:
    """Return the likeliest covariance of a given shape, for steps that scatter so.

    Examples
    --------
    >>> of_shape(np.diag([8.0, 1.0]), np.array([0.5, 2.0])).round(6)
    array([[6. , 0. ],
           [0. , 1.5]])
    """
    values, vectors = np.linalg.eigh(scatter)
    size = max(float(np.mean(values / spectrum)), LEAST_SIZE)
    return np.asarray((vectors * (size * spectrum)) @ vectors.T)
