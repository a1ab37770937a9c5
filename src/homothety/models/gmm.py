"""Finite mixture of Gaussians by expectation-maximisation, its number of components by an information criterion.

The paper chose the number of components of this baseline "considering the curves and prior knowledge", which nobody can
repeat. Here it is the minimum of the curve.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from homothety.arrays import check_count, check_option, check_points
from homothety.covariance.estimate import mean_variance
from homothety.errors import InputError

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray

Criterion = Literal["bic", "aic"]

MAX_ITERATIONS = 500

# Points of a spectral embedding have unit length, and those of one cluster may coincide: they fill no volume, and the
# likelihood of a Gaussian on them has no maximum. The variance added in every direction, as a share of the mean
# variance of the points, is what keeps a component from shrinking on a few of them: 3 % of their spread.
_VARIANCE_SHARE = 1e-3
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class _GMMFit:
    """The mixture chosen, and what it was chosen from.

    Parameters
    ----------
    criteria : ndarray of shape (max_components,)
        The criterion of the best mixture of 1, 2, ... components; infinite where there is none.
    skipped : dict of int to str
        Why there is none, by number of components.
    weights : ndarray of shape (n_components,)
    means : ndarray of shape (n_components, n_dims)
    covariances : ndarray of shape (n_components, n_dims, n_dims)
    labels : ndarray of shape (n_points,)
        Most probable component of each point. A component may be that of no point.
    """

    criteria: FloatArray
    skipped: dict[int, str]
    weights: FloatArray
    means: FloatArray
    covariances: FloatArray
    labels: IntArray

    @property
    def n_components(self) -> int:
        """Number of components of the mixture chosen."""
        return len(self.weights)


def select_gmm(
    rng: Generator, points: ArrayLike, *, max_components: int = 10, criterion: Criterion = "bic", n_init: int = 5
) -> _GMMFit:
    """Fit mixtures of 1, 2, ... Gaussians with full covariances and return the one of least BIC or AIC.

    Parameters
    ----------
    rng : Generator
        Source of the starts of EM.
    points : array-like of shape (n_points, n_dims)
    max_components : int, default=10
        Largest number of components tried; never more than there are distinct points, and fewer than there are points.
    criterion : {"bic", "aic"}, default="bic"
        What is minimised.
    n_init : int, default=5
        Starts of EM, from k-means, for each number of components; the likeliest counts.

    Returns
    -------
    fit : GMMFit

    Notes
    -----
    Every covariance has a thousandth of the mean variance of the points added in all directions. On a handful of points
    the criteria lean on that number, since a component of one or two points is as likely as it lets it be.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> points = np.concatenate([rng.normal(0, 0.1, (20, 2)), rng.normal(3, 0.1, (20, 2))])
    >>> select_gmm(rng, points, max_components=5).n_components
    2
    """
    points = check_points(points)
    if len(points) < 2:
        raise InputError("There is one point only, needed at least 2 to fit a Gaussian.")
    check_count(max_components, "max_components")
    check_count(n_init, "n_init")
    check_option(criterion, "criterion", get_args(Criterion))
    mixtures, skipped = {}, {}
    for n_components in range(1, max_components + 1):
        try:
            mixtures[n_components] = _fit_gmm(rng, points, n_components, n_init)
        except _NoMixtureError as error:
            skipped[n_components] = str(error)
    if not mixtures:
        raise InputError(f"No mixture fits these {len(points)} points, not even one Gaussian. {skipped[1]}")
    criteria = np.full(max_components, np.inf)
    for n_components, mixture in mixtures.items():
        log_likelihood = len(points) * mixture.score(points)
        criteria[n_components - 1] = information_criterion(log_likelihood, n_components, points.shape, criterion)
    best = mixtures[int(criteria.argmin()) + 1]
    return _GMMFit(criteria, skipped, best.weights_, best.means_, best.covariances_, best.predict(points))


class _NoMixtureError(Exception):
    """There is no mixture of the number of components asked for; the message says why."""


def _fit_gmm(rng: Generator, points: FloatArray, n_components: int, n_init: int) -> Any:
    """Fit a mixture to `points` (n_points, n_dims) and return it as scikit-learn's, or raise `_NoMixtureError`."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    _check_enough_points(points, n_components)
    mixture = GaussianMixture(
        n_components,
        reg_covar=max(_VARIANCE_SHARE * mean_variance(points), _TINY),
        max_iter=MAX_ITERATIONS,
        n_init=n_init,
        random_state=int(rng.integers(2**31)),
    )
    try:
        with warnings.catch_warnings():
            # Both warnings it can give are answered: too few distinct points above, no convergence below.
            warnings.simplefilter("ignore", ConvergenceWarning)
            mixture.fit(points)
    except ValueError as error:
        raise _NoMixtureError(f"EM broke down: {error}") from error
    if not mixture.converged_:
        raise _NoMixtureError(f"EM did not converge in {MAX_ITERATIONS} iterations.")
    return mixture


def _check_enough_points(points: FloatArray, n_components: int) -> None:
    """Raise `_NoMixtureError` if there are too few points for so many components; one component is always allowed."""
    if n_components > max(len(points) - 1, 1):
        raise _NoMixtureError(f"There are {len(points)} points, needed more than components.")
    n_distinct = len(np.unique(points, axis=0))
    if n_components > n_distinct:
        raise _NoMixtureError(f"There are {n_distinct} distinct points, needed at least as many as components.")


def information_criterion(
    log_likelihood: float, n_components: int, shape: tuple[int, ...], criterion: Criterion
) -> float:
    """Return BIC or AIC of a mixture on points of the given shape (n_points, n_dims); smaller is better."""
    n_points, n_dims = shape
    penalty = np.log(n_points) if criterion == "bic" else 2.0
    return float(penalty * count_parameters(n_components, n_dims) - 2 * log_likelihood)


def count_parameters(n_components: int, n_dims: int) -> int:
    """Return the number of free parameters: weights that sum to one, means, symmetric covariances."""
    return n_components - 1 + n_components * n_dims + n_components * n_dims * (n_dims + 1) // 2
