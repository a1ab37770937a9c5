"""States clustered as the paper has it: a spectral embedding of their similarity, and links that follow it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homothety.covariance.embedding import spectral_embedding
from homothety.covariance.similarity import pairwise_similarity
from homothety.errors import EmbeddingWarning
from homothety.models import ddcrp
from homothety.models.base_measure import base_measure
from homothety.models.icsc.clusters import Clusters, positions_of

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.covariance.embedding import DimensionRule
    from homothety.models.icsc.clusters import States


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
