"""One point of the chain: the partition, and the concentration if it is sampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homothety.arrays import check_positive
from homothety.errors import InputError
from homothety.models.partitions import check_partition
from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from homothety.arrays import IntArray
    from homothety.models.crp.model import Model


@storable
@dataclass(frozen=True, eq=False)
class ChainState:
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

    def __post_init__(self) -> None:
        self.labels.setflags(write=False)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1


def init_state(model: Model, concentration: float = 1.0, *, singletons: bool = False) -> ChainState:
    """Return the state in which all items share one cluster, or in which every item sits alone."""
    if not (np.isfinite(concentration) and concentration > 0):
        raise InputError(f"concentration is {concentration}, needed a positive number.")
    labels = np.arange(model.n_items) if singletons else np.zeros(model.n_items, dtype=np.int64)
    return ChainState(labels, float(concentration))


def check_state(model: Model, state: ChainState) -> None:
    """Raise if the labels are not a partition of the items of the model numbered without gaps.

    Done by every move: it takes no time beside a sweep.
    """
    check_partition(state.labels, model.n_items)
    check_positive(state.concentration, "concentration")
