"""Chinese restaurant process mixture of Gaussians, the baseline without similarities (Neal 2000, algorithm 3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from homothety.arrays import check_positive, frozen
from homothety.errors import InputError
from homothety.models._parts import ReadOnly
from homothety.models.partitions import (
    PointsOfClusters,
    check_partition,
    keep_labels,
    log_likelihood,
    number_by_appearance,
    scalars_of,
)
from homothety.sampling.codec import storable
from homothety.sampling.driver import Move, Recording

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.distributions import NIW, NormalGamma


def log_partition_prior(labels: IntArray, concentration: float) -> float:
    """Log probability of a partition under the Chinese restaurant process (Ewens' formula).

    Parameters
    ----------
    labels : ndarray of shape (n_items,)
        Cluster of each item, by any labels.
    concentration : float
        Weight of a new cluster, where a cluster has its size for weight.

    Examples
    --------
    Two items share a cluster as often as not:

    >>> float(np.exp(log_partition_prior(np.array([0, 0]), 1.0)))
    0.5
    """
    sizes = np.unique(labels, return_counts=True)[1]
    log_weights = len(sizes) * np.log(concentration) + gammaln(sizes).sum()
    return float(log_weights + gammaln(concentration) - gammaln(concentration + len(labels)))


def sample_labels(rng: Generator, n_items: int, concentration: float) -> IntArray:
    """Draw a partition (n_items,) from its prior, clusters numbered in order of first appearance."""
    labels = np.zeros(n_items, dtype=np.int64)
    for i in range(1, n_items):
        # Picking the cluster of a uniformly drawn earlier item picks clusters in proportion to their size.
        opens = rng.random() * (i + concentration) < concentration
        labels[i] = labels[:i].max() + 1 if opens else labels[rng.integers(i)]
    return labels


@dataclass(frozen=True, eq=False)
class Model(PointsOfClusters):
    """Points to cluster and the prior of a cluster. Never changes.

    Parameters
    ----------
    points : ndarray of shape (n_items, n_dims)
        Finite; kept as a read-only array.
    base : NIW or NormalGamma
        Prior of the mean and covariance of a cluster.
    concentration_prior : tuple of two floats
        Shape and rate of the gamma prior of the concentration, used only by the move that resamples it.
    """

    points: FloatArray
    base: NIW | NormalGamma
    concentration_prior: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", frozen(np.array(self.check_points())))
        if not all(np.isfinite(value) and value > 0 for value in self.concentration_prior):
            raise InputError(f"concentration_prior is {self.concentration_prior}, needed a positive shape and rate.")

    def check_state(self, state: ChainState) -> None:
        """Raise if the labels are not a partition of the items numbered without gaps.

        Done by every move: it takes no time beside a sweep.
        """
        check_partition(state.labels, self.n_items)
        check_positive(state.concentration, "concentration")


def log_joint(model: Model, state: ChainState) -> float:
    """Log of partition prior times likelihood given the concentration, the reference of trace and tests."""
    return log_partition_prior(state.labels, state.concentration) + log_likelihood(model, state)


@storable
@dataclass(frozen=True, eq=False)
class ChainState(ReadOnly):
    """One point of the chain over partitions. Arrays are read-only.

    Parameters
    ----------
    labels : ndarray of shape (n_items,)
        Cluster of each item, numbered 0, 1, ... without gaps; moves number them in order of first appearance.
    concentration : float
        Weight of a new cluster.
    step : int
        Number of sweeps behind this state.
    """

    labels: IntArray
    concentration: float
    step: int = 0

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1


def init_state(model: Model, concentration: float = 1.0, *, singletons: bool = False) -> ChainState:
    """Return the state in which all items share one cluster, or in which every item sits alone."""
    labels = np.arange(model.n_items) if singletons else np.zeros(model.n_items, dtype=np.int64)
    return ChainState(labels, check_positive(concentration, "concentration"))


class _LabelsInfo(NamedTuple):
    """What one sweep over the labels did."""

    n_changed: int
    log_likelihood: float


def resample_labels(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, _LabelsInfo]:
    """Redraw the cluster of every item given all others, in random order (Neal 2000, algorithm 3).

    The tables are rebuilt from the labels on entry, so rounding never builds up over sweeps.
    """
    from homothety.models import _crp_kernels as kernels

    model.check_state(state)
    points, prior = model.centred_points, model.compiled_prior
    tables = kernels.build_tables(state.labels, points, prior)
    order = rng.permutation(model.n_items)
    n_changed = kernels.sweep_labels(rng, order, points, state.concentration, tables, prior)
    info = _LabelsInfo(n_changed, kernels.total_log_marginal(tables))
    return replace(state, labels=number_by_appearance(tables.labels)), info


def resample_concentration(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw the concentration given the number of clusters, exactly (Escobar and West 1995).

    Notes
    -----
    Given K clusters of M items, the density of the concentration is its prior times ``alpha^(K-1) (alpha + M)`` times
    the integral of ``x^alpha (1 - x)^(M-1)`` over x from 0 to 1. Drawing x, and which term of ``alpha + M`` is meant,
    leaves a gamma density.
    """
    model.check_state(state)
    shape, rate = model.concentration_prior
    fraction = rng.beta(state.concentration + 1, model.n_items)
    from_items = rng.random() * (model.n_items + state.concentration) < model.n_items
    concentration = rng.gamma(shape + state.n_clusters - from_items, 1 / (rate - np.log(fraction)))
    return replace(state, concentration=float(concentration)), ()


def default_sweep(*, sample_concentration: bool = False) -> dict[str, Move]:
    """Return the moves of one sweep, in order, by name. Any order of them works."""
    sweep: dict[str, Move] = {"labels": resample_labels}
    if sample_concentration:
        sweep["concentration"] = resample_concentration
    return sweep


def _trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return log joint, its likelihood part, number of clusters and concentration of one sweep.

    Equal to `log_joint`, but with the likelihood the sweep already knows.
    """
    known = infos["labels"].log_likelihood if "labels" in infos else log_likelihood(model, state)
    return scalars_of(state, log_partition_prior(state.labels, state.concentration), known)


RECORDING = Recording(scalars=_trace_scalars, keep=keep_labels)
