"""What frames are judged by: the look of every state, and sums over its recorded steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.models.frames._kernels import Looks, Sums, add_recorded

if TYPE_CHECKING:
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
    n_dims = model.steps.shape[1]
    n, first = np.zeros((frames.n_frames, n_states)), np.zeros((frames.n_frames, n_states, n_dims))
    second = np.zeros((frames.n_frames, n_states, n_dims, n_dims))
    for i, f in enumerate(frames.labels):
        add_recorded(model.steps, path, model.starts[i], model.starts[i + 1], n[f], first[f], second[f])
    second += np.swapaxes(np.tril(second, -1), -1, -2)
    return n, first, second, centres_of(model, n, first)


def expected_sums(model: Model, steps: FloatArray, probs: FloatArray) -> Sums:
    """Return the same of some steps of one frame, given the probabilities of their states."""
    n, first = probs.sum(axis=0), probs.T @ steps
    second = (probs.T[:, None, :] * steps.T) @ steps
    return Sums(n, first, second, centres_of(model, n[None], first[None])[0])


def centres_of(model: Model, n: FloatArray, first: FloatArray) -> FloatArray:
    """Return the mean of every block with a place over the steps of each frame, (n_frames, n_places, dim)."""
    blocks = model.blocks
    means = first.sum(axis=1) / n.sum(axis=1)[:, None]
    centres = [means[:, blocks.slices[b]] for b in blocks.placed]
    return np.stack(centres, axis=1) if centres else np.zeros((len(n), 0, blocks.dim))
