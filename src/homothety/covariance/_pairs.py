"""The work behind `pairwise_distance` and `pairwise_similarity`, one engine per family of measures.

Every engine takes what its family needs to know of each matrix, computed once per matrix, and `others` for the second
list, or None for the first list against itself. Within one list results are exactly symmetric.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from homothety import workers
from homothety.arrays import FloatArray
from homothety.covariance.measures import LogRatios
from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from homothety.arrays import IntArray
    from homothety.covariance.variants import SPCMVariant


# From a list and another one, or None for the first against itself, to a table with a row for each of the first.
Engine: TypeAlias = Callable[[FloatArray, FloatArray | None], FloatArray]

LEAST_PAIRS = 2**16  # fewer are worked out sooner than they are handed out
BLOCKS_EACH = 4  # so that nobody waits long for the one who is last


def shared_out(engine: Engine, items: FloatArray, others: FloatArray | None) -> FloatArray:
    """Return the table of an engine, in one call unless there are several to share the work.

    Only worth it where a pair costs far more than to send its number: not for SPCM, of which a core works out tens of
    millions in a second.
    """
    n_pairs = len(items) * len(items if others is None else others)
    n_workers = workers.n_workers() if n_pairs >= LEAST_PAIRS else 1
    if n_workers == 1:
        return engine(items, others)
    bounds = np.linspace(0, len(items), min(BLOCKS_EACH * n_workers, len(items)) + 1).astype(int).tolist()
    blocks = [slice(*ends) for ends in pairwise(bounds)]
    rows = workers.run_all([partial(_rows_of, engine, items, others, block) for block in blocks])
    return np.concatenate(rows) if others is not None else _mirrored(rows, blocks)


def _rows_of(engine: Engine, items: FloatArray, others: FloatArray | None, block: slice) -> FloatArray:
    """Return some rows of the table; of a list against itself, from the diagonal block on."""
    if others is not None or block.stop == len(items):
        return engine(items[block], others)
    return np.hstack([engine(items[block], None), engine(items[block], items[block.stop :])])


def _mirrored(rows: Sequence[FloatArray], blocks: Sequence[slice]) -> FloatArray:
    """Return the symmetric table of which the blocks on and above the diagonal are given."""
    table = np.empty((blocks[-1].stop, blocks[-1].stop))
    for row, block in zip(rows, blocks, strict=True):
        table[block, block.start :] = row
        table[block.start :, block] = row.T
    return table


_BLOCK_ENTRIES = 2**20  # matrix entries worked on at a time where every pair needs a matrix of its own
_EQUAL = 1e-6  # a distance between equal matrices that is forgiven: about the root of rounding
_SYMMETRIC = 1e-8  # relative difference between the two orders of a pair that is forgiven
_NEGATIVE = 1e-9  # negative distance, relative to the largest one, that is forgiven


def spcm_pairs(
    lengths: FloatArray, others: FloatArray | None, variant: SPCMVariant, strength: float | None
) -> FloatArray:
    """Return SPCM of axis lengths (n_matrices, n_dims), or with a strength of decay its similarity."""
    from homothety.covariance import _kernels

    dispersion = {"variance": _kernels.VARIANCE, "std": _kernels.STD, "cv": _kernels.CV}[variant.dispersion]
    decays = {
        "bounded": _kernels.BOUNDED,
        "exponential": _kernels.EXPONENTIAL,
        "exponential-root": _kernels.EXPONENTIAL_ROOT,
    }
    decay = _kernels.NO_DECAY if strength is None else decays[variant.decay]
    settings = (variant.ddof, dispersion, decay, 1.0 if strength is None else strength)
    # NumPy's allocator asks for large pages, numba's does not: at 5,000 matrices that is half of the time.
    out = np.empty((len(lengths), len(lengths if others is None else others)))
    if others is None:
        _kernels.spcm_within(lengths, *settings, out)
    else:
        _kernels.spcm_between(lengths, others, *settings, out)
    return out


def euclidean_pairs(points: FloatArray, others: FloatArray | None, *, squared: bool = False) -> FloatArray:
    """Return Euclidean distances between points in rows."""
    # cdist subtracts before it squares: equal points are at exactly zero, and order does not matter.
    return np.asarray(cdist(points, points if others is None else others, "sqeuclidean" if squared else "euclidean"))


def log_ratio_pairs(
    form: Callable[[FloatArray], FloatArray], covariances: FloatArray, others: FloatArray | None
) -> FloatArray:
    """Return a form of the log generalised eigenvalues of all pairs, a block of pairs at a time."""
    second = covariances if others is None else others
    log_ratios = LogRatios(covariances, second)
    distance = np.zeros((len(covariances), len(second)))
    block = max(1, _BLOCK_ENTRIES // covariances[0].size)
    for rows, columns in _blocks_of_pairs(*distance.shape, block, above_diagonal=others is None):
        distance[rows, columns] = form(log_ratios(rows, columns))
    return distance + distance.T if others is None else distance


def _blocks_of_pairs(
    n_rows: int, n_columns: int, block: int, *, above_diagonal: bool
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield row and column indices of all pairs, or of those above the diagonal, at most `block` at a time."""
    if above_diagonal:
        rows, columns = np.triu_indices(n_rows, k=1)
        for start in range(0, len(rows), block):
            yield rows[start : start + block], columns[start : start + block]
        return
    for start in range(0, n_rows * n_columns, block):
        yield np.divmod(np.arange(start, min(start + block, n_rows * n_columns)), n_columns)


