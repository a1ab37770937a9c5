"""Splitting a feature into two clusters of its steps, and joining two features of the same series.

The splits of `split_merge` give different series different halves. Halving is for a feature that stands for two in
every series: both halves get all owners of the feature, and its steps are divided between them, whatever the others do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.models.ibphmm.allocation import Allocation, Concentrations, redrawn
from homothety.models.ibphmm.split_merge import (
    Bar,
    SplitMergeInfo,
    gain_of,
    put_last,
    try_often,
)
from homothety.models.ibphmm.statistics import mean_parameters, path_statistics

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.ibphmm.model import Model
    from homothety.models.ibphmm.state import ChainState

N_AXES = 3  # principal axes along which steps are halved at first
N_ROUNDS = 5  # of two-means


def halve_or_join(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, SplitMergeInfo]:
    """Try to halve or join features, a few times; parameters and weights, integrated out, are left out of date."""
    return try_often(rng, model, state, try_halving, model.proposals.n_halving)


def try_halving(rng: Generator, current: Allocation, state: ChainState) -> tuple[Allocation | None, IntArray]:
    """Propose to halve or to join; return the new allocation with the ids of its features, or None if rejected."""
    at, bar, axis = Concentrations.of(state), Bar(np.log(rng.random())), int(rng.integers(N_AXES))
    a = int(rng.integers(current.n_features))
    if rng.random() < 0.5:
        proposed, log_ratio = halve(rng, current, a, axis, at)
        ids = np.append(state.ids, state.next_id)
    else:
        others = same_owners(current.active, a)
        if not len(others):
            return None, state.ids
        b = int(others[rng.integers(len(others))])
        proposed, log_ratio = join(rng, current, a, b, axis, at, bar)
        ids = np.delete(state.ids, b)
    return (proposed if bar.is_reached(gain_of(proposed, current, at), log_ratio) else None), ids


def same_owners(active: BoolArray, a: int) -> IntArray:
    """Return the other features that just the owners of `a` have."""
    same = (active == active[:, [a]]).all(axis=0)
    same[a] = False
    return np.flatnonzero(same)


def halve(rng: Generator, current: Allocation, a: int, axis: int, at: Concentrations) -> tuple[Allocation, float]:
    """Propose two halves for feature `a`, the second of them last. Return the proposal and its log proposal ratio."""
    proposed, log_paths = draw_halves(rng, current, a, axis, at)
    return proposed, -log_pairs(proposed, a) - (log_paths - np.log(current.n_features))


def join(
    rng: Generator, current: Allocation, a: int, b: int, axis: int, at: Concentrations, bar: Bar
) -> tuple[Allocation, float]:
    """Propose to join feature `b` to `a`, of the same owners. Return the proposal and its log proposal ratio."""
    log_forth = -log_pairs(current, a)
    current, a = put_last(current, b), a - int(b < a)
    joined = np.where(current.path == current.n_features - 1, a, current.path)
    proposed = Allocation(current.model, current.active[:, :-1].copy(), joined)
    log_back = -np.log(proposed.n_features)
    least = bar.least_back(gain_of(proposed, current, at), log_forth) - log_back
    _, log_halves = draw_halves(rng, proposed, a, axis, at, target=current, least=least)
    return proposed, log_back + log_halves - log_forth


def log_pairs(allocation: Allocation, a: int) -> float:
    """Log of the number of equally likely choices of `a` and of a feature with the same owners."""
    return float(np.log(allocation.n_features * len(same_owners(allocation.active, a))))


def draw_halves(
    rng: Generator,
    current: Allocation,
    a: int,
    axis: int,
    at: Concentrations,
    target: Allocation | None = None,
    least: float = -np.inf,
) -> tuple[Allocation, float]:
    """Divide the steps of `a` between it and a new feature, or as in the target; return also the log probability."""
    active = np.column_stack([current.active, current.active[:, a]])
    owners, parameters = np.flatnonzero(active[:, a]), halved_parameters(current, a, axis)
    return redrawn(rng, current, active, owners, parameters, at, target, least, between=(a, current.n_features))


def halved_parameters(current: Allocation, a: int, axis: int) -> FloatArray:
    """Return plug-in parameters in which two clusters of the steps of `a` take its place, the second one last."""
    emission = current.model.emission
    path = current.path.copy()
    own = np.flatnonzero(path == a)
    path[own[second_half(current.model.z[own, emission.n_regressors :], axis)]] = current.n_features
    found = path_statistics(current.model, path, current.n_features + 1)
    whiteners = np.concatenate([current.mean_parameters, np.empty((1, *current.mean_parameters.shape[1:]))])
    chosen = [a, -1]
    whiteners[chosen] = mean_parameters(emission, type(found)(*(values[chosen] for values in found)))
    return whiteners


def second_half(steps: FloatArray, axis: int) -> BoolArray:
    """Return which steps are in the second of two clusters, by two-means from the halves along a principal axis."""
    if len(steps) < 2:
        return np.zeros(len(steps), dtype=bool)
    scaled = (steps - steps.mean(axis=0)) / np.maximum(steps.std(axis=0), np.finfo(float).tiny)
    direction = np.linalg.eigh(scaled.T @ scaled)[1][:, -1 - min(axis, scaled.shape[1] - 1)]
    direction = direction * np.sign(direction[np.abs(direction).argmax()])
    second = scaled @ direction > 0
    for _ in range(N_ROUNDS):
        if second.all() or not second.any():
            break
        means = scaled[~second].mean(axis=0), scaled[second].mean(axis=0)
        second = scaled @ (means[1] - means[0]) > (means[1] @ means[1] - means[0] @ means[0]) / 2
    return np.asarray(second)
