"""One point of the chain: paths and all parameters."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.errors import InputError, SweepError
from homothety.models.parts import check_array, check_finite, check_labels
from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from homothety.arrays import FloatArray, IntArray
    from homothety.models.hdphmm.model import Model


@storable
class Tables(NamedTuple):
    """What is left of the restaurants whose customers are transitions, once weights are to be drawn."""

    n_left: IntArray  # (n_states,) transitions out of each state: customers of its restaurant
    n_tables: int  # in all of these; the restaurant of first states is not among them
    n_overrides: int  # tables that stand for staying, whatever the weights
    n_considered: IntArray  # (n_states,) tables that chose each state by its weight, first states among them


@storable
@dataclass(frozen=True, eq=False)
class ChainState:
    """One point of the chain. Arrays are read-only.

    What a move has integrated out is None after it: a move that needs it then fails at once instead of using an old
    value. After a whole sweep only `tables` are missing.

    Parameters
    ----------
    path : ndarray of int, shape (n_steps,)
        State of every step, all series one after the other.
    mass : float
        How many states share the weight.
    concentration : float
        Sum of the Dirichlet parameters of a row of transitions.
    self_share : float
        Share of it that goes to staying.
    weights : ndarray of shape (n_states,), or None
        How popular states are in all rows.
    initial : ndarray of shape (n_states,), or None
        Probabilities of the first state.
    transition : ndarray of shape (n_states, n_states), or None
    means : ndarray of shape (n_states, n_dims), or None
    covariances : ndarray of shape (n_states, n_dims, n_dims), or None
    tables : Tables, or None
        Auxiliary counts, between the move that draws them and the one that draws weights.
    step : int
        Number of sweeps behind this state.
    """

    path: IntArray
    mass: float
    concentration: float
    self_share: float
    weights: FloatArray | None = None
    initial: FloatArray | None = None
    transition: FloatArray | None = None
    means: FloatArray | None = None
    covariances: FloatArray | None = None
    tables: Tables | None = None
    step: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @property
    def n_used(self) -> int:
        """Number of states that some step is in."""
        return len(np.unique(self.path))

    @property
    def transition_concentration(self) -> float:
        """Part of the concentration that follows the weights."""
        return self.concentration * (1 - self.self_share)

    @property
    def stickiness(self) -> float:
        """Part of the concentration that goes to staying."""
        return self.concentration * self.self_share

    def needed(self, name: str) -> Any:
        """Return a part of the state, or raise if an earlier move has integrated it out."""
        value = getattr(self, name)
        if value is None:
            raise SweepError(name, REDRAWN_BY[name])
        return value


# What may be out of date, and the move that redraws it.
REDRAWN_BY = {
    "weights": "weights",
    "initial": "transitions",
    "transition": "transitions",
    "means": "emissions",
    "covariances": "emissions",
    "tables": "tables",
}


def path_of(model: Model, state: ChainState) -> IntArray:
    """Return the path of a state, or raise if it is not of states of the model."""
    return check_labels(state.path, "path", model.sequences.n_steps, model.n_states)


def part_of(model: Model, state: ChainState, name: str) -> FloatArray:
    """Return a part of a state, or raise if it is out of date, or does not fit the model."""
    n_states, n_dims = model.n_states, model.sequences.n_dims
    shapes: dict[str, tuple[int, ...]] = {
        "weights": (n_states,),
        "initial": (n_states,),
        "transition": (n_states, n_states),
        "means": (n_states, n_dims),
        "covariances": (n_states, n_dims, n_dims),
    }
    return check_array(state.needed(name), name, shapes[name], np.float64)


def check_whole(state: ChainState, needed_by: str = "This move") -> None:
    """Raise if any part of a state is out of date but the tables, which no sweep leaves behind."""
    for part, remedy in REDRAWN_BY.items():
        if part != "tables" and getattr(state, part) is None:
            raise SweepError(part, remedy, needed_by)


def check_state(model: Model, state: ChainState) -> None:
    """Raise if a state does not fit the model. Parts that are out of date, None, are not looked at."""
    if state.path.shape != (model.sequences.n_steps,):
        raise InputError(f"path has shape {state.path.shape}, needed ({model.sequences.n_steps},), one per step.")
    if state.path.min() < 0 or state.path.max() >= model.n_states:
        raise InputError(
            f"path has states from {state.path.min()} to {state.path.max()}, needed 0 to {model.n_states - 1}. "
            "Renumber them or raise n_states."
        )
    if not (state.mass > 0 and state.concentration > 0 and 0 <= state.self_share <= 1):
        raise InputError(
            f"mass is {state.mass}, concentration {state.concentration}, self_share {state.self_share}: needed two "
            "positive numbers and one from 0 to 1."
        )
    path_of(model, state)
    for name in REDRAWN_BY:
        if name != "tables" and getattr(state, name) is not None:
            check_finite(part_of(model, state, name), name)
    if state.tables is not None:
        for name in ("n_left", "n_considered"):
            check_array(getattr(state.tables, name), f"{name} of tables", (model.n_states,), np.int64)
