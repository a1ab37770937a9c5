"""Slow twin of splits, merges, halves and joins: the trials in Python, on immutable allocations, draw for draw.

An `Allocation` has features and paths, with parameters integrated out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from homothety.arrays import read_only
from homothety.models.emissions.regression import (
    Statistics,
    _factors_of,
    empty_statistics,
    log_marginals,
    mean_parameters,
)
from homothety.models.hmm.messages import has_short_stay
from homothety.models.ibphmm import split_merge
from homothety.models.ibphmm._blocks import in_blocks, sum_over_blocks
from homothety.models.ibphmm._kernels import Data
from homothety.models.ibphmm._split_kernels import (
    ANYWHERE,
    Halves,
    Trial,
    allocate_halves,
    build_workspace,
    redraw_paths,
    write_second_choice,
    write_union_gains,
)
from homothety.models.ibphmm._trial_kernels import _N_AXES, _UNIFORM_SHARE, N_ROUNDS, SPLIT, Choice, Concentrations, Way
from homothety.models.ibphmm.model import (
    Tried,
    active_of,
    log_owner_prior,
    log_path_prior,
    path_of,
    path_statistics,
    transition_counts,
)


@dataclass(frozen=True, eq=False)
class Allocation:
    """Which series has which feature, (n_recordings, n_states), and the path through them, (n_steps,)."""

    model: object
    active: np.ndarray
    path: np.ndarray

    def __post_init__(self):
        object.__setattr__(self, "active", read_only(self.active))
        object.__setattr__(self, "path", read_only(self.path))

    @property
    def n_states(self):
        return self.active.shape[1]

    @cached_property
    def statistics(self):
        return path_statistics(self.model, self.path, self.n_states)

    @cached_property
    def factors(self):
        return _factors_of(self.model.emission, self.statistics)

    @cached_property
    def log_marginals(self):
        return log_marginals(self.model.emission, self.statistics, self.factors)

    @cached_property
    def mean_parameters(self):
        return mean_parameters(self.model.emission, self.statistics, self.factors)

    @cached_property
    def counts(self):
        return transition_counts(self.model, self.path, self.n_states)

    def log_density(self, at):
        """Log density of features, told apart, paths and data; minus infinity if a stay is too short for the model."""
        if has_short_stay(self.path, self.model.starts, self.model.least_stay):
            return -np.inf
        n_owners = self.active.sum(axis=0)
        log_features = log_owner_prior(n_owners, self.model.n_recordings, at.mass, at.concentration)
        log_paths = log_path_prior(self.counts, self.active, at.alpha, at.kappa, self.model.leaving)
        return log_features + log_paths + float(self.log_marginals.sum())

    def reordered(self, order):
        """The same allocation with its features in another order; what is known of them is kept."""
        other = Allocation(self.model, self.active[:, order], np.argsort(order)[self.path])
        other.__dict__["statistics"] = Statistics(*(values[order] for values in self.statistics))
        return other


def concentrations_of(state):
    """The four parameters above features and transitions."""
    return Concentrations(state.mass, state.concentration, state.alpha, state.kappa)


def make_trial(model, active, path, whiteners, at, target, between=ANYWHERE):
    """What a proposal reads and writes: features and paths, changed in place, and plug-in parameters."""
    # A draw follows nothing; a kernel wants arrays all the same. Copies, since kernels are compiled for either kind.
    followed = (path, active) if target is None else (target.path.copy(), target.active.copy())
    emission = model.emission
    settings = (emission.weight, emission.structure, model.least_stay, model.leaving)
    data = Data(model.z, model.starts, whiteners, *settings)
    return Trial(data, active, path, *followed, target is None, at.alpha, at.kappa, between)


def redrawn(rng, current, active, owners, whiteners, at, target=None, least=-np.inf, between=ANYWHERE):
    """Give the owners new paths through other features, or the target's, under plug-in parameters.

    All other paths come from `current`. `between` has features whose steps are divided between them.

    Returns
    -------
    proposed : Allocation
    log_probability : float
        Of drawing these paths; minus infinity if a path to follow leaves the features there are, or will do once it is
        below `least`.
    """
    model, path = current.model, (current if target is None else target).path.copy()
    trial = make_trial(model, active, path, whiteners, at, target, between)

    def redraw(rng, series, least):
        return redraw_paths(rng, series, least, trial, build_workspace(trial.data, active.shape[1]))

    return Allocation(model, active, path), sum_over_blocks(rng, in_blocks(model, owners), redraw, least)


def put_last(allocation, b):
    """The same allocation with feature `b` numbered last."""
    return allocation.reordered(np.append(np.delete(np.arange(allocation.n_states), b), b))


def renewed(state, allocation, ids):
    """The state with other features and paths; parameters and weights are out of date."""
    parts = {"active": allocation.active, "path": allocation.path, "ids": ids, "weights": None, "whiteners": None}
    return replace(state, **parts, next_id=max(state.next_id, int(ids.max()) + 1))


def split_or_merge(rng, model, state):
    """The move of that name."""
    return try_often(rng, model, state, try_once, model.proposals.n_split_merge if model.n_recordings > 1 else 0)


def halve_or_join(rng, model, state):
    """The move of that name."""
    return try_often(rng, model, state, try_halving, model.proposals.n_halving)


class Bar(NamedTuple):
    """What a trial has to reach, drawn before it begins: the way back is followed only while it can be reached."""

    log_uniform: float

    def is_reached(self, gain, log_ratio):
        """Whether a proposal with this gain in log density and this log proposal ratio is accepted."""
        return bool(np.isfinite(log_ratio) and self.log_uniform < gain + log_ratio)

    def least_back(self, gain, log_forth):
        """Log probability of the way back below which the trial fails."""
        return self.log_uniform - gain + log_forth


NO_BAR = Bar(-np.inf)


class Anchors(NamedTuple):
    """Two series, and the order in which the other owners of their features choose."""

    first: int
    second: int
    order: np.ndarray


def try_often(rng, model, state, propose, n_trials):
    """Propose other features and paths some times, parameters and weights integrated out."""
    held = replace(model, leaving=model.leaving_at(state), leaving_range=None)
    current = Allocation(held, active_of(model, state), path_of(model, state))
    state = replace(state, weights=None, whiteners=None)  # also if no trial succeeds: an order fails always or never
    n_accepted = 0
    for _ in range(n_trials):
        proposed, ids = propose(rng, current, state)
        if proposed is None:
            continue
        n_accepted += 1
        current, state = proposed, renewed(state, proposed, ids)
    return state, Tried(n_trials, n_accepted)


def try_once(rng, current, state):
    """Propose one split or merge; return the new allocation with the ids of its features, or None if rejected."""
    at = concentrations_of(state)
    first, second = draw_pair(rng, current.model.n_recordings)
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


def draw_pair(rng, n):
    """Draw two different numbers below `n`."""
    first, second = int(rng.integers(n)), int(rng.integers(n - 1))
    return first, second + int(second >= first)


def draw_index(rng, probs):
    """Draw a position by its probability."""
    cumulative = probs.cumsum()
    return int(cumulative.searchsorted(rng.random() * cumulative[-1], side="right"))


def gain_of(proposed, current, at):
    """Return how much likelier the proposal is than what is there, logarithms."""
    return proposed.log_density(at) - current.log_density(at)


def log_second_choice(allocation, a, second):
    """Return the log probability of each feature to be chosen in the second series after `a` in the first."""
    emission, out = allocation.model.emission, np.empty(allocation.n_states)
    union, factor = np.empty((2, 1, *emission.prior_scale.shape))
    settings = (emission.log_prior_constant, emission.structure)
    known = (*allocation.statistics, allocation.log_marginals, emission.prior_scale)
    write_union_gains(a, allocation.active[second], *known, *settings, union, factor, out)
    write_second_choice(a, allocation.active[second], _UNIFORM_SHARE, out)
    return out


def log_choice(allocation, a, b, first, second):
    """Log probability of choosing feature `a` in the first anchor and `b` in the second."""
    return float(log_second_choice(allocation, a, second)[b] - np.log(allocation.active[first].sum()))


def split(rng, current, a, first, second, at, bar=NO_BAR):
    """Propose to split feature `a`; the new half comes last. Return the proposal and its log proposal ratio.

    The ratio is minus infinity as soon as the bar cannot be reached.
    """
    anchors = Anchors(first, second, other_owners(rng, current.active[:, a], first, second))
    proposed, log_forth = allocate_split(rng, current, a, anchors, at)
    log_forth += log_choice(current, a, a, first, second)
    log_back = log_choice(proposed, a, current.n_states, first, second)
    least = bar.least_back(gain_of(proposed, current, at), log_forth) - log_back
    _, log_paths = allocate_merge(rng, proposed, a, at, target=current, least=least)
    return proposed, log_back + log_paths - log_forth


def merge(rng, current, a, b, first, second, at, bar=NO_BAR):
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


def other_owners(rng, owners, first, second):
    """Return the owners but the anchors in random order."""
    others = owners.copy()
    others[[first, second]] = False
    return rng.permutation(np.flatnonzero(others))


def allocate_merge(rng, current, a, at, target=None, least=-np.inf):
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


def merged_parameters(current, a):
    """Return plug-in parameters with the last feature's steps pooled into `a`'s."""
    sizes, scales = current.statistics
    emission = current.model.emission
    pooled = Statistics(sizes[[a]] + sizes[-1], scales[[a]] + scales[-1] - emission.prior_scale)
    whiteners = current.mean_parameters[:-1].copy()
    whiteners[a] = mean_parameters(emission, pooled)[0]
    return whiteners


def allocate_split(rng, current, a, anchors, at, target=None, least=-np.inf):
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
    halves = make_halves(current, a, at)
    allocate = allocate_in_turn if len(current.model.blocks) == 1 else partial(allocate_in_batches, current.model)
    return Allocation(current.model, active, path), allocate(rng, anchors, least, trial, halves)


def allocate_in_turn(rng, anchors, least, trial, halves):
    """Let owners choose between halves one after the other, the anchors last; return the log probability of that."""
    visits = (anchors.order, anchors.first, anchors.second)
    return allocate_halves(rng, *visits, least, trial, halves, build_workspace(trial.data, trial.active.shape[1]))


def allocate_in_batches(model, rng, anchors, least, trial, halves):
    """Let owners choose in batches."""
    way = Way(SPLIT, trial, anchors.order, least)
    choice = Choice(SPLIT, 0, 0, anchors.first, anchors.second, 0, 0.0, 0.0)
    return split_merge._allocate_in_batches(rng, model, choice, way, halves)


def halved(current, a, anchors):
    """Return features and paths to begin with: of the halves of `a` the anchors have one each, and nobody else any."""
    active = np.column_stack([current.active, np.zeros(current.model.n_recordings, dtype=bool)])
    active[anchors.order, a] = False
    active[anchors.second, [a, -1]] = (False, True)
    path = current.path.copy()
    start, stop = current.model.bounds[anchors.second]
    stretch = path[start:stop]
    stretch[stretch == a] = current.n_states
    return active, path


def make_halves(current, a, at):
    """Return two halves of feature `a` without steps and owners."""
    emission = current.model.emission
    sizes, scales = empty_statistics(emission, 2)
    features, factors = np.array([a, current.n_states]), np.zeros_like(scales)
    return Halves(features, np.zeros(2), sizes, scales, factors, at.concentration)


def try_halving(rng, current, state):
    """Propose to halve or to join; return the new allocation with the ids of its features, or None if rejected."""
    at, bar, axis = concentrations_of(state), Bar(np.log(rng.random())), int(rng.integers(_N_AXES))
    a = int(rng.integers(current.n_states))
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


def same_owners(active, a):
    """Return the other features that just the owners of `a` have."""
    same = (active == active[:, [a]]).all(axis=0)
    same[a] = False
    return np.flatnonzero(same)


def halve(rng, current, a, axis, at):
    """Propose two halves for feature `a`, the second of them last. Return the proposal and its log proposal ratio."""
    proposed, log_paths = draw_halves(rng, current, a, axis, at)
    return proposed, -log_pairs(proposed, a) - (log_paths - np.log(current.n_states))


def join(rng, current, a, b, axis, at, bar):
    """Propose to join feature `b` to `a`, of the same owners. Return the proposal and its log proposal ratio."""
    log_forth = -log_pairs(current, a)
    current, a = put_last(current, b), a - int(b < a)
    joined = np.where(current.path == current.n_states - 1, a, current.path)
    proposed = Allocation(current.model, current.active[:, :-1].copy(), joined)
    log_back = -np.log(proposed.n_states)
    least = bar.least_back(gain_of(proposed, current, at), log_forth) - log_back
    _, log_halves = draw_halves(rng, proposed, a, axis, at, target=current, least=least)
    return proposed, log_back + log_halves - log_forth


def log_pairs(allocation, a):
    """Log of the number of equally likely choices of `a` and of a feature with the same owners."""
    return float(np.log(allocation.n_states * len(same_owners(allocation.active, a))))


def draw_halves(rng, current, a, axis, at, target=None, least=-np.inf):
    """Divide the steps of `a` between it and a new feature, or as in the target; return also the log probability."""
    active = np.column_stack([current.active, current.active[:, a]])
    owners, parameters = np.flatnonzero(active[:, a]), halved_parameters(current, a, axis)
    return redrawn(rng, current, active, owners, parameters, at, target, least, between=(a, current.n_states))


def halved_parameters(current, a, axis):
    """Return plug-in parameters in which two clusters of the steps of `a` take its place, the second one last."""
    emission = current.model.emission
    path = current.path.copy()
    own = np.flatnonzero(path == a)
    path[own[second_half(current.model.z[own, emission.n_regressors :], axis)]] = current.n_states
    found = path_statistics(current.model, path, current.n_states + 1)
    whiteners = np.concatenate([current.mean_parameters, np.empty((1, *current.mean_parameters.shape[1:]))])
    chosen = [a, -1]
    whiteners[chosen] = mean_parameters(emission, type(found)(*(values[chosen] for values in found)))
    return whiteners


def second_half(steps, axis):
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
