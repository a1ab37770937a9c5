"""Splitting a feature in two and merging two into one, by sequential allocation of their owners (section 7).

Two series, the anchors, are drawn, and a feature of each. If it is the same one, a split is proposed: the anchors get a
half each, and the other owners choose in turn, each by how well the halves explain its data so far. Else the two are
merged, and the chance that a split would have brought them back is worked out by the same loop, along what is there.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.arrays import read_only
from homothety.models.ibphmm.allocation import Allocation, Concentrations, make_trial, redrawn
from homothety.models.ibphmm.blocks import in_blocks, sum_over_blocks
from homothety.models.ibphmm.state import active_of, path_of
from homothety.models.ibphmm.statistics import Statistics, empty_statistics, mean_parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.ibphmm._split_kernels import Halves, Trial
    from homothety.models.ibphmm.model import Model
    from homothety.models.ibphmm.state import ChainState

UNIFORM_SHARE = 0.01  # of the choice of the second feature


class SplitMergeInfo(NamedTuple):
    """How many splits and merges were tried and accepted."""

    n_tried: int
    n_accepted: int
    n_splits: int
    n_merges: int


class Bar(NamedTuple):
    """What a trial has to reach, drawn before it begins: the way back is followed only while it can be reached."""

    log_uniform: float

    def is_reached(self, gain: float, log_ratio: float) -> bool:
        """Whether a proposal with this gain in log density and this log proposal ratio is accepted."""
        return bool(np.isfinite(log_ratio) and self.log_uniform < gain + log_ratio)

    def least_back(self, gain: float, log_forth: float) -> float:
        """Log probability of the way back below which the trial fails."""
        return self.log_uniform - gain + log_forth


NO_BAR = Bar(-np.inf)


class Anchors(NamedTuple):
    """Two series, and the order in which the other owners of their features choose."""

    first: int
    second: int
    order: IntArray


def split_or_merge(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, SplitMergeInfo]:
    """Try to split or merge features, a few times; parameters and weights, integrated out, are left out of date."""
    return try_often(rng, model, state, try_once, model.proposals.n_split_merge if model.n_series > 1 else 0)


def try_often(
    rng: Generator, model: Model, state: ChainState, propose: Callable[..., Any], n_trials: int
) -> tuple[ChainState, SplitMergeInfo]:
    """Propose other features and paths some times, parameters and weights integrated out."""
    current = Allocation(model.held_at(state), active_of(model, state), path_of(model, state))
    state = replace(state, weights=None, whiteners=None)  # also if no trial succeeds: an order fails always or never
    n_splits, n_merges = 0, 0
    for _ in range(n_trials):
        proposed, ids = propose(rng, current, state)
        if proposed is None:
            continue
        n_splits += proposed.n_features > current.n_features
        n_merges += proposed.n_features < current.n_features
        current, state = proposed, renewed(state, proposed, ids)
    return state, SplitMergeInfo(n_trials, n_splits + n_merges, n_splits, n_merges)


def renewed(state: ChainState, allocation: Allocation, ids: IntArray) -> ChainState:
    """Return the state with other features and paths; parameters and weights are out of date."""
    return replace(
        state,
        active=allocation.active,
        path=allocation.path,
        ids=ids,
        next_id=max(state.next_id, int(ids.max()) + 1),
        weights=None,
        whiteners=None,
    )


def try_once(rng: Generator, current: Allocation, state: ChainState) -> tuple[Allocation | None, IntArray]:
    """Propose one split or merge; return the new allocation with the ids of its features, or None if rejected."""
    at = Concentrations.of(state)
    first, second = draw_pair(rng, current.model.n_series)
    own = np.flatnonzero(current.active[first])
    a = int(own[rng.integers(len(own))])
    b = draw_index(rng, np.exp(log_second_choice(current, a, second)))
    bar = Bar(np.log(rng.random()))
    if a == b:
        proposed, log_ratio = split(rng, current, a, first, second, at, bar)
        ids = np.append(state.ids, state.next_id)
    else:
        proposed, log_ratio = merge(rng, current, a, b, first, second, at, bar)
        ids = np.delete(state.ids, b)
    return (proposed if bar.is_reached(gain_of(proposed, current, at), log_ratio) else None), ids


def draw_pair(rng: Generator, n: int) -> tuple[int, int]:
    """Draw two different numbers below `n`."""
    first, second = int(rng.integers(n)), int(rng.integers(n - 1))
    return first, second + int(second >= first)


def draw_index(rng: Generator, probs: FloatArray) -> int:
    """Draw a position by its probability."""
    cumulative = probs.cumsum()
    return int(cumulative.searchsorted(rng.random() * cumulative[-1], side="right"))


def gain_of(proposed: Allocation, current: Allocation, at: Concentrations) -> float:
    """Return how much likelier the proposal is than what is there, logarithms."""
    return proposed.log_density(at) - current.log_density(at)


def log_second_choice(allocation: Allocation, a: int, second: int) -> FloatArray:
    """Return the log probability of each feature to be chosen in the second series after `a` in the first."""
    from homothety.models.ibphmm._split_kernels import write_second_choice, write_union_gains

    emission, out = allocation.model.emission, np.empty(allocation.n_features)
    union, factor = np.empty((2, 1, *emission.prior_scale.shape))
    settings = (emission.log_prior_constant, emission.structure)
    known = (*allocation.statistics, allocation.log_marginals, emission.prior_scale)
    write_union_gains(a, allocation.active[second], *known, *settings, union, factor, out)
    write_second_choice(a, allocation.active[second], UNIFORM_SHARE, out)
    return out


def log_choice(allocation: Allocation, a: int, b: int, first: int, second: int) -> float:
    """Log probability of choosing feature `a` in the first anchor and `b` in the second."""
    return float(log_second_choice(allocation, a, second)[b] - np.log(allocation.active[first].sum()))


def split(
    rng: Generator, current: Allocation, a: int, first: int, second: int, at: Concentrations, bar: Bar = NO_BAR
) -> tuple[Allocation, float]:
    """Propose to split feature `a`; the new half comes last. Return the proposal and its log proposal ratio.

    The ratio is minus infinity as soon as the bar cannot be reached.
    """
    anchors = Anchors(first, second, other_owners(rng, current.active[:, a], first, second))
    proposed, log_forth = allocate_split(rng, current, a, anchors, at)
    log_forth += log_choice(current, a, a, first, second)
    log_back = log_choice(proposed, a, current.n_features, first, second)
    least = bar.least_back(gain_of(proposed, current, at), log_forth) - log_back
    _, log_paths = allocate_merge(rng, proposed, a, at, target=current, least=least)
    return proposed, log_back + log_paths - log_forth


def merge(
    rng: Generator, current: Allocation, a: int, b: int, first: int, second: int, at: Concentrations, bar: Bar = NO_BAR
) -> tuple[Allocation, float]:
    """Propose to merge feature `b` into `a`. Return the proposal and its log proposal ratio, as in `split`."""
    log_forth = log_choice(current, a, b, first, second)
    current, a = put_last(current, b), a - int(b < a)
    proposed, log_paths = allocate_merge(rng, current, a, at)
    log_forth += log_paths
    log_back = log_choice(proposed, a, a, first, second)
    least = bar.least_back(gain_of(proposed, current, at), log_forth) - log_back
    owners = current.active[:, a] | current.active[:, -1]
    anchors = Anchors(first, second, other_owners(rng, owners, first, second))
    _, log_halves = allocate_split(rng, proposed, a, anchors, at, target=current, least=least)
    return proposed, log_back + log_halves - log_forth


def put_last(allocation: Allocation, b: int) -> Allocation:
    """Return the same allocation with feature `b` numbered last."""
    return allocation.reordered(np.append(np.delete(np.arange(allocation.n_features), b), b))


def other_owners(rng: Generator, owners: BoolArray, first: int, second: int) -> IntArray:
    """Return the owners but the anchors in random order."""
    others = owners.copy()
    others[[first, second]] = False
    return rng.permutation(np.flatnonzero(others))


def allocate_merge(
    rng: Generator,
    current: Allocation,
    a: int,
    at: Concentrations,
    target: Allocation | None = None,
    least: float = -np.inf,
) -> tuple[Allocation, float]:
    """Merge the last feature into `a` and redraw the paths of their owners, or follow the target's.

    Returns
    -------
    proposed : Allocation
    log_probability : float
        Of drawing these paths; minus infinity will do once it is below `least`.
    """
    active = current.active[:, :-1].copy()
    active[:, a] |= current.active[:, -1]
    owners, whiteners = np.flatnonzero(active[:, a]), merged_parameters(current, a)
    return redrawn(rng, current, active, owners, whiteners, at, target, least)


def merged_parameters(current: Allocation, a: int) -> FloatArray:
    """Return plug-in parameters with the last feature's steps pooled into `a`'s."""
    sizes, scales = current.statistics
    emission = current.model.emission
    pooled = Statistics(sizes[[a]] + sizes[-1], scales[[a]] + scales[-1] - emission.prior_scale)
    whiteners = current.mean_parameters[:-1].copy()
    whiteners[a] = mean_parameters(emission, pooled)[0]
    return whiteners


def allocate_split(
    rng: Generator,
    current: Allocation,
    a: int,
    anchors: Anchors,
    at: Concentrations,
    target: Allocation | None = None,
    least: float = -np.inf,
) -> tuple[Allocation, float]:
    """Split feature `a` in two, the new one last, and redraw the paths of its owners, or follow the target.

    Returns
    -------
    proposed : Allocation
    log_probability : float
        Of these choices and paths; minus infinity will do once it is below `least`.
    """
    active, path = halved(current, a, anchors)
    means = current.mean_parameters
    whiteners = np.concatenate([means, np.empty((1, *means.shape[1:]))])
    trial = make_trial(current.model, active, path, whiteners, at, target)
    halves = make_halves(current, a, active if target is None else target.active, at)
    allocate = allocate_in_turn if len(current.model.blocks) == 1 else partial(allocate_in_batches, current.model)
    return Allocation(current.model, active, path), allocate(rng, anchors, least, trial, halves)


def allocate_in_turn(rng: Generator, anchors: Anchors, least: float, trial: Trial, halves: Halves) -> float:
    """Let owners choose between halves one after the other, the anchors last; return the log probability of that."""
    from homothety.models.ibphmm._split_kernels import allocate_halves, build_workspace

    visits = (anchors.order, anchors.first, anchors.second)
    return allocate_halves(rng, *visits, least, trial, halves, build_workspace(trial))


def allocate_in_batches(
    model: Model, rng: Generator, anchors: Anchors, least: float, trial: Trial, halves: Halves
) -> float:
    """Let owners choose between halves in batches, the anchors last; return the log probability of that.

    Those of a batch choose at the same time, by what is known of the halves before it.
    """
    from homothety.models.ibphmm._split_kernels import FIRST, NEITHER, SECOND, count_all_halves

    total, n_seen = 0.0, model.n_series - len(anchors.order)
    count_all_halves(np.array([anchors.first, anchors.second]), 1.0, trial, halves)
    for batch in doubling_batches(anchors.order):
        total += choose_batch(model, rng, batch, NEITHER, n_seen, least - total, trial, halves)
        n_seen += len(batch)
    for anchor, kept in ((anchors.first, FIRST), (anchors.second, SECOND)):
        count_all_halves(np.array([anchor]), -1.0, trial, halves)
        total += choose_batch(model, rng, np.array([anchor]), kept, model.n_series - 1, least - total, trial, halves)
    return total


def doubling_batches(order: IntArray) -> list[IntArray]:
    """Return what is to be visited in batches, each as large as all before it: a few choices say what halves are like.

    Examples
    --------
    >>> doubling_batches(np.arange(5))
    [array([0]), array([1]), array([2, 3]), array([4])]
    """
    ends = 2 ** np.arange(max(len(order), 1).bit_length())
    return [batch for batch in np.split(order, ends) if len(batch)]


def choose_batch(
    model: Model,
    rng: Generator,
    batch: IntArray,
    kept: int,
    n_seen: int,
    least: float,
    trial: Trial,
    halves: Halves,
) -> float:
    """Let some series choose at the same time, and count what they chose; return the log probability of that.

    Once it is below the least, which may have happened before, nobody chooses any more.
    """
    from homothety.models.ibphmm._split_kernels import build_workspace, choose_together, count_all_halves

    if least > 0.0:
        return -np.inf

    def choose(rng: Generator, series: IntArray, least: float) -> float:
        return choose_together(rng, series, kept, float(n_seen), least, trial, halves, build_workspace(trial))

    total = sum_over_blocks(rng, in_blocks(model, batch), choose, least)
    count_all_halves(batch, 1.0, trial, halves)
    return total


def halved(current: Allocation, a: int, anchors: Anchors) -> tuple[BoolArray, IntArray]:
    """Return features and paths to begin with: of the halves of `a` the anchors have one each, and nobody else any."""
    active = np.column_stack([current.active, np.zeros(current.model.n_series, dtype=bool)])
    active[anchors.order, a] = False
    active[anchors.second, [a, -1]] = (False, True)
    path = current.path.copy()
    start, stop = current.model.bounds[anchors.second]
    stretch = path[start:stop]
    stretch[stretch == a] = current.n_features
    return active, path


def make_halves(current: Allocation, a: int, target_active: BoolArray, at: Concentrations) -> Halves:
    """Return two halves of feature `a` without steps and owners."""
    from homothety.models.ibphmm._split_kernels import Halves

    emission = current.model.emission
    sizes, scales = empty_statistics(emission, 2)
    features, factors = np.array([a, current.n_features]), np.zeros_like(scales)
    return Halves(features, np.zeros(2), sizes, scales, factors, read_only(target_active), at.mass)
