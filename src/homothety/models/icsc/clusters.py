"""States clustered as the paper has it: a spectral embedding of their similarity, and links that follow it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from homothety.covariance.embedding import spectral_embedding
from homothety.covariance.similarity import pairwise_similarity
from homothety.errors import EmbeddingWarning
from homothety.models import ddcrp
from homothety.models.base_measure import base_measure
from homothety.models.ddcrp.state import labels_from_links
from homothety.models.parts import check_labels, check_starts
from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.covariance.embedding import DimensionRule


@dataclass(frozen=True)
class LinkGrouping:
    """Group states by a few sweeps of the similarity-dependent mixture (Algorithm 2; lines 12 and 13 of Algorithm 3).

    Fragile where states are few: two states have the same embedding whatever their similarity.

    Parameters
    ----------
    variant, tolerance : str, float
        Reading of the similarity, and its tolerance.
    n_components : int or str
        Columns of the embedding, or the rule for their number.
    concentration : float
        Weight of a link to oneself.
    n_warm, n_reset : int
        Sweeps over the links if the states are those of the sweep before, and if they are not.
    """

    variant: str = "published"
    tolerance: float = 1.0
    n_components: int | DimensionRule = "damped"
    concentration: float = 1.0
    n_warm: int = 5
    n_reset: int = 10

    def draw(self, rng: Generator, states: States, before: Clusters) -> Clusters:
        """Draw clusters of states, beginning from those of the sweep before if the states are the same."""
        ids = states.ids
        if len(ids) == 1:
            return Clusters.apart(ids)
        links, warm = links_to_start_from(ids, before)
        model = self.link_model(states.covariances)
        state = ddcrp.ChainState(admissible(links, model.weights), self.concentration)
        for _ in range(self.n_warm if warm else self.n_reset):
            state, info = ddcrp.resample_links(rng, model, state)
        log_prior = ddcrp.log_link_prior(state.links, model.weights, state.concentration)
        return Clusters(np.array(ids), ids[state.links], float(log_prior + info.log_likelihood))

    def link_model(self, covariances: FloatArray) -> ddcrp.Model:
        """Return the mixture of embedded states whose links follow the similarity of their shapes."""
        similarity = pairwise_similarity(covariances, variant=self.variant, tolerance=self.tolerance)
        with warnings.catch_warnings():
            # A handful of states may well be all alike, or all different: that is an answer here.
            warnings.simplefilter("ignore", EmbeddingWarning)
            points = spectral_embedding(similarity, n_components=self.n_components).points
        base = base_measure(points, mean_strength=1.0, dof=None, scale=None, share=0.0, diagonal=False)
        return ddcrp.Model.from_similarity(points, similarity, base)


def links_to_start_from(ids: IntArray, before: Clusters) -> tuple[IntArray, bool]:
    """Return links between the positions of states: those of the sweep before if the states are the same, else none.

    Returns
    -------
    links : ndarray of int, shape (n_states,)
    warm : bool
        Whether they are those of the sweep before.
    """
    if before.is_of(ids):
        return positions_of(before.links[positions_of(ids, before.ids)], ids), True
    return np.arange(len(ids)), False


def admissible(links: IntArray, weights: FloatArray) -> IntArray:
    """Return links with those that have become impossible turned into self-links."""
    items = np.arange(len(links))
    return np.where((links == items) | (weights[items, links] > 0), links, items)


class States(NamedTuple):
    """What is known of the states to cluster."""

    ids: IntArray  # (n_states,) persistent numbers
    covariances: FloatArray  # (n_states, n_dims, n_dims)
    sizes: FloatArray  # (n_states,) how many independent observations each covariance rests on
    visits: FloatArray  # (n_series, n_states) how often each series stays in each state
    succession: FloatArray  # (n_states + 1, n_states + 1) how often one follows another; the last is begin and end


class Grouping(Protocol):
    """A way to cluster states."""

    def draw(self, rng: Generator, states: States, before: Clusters) -> Clusters:
        """Draw clusters of states, beginning from those of the sweep before where that is of use."""
        ...


@storable
@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of states.

    Parameters
    ----------
    ids : ndarray of int, shape (n_states,)
        Persistent numbers of the states that were clustered.
    links : ndarray of int, shape (n_states,)
        Number of the state that each links to; clusters are what hangs together.
    log_density : float
        Log density of the clusters and of what they were drawn from. Of different states, or another embedding of them,
        in every sweep: values of different sweeps cannot be compared.
    """

    ids: IntArray
    links: IntArray
    log_density: float = 0.0

    def __post_init__(self) -> None:
        self.ids.setflags(write=False)
        self.links.setflags(write=False)

    @classmethod
    def none(cls) -> Clusters:
        """Return clusters of no states at all, which nothing can begin from."""
        return cls.apart(np.empty(0, dtype=np.int64))

    @classmethod
    def apart(cls, ids: IntArray) -> Clusters:
        """Return clusters of one state each."""
        return cls(np.array(ids), np.array(ids))

    @classmethod
    def from_labels(cls, ids: IntArray, labels: IntArray, log_density: float = 0.0) -> Clusters:
        """Return given clusters; every state links to the first one of its cluster."""
        _, first, number = np.unique(labels, return_index=True, return_inverse=True)
        clusters = cls(np.array(ids), np.asarray(ids)[first[number]], log_density)
        rank = np.empty_like(first)
        rank[np.argsort(first)] = np.arange(len(first))
        clusters.__dict__["labels"] = rank[number]  # known already, and asked for in every sweep
        return clusters

    @cached_property
    def labels(self) -> IntArray:
        """Cluster of each state, (n_states,), numbered in order of first appearance."""
        return labels_from_links(positions_of(self.links, self.ids))

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max(initial=-1)) + 1

    def label_of(self, ids: IntArray) -> IntArray:
        """Return the cluster of states, given by their numbers."""
        return self.labels[positions_of(ids, self.ids)]

    def is_of(self, ids: IntArray) -> bool:
        """Whether these are the states that were clustered, in any order."""
        # A birth and a death in one sweep leave the number of states as it was: sets are compared, not numbers.
        return np.array_equal(np.sort(ids), np.sort(self.ids))


def positions_of(wanted: IntArray, ids: IntArray) -> IntArray:
    """Return where each of the wanted numbers stands among `ids`; all of them must be there."""
    order = np.argsort(ids)
    return np.asarray(order[np.searchsorted(ids, wanted, sorter=order)])


def count_stays(path: IntArray, starts: IntArray, n_states: int) -> tuple[FloatArray, FloatArray]:
    """Count how often series stay in states, and how often a stay in one is followed by a stay in another.

    Parameters
    ----------
    path : ndarray of int, shape (n_steps,)
        States, of all series one after the other.
    starts : ndarray of int, shape (n_series + 1,)
        First step of each series, and the number of steps.
    n_states : int

    Returns
    -------
    visits : ndarray of shape (n_series, n_states)
    succession : ndarray of shape (n_states + 1, n_states + 1)
        Over all series. Its last row says where series begin, its last column where they end.
    """
    from homothety.models.icsc._kernels import add_stays

    path, starts = np.asarray(path), np.asarray(starts)
    check_labels(path, "path", len(path), n_states)
    check_starts(starts, len(path))
    visits, succession = np.zeros((len(starts) - 1, n_states)), np.zeros((n_states + 1, n_states + 1))
    add_stays(path, starts, visits, succession)
    return visits, succession
