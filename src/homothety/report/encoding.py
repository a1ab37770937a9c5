"""Numbers for the charts of a page: thinned out to what can be seen, and encoded with 8 or 16 bits each.

Only charts are thinned out, never tables or texts.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from homothety.arrays import FloatArray, IntArray

MAX_VALUES = 1_000_000  # of curves, in one page: 2.7 MB as text
MISSING = 65_535  # the code of what was not measured; the codes below are numbers


def bin_size(n_steps: int, n_dims: int, most: int = MAX_VALUES) -> int:
    """Return how many steps to draw as one, such that no more than `most` numbers are drawn.

    Examples
    --------
    >>> bin_size(35_000, 7), bin_size(1_000_000, 7)
    (1, 14)
    """
    return 1 if n_steps * n_dims <= most else -(-2 * n_steps * n_dims // most)


def extremes(values: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest of every `size` values along the first axis, missing ones left out.

    Examples
    --------
    >>> extremes(np.array([3.0, 1.0, 2.0, 5.0, 4.0]), 2)
    (array([1., 2., 4.]), array([3., 5., 4.]))
    """
    firsts = np.arange(0, len(values), size)
    return np.fmin.reduceat(values, firsts, axis=0), np.fmax.reduceat(values, firsts, axis=0)


def runs_of(labels: IntArray) -> dict[str, list[int]]:
    """Return where labels begin that stay the same for a while, and which they are.

    Examples
    --------
    >>> runs_of(np.array([4, 4, 0, 0, 0]))
    {'starts': [0, 2], 'labels': [4, 0]}
    """
    starts = np.flatnonzero(np.diff(labels, prepend=labels[0] - 1))
    return {"starts": starts.tolist(), "labels": labels[starts].tolist()}


def as_codes(values: FloatArray, low: FloatArray | float, high: FloatArray | float) -> NDArray[np.uint16]:
    """Return numbers as whole ones from 0 for `low` to 65,534 for `high`; 65,535 where there is none."""
    width = np.where(np.equal(high, low), 1.0, np.subtract(high, low))
    known = np.isfinite(values)
    codes = np.round((np.where(known, values, low) - low) / width * (MISSING - 1))
    return np.where(known, np.clip(codes, 0, MISSING - 1), MISSING).astype(np.uint16)


def as_bytes(probabilities: FloatArray) -> NDArray[np.uint8]:
    """Return numbers from 0 to 1 as whole ones from 0 to 255."""
    return np.round(255 * np.clip(probabilities, 0.0, 1.0)).astype(np.uint8)


def packed(codes: NDArray[Any]) -> str:
    """Return whole numbers as text, lowest byte first."""
    return b64encode(codes.astype(codes.dtype.newbyteorder("<")).tobytes()).decode("ascii")


def block_means(matrix: FloatArray, most: int) -> FloatArray:
    """Return the means of blocks of a square matrix, at most `most` along each side.

    Examples
    --------
    >>> block_means(np.arange(9.0).reshape(3, 3), 2)
    array([[2. , 3.5],
           [6.5, 8. ]])
    """
    size = -(-len(matrix) // most)
    firsts = np.arange(0, len(matrix), size)
    counts = np.diff(firsts, append=len(matrix))
    sums = np.add.reduceat(np.add.reduceat(matrix, firsts, axis=0), firsts, axis=1)
    return np.asarray(sums / np.outer(counts, counts))
