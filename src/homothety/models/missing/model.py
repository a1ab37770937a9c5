"""Recordings with missing values: any chain over segmentations, with a move that draws what is missing.

See docs/model.md, section 3.18. Moves in which paths are summed out, and the draw of paths, look at what is observed
alone. After them the values drawn before mean nothing, so the missing ones are drawn again, and all other moves take
recordings as complete.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from homothety.models import ibphmm
from homothety.models._parts import ReadOnly, check_array, check_finite
from homothety.models.ibphmm.starts import CLUSTERS_MEASURED, N_ANNEALING, N_MEASURED, annealed, weight_in_states
from homothety.sampling.codec import storable
from homothety.sampling.driver import Recording

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray
    from homothety.sampling.driver import Move, Sweep

_AFTER = "paths"  # the move after which values are drawn


class _Incomplete(Protocol):
    """A model of complete recordings that knows which of their values are filled in."""

    def with_gaps(self, missing: BoolArray) -> Self:
        """Return the model in which some values, (n_steps, n_dims), are missing and filled in as they are now."""

    def values(self, missing: BoolArray) -> FloatArray:
        """Return what is filled in, (n_missing,)."""

    def with_values(self, missing: BoolArray, values: FloatArray) -> Self:
        """Return the model with other values filled in."""

    def draw_values(self, rng: Generator, state: Any, missing: BoolArray) -> FloatArray:
        """Draw the missing values given everything else in a state of the chain."""


@dataclass(frozen=True, eq=False)
class Model:
    """A model of recordings of which some values are missing at random.

    Parameters
    ----------
    inner : Incomplete
        Model of the recordings with something filled in, see `Model.of`.
    missing : ndarray of bool, shape (n_steps, n_dims)
        Which values are missing.
    """

    inner: Any
    missing: BoolArray

    @classmethod
    def of(cls, inner: _Incomplete, missing: BoolArray) -> Model:
        """Return the model of recordings in which some values are missing; `inner` has them filled in somehow."""
        return cls(inner.with_gaps(missing), missing)

    def at_weight(self, weight: float) -> Model:
        """Return the model in which a step counts as another share of an observation."""
        return replace(self, inner=self.inner.at_weight(weight))

    def completed(self, values: FloatArray) -> Any:
        """Return the model with given values filled in; that of the last call is remembered."""
        last = self._last.get("last")  # once: chains of one process may share a model
        if last is None or last[0] is not values:
            check_array(values, "values", (int(np.count_nonzero(self.missing)),), np.float64)
            last = (values, self.inner.with_values(self.missing, values))
            self._last["last"] = last
        return last[1]

    @cached_property
    def _last(self) -> dict[str, tuple[FloatArray, Any]]:
        """Values and model of the last call. No field: a copy has its own, and no checkpoint asks."""
        return {}

    def check_state(self, state: ChainState) -> None:
        """Raise if a state does not fit this model."""
        check_finite(state.values, "values")
        self.completed(state.values).check_state(state.inner)


@storable
@dataclass(frozen=True, eq=False)
class ChainState(ReadOnly):
    """One point of the chain. Arrays are read-only.

    Parameters
    ----------
    inner : object
        State of the chain over complete recordings.
    values : ndarray of shape (n_missing,)
        The missing values, in the units of the prepared recordings, one step after the other.
    step : int
        Number of sweeps behind this state.
    """

    inner: Any
    values: FloatArray
    step: int = 0


def _move_completed(move: Move, rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Any]:
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
        lifted[name] = partial(_move_completed, move)
        if name == _AFTER:
            lifted["missing values"] = resample_values
    return lifted


def lifted_recording(recording: Recording) -> Recording:
    """Return what to keep of a chain, from what to keep of one over complete recordings.

    The log joint density includes that of the values drawn.
    """
    return Recording(partial(_trace_completed, recording), partial(_keep_inner, recording))


def _trace_completed(recording: Recording, model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of one sweep on the recordings as they are filled in."""
    return recording.scalars(model.completed(state.values), state.inner, infos)


def _keep_inner(recording: Recording, state: ChainState) -> Any:
    """Return what is kept of a state; missing values are not."""
    return recording.keep(state.inner)


def lifted_start(start: Callable[[Generator, Any], Any]) -> Callable[[Generator, Model], ChainState]:
    """Return where chains start, from where those of the filled recordings do."""
    return partial(_start_filled, start)


def _start_filled(start: Callable[[Generator, Any], Any], rng: Generator, model: Model) -> ChainState:
    """Return a first state at which missing values are what they were first filled in with."""
    return ChainState(start(rng, model.inner), model.inner.values(model.missing))


def init_annealed(
    missing: BoolArray,
    rng: Generator,
    model: ibphmm.Model,
    *,
    n_clusters: int | None = None,
    n_sweeps: int = N_ANNEALING,
    **options: Any,
) -> ibphmm.ChainState:
    """Return a first state of the segmentation, found by a short run that draws missing values too.

    Parameters
    ----------
    missing : ndarray of bool, shape (n_steps, n_dims)
    rng : Generator
    model : ibphmm.Model
        With its gaps, filled in somehow.
    n_clusters, n_sweeps, **options
        As in `ibphmm.init_annealed`.
    """
    state: ibphmm.ChainState = _run_annealed(rng, Model(model, missing), n_clusters, n_sweeps, **options).inner
    return state


def _run_annealed(rng: Generator, model: Model, n_clusters: int | None, n_sweeps: int, **options: Any) -> ChainState:
    """Return where a short run ends that starts from clusters of the filled steps."""
    state = _start_filled(partial(ibphmm.init_from_clusters, n_clusters=n_clusters, **options), rng, model)
    sweep, weight = lifted_sweep(ibphmm.default_sweep()), model.inner.emission.weight
    found: ChainState = annealed(rng, model, weight, state, sweep, n_sweeps)
    return found


def measured_weight(rng: Generator, model: Model, n_sweeps: int = N_ANNEALING) -> float:
    """Return how much of an independent observation a step counts as, measured between values that are observed."""
    state = _start_filled(partial(ibphmm.init_from_clusters, n_clusters=CLUSTERS_MEASURED), rng, model)
    for _ in range(N_MEASURED):
        weighted = model.at_weight(_weight_between(model, state))
        state = _run_annealed(rng, weighted, CLUSTERS_MEASURED, n_sweeps)
    return _weight_between(model, state)


def _weight_between(model: Model, state: ChainState) -> float:
    """Return the weight of a step given the states of a chain."""
    return weight_in_states(model.completed(state.values), state.inner.path, model.missing)
