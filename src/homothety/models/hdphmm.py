r"""Sticky hidden Markov model with a hierarchical Dirichlet process prior, cut off at a number of states.

All recordings share one transition matrix: the baseline of Fox et al. (2011), in the weak limit.

.. math::

    \beta \sim \mathrm{Dir}(\gamma / L, \dots, \gamma / L), \quad \pi_j \sim \mathrm{Dir}(\alpha\beta + \kappa e_j),
    \quad \pi_0 \sim \mathrm{Dir}(\alpha_0 \beta), \quad s_1 \sim \pi_0, \quad s_t \sim \pi_{s_{t-1}},
    \quad x_t \sim \mathcal N(\mu_{s_t}, \Sigma_{s_t}).

In code :math:`\beta` is `weights`, :math:`\gamma` is `mass`, :math:`\alpha + \kappa` is `concentration` and
:math:`\rho = \kappa / (\alpha + \kappa)` is `self_share`.

A sweep draws paths given transitions, and everything else given paths. In between, transitions are integrated out, and
the counts they leave are split over the tables of Chinese restaurants, so that every conditional is a textbook one. The
order matters: each move integrates out what the next ones redraw.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from homothety.arrays import check_count, frozen, read_only
from homothety.distributions.dirichlet import LEAST_PARAMETER, sample_dirichlet
from homothety.distributions.gaussian import gaussian_log_density
from homothety.errors import InputError, SweepError
from homothety.models._parts import ReadOnly, check_array, check_finite, check_labels
from homothety.models.emissions import Emission
from homothety.models.emissions.missing import NO_GAPS, drawn_steps, find_gaps, observed_evidence, values_in
from homothety.models.hmm.labels import NOTHING_KNOWN, held_path
from homothety.models.hmm.messages import draw_path, has_short_stay, mend_short_stays, transition_steps
from homothety.sampling.codec import storable
from homothety.sampling.driver import Move, Recording
from homothety.sampling.trace import RunPath, count_segments, occupancy_entropy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.distributions import NIW
    from homothety.models.emissions.missing import Gaps
    from homothety.models.hmm.labels import KnownLabels
    from homothety.sequences import Sequences

# What may be out of date, and the move that redraws it.
_REDRAWN_BY = {
    "weights": "weights",
    "initial": "transitions",
    "transition": "transitions",
    "means": "emissions",
    "covariances": "emissions",
    "tables": "tables",
}


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
    known : KnownLabels
        Labels of some steps, each of which names a state. Nothing is known if not given.
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
    known: KnownLabels = NOTHING_KNOWN

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
        if len(self.known.steps):
            check_array(self.known.steps, "known.steps", (self.sequences.n_steps,), np.int64)
            object.__setattr__(self, "known", self.known._replace(steps=read_only(self.known.steps), is_state=True))

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
        _path_of(self, state)
        self.known.check(state.path, self.n_states)
        for name in _REDRAWN_BY:
            if name != "tables" and getattr(state, name) is not None:
                check_finite(_part_of(self, state, name), name)
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
        z, path = self.emission.augment_steps(self.sequences.steps), _path_of(self, state)
        drawn = drawn_steps(rng, self.emission, z, path, self.whiteners_of(state), self.gaps)
        return values_in(self.emission, drawn, missing)

    def whiteners_of(self, state: ChainState) -> FloatArray:
        """Return means and covariances in the form of `models/emissions`."""
        means, covariances = _part_of(self, state, "means"), _part_of(self, state, "covariances")
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


def _transition_parameters(state: ChainState, weights: FloatArray) -> FloatArray:
    """Return the Dirichlet parameters of the rows of transitions, (n_states, n_states)."""
    parameters = state.transition_concentration * weights + state.stickiness * np.eye(len(weights))
    return np.maximum(parameters, LEAST_PARAMETER)


def log_path_prior(model: Model, state: ChainState) -> float:
    """Log probability of the paths given weights and concentrations, transitions integrated out.

    Minus infinity if a stay is too short for the model.
    """
    path, weights = _path_of(model, state), _part_of(model, state, "weights")
    if has_short_stay(path, model.sequences.starts, model.least_stay):
        return -np.inf
    rows = _log_polya(model.count_transitions(path), _transition_parameters(state, weights))
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
    _check_whole(state, "The log joint")
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


def _path_of(model: Model, state: ChainState) -> IntArray:
    """Return the path of a state, or raise if it is not of states of the model."""
    return check_labels(state.path, "path", model.sequences.n_steps, model.n_states)


def _part_of(model: Model, state: ChainState, name: str) -> FloatArray:
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


def _check_whole(state: ChainState, needed_by: str = "This move") -> None:
    """Raise if any part of a state is out of date but the tables, which no sweep leaves behind."""
    for part, remedy in _REDRAWN_BY.items():
        if part != "tables" and getattr(state, part) is None:
            raise SweepError(part, remedy, needed_by)


class _PathsInfo(NamedTuple):
    """What one draw of all paths did."""

    n_changed: int
    log_likelihood: float
    """Of all recordings given transitions and emissions, paths summed out."""


def resample_paths(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, _PathsInfo]:
    """Redraw every path given transitions and emissions: forward filtering, backward sampling."""
    from homothety.models.hmm._kernels import Chain

    chain = Chain(np.arange(model.n_states), _part_of(model, state, "initial"), _part_of(model, state, "transition"))
    # One recording at a time: its messages fit the cache, those of all recordings would not.
    draws = [draw_path(rng, evidence, chain, model.least_stay) for evidence in _allowed_evidence(model, state)]
    path = np.concatenate([drawn for drawn, _ in draws])
    info = _PathsInfo(int((path != _path_of(model, state)).sum()), sum(log_likelihood for _, log_likelihood in draws))
    return replace(state, path=path, tables=None), info


def _allowed_evidence(model: Model, state: ChainState) -> Iterator[FloatArray]:
    """Yield the evidence of each recording; labelled steps are left to the state that holds their label."""
    if not len(model.known.steps):
        yield from _evidence_of_series(model, state)
        return
    tags = model.known.tags_of(_path_of(model, state), model.n_states)
    for first, evidence in zip(model.sequences.starts.tolist(), _evidence_of_series(model, state), strict=False):
        yield model.known.rule_out(evidence, tags, first)


def _evidence_of_series(model: Model, state: ChainState) -> Iterator[FloatArray]:
    """Yield the log densities of what is observed of the steps of each recording, (n_steps, n_states)."""
    if len(model.gaps.steps):
        z = model.emission.augment_steps(model.sequences.steps)
        yield from model.sequences.split(observed_evidence(model.emission, z, model.whiteners_of(state), model.gaps))
        return
    means, covariances = _part_of(model, state, "means"), _part_of(model, state, "covariances")
    for series in model.sequences:
        yield gaussian_log_density(series, means, covariances)


def _resample_tables(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw how transitions are seated at tables, and which tables stand for staying, whatever the weights.

    Transitions are integrated out; first states have a restaurant of their own, without stickiness.
    """
    weights, counts = _part_of(model, state, "weights"), model.count_transitions(_path_of(model, state))
    tables = _sample_tables(rng, counts, _transition_parameters(state, weights))
    first = _sample_tables(rng, model.count_starts(state.path), model.initial_concentration * weights)
    staying = np.diagonal(tables)
    # A table of those who stay chose its state by the weights with odds (1 - share) * weight to share.
    by_weight = (1 - state.self_share) * weights
    overrides = rng.binomial(staying, state.self_share / (state.self_share + by_weight))
    considered = tables.sum(axis=0) - overrides + first
    found = Tables(counts.sum(axis=1), int(tables.sum()), int(overrides.sum()), considered)
    return replace(state, tables=found, initial=None, transition=None), ()


