"""Compiled SPCM between all pairs of two lists of matrices, from their axis lengths alone.

One row of the result at a time, a tile of columns at a time: the inner loops run over contiguous columns and hold no
division and no branch, so that the compiler can do several pairs in one instruction. Nothing of the size of
(n_matrices, n_matrices, n_dims) is ever stored.

A ratio is a product with a reciprocal taken once per matrix. Both directions of a pair use the same two products
whichever matrix comes first, hence the result is symmetric to the last bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety._jit import inlined, jit

if TYPE_CHECKING:
    from homothety.arrays import FloatArray

TILE = 64  # columns per tile: a tile and its mirror image then fit the first-level cache

VARIANCE, STD, CV = 0, 1, 2
NO_DECAY, BOUNDED, EXPONENTIAL, EXPONENTIAL_ROOT = 0, 1, 2, 3


@jit
def ratio_moments(scales: FloatArray, columns: FloatArray, ddof: int, means: FloatArray, variances: FloatArray) -> None:
    """Write mean and variance, over axes k, of the ratios ``scales[k] * columns[k, c]`` of every column c.

    The variance takes a second pass: from squares and sums alone, rounding would grow with the relative scale.
    """
    n_dims, n_columns = columns.shape
    for c in range(n_columns):
        means[c] = 0.0
        variances[c] = 0.0
    for k in range(n_dims):
        scale = scales[k]
        axis = columns[k]
        for c in range(n_columns):
            means[c] += scale * axis[c]
    for c in range(n_columns):
        means[c] /= n_dims
    for k in range(n_dims):
        scale = scales[k]
        axis = columns[k]
        for c in range(n_columns):
            deviation = scale * axis[c] - means[c]
            variances[c] += deviation * deviation
    for c in range(n_columns):
        variances[c] /= n_dims - ddof


@jit
def variance_to_dispersion(dispersion: int, means: FloatArray, spreads: FloatArray) -> None:
    """Turn variances into the dispersion asked for, in place."""
    n_columns = spreads.shape[0]
    if dispersion != VARIANCE:
        for c in range(n_columns):
            spreads[c] = np.sqrt(spreads[c])
    if dispersion == CV:
        for c in range(n_columns):
            spreads[c] /= means[c]
    # Lengths are positive and finite: a NaN is an overflowed ratio (infinity minus itself), hence infinitely different.
    for c in range(n_columns):
        spread = spreads[c]
        spreads[c] = spread if spread == spread else np.inf


@inlined
def choose_direction(
    mean_ab: FloatArray, spread_ab: FloatArray, mean_ba: FloatArray, spread_ba: FloatArray, row: FloatArray
) -> None:
    """Write the spread of the direction with the larger mean ratio; at a tie, the mean of both."""
    for c in range(row.shape[0]):
        one_way = spread_ab[c] if mean_ab[c] > mean_ba[c] else spread_ba[c]
        row[c] = (spread_ab[c] + spread_ba[c]) / 2 if mean_ab[c] == mean_ba[c] else one_way


@inlined
def apply_decay(decay: int, strength: float, row: FloatArray) -> None:
    """Turn dissimilarities into similarities, in place."""
    n_columns = row.shape[0]
    if decay == BOUNDED:
        for c in range(n_columns):
            row[c] = 1.0 / (1.0 + strength * row[c])
    elif decay == EXPONENTIAL:
        for c in range(n_columns):
            row[c] = np.exp(-strength * row[c])
    elif decay == EXPONENTIAL_ROOT:
        for c in range(n_columns):
            row[c] = np.exp(-strength * np.sqrt(row[c]))


@inlined
def spcm_tile(
    lengths: FloatArray,
    reciprocals: FloatArray,
    columns: FloatArray,
    reciprocal_columns: FloatArray,
    ddof: int,
    dispersion: int,
    decay: int,
    strength: float,
) -> FloatArray:
    """Return SPCM, or its similarity, between a few matrices in rows and a few in columns.

    Parameters
    ----------
    lengths, reciprocals : ndarray of shape (n_rows, n_dims)
        Axis lengths of the matrices in rows, and one over them.
    columns, reciprocal_columns : ndarray of shape (n_dims, n_columns)
        The same of the matrices in columns, axis by axis. Contiguous, or the loops over columns are not vectorised.
    ddof, dispersion, decay, strength
        Divisor of the variance, codes from the top of this file, and the factor inside the decay.

    Returns
    -------
    tile : ndarray of shape (n_rows, n_columns)
    """
    n_columns = columns.shape[1]
    tile = np.empty((lengths.shape[0], n_columns))
    mean_ab, spread_ab = np.empty(n_columns), np.empty(n_columns)
    mean_ba, spread_ba = np.empty(n_columns), np.empty(n_columns)
    for i in range(lengths.shape[0]):
        ratio_moments(lengths[i], reciprocal_columns, ddof, mean_ab, spread_ab)
        ratio_moments(reciprocals[i], columns, ddof, mean_ba, spread_ba)
        variance_to_dispersion(dispersion, mean_ab, spread_ab)
        variance_to_dispersion(dispersion, mean_ba, spread_ba)
        choose_direction(mean_ab, spread_ab, mean_ba, spread_ba, tile[i])
        apply_decay(decay, strength, tile[i])
    return tile


@inlined
def write_block(block: FloatArray, top: int, left: int, out: FloatArray) -> None:
    """Copy a block into `out`; assigning to a slice would do the same and take four seconds longer to compile."""
    for i in range(block.shape[0]):
        for j in range(block.shape[1]):
            out[top + i, left + j] = block[i, j]


@jit
def spcm_within(lengths: FloatArray, ddof: int, dispersion: int, decay: int, strength: float, out: FloatArray) -> None:
    """Write SPCM, or its similarity, between all pairs of one list; `out` is (n_matrices, n_matrices)."""
    n_matrices = lengths.shape[0]
    reciprocals = 1.0 / lengths
    for left in range(0, n_matrices, TILE):
        right = min(left + TILE, n_matrices)
        columns = np.ascontiguousarray(lengths[left:right].T)
        reciprocal_columns = np.ascontiguousarray(reciprocals[left:right].T)
        for top in range(0, right, TILE):
            bottom = min(top + TILE, n_matrices)
            tile = spcm_tile(
                lengths[top:bottom],
                reciprocals[top:bottom],
                columns,
                reciprocal_columns,
                ddof,
                dispersion,
                decay,
                strength,
            )
            write_block(tile, top, left, out)
            write_block(tile.T, left, top, out)
    # A length times its rounded reciprocal need not be one: what a matrix is to itself is known exactly.
    for i in range(n_matrices):
        out[i, i] = 0.0 if decay == NO_DECAY else 1.0


@jit
def spcm_between(
    lengths_a: FloatArray,
    lengths_b: FloatArray,
    ddof: int,
    dispersion: int,
    decay: int,
    strength: float,
    out: FloatArray,
) -> None:
    """Write SPCM, or its similarity, between two lists; `out` is (n_matrices_a, n_matrices_b)."""
    reciprocals_a = 1.0 / lengths_a
    reciprocals_b = 1.0 / lengths_b
    n_rows, n_columns = out.shape
    for left in range(0, n_columns, TILE):
        right = min(left + TILE, n_columns)
        columns = np.ascontiguousarray(lengths_b[left:right].T)
        reciprocal_columns = np.ascontiguousarray(reciprocals_b[left:right].T)
        for top in range(0, n_rows, TILE):
            bottom = min(top + TILE, n_rows)
            tile = spcm_tile(
                lengths_a[top:bottom],
                reciprocals_a[top:bottom],
                columns,
                reciprocal_columns,
                ddof,
                dispersion,
                decay,
                strength,
            )
            write_block(tile, top, left, out)
