"""One point of the chain: the partition, the kind of each cluster, the spread of each item, and what they follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homothety.arrays import check_positive
from homothety.models.partitions import check_partition, number_by_appearance
from homothety.models.parts import check_array, check_finite, check_labels
from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from homothety.arrays import FloatArray, IntArray
    from homothety.models.shapes.model import Model


@storable
@dataclass(frozen=True, eq=False)
class ChainState:
    """One point of the chain over partitions. Arrays are read-only.

    Parameters
    ----------
    labels : ndarray of shape (n_items,)
        Cluster of each item, numbered 0, 1, ... in order of first appearance.
    kinds : ndarray of shape (n_clusters,)
        Kind of each cluster.
    spreads : ndarray of shape (n_items,)
        Which of the spreads about the mean of its cluster an item has: 0 is the usual one, others are wider.
    log_shares : ndarray of shape (n_kinds,)
        Log probability of each kind.
    concentration : float
        Weight of a new cluster.
    step : int
        Number of sweeps behind this state.
    """

    labels: IntArray
    kinds: IntArray
    spreads: IntArray
    log_shares: FloatArray
    concentration: float
    step: int = 0

    def __post_init__(self) -> None:
        for array in (self.labels, self.kinds, self.spreads, self.log_shares):
            array.setflags(write=False)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.kinds)


def init_state(model: Model, labels: IntArray, concentration: float = 1.0) -> ChainState:
    """Return a state of given labels, of clusters of the widest, least round kind and items of the usual spread."""
    labels = number_by_appearance(labels)
    n_kinds, n_clusters = model.kinds.n_kinds, int(labels.max()) + 1
    kinds = np.full(n_clusters, n_kinds - 1)
    spreads, log_shares = np.zeros(model.n_items, dtype=np.int64), np.full(n_kinds, -np.log(n_kinds))
    return ChainState(labels, kinds, spreads, log_shares, check_positive(concentration, "concentration"))


def check_state(model: Model, state: ChainState) -> None:
    """Raise if a state does not fit a model; done by every move."""
    sizes = check_partition(state.labels, model.n_items)
    check_labels(state.kinds, "kinds", len(sizes), model.kinds.n_kinds)
    check_labels(state.spreads, "spreads", model.n_items, len(model.precisions))
    check_finite(check_array(state.log_shares, "log_shares", (model.kinds.n_kinds,), np.float64), "log_shares")
    check_positive(state.concentration, "concentration")