def resample_concentration(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw the concentration of a row of transitions, and the share of it that goes to staying.

    Notes
    -----
    As in Escobar and West (1995), one pair of auxiliary variables per row that was left. First states have a fixed
    concentration of their own and do not enter.
    """
    tables: Tables = state.needed("tables")
    n_left = tables.n_left[tables.n_left > 0]
    concentration = sample_concentration(rng, state.concentration, n_left, tables.n_tables, model.concentration_prior)
    staying, leaving = model.self_share_prior
    self_share = rng.beta(staying + tables.n_overrides, leaving + tables.n_tables - tables.n_overrides)
    return replace(state, concentration=concentration, self_share=float(self_share)), ()


def _resample_mass(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw the mass with weights integrated out.

    Notes
    -----
    With finitely many states, the tables that chose one state are customers of one more restaurant each, of
    concentration mass / n_states: their tables are to be counted, not the states that were chosen. The two counts agree
    only as the number of states grows.
    """
    tables: Tables = state.needed("tables")
    considered = tables.n_considered
    parents = _sample_tables(rng, considered, np.full(model.n_states, state.mass / model.n_states))
    mass = sample_concentration(rng, state.mass, considered.sum(keepdims=True), int(parents.sum()), model.mass_prior)
    return replace(state, mass=mass, weights=None), ()


def resample_weights(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw the weights of states given how many tables chose each of them."""
    tables: Tables = state.needed("tables")
    parameters = np.asarray(state.mass / model.n_states + tables.n_considered, dtype=np.float64)
    return replace(state, weights=sample_dirichlet(rng, parameters), tables=None), ()


def _resample_transitions(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw initial and transition probabilities given paths and weights."""
    weights = _part_of(model, state, "weights")
    rows = _transition_parameters(state, weights) + model.count_transitions(_path_of(model, state))
    first = model.initial_concentration * weights + model.count_starts(state.path)
    drawn = replace(state, transition=sample_dirichlet(rng, rows), initial=sample_dirichlet(rng, first))
    return drawn, ()


def resample_emissions(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw mean and covariance of every state given its steps; a state without steps draws from the prior."""
    means, covariances = _sample_gaussians(
        rng, model.base, model.sequences.steps, _path_of(model, state), model.n_states
    )
    return replace(state, means=means, covariances=covariances), ()


def default_sweep() -> dict[str, Move]:
    """Return the moves of one sweep, in order, by name.

    The dictionary may be changed: moves left out, put in another order, or added. In an order in which a move would use
    what an earlier one has left out of date, the move raises a `SweepError` that names the move to put between them.
    """
    return {
        "paths": resample_paths,
        "tables": _resample_tables,
        "concentration": resample_concentration,
        "mass": _resample_mass,
        "weights": resample_weights,
        "transitions": _resample_transitions,
        "emissions": resample_emissions,
    }


# --- draws the moves are made of -------------------------------------------------------------------------------------


def _sample_tables(rng: Generator, n_customers: IntArray, concentrations: FloatArray) -> IntArray:
    """Draw how many tables customers take, in restaurants of any shape.

    The customer after r others opens a table with probability ``a / (a + r)``, a being the concentration; the first
    always does.
    """
    counts = n_customers.ravel()
    restaurants = np.repeat(np.arange(counts.size), counts)
    n_before = np.arange(len(restaurants)) - np.repeat(np.cumsum(counts) - counts, counts)
    concentration = concentrations.ravel()[restaurants]
    opens = (n_before == 0) | (rng.random(len(restaurants)) * (concentration + n_before) < concentration)
    return np.bincount(restaurants[opens], minlength=counts.size).reshape(n_customers.shape)


def sample_concentration(
    rng: Generator, concentration: float, n_customers: IntArray, n_tables: int, prior: tuple[float, float]
) -> float:
    """Redraw the concentration that restaurants share, given their customers (n_restaurants,) and tables in all.

    Parameters
    ----------
    rng : Generator
    concentration : float
        Its present value.
    n_customers : ndarray of shape (n_restaurants,)
        Positive.
    n_tables : int
    prior : tuple of two floats
        Shape and rate of its gamma prior.
    """
    shape, rate = prior
    fractions = rng.beta(concentration + 1, n_customers)
    from_customers = rng.random(len(n_customers)) * (n_customers + concentration) < n_customers
    return float(rng.gamma(shape + n_tables - from_customers.sum(), 1 / (rate - np.log(fractions).sum())))


def _sample_gaussians(
    rng: Generator, base: NIW, steps: FloatArray, path: IntArray, n_states: int
) -> tuple[FloatArray, FloatArray]:
    """Draw means (n_states, n_dims) and covariances (n_states, n_dims, n_dims) from their posteriors (Eq. 34).

    What `NIW.posterior` and `NIW.sample` do, for all states at once.
    """
    sizes, totals, scatters = _sum_by_state(steps - base.mean, path, n_states)
    strengths, n_dims = base.mean_strength + sizes, base.n_dims
    shifts = totals / strengths[:, None]
    roots = np.linalg.cholesky(base.scale + scatters - totals[:, :, None] * shifts[:, None, :])
    triangles = np.tril(rng.standard_normal((n_states, n_dims, n_dims)), -1)
    diagonal = np.arange(n_dims)
    triangles[:, diagonal, diagonal] = np.sqrt(rng.chisquare(base.dof + sizes[:, None] - diagonal))
    spreads = np.linalg.solve(triangles, roots.swapaxes(1, 2)).swapaxes(1, 2)
    noise = np.einsum("kde,ke->kd", spreads, rng.standard_normal((n_states, n_dims)))
    return base.mean + shifts + noise / np.sqrt(strengths)[:, None], spreads @ spreads.swapaxes(1, 2)


def _sum_by_state(centred: FloatArray, path: IntArray, n_states: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return number (n_states,), sum (n_states, n_dims) and sum of outer squares of the steps of every state."""
    n_dims = centred.shape[1]
    order, sizes = np.argsort(path, kind="stable"), np.bincount(path, minlength=n_states)
    totals, scatters = np.zeros((n_states, n_dims)), np.zeros((n_states, n_dims, n_dims))
    for k, members in enumerate(np.split(centred[order], np.cumsum(sizes)[:-1])):
        totals[k] = members.sum(axis=0)
        scatters[k] = members.T @ members
    return sizes, totals, scatters


def _trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:  # noqa: ARG001
    """Return numbers of one sweep that do not depend on how states are numbered."""
    _check_whole(state, "What is recorded of a sweep")
    likelihood = log_likelihood(model, state)
    return {
        "log_joint": log_path_prior(model, state) + likelihood,
        "log_likelihood": likelihood,
        "n_states": state.n_used,
        "n_segments": count_segments(state.path, model.sequences.starts),
        "occupancy_entropy": occupancy_entropy(state.path),
        "mass": state.mass,
        "concentration": state.concentration,
        "self_share": state.self_share,
    }


def _keep_path(state: ChainState) -> RunPath:
    """Return what is kept of a state after burn-in: its path."""
    return RunPath.of(state.path)


RECORDING = Recording(scalars=_trace_scalars, keep=_keep_path)


def init_state(rng: Generator, model: Model, path: ArrayLike | None = None) -> ChainState:
    """Return a state with the given path (n_steps,), by default every recording cut into equal blocks in random order.

    Stays that are too short for the model are mended, and steps whose label is known go to the state of that label.

    Concentrations are at their prior means and weights equal; transitions and emissions are drawn given the path.
    """
    labels = _block_path(rng, model) if path is None else np.array(path, dtype=np.int64)
    staying, leaving = model.self_share_prior
    labels = held_path(labels, model.sequences.starts, model.known, n_states=model.n_states)
    state = ChainState(
        labels,
        mass=model.mass_prior[0] / model.mass_prior[1],
        concentration=model.concentration_prior[0] / model.concentration_prior[1],
        self_share=staying / (staying + leaving),
        weights=np.full(model.n_states, 1 / model.n_states),
    )
    model.check_state(state)
    if model.least_stay > 1:
        path = mend_short_stays(labels, model.sequences.starts, model.least_stay)
        held = held_path(path, model.sequences.starts, model.known, model.least_stay, model.n_states)
        state = replace(state, path=held)
    state, _ = _resample_transitions(rng, model, state)
    return replace(resample_emissions(rng, model, state)[0], step=0)


def _block_path(rng: Generator, model: Model) -> IntArray:
    """Cut every recording into as many equal blocks as there are states, and give them states in random order."""
    blocks = [np.arange(length) * model.n_states // length for length in model.sequences.lengths]
    return np.concatenate([rng.permutation(model.n_states)[block] for block in blocks])
