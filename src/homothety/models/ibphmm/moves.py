"""Moves of the chain: each takes a state to the next and says what it did.

States are changed with paths summed out, given parameters (shared, unique); splits and merges with parameters
integrated out, given paths. After the first kind the paths of the state are out of date until they are redrawn, after
the second kind parameters and weights are. What is out of date is None, and a move that needs it raises a `SweepError`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.arrays import read_only, sparse_zeros
from homothety.models._parts import check_labels
from homothety.models.emissions.regression import draw_parameters
from homothety.models.hmm.messages import check_possible
from homothety.models.ibphmm._blocks import over_blocks
from homothety.models.ibphmm.model import (
    Tried,
    active_of,
    check_whole,
    draw_weights,
    expected_new,
    log_joint,
    log_owner_prior,
    pairs_of,
    path_of,
    path_statistics,
    tagged_of,
    transition_counts,
    weights_of,
    whiteners_of,
)
from homothety.sampling.driver import Recording
from homothety.sampling.trace import RunPath, count_segments, occupancy_entropy

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.ibphmm._kernels import Births, Data, Newborns, Source
    from homothety.models.ibphmm.model import ChainState, GammaPrior, Model


_LOG_STEP = 0.5  # of random walks on the logarithm of a parameter
_LEAVING_GRID = 200  # points at which the probability of leaving is looked at


class _PathsInfo(NamedTuple):
    """Log-likelihood of the recordings given states and parameters, paths summed out."""

    log_likelihood: float


def resample_shared_states(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Tried]:
    """Switch states that other recordings have on or off (docs/model.md, section 3.8)."""
    if len(model.blocks) > 1:
        return _resample_shared_by_halves(rng, model, state)
    from homothety.models.ibphmm import _kernels as kernels
    from homothety.models.ibphmm._kernels import build_room

    active, weights = active_of(model, state).copy(), _copied_weights(model, state)
    data, n_owners = _data_of(model, state), active.sum(axis=0).astype(np.float64)
    series, orders = rng.permutation(model.n_recordings), _draw_orders(rng, model, state.n_states)
    concentrations = (state.concentration, state.alpha, state.kappa)
    room, log_odds = build_room(data, state.n_states), np.empty(state.n_states)
    tried = kernels.flip_in_turn(rng, series, orders, n_owners, *concentrations, active, weights, data, room, log_odds)
    return replace(state, active=active, weights=weights, path=None), Tried(*tried)


def _resample_shared_by_halves(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Tried]:
    """Switch states of one half of the recordings, then of the other, all recordings of a half at the same time.

    How popular each state is, is drawn given who has it; given that, recordings do not depend on each other. A half
    switches the states that the other half has: which ones these are does not change meanwhile.
    """
    active, weights = active_of(model, state).copy(), _copied_weights(model, state)
    data, n_tried = _data_of(model, state), np.zeros(2, dtype=np.int64)
    second = rng.permutation(model.n_recordings) < model.n_recordings // 2
    orders = _draw_orders(rng, model, state.n_states)
    for half in (~second, second):
        log_odds = _draw_log_odds(rng, active, state.concentration)
        log_odds[~active[~half].any(axis=0)] = -np.inf
        flip = partial(_flip_block, data, state, orders, log_odds, active, weights)
        n_tried += np.sum(over_blocks(rng, [block[half[block]] for block in model.blocks], flip), axis=0)
    return replace(state, active=active, weights=weights, path=None), Tried(*n_tried.tolist())


def _flip_block(
    data: Data,
    state: ChainState,
    orders: IntArray,
    log_odds: FloatArray,
    active: BoolArray,
    weights: FloatArray,
    rng: Generator,
    series: IntArray,
) -> tuple[int, int]:
    """Switch states of some recordings by given odds, in place; return how often that was tried and accepted."""
    from homothety.models.ibphmm._kernels import build_room, flip_by_odds

    room = build_room(data, state.n_states)
    return flip_by_odds(rng, series, orders, log_odds, state.alpha, state.kappa, active, weights, data, room)


def _draw_orders(rng: Generator, model: Model, n_states: int) -> IntArray:
    """Draw for every recording which states it tries to switch, and in which order, (n_recordings, n_tried)."""
    orders = rng.permuted(np.tile(np.arange(n_states), (model.n_recordings, 1)), axis=1)
    return np.ascontiguousarray(orders[:, : model.proposals.n_switches])


def _draw_log_odds(rng: Generator, active: BoolArray, concentration: float) -> FloatArray:
    """Draw how popular states are given their owners: the log odds of having each, (n_states,)."""
    n_owners = active.sum(axis=0)
    having, lacking = rng.standard_gamma(n_owners), rng.standard_gamma(len(active) - n_owners + concentration)
    tiny = np.finfo(float).tiny
    return np.asarray(np.log(np.maximum(having, tiny)) - np.log(np.maximum(lacking, tiny)))


def resample_unique_states(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Tried]:
    """Let every recording try to gain or lose a state of its own (docs/model.md, section 3.9)."""
    outcomes, newborns = _try_jumps(rng, model, state)
    return _apply_jumps(state, outcomes, newborns), Tried(model.n_recordings, int((outcomes >= 0).sum()))


def _apply_jumps(state: ChainState, outcomes: IntArray, newborns: Newborns) -> ChainState:
    """Return the `ChainState` after births and deaths, at most one per recording; its path is out of date.

    Parameters
    ----------
    outcomes : ndarray of int, shape (n_recordings,)
        State that died, `n_states` where one was born, or negative.
    newborns : Newborns
        Parameters and weights of those born.
    """
    if (outcomes < 0).all():
        return replace(state, path=None)
    born = np.flatnonzero(outcomes == state.n_states)
    kept = np.setdiff1d(np.arange(state.n_states), outcomes)
    n_recordings, n_kept, n_states = len(outcomes), len(kept), len(kept) + len(born)
    places = np.full(state.n_states, -1)
    places[kept] = np.arange(n_kept)
    weights = _carried_weights(state.active, state.weights, places, n_states)
    for place, i in enumerate(born, start=n_kept):
        own = newborns.weights[i] * np.outer(newborns.active[i], newborns.active[i])
        weights[i, :n_kept, place], weights[i, place, :n_kept] = own[kept, -1], own[-1, kept]
        weights[i, place, place] = own[-1, -1]
    return replace(
        state,
        active=np.column_stack([state.active[:, kept], np.arange(n_recordings)[:, None] == born]),
        ids=np.concatenate([state.ids[kept], state.next_id + np.arange(len(born))]),
        weights=weights,
        whiteners=np.concatenate([state.whiteners[kept], newborns.whiteners[born]]),
        path=None,
        next_id=state.next_id + len(born),
        tags=None if state.tags is None else np.concatenate([state.tags[kept], newborns.tags[born]]),
    )


def resample_paths(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, _PathsInfo]:
    """Draw the path of every recording given its states, weights and parameters (docs/model.md, section 3.7)."""
    from homothety.models.ibphmm._kernels import build_room, draw_paths

    active, weights = np.array(active_of(model, state), order="C"), _copied_weights(model, state)
    data, path = _data_of(model, state), np.empty(model.n_steps, dtype=np.int64)

    def draw(rng: Generator, series: IntArray) -> float:
        return draw_paths(rng, series, active, weights, data, build_room(data, state.n_states), path)

    total = sum(over_blocks(rng, model.blocks, draw))
    check_possible(total)
    return replace(state, path=path), _PathsInfo(total)


def redrawn_paths(rng: Generator, model: Model, state: ChainState, series: IntArray) -> IntArray:
    """Return the paths of all recordings, of which some are drawn anew."""
    from homothety.models.ibphmm._kernels import build_room, draw_paths

    active, weights = np.array(active_of(model, state), order="C"), _copied_weights(model, state)
    data, path = _data_of(model, state), path_of(model, state).copy()
    room = build_room(data, state.n_states)
    check_possible(draw_paths(rng, _check_series(model, series), active, weights, data, room, path))
    return path


def _check_series(model: Model, series: IntArray) -> IntArray:
    """Return numbers of recordings, or raise if the model does not have them."""
    return check_labels(series, "series", len(series), model.n_recordings)


def series_log_likelihoods(model: Model, state: ChainState, series: IntArray) -> FloatArray:
    """Return the log-likelihoods of some recordings given states, weights and parameters, paths summed out."""
    from homothety.models.ibphmm._kernels import build_room, write_log_likelihoods

    active, weights = np.array(active_of(model, state), order="C"), _copied_weights(model, state)
    data, out = _data_of(model, state), np.empty(len(series))
    room = build_room(data, state.n_states)
    write_log_likelihoods(_check_series(model, series), active, weights, data, room, out)
    return out


def resample_concentrations(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Tried]:
    """Redraw alpha and kappa given the paths, transition weights integrated out (docs/model.md, section 3.14)."""
    from homothety.models.ibphmm._kernels import walk_concentrations

    active, counts = active_of(model, state), transition_counts(model, path_of(model, state), state.n_states)
    n_tried, priors, leaving = 2 * model.proposals.n_concentration, model.hyperpriors, float(model.leaving_at(state))
    shapes = float(priors.alpha.shape), float(priors.kappa.shape)
    rates, start = (float(priors.alpha.rate), float(priors.kappa.rate)), (float(state.alpha), float(state.kappa))
    alpha, kappa, n_accepted = walk_concentrations(
        rng, n_tried, _LOG_STEP, *start, shapes, rates, counts, read_only(active), leaving
    )
    return replace(state, alpha=alpha, kappa=kappa, weights=None), Tried(n_tried, n_accepted)


def resample_leaving(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw the probability of leaving a state given the paths.

    Its logarithm is drawn on a grid of `_LEAVING_GRID` points with a random offset: exact up to the grid's spacing.
    """
    path = path_of(model, state)
    if model.leaving_range is None:
        return state, ()
    several = active_of(model, state).sum(axis=1) > 1  # a recording with one state has nowhere to go
    series, here, there = pairs_of(state.active & several[:, None])
    counts = transition_counts(model, path, state.n_states)[series, here, there]
    n_stays = float(counts[here == there].sum())
    n_left = float(counts.sum()) - n_stays
    low, high = np.log(model.leaving_range)
    grid = np.exp(low + (high - low) * (np.arange(_LEAVING_GRID) + rng.random()) / _LEAVING_GRID)
    log_density = n_left * np.log(grid) + n_stays * np.log1p(-grid)
    probs = np.exp(log_density - log_density.max())
    return replace(state, leaving=float(rng.choice(grid, p=probs / probs.sum()))), ()


