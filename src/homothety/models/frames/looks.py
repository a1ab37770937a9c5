"""What frames are judged by: the look of every state, and sums over its recorded steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.models.frames._kernels import Looks, add_expected, add_recorded

if TYPE_CHECKING:
    from collections.abc import Callable

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.frames.frames import Frames
    from homothety.models.frames.model import Model


def looks_of(model: Model, whiteners: FloatArray) -> Looks:
    """Return means and weighted precisions of states, in the canonical frame."""
    emission = model.emission
    roots = whiteners[:, :, emission.n_regressors :]
    precisions = np.swapaxes(roots, -1, -2) @ (emission.weight * emission.dim_weights[:, None] * roots)
    return Looks(emission.means_of(whiteners), np.ascontiguousarray(precisions), model.block_weights)


def recorded_sums(
    model: Model, path: IntArray, n_states: int, frames: Frames
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return number, sum and sum of products of the recorded steps of every frame and state, and their middles.

    Returns
    -------
    n : ndarray of shape (n_frames, n_states)
    first : ndarray of shape (n_frames, n_states, n_dims)
    second : ndarray of shape (n_frames, n_states, n_dims, n_dims)
    centres : ndarray of shape (n_frames, n_places, dim)
    """
    return summed(model, add_recorded, model.steps, model.starts, path, n_states, frames)


def expected_sums(
    model: Model, steps: FloatArray, starts: IntArray, probs: FloatArray, frames: Frames
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the same of some steps given the probabilities of their states, (n_steps, n_states)."""
    return summed(model, add_expected, steps, starts, probs, probs.shape[1], frames)


def summed(
    model: Model,
    add: Callable[..., None],
    steps: FloatArray,
    starts: IntArray,
    states: IntArray | FloatArray,
    n_states: int,
    frames: Frames,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return sums over the steps of every frame and state."""
    n_dims = steps.shape[1]
    n, first = np.zeros((frames.n_frames, n_states)), np.zeros((frames.n_frames, n_states, n_dims))
    second = np.zeros((frames.n_frames, n_states, n_dims, n_dims))
    for i, f in enumerate(frames.labels):
        add(steps, states, starts[i], starts[i + 1], n[f], first[f], second[f])
    second += np.swapaxes(np.tril(second, -1), -1, -2)
    return n, first, second, centres_of(model, n, first)


def centres_of(model: Model, n: FloatArray, first: FloatArray) -> FloatArray:
    """Return the mean of every block with a place over the steps of each frame, (n_frames, n_places, dim)."""
    blocks = model.blocks
    means = first.sum(axis=1) / n.sum(axis=1)[:, None]
    centres = [means[:, blocks.slices[b]] for b in blocks.placed]
    return np.stack(centres, axis=1) if centres else np.zeros((len(n), 0, blocks.dim))
