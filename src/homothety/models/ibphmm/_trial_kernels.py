"""Compiled trials of splits and merges, halves and joins: a proposal, its way back, and if it is accepted.

See docs/model.md, sections 3.10 and 3.11.

Parameters and transition weights are integrated out. A proposal goes from the current version of states and paths to
another one, with a state more, the last, or a state less. Its *way* is what is drawn: who owns which half, and
paths. The way back is followed, not drawn, to know its probability.

Where the way back begins or ends, the state that a merge or join does away with is the last one: see `_copy_version`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import inlined, jit
from homothety.models.emissions._kernels import (
    add_steps,
    add_steps_of,
    factorise,
    log_evidence_constant,
    write_mean_whitener,
)
from homothety.models.hmm._label_kernels import log_tag_prior, write_tags
from homothety.models.hmm._stay_kernels import mark_transitions
from homothety.models.ibphmm._kernels import count_transitions, log_owner_density, log_path_density
from homothety.models.ibphmm._split_kernels import (
    ANYWHERE,
    Trial,
    allocate_halves,
    redraw_paths,
    update_halves,
    write_second_choice,
    write_union_gains,
)

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.ibphmm._kernels import Data
    from homothety.models.ibphmm._split_kernels import Halves, Workspace

# The way back is of the kind `kind ^ 1`.
SPLIT, MERGE, HALVE, JOIN, NOTHING = 0, 1, 2, 3, 4
_UNIFORM_SHARE = 0.01  # of the choice of the second state
_N_AXES = 3  # principal axes along which steps are halved at first
N_ROUNDS = 5  # of two-means
TINY = float(np.finfo(np.float64).tiny)


class Concentrations(NamedTuple):
    """The four parameters above states and transitions."""

    mass: float
    concentration: float
    alpha: float
    kappa: float


class Version(NamedTuple):
    """States and paths, and what follows from them; there is room for more states than are in use."""

    active: BoolArray  # (n_recordings, n_most) false for states that are not in use
    path: IntArray  # (n_steps,)
    sizes: FloatArray  # (n_most,)
    scales: FloatArray  # (n_most, n, n)
    factors: FloatArray  # (n_most, n, n)
    whiteners: FloatArray  # (n_most, n_dims, n) parameters at their posterior means
    log_marginals: FloatArray  # (n_most,)


class Bench(NamedTuple):
    """What all trials of a sweep read and write."""

    data: Data  # with plug-in parameters, written by each way
    prior_scale: FloatArray  # (n, n)
    log_prior_constant: float
    at: Concentrations
    current: Version
    proposed: Version
    reordered: Version  # the current one with the state that is to vanish last
    numbers: IntArray  # (n_most,) which state at the outset each current one is; those accepted since count on
    halves: Halves
    work: Workspace
    active: BoolArray  # (n_recordings, n_most) scratch space, as all below
    path: IntArray  # (n_steps,)
    visits: IntArray  # (n_recordings,)
    gains: FloatArray  # (n_most,)
    counts: FloatArray  # (n_most, n_most)
    marked: BoolArray  # (n_steps,)


class Choice(NamedTuple):
    """Which states a trial is about."""

    kind: int
    a: int  # state to split or to merge into; numbered as once `b` is last
    b: int  # state that comes or goes
    first: int  # the anchors, if owners choose between halves
    second: int
    axis: int  # along which steps are halved
    log_uniform: float  # drawn first, so that the way back is followed only as far as it matters
    log_probability: float  # of the choice


class Way(NamedTuple):
    """What is drawn or followed to get from one version to another."""

    kind: int
    trial: Trial
    visits: IntArray  # (n_visits,) recordings in order; of a split without the anchors
    least: float  # log probability below which minus infinity will do


class Turn(NamedTuple):
    """What is known of a proposal when its way back begins."""

    way: Way
    log_density: float
    gain: float  # in log density
    log_ratio: float  # of proposals, without the way back


# --- versions --------------------------------------------------------------------------------------------------------


@jit
def _copy_version(source: Version, n: int, last: int, copy: Version) -> None:
    """Copy a version of `n` states, of which `last` becomes the last one; the others keep their order."""
    for k in range(n):
        place = n - 1 if k == last else (k - 1 if k > last else k)
        copy.sizes[place] = source.sizes[k]
        copy.scales[place] = source.scales[k]
        copy.factors[place] = source.factors[k]
        copy.whiteners[place] = source.whiteners[k]
        copy.log_marginals[place] = source.log_marginals[k]
        for i in range(copy.active.shape[0]):
            copy.active[i, place] = source.active[i, k]
    copy.active[:, n:] = False
    for t in range(copy.path.shape[0]):
        k = source.path[t]
        copy.path[t] = n - 1 if k == last else (k - 1 if k > last else k)


@inlined
def _log_prior_of(n: int, version: Version, bench: Bench) -> float:
    """Log prior density of states, told apart, and paths; minus infinity if a stay is too short or labels differ."""
    data, at = bench.data, bench.at
    log_tags = log_tag_prior(n, version.path, data.known) if data.known.labels.shape[0] > 0 else 0.0
    if log_tags == -np.inf:
        return -np.inf
    if data.least_stay > 1 and not mark_transitions(version.path, data.starts, data.least_stay, bench.marked):
        return -np.inf
    n_recordings, n_owners, total = version.active.shape[0], bench.gains[:n], 0.0
    for k in range(n):
        n_owners[k] = 0.0
        for i in range(n_recordings):
            n_owners[k] += 1.0 if version.active[i, k] else 0.0
    bench.counts[:n, :n] = 0.0
    for i in range(n_recordings):
        start, stop = data.starts[i], data.starts[i + 1]
        count_transitions(version.path, start, stop, bench.counts, data.least_stay)
        total += log_path_density(n, bench.counts, version.active[i], at.alpha, at.kappa, data.leaving)
        for t in range(start + 1, stop):  # of many pairs, a short recording has few
            bench.counts[version.path[t - 1], version.path[t]] = 0.0
    return log_owner_density(n_owners, n_recordings, at.mass, at.concentration) + total + log_tags


@jit
def refresh(n: int, version: Version, bench: Bench) -> float:
    """Write all that follows from states and paths; return the log density of both and the data."""
    data, total = bench.data, 0.0
    for k in range(n):
        version.sizes[k] = 0.0
        version.scales[k] = bench.prior_scale
    add_steps(data.z, version.path, 0, version.path.shape[0], data.weight, version.scales, version.sizes)
    for k in range(n):
        factorise(k, version.scales, version.factors, data.structure)
        write_mean_whitener(k, version.sizes[k], version.factors, data.structure, version.whiteners[k])
        version.log_marginals[k] = log_evidence_constant(k, version.sizes[k], version.factors, data.structure)
        version.log_marginals[k] -= bench.log_prior_constant
        total += version.log_marginals[k]
    return _log_prior_of(n, version, bench) + total


# --- choice of states ----------------------------------------------------------------------------------------------


@inlined
def _draw_below(rng: Generator, n: int) -> int:
    """Draw a whole number below `n`."""
    return int(rng.integers(0, n))


@inlined
def _count_true(values: BoolArray) -> int:
    """Count what is true."""
    n = 0
    for place in range(values.shape[0]):
        n += 1 if values[place] else 0
    return n


@inlined
def _find_true(values: BoolArray, n: int) -> int:
    """Return the place of what is true after `n` others that are."""
    place = 0
    while n > 0 or not values[place]:
        n -= 1 if values[place] else 0
        place += 1
    return place


@jit
def log_second_choices(a: int, second: int, version: Version, bench: Bench) -> FloatArray:
    """Return the log probability of each state to be chosen in the second anchor after `a` in the first."""
    has, settings = version.active[second], (bench.prior_scale, bench.log_prior_constant, bench.data.structure)
    union, factor = bench.halves.scales[:1], bench.halves.factors[:1]
    write_union_gains(
        a, has, version.sizes, version.scales, version.log_marginals, *settings, union, factor, bench.gains
    )
    write_second_choice(a, has, _UNIFORM_SHARE, bench.gains)
    return bench.gains


@inlined
def have_other_labels(a: int, b: int, bench: Bench) -> bool:
    """Whether two states of the current version hold steps of different labels."""
    known = bench.data.known
    if known.labels.shape[0] == 0:
        return False
    write_tags(bench.current.path, known.labels, known.tags)
    return known.tags[a] >= 0 and known.tags[b] >= 0 and known.tags[a] != known.tags[b]


@inlined
def choose_pair(rng: Generator, n: int, bench: Bench) -> Choice:
    """Draw two anchors and a state of each: one state to split, or two to merge; nothing if their labels differ."""
    active = bench.current.active
    first, second = _draw_below(rng, active.shape[0]), _draw_below(rng, active.shape[0] - 1)
    second += 1 if second >= first else 0
    n_own = _count_true(active[first])
    a = _find_true(active[first], _draw_below(rng, n_own))
    logs, total, b = log_second_choices(a, second, bench.current, bench), 0.0, 0
    for k in range(n):
        total += np.exp(logs[k])
    threshold, passed = rng.random() * total, np.exp(logs[0])
    while passed <= threshold and b < n - 1:
        b += 1
        passed += np.exp(logs[b])
    kind, log_probability = (SPLIT if a == b else MERGE), logs[b] - np.log(n_own)
    if kind == SPLIT:
        b = n
    elif have_other_labels(a, b, bench):
        kind = NOTHING
    else:
        a -= 1 if b < a else 0
    return Choice(kind, a, b, first, second, 0, np.log(rng.random()), log_probability)


@inlined
def _have_same_owners(a: int, b: int, active: BoolArray) -> bool:
    """Whether two states have the same owners."""
    same = True
    for i in range(active.shape[0]):
        same = same and active[i, a] == active[i, b]
    return same


@inlined
def _count_same_owners(a: int, n: int, active: BoolArray) -> int:
    """Count the other states that just the owners of `a` have."""
    n_same = -1
    for b in range(n):
        n_same += 1 if _have_same_owners(a, b, active) else 0
    return n_same


@inlined
def _choose_halving(rng: Generator, n: int, bench: Bench) -> Choice:
    """Draw a state to halve, or two of the same owners to join; nothing if there is no such other, or labels differ."""
    active, log_uniform, axis = bench.current.active, np.log(rng.random()), _draw_below(rng, _N_AXES)
    a, b = _draw_below(rng, n), n
    kind, n_same = (HALVE if rng.random() < 0.5 else JOIN), 1
    if kind == JOIN:
        n_same, b = _count_same_owners(a, n, active), -1
        left = _draw_below(rng, n_same) if n_same > 0 else -1
        while left >= 0:
            b += 1
            left -= 1 if b != a and _have_same_owners(a, b, active) else 0
        if b < 0 or have_other_labels(a, b, bench):
            kind, n_same = NOTHING, 1
        elif b < a:
            a -= 1
    return Choice(kind, a, b, -1, -1, axis, log_uniform, -np.log(n * n_same))


@inlined
def _log_choice_back(choice: Choice, n: int, bench: Bench) -> float:
    """Log probability of choosing what undoes a proposal of `n` states."""
    a, active = choice.a, bench.proposed.active
    if choice.kind == HALVE:
        return -np.log(n * _count_same_owners(a, n, active))
    if choice.kind == JOIN:
        return -np.log(n)
    logs = log_second_choices(a, choice.second, bench.proposed, bench)
    return logs[n - 1 if choice.kind == SPLIT else a] - np.log(_count_true(active[choice.first]))


# --- ways ------------------------------------------------------------------------------------------------------------


@inlined
def _clear_halves(a: int, b: int, bench: Bench) -> None:
    """Make two states halves without steps and owners."""
    halves = bench.halves
    halves.states[0], halves.states[1] = a, b
    for row in range(2):
        halves.n_owners[row] = 0.0
        halves.sizes[row] = 0.0
        halves.scales[row] = bench.prior_scale


@inlined
def _list_owners(k: int, active: BoolArray, first: int, second: int, out: IntArray) -> int:
    """List the owners of a state but the anchors; return how many there are."""
    n = 0
    for i in range(active.shape[0]):
        if active[i, k] and i != first and i != second:
            out[n] = i
            n += 1
    return n


@inlined
def _prepare_merge(n: int, a: int, source: Version, bench: Bench, active: BoolArray) -> None:
    """Write owners and plug-in parameters with the last of `n` states merged into `a`."""
    last, halves, structure = n - 1, bench.halves, bench.data.structure
    for i in range(active.shape[0]):
        active[i] = source.active[i]
        active[i, a] = source.active[i, a] or source.active[i, last]
        active[i, last] = False
    bench.data.whiteners[:last] = source.whiteners[:last]
    halves.scales[0] = source.scales[a] + source.scales[last] - bench.prior_scale
    factorise(0, halves.scales, halves.factors, structure)
    pooled = source.sizes[a] + source.sizes[last]
    write_mean_whitener(0, pooled, halves.factors, structure, bench.data.whiteners[a])


@inlined
def _prepare_halving(n: int, a: int, axis: int, source: Version, bench: Bench, active: BoolArray) -> None:
    """Write owners and plug-in parameters with two clusters of the steps of `a` in its place, the second one last."""
    data, halves = bench.data, bench.halves
    for i in range(active.shape[0]):
        active[i] = source.active[i]
        active[i, n] = source.active[i, a]
    data.whiteners[:n] = source.whiteners[:n]
    bench.path[:] = source.path
    _mark_second_half(a, n, axis, data.z[:, data.structure.n_regressors :], bench.path)
    if data.known.is_state:
        bench.path[(source.path == a) & (data.known.labels >= 0)] = a  # the first half keeps the label
    _clear_halves(a, n, bench)
    for row in range(2):
        half = halves.states[row]
        add_steps_of(half, data.z, bench.path, 0, len(bench.path), data.weight, row, halves.scales, halves.sizes)
    update_halves(data, halves)


@jit
def _mark_second_half(a: int, b: int, axis: int, values: FloatArray, path: IntArray) -> None:
    """Give the second of two clusters of the steps of `a` to `b`, by two-means from the halves along an axis."""
    own = np.flatnonzero(path == a)
    n, n_dims = own.shape[0], values.shape[1]
    if n < 2:
        return
    scaled = np.empty((n, n_dims))
    for d in range(n_dims):
        total, squares = 0.0, 0.0
        for s in range(n):
            total += values[own[s], d]
        for s in range(n):
            scaled[s, d] = values[own[s], d] - total / n
            squares += scaled[s, d] * scaled[s, d]
        spread = max(np.sqrt(squares / n), TINY)
        for s in range(n):
            scaled[s, d] /= spread
    direction = np.linalg.eigh(scaled.T @ scaled)[1][:, n_dims - 1 - min(axis, n_dims - 1)].copy()
    direction *= np.sign(direction[np.abs(direction).argmax()])
    means, second, threshold = np.empty((2, n_dims)), np.empty(n, dtype=np.bool_), 0.0
    for turn in range(N_ROUNDS + 1):
        second = scaled @ direction > threshold
        n_second = _count_true(second)
        if turn == N_ROUNDS or n_second == 0 or n_second == n:
            break
        means[:] = 0.0
        for s in range(n):
            half = 1 if second[s] else 0
            for d in range(n_dims):
                means[half, d] += scaled[s, d]
        for d in range(n_dims):
            means[0, d] /= n - n_second
            means[1, d] /= n_second
        direction = means[1] - means[0]
        threshold = (np.sum(means[1] ** 2) - np.sum(means[0] ** 2)) / 2
    for s in range(n):
        if second[s]:
            path[own[s]] = b


@inlined
def write_tags_between(kind: int, n: int, a: int, source: Version, bench: Bench) -> None:
    """Write the tags by which paths are proposed: those of a version of `n` states, and of the states that change.

    Halves have the tag of their state; the second one none, where one state holds all steps of a label.
    """
    known, last = bench.data.known, n if kind in (SPLIT, HALVE) else n - 1
    write_tags(source.path, known.labels, known.tags)
    if last == n:
        known.tags[n] = -1 if known.is_state else known.tags[a]
    else:
        known.tags[a] = max(known.tags[a], known.tags[last])
        known.tags[last] = -1


@inlined
def _prepare_split(
    n: int, a: int, second: int, others: IntArray, source: Version, bench: Bench, active: BoolArray, path: IntArray
) -> None:
    """Write owners and path to begin with: of the halves of `a` the anchors have one each, and nobody else any."""
    for i in range(active.shape[0]):
        active[i] = source.active[i]
    for place in range(others.shape[0]):
        active[others[place], a] = False
    active[second, a], active[second, n] = False, True
    path[:] = source.path
    for t in range(bench.data.starts[second], bench.data.starts[second + 1]):
        if path[t] == a:
            path[t] = n
    bench.data.whiteners[:n] = source.whiteners[:n]
    _clear_halves(a, n, bench)


@jit
def set_out(
    rng: Generator,
    kind: int,
    n: int,
    choice: Choice,
    least: float,
    source: Version,
    end: Version,
    bench: Bench,
) -> Way:
    """Return the way from a version of `n` states to another one: drawn if it is of the kind chosen, else back."""
    a, n_visits, drawn = choice.a, 0, kind == choice.kind
    between = (a, n) if kind == HALVE else ANYWHERE
    if bench.data.known.labels.shape[0] > 0:
        write_tags_between(kind, n, a, source, bench)
    # A version that is followed stays as it is: what else is written to it stands there already.
    active, path = (end.active, end.path) if drawn or kind != SPLIT else (bench.active, bench.path)
    if kind == SPLIT:
        n_visits = _list_owners(a, source.active, choice.first, choice.second, bench.visits)
        rng.shuffle(bench.visits[:n_visits])
        _prepare_split(n, a, choice.second, bench.visits[:n_visits], source, bench, active, path)
    else:
        if kind == HALVE:
            _prepare_halving(n, a, choice.axis, source, bench, active)
        else:
            _prepare_merge(n, a, source, bench, active)
        if drawn:
            path[:] = source.path
            if kind == JOIN:
                path[path == n - 1] = a
        n_visits = _list_owners(a, active, -1, -1, bench.visits)
    trial = Trial(bench.data, active, path, end.path, end.active, drawn, bench.at.alpha, bench.at.kappa, between)
    return Way(kind, trial, bench.visits[:n_visits], least)


@jit
def walk(rng: Generator, choice: Choice, way: Way, bench: Bench) -> float:
    """Draw or follow a way; return its log probability."""
    if way.kind == SPLIT:
        anchors = (choice.first, choice.second)
        return allocate_halves(rng, way.visits, *anchors, way.least, way.trial, bench.halves, bench.work)
    # Steps of two states that are joined are in what they become.
    return 0.0 if way.kind == JOIN else redraw_paths(rng, way.visits, way.least, way.trial, bench.work)


# --- trials ----------------------------------------------------------------------------------------------------------


@inlined
def choose(rng: Generator, by_anchors: bool, n: int, bench: Bench) -> Choice:
    """Draw which states a trial is about."""
    return choose_pair(rng, n, bench) if by_anchors else _choose_halving(rng, n, bench)


@inlined
def _makes_more(choice: Choice) -> bool:
    """Whether a proposal has a state more."""
    return choice.kind == SPLIT or choice.kind == HALVE


@inlined
def leave(rng: Generator, n: int, choice: Choice, bench: Bench) -> Way:
    """Return the way to a proposal."""
    source = bench.current
    if not _makes_more(choice):
        _copy_version(bench.current, n, choice.b, bench.reordered)
        source = bench.reordered
    return set_out(rng, choice.kind, n, choice, -np.inf, source, bench.proposed, bench)


@inlined
def turn_round(rng: Generator, n: int, log_current: float, log_forth: float, choice: Choice, bench: Bench) -> Turn:
    """Work out what follows from a proposal, once its way of probability `log_forth` is gone."""
    n_proposed = n + 1 if _makes_more(choice) else n - 1
    log_proposed = refresh(n_proposed, bench.proposed, bench)
    log_ratio = _log_choice_back(choice, n_proposed, bench) - choice.log_probability - log_forth
    gain = log_proposed - log_current
    least = choice.log_uniform - gain - log_ratio
    end = bench.current if _makes_more(choice) else bench.reordered
    way = set_out(rng, choice.kind ^ 1, n_proposed, choice, least, bench.proposed, end, bench)
    return Turn(way, log_proposed, gain, log_ratio)


@inlined
def settle(n: int, number: int, choice: Choice, turn: Turn, log_back: float, bench: Bench) -> int:
    """Make a proposal the current version if it is accepted; return the number of states of that."""
    log_ratio = turn.log_ratio + log_back
    if not (np.isfinite(log_ratio) and choice.log_uniform < turn.gain + log_ratio):
        return n
    if _makes_more(choice):
        bench.numbers[n] = number
    else:
        for k in range(choice.b, n - 1):
            bench.numbers[k] = bench.numbers[k + 1]
    n_proposed = n + 1 if _makes_more(choice) else n - 1
    _copy_version(bench.proposed, n_proposed, n_proposed - 1, bench.current)
    return n_proposed


@jit
def try_trials(rng: Generator, n_trials: int, by_anchors: bool, n: int, bench: Bench) -> tuple[int, int, int]:
    """Try to split or merge states, or to halve or join them, some times.

    Returns
    -------
    n, n_more, n_less : int
        Number of states afterwards, and how often a proposal with one more, or one less, was accepted.
    """
    log_current, n_more, n_less, n_old = refresh(n, bench.current, bench), 0, 0, n
    for _ in range(n_trials):
        choice = choose(rng, by_anchors, n, bench)
        if choice.kind == NOTHING:
            continue
        log_forth = walk(rng, choice, leave(rng, n, choice, bench), bench)
        turn = turn_round(rng, n, log_current, log_forth, choice, bench)
        n_before, n = n, settle(n, n_old + n_more, choice, turn, walk(rng, choice, turn.way, bench), bench)
        n_more += 1 if n > n_before else 0
        n_less += 1 if n < n_before else 0
        log_current = turn.log_density if n != n_before else log_current
    return n, n_more, n_less
