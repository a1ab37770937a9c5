"""Prior over features and paths, as the acceptance ratios and the trace need it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from homothety.arrays import read_only
from homothety.models.parts import check_array

if TYPE_CHECKING:
    from homothety.arrays import BoolArray, FloatArray, IntArray


def expected_new(n_series: int, mass: float) -> float:
    """Return the sum over customers of c / (c + i - 1): how many features a unit of gamma is expected to make."""
    return float((mass / (mass + np.arange(n_series))).sum())


def log_feature_prior(n_owners: FloatArray | IntArray, n_series: int, gamma: float, mass: float) -> float:
    """Log density of which series has which feature, features told apart (docs/model.md, section 3.3).

    Parameters
    ----------
    n_owners : ndarray of shape (n_features,)
        How many series have each feature.
    n_series : int
    gamma, mass : float
        The two parameters of the Indian buffet process.
    """
    from homothety.models.ibphmm._feature_kernels import log_feature_density

    return log_feature_density(np.asarray(n_owners, dtype=np.float64), n_series, gamma, mass)


def log_path_prior(counts: FloatArray, active: BoolArray, alpha: float, kappa: float, leaving: float = 0.0) -> float:
    """Log probability of the paths of all series, transition weights integrated out (docs/model.md, section 3.4).

    Parameters
    ----------
    counts : ndarray of shape (n_series, n_features, n_features)
        Transitions of each path.
    active : ndarray of shape (n_series, n_features)
    leaving : float
        Fixed probability of leaving a state that may be left; zero if transition weights say that too.
    """
    from homothety.models.ibphmm._feature_kernels import log_path_densities

    check_array(counts, "counts", (*active.shape, active.shape[1]), np.float64)
    return log_path_densities(counts, read_only(active), alpha, kappa, leaving)


def log_repeated_unused(active: BoolArray, used: BoolArray) -> float:
    """Log of the number of orders of unused features that nobody can tell apart."""
    patterns = Counter(active[:, k].tobytes() for k in np.flatnonzero(~used))
    return float(sum(gammaln(count + 1) for count in patterns.values()))
