r"""What a chain of the ordered mixture is conditioned on, and its joint density.

The paper lets every item link to every other. With a million items the links that lead to one item, one after the
other, are hundreds, and all of them move with it. Here items stand in a random order, and each links to one before it,
or to itself:

.. math::

    p(c_i = j) \propto \begin{cases} s_{ij} & j < i \\ \alpha & j = i . \end{cases}

With all similarities one that is the Chinese restaurant process. Items that lie on a grid may link besides to those
beside them on it, whatever their similarity: the weight of each link to one of the neighbours before an item is higher
by an equal part of :math:`b (i - 1)`, where :math:`b` is the neighbour share and :math:`i - 1` how many items are
before it. The sum over :math:`j < i` by which a row is divided
does not depend on the links, and is never needed: no similarity is left out, and none is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from homothety.arrays import read_only
from homothety.errors import InputError
from homothety.models.ddcrp.model import compiled_prior
from homothety.models.ddcrp.state import check_links
from homothety.models.partitions import PointsOfClusters, log_likelihood
from homothety.models.parts import check_array

if TYPE_CHECKING:
    from homothety.arrays import FloatArray, IntArray
    from homothety.distributions import NIW, NormalGamma
    from homothety.models.ddcrp import ChainState
    from homothety.models.ddcrp._kernels import Prior
    from homothety.models.ordered._kernels import LinkWeights, Neighbors
    from homothety.models.ordered.neighbors import PairSimilarity


@dataclass(frozen=True, eq=False)
class Model(PointsOfClusters):
    """Points to cluster, in the order of the links, how alike they are, and the prior of a cluster. Never changes.

    Parameters
    ----------
    points : ndarray of shape (n_items, n_dims)
        What the likelihood sees.
    similarity : PairSimilarity
        Of the same items.
    base : NIW or NormalGamma
        Prior of the mean and covariance of a cluster.
    neighbors : ndarray of int, shape (n_items, n_most), optional
        Items each may link to besides; -1 where there are fewer. Those behind an item are left out.
    neighbor_share : float
        Weight of all such links of an item together, beside their similarity, as a share of the number of items before
        it.
    """

    points: FloatArray
    similarity: PairSimilarity
    base: NIW | NormalGamma
    neighbors: IntArray | None = None
    neighbor_share: float = 0.0

    def __post_init__(self) -> None:
        points = self.check_points()
        check_array(self.points, "points", points.shape, np.float64)
        features = self.similarity.features
        check_array(features, "features of the similarity", (len(points), *features.shape[1:2]), np.float64)
        if self.neighbors is not None:
            check_array(self.neighbors, "neighbors", (len(points), *self.neighbors.shape[1:2]), np.int64)
        if not (np.isfinite(self.neighbor_share) and self.neighbor_share >= 0):
            raise InputError(f"neighbor_share is {self.neighbor_share}, needed a finite number of at least 0.")

    def check_state(self, state: ChainState) -> None:
        """Raise if a state does not fit this model, in which links lead to an item before, or to the item itself."""
        check_links(self.n_items, state)
        forward = state.links > np.arange(self.n_items)
        if forward.any():
            i = int(forward.argmax())
            raise InputError(f"item {i} links to item {state.links[i]}, needed one before it, or itself.")

    def first(self, n: int, base: NIW | NormalGamma) -> Model:
        """Return the model of the first items only, with a prior of its own."""
        near = None if self.neighbors is None else self.neighbors[:n]
        return replace(
            self, points=self.points[:n], similarity=self.similarity.take(slice(n)), base=base, neighbors=near
        )

    @cached_property
    def compiled_prior(self) -> Prior:
        """The base measure as the compiled loops want it."""
        return compiled_prior(self.base, self.n_items)

    @cached_property
    def compiled_neighbors(self) -> Neighbors:
        """Neighbours before each item, as the compiled loops want them."""
        from homothety.models.ddcrp._kernels import NOBODY
        from homothety.models.ordered._kernels import Neighbors

        if self.neighbors is None:
            none = np.empty((self.n_items, 0), dtype=np.int64)
            return Neighbors(read_only(none), read_only(np.zeros(self.n_items, dtype=np.int64)), 0.0)
        before = (self.neighbors >= 0) & (self.neighbors < np.arange(self.n_items)[:, None])
        # Those that count come first in their row.
        places = np.argsort(~before, axis=1, kind="stable")
        packed = np.take_along_axis(np.where(before, self.neighbors, NOBODY), places, axis=1)
        return Neighbors(read_only(packed), read_only(before.sum(axis=1)), float(self.neighbor_share))

    def link_weights(self, concentration: float) -> LinkWeights:
        """Return what an item draws its link by, as the compiled loops want it."""
        from homothety.models.ordered._kernels import LinkWeights

        return LinkWeights(concentration, self.similarity.compiled, self.compiled_neighbors)


def log_link_weights(model: Model, state: ChainState) -> float:
    """Log of the link prior, up to a constant."""
    from homothety.models.ordered._kernels import sum_log_weights

    model.check_state(state)
    return float(sum_log_weights(state.links, model.link_weights(state.concentration)))


def log_joint(model: Model, state: ChainState) -> float:
    """Log of link prior times likelihood, up to a constant: what the rows are divided by does not depend on links."""
    return log_link_weights(model, state) + log_likelihood(model, state)
