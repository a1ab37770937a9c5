"""Distances and similarities between all pairs of covariance matrices, by name of the measure or by your own function.

The standard measures are distances; clustering wants similarities. The map between them, which the paper leaves open,
is ``exp(-d**2 / (2 * sigma**2))`` with sigma the median distance: half of all pairs are then more similar than 0.61.


There is one engine for each family of measures. It takes what its family needs to know of each matrix, computed once
per matrix, and `others` for the second list, or None for the first list against itself. Within one list, tables are
exactly symmetric.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from homothety import workers
from homothety.arrays import FloatArray
from homothety.covariance.measures import (
    LogRatios,
    SPCMVariant,
    airm_of_log_ratios,
    axis_lengths,
    jbld_of_log_ratios,
    kldm_of_log_ratios,
    resolve_variant,
    similarity_from_spcm,
)
from homothety.covariance.shape import coordinates_of_spectra, log_euclidean_coordinates
from homothety.covariance.spectra import DEFAULT_FLOOR, check_covariances, eigenvalues, floored_covariances
from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike

    from homothety.arrays import IntArray

# From a list and another one, or None for the first against itself, to a table with a row for each of the first.
_Engine: TypeAlias = Callable[[FloatArray, FloatArray | None], FloatArray]

_LEAST_PAIRS = 2**16  # fewer are computed sooner than they are sent to workers
_BLOCKS_EACH = 4  # of each worker: small blocks, so that all workers end at about the same time
_BLOCK_ENTRIES = 2**20  # matrix entries worked on at a time where every pair needs a matrix of its own
_EQUAL = 1e-6  # a distance between equal matrices that is forgiven: about the root of rounding
_SYMMETRIC = 1e-8  # relative difference between the two orders of a pair that is forgiven
_NEGATIVE = 1e-9  # negative distance, relative to the largest one, that is forgiven
MEASURES = ("spcm", "bspcm", "airm", "lerm", "kldm", "jbld")
_SPCM = ("spcm", "bspcm")
_FORMS_OF_LOG_RATIOS = {"airm": airm_of_log_ratios, "kldm": kldm_of_log_ratios, "jbld": jbld_of_log_ratios}
_DIVERGENCES = ("kldm", "jbld")
_NEGLIGIBLE = 1e-8  # a distance of the standard measures that rounding alone can make


def _shared_out(engine: _Engine, items: FloatArray, others: FloatArray | None) -> FloatArray:
    """Return the table of an engine, in one call unless there are several to share the work.

    Sharing pays only if computing a pair takes far longer than sending the result. It does not for SPCM, of which a
    core computes tens of millions in a second.
    """
    n_pairs = len(items) * len(items if others is None else others)
    n_workers = workers.n_workers() if n_pairs >= _LEAST_PAIRS else 1
    if n_workers == 1:
        return engine(items, others)
    bounds = np.linspace(0, len(items), min(_BLOCKS_EACH * n_workers, len(items)) + 1).astype(int).tolist()
    blocks = [slice(*ends) for ends in pairwise(bounds)]
    rows = workers.run_all([partial(_rows_of, engine, items, others, block) for block in blocks])
    return np.concatenate(rows) if others is not None else _mirrored(rows, blocks)


def _rows_of(engine: _Engine, items: FloatArray, others: FloatArray | None, block: slice) -> FloatArray:
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


def _spcm_pairs(
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


def _euclidean_pairs(points: FloatArray, others: FloatArray | None, *, squared: bool = False) -> FloatArray:
    """Return Euclidean distances between points in rows."""
    # cdist subtracts before it squares: equal points are at exactly zero, and order does not matter.
    return np.asarray(cdist(points, points if others is None else others, "sqeuclidean" if squared else "euclidean"))


def _log_ratio_pairs(
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


def _called_pairs(
    measure: Callable[[FloatArray, FloatArray], float], covariances: FloatArray, others: FloatArray | None
) -> FloatArray:
    """Return the results of a callable on all pairs, or raise where they cannot be distances."""
    # Both orders of a pair are asked for also within one list: it is not known to be symmetric.
    distance = _shared_out(partial(_called, measure), covariances, covariances if others is None else others)
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
            "Pass for example lambda a, b: (d(a, b) + d(b, a)) / 2.",
            "measure",
        )
    upper = np.triu(distance, k=1)
    return upper + upper.T


def _largest_finite(distance: FloatArray) -> float:
    return float(distance.max(initial=0.0, where=np.isfinite(distance)))


_Measure: TypeAlias = str | Callable[[FloatArray, FloatArray], float]


def pairwise_distance(
    X: ArrayLike,
    Y: ArrayLike | None = None,
    *,
    measure: _Measure = "spcm",
    variant: str | SPCMVariant = "log",
    floor: float = DEFAULT_FLOOR,
) -> FloatArray:
    """Return how different every matrix of `X` is from every matrix of `Y`, or from every other of `X`.

    Parameters
    ----------
    X : array_like of shape (n_matrices, n_dims, n_dims)
        Symmetric positive definite matrices.
    Y : array_like of shape (n_others, n_dims, n_dims), optional
        Others to compare with; `X` itself if left out.
    measure : {"spcm", "airm", "lerm", "kldm", "jbld"} or callable
        The formula (``"bspcm"`` is taken for ``"spcm"``), or a function of two matrices that returns their distance:
        symmetric, not negative, zero for equal matrices.
    variant : str or SPCMVariant, default="log"
        Reading of SPCM, see `SPCM_VARIANTS`; "log" does not depend on size. Other measures have none.
    floor : float
        Relative floor of the eigenvalues, see `eigenvalues`. Callables get the matrices without it.

    Returns
    -------
    distance : ndarray of shape (n_matrices, n_matrices) or (n_matrices, n_others)
        Without `Y` exactly symmetric, with an exact zero diagonal.

    Notes
    -----
    SPCM is a pseudo-semimetric: zero between matrices of equal shape, without triangle inequality. In the variants
    "paper", "published" and "published-variance" it is not scale-free: between different shapes it grows with the
    relative scale of the two matrices. KLDM and JBLD are divergences, in the place of squared distances.

    SPCM costs O(M N^3 + M^2 N) time, LERM O(M N^3 + M^2 N^2), the others O(M^2 N^3); memory is that of the result plus
    working space that does not grow with M^2 N. Inside `joblib.parallel_config`, AIRM, KLDM, JBLD and callables are
    worked out in blocks of rows by all workers it provides, a cluster's too, once there are many pairs.

    Examples
    --------
    >>> X = [np.diag([1.0, 4.0, 9.0]), np.diag([1.0, 1.0, 4.0]), np.diag([18.0, 2.0, 8.0])]
    >>> pairwise_distance(X).round(4)
    array([[0.    , 0.0808, 0.    ],
           [0.0808, 0.    , 0.0808],
           [0.    , 0.0808, 0.    ]])
    >>> pairwise_distance(X, variant="paper").round(4)
    array([[0.    , 0.1667, 0.    ],
           [0.1667, 0.    , 0.3333],
           [0.    , 0.3333, 0.    ]])
    """
    _check_measure(measure)
    if callable(measure):
        return _called_pairs(measure, *_of_both(check_covariances, X, Y))
    if measure in _SPCM:
        return _spcm(X, Y, resolve_variant(variant), floor)
    if measure == "lerm":
        return _euclidean_pairs(*_of_both(partial(log_euclidean_coordinates, floor=floor), X, Y))
    engine = partial(_log_ratio_pairs, _FORMS_OF_LOG_RATIOS[measure])
    return _shared_out(engine, *_of_both(partial(floored_covariances, floor=floor), X, Y))


def pairwise_similarity(
    X: ArrayLike,
    Y: ArrayLike | None = None,
    *,
    measure: _Measure = "bspcm",
    variant: str | SPCMVariant = "log",
    tolerance: float = 1.0,
    bandwidth: float | None = None,
    floor: float = DEFAULT_FLOOR,
) -> FloatArray:
    """Return how similar every matrix of `X` is to every matrix of `Y`, or to every other of `X`.

    Parameters
    ----------
    X : array_like of shape (n_matrices, n_dims, n_dims)
        Symmetric positive definite matrices.
    Y : array_like of shape (n_others, n_dims, n_dims), optional
        Others to compare with; `X` itself if left out.
    measure : {"bspcm", "airm", "lerm", "kldm", "jbld"} or callable
        The formula (``"spcm"`` is taken for ``"bspcm"``), or a function of two matrices that returns their *distance*.
    variant : str or SPCMVariant, default="log"
        Reading of SPCM, including its map to similarity; "log" does not depend on size. Other measures have none.
    tolerance : float
        The paper's tau, for SPCM only. A larger tolerance *lowers* every similarity below one (the paper's prose has it
        the other way round, its formula does not).
    bandwidth : float, optional
        The sigma of ``exp(-d**2 / (2 * sigma**2))``, for all measures but SPCM (d squared is the divergence itself for
        KLDM and JBLD). By default the median distance within `X`, also when `Y` is given: pass
        `similarity_bandwidth` of the training matrices to compare new ones with them.
    floor : float
        Relative floor of the eigenvalues, see `eigenvalues`. Callables get the matrices without it.

    Returns
    -------
    similarity : ndarray of shape (n_matrices, n_matrices) or (n_matrices, n_others)
        Values in [0, 1]. Without `Y` exactly symmetric, with an exact unit diagonal. In general indefinite.

    See Also
    --------
    pairwise_distance : What the similarity is a decreasing function of; its notes on scale hold here too.

    Examples
    --------
    >>> X = [np.diag([1.0, 4.0, 9.0]), np.diag([1.0, 1.0, 4.0]), np.diag([18.0, 2.0, 8.0])]
    >>> pairwise_similarity(X, variant="paper").round(4)
    array([[1.    , 0.8425, 1.    ],
           [0.8425, 1.    , 0.7279],
           [1.    , 0.7279, 1.    ]])
    >>> pairwise_similarity(X).round(4)
    array([[1.    , 0.4261, 1.    ],
           [0.4261, 1.    , 0.4261],
           [1.    , 0.4261, 1.    ]])
    """
    if measure in _SPCM:
        if bandwidth is not None:
            raise InputError(
                f"bandwidth is {bandwidth} but measure {measure!r} has none. Use tolerance, or a variant's rate."
            )
        if tolerance is None:
            raise InputError(
                "tolerance is None, needed a number. Use pairwise_distance for values without one.", "tolerance"
            )
        return _spcm(X, Y, resolve_variant(variant), floor, tolerance)
    if bandwidth is None and Y is not None:
        bandwidth = similarity_bandwidth(X, measure=measure, floor=floor)
    distance = _root_of_divergence(pairwise_distance(X, Y, measure=measure, floor=floor), measure)
    if bandwidth is None:
        bandwidth = _median_distance(distance, measure) if len(distance) > 1 else 1.0
    return gaussian_similarity(distance, bandwidth)


def similarity_bandwidth(X: ArrayLike, *, measure: _Measure, floor: float = DEFAULT_FLOOR) -> float:
    """Return the sigma that `pairwise_similarity` chooses for these matrices.

    Parameters
    ----------
    X : array_like of shape (n_matrices, n_dims, n_dims)
        At least two symmetric positive definite matrices.
    measure : {"airm", "lerm", "kldm", "jbld"} or callable
        As for `pairwise_similarity`; SPCM has no bandwidth.
    floor : float
        Relative floor of the eigenvalues, see `eigenvalues`.

    Returns
    -------
    bandwidth : float
        Median distance between different matrices of the list (root of the divergence for KLDM and JBLD). Where that
        is zero, because most matrices are copies, the median of the distances that are not; one if all are zero.

    Examples
    --------
    >>> X = [np.diag([1.0, 1.0]), np.diag([1.0, np.e]), np.diag([1.0, np.e**3])]
    >>> round(similarity_bandwidth(X, measure="airm"), 12)
    2.0
    """
    if measure in _SPCM:
        raise InputError(f"measure {measure!r} has no bandwidth: its similarity depends on two matrices only.")
    distance = _root_of_divergence(pairwise_distance(X, measure=measure, floor=floor), measure)
    if len(distance) < 2:
        raise InputError("X holds one matrix: there is no distance to take a bandwidth from. Pass bandwidth.")
    return _median_distance(distance, measure)


def gaussian_similarity(distance: ArrayLike, bandwidth: float) -> FloatArray:
    """Return ``exp(-distance**2 / (2 * bandwidth**2))``.

    Parameters
    ----------
    distance : array_like of any shape
        Not negative; infinity gives 0.
    bandwidth : float
        Positive.

    Returns
    -------
    similarity : ndarray, same shape
        In [0, 1].
    """
    if not 0 < bandwidth < np.inf:
        raise InputError(f"bandwidth is {bandwidth}, needed a positive finite number.")
    with np.errstate(over="ignore"):
        scaled = np.asarray(distance, dtype=np.float64) / bandwidth
        return np.asarray(np.exp(-np.square(scaled) / 2))


def _check_measure(measure: object) -> None:
    """Raise unless `measure` is callable or one of the known names, which the message lists."""
    if not callable(measure) and measure not in MEASURES:
        known = ", ".join(repr(name) for name in MEASURES)
        raise InputError(
            f"measure is {measure!r}, needed one of {known}, or a function of two matrices in Python.", "measure"
        )


def _spcm(
    X: ArrayLike, Y: ArrayLike | None, variant: SPCMVariant, floor: float, tolerance: float | None = None
) -> FloatArray:
    """Return SPCM dissimilarities, or with a tolerance their similarities."""
    return spcm_of_spectra(*_of_both(partial(eigenvalues, floor=floor), X, Y), variant, tolerance)


def spcm_of_spectra(
    spectra: FloatArray, others: FloatArray | None, variant: SPCMVariant, tolerance: float | None = None
) -> FloatArray:
    """Return SPCM of matrices with given eigenvalues, ascending and positive, or with a tolerance their similarity.

    Parameters
    ----------
    spectra : ndarray of shape (n_matrices, n_dims)
    others : ndarray of shape (n_others, n_dims) or None
        Those to compare with; None for the first list against itself.
    variant : SPCMVariant
    tolerance : float, optional

    Returns
    -------
    values : ndarray of shape (n_matrices, n_matrices) or (n_matrices, n_others)
    """
    if variant.dispersion == "log":
        return _spcm_of_logs(spectra, others, variant, tolerance)
    strength = None if tolerance is None else variant.strength(spectra.shape[1], tolerance)
    lengths = None if others is None else axis_lengths(others, variant)
    return _spcm_pairs(axis_lengths(spectra, variant), lengths, variant, strength)


def _spcm_of_logs(
    spectra: FloatArray, others: FloatArray | None, variant: SPCMVariant, tolerance: float | None
) -> FloatArray:
    """Return variances of log ratios, or their similarities: squared distances of shape coordinates, up to a factor."""
    n_dims = spectra.shape[1]
    points = None if others is None else coordinates_of_spectra(others)
    # Shape coordinates are logarithms of root eigenvalues; those of the eigenvalues are twice as long.
    factor = (1 if variant.length == "sqrt" else 4) / (n_dims - variant.ddof)
    dissimilarity = _euclidean_pairs(coordinates_of_spectra(spectra), points, squared=True) * factor
    if tolerance is None:
        return dissimilarity
    return similarity_from_spcm(dissimilarity, n_dims, variant=variant, tolerance=tolerance)


def _root_of_divergence(distance: FloatArray, measure: _Measure) -> FloatArray:
    return np.sqrt(distance) if measure in _DIVERGENCES else distance


def _median_distance(distance: FloatArray, measure: _Measure) -> float:
    """Return the median off the diagonal, over the non-zero distances if it is zero; one if all are zero."""
    between = distance[~np.eye(len(distance), dtype=bool) & np.isfinite(distance)]
    # Nothing is known of the units of a callable, so that only an exact zero is zero there.
    zero = 0.0 if callable(measure) else _NEGLIGIBLE
    positive = between[between > zero]
    if len(positive) == 0:
        return 1.0
    median = np.median(between)
    return float(median if median > zero else np.median(positive))


class _PerMatrix(Protocol):
    def __call__(self, X: ArrayLike, *, name: str) -> FloatArray: ...


def _of_both(function: _PerMatrix, X: ArrayLike, Y: ArrayLike | None) -> tuple[FloatArray, FloatArray | None]:
    """Return what is needed of every matrix of both lists, or raise if their sizes differ."""
    of_first = function(X, name="X")
    if Y is None:
        return of_first, None
    of_second = function(Y, name="Y")
    n_dims_x, n_dims_y = np.shape(X)[-1], np.shape(Y)[-1]
    if n_dims_x != n_dims_y:
        raise InputError(
            f"X holds {n_dims_x} x {n_dims_x} matrices and Y {n_dims_y} x {n_dims_y} ones: "
            "only matrices of equal size can be compared."
        )
    return of_first, of_second
