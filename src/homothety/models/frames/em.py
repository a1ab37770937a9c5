"""States and frames fitted together by expectation-maximisation."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homothety.models.emissions.statistics import Statistics, mean_parameters
from homothety.models.frames.candidates import Chain, climbed, smooth_through
from homothety.models.frames.frames import Frames, aligned_steps, log_determinants
from homothety.models.frames.statistics import state_gaussians

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.frames.model import Model

ENOUGH = 0.2  # nats: EM ends where a round gains less
SMALL_COUNT = 0.3  # added to the expected number of every transition


@dataclass(frozen=True, eq=False)
class Fitted:
    """States and frames after some rounds of expectation-maximisation."""

    frames: Frames
    probs: FloatArray  # (n_steps, n_states)
    chain: Chain
    log_likelihood: float

    @property
    def n_states(self) -> int:
        """Number of states."""
        return self.probs.shape[1]


def fit(model: Model, frames: Frames, probs: FloatArray, n_rounds: int, series: list[int] | None = None) -> Fitted:
    """Fit states, and frames if there are several, to recordings, beginning with probabilities of states.

    Parameters
    ----------
    model : Model
    frames : Frames
        With one label per recording.
    probs : ndarray of shape (n_steps, n_states)
    n_rounds : int
        At most.
    series : list of int, optional
        Recordings to fit to; all of them if not given.
    """
    steps, starts = model.steps_of(series)
    n_states = probs.shape[1]
    initial, transition = np.full(n_states, 1 / n_states), transition_probs(model, np.zeros((n_states, n_states)))
    aligned = aligned_steps(model.blocks, frames, steps, starts)
    before = -np.inf
    for number in range(n_rounds):
        chain = Chain(parameters(model, aligned, probs), initial, transition, probs.sum(axis=0))
        if number > 0 and frames.n_frames > 1:
            frames = climbed(model, steps, starts, probs, state_gaussians(model, chain.whiteners), frames, 1)
            aligned = aligned_steps(model.blocks, frames, steps, starts)
            chain = chain._replace(whiteners=parameters(model, aligned, probs))
        probs, n_transitions, totals = smooth_through(model, steps, starts, chain, frames)
        total = float(
            totals.sum() - np.diff(starts) @ log_determinants(model.blocks, model.block_weights, frames)[frames.labels]
        )
        transition = transition_probs(model, n_transitions)
        initial = 0.5 + probs[starts[:-1]].sum(axis=0)
        initial /= initial.sum()
        if abs(total - before) < ENOUGH:
            break
        before = total
    return Fitted(frames, probs, chain, total)


def fit_clusters(
    rng: Generator, model: Model, frames: Frames, n_states: int, n_rounds: int, series: list[int] | None = None
) -> Fitted:
    """Fit states and frames, beginning with clusters of the aligned steps by k-means."""
    aligned = aligned_steps(model.blocks, frames, *model.steps_of(series))
    probs = np.eye(n_states)[k_means(rng, aligned / block_spreads(model, aligned), n_states)]
    return fit(model, frames, probs, n_rounds, series)


def k_means(rng: Generator, steps: FloatArray, n_clusters: int) -> IntArray:
    """Return the cluster of every step."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    means = KMeans(n_clusters, n_init=1, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # all steps of a resting recording are the same
        return np.asarray(means.fit_predict(steps))


def block_spreads(model: Model, steps: FloatArray) -> FloatArray:
    """Return the root mean variance of its block for every channel, (n_dims,)."""
    blocks, tiny = model.blocks, np.finfo(float).tiny
    return np.repeat([np.sqrt(steps[:, block].var(axis=0).mean() + tiny) for block in blocks.slices], blocks.sizes)


def transition_probs(model: Model, n_transitions: FloatArray) -> FloatArray:
    """Return transition probabilities from expected numbers of transitions."""
    n, segmentation = len(n_transitions), model.segmentation
    counts = n_transitions + SMALL_COUNT + (0.0 if segmentation.leaving else 10.0) * np.eye(n)
    leaving = segmentation.leaving
    if segmentation.leaving_range is not None and n_transitions.any():
        n_left = n_transitions.sum() - np.trace(n_transitions)
        leaving = float(np.clip(n_left / n_transitions.sum(), *segmentation.leaving_range))
    return segmentation.chain_between(counts, leaving)[1]


def parameters(model: Model, aligned: FloatArray, probs: FloatArray) -> FloatArray:
    """Return the parameters of states at their posterior means, given probabilities of states."""
    emission = model.emission
    z = emission.augment_steps(aligned)
    scales = emission.prior_scale + emission.weight * ((probs.T[:, None, :] * z.T) @ z)
    return mean_parameters(emission, Statistics(emission.weight * probs.sum(axis=0), np.ascontiguousarray(scales)))
