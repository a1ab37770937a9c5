"""Splitting a feature in two and merging two into one, by sequential allocation of their owners (section 7).

Two series, the anchors, are drawn, and a feature of each. If it is the same one, a split is proposed: the anchors get a
half each, and the other owners choose in turn, each by how well the halves explain its data so far. Else the two are
merged, and the chance that a split would have brought them back is worked out by the same loop, along what is there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.models.ibphmm.allocation import Allocation, Concentrations, PathProposal
from homothety.models.ibphmm.statistics import Statistics, empty_statistics, log_marginals, mean_parameters

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.ibphmm.model import Model
    from homothety.models.ibphmm.state import ChainState

UNIFORM_SHARE = 0.01  # of the choice of the second feature: keeps every pair possible


class SplitMergeInfo(NamedTuple):
    """How many splits and merges were tried and accepted."""

    n_tried: int
    n_accepted: int
    n_splits: int
    n_merges: int


class Anchors(NamedTuple):
    """Two series, and the order in which the other owners of their features choose."""

    first: int
    second: int
    order: IntArray


def split_or_merge(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, SplitMergeInfo]:
    """Try to split or merge features, a few times; parameters and weights are out of date if any trial succeeds."""
    if model.n_series < 2:
        return state, SplitMergeInfo(0, 0, 0, 0)
    n_splits, n_merges, n_trials = 0, 0, model.proposals.n_split_merge
    current = Allocation(model, state.active, state.path)
    for _ in range(n_trials):
        proposed, ids = try_once(rng, current, state)
        if proposed is None:
            continue
        n_splits += proposed.n_features > current.n_features
        n_merges += proposed.n_features < current.n_features
        current, state = proposed, renewed(state, proposed, ids)
    return state, SplitMergeInfo(n_trials, n_splits + n_merges, n_splits, n_merges)


def renewed(state: ChainState, allocation: Allocation, ids: IntArray) -> ChainState:
    """Return the state with other features and paths; parameters and weights wait to be redrawn."""
    n_series, n_features = allocation.active.shape
    return replace(
        state,
        active=allocation.active,
        path=allocation.path,
        ids=ids,
        next_id=max(state.next_id, int(ids.max()) + 1),
        weights=np.zeros((n_series, n_features, n_features)),
        whiteners=np.zeros((n_features, *state.whiteners.shape[1:])),
        evidence=None,
    )


def try_once(rng: Generator, current: Allocation, state: ChainState) -> tuple[Allocation | None, IntArray]:
    """Propose one split or merge; return the new allocation with the ids of its features, or None if rejected."""
    at = Concentrations.of(state)
    first, second = rng.choice(current.model.n_series, 2, replace=False).tolist()
    own = np.flatnonzero(current.active[first])
    a = int(rng.choice(own))
    log_weights = log_second_choice(current, a, second)
    b = int(rng.choice(len(log_weights), p=np.exp(log_weights)))
    if a == b:
        proposed, log_ratio = split(rng, current, a, first, second, at)
        ids = np.append(state.ids, state.next_id)
    else:
        proposed, log_ratio = merge(rng, current, a, b, first, second, at)
        ids = np.delete(state.ids, b)
    share = annealing_share(current.model.proposals.annealing, state.step)
    gain = proposed.log_density(at) - current.log_density(at)
    accepted = np.isfinite(log_ratio) and np.log(rng.random()) < gain + share * log_ratio
    return (proposed if accepted else None), ids


def annealing_share(schedule: tuple[int, int], step: int) -> float:
    """Return how much of the proposal ratio counts at a sweep: all of it once the schedule has ended."""
    begin, end = schedule
    return 1.0 if step >= end else max(0.0, (step - begin) / (end - begin))


def log_second_choice(allocation: Allocation, a: int, second: int) -> FloatArray:
    """Return the log probability of each feature to be chosen in the second series after `a` in the first."""
    has = allocation.active[second]
    others = has.copy()
    others[a] = False
    log_weights = np.full(allocation.n_features, -np.inf)
    if others.any():
        log_weights[others] = log_union_gain(allocation, a)[others]
        log_weights -= np.logaddexp.reduce(log_weights)
    if has[a]:
        # The same feature has twice the chance of all others together.
        log_weights[a] = np.log(2.0) if others.any() else 0.0
        log_weights -= np.logaddexp.reduce(log_weights)
    uniform = np.where(has, UNIFORM_SHARE / has.sum(), 0.0)
    mixed = (1.0 - UNIFORM_SHARE) * np.exp(log_weights) + uniform
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(mixed / mixed.sum()))


def log_union_gain(allocation: Allocation, a: int) -> FloatArray:
    """Return how much likelier the steps of `a` and of each other feature are together than apart, (n_features,)."""
    statistics, emission = allocation.statistics, allocation.model.emission
    together = Statistics(
        statistics.sizes + statistics.sizes[a], statistics.scales + statistics.scales[a] - emission.prior_scale
    )
    alone = allocation.log_marginals
    return log_marginals(emission, together) - alone - alone[a]


def log_choice(allocation: Allocation, a: int, b: int, first: int, second: int) -> float:
    """Log probability of choosing feature `a` in the first anchor and `b` in the second."""
    return float(log_second_choice(allocation, a, second)[b] - np.log(allocation.active[first].sum()))


def split(
    rng: Generator, current: Allocation, a: int, first: int, second: int, at: Concentrations
) -> tuple[Allocation, float]:
    """Propose to split feature `a`; the new half comes last. Return the proposal and its log proposal ratio."""
    anchors = Anchors(first, second, other_owners(rng, current.active[:, a], first, second))
    proposed, log_forth = allocate_split(rng, current, a, anchors, at)
    _, log_back = allocate_merge(rng, proposed, a, at, target=current)
    log_forth += log_choice(current, a, a, first, second)
    log_back += log_choice(proposed, a, current.n_features, first, second)
    return proposed, log_back - log_forth


def merge(
    rng: Generator, current: Allocation, a: int, b: int, first: int, second: int, at: Concentrations
) -> tuple[Allocation, float]:
    """Propose to merge feature `b` into `a`. Return the proposal and its log proposal ratio."""
    current, log_forth = put_last(current, b), log_choice(current, a, b, first, second)
    a -= int(b < a)
    owners = current.active[:, a] | current.active[:, -1]
    anchors = Anchors(first, second, other_owners(rng, owners, first, second))
    proposed, log_paths = allocate_merge(rng, current, a, at)
    _, log_back = allocate_split(rng, proposed, a, anchors, at, target=current)
    log_back += log_choice(proposed, a, a, first, second)
    return proposed, log_back - log_forth - log_paths


def put_last(allocation: Allocation, b: int) -> Allocation:
    """Return the same allocation with feature `b` numbered last."""
    return allocation.reordered(np.append(np.delete(np.arange(allocation.n_features), b), b))


def other_owners(rng: Generator, owners: BoolArray, first: int, second: int) -> IntArray:
    """Return the owners but the anchors in random order."""
    others = owners.copy()
    others[[first, second]] = False
    return rng.permutation(np.flatnonzero(others))


def allocate_merge(
    rng: Generator, current: Allocation, a: int, at: Concentrations, target: Allocation | None = None
) -> tuple[Allocation, float]:
    """Merge the last feature into `a` and redraw the paths of their owners, or follow the target's.

    Returns
    -------
    proposed : Allocation
    log_probability : float
        Of drawing these paths.
    """
    model, last = current.model, current.n_features - 1
    active, path = current.active[:, :last].copy(), current.path.copy() if target is None else target.path.copy()
    active[:, a] |= current.active[:, last]
    whiteners, total = merged_parameters(current, a), 0.0
    for i in np.flatnonzero(active[:, a]).tolist():
        own = np.flatnonzero(active[i])
        total += PathProposal(model, i, own, whiteners, at).propose(rng, own, path, drawn=target is None)
    return Allocation(model, active, path), total


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
) -> tuple[Allocation, float]:
    """Split feature `a` in two, the new one last, and redraw the paths of its owners, or follow the target.

    Returns
    -------
    proposed : Allocation
    log_probability : float
        Of these choices and paths.
    """
    visit = SplitVisit(current, a, anchors, at, target)
    total = sum(visit.choose(rng, i) for i in anchors.order.tolist())
    for anchor in anchors[:2]:
        visit.forget(anchor)
        total += visit.choose(rng, anchor)
    return Allocation(current.model, visit.active, visit.path), total


class SplitVisit:
    """The two halves of a feature while its owners choose between them, one after the other."""

    def __init__(
        self, current: Allocation, a: int, anchors: Anchors, at: Concentrations, target: Allocation | None
    ) -> None:
        self.model, self.anchors, self.at, self.target = current.model, anchors, at, target
        self.halves = (a, current.n_features)
        n_series = self.model.n_series
        self.active = np.column_stack([current.active, np.zeros(n_series, dtype=bool)])
        self.path = current.path.copy()
        self.whiteners = np.concatenate([current.mean_parameters, np.empty((1, *current.mean_parameters.shape[1:]))])
        self.statistics = empty_statistics(self.model.emission, 2)
        self.n_seen = n_series - len(anchors.order)
        self.n_owners = np.ones(2)
        self.active[anchors.order, a] = False
        self._give_anchors_their_halves()

    def _give_anchors_their_halves(self) -> None:
        first, second = self.anchors.first, self.anchors.second
        self.active[second, list(self.halves)] = (False, True)
        start, stop = self.model.bounds[second]
        stretch = self.path[start:stop]
        stretch[stretch == self.halves[0]] = self.halves[1]
        self._count(first, 1.0)
        self._count(second, 1.0)

    def forget(self, i: int) -> None:
        """Take back what an anchor was given, before it chooses itself."""
        self.n_owners -= self.active[i, list(self.halves)]
        self.n_seen -= 1
        self._count(i, -1.0)

    def choose(self, rng: Generator, i: int) -> float:
        """Let a series choose halves and path, or follow the target; return the log probability of that."""
        options, log_prior = self._options(i)
        self._update_parameters()
        self.active[i, list(self.halves)] = False
        kept = np.flatnonzero(self.active[i])
        features = [np.append(kept, np.array(self.halves)[option]) for option in options]
        everything = np.append(kept, self.halves)
        proposal = PathProposal(self.model, i, everything, self.whiteners, self.at)
        log_likelihoods = [proposal.log_likelihood(own) for own in features]
        log_weights = np.array(log_likelihoods) + log_prior
        log_weights -= np.logaddexp.reduce(log_weights)
        chosen = self._given_option(i, options)
        if chosen is None:
            chosen = int(rng.choice(len(options), p=np.exp(log_weights)))
        self.active[i, list(self.halves)] = options[chosen]
        known, drawn = log_likelihoods[chosen], self.target is None
        log_path = proposal.propose(rng, features[chosen], self.path, drawn=drawn, log_likelihood=known)
        self.n_owners += options[chosen]
        self.n_seen += 1
        self._count(i, 1.0)
        return float(log_weights[chosen] + log_path)

    def _options(self, i: int) -> tuple[FloatArray, FloatArray]:
        """Return which halves a series may take, and how likely a priori; an anchor keeps its own."""
        share = self.n_owners / (self.n_seen + self.at.mass)
        options = np.array([[True, False], [False, True], [True, True]])
        free = np.array([i != self.anchors.first, i != self.anchors.second])
        options = options[options[:, ~free].all(axis=1)]
        chances = np.where(options, share, 1.0 - share)[:, free]
        return options, np.log(chances).sum(axis=1)

    def _given_option(self, i: int, options: FloatArray) -> int | None:
        """Return what the target chose, and take its path."""
        if self.target is None:
            return None
        start, stop = self.model.bounds[i]
        self.path[start:stop] = self.target.path[start:stop]
        return int(np.flatnonzero((options == self.target.active[i, list(self.halves)]).all(axis=1))[0])

    def _update_parameters(self) -> None:
        self.whiteners[list(self.halves)] = mean_parameters(self.model.emission, self.statistics)

    def _count(self, i: int, sign: float) -> None:
        """Add the steps of a series in either half to their statistics, or take them away."""
        from homothety.models.emissions._kernels import add_steps_of

        sizes, scales = self.statistics
        for row, half in enumerate(self.halves):
            add_steps_of(half, self.model.z, self.path, *self.model.bounds[i], sign, row, scales, sizes)
