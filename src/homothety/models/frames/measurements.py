"""Measurements of recordings, block by block: which rest, where and how far they extend, the weight of a step.

All channels of a block are measured together. So no number depends on how a recording is turned or moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.decorrelation import independent_share
from homothety.models.hmm.messages import stay_edges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.frames.frames import Blocks
    from homothety.sequences import Sequences

_LEAST_SHIFT = 0.01  # least prior spread of the zero of a block, as a share of its size
_RESTING = 0.01  # size below which a recording does not move, as a share of a typical recording
FLAT = 0.02  # least extent of a recording in a direction, as a share of its largest extent
_ROUNDING = 1e-20  # mean square below which a recording does not move, as a share of that of all recordings
TINY = np.finfo(float).tiny


def resting_recordings(blocks: Blocks, prepared: Sequences) -> BoolArray:
    """Whether recordings move less than `_RESTING` of a typical one in all blocks that turn, (n_recordings,).

    Parameters
    ----------
    blocks : Blocks
    prepared : Sequences
        In units of blocks.
    """
    if not blocks.turned:
        return np.zeros(prepared.n_recordings, dtype=bool)
    sizes = [
        [typical_size([one[:, blocks.slices[b]]], about_zero=b not in blocks.placed) for b in blocks.turned]
        for one in prepared
    ]
    return np.asarray(np.max(sizes, axis=1) < _RESTING)


def place_prior(blocks: Blocks, prepared: Sequences) -> tuple[FloatArray, FloatArray]:
    """Return mean and spread of the prior of the place of each block that has one, (n_places, dim) and (n_places,).

    A recording may be anywhere that recordings have been. The zeros of vectors and orientations differ as much as the
    medians of recordings do: a sensor shows its zero most of the time, and one that was tared has the same in all.
    """
    means, spreads = [np.zeros((0, blocks.dim))], []
    for b in blocks.placed:
        parts = [one[:, blocks.slices[b]] for one in prepared]
        together = np.concatenate(parts)
        mean, spread = together.mean(axis=0), np.sqrt(together.var(axis=0).mean())
        if blocks.kinds[b] != "point":
            medians = np.array([np.median(part, axis=0) for part in parts])
            mean, spread = medians.mean(axis=0), max(np.sqrt(medians.var(axis=0).mean()), _LEAST_SHIFT)
        means.append(mean[None])
        spreads.append(spread)
    return np.concatenate(means), np.array(spreads)


def spans_of(blocks: Blocks, prepared: Sequences) -> tuple[int, ...]:
    """Return in how many dimensions each point or vector extends: 2 if all recordings lie in planes, 1 if on lines.

    Other blocks have all their channels.

    Examples
    --------
    >>> from homothety.models.frames.frames import Blocks
    >>> from homothety.sequences import check_sequences
    >>> swing = np.sin(np.arange(100.0))
    >>> flat = check_sequences([np.column_stack([swing, swing**2, 0 * swing])], allow_constant=True)
    >>> spans_of(Blocks(("point",), 3), flat)
    (2,)
    """
    return tuple(
        (max(_n_extents(scatter_of(blocks, [b], one)) for one in prepared) or n) if kind in ("point", "vector") else n
        for b, (kind, n) in enumerate(zip(blocks.kinds, blocks.sizes, strict=True))
    )


def line_axes(blocks: Blocks, prepared: Sequences) -> FloatArray:
    """Return the direction of each straight recording, (n_recordings, dim), if rotations about it cannot be determined.

    Zero for all other recordings.
    """
    axes = np.zeros((prepared.n_recordings, blocks.dim))
    if blocks.n_angles < 3 or len(blocks.turned) > len(blocks.sized):
        return axes
    for i, one in enumerate(prepared):
        scatter = scatter_of(blocks, blocks.sized, one)
        if _n_extents(scatter) == 1:
            axes[i] = np.linalg.eigh(scatter)[1][:, -1]
    return axes


def scatter_of(blocks: Blocks, chosen: Sequence[int], steps: FloatArray) -> FloatArray:
    """Return the sum over blocks of their mean outer products, (dim, dim), about the means of blocks with a place."""
    parts = [steps[:, blocks.slices[b]] for b in chosen]
    centred = [part - part.mean(axis=0) if b in blocks.placed else part for b, part in zip(chosen, parts, strict=True)]
    return np.asarray(sum(one.T @ one / len(one) for one in centred))


def _n_extents(scatter: FloatArray) -> int:
    """Return in how many directions a recording in units of blocks extends; 0 if it rests."""
    extents = np.linalg.eigvalsh(scatter)
    return int((extents > FLAT**2 * extents[-1]).sum()) if extents[-1] > _RESTING**2 else 0


def typical_size(parts: Sequence[FloatArray], *, about_zero: bool) -> float:
    """Return the root mean square of a block, about zero or about the mean of each recording, in the median recording.

    Where the median recording does not move, it is that of all recordings.
    """
    squares = [np.mean((part - (0.0 if about_zero else part.mean(axis=0))) ** 2) for part in parts]
    median, together = float(np.median(squares)), float(np.concatenate(parts).var(axis=0).mean())
    return float(np.sqrt(median if median > _ROUNDING * together else together))


def block_weights(
    blocks: Blocks, steps: FloatArray, path: IntArray, starts: IntArray, spans: Sequence[int] | None = None
) -> FloatArray:
    """Return how much of an independent observation a step counts as in each block, (n_blocks,), at most 1.

    Measured on deviations of aligned steps from the mean of their state, see
    `homothety.decorrelation.independent_share`. Stays are performances of their own: each counts as one observation at
    least.

    Parameters
    ----------
    blocks : Blocks
    steps : ndarray of shape (n_steps, n_dims)
        Aligned.
    path : ndarray of int, shape (n_steps,)
    starts : ndarray of int, shape (n_recordings + 1,)
    spans : sequence of int, optional
        Dimensions of each block that are not filled with noise.
    """
    edges = stay_edges(path, starts)
    spans = blocks.sizes if spans is None else spans
    shares = [
        # Dimensions filled with noise are uncorrelated and lower the mean over all dimensions.
        independent_share(_whitened(steps[:, block], path), edges, extra=n / span)
        for block, n, span in zip(blocks.slices, blocks.sizes, spans, strict=True)
    ]
    return np.maximum(shares, (len(edges) - 1) / len(path))


def _whitened(values: FloatArray, path: IntArray) -> FloatArray:
    """Return deviations of values from the mean of their state, whitened by its covariance."""
    residuals = np.empty_like(values)
    for k in np.unique(path):
        centred = values[path == k] - values[path == k].mean(axis=0)
        scatter = centred.T @ centred / len(centred)
        ridge = max(1e-6 * np.trace(scatter), TINY) * np.eye(len(scatter))
        residuals[path == k] = np.linalg.solve(np.linalg.cholesky(scatter + ridge), centred.T).T
    return residuals
