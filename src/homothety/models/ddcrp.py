"""Similarity-dependent Chinese restaurant process mixture (Algorithm 2).

Every item links to an item, by similarity (Eqs. 14, 18). Items connected by links are a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.arrays import check_points, check_positive, check_similarity, frozen
from homothety.errors import InputError
from homothety.models._parts import ReadOnly, check_array, check_labels
from homothety.models.partitions import PointsOfClusters, keep_labels, log_likelihood, scalars_of
from homothety.sampling.codec import storable
from homothety.sampling.driver import Move, Recording

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.distributions import NIW, NormalGamma
    from homothety.models._ddcrp_kernels import Proposals

_LOG_STEP = 0.5  # of the random walk on the logarithm of the concentration


def link_weights(similarity: FloatArray) -> FloatArray:
    """Return the weights of links between different items: the similarity with its diagonal set to zero."""
    weights = np.array(similarity, dtype=np.float64, order="C")
    np.fill_diagonal(weights, 0.0)
    return weights


def log_link_prior(links: IntArray, weights: FloatArray, concentration: float) -> float:
    """Log probability of all links.

    Parameters
    ----------
    links : ndarray of shape (n_items,)
        Item each item links to; itself for a self-link.
    weights : ndarray of shape (n_items, n_items)
        Weights of the links, with zero diagonal.
    concentration : float
        Weight of a self-link.

    Notes
    -----
    Every row is divided by the sum of its own weights. Eq. 18 divides self-links by another number than the rest,
    which is not a distribution.
    """
    items = np.arange(len(links))
    chosen = np.where(links == items, concentration, weights[items, links])
    with np.errstate(divide="ignore"):
        return float(np.log(chosen).sum() - np.log(concentration + weights.sum(axis=1)).sum())


def sample_links(rng: Generator, weights: FloatArray, concentration: float) -> IntArray:
    """Draw all links from their prior; rows of `weights` (n_items, n_items) have zero diagonal."""
    rows = weights + concentration * np.eye(len(weights))
    cumulative = np.cumsum(rows, axis=1)
    targets = rng.random(len(weights)) * cumulative[:, -1]
    return np.asarray((cumulative <= targets[:, None]).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Model(PointsOfClusters):
    """Points to cluster, how alike they are, and the prior of a cluster. Never changes.

    Parameters
    ----------
    points : ndarray of shape (n_items, n_dims)
        What the likelihood sees.
    weights : ndarray of shape (n_items, n_items)
        Weights of links between different items, with zero diagonal; they need not be symmetric.
    base : NIW or NormalGamma
        Prior of the mean and covariance of a cluster.
    concentration_prior : tuple of two floats
        Shape and rate of the gamma prior of the concentration, used only by the move that resamples it.
    """

    points: FloatArray
    weights: FloatArray
    base: NIW | NormalGamma
    concentration_prior: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        points = self.check_points()
        check_array(self.points, "points", points.shape, np.float64)
        check_array(self.weights, "weights", (len(points), len(points)), np.float64)
        if not (np.isfinite(self.weights).all() and self.weights.min() >= 0) or np.diagonal(self.weights).any():
            raise InputError("weights of links must be finite and not negative, with zeros on the diagonal.")

    def check_state(self, state: ChainState) -> None:
        """Raise if the links are not links between the items, or of weight zero."""
        check_links(self.n_items, state)
        items = np.arange(self.n_items)
        forbidden = (state.links != items) & (self.weights[items, state.links] <= 0)
        if forbidden.any():
            i = int(np.flatnonzero(forbidden)[0])
            raise InputError(f"item {i} links to item {state.links[i]}, but their similarity is zero.")

    @classmethod
    def from_similarity(cls, points: FloatArray, similarity: FloatArray, base: NIW | NormalGamma) -> Model:
        """Build the model of `points` (n_items, n_dims) whose links follow `similarity` (n_items, n_items)."""
        points = check_points(points)
        similarity = check_similarity(similarity)
        if len(points) != len(similarity):
            raise InputError(
                f"There are {len(points)} points but similarity is {len(similarity)} x {len(similarity)}. "
                "Both must speak of the same items in the same order."
            )
        # A copy: the caller's own array stays writable.
        return cls(frozen(points.copy()), frozen(link_weights(similarity)), base)

    @cached_property
    def row_mass(self) -> FloatArray:
        """Sum of the weights of each row."""
        return frozen(self.weights.sum(axis=1))

    @cached_property
    def proposals(self) -> Proposals:
        """Tables to draw a link from its prior in constant time."""
        from homothety.models._ddcrp_kernels import build_proposals

        return build_proposals(self.weights)


def log_joint(model: Model, state: ChainState) -> float:
    """Log of link prior times likelihood (Eqs. 16-20), the reference of trace and tests."""
    return log_link_prior(state.links, model.weights, state.concentration) + log_likelihood(model, state)


def labels_from_links(links: IntArray) -> IntArray:
    """Return the connected component of each item, numbered in order of first appearance."""
    from homothety.models._ddcrp_kernels import build_links, find_components

    links = np.asarray(links, dtype=np.int64)
    check_labels(links, "links", links.size, links.size)
    labels, path = np.empty((2, len(links)), dtype=np.int64)
    find_components(build_links(links), labels, path)
    return labels


@storable
@dataclass(frozen=True, eq=False)
class ChainState(ReadOnly):
    """One point of the chain over links. Arrays are read-only.

    Parameters
    ----------
    links : ndarray of shape (n_items,)
        Item each item links to.
    concentration : float
        Weight of a self-link.
    step : int
        Number of sweeps behind this state.
    """

    links: IntArray
    concentration: float
    step: int = 0

    @cached_property
    def labels(self) -> IntArray:
        """Table of each item, (n_items,): the connected components of the links."""
        return labels_from_links(self.links)

    @property
    def n_clusters(self) -> int:
        """Number of tables."""
        return int(self.labels.max()) + 1


def init_state(model: Model, concentration: float = 1.0) -> ChainState:
    """Return the state in which every item sits alone (Algorithm 2, line 4)."""
    return ChainState(np.arange(model.n_items), check_positive(concentration, "concentration"))


def check_links(n_items: int, state: ChainState) -> None:
    """Raise if the links are not links between so many items, or the concentration is not positive."""
    check_labels(state.links, "links", n_items, n_items)
    check_positive(state.concentration, "concentration")


class LinksInfo(NamedTuple):
    """What one sweep over the links did."""

    n_changed: int
    log_likelihood: float


class _ConcentrationInfo(NamedTuple):
    """What one step on the concentration did."""

    accepted: bool


def resample_links(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, LinksInfo]:
    """Redraw every link given all others, in random order (Algorithm 2, lines 6-16; Eqs. 21-23).

    The tables are rebuilt from the links on entry, so rounding never builds up over sweeps.
    """
    from homothety.models import _ddcrp_kernels as kernels

    check_links(model.n_items, state)
    links = kernels.build_links(state.links)
    tables = kernels.build_tables(links, model.centred_points, model.compiled_prior)
    order = rng.permutation(model.n_items)
    kernels.sweep_links(
        rng,
        order,
        model.centred_points,
        model.weights,
        state.concentration,
        model.proposals,
        links,
        tables,
        model.compiled_prior,
        kernels.build_scratch(*model.points.shape),
    )
    targets = links[:, kernels.TARGET].copy()
    info = LinksInfo(int((targets != state.links).sum()), kernels.total_log_marginal(tables))
    return replace(state, links=targets), info


def resample_concentration(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, _ConcentrationInfo]:
    """Redraw the concentration given the links, by a random walk on its logarithm."""
    check_links(model.n_items, state)
    proposed = state.concentration * np.exp(_LOG_STEP * rng.standard_normal())
    log_ratio = _log_concentration_density(model, state, proposed)
    log_ratio -= _log_concentration_density(model, state, state.concentration)
    # The walk is symmetric in the logarithm; its Jacobian makes up for that.
    accepted = bool(np.log(rng.random()) < log_ratio + np.log(proposed / state.concentration))
    return (replace(state, concentration=float(proposed)) if accepted else state), _ConcentrationInfo(accepted)


def _log_concentration_density(model: Model, state: ChainState, concentration: float) -> float:
    """Log density of the concentration given the links, up to a constant: gamma prior times link prior."""
    shape, rate = model.concentration_prior
    n_self_links = int((state.links == np.arange(model.n_items)).sum())
    log_prior = (shape - 1) * np.log(concentration) - rate * concentration
    return float(log_prior + n_self_links * np.log(concentration) - np.log(concentration + model.row_mass).sum())


def default_sweep(*, sample_concentration: bool = False) -> dict[str, Move]:
    """Return the moves of one sweep, in order, by name. Any order of them works."""
    sweep: dict[str, Move] = {"links": resample_links}
    if sample_concentration:
        sweep["concentration"] = resample_concentration
    return sweep


def _trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return log joint, its likelihood part, number of clusters and concentration of one sweep.

    Equal to `log_joint`, but from what the sweep already knows: the likelihood and the sums of the rows.
    """
    items = np.arange(model.n_items)
    chosen = np.where(state.links == items, state.concentration, model.weights[items, state.links])
    log_prior = np.log(chosen).sum() - np.log(state.concentration + model.row_mass).sum()
    known = infos["links"].log_likelihood if "links" in infos else log_likelihood(model, state)
    return scalars_of(state, float(log_prior), known)


RECORDING = Recording(scalars=_trace_scalars, keep=keep_labels)
