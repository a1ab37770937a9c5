"""Moves of a chain of recordings with missing values: those of complete recordings, and one that draws what is missing.

Moves in which paths are summed out, and the draw of paths, look at what is observed alone. After them the values drawn
before mean nothing, so the missing ones are drawn again, and all other moves take recordings as complete.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from homothety.models.missing.state import ChainState
from homothety.sampling.driver import Recording

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from homothety.models.missing.model import Model
    from homothety.sampling.driver import Move, Sweep

AFTER = "paths"  # the move after which values are drawn


def move_completed(move: Move, rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Any]:
    """Make a move of complete recordings on those with the values of the state filled in."""
    inner, info = move(rng, model.completed(state.values), replace(state.inner, step=state.step))
    return replace(state, inner=inner), info


def resample_values(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Draw the missing values given paths, parameters and what is observed (docs/model.md, section 3.18)."""
    values = model.completed(state.values).draw_values(rng, state.inner, model.missing)
    return replace(state, values=values), ()


def lifted_sweep(sweep: Sweep) -> dict[str, Move]:
    """Return the moves of a sweep over complete recordings, and, after that of paths, the one of missing values."""
    lifted: dict[str, Move] = {}
    for name, move in sweep.items():
        lifted[name] = partial(move_completed, move)
        if name == AFTER:
            lifted["missing values"] = resample_values
    return lifted


def lifted_recording(recording: Recording) -> Recording:
    """Return what to keep of a chain, from what to keep of one over complete recordings.

    The log joint density includes that of the values drawn.
    """
    return Recording(partial(trace_completed, recording), partial(keep_inner, recording))


def trace_completed(recording: Recording, model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of one sweep on the recordings as they are filled in."""
    return recording.scalars(model.completed(state.values), state.inner, infos)


def keep_inner(recording: Recording, state: ChainState) -> Any:
    """Return what is kept of a state; missing values are not."""
    return recording.keep(state.inner)


def lifted_start(start: Callable[[Generator, Any], Any]) -> Callable[[Generator, Model], ChainState]:
    """Return where chains start, from where those of the filled recordings do."""
    return partial(start_filled, start)


def start_filled(start: Callable[[Generator, Any], Any], rng: Generator, model: Model) -> ChainState:
    """Return a first state at which missing values are what they were first filled in with."""
    return ChainState(start(rng, model.inner), model.inner.values(model.missing))
