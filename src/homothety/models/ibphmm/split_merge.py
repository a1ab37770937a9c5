"""Splits and merges of states, by their owners or by their steps; the trials are compiled.

See docs/model.md, sections 3.10 and 3.11.

*Splits and merges*: two recordings, the anchors, are drawn, and a state of each. If it is the same one, a split is
proposed: the anchors get a half each, and the other owners choose in turn, each by how well the halves explain its data
so far. Else the two are merged.

*Halves and joins* are for a state that stands for two in every recording: both halves get all owners of the state, and
its steps are divided between them, by parameters of two clusters of these steps; all other steps stay where they are.
States of the same owners are joined.

A model of several blocks (see `_blocks.py`) shares recordings out among threads.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from homothety.models.emissions.regression import empty_statistics
from homothety.models.hmm.labels import NO_LABELS
from homothety.models.ibphmm._blocks import in_blocks, sum_over_blocks
from homothety.models.ibphmm.model import Tried, active_of, path_of

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, IntArray
    from homothety.models.ibphmm._split_kernels import Halves, Trial
    from homothety.models.ibphmm._trial_kernels import Bench, Choice, Version, Way
    from homothety.models.ibphmm.model import ChainState, Model


def split_or_merge(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Tried]:
    """Try to split or merge states, a few times; parameters and weights, integrated out, are left out of date."""
    return _try_often(rng, model, state, True, model.proposals.n_split_merge if model.n_recordings > 1 else 0)


def halve_or_join(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Tried]:
    """Try to halve or join states, a few times; parameters and weights, integrated out, are left out of date."""
    return _try_often(rng, model, state, False, model.proposals.n_halving)


def _try_often(
    rng: Generator, model: Model, state: ChainState, by_anchors: bool, n_trials: int
) -> tuple[ChainState, Tried]:
    """Propose other states and paths some times, parameters and weights integrated out."""
    from homothety.models.ibphmm._trial_kernels import try_trials

    active, path = active_of(model, state), path_of(model, state)
    # Also if no trial succeeds: an order fails always or never.
    state = replace(state, weights=None, whiteners=None, tags=None)
    if n_trials == 0:
        return state, Tried(0, 0)
    bench = _build_bench(model, state, active, path, state.n_states + n_trials)
    arguments = (n_trials, by_anchors, state.n_states, bench)
    tried = try_trials(rng, *arguments) if len(model.blocks) == 1 else _try_in_blocks(rng, model, *arguments)
    n, n_splits, n_merges = tried
    if n_splits + n_merges:
        ids = np.append(state.ids, state.next_id + np.arange(n_splits))[bench.numbers[:n]]
        active, next_id = bench.current.active[:, :n].copy(), state.next_id + n_splits
        state = replace(state, active=active, path=bench.current.path, ids=ids, next_id=next_id)
    return state, Tried(n_trials, n_splits + n_merges)


def _build_bench(model: Model, state: ChainState, active: BoolArray, path: IntArray, n_most: int) -> Bench:
    """Return what trials read and write, with room for up to `n_most` states."""
    from homothety.models.ibphmm._kernels import Data
    from homothety.models.ibphmm._split_kernels import Halves, build_workspace
    from homothety.models.ibphmm._trial_kernels import Bench, Concentrations

    emission, at = model.emission, Concentrations(state.mass, state.concentration, state.alpha, state.kappa)
    current, proposed, reordered = (_build_version(model, n_most) for _ in range(3))
    current.active[:, : state.n_states], current.path[:] = active, path
    settings = (emission.weight, emission.structure, model.least_stay, model.leaving_at(state))
    # Without gaps: to integrate parameters out, steps have to be taken as they are filled.
    known = model.known.tagged(np.empty(n_most, dtype=np.int64))
    data = Data(model.z, model.starts, np.empty_like(current.whiteners), *settings, known=known)
    sizes, scales = empty_statistics(emission, 2)
    halves = Halves(np.empty(2, dtype=np.int64), np.empty(2), sizes, scales, np.zeros_like(scales), at.concentration)
    return Bench(
        data,
        emission.prior_scale,
        emission.log_prior_constant,
        at,
        current,
        proposed,
        reordered,
        np.arange(n_most),
        halves,
        build_workspace(data, n_most),
        np.empty_like(current.active),
        np.empty_like(current.path),
        np.empty(model.n_recordings, dtype=np.int64),
        np.empty(n_most),
        np.empty((n_most, n_most)),
        np.empty(model.n_steps, dtype=bool),
    )


def _build_version(model: Model, n_most: int) -> Version:
    """Return room for states and paths, and what follows from them."""
    from homothety.models.ibphmm._trial_kernels import Version

    n_dims, n = model.emission.n_dims, model.z.shape[1]
    active, path = np.zeros((model.n_recordings, n_most), dtype=bool), np.empty(model.n_steps, dtype=np.int64)
    scales, factors = np.empty((n_most, n, n)), np.zeros((n_most, n, n))
    return Version(active, path, np.empty(n_most), scales, factors, np.empty((n_most, n_dims, n)), np.empty(n_most))


# --- in blocks -------------------------------------------------------------------------------------------------------


def _try_in_blocks(
    rng: Generator, model: Model, n_trials: int, by_anchors: bool, n: int, bench: Bench
) -> tuple[int, int, int]:
    """Do what the kernel `try_trials` does, except that threads share out the recordings of each way."""
    from homothety.models.ibphmm import _trial_kernels as kernels

    log_current, n_more, n_less, n_old = kernels.refresh(n, bench.current, bench), 0, 0, n
    for _ in range(n_trials):
        choice = kernels.choose(rng, by_anchors, n, bench)
        if choice.kind == kernels.NOTHING:
            continue
        log_forth = _walk_in_blocks(rng, model, choice, kernels.leave(rng, n, choice, bench), bench)
        turn = kernels.turn_round(rng, n, log_current, log_forth, choice, bench)
        log_back = _walk_in_blocks(rng, model, choice, turn.way, bench)
        n_before, n = n, kernels.settle(n, n_old + n_more, choice, turn, log_back, bench)
        n_more, n_less = n_more + (n > n_before), n_less + (n < n_before)
        log_current = turn.log_density if n != n_before else log_current
    return n, n_more, n_less


def _walk_in_blocks(rng: Generator, model: Model, choice: Choice, way: Way, bench: Bench) -> float:
    """Draw or follow a way; return its log probability."""
    from homothety.models.ibphmm._split_kernels import build_workspace, redraw_paths
    from homothety.models.ibphmm._trial_kernels import JOIN, SPLIT

    if way.kind == SPLIT:
        return _allocate_in_batches(rng, model, choice, way, bench.halves)
    if way.kind == JOIN:
        return 0.0

    def redraw(rng: Generator, series: IntArray, least: float) -> float:
        trial = way.trial
        return redraw_paths(rng, series, least, trial, build_workspace(trial.data, trial.active.shape[1]))

    return sum_over_blocks(rng, in_blocks(model, way.visits), redraw, way.least)


def _allocate_in_batches(rng: Generator, model: Model, choice: Choice, way: Way, halves: Halves) -> float:
    """Let owners choose between halves in batches, the anchors last; return the log probability of that.

    Those of a batch choose at the same time, by what is known of the halves before it.
    """
    from homothety.models.ibphmm._split_kernels import FIRST, NEITHER, SECOND, count_all_halves

    total, trial, n_seen = 0.0, way.trial, model.n_recordings - len(way.visits)
    count_all_halves(np.array([choice.first, choice.second]), 1.0, trial, halves)
    for batch in _doubling_batches(way.visits):
        total += _choose_batch(model, rng, batch, NEITHER, n_seen, way.least - total, trial, halves)
        n_seen += len(batch)
    for anchor, kept in ((choice.first, FIRST), (choice.second, SECOND)):
        count_all_halves(np.array([anchor]), -1.0, trial, halves)
        left = way.least - total
        total += _choose_batch(model, rng, np.array([anchor]), kept, model.n_recordings - 1, left, trial, halves)
    return total


def _doubling_batches(order: IntArray) -> list[IntArray]:
    """Return what is to be visited in batches, each as large as all before it: a few choices say what halves are like.

    Examples
    --------
    >>> _doubling_batches(np.arange(5))
    [array([0]), array([1]), array([2, 3]), array([4])]
    """
    ends = 2 ** np.arange(max(len(order), 1).bit_length())
    return [batch for batch in np.split(order, ends) if len(batch)]


def _choose_batch(
    model: Model,
    rng: Generator,
    batch: IntArray,
    kept: int,
    n_seen: int,
    least: float,
    trial: Trial,
    halves: Halves,
) -> float:
    """Let some recordings choose at the same time, and count what they chose; return the log probability of that.

    Once it is below the least, which may have happened before, nobody chooses any more.
    """
    from homothety.models.ibphmm._split_kernels import build_workspace, choose_together, count_all_halves

    if least > 0.0:
        return -np.inf

    def choose(rng: Generator, series: IntArray, least: float) -> float:
        work = build_workspace(trial.data, trial.active.shape[1])
        return choose_together(rng, series, kept, float(n_seen), least, trial, halves, work)

    total = sum_over_blocks(rng, in_blocks(model, batch), choose, least)
    count_all_halves(batch, 1.0, trial, halves)
    return total


def swap_states(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Tried]:
    """Try to swap two states in some recordings, a few times; parameters and weights are left out of date.

    Paths keep their density: transition weights do not tell states apart.
    """
    from homothety.models.ibphmm._split_kernels import try_swaps

    active, path = np.array(active_of(model, state)), np.array(path_of(model, state))
    state = replace(state, weights=None, whiteners=None, tags=None)
    n_trials = model.proposals.n_swaps if model.n_recordings > 1 and state.n_states > 1 else 0
    if n_trials == 0:
        return state, Tried(0, 0)
    emission, buffet = model.emission, (float(state.mass), float(state.concentration))
    settings = (emission.weight, emission.prior_scale, emission.structure)
    tags = model.known.tags_of(path, state.n_states) if len(model.known.steps) else NO_LABELS.tags
    n_accepted = try_swaps(rng, n_trials, model.z, model.starts, *settings, *buffet, active, path, tags)
    return replace(state, active=active, path=path), Tried(n_trials, n_accepted)
