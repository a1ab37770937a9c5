"""One point of the chain: the links, and the concentration if it is sampled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from homothety.arrays import check_positive
from homothety.errors import InputError
from homothety.models.parts import check_labels
from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from homothety.arrays import IntArray
    from homothety.models.ddcrp.model import Model


def labels_from_links(links: IntArray) -> IntArray:
    """Return the connected component of each item, numbered in order of first appearance."""
    from homothety.models.ddcrp._kernels import build_links, find_components

    links = np.asarray(links, dtype=np.int64)
    check_labels(links, "links", links.size, links.size)
    labels, path = np.empty((2, len(links)), dtype=np.int64)
    find_components(build_links(links), labels, path)
    return labels


@storable
@dataclass(frozen=True, eq=False)
class ChainState:
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

    def __post_init__(self) -> None:
        self.links.setflags(write=False)

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
    if not (np.isfinite(concentration) and concentration > 0):
        raise InputError(f"concentration is {concentration}, needed a positive number.")
    return ChainState(np.arange(model.n_items), float(concentration))


def check_links(n_items: int, state: ChainState) -> None:
    """Raise if the links are not links between so many items, or the concentration is not positive."""
    check_labels(state.links, "links", n_items, n_items)
    check_positive(state.concentration, "concentration")


def check_state(model: Model, state: ChainState) -> None:
    """Raise if the links are not links between the items of the model, or of weight zero."""
    check_links(model.n_items, state)
    items = np.arange(model.n_items)
    forbidden = (state.links != items) & (model.weights[items, state.links] <= 0)
    if forbidden.any():
        i = int(np.flatnonzero(forbidden)[0])
        raise InputError(f"item {i} links to item {state.links[i]}, but their similarity is zero.")
