"""Moves of the chain: each takes a state to the next and says what it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import lgamma, log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.models.partitions import number_by_appearance
from homothety.models.shapes.model import SHARE_MASS
from homothety.models.shapes.prior import CONCENTRATIONS
from homothety.models.shapes.state import ChainState, check_state

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray
    from homothety.models.shapes._kernels import Tables
    from homothety.models.shapes.model import Model

Move = Callable[["Generator", "Model", ChainState], tuple[ChainState, tuple[object, ...]]]

N_PROPOSALS = 3  # splits and merges of a sweep
LEAST_SHARE = 1e-300


class LabelsInfo(NamedTuple):
    """What one sweep over the labels did: labels that changed, also of items whose cluster only got another number."""

    n_changed: int


class SplitMergeInfo(NamedTuple):
    """How many splits or merges were proposed and taken."""

    n_proposed: int
    n_accepted: int


class KindsInfo(NamedTuple):
    """Log likelihood with the kinds of clusters integrated out."""

    log_likelihood: float


class ConcentrationInfo(NamedTuple):
    """What one step on the concentration did: an exact draw, always accepted."""

    accepted: bool = True


def resample_labels(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, LabelsInfo]:
    """Redraw cluster and spread of every item given all others, in random order (Neal 2000, algorithm 3)."""
    from homothety.models.shapes import _kernels

    check_state(model, state)
    compiled = model.compiled
    tables = _kernels.build_tables(state.labels, state.kinds, state.spreads, compiled)
    n_spreads, n_kinds = compiled.alone.shape[1:]
    by_itself, weights = np.empty((model.n_items, n_spreads)), np.empty((model.n_items + 1) * n_spreads + n_kinds)
    _kernels.log_alone(state.log_shares, compiled.alone, by_itself)
    order = rng.permutation(model.n_items)
    args = state.n_clusters, state.concentration, state.log_shares, by_itself, tables, compiled, weights
    n_clusters = _kernels.sweep_labels(rng, order, *args)
    moved = _with_tables(state, tables, n_clusters)
    return moved, LabelsInfo(int((moved.labels != state.labels).sum()))


def split_or_merge(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, SplitMergeInfo]:
    """Propose several times to split a cluster or to merge two (Jain and Neal 2004).

    The first of two items is any one, the second any other, or as often one of those nearest to it.
    """
    from homothety.models.shapes import _kernels

    check_state(model, state)
    if model.n_items < 2:
        return state, SplitMergeInfo(0, 0)
    tables = _kernels.build_tables(state.labels, state.kinds, state.spreads, model.compiled)
    n_clusters, n_accepted = state.n_clusters, 0
    for _ in range(N_PROPOSALS):
        i = int(rng.integers(model.n_items))
        near = model.nearest[i]
        j = int(near[rng.integers(len(near))]) if rng.random() < 0.5 else int(rng.integers(model.n_items))
        if i == j:
            continue
        after = propose(rng, i, j, n_clusters, model, state, tables)
        n_clusters, n_accepted = after, n_accepted + (after != n_clusters)
    return _with_tables(state, tables, n_clusters), SplitMergeInfo(N_PROPOSALS, n_accepted)


def propose(rng: Generator, i: int, j: int, n_clusters: int, model: Model, state: ChainState, tables: Tables) -> int:
    """Propose to split the cluster of two items, or to merge their two clusters; return the number of clusters.

    Kinds of clusters are integrated out and drawn again afterwards. The scans that lead to a split use two kinds drawn
    beforehand, by their shares or evenly, whatever the kinds of the clusters are at present. Writes into `tables`.
    """
    from homothety.models.shapes import _kernels

    labels, compiled, shares, logs = tables.labels, model.compiled, state.log_shares, np.empty(len(state.log_shares))
    own, other = int(labels[i]), int(labels[j])
    tables.kinds[n_clusters : n_clusters + 2] = [draw_kind(rng, shares), draw_kind(rng, shares)]
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


def draw_kind(rng: Generator, log_shares: FloatArray) -> int:
    """Return a kind for the scans of a proposal: as often by its share as evenly."""
    if rng.random() < 0.5:
        return int(rng.integers(len(log_shares)))
    return draw_by(rng, np.exp(log_shares))


def draw_by(rng: Generator, weights: FloatArray) -> int:
    """Return a place drawn in proportion to the weights. `Generator.choice` takes ten times as long."""
    sums = weights.cumsum()
    return int(sums.searchsorted(rng.random() * sums[-1], side="right"))


def resample_kinds(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, KindsInfo]:
    """Redraw the kind of every cluster, then how probable each kind is; both exactly."""
    from homothety.models.shapes import _kernels

    check_state(model, state)
    kinds = np.array(state.kinds)
    # Copies that can be written: kernels are compiled apart for arrays that cannot.
    labels, spreads = np.array(state.labels), np.array(state.spreads)
    log_likelihood = _kernels.sweep_kinds(
        rng, state.n_clusters, labels, spreads, state.log_shares, kinds, model.compiled
    )
    counts = np.bincount(kinds, minlength=model.kinds.n_kinds)
    # Gamma draws of tiny shape underflow; what is left of them is as good as none.
    masses = np.maximum(rng.gamma(counts + SHARE_MASS / len(counts)), LEAST_SHARE)
    log_shares = np.log(masses) - np.log(masses.sum())
    return replace(state, kinds=kinds, log_shares=log_shares), KindsInfo(float(log_likelihood))


def resample_concentration(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, ConcentrationInfo]:
    """Redraw the concentration given the number of clusters, exactly, among the values it can have."""
    check_state(model, state)
    logs = state.n_clusters * np.log(CONCENTRATIONS) + model.concentration_weights
    place = draw_by(rng, np.exp(logs - logs.max()))
    return replace(state, concentration=float(CONCENTRATIONS[place])), ConcentrationInfo()


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
