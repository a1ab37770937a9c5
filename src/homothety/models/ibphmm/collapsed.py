"""Births and deaths with parameters integrated out: a feature comes or goes together with the path.

See docs/model.md, section 3.13.

What `unique.py` does with paths summed out, this does with parameters integrated out: the series redraws its path with
the feature or without it, under plug-in parameters, and the chance to draw the old path back enters the ratio.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from homothety.models.ibphmm.allocation import Allocation, Concentrations, put_last, redrawn, renewed
from homothety.models.ibphmm.infos import JumpInfo
from homothety.models.ibphmm.state import active_of, path_of
from homothety.models.ibphmm.statistics import Statistics, mean_parameters
from homothety.models.ibphmm.unique import draw_window

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.ibphmm.model import Model
    from homothety.models.ibphmm.state import ChainState


def resample_unique_collapsed(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, JumpInfo]:
    """Let every series try to gain or lose a feature of its own; parameters and weights are integrated out.

    These are out of date afterwards, as after splits and merges.
    """
    n_born, n_died, at = 0, 0, Concentrations.of(state)
    current = Allocation(model.held_at(state), active_of(model, state), path_of(model, state))
    state = replace(state, weights=None, whiteners=None)
    for i in range(model.n_series):
        proposed, ids = try_jump(rng, current, state, i, at)
        if proposed is None:
            continue
        n_born += proposed.n_features > current.n_features
        n_died += proposed.n_features < current.n_features
        current, state = proposed, renewed(state, proposed, ids)
    return state, JumpInfo(model.n_series, n_born + n_died, n_born, n_died)


def try_jump(
    rng: Generator, current: Allocation, state: ChainState, i: int, at: Concentrations
) -> tuple[Allocation | None, IntArray]:
    """Propose a birth or death in series `i`; return the new allocation with the ids of its features, or None."""
    from homothety.models.ibphmm._birth_kernels import birth_probability, log_move_ratio

    unique = np.flatnonzero(current.active[i] & (current.active.sum(axis=0) == 1))
    n_unique, n_active = len(unique), int(current.active[i].sum())
    newborn = window_parameters(rng, current.model, i)
    if rng.random() < birth_probability(n_unique, n_active):
        proposed, log_ratio = propose_birth(rng, current, i, newborn, at)
        log_ratio += log_move_ratio(n_unique, n_active)
        ids = np.append(state.ids, state.next_id)
    else:
        k = int(rng.choice(unique))
        proposed, log_ratio = propose_death(rng, current, i, k, newborn, at)
        log_ratio -= log_move_ratio(n_unique - 1, n_active - 1)
        ids = np.delete(state.ids, k)
    # The density holds the rate of new features: of one owner, a feature has prior weight gamma c / (c + M - 1).
    gain = proposed.log_density(at) - current.log_density(at)
    return (proposed if np.log(rng.random()) < gain + log_ratio else None), ids


def window_parameters(rng: Generator, model: Model, i: int) -> FloatArray:
    """Return what a new feature of series `i` is taken to look like, (n_dims, n): the posterior mean of a window."""
    window = draw_window(rng, model, *model.bounds[i])
    return mean_parameters(model.emission, Statistics(window.sizes, window.scales), window.factors)[0]


def propose_birth(
    rng: Generator, current: Allocation, i: int, newborn: FloatArray, at: Concentrations
) -> tuple[Allocation, float]:
    """Propose a new feature of series `i`, the last one, and its path. Return them and the log ratio of paths."""
    proposed, log_forth = draw_grown(rng, current, i, newborn, at)
    _, log_back = draw_shrunk(rng, proposed, i, at, target=current)
    return proposed, log_back - log_forth


def propose_death(
    rng: Generator, current: Allocation, i: int, k: int, newborn: FloatArray, at: Concentrations
) -> tuple[Allocation, float]:
    """Propose to drop feature `k` of series `i`, with a path without it. Return them and the log ratio of paths."""
    current = put_last(current, k)
    proposed, log_forth = draw_shrunk(rng, current, i, at)
    _, log_back = draw_grown(rng, proposed, i, newborn, at, target=current)
    return proposed, log_back - log_forth


def draw_grown(
    rng: Generator,
    current: Allocation,
    i: int,
    newborn: FloatArray,
    at: Concentrations,
    target: Allocation | None = None,
) -> tuple[Allocation, float]:
    """Give series `i` a feature more, the last one, and redraw its path, or follow the target's.

    Returns
    -------
    proposed : Allocation
    log_probability : float
        Of drawing this path.
    """
    column = np.arange(len(current.active)) == i
    active = np.column_stack([current.active, column])
    whiteners = np.concatenate([current.mean_parameters, newborn[None]])
    return redrawn(rng, current, active, np.array([i]), whiteners, at, target)


def draw_shrunk(
    rng: Generator, current: Allocation, i: int, at: Concentrations, target: Allocation | None = None
) -> tuple[Allocation, float]:
    """Take the last feature, which is its own, from series `i`, and redraw its path, or follow the target's.

    Returns
    -------
    proposed : Allocation
    log_probability : float
        Of drawing this path.
    """
    active, whiteners = current.active[:, :-1].copy(), current.mean_parameters[:-1]
    return redrawn(rng, current, active, np.array([i]), whiteners, at, target)
