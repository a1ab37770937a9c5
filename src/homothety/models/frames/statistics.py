"""What the density of a frame depends on: Gaussians of states, and sums over the recorded steps of each state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.arrays import read_only
from homothety.models.frames._kernels import StateGaussians, Sums, add_expected, add_recorded

if TYPE_CHECKING:
    from collections.abc import Callable

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.frames.blocks import Blocks
    from homothety.models.frames.frames import Frames
    from homothety.models.frames.model import Model


def state_gaussians(model: Model, whiteners: FloatArray) -> StateGaussians:
    """Return means and weighted precisions of states, in the canonical frame."""
    emission = model.emission
    roots = whiteners[:, :, emission.n_regressors :]
    precisions = np.swapaxes(roots, -1, -2) @ (emission.weight * emission.dim_weights[:, None] * roots)
    return StateGaussians(emission.means_of(whiteners), np.ascontiguousarray(precisions), model.block_weights)


def recorded_sums(model: Model, path: IntArray, n_states: int, frames: Frames) -> Sums:
    """Return sums over the recorded steps of every frame and state; arrays begin with an axis of frames."""
    return sums_by_state(model.blocks, model.steps, model.starts, frames.labels, path, n_states)


def sums_by_state(
    blocks: Blocks, steps: FloatArray, starts: IntArray, labels: IntArray, states: IntArray | FloatArray, n_states: int
) -> Sums:
    """Return sums over the steps of every label and state; arrays begin with an axis of labels.

    Parameters
    ----------
    blocks : Blocks
    steps : ndarray of shape (n_steps, n_dims)
    starts : ndarray of int, shape (n_stretches + 1,)
        First step of each stretch of steps, and the end of the last.
    labels : ndarray of int, shape (n_stretches,)
        Stretches with the same label are added up.
    states : ndarray of int, shape (n_steps,), or ndarray of float, shape (n_steps, n_states)
        State of every step, or the probabilities of its states.
    n_states : int
    """
    n_labels, n_dims = int(labels.max()) + 1, steps.shape[1]
    n, first = np.zeros((n_labels, n_states)), np.zeros((n_labels, n_states, n_dims))
    second = np.zeros((n_labels, n_states, n_dims, n_dims))
    add: Callable[..., None] = add_recorded if states.ndim == 1 else add_expected
    add(read_only(steps), read_only(np.asarray(states)), starts, labels, n, first, second)
    second += np.swapaxes(np.tril(second, -1), -1, -2)
    return Sums(n, first, second, centres_of(blocks, n, first))


def centres_of(blocks: Blocks, n: FloatArray, first: FloatArray) -> FloatArray:
    """Return the mean of every block with a place over the steps of all states, (n_labels, n_places, dim)."""
    return blocks.at_places(first.sum(axis=1) / n.sum(axis=1)[:, None])
