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

_TILE = 64  # rows and columns per tile: a tile and its mirror image then fit the first-level cache

VARIANCE, STD, CV = 0, 1, 2
NO_DECAY, BOUNDED, EXPONENTIAL, EXPONENTIAL_ROOT = 0, 1, 2, 3


@jit
def _ratio_moments(
    scales: FloatArray, columns: FloatArray, left: int, ddof: int, means: FloatArray, variances: FloatArray
) -> None:
    """Write mean and variance, over axes k, of the ratios ``scales[k] * columns[k, left + c]`` for every c.

    The variance takes a second pass: from squares and sums alone, rounding would grow with the relative scale.
    """
    n_dims, n_columns = columns.shape[0], means.shape[0]
    for c in range(n_columns):
        means[c] = 0.0
        variances[c] = 0.0
    for k in range(n_dims):
        scale, axis = scales[k], columns[k, left : left + n_columns]
        for c in range(n_columns):
            means[c] += scale * axis[c]
    for c in range(n_columns):
        means[c] /= n_dims
    for k in range(n_dims):
        scale, axis = scales[k], columns[k, left : left + n_columns]
        for c in range(n_columns):
            deviation = scale * axis[c] - means[c]
            variances[c] += deviation * deviation
    for c in range(n_columns):
        variances[c] /= n_dims - ddof


@jit
def _variance_to_dispersion(dispersion: int, means: FloatArray, spreads: FloatArray) -> None:
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
def _choose_direction(
    mean_ab: FloatArray, spread_ab: FloatArray, mean_ba: FloatArray, spread_ba: FloatArray, row: FloatArray
) -> None:
    """Write the spread of the direction with the larger mean ratio; at a tie, the mean of both."""
    for c in range(row.shape[0]):
        one_way = spread_ab[c] if mean_ab[c] > mean_ba[c] else spread_ba[c]
        row[c] = (spread_ab[c] + spread_ba[c]) / 2 if mean_ab[c] == mean_ba[c] else one_way


@inlined
def _apply_decay(decay: int, strength: float, row: FloatArray) -> None:
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
def _write_tile(tile: FloatArray, top: int, bottom: int, left: int, right: int, out: FloatArray) -> None:
    """Copy the used corner of a tile to its place in `out`."""
    for i in range(top, bottom):
        for c in range(left, right):
            out[i, c] = tile[i - top, c - left]


@inlined
def _write_mirrored_tile(tile: FloatArray, top: int, bottom: int, left: int, right: int, out: FloatArray) -> None:
    """Copy the used corner of a tile, transposed, to its place on the other side of the diagonal."""
    for c in range(left, right):
        for i in range(top, bottom):
            out[c, i] = tile[i - top, c - left]


@jit
def _fill_pairs(
    lengths: FloatArray,
    reciprocals: FloatArray,
    columns: FloatArray,
    reciprocal_columns: FloatArray,
    ddof: int,
    dispersion: int,
    decay: int,
    strength: float,
    within: bool,
    moments: FloatArray,
    tile: FloatArray,
    out: FloatArray,
) -> None:
    """Write SPCM, or its similarity, between matrices in rows and matrices in columns.

    Parameters
    ----------
    lengths, reciprocals : ndarray of shape (n_rows, n_dims)
        Axis lengths of the matrices in rows, and one over them.
    columns, reciprocal_columns : ndarray of shape (n_dims, n_columns)
        The same of the matrices in columns, axis by axis.
    ddof, dispersion, decay, strength
        Divisor of the variance, codes from the top of this file, and the factor inside the decay.
    within : bool
        Whether rows and columns are the same matrices: then one half is worked out and the other copied.
    moments : ndarray of shape (4, TILE)
        Scratch space, as is the next.
    tile : ndarray of shape (TILE, TILE)
    out : ndarray of shape (n_rows, n_columns)
    """
    n_rows, n_columns = out.shape
    for left in range(0, n_columns, _TILE):
        right = min(left + _TILE, n_columns)
        width = right - left
        mean_ab, spread_ab = moments[0, :width], moments[1, :width]
        mean_ba, spread_ba = moments[2, :width], moments[3, :width]
        for top in range(0, right if within else n_rows, _TILE):
            bottom = min(top + _TILE, n_rows)
            for i in range(top, bottom):
                _ratio_moments(lengths[i], reciprocal_columns, left, ddof, mean_ab, spread_ab)
                _ratio_moments(reciprocals[i], columns, left, ddof, mean_ba, spread_ba)
                _variance_to_dispersion(dispersion, mean_ab, spread_ab)
                _variance_to_dispersion(dispersion, mean_ba, spread_ba)
                row = tile[i - top, :width]
                _choose_direction(mean_ab, spread_ab, mean_ba, spread_ba, row)
                _apply_decay(decay, strength, row)
            _write_tile(tile, top, bottom, left, right, out)
            if within:
                _write_mirrored_tile(tile, top, bottom, left, right, out)


def spcm_between(
    lengths_a: FloatArray,
    lengths_b: FloatArray,
    ddof: int,
    dispersion: int,
    decay: int,
    strength: float,
    out: FloatArray,
    *,
    within: bool = False,
) -> None:
    """Write SPCM, or its similarity, between two lists; `out` is (n_matrices_a, n_matrices_b).

    Arrays are made outside of compiled code, where that costs seconds of compilation.
    """
    columns = np.ascontiguousarray(lengths_b.T)
    settings = (ddof, dispersion, decay, strength, within)
    moments, tile = np.empty((4, _TILE)), np.empty((_TILE, _TILE))
    _fill_pairs(lengths_a, 1.0 / lengths_a, columns, 1.0 / columns, *settings, moments, tile, out)


def spcm_within(lengths: FloatArray, ddof: int, dispersion: int, decay: int, strength: float, out: FloatArray) -> None:
    """Write SPCM, or its similarity, between all pairs of one list; `out` is (n_matrices, n_matrices)."""
    spcm_between(lengths, lengths, ddof, dispersion, decay, strength, out, within=True)
    # A length times its rounded reciprocal need not be one: what a matrix is to itself is known exactly.
    np.fill_diagonal(out, 0.0 if decay == NO_DECAY else 1.0)
