"""States clustered by the shape of their covariances, and remembered by their persistent numbers (Algorithm 2)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from homothety.covariance.embedding import spectral_embedding
from homothety.covariance.similarity import pairwise_similarity
from homothety.errors import EmbeddingWarning
from homothety.models import ddcrp
from homothety.models.base_measure import base_measure
from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.covariance.embedding import DimensionRule

Covariances = Literal["mean", "draw"]


@dataclass(frozen=True)
class Clustering:
    """How states are clustered in every sweep.

    Parameters
    ----------
    covariances : {"mean", "draw"}
        What stands for the covariance of a state: its posterior mean given the path, or the draw of the sweep (the
        paper's), which is far noisier for short segments.
    include_unused : bool
        Whether states without any step are clustered too; their covariances are draws from the prior.
    variant, tolerance : str, float
        Reading of the similarity, and its tolerance.
    n_components : int or str
        Columns of the embedding, or the rule for their number.
    concentration : float
        Weight of a link to oneself.
    n_warm, n_reset : int
        Sweeps over the links if the states are those of the sweep before, and if they are not.
    """

    covariances: Covariances = "mean"
    include_unused: bool = False
    variant: str = "published"
    tolerance: float = 1.0
    n_components: int | DimensionRule = "damped"
    concentration: float = 1.0
    n_warm: int = 5
    n_reset: int = 10


@storable
@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of states.

    Parameters
    ----------
    ids : ndarray of int, shape (n_states,)
        Persistent numbers of the states that were clustered.
    links : ndarray of int, shape (n_states,)
        Number of the state that each links to.
    log_density : float
        Log density of links and embedded states. The embedding is another one in every sweep: values of different
        sweeps cannot be compared.
    """

    ids: IntArray
    links: IntArray
    log_density: float = 0.0

    def __post_init__(self) -> None:
        self.ids.setflags(write=False)
        self.links.setflags(write=False)

    @classmethod
    def apart(cls, ids: IntArray) -> Clusters:
        """Return clusters of one state each."""
        return cls(np.array(ids), np.array(ids))

    @cached_property
    def labels(self) -> IntArray:
        """Cluster of each state, (n_states,): the connected components of the links."""
        return ddcrp.labels_from_links(positions_of(self.links, self.ids))

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(np.unique(self.labels))

    def label_of(self, ids: IntArray) -> IntArray:
        """Return the cluster of states, given by their numbers."""
        return self.labels[positions_of(ids, self.ids)]


def positions_of(wanted: IntArray, ids: IntArray) -> IntArray:
    """Return where each of the wanted numbers stands among `ids`; all of them must be there."""
    order = np.argsort(ids)
    return np.asarray(order[np.searchsorted(ids, wanted, sorter=order)])


def links_to_start_from(ids: IntArray, before: Clusters) -> tuple[IntArray, bool]:
    """Return links between the positions of states: those of the sweep before if the states are the same, else none.

    Returns
    -------
    links : ndarray of int, shape (n_states,)
    warm : bool
        Whether they are those of the sweep before.
    """
    # A birth and a death in one sweep leave the number of states as it was: sets are compared, not numbers.
    if np.array_equal(np.sort(ids), np.sort(before.ids)):
        return positions_of(before.links[positions_of(ids, before.ids)], ids), True
    return np.arange(len(ids)), False


def cluster_covariances(
    rng: Generator, settings: Clustering, covariances: FloatArray, ids: IntArray, before: Clusters
) -> Clusters:
    """Draw clusters of states by a few sweeps over their links (step 2 of Algorithm 3).

    Parameters
    ----------
    rng : Generator
    settings : Clustering
    covariances : ndarray of shape (n_states, n_dims, n_dims)
    ids : ndarray of int, shape (n_states,)
        Persistent numbers of these states.
    before : Clusters
        Those of the sweep before.
    """
    links, warm = links_to_start_from(ids, before)
    if len(ids) == 1:
        return Clusters.apart(ids)
    model = link_model(settings, covariances)
    state = ddcrp.ChainState(admissible(links, model.weights), settings.concentration)
    for _ in range(settings.n_warm if warm else settings.n_reset):
        state, info = ddcrp.resample_links(rng, model, state)
    log_prior = ddcrp.log_link_prior(state.links, model.weights, state.concentration)
    return Clusters(np.array(ids), ids[state.links], float(log_prior + info.log_likelihood))


def link_model(settings: Clustering, covariances: FloatArray) -> ddcrp.Model:
    """Return the mixture of embedded states whose links follow the similarity of their shapes."""
    similarity = pairwise_similarity(covariances, variant=settings.variant, tolerance=settings.tolerance)
    with warnings.catch_warnings():
        # A handful of states may well be all alike, or all different: that is an answer here.
        warnings.simplefilter("ignore", EmbeddingWarning)
        points = spectral_embedding(similarity, n_components=settings.n_components).points
    base = base_measure(points, mean_strength=1.0, dof=None, scale=None, share=0.0, diagonal=False)
    return ddcrp.Model.from_similarity(points, similarity, base)


def admissible(links: IntArray, weights: FloatArray) -> IntArray:
    """Return links with those that have become impossible turned into self-links."""
    items = np.arange(len(links))
    return np.where((links == items) | (weights[items, links] > 0), links, items)
