"""Sufficient statistics of the paths of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.arrays import read_only
from homothety.models.emissions.statistics import (
    Statistics,
    draw_parameters,
    empty_statistics,
    factors_of,
    log_marginals,
    mean_parameters,
    residual_scatters,
    statistics_of,
)
from homothety.models.parts import check_labels

if TYPE_CHECKING:
    from homothety.arrays import FloatArray, IntArray
    from homothety.models.ibphmm.model import Model

__all__ = [
    "Statistics",
    "draw_parameters",
    "empty_statistics",
    "factors_of",
    "log_marginals",
    "mean_parameters",
    "path_statistics",
    "residual_scatters",
    "transition_counts",
]


def path_statistics(model: Model, path: IntArray, n_features: int) -> Statistics:
    """Return the statistics of the states of a path over all series."""
    return statistics_of(model.emission, model.z, path, n_features)


def transition_counts(model: Model, path: IntArray, n_features: int) -> FloatArray:
    """Return how often each series goes from one state to another, (n_series, n_features, n_features)."""
    from homothety.models.ibphmm._feature_kernels import count_all_transitions

    check_labels(path, "path", model.n_steps, n_features)
    counts = np.zeros((model.n_series, n_features, n_features))
    count_all_transitions(read_only(path), model.starts, counts, model.least_stay)
    return counts
