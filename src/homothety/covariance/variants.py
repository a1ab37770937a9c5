"""The readings of SPCM: which axis length, which spread of the ratios, and which map from spread to similarity."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

import numpy as np

from homothety.errors import InputError

Length: TypeAlias = Literal["sqrt", "eigenvalue"]
Dispersion: TypeAlias = Literal["variance", "std", "cv", "log"]
Decay: TypeAlias = Literal["bounded", "exponential", "exponential-root"]

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

    length: Length = "sqrt"
    dispersion: Dispersion = "variance"
    ddof: int = 0
    decay: Decay = "bounded"
    rate: float = 1.0

    def __post_init__(self) -> None:
        _check_choice("length", self.length, get_args(Length))
        _check_choice("dispersion", self.dispersion, get_args(Dispersion))
        _check_choice("ddof", self.ddof, (0, 1))
        _check_choice("decay", self.decay, get_args(Decay))
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


def _check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if value not in choices:
        raise InputError(f"{name} is {value!r}, needed one of {', '.join(map(repr, choices))}.")


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
        raise InputError(f"variant is {variant!r}, needed one of {known}, or an SPCMVariant.")
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
        raise InputError(f"tolerance is {tolerance}, needed a finite number of at least 0.")
    with np.errstate(over="ignore"):
        return min(float(np.power(10.0, tolerance * np.exp(-float(n_dims)))), _LARGEST)
