"""How different two covariance matrices are: one function per formula, leading axes broadcast.

Only `spcm_dissimilarity` compares shape alone. The four standard measures of the paper's Table 1 change as soon as one
of the two matrices is rotated or rescaled.


`SPCMVariant` is one reading of SPCM: which axis length, which spread of the ratios, and which map from spread to
similarity.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from homothety.arrays import check_option
from homothety.covariance.shape import log_euclidean_coordinates
from homothety.covariance.spectra import DEFAULT_FLOOR, eigenvalues, floored_covariances
from homothety.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray

_Length: TypeAlias = Literal["sqrt", "eigenvalue"]
_Dispersion: TypeAlias = Literal["variance", "std", "cv", "log"]
_Decay: TypeAlias = Literal["bounded", "exponential", "exponential-root"]

_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True)
class SPCMVariant:
    """One reading of the SPCM similarity; without arguments, the paper's own.

    Parameters
    ----------
    length : {"sqrt", "eigenvalue"}
        Length of an axis: the root of its eigenvalue (paper) or the eigenvalue itself (the authors' programs).
    dispersion : {"variance", "std", "cv", "log"}
        How unequal the axis-length ratios of two matrices are: their variance, standard deviation, coefficient of
        variation (standard deviation over mean), or the variance of their logarithms. The first three are taken in the
        magnifying direction; the last is the same both ways and needs no direction.
    ddof : {0, 1}
        The variance divides by ``n_dims - ddof``.
    decay : {"bounded", "exponential", "exponential-root"}
        Similarity from the dissimilarity D: ``1 / (1 + strength * D)`` (Eq. 9), ``exp(-strength * D)`` or
        ``exp(-strength * sqrt(D))``. The last suits ``dispersion="log"``, whose root is a pseudo-metric.
    rate : float
        Factor in the strength of the decay; positive.

    Notes
    -----
    ``variance`` and ``std`` are **not scale-free**: they vanish for matrices of equal shape whatever their scale, but
    between different shapes they grow without bound with the relative scale. ``cv`` depends on scale only through the
    choice of direction, hence takes one of two values; ``log`` does not depend on it at all.
    """

    length: _Length = "sqrt"
    dispersion: _Dispersion = "variance"
    ddof: int = 0
    decay: _Decay = "bounded"
    rate: float = 1.0

    def __post_init__(self) -> None:
        check_option(self.length, "length", get_args(_Length))
        check_option(self.dispersion, "dispersion", get_args(_Dispersion))
        check_option(self.ddof, "ddof", (0, 1))
        check_option(self.decay, "decay", get_args(_Decay))
        if not 0 < self.rate < np.inf:
            raise InputError(f"rate is {self.rate}, needed a positive finite number.")

    def strength(self, n_dims: int, tolerance: float = 1.0) -> float:
        """Return the factor of the dissimilarity inside the decay.

        Parameters
        ----------
        n_dims : int
            Dimension of the matrices.
        tolerance : float
            The paper's tau, at least 0. A larger tolerance gives a larger strength, hence *lowers* every similarity
            below one.

        Returns
        -------
        strength : float
            ``rate * upsilon(tolerance)`` for the bounded decay. For the exponential ones, which are not the paper's,
            ``rate * upsilon(tolerance) / upsilon(1)``: at the default tolerance of 1 the rate is then what it says.
        """
        upsilon = tolerance_factor(n_dims, tolerance)
        unit = 1.0 if self.decay == "bounded" else tolerance_factor(n_dims, 1.0)
        return min(self.rate * upsilon / unit, _LARGEST)


SPCM_VARIANTS = MappingProxyType(
    {
        "paper": SPCMVariant("sqrt", "variance", ddof=0, decay="bounded"),
        "published": SPCMVariant("eigenvalue", "std", ddof=1, decay="bounded"),
        "published-variance": SPCMVariant("eigenvalue", "variance", ddof=1, decay="bounded"),
        "scale-free": SPCMVariant("sqrt", "cv", ddof=0, decay="exponential", rate=3.0),
        "log": SPCMVariant("sqrt", "log", ddof=0, decay="exponential-root", rate=3.0),
    }
)
"""The readings that have a name.

``paper``: Eqs. 5-9 to the letter. ``published``: what the authors ran for their tables; it reproduces their stored
matrices. ``published-variance``: their programs from July 2017 on. ``scale-free``: their later correction.
``log``: exactly free of scale and smooth.
"""


def resolve_variant(variant: str | SPCMVariant) -> SPCMVariant:
    """Return the variant of that name, or `variant` itself if it already is one."""
    if isinstance(variant, SPCMVariant):
        return variant
    if not isinstance(variant, str) or variant not in SPCM_VARIANTS:
        known = ", ".join(repr(name) for name in SPCM_VARIANTS)
        raise InputError(f"variant is {variant!r}, needed one of {known}.", "variant")
    return SPCM_VARIANTS[variant]


def tolerance_factor(n_dims: int, tolerance: float) -> float:
    """Return upsilon, the factor by which the tolerance magnifies a dissimilarity (Eq. 10).

    Parameters
    ----------
    n_dims : int
        Dimension of the matrices (not their number).
    tolerance : float
        The paper's tau, at least 0.

    Returns
    -------
    upsilon : float
        ``10 ** (tolerance * exp(-n_dims))``, at least 1, and finite: it stops at the largest float. From six
        dimensions on it hardly differs from 1 for any sensible tolerance.

    Examples
    --------
    >>> round(tolerance_factor(3, 1.0), 5)
    1.12147
    """
    if not 0 <= tolerance < np.inf:
        raise InputError(f"tolerance is {tolerance}, needed a finite number of at least 0.", "tolerance")
    with np.errstate(over="ignore"):
        return min(float(np.power(10.0, tolerance * np.exp(-float(n_dims)))), _LARGEST)


def spcm_dissimilarity(
    cov_a: ArrayLike, cov_b: ArrayLike, *, variant: str | SPCMVariant = "paper", floor: float = DEFAULT_FLOOR
) -> FloatArray:
    """Return the spectral-polytope dissimilarity between covariance matrices.

    Parameters
    ----------
    cov_a, cov_b : array_like of shape (..., n_dims, n_dims)
        Symmetric positive definite; leading axes broadcast.
    variant : str or SPCMVariant
        Which axis length and which spread; a name of `SPCM_VARIANTS` or a variant of your own.
    floor : float
        Relative floor of the eigenvalues, see `eigenvalues`.

    Returns
    -------
    dissimilarity : ndarray of shape (...)
        Non-negative, symmetric, zero exactly when the eigenvalues are proportional: one matrix is then a rotated and
        scaled copy of the other. Infinite where a ratio of axis lengths overflows.

    Notes
    -----
    Eq. (8): the spread of the axis-length ratios, in the magnifying direction, axes paired by rank. At a tie of the two
    directions it is the mean of both. This is a pseudo-semimetric on matrices: different matrices can be at distance
    zero, and there is no triangle inequality (but the root of the ``"log"`` variant has one).

    Rotating either argument never changes the value. Rescaling one of them does, unless the value is zero, for the
    spreads ``"variance"`` and ``"std"``, which are *not scale-free*: the same two shapes can be close or far apart
    depending on units. ``"log"`` is free of scale; ``"cv"`` is, except that the magnifying direction can flip.

    Examples
    --------
    >>> float(spcm_dissimilarity(np.diag([4.0, 1.0]), 9 * np.diag([1.0, 4.0])))
    0.0
    >>> spcm_dissimilarity(np.diag([1.0, 4.0, 9.0]), [np.diag([1.0, 1.0, 4.0]), np.diag([4.0, 4.0, 16.0])]).round(4)
    array([0.1667, 0.1728])
    """
    variant = resolve_variant(variant)
    lengths_a, lengths_b = (
        axis_lengths(_stacked_eigenvalues(cov, floor, name), variant)
        for cov, name in ((cov_a, "cov_a"), (cov_b, "cov_b"))
    )
    _check_same_dims(lengths_a.shape[-1], lengths_b.shape[-1])
    return spread_of_ratios(lengths_a, lengths_b, variant)


def axis_lengths(spectra: FloatArray, variant: SPCMVariant) -> FloatArray:
    """Return the axis lengths of spectra of any shape: their roots (Eq. 5), or themselves."""
    return np.sqrt(spectra) if variant.length == "sqrt" else spectra


def spread_of_ratios(lengths_a: FloatArray, lengths_b: FloatArray, variant: SPCMVariant) -> FloatArray:
    """Return the spread of the ratios of axis lengths in the magnifying direction.

    Parameters
    ----------
    lengths_a, lengths_b : ndarray of shape (..., n_dims)
        Axis lengths, each row ascending; leading axes broadcast.
    variant : SPCMVariant
        Which spread, with which divisor.

    Returns
    -------
    spread : ndarray of shape (...)

    Notes
    -----
    Eqs. (6)-(8). This is the readable form, and holds arrays of n_dims times the size of its result;
    `pairwise_distance` runs a compiled one that does not.
    """
    if variant.dispersion == "log":
        return np.asarray(np.var(np.log(lengths_a) - np.log(lengths_b), axis=-1, ddof=variant.ddof))
    with np.errstate(over="ignore", invalid="ignore"):
        mean_ab, spread_ab = _mean_and_spread(lengths_a / lengths_b, variant)
        mean_ba, spread_ba = _mean_and_spread(lengths_b / lengths_a, variant)
    one_way = np.where(mean_ab > mean_ba, spread_ab, spread_ba)
    return np.where(mean_ab == mean_ba, (spread_ab + spread_ba) / 2, one_way)


def _mean_and_spread(ratios: FloatArray, variant: SPCMVariant) -> tuple[FloatArray, FloatArray]:
    means = ratios.mean(axis=-1)
    # Centred before squaring: the mean of squares minus the square of the mean loses every digit at large ratios.
    spread = np.square(ratios - means[..., np.newaxis]).sum(axis=-1) / (ratios.shape[-1] - variant.ddof)
    if variant.dispersion != "variance":
        spread = np.sqrt(spread)
    if variant.dispersion == "cv":
        spread = spread / means
    # Lengths are positive and finite, so that only an overflowing ratio can have made a NaN (infinity minus itself).
    return means, np.where(np.isnan(spread), np.inf, spread)


def bounded_spcm(dissimilarity: ArrayLike, n_dims: int, tolerance: float = 1.0) -> FloatArray:
    """Return the bounded similarity B-SPCM of a dissimilarity.

    Parameters
    ----------
    dissimilarity : array_like of any shape
        SPCM, at least 0; infinity gives 0.
    n_dims : int
        Dimension of the matrices (not their number).
    tolerance : float
        The paper's tau, at least 0. A larger tolerance *lowers* every similarity below one; from six dimensions on it
        does next to nothing.

    Returns
    -------
    similarity : ndarray, same shape
        In [0, 1], one for equal shapes.

    Notes
    -----
    Eqs. (9)-(10): ``1 / (1 + upsilon * dissimilarity)`` with ``upsilon = 10 ** (tolerance * exp(-n_dims))``. A matrix
    of such similarities is in general indefinite.

    Examples
    --------
    >>> float(bounded_spcm(1 / 6, n_dims=3).round(6))
    0.842523
    """
    return similarity_from_spcm(dissimilarity, n_dims, variant="paper", tolerance=tolerance)


def similarity_from_spcm(
    dissimilarity: ArrayLike, n_dims: int, *, variant: str | SPCMVariant = "paper", tolerance: float = 1.0
) -> FloatArray:
    """Return the similarity that a variant's decay makes of its dissimilarity.

    Parameters
    ----------
    dissimilarity : array_like of any shape
        As `spcm_dissimilarity` returns it for the same variant; infinity gives 0.
    n_dims : int
        Dimension of the matrices.
    variant : str or SPCMVariant
        Which decay, at which rate.
    tolerance : float
        See `SPCMVariant.strength`: larger lowers every similarity below one.

    Returns
    -------
    similarity : ndarray, same shape
        In [0, 1], one where the dissimilarity is zero.
    """
    variant = resolve_variant(variant)
    spread: FloatArray = np.asarray(dissimilarity, dtype=np.float64)
    strength = variant.strength(n_dims, tolerance)
    with np.errstate(over="ignore"):
        if variant.decay == "bounded":
            return np.asarray(1 / (1 + strength * spread))
        return np.asarray(np.exp(-strength * (np.sqrt(spread) if variant.decay == "exponential-root" else spread)))


def airm(cov_a: ArrayLike, cov_b: ArrayLike) -> FloatArray:
    """Return the affine-invariant Riemannian distance between covariance matrices.

    Parameters
    ----------
    cov_a, cov_b : array_like of shape (..., n_dims, n_dims)
        Symmetric positive definite; leading axes broadcast.

    Returns
    -------
    distance : ndarray of shape (...)
        ``norm(log(A ** -1/2 @ B @ A ** -1/2))``. A metric, unchanged when both matrices become ``G @ . @ G.T``.

    Examples
    --------
    >>> float(airm(np.diag([1.0, 4.0, 9.0]), np.diag([1.0, 1.0, 4.0])).round(6))
    1.606057
    """
    return airm_of_log_ratios(_log_ratios_of(cov_a, cov_b))


def lerm(cov_a: ArrayLike, cov_b: ArrayLike) -> FloatArray:
    """Return the log-Euclidean distance between covariance matrices.

    Parameters
    ----------
    cov_a, cov_b : array_like of shape (..., n_dims, n_dims)
        Symmetric positive definite; leading axes broadcast.

    Returns
    -------
    distance : ndarray of shape (...)
        ``norm(log(A) - log(B))``. A metric, unchanged when both matrices are rotated or scaled together.

    Examples
    --------
    >>> float(lerm([[2.0, 1.0], [1.0, 2.0]], np.diag([1.0, 4.0])).round(6))
    1.267186
    """
    logs_a, logs_b = (
        log_euclidean_coordinates(stack, name=name).reshape(*leading, -1)
        for stack, leading, name in (_flattened(cov_a, "cov_a"), _flattened(cov_b, "cov_b"))
    )
    _check_same_dims(np.shape(cov_a)[-1], np.shape(cov_b)[-1])
    return np.asarray(np.linalg.norm(logs_a - logs_b, axis=-1))


def kldm(cov_a: ArrayLike, cov_b: ArrayLike) -> FloatArray:
    """Return the symmetrised Kullback-Leibler divergence between zero-mean Gaussians.

    Parameters
    ----------
    cov_a, cov_b : array_like of shape (..., n_dims, n_dims)
        Symmetric positive definite; leading axes broadcast.

    Returns
    -------
    divergence : ndarray of shape (...)
        ``trace(inv(A) @ B + inv(B) @ A - 2 * I) / 2``. Plays the part of a squared distance; no triangle inequality.

    Examples
    --------
    >>> float(kldm(np.diag([1.0, 4.0, 9.0]), np.diag([1.0, 1.0, 4.0])).round(6))
    1.472222
    """
    return kldm_of_log_ratios(_log_ratios_of(cov_a, cov_b))


def jbld(cov_a: ArrayLike, cov_b: ArrayLike) -> FloatArray:
    """Return the Jensen-Bregman log-determinant divergence between covariance matrices.

    Parameters
    ----------
    cov_a, cov_b : array_like of shape (..., n_dims, n_dims)
        Symmetric positive definite; leading axes broadcast.

    Returns
    -------
    divergence : ndarray of shape (...)
        ``logdet((A + B) / 2) - logdet(A @ B) / 2``. Its root is a metric.

    Examples
    --------
    >>> float(jbld(np.diag([1.0, 4.0, 9.0]), np.diag([1.0, 1.0, 4.0])).round(6))
    0.303186
    """
    return jbld_of_log_ratios(_log_ratios_of(cov_a, cov_b))


# Three of the four standard measures are sums over the generalised eigenvalues w of the pair. Written in log(w), none
# subtracts nearly equal numbers: equal matrices come out at rounding squared instead of rounding.


def airm_of_log_ratios(log_ratios: FloatArray) -> FloatArray:
    """Return the root of the sum of log(w)**2 over the last axis."""
    return np.asarray(np.linalg.norm(log_ratios, axis=-1))


def kldm_of_log_ratios(log_ratios: FloatArray) -> FloatArray:
    """Return the sum of (w + 1/w - 2) / 2 over the last axis, which is 2 sinh(log(w) / 2)**2."""
    with np.errstate(over="ignore"):
        return np.asarray(2 * np.square(np.sinh(log_ratios / 2)).sum(axis=-1))


def jbld_of_log_ratios(log_ratios: FloatArray) -> FloatArray:
    """Return the sum of log((1 + w) / 2) - log(w) / 2 over the last axis, which is log(cosh(log(w) / 2))."""
    with np.errstate(over="ignore"):
        return np.asarray(np.log1p(2 * np.square(np.sinh(log_ratios / 4))).sum(axis=-1))


class LogRatios:
    """The logarithms of generalised eigenvalues of pairs of matrices, one from each of two lists.

    Every matrix is factorised once. Scales are set apart first, so that no product of two matrices can overflow.

    Parameters
    ----------
    cov_a, cov_b : ndarray of shape (n_a, n_dims, n_dims) and (n_b, n_dims, n_dims)
        Symmetric positive definite.
    """

    def __init__(self, cov_a: FloatArray, cov_b: FloatArray) -> None:
        unit_a, self._log_scales_a = _unit_scaled(cov_a)
        self._whitening = np.linalg.inv(np.linalg.cholesky(unit_a))
        self._unit_b, self._log_scales_b = _unit_scaled(cov_b)

    def __call__(self, a: IntArray, b: IntArray) -> FloatArray:
        """Return log(w) for every w with ``B @ x = w * A @ x``, ascending.

        Parameters
        ----------
        a, b : ndarray of int
            Indices into the two lists, which broadcast to one shape.

        Returns
        -------
        log_ratios : ndarray of that shape and one more axis of n_dims
        """
        whitening = self._whitening[a]
        spectra = np.linalg.eigvalsh(whitening @ self._unit_b[b] @ whitening.swapaxes(-1, -2))
        # Two matrices of condition 1e12 make w span more digits than a float has: the smallest are then rounding.
        resolved = np.maximum(spectra, np.finfo(np.float64).eps * spectra[..., -1:])
        return np.asarray(np.log(resolved) + (self._log_scales_b[b] - self._log_scales_a[a])[..., np.newaxis])


def _unit_scaled(covariances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the matrices divided by their largest diagonal entry, and the logarithm of that."""
    scales = np.diagonal(covariances, axis1=-2, axis2=-1).max(axis=-1)
    return covariances / scales[..., np.newaxis, np.newaxis], np.log(scales)


def _log_ratios_of(cov_a: ArrayLike, cov_b: ArrayLike) -> FloatArray:
    (stack_a, leading_a, _), (stack_b, leading_b, _) = _flattened(cov_a, "cov_a"), _flattened(cov_b, "cov_b")
    floored_a, floored_b = floored_covariances(stack_a, name="cov_a"), floored_covariances(stack_b, name="cov_b")
    _check_same_dims(floored_a.shape[-1], floored_b.shape[-1])
    indices_a, indices_b = (np.arange(len(s)).reshape(lead) for s, lead in ((stack_a, leading_a), (stack_b, leading_b)))
    return LogRatios(floored_a, floored_b)(indices_a, indices_b)


def _stacked_eigenvalues(cov: ArrayLike, floor: float, name: str) -> FloatArray:
    stack, leading, name = _flattened(cov, name)
    return eigenvalues(stack, floor=floor, name=name).reshape(*leading, -1)


def _flattened(cov: ArrayLike, name: str) -> tuple[FloatArray, tuple[int, ...], str]:
    """Return matrices of any leading shape as one stack, with that leading shape and the name for messages."""
    array = np.asarray(cov)
    if array.ndim < 2:
        raise InputError(f"{name} has shape {array.shape}, needed (..., n_dims, n_dims).")
    return array.reshape(-1, *array.shape[-2:]), array.shape[:-2], name


def _check_same_dims(n_dims_a: int, n_dims_b: int) -> None:
    if n_dims_a != n_dims_b:
        raise InputError(
            f"cov_a has {n_dims_a} dimensions and cov_b has {n_dims_b}: only matrices of equal size can be compared."
        )
