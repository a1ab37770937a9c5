"""Rotations between covariance matrices of one shape: the smallest that fits, and all that cannot be told from it.

A covariance has axes, but an axis has no sign, and axes of equal length have no direction. So a rotation that takes the
axes of one matrix to those of another is one of many. Axes that cannot be told apart form a *block*: `blocks` is an
array of shape (n_dims,) with the number of the block of every axis, axes from the shortest to the longest.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.covariance.spectra import DEFAULT_FLOOR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homothety.arrays import BoolArray, FloatArray, IntArray

_CLEAR_GAP = 3.0  # standard errors; two axes of equal length in the plane have such a gap in 1 of 90 estimates


class Axes(NamedTuple):
    """Axes of covariance matrices, from the shortest to the longest."""

    log_lengths: FloatArray  # (..., n_dims), half the logarithms of the eigenvalues
    frames: FloatArray  # (..., n_dims, n_dims), directions in columns


def axes_of(covariances: FloatArray) -> Axes:
    """Return the axes of positive definite matrices (..., n_dims, n_dims), of any number of dimensions."""
    spectra, frames = np.linalg.eigh(covariances)
    # Rounding may take the shortest axis of a very long matrix below zero.
    return Axes(np.log(np.maximum(spectra, DEFAULT_FLOOR * spectra[..., -1:])) / 2, frames)


def told_apart(log_lengths: FloatArray, n_spare: FloatArray | float) -> BoolArray:
    """Tell which axes are longer than the one before beyond doubt.

    Parameters
    ----------
    log_lengths : ndarray of shape (..., n_dims)
        Ascending.
    n_spare : ndarray of shape (...), or float
        Independent observations behind each matrix, less one for every dimension.

    Returns
    -------
    told_apart : ndarray of bool, shape (..., n_dims - 1)

    Notes
    -----
    The logarithm of an axis length from n observations has variance 1 / 2n, the difference of two hence 1 / n. Of two
    axes of equal length in the plane the difference has the Rayleigh distribution of that scale, so it is above
    `_CLEAR_GAP` standard errors with probability exp(-CLEAR_GAP**2 / 2), about 1 %. Of few observations lengths spread
    more than that; with `n_spare` in the place of n, equal axes are told apart in 5 % of all matrices at most.

    Examples
    --------
    >>> told_apart(np.log([1.0, 1.1, 3.0]), 100)
    array([False,  True])
    """
    return np.asarray(np.diff(log_lengths, axis=-1) * np.sqrt(np.maximum(n_spare, 0))[..., None] > _CLEAR_GAP)


def blocks_from_gaps(is_clear: BoolArray) -> IntArray:
    """Return the block of every axis, (n_dims,), given after which axes there is a clear gap, (n_dims - 1,).

    Examples
    --------
    >>> blocks_from_gaps(np.array([False, True]))
    array([0, 0, 1])
    """
    return np.concatenate([[0], np.cumsum(is_clear)]).astype(np.int64)


def nearest_rotation(
    start: FloatArray, end: FloatArray, blocks: IntArray, target: FloatArray | None = None
) -> FloatArray:
    """Return the proper rotation from one frame to another that is nearest to a given one, by default to none at all.

    Parameters
    ----------
    start, end : ndarray of shape (..., n_dims, n_dims)
        Orthonormal axes in columns, in the same order; leading axes broadcast.
    blocks : ndarray of shape (n_dims,)
        Axes of one block may go over into each other.
    target : ndarray of shape (..., n_dims, n_dims), optional
        The rotation to be near to; the identity if not given.

    Returns
    -------
    rotation : ndarray of shape (..., n_dims, n_dims)
        With determinant one. Of all that take every block of `start` to that of `end`, it has the least Frobenius
        distance from `target`: in two and three dimensions the smallest angle.

    Notes
    -----
    Within blocks the rotation is an orthogonal Procrustes problem. If its solution is a reflection, the direction in
    which that costs least is turned round.

    Examples
    --------
    An axis has no sign: turning by 150 degrees is turning back by 30.

    >>> turned = np.array([[-np.sqrt(0.75), -0.5], [0.5, -np.sqrt(0.75)]])
    >>> nearest_rotation(np.eye(2), turned, np.array([0, 1])).round(3)
    array([[ 0.866,  0.5  ],
           [-0.5  ,  0.866]])
    """
    turned = end if target is None else np.swapaxes(target, -1, -2) @ end
    overlap = np.swapaxes(turned, -1, -2) @ start
    fitted, flipped, costs = np.zeros_like(overlap), np.zeros_like(overlap), []
    for members in axes_in_blocks(blocks):
        inside = np.ix_(members, members)
        left, singular, right = np.linalg.svd(overlap[..., inside[0], inside[1]])
        fitted[..., inside[0], inside[1]] = left @ right
        left[..., -1] *= -1
        flipped[..., inside[0], inside[1]] = left @ right
        costs.append(singular[..., -1])
    cheapest = np.argmin(np.stack(costs, axis=-1), axis=-1)[..., None] == blocks
    is_reflection = np.linalg.det(end @ fitted @ np.swapaxes(start, -1, -2)) < 0
    inner = np.where((is_reflection[..., None] & cheapest)[..., None], flipped, fitted)
    return np.asarray(end @ inner @ np.swapaxes(start, -1, -2))


def equivalent_rotations(rotation: FloatArray, start: FloatArray, blocks: IntArray) -> Iterator[FloatArray]:
    """Yield the rotations that differ from one by the signs of axes, itself first: 2 ** (number of blocks - 1) in all.

    Parameters
    ----------
    rotation : ndarray of shape (n_dims, n_dims)
    start : ndarray of shape (n_dims, n_dims)
        The frame it begins from, axes in columns.
    blocks : ndarray of shape (n_dims,)
        Of a block that is turned round, one direction is; the others may go over into each other anyway.
    """
    groups = axes_in_blocks(blocks)
    for signs in product((1.0, -1.0), repeat=len(groups)):
        if np.prod(signs) > 0:
            flips = np.ones(len(blocks))
            flips[[members[0] for members in groups]] = signs
            yield rotation @ (start * flips) @ start.T


def rotation_angle(rotation: FloatArray) -> FloatArray:
    """Return how far rotations (..., n_dims, n_dims) turn, in degrees.

    It is the length of the shortest way there among the rotations, the Frobenius norm of the matrix logarithm over the
    root of two: in two and three dimensions the angle, in more the root of the sum of the squares of all angles.

    Examples
    --------
    >>> float(rotation_angle(np.array([[0.0, -1.0], [1.0, 0.0]])).round(6))
    90.0
    """
    angles = np.angle(np.linalg.eigvals(rotation))
    return np.asarray(np.degrees(np.sqrt((angles**2).sum(axis=-1) / 2)))


def axes_in_blocks(blocks: IntArray) -> list[IntArray]:
    """Return the axes of each block."""
    return [np.flatnonzero(blocks == block) for block in range(int(blocks[-1]) + 1)]
