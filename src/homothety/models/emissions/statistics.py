"""Sufficient statistics of states, and what follows from them in closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.emissions.regression import Emission


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

    statistics = empty_statistics(emission, n_features)
    add_steps(z, path, 0, len(path), emission.weight, statistics.scales, statistics.sizes)
    return statistics


def factors_of(emission: Emission, statistics: Statistics) -> FloatArray:
    """Return the factors of the statistics, (n_features, n, n)."""
    from homothety.models.emissions._kernels import factorise_all

    factors = np.zeros_like(statistics.scales)
    factorise_all(statistics.scales, factors, emission.n_regressors, emission.diagonal)
    return factors


def log_marginals(emission: Emission, statistics: Statistics, factors: FloatArray | None = None) -> FloatArray:
    """Return the log marginal likelihood of the steps of each state, (n_features,); factors if they are known."""
    from homothety.models.emissions._kernels import write_log_marginals

    factors = factors_of(emission, statistics) if factors is None else factors
    out = np.empty(len(statistics.sizes))
    settings = (emission.dof, emission.n_regressors, emission.diagonal)
    write_log_marginals(statistics.sizes, factors, emission.prior_factor, *settings, out)
    return out


def draw_parameters(rng: Generator, emission: Emission, statistics: Statistics) -> FloatArray:
    """Draw the parameters of every state given its steps, (n_features, n_dims, n)."""
    from homothety.models.emissions._kernels import draw_whiteners

    factors = factors_of(emission, statistics)
    whiteners = np.empty((len(factors), emission.n_dims, factors.shape[1]))
    settings = (emission.dof, emission.n_regressors, emission.diagonal)
    draw_whiteners(rng, statistics.sizes, factors, *settings, whiteners)
    return whiteners


def mean_parameters(emission: Emission, statistics: Statistics, factors: FloatArray | None = None) -> FloatArray:
    """Return parameters at the posterior means of coefficients and covariance, (n_features, n_dims, n)."""
    from homothety.models.emissions._kernels import write_mean_whiteners

    factors = factors_of(emission, statistics) if factors is None else factors
    whiteners = np.empty((len(factors), emission.n_dims, factors.shape[1]))
    settings = (emission.dof, emission.n_regressors, emission.diagonal)
    write_mean_whiteners(statistics.sizes, factors, *settings, whiteners)
    return whiteners
