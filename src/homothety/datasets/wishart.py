"""Sample covariances of a few shapes, as noisy as the number of samples makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.arrays import check_count
from homothety.datasets._draws import (
    check_spread,
    gram,
    haar_orthogonal,
    shape_distance,
    wishart_factors,
)
from homothety.datasets.matrix_set import MatrixSet
from homothety.errors import InputError

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray
    from homothety.datasets._draws import RandomState

TRIES_PER_SHAPE, MAX_RESTARTS = 50, 50


def make_wishart_families(
    n_families: int = 3,
    n_dims: int = 3,
    *,
    n_per_family: int = 20,
    dof: int | None = 100,
    scale_spread: float = 1.0,
    min_separation: float = 0.25,
    max_condition: float = 100.0,
    random_state: RandomState = None,
) -> MatrixSet:
    """Make sample covariances that belong together by shape, not by orientation or size.

    Every matrix is the covariance of `dof` Gaussian samples about a known mean, whose true covariance is its family's
    shape in a random rotation and at a random scale.

    Parameters
    ----------
    n_families : int, default 3
    n_dims : int, default 3
    n_per_family : int, default 20
    dof : int or None, default 100
        Degrees of freedom of the Wishart distribution, at least `n_dims`; the fewer, the noisier. None for the true
        covariances themselves.
    scale_spread : float, default 1
        Standard deviation of the logarithm of the scales.
    min_separation : float, default 0.25
        Least difference between the shapes of any two families: standard deviation, over axes, of the difference of
        their log axis lengths.
    max_condition : float, default 100
        Bound on the condition number of the true covariances.
    random_state : int, Generator or None, default None
        Seed, or generator to draw on.

    Returns
    -------
    families : MatrixSet
        ``n_families * n_per_family`` matrices, family by family, with labels 0, 1, ...

    Notes
    -----
    Within a family, logs of the eigenvalues follow a beta distribution, whose parameters are log-uniform between 1/5
    and 5, stretched to a log-uniform condition number. That gives needles, plates, near-balls and graded spectra at
    any dimension; spectra that come too close to an earlier one are drawn again.

    Examples
    --------
    >>> make_wishart_families(4, 10, n_per_family=50, random_state=0)
    <MatrixSet wishart_families: 200 matrices of 10 x 10, 4 classes>
    """
    rng = np.random.default_rng(random_state)
    n_families, n_dims = check_count(n_families, "n_families"), check_count(n_dims, "n_dims")
    n_per_family = check_count(n_per_family, "n_per_family")
    check_spread(scale_spread, "scale_spread")
    check_spread(min_separation, "min_separation")
    if not (np.isfinite(max_condition) and max_condition >= 1):
        raise InputError(f"max_condition is {max_condition}, needed a finite number of at least 1.")
    shapes = _draw_shapes(rng, n_families, n_dims, min_separation, max_condition)
    labels = np.repeat(np.arange(n_families), n_per_family)
    scales = np.exp(scale_spread * rng.standard_normal((len(labels), 1)))
    factors = haar_orthogonal(rng, len(labels), n_dims) * np.sqrt(scales * shapes[labels])[:, None, :]
    if dof is not None:
        factors = factors @ wishart_factors(rng, len(labels), n_dims, check_count(dof, "dof", minimum=n_dims))
    return MatrixSet(gram(factors), labels, "wishart_families")


def _draw_shapes(
    rng: Generator, n_families: int, n_dims: int, min_separation: float, max_condition: float
) -> FloatArray:
    """Draw ascending spectra no two of which are nearly alike up to scale, shape (n_families, n_dims)."""
    for _ in range(MAX_RESTARTS):
        shapes = np.empty((0, n_dims))
        for _ in range(TRIES_PER_SHAPE * n_families):
            shape = _draw_spectrum(rng, n_dims, max_condition)
            if (shape_distance(shape, shapes) >= min_separation).all():
                shapes = np.vstack([shapes, shape])
            if len(shapes) == n_families:
                return shapes
        # The shapes kept so far may leave no room for another: start over.
    raise InputError(
        f"found no n_families={n_families} shapes in {n_dims} dimensions that differ by min_separation="
        f"{min_separation}. Ask for fewer families, a smaller min_separation or a larger max_condition."
    )


def _draw_spectrum(rng: Generator, n_dims: int, max_condition: float) -> FloatArray:
    """Draw one ascending spectrum, shape (n_dims,), of condition number at most `max_condition`."""
    log_condition = np.log(max_condition) * rng.uniform()
    alpha, beta = np.exp(rng.uniform(-np.log(5), np.log(5), size=2))
    return np.exp(log_condition * np.sort(rng.beta(alpha, beta, size=n_dims)))
