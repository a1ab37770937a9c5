"""Sufficient statistics of states, and what follows from them in closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.arrays import read_only
from homothety.models.parts import check_array, check_labels

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.emissions.regression import Emission

ROUNDING = 1e-12


class Statistics(NamedTuple):
    """Steps of each state, and the prior plus the sum of their outer products (lower triangles), both weighted."""

    sizes: FloatArray  # (n_features,)
    scales: FloatArray  # (n_features, n, n)


def empty_statistics(emission: Emission, n_features: int) -> Statistics:
    """Return the statistics of states without steps: the prior."""
    return Statistics(np.zeros(n_features), np.tile(emission.prior_scale, (n_features, 1, 1)))


def statistics_of(emission: Emission, z: FloatArray, path: IntArray, n_features: int) -> Statistics:
    """Return the statistics of the states of a path through augmented steps."""
    from homothety.models.emissions._kernels import add_steps

    check_array(z, "z", (len(z), len(emission.prior_scale)), np.float64)
    check_labels(path, "path", len(z), n_features)
    statistics = empty_statistics(emission, n_features)
    add_steps(z, read_only(path), 0, len(path), emission.weight, statistics.scales, statistics.sizes)
    return statistics


def factors_of(emission: Emission, statistics: Statistics) -> FloatArray:
    """Return the factors of the statistics, (n_features, n, n)."""
    from homothety.models.emissions._kernels import factorise_all

    factors = np.zeros_like(statistics.scales)
    factorise_all(statistics.scales, factors, emission.structure)
    return factors


def log_marginals(emission: Emission, statistics: Statistics, factors: FloatArray | None = None) -> FloatArray:
    """Return the log marginal likelihood of the steps of each state, (n_features,); factors if they are known."""
    from homothety.models.emissions._kernels import write_log_marginals

    factors = factors_of(emission, statistics) if factors is None else factors
    out = np.empty(len(statistics.sizes))
    write_log_marginals(statistics.sizes, factors, emission.prior_factor, emission.structure, out)
    return out


def draw_parameters(rng: Generator, emission: Emission, statistics: Statistics) -> FloatArray:
    """Draw the parameters of every state given its steps, (n_features, n_dims, n)."""
    from homothety.models.emissions._kernels import draw_whiteners

    factors = factors_of(emission, statistics)
    whiteners = np.empty((len(factors), emission.n_dims, factors.shape[1]))
    draw_whiteners(rng, statistics.sizes, factors, emission.structure, whiteners)
    return whiteners


def mean_parameters(emission: Emission, statistics: Statistics, factors: FloatArray | None = None) -> FloatArray:
    """Return parameters at the posterior means of coefficients and covariance, (n_features, n_dims, n)."""
    from homothety.models.emissions._kernels import write_mean_whiteners

    factors = factors_of(emission, statistics) if factors is None else factors
    whiteners = np.empty((len(factors), emission.n_dims, factors.shape[1]))
    write_mean_whiteners(statistics.sizes, factors, emission.structure, whiteners)
    return whiteners


def residual_scatters(emission: Emission, statistics: Statistics) -> FloatArray:
    """Return the weighted scatter of the steps of each state about its own mean or regression, (n_features, D, D).

    Nothing of the prior is in it: it does not know where the middle of all data is, nor how large they are. Divided by
    the sizes of the statistics it is a covariance, also of blocks with weights of their own.
    """
    lower = np.tril(statistics.scales - emission.prior_scale)
    moments = lower + np.swapaxes(np.tril(lower, -1), -1, -2)
    structure, n = emission.structure, emission.n_regressors
    scatters = np.zeros((len(moments), emission.n_dims, emission.n_dims))
    for first, last in np.unique(structure.regressors, axis=0).tolist():
        own = np.flatnonzero(emission.structure_mask[:, first])
        parts = (slice(first, last), slice(n + own[0], n + own[-1] + 1))
        prior = np.trace(emission.prior_scale[parts[1], parts[1]])
        scatters[:, own[0] : own[-1] + 1, own[0] : own[-1] + 1] = scatter_about_regression(moments, *parts, prior)
    return np.where(emission.structure_mask[:, n:], scatters, 0.0) / emission.dim_weights


def scatter_about_regression(moments: FloatArray, regressors: slice, values: slice, prior: float) -> FloatArray:
    """Return what regressors leave of the scatter of values, (n_features, n_values, n_values).

    Parameters
    ----------
    moments : ndarray of shape (n_features, n, n)
    regressors, values : slice
    prior : float
        Trace of what was subtracted from the moments of the values: they are known up to its rounding.
    """
    mixed, total = moments[:, regressors, values], moments[:, values, values]
    explained = np.swapaxes(mixed, -1, -2) @ pseudo_inverse(moments[:, regressors, regressors]) @ mixed
    lost = prior + np.trace(total, axis1=-2, axis2=-1)
    scatter = np.where(is_rounding(total - explained, lost), 0.0, total - explained)
    scatter = (scatter + np.swapaxes(scatter, -1, -2)) / 2
    return semidefinite(scatter) if mixed.shape[1] > 1 else scatter


def semidefinite(matrices: FloatArray) -> FloatArray:
    """Return symmetric matrices without what is negative in them: rounding, where regressors explain all steps."""
    values, vectors = np.linalg.eigh(matrices)
    return np.asarray((vectors * np.maximum(values, 0.0)[:, None]) @ np.swapaxes(vectors, -1, -2))


def pseudo_inverse(matrices: FloatArray) -> FloatArray:
    """Return the inverses of symmetric matrices, zero where there is nothing to invert."""
    if matrices.shape[-1] == 1:  # a mean: done in every sweep, so without a decomposition
        return np.divide(1.0, matrices, out=np.zeros_like(matrices), where=matrices > 0)
    return np.asarray(np.linalg.pinv(matrices, hermitian=True), dtype=np.float64)


def is_rounding(differences: FloatArray, taken_from: FloatArray) -> BoolArray:
    """Whether what is left of sums is no more than what rounding leaves of them, (n_matrices, 1, 1)."""
    return (np.trace(differences, axis1=-2, axis2=-1) <= ROUNDING * taken_from)[:, None, None]
