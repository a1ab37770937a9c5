"""The chain of the mixture of shapes: where it starts, its moves, and what is traced and kept of it.

Chains start from small cells of nearby points, merged as long as that makes them more probable. Each move takes a state
to the next and says what it did.
"""

from __future__ import annotations

from dataclasses import replace
from math import lgamma, log
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from homothety.models.partitions import keep_labels, number_by_appearance, scalars_of
from homothety.models.shapes.model import (
    CONCENTRATIONS,
    SHARE_MASS,
    ChainState,
    init_state,
    log_likelihood,
    log_partition_weight,
)
from homothety.sampling.driver import Move, Recording

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.shapes._kernels import Tables
    from homothety.models.shapes.model import Model

_N_PROPOSALS = 3  # splits and merges of a sweep
_LEAST_SHARE = 1e-300
# Cells to begin with, one number drawn for each chain: starts differ, and two of three are finer than most answers.
_N_CELLS = (20, 50, 100)
_N_NEIGHBORS = 6  # nearest cells that a cell may merge with


class _LabelsInfo(NamedTuple):
    """What one sweep over the labels did: labels that changed, also of items whose cluster only got another number."""

    n_changed: int


class _SplitMergeInfo(NamedTuple):
    """How many splits or merges were proposed and taken."""

    n_proposed: int
    n_accepted: int


class _KindsInfo(NamedTuple):
    """Log likelihood with the kinds of clusters integrated out."""

    log_likelihood: float


def resample_labels(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, _LabelsInfo]:
    """Redraw cluster and spread of every item given all others, in random order (Neal 2000, algorithm 3)."""
    from homothety.models.shapes import _kernels

    model.check_state(state)
    compiled = model.compiled
    tables = _kernels.build_tables(state.labels, state.kinds, state.spreads, compiled)
    n_spreads, n_kinds = compiled.alone.shape[1:]
    by_itself, weights = np.empty((model.n_items, n_spreads)), np.empty((model.n_items + 1) * n_spreads + n_kinds)
    _kernels.log_alone(state.log_shares, compiled.alone, by_itself)
    order = rng.permutation(model.n_items)
    args = state.n_clusters, state.concentration, state.log_shares, by_itself, tables, compiled, weights
    n_clusters = _kernels.sweep_labels(rng, order, *args)
    moved = _with_tables(state, tables, n_clusters)
    return moved, _LabelsInfo(int((moved.labels != state.labels).sum()))


def split_or_merge(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, _SplitMergeInfo]:
    """Propose several times to split a cluster or to merge two (Jain and Neal 2004).

    The first of two items is any one, the second any other, or as often one of those nearest to it.
    """
    from homothety.models.shapes import _kernels

    model.check_state(state)
    if model.n_items < 2:
        return state, _SplitMergeInfo(0, 0)
    tables = _kernels.build_tables(state.labels, state.kinds, state.spreads, model.compiled)
    n_clusters, n_accepted = state.n_clusters, 0
    for _ in range(_N_PROPOSALS):
        i = int(rng.integers(model.n_items))
        near = model.nearest[i]
        j = int(near[rng.integers(len(near))]) if rng.random() < 0.5 else int(rng.integers(model.n_items))
        if i == j:
            continue
        after = _propose(rng, i, j, n_clusters, model, state, tables)
        n_clusters, n_accepted = after, n_accepted + (after != n_clusters)
    return _with_tables(state, tables, n_clusters), _SplitMergeInfo(_N_PROPOSALS, n_accepted)


def _propose(rng: Generator, i: int, j: int, n_clusters: int, model: Model, state: ChainState, tables: Tables) -> int:
    """Propose to split the cluster of two items, or to merge their two clusters; return the number of clusters.

    Kinds of clusters are integrated out and drawn again afterwards. The scans that lead to a split use two kinds drawn
    beforehand, by their shares or evenly, whatever the kinds of the clusters are at present. Writes into `tables`.
    """
    from homothety.models.shapes import _kernels

    labels, compiled, shares, logs = tables.labels, model.compiled, state.log_shares, np.empty(len(state.log_shares))
    own, other = int(labels[i]), int(labels[j])
    tables.kinds[n_clusters : n_clusters + 2] = [_draw_kind(rng, shares), _draw_kind(rng, shares)]
    sides, wanted = np.empty((2, model.n_items), dtype=np.int64)
    n_members = _kernels.start_sides(i, j, n_clusters, tables, compiled, sides, wanted)
    members = tables.members[:n_members].copy()
    log_way = _kernels.scan_sides(rng, n_members, sides, wanted, own != other, n_clusters, tables, compiled)
    whole, one, two = (
        _kernels.marginal_of_side(rng, n_members, sides, side, shares, tables, compiled, logs)
        for side in (_kernels.NOBODY, 0, 1)
    )
    log_sizes = lgamma(one[1]) + lgamma(two[1]) - lgamma(n_members)
    log_ratio = log(state.concentration) + model.attraction * log_sizes + one[0] + two[0] - whole[0] - log_way
    if not log(1.0 - rng.random()) < (log_ratio if own == other else -log_ratio):  # a ratio that is NaN is refused
        return n_clusters
    if own == other:
        labels[members[sides[:n_members] == 1]] = n_clusters
        tables.kinds[own], tables.kinds[n_clusters] = one[2], two[2]
        _kernels.rebuild(n_clusters, tables, compiled)
        _kernels.rebuild(own, tables, compiled)
        return n_clusters + 1
    labels[members] = own
    tables.kinds[own] = whole[2]
    _kernels.rebuild(own, tables, compiled)
    _kernels.close(other, n_clusters - 1, tables)
    return n_clusters - 1