def resample_weights(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw the transition weights given the paths (docs/model.md, section 3.13)."""
    counts = transition_counts(model, path_of(model, state), state.n_states)
    weights = draw_weights(rng, active_of(model, state), counts, state.alpha, state.kappa, model.leaving_at(state))
    return replace(state, weights=weights), ()


def resample_tags(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw which label each state may hold steps of, given the paths (docs/model.md, section 3.20)."""
    if not len(model.known.steps):
        return state, ()
    held = model.known.tags_of(path_of(model, state), state.n_states)
    return replace(state, tags=np.where(held >= 0, held, model.known.draw_tags(rng, state.n_states))), ()


def resample_emissions(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw the parameters of every state given the paths; unused ones come from the prior.

    See docs/model.md, section 3.13.
    """
    statistics = path_statistics(model, path_of(model, state), state.n_states)
    whiteners = draw_parameters(rng, model.emission, statistics)
    return replace(state, whiteners=whiteners), ()


def resample_buffet(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Tried]:
    """Redraw the mass, and the concentration unless it is fixed, given who has which state (docs/model.md, 3.14)."""
    prior, n_owners = model.hyperpriors.mass, state.active.sum(axis=0)
    rate = prior.rate + expected_new(model.n_recordings, state.concentration)
    mass = float(rng.gamma(prior.shape + state.n_states, 1 / rate))
    concentration, n_accepted, n_tried = state.concentration, 0, 0
    if model.hyperpriors.concentration is not None:
        n_tried = model.proposals.n_buffet
        concentration, n_accepted = _walk_concentration(
            rng, model.hyperpriors.concentration, n_owners, model.n_recordings, mass, concentration, n_tried
        )
    return replace(state, mass=mass, concentration=concentration), Tried(n_tried, n_accepted)


def _walk_concentration(
    rng: Generator,
    prior: GammaPrior,
    n_owners: FloatArray,
    n_recordings: int,
    mass: float,
    concentration: float,
    n_steps: int,
) -> tuple[float, int]:
    """Return the concentration after a walk on its logarithm, and the accepted steps."""
    n_accepted = 0
    for _ in range(n_steps):
        proposed = float(concentration * np.exp(_LOG_STEP * rng.standard_normal()))
        log_ratio = log_owner_prior(n_owners, n_recordings, mass, proposed) + prior.log_density(proposed)
        log_ratio -= log_owner_prior(n_owners, n_recordings, mass, concentration) + prior.log_density(concentration)
        if np.log(rng.random()) < log_ratio + np.log(proposed / concentration):
            concentration, n_accepted = proposed, n_accepted + 1
    return concentration, n_accepted


def default_sweep() -> dict[str, Callable[..., tuple[ChainState, Any]]]:
    """Return the moves of one sweep, in order, by name.

    The dictionary may be changed: moves left out, put in another order, or added. In an order in which a move would use
    what an earlier one has left out of date, the move raises a `SweepError` that names the move to put between them.
    Leaving out "buffet" or "concentrations" holds their parameters fixed; "emissions" and "weights" cannot be left out
    as long as "splits and merges" is there, nor "paths" as long as states change.
    """
    from homothety.models.ibphmm.split_merge import halve_or_join, split_or_merge, swap_states

    return {
        "shared features": resample_shared_states,
        "births and deaths": resample_unique_states,
        "paths": resample_paths,
        "halves and joins": halve_or_join,
        "splits and merges": split_or_merge,
        "swaps": swap_states,
        "labels": resample_tags,
        "emissions": resample_emissions,
        "buffet": resample_buffet,
        "concentrations": resample_concentrations,
        "leaving": resample_leaving,
        "weights": resample_weights,
    }


def _try_jumps(rng: Generator, model: Model, state: ChainState) -> tuple[IntArray, Newborns]:
    """Let every recording try one birth or death.

    What is born or dropped belongs to one recording: no attempt sees another's outcome.

    Returns
    -------
    outcomes : ndarray of int, shape (n_recordings,)
        State that died, `n_states` where one was born, or negative.
    newborns : Newborns
    """
    from homothety.models.ibphmm._kernels import build_room, build_window, jump_all

    data, active = _data_of(model, state), active_of(model, state)
    births, newborns = _births_of(model, state), _expect_newborns(model, state)
    if len(model.known.steps):
        newborns = newborns._replace(tags=model.known.draw_tags(rng, model.n_recordings))
    n_owners, outcomes = active.sum(axis=0).astype(np.float64), np.empty(model.n_recordings, dtype=np.int64)

    def work(rng: Generator, series: IntArray) -> None:
        window, room = build_window(model.z.shape[1]), build_room(data, state.n_states + 1)
        jump_all(rng, series, n_owners, births, data, window, room, newborns, outcomes)

    over_blocks(rng, model.blocks, work)
    return outcomes, newborns


def _data_of(model: Model, state: ChainState) -> Data:
    """Return all recordings and the parameters of all states, as kernels want them."""
    from homothety.models.ibphmm._kernels import Data

    # A copy: parameters on trial can be written to, and kernels are compiled for one kind of array.
    emission, whiteners = model.emission, whiteners_of(model, state).copy()
    settings = (emission.weight, emission.structure, model.least_stay, model.leaving_at(state), model.gaps)
    return Data(model.z, model.starts, whiteners, *settings, known=tagged_of(model, state))


def _copied_weights(model: Model, state: ChainState) -> FloatArray:
    """Return a copy of the transition weights of a `ChainState` that can be written to."""
    n_states = state.n_states
    return _carried_weights(state.active, weights_of(model, state), np.arange(n_states), n_states)


def _carried_weights(active: BoolArray, weights: FloatArray, places: IntArray, n_places: int) -> FloatArray:
    """Return transition weights with the states in other places, zero elsewhere, (n_recordings, n_places, n_places)."""
    from homothety.models.ibphmm._kernels import carry_weights

    carried = sparse_zeros((len(active), n_places, n_places))
    carry_weights(read_only(active), read_only(weights), places, carried)
    return carried


def _births_of(model: Model, state: ChainState) -> Births:
    """Return how states are born, as kernels want it."""
    from homothety.models.ibphmm._kernels import Births

    rate = state.mass * state.concentration / (state.concentration + model.n_recordings - 1)
    return Births(float(np.log(rate)), state.alpha, state.kappa, _source_of(model))


def _source_of(model: Model) -> Source:
    """Return where the parameters of new states come from, as kernels want it."""
    from homothety.models.ibphmm._kernels import Source

    emission, proposals = model.emission, model.proposals
    return Source(
        *proposals.window,
        proposals.birth == "data-driven",
        emission.prior_scale,
        emission.prior_factor.copy(),  # kernels are compiled for factors that can be written to
        emission.structure,
    )


def _expect_newborns(model: Model, state: ChainState) -> Newborns:
    """Return states and weights of every recording with room for one state more, and for its parameters."""
    from homothety.models.ibphmm._kernels import Newborns

    n_recordings, n_states = state.active.shape
    active = np.zeros((n_recordings, n_states + 1), dtype=bool)
    active[:, :-1] = state.active
    weights = _carried_weights(state.active, weights_of(model, state), np.arange(n_states), n_states + 1)
    return Newborns(active, weights, np.empty((n_recordings, model.emission.n_dims, model.z.shape[1])))


def _trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return numbers of one sweep that do not depend on how states are numbered, and acceptance by move."""
    check_whole(state, "What is recorded of a sweep")
    scalars = {
        "log_joint": log_joint(model, state),
        "n_states": state.n_used,
        "n_segments": count_segments(state.path, model.starts),
        "occupancy_entropy": occupancy_entropy(state.path),
        "n_owned": state.n_states,
        "mass": state.mass,
        "concentration": state.concentration,
        "alpha": state.alpha,
        "kappa": state.kappa,
    }
    for name, info in infos.items():
        if hasattr(info, "n_tried"):
            scalars[f"acceptance: {name}"] = info.n_accepted / info.n_tried if info.n_tried else float("nan")
    return scalars


def _keep_path(state: ChainState) -> RunPath:
    """Return what is kept of a sweep after burn-in: the path, by persistent numbers of states."""
    return RunPath.of(state.id_path)


RECORDING = Recording(scalars=_trace_scalars, keep=_keep_path)
