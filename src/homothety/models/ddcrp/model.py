"""Items to cluster, their similarities and the prior of a cluster; the prior of links (Eqs. 14, 18)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from homothety.arrays import check_points, check_similarity, frozen
from homothety.errors import InputError
from homothety.models.partitions import PointsOfClusters, log_likelihood
from homothety.models.parts import check_array

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.distributions import NIW, NormalGamma
    from homothety.models.ddcrp._kernels import Prior, Proposals
    from homothety.models.ddcrp.state import ChainState


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
        """Raise if a state does not fit this model."""
        from homothety.models.ddcrp.state import check_state

        check_state(self, state)

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
        from homothety.models.ddcrp._kernels import build_proposals

        return build_proposals(self.weights)

    @cached_property
    def compiled_prior(self) -> Prior:
        """The base measure as the compiled loops want it."""
        return compiled_prior(self.base, self.n_items)


def compiled_prior(base: NIW | NormalGamma, n_items: int) -> Prior:
    """Return a base measure as the compiled loops want it, for clusters of up to so many items."""
    from homothety.models.ddcrp._kernels import Prior

    by_size = np.column_stack(base.size_tables(n_items))
    return Prior(by_size, float(base.mean_strength), np.array(base.scale), base.diagonal)


def log_joint(model: Model, state: ChainState) -> float:
    """Log of link prior times likelihood (Eqs. 16-20), the reference of trace and tests."""
    return log_link_prior(state.links, model.weights, state.concentration) + log_likelihood(model, state)
