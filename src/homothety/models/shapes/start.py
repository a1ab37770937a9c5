"""Where chains start: small cells of nearby points, merged as long as that makes them more probable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from homothety.models.shapes.state import ChainState, init_state

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.shapes.model import Model

# Cells to begin with, one number drawn for each chain: starts differ, and two of three are finer than most answers.
N_CELLS = (20, 50, 100)
N_NEIGHBORS = 6  # nearest cells that a cell may merge with


def grow_state(rng: Generator, model: Model) -> ChainState:
    """Return a state to start a chain from.

    Single items rarely leave a large cluster to found one of their own, and large clusters that overlap rarely merge:
    a chain that begins with cells merged already has to do little of either.
    """
    return init_state(model, merge_cells(model, draw_cells(rng, model)))


def draw_cells(rng: Generator, model: Model) -> IntArray:
    """Return cells of nearby points by k-means, each of two points on average or more, (n_items,)."""
    from sklearn.cluster import KMeans

    n_cells = int(rng.choice(N_CELLS))
    # At most a cell for two points where there are more than a few.
    n_cells = min(n_cells, len(np.unique(model.points, axis=0)), max(model.n_items // 2, min(model.n_items, 8)))
    means = KMeans(n_cells, n_init=1, random_state=int(rng.integers(2**31)))
    return np.unique(means.fit_predict(model.points), return_inverse=True)[1]


def merge_cells(model: Model, cells: IntArray) -> IntArray:
    """Merge the two cells that gain most by it, until none gain; return the label of each item."""
    parts = _Parts(model, cells)
    while len(parts.alive) > 1:
        gain, one, other = max(
            (parts.gain(one, other), one, other) for one in parts.alive for other in parts.neighbors(one)
        )
        if gain <= 0:
            break
        parts.merge(one, other)
    labels = np.empty(model.n_items, dtype=np.int64)
    for label, part in enumerate(parts.alive):
        labels[parts.members[part]] = label
    return labels


class _Parts:
    """Cells and what was merged of them, with their log marginals; every pair is looked at once."""

    def __init__(self, model: Model, cells: IntArray) -> None:
        self.model = model
        self.members: list[IntArray] = []
        self.means: list[IntArray] = []
        self.log_values: list[float] = []
        self.alive: list[int] = []
        self.gains: dict[tuple[int, int], float] = {}
        for cell in range(int(cells.max()) + 1):
            self._add(np.flatnonzero(cells == cell))

    def _add(self, members: IntArray) -> None:
        self.alive.append(len(self.members))
        self.members.append(members)
        self.means.append(self.model.points[members].mean(axis=0))
        self.log_values.append(self._log_value(members))

    def _log_value(self, members: IntArray) -> float:
        """Log marginal of a cluster of any kind, times its share of the prior of the partition."""
        logs = log_marginals_of_kinds(self.model, members)
        return float(np.logaddexp.reduce(logs) - np.log(len(logs)) + self.model.attraction * gammaln(len(members)))

    def neighbors(self, part: int) -> list[int]:
        """Return the parts whose means are nearest."""
        distances = np.square(np.array([self.means[other] for other in self.alive]) - self.means[part]).sum(axis=1)
        nearest = np.argsort(distances, kind="stable")[: N_NEIGHBORS + 1]
        return [self.alive[place] for place in nearest if self.alive[place] != part]

    def gain(self, one: int, other: int) -> float:
        """Return what a merge adds to the log joint density."""
        pair = min(one, other), max(one, other)
        if pair not in self.gains:
            union = np.concatenate([self.members[one], self.members[other]])
            self.gains[pair] = self._log_value(union) - self.log_values[one] - self.log_values[other]
        return self.gains[pair]

    def merge(self, one: int, other: int) -> None:
        """Replace two parts by their union."""
        self.alive = [part for part in self.alive if part not in (one, other)]
        self._add(np.concatenate([self.members[one], self.members[other]]))


def log_marginals_of_kinds(model: Model, members: IntArray) -> FloatArray:
    """Return the log marginal likelihood of items of the usual spread as one cluster, for every kind, (n_kinds,).

    Notes
    -----
    What the compiled `log_marginals` does, with one decomposition for all kinds instead of one for each: prior scales
    are multiples of the identity, and the mean adds a matrix of rank one to the scatter.
    """
    compiled, n_items = model.compiled, len(members)
    points, precision = compiled.points[members], compiled.precisions[0]
    n_dims, weight, mean = points.shape[1], n_items * precision, points.mean(axis=0)
    centred = np.sqrt(precision) * (points - mean)
    _, lengths, axes = np.linalg.svd(centred, full_matrices=False)
    squares, raised = (lengths * (axes @ mean)) ** 2, lengths**2 + compiled.scale[:, None]
    distance = (mean @ mean - (squares / raised).sum(axis=1)) / compiled.scale
    share = compiled.strength / (compiled.strength + weight)
    log_det = np.log(raised).sum(axis=1) + (n_dims - len(lengths)) * np.log(compiled.scale)
    log_det += np.log1p(share * weight * distance)
    log_constant, half_dof = compiled.log_constant[:, n_items], compiled.half_dof[:, n_items]
    return np.asarray(log_constant - half_dof * log_det + n_dims / 2 * np.log(share))