def _draw_kind(rng: Generator, log_shares: FloatArray) -> int:
    """Return a kind for the scans of a proposal: as often by its share as evenly."""
    if rng.random() < 0.5:
        return int(rng.integers(len(log_shares)))
    return _draw_by(rng, np.exp(log_shares))


def _draw_by(rng: Generator, weights: FloatArray) -> int:
    """Return a place drawn in proportion to the weights. `Generator.choice` takes ten times as long."""
    sums = weights.cumsum()
    return int(sums.searchsorted(rng.random() * sums[-1], side="right"))


def resample_kinds(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, _KindsInfo]:
    """Redraw the kind of every cluster, then how probable each kind is; both exactly."""
    from homothety.models.shapes import _kernels

    model.check_state(state)
    kinds = np.array(state.kinds)
    # Copies that can be written: kernels are compiled apart for arrays that cannot.
    labels, spreads = np.array(state.labels), np.array(state.spreads)
    log_likelihood = _kernels.sweep_kinds(
        rng, state.n_clusters, labels, spreads, state.log_shares, kinds, model.compiled
    )
    counts = np.bincount(kinds, minlength=model.kinds.n_kinds)
    # Gamma draws of tiny shape underflow; what is left of them is as good as none.
    masses = np.maximum(rng.gamma(counts + SHARE_MASS / len(counts)), _LEAST_SHARE)
    log_shares = np.log(masses) - np.log(masses.sum())
    return replace(state, kinds=kinds, log_shares=log_shares), _KindsInfo(float(log_likelihood))


def resample_concentration(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw the concentration given the number of clusters, exactly, among the values it can have."""
    model.check_state(state)
    logs = state.n_clusters * np.log(CONCENTRATIONS) + model.concentration_weights
    place = _draw_by(rng, np.exp(logs - logs.max()))
    return replace(state, concentration=float(CONCENTRATIONS[place])), ()


def default_sweep() -> dict[str, Move]:
    """Return the moves of one sweep, in order, by name.

    Any order of them has the same posterior. The traced likelihood is that of the partition whose kinds were drawn: put
    "kinds" after the moves that change labels, or the trace has the partition before them.
    """
    return {
        "labels": resample_labels,
        "split_merge": split_or_merge,
        "kinds": resample_kinds,
        "concentration": resample_concentration,
    }


def _with_tables(state: ChainState, tables: Tables, n_clusters: int) -> ChainState:
    """Return a state with the partition of some tables, numbered by appearance."""
    labels = number_by_appearance(tables.labels)
    kinds = np.empty(n_clusters, dtype=np.int64)
    kinds[labels] = tables.kinds[tables.labels]
    return replace(state, labels=labels, kinds=kinds, spreads=tables.spreads.copy())


def _trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return log joint of partition and points, its likelihood part, number of clusters and concentration.

    The kinds of clusters are integrated out: which of two similar kinds a cluster has says nothing of the partition.
    """
    place = int(np.abs(CONCENTRATIONS - state.concentration).argmin())
    log_prior = log_partition_weight(state.labels, state.concentration, model.attraction)
    log_prior += float(model.concentration_weights[place])
    known = infos["kinds"].log_likelihood if "kinds" in infos else log_likelihood(model, state)
    return scalars_of(state, log_prior, known)


RECORDING = Recording(scalars=_trace_scalars, keep=keep_labels)


def grow_state(rng: Generator, model: Model) -> ChainState:
    """Return a state to start a chain from.

    Single items rarely leave a large cluster to found one of their own, and large clusters that overlap rarely merge:
    a chain that begins with cells merged already has to do little of either.
    """
    return init_state(model, _merge_cells(model, _draw_cells(rng, model)))


def _draw_cells(rng: Generator, model: Model) -> IntArray:
    """Return cells of nearby points by k-means, each of two points on average or more, (n_items,)."""
    from sklearn.cluster import KMeans

    n_cells = int(rng.choice(_N_CELLS))
    # At most a cell for two points where there are more than a few.
    n_cells = min(n_cells, len(np.unique(model.points, axis=0)), max(model.n_items // 2, min(model.n_items, 8)))
    means = KMeans(n_cells, n_init=1, random_state=int(rng.integers(2**31)))
    return np.unique(means.fit_predict(model.points), return_inverse=True)[1]


def _merge_cells(model: Model, cells: IntArray) -> IntArray:
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
        logs = _log_marginals_of_kinds(self.model, members)
        return float(np.logaddexp.reduce(logs) - np.log(len(logs)) + self.model.attraction * gammaln(len(members)))

    def neighbors(self, part: int) -> list[int]:
        """Return the parts whose means are nearest."""
        distances = np.square(np.array([self.means[other] for other in self.alive]) - self.means[part]).sum(axis=1)
        nearest = np.argsort(distances, kind="stable")[: _N_NEIGHBORS + 1]
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


def _log_marginals_of_kinds(model: Model, members: IntArray) -> FloatArray:
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
