"""Moves of the chain: each takes a state to the next and says what it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.models.shapes.model import SHARE_MASS
from homothety.models.shapes.prior import CONCENTRATIONS
from homothety.models.shapes.state import ChainState, check_state, number_by_appearance

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.models.shapes._kernels import Tables
    from homothety.models.shapes.model import Model

Move = Callable[["Generator", "Model", ChainState], tuple[ChainState, tuple[object, ...]]]

N_PROPOSALS = 5  # splits and merges of a sweep
LEAST_SHARE = 1e-300


class LabelsInfo(NamedTuple):
    """What one sweep over the labels did."""

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
    by_itself, weights = np.empty(compiled.precisions.shape), np.empty(compiled.precisions.size + 8)
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
        args = n_clusters, state.concentration, state.log_shares, tables, model.compiled
        after = _kernels.propose_split_or_merge(rng, i, j, *args)
        n_clusters, n_accepted = after, n_accepted + (after != n_clusters)
    return _with_tables(state, tables, n_clusters), SplitMergeInfo(N_PROPOSALS, n_accepted)


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
    weights = np.exp(logs - logs.max())
    place = rng.choice(len(weights), p=weights / weights.sum())
    return replace(state, concentration=float(CONCENTRATIONS[place])), ConcentrationInfo()


def default_sweep() -> dict[str, Move]:
    """Return the moves of one sweep, in order, by name. Any order of them works."""
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
