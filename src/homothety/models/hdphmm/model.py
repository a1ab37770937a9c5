r"""What a chain of the sticky HDP-HMM is conditioned on, and its joint density.

.. math::

    \beta \sim \mathrm{Dir}(\gamma / L, \dots, \gamma / L), \quad \pi_j \sim \mathrm{Dir}(\alpha\beta + \kappa e_j),
    \quad \pi_0 \sim \mathrm{Dir}(\alpha_0 \beta), \quad s_1 \sim \pi_0, \quad s_t \sim \pi_{s_{t-1}},
    \quad x_t \sim \mathcal N(\mu_{s_t}, \Sigma_{s_t}).

In code :math:`\beta` is `weights`, :math:`\gamma` is `mass`, :math:`\alpha + \kappa` is `concentration` and
:math:`\rho = \kappa / (\alpha + \kappa)` is `self_share`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from homothety.arrays import check_count, frozen
from homothety.distributions.dirichlet import LEAST_PARAMETER
from homothety.errors import InputError, SweepError
from homothety.models._parts import ReadOnly, check_array, check_finite, check_labels
from homothety.models.emissions import Emission
from homothety.models.emissions.missing import NO_GAPS, drawn_steps, find_gaps, values_in
from homothety.models.hmm.messages import has_short_stay, transition_steps
from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.distributions import NIW
    from homothety.models.emissions.missing import Gaps
    from homothety.sequences import Sequences


@dataclass(frozen=True, eq=False)
class Model:
    """Recordings to segment and the priors of what emits them. Never changes.

    Parameters
    ----------
    sequences : Sequences
    base : NIW
        Prior of the mean and covariance of a state.
    n_states : int, default=20
        Number of states there are, used or not: the order of the weak limit.
    mass_prior : tuple of two floats
        Shape and rate of the gamma prior of the mass, which says how many states share the weight.
    concentration_prior : tuple of two floats
        Shape and rate of the gamma prior of the concentration of a row of transitions.
    self_share_prior : tuple of two floats
        Parameters of the beta prior of the share of the concentration that goes to staying.
    initial_concentration : float, default=1.0
        Concentration of the first state of a recording about the weights. Fixed.
    least_stay : int, default=1
        Fewest steps that a state lasts once it is entered. The first and the last stay of a recording may be shorter.
    gaps : Gaps
        Values of the recordings that are missing, and filled in somehow; none if not given. The chain of
        `homothety.models.missing` draws them.
    """

    sequences: Sequences
    base: NIW
    n_states: int = 20
    mass_prior: tuple[float, float] = (1.0, 0.01)
    concentration_prior: tuple[float, float] = (1.0, 0.01)
    self_share_prior: tuple[float, float] = (100.0, 1.0)
    initial_concentration: float = 1.0
    least_stay: int = 1
    gaps: Gaps = NO_GAPS

    def __post_init__(self) -> None:
        if self.base.n_dims != self.sequences.n_dims:
            raise InputError(
                f"The prior has {self.base.n_dims} dimensions, the recordings have {self.sequences.n_dims}."
            )
        if self.n_states < 1:
            raise InputError(f"n_states is {self.n_states}, needed at least 1.")
        for name in ("mass_prior", "concentration_prior", "self_share_prior"):
            values = getattr(self, name)
            if len(values) != 2 or not all(np.isfinite(value) and value > 0 for value in values):
                raise InputError(f"{name} is {values}, needed two positive numbers.")
        if not (np.isfinite(self.initial_concentration) and self.initial_concentration > 0):
            raise InputError(f"initial_concentration is {self.initial_concentration}, needed a positive number.")
        check_count(self.least_stay, "least_stay")

    def check_state(self, state: ChainState) -> None:
        """Raise if a state does not fit the self. Parts that are out of date, None, are not looked at."""
        if state.path.shape != (self.sequences.n_steps,):
            raise InputError(f"path has shape {state.path.shape}, needed ({self.sequences.n_steps},), one per step.")
        if state.path.min() < 0 or state.path.max() >= self.n_states:
            raise InputError(
                f"path has states from {state.path.min()} to {state.path.max()}, needed 0 to {self.n_states - 1}. "
                "Renumber them or raise n_states."
            )
        if not (state.mass > 0 and state.concentration > 0 and 0 <= state.self_share <= 1):
            raise InputError(
                f"mass is {state.mass}, concentration {state.concentration}, self_share {state.self_share}: needed two "
                "positive numbers and one from 0 to 1."
            )
        path_of(self, state)
        for name in _REDRAWN_BY:
            if name != "tables" and getattr(state, name) is not None:
                check_finite(part_of(self, state, name), name)
        if state.tables is not None:
            for name in ("n_left", "n_considered"):
                check_array(getattr(state.tables, name), f"{name} of tables", (self.n_states,), np.int64)

    @cached_property
    def emission(self) -> Emission:
        """How states emit."""
        return Emission.gaussian(self.base.mean, self.base.mean_strength, self.base.scale, self.base.dof)

    def with_gaps(self, missing: BoolArray) -> Model:
        """Return the model in which some values, (n_steps, n_dims), are missing; they are filled in as they are now."""
        fill = self.emission.augment_steps(self.sequences.steps)
        return replace(self, gaps=find_gaps(self.emission, missing, self.sequences.starts, fill))

    def values(self, missing: BoolArray) -> FloatArray:
        """Return what the missing values are filled in with, (n_missing,)."""
        return np.asarray(self.sequences.steps[missing])

    def with_values(self, missing: BoolArray, values: FloatArray) -> Model:
        """Return the model with other values filled in."""
        steps = self.sequences.steps.copy()
        steps[missing] = values
        return replace(self, sequences=replace(self.sequences, steps=frozen(steps)))

    def draw_values(self, rng: Generator, state: ChainState, missing: BoolArray) -> FloatArray:
        """Draw the missing values given paths and parameters, (n_missing,)."""
        z, path = self.emission.augment_steps(self.sequences.steps), path_of(self, state)
        drawn = drawn_steps(rng, self.emission, z, path, self.whiteners_of(state), self.gaps)
        return values_in(self.emission, drawn, missing)

    def whiteners_of(self, state: ChainState) -> FloatArray:
        """Return means and covariances in the form of `models/emissions`."""
        means, covariances = part_of(self, state, "means"), part_of(self, state, "covariances")
        return self.emission.whiteners_of(means[:, :, None], covariances)

    def count_transitions(self, path: IntArray) -> IntArray:
        """Return how often a path (n_steps,) goes from one state to another, (n_states, n_states).

        Steps that a stay lasts because of the least stay are no transitions.
        """
        within = transition_steps(path, self.sequences.starts, self.least_stay)[1:]
        cells = path[:-1][within] * self.n_states + path[1:][within]
        return np.bincount(cells, minlength=self.n_states**2).reshape(self.n_states, self.n_states)

    def count_starts(self, path: IntArray) -> IntArray:
        """Return how many recordings begin in each state, (n_states,)."""
        return np.bincount(path[self.sequences.starts[:-1]], minlength=self.n_states)


def transition_parameters(state: ChainState, weights: FloatArray) -> FloatArray:
    """Return the Dirichlet parameters of the rows of transitions, (n_states, n_states)."""
    parameters = state.transition_concentration * weights + state.stickiness * np.eye(len(weights))
    return np.maximum(parameters, LEAST_PARAMETER)


def log_path_prior(model: Model, state: ChainState) -> float:
    """Log probability of the paths given weights and concentrations, transitions integrated out.

    Minus infinity if a stay is too short for the model.
    """
    path, weights = path_of(model, state), part_of(model, state, "weights")
    if has_short_stay(path, model.sequences.starts, model.least_stay):
        return -np.inf
    rows = _log_polya(model.count_transitions(path), transition_parameters(state, weights))
    first = _log_polya(model.count_starts(path), model.initial_concentration * weights)
    return float(rows.sum() + first)


def _log_polya(counts: IntArray, parameters: FloatArray) -> FloatArray:
    """Log probability of draws with given counts along the last axis, their Dirichlet probabilities integrated out."""
    terms = gammaln(parameters + counts) - gammaln(parameters)
    total = parameters.sum(axis=-1)
    return np.asarray(terms.sum(axis=-1) + gammaln(total) - gammaln(total + counts.sum(axis=-1)))


def log_likelihood(model: Model, state: ChainState) -> float:
    """Log density of the recordings given the paths, emissions integrated out."""
    steps, path = model.sequences.steps, state.path
    return float(sum(model.base.log_marginal(steps[path == k]) for k in np.unique(path)))


def log_joint(model: Model, state: ChainState) -> float:
    """Log of path prior times likelihood given weights and concentrations, the reference of trace and tests.

    Raises `SweepError` if a part of the state is out of date.
    """
    check_whole(state, "The log joint")
    return log_path_prior(model, state) + log_likelihood(model, state)


@storable
class Tables(NamedTuple):
    """What is left of the restaurants whose customers are transitions, once weights are to be drawn."""

    n_left: IntArray  # (n_states,) transitions out of each state: customers of its restaurant
    n_tables: int  # in all of these; the restaurant of first states is not among them
    n_overrides: int  # tables that stand for staying, whatever the weights
    n_considered: IntArray  # (n_states,) tables that chose each state by its weight, first states among them


@storable
@dataclass(frozen=True, eq=False)
class ChainState(ReadOnly):
    """One point of the chain. Arrays are read-only.

    What a move has integrated out is None after it: a move that needs it then fails at once instead of using an old
    value. After a whole sweep only `tables` are missing.

    Parameters
    ----------
    path : ndarray of int, shape (n_steps,)
        State of every step, all recordings one after the other.
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
            raise SweepError(name, _REDRAWN_BY[name])
        return value


# What may be out of date, and the move that redraws it.
_REDRAWN_BY = {
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
    for part, remedy in _REDRAWN_BY.items():
        if part != "tables" and getattr(state, part) is None:
            raise SweepError(part, remedy, needed_by)