def called_pairs(
    measure: Callable[[FloatArray, FloatArray], float], covariances: FloatArray, others: FloatArray | None
) -> FloatArray:
    """Return the results of a callable on all pairs, or raise where they cannot be distances."""
    # Both orders of a pair are asked for also within one list: it is not known to be symmetric.
    distance = shared_out(partial(_called, measure), covariances, covariances if others is None else others)
    bad = np.isnan(distance) | (distance < -_NEGATIVE * _largest_finite(distance))
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise InputError(f"measure of pair ({i}, {j}) is {distance[i, j]}, needed a distance: a number of at least 0.")
    distance = np.maximum(distance, 0.0)
    return _checked_symmetric(distance) if others is None else distance


def _called(
    measure: Callable[[FloatArray, FloatArray], float], covariances: FloatArray, others: FloatArray | None
) -> FloatArray:
    second = covariances if others is None else others
    return np.array([[_called_once(measure, a, b) for b in second] for a in covariances])


def _called_once(measure: Callable[[FloatArray, FloatArray], float], a: FloatArray, b: FloatArray) -> float:
    result = np.asarray(measure(a, b))
    if result.size != 1 or result.dtype.kind not in "fiu":
        raise InputError(
            f"measure returned an array of shape {result.shape} and dtype {result.dtype} for one pair, "
            "needed one real number."
        )
    return float(result.reshape(()))


def _checked_symmetric(distance: FloatArray) -> FloatArray:
    """Return distances within one list made exactly symmetric with zero diagonal, or raise if they are far from it."""
    scale = _largest_finite(distance)
    to_itself = np.diagonal(distance)
    if to_itself.max() > _EQUAL * max(scale, 1.0):
        i = int(to_itself.argmax())
        raise InputError(
            f"measure of matrix {i} with itself is {to_itself[i]:.6g}, needed 0. It has to be a distance: for a "
            "similarity s, pass for example 1 - s."
        )
    # Compared first: infinity minus itself is NaN.
    with np.errstate(invalid="ignore"):
        asymmetry = np.where(distance == distance.T, 0.0, np.abs(distance - distance.T))
    if asymmetry.max() > _SYMMETRIC * scale:
        i, j = divmod(int(asymmetry.argmax()), len(asymmetry))
        raise InputError(
            f"measure is not symmetric: {distance[i, j]:.6g} for pair ({i}, {j}), {distance[j, i]:.6g} for ({j}, {i}). "
            "Pass for example lambda a, b: (d(a, b) + d(b, a)) / 2."
        )
    upper = np.triu(distance, k=1)
    return upper + upper.T


def _largest_finite(distance: FloatArray) -> float:
    return float(distance.max(initial=0.0, where=np.isfinite(distance)))
