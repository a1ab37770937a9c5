"""What a chain of the IBP-HMM is conditioned on, its joint density, and one point of it.

Recordings share states: which recording has which state follows an Indian buffet process.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy.special import gammaln

from homothety.arrays import check_count, check_positive, read_only, sparse_zeros
from homothety.errors import InputError, SweepError
from homothety.models._parts import ReadOnly, check_array, check_finite, check_labels, check_starts, up_to_date
from homothety.models.emissions.missing import NO_GAPS, drawn_steps, find_gaps, steps_with, values_in
from homothety.models.emissions.regression import Statistics, log_marginals, statistics_of
from homothety.models.hmm.labels import NO_LABELS, NOTHING_KNOWN
from homothety.models.hmm.messages import has_short_stay
from homothety.models.ibphmm._blocks import blocks_of
from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models._parts import MaybeNone
    from homothety.models.emissions import Emission
    from homothety.models.emissions.missing import Gaps
    from homothety.models.hmm.labels import KnownLabels, Tagged
    from homothety.sequences import Sequences

_BirthProposal = Literal["prior", "data-driven"]
# What may be out of date, and the move that redraws it.
_PATH, _WEIGHTS, _WHITENERS = ("path", "paths"), ("weights", "weights"), ("whiteners", "emissions")
_TAGS = ("tags", "labels")


@storable
class GammaPrior(NamedTuple):
    """Gamma distribution by shape and rate."""

    shape: float
    rate: float

    def log_density(self, value: float) -> float:
        """Log density at a positive value."""
        log_constant = self.shape * np.log(self.rate) - gammaln(self.shape)
        return float(log_constant + (self.shape - 1) * np.log(value) - self.rate * value)


_NEAR_ZERO, _ABOUT_ONE, _ABOUT_TEN = GammaPrior(0.5, 0.5), GammaPrior(1.0, 1.0), GammaPrior(1.0, 0.1)


@storable
@dataclass(frozen=True)
class Hyperpriors:
    """Priors of the four parameters above states and transitions.

    Parameters
    ----------
    mass : GammaPrior
        Of the rate of new states.
    concentration : GammaPrior or None
        Of the second parameter of the Indian buffet process; None keeps it where it starts.
    alpha, kappa : GammaPrior
        Of the weight of a transition, and of what a transition to oneself has more.

    Notes
    -----
    Few transitions say little about `alpha` and `kappa`. With much wider priors, such as Gamma(0.01, 0.01), they drift
    over many orders of magnitude, and chains with the same states do not agree.
    """

    mass: GammaPrior = _NEAR_ZERO
    concentration: GammaPrior | None = None
    alpha: GammaPrior = _ABOUT_ONE
    kappa: GammaPrior = _ABOUT_TEN


@dataclass(frozen=True)
class Proposals:
    """How moves propose; none of it changes the posterior.

    Parameters
    ----------
    birth : {"data-driven", "prior"}
        Where the parameters of a new state come from: half of the time from a window of the recording, or never.
    window : tuple of two ints
        Shortest and longest window.
    n_split_merge : int
        Trials of splitting or merging per sweep.
    n_halving : int
        Trials of halving or joining states per sweep.
    n_swaps : int
        Trials of swapping two states in some recordings per sweep.
    n_switches : int
        Most states that a recording tries to switch on or off per sweep, drawn anew each time. Each costs a pass over
        the recording.
    n_concentration : int
        Steps on alpha and kappa per sweep.
    n_buffet : int
        Steps on the concentration per sweep.
    """

    birth: _BirthProposal = "data-driven"
    window: tuple[int, int] = (5, 50)
    n_split_merge: int = 5
    n_halving: int = 5
    n_swaps: int = 5
    n_switches: int = 10
    n_concentration: int = 20
    n_buffet: int = 10


@dataclass(frozen=True, eq=False)
class Model:
    """Recordings, how states emit, and the priors. Never changes.

    Parameters
    ----------
    z : ndarray of shape (n_steps, n_regressors + n_dims)
        Regressors and observation of every step, one recording after the other.
    starts : ndarray of shape (n_recordings + 1,)
    emission : Emission
    hyperpriors : Hyperpriors
    proposals : Proposals
    least_stay : int
        Fewest steps that a state lasts once it is entered. The first and the last stay of a recording may be shorter.
    leaving : float
        Probability of leaving a state at a step at which it may be left; transition weights only say where to then. At
        zero, the default, they say both, and how long states last is inferred.
    leaving_range : tuple of two floats, optional
        Least and largest probability of leaving, between which it is sampled, its logarithm uniform a priori; it starts
        at `leaving`. Fixed if not given.
    gaps : Gaps
        Values of `z` that are missing, and filled in somehow; none if not given. `homothety.models.missing` has the
        chain that draws them.
    known : KnownLabels
        Labels of some steps: each state holds labelled steps of one label at most. Nothing is known if not given.
    """

    z: FloatArray
    starts: IntArray
    emission: Emission
    hyperpriors: Hyperpriors = field(default_factory=Hyperpriors)
    proposals: Proposals = field(default_factory=Proposals)
    least_stay: int = 1
    leaving: float = 0.0
    leaving_range: tuple[float, float] | None = None
    gaps: Gaps = NO_GAPS
    known: KnownLabels = NOTHING_KNOWN

    def __post_init__(self) -> None:
        check_count(self.least_stay, "least_stay")
        if not 0 <= self.leaving < 1:
            raise InputError(f"leaving is {self.leaving}, needed a probability below 1, or 0 to infer it.")
        n_columns = self.emission.n_regressors + self.emission.n_dims
        object.__setattr__(self, "z", read_only(check_array(self.z, "z", (len(self.z), n_columns), np.float64)))
        object.__setattr__(self, "starts", read_only(check_starts(self.starts, len(self.z))))
        if len(self.known.steps):
            steps = read_only(check_array(self.known.steps, "known.steps", (len(self.z),), np.int64))
            object.__setattr__(self, "known", self.known._replace(steps=steps))

    def check_state(self, state: ChainState) -> None:
        """Raise if a state does not fit the self. Parts that are out of date, None, are not looked at."""
        check_finite(self.z, "z")
        n_states = state.n_states
        check_array(state.ids, "ids", (n_states,), np.int64)
        if n_states == 0 or state.ids.min() < 0 or state.ids.max() >= state.next_id:
            raise InputError(
                f"ids are {state.ids.tolist()}, needed one or more numbers from 0 to next_id = {state.next_id}."
            )
        if len(np.unique(state.ids)) < n_states:
            raise InputError(f"ids are {state.ids.tolist()}, needed a different number for each state.")
        active = active_of(self, state)
        if not active.any(axis=0).all():
            raise InputError(f"No recording has state {int(active.any(axis=0).argmin())}, needed at least one.")
        if state.path is not None and not active[self.series_of_steps, path_of(self, state)].all():
            raise InputError("path uses a state in a recording that does not have it.")
        if state.weights is not None:
            weights = weights_of(self, state)[pairs_of(active)]
            if not ((weights > 0) & np.isfinite(weights)).all():
                raise InputError("weights between states of a recording must be finite and above 0.")
        if state.whiteners is not None:
            check_finite(whiteners_of(self, state), "whiteners")
        if len(self.known.steps):
            self._check_labels(state)
        for name in ("mass", "concentration", "alpha", "kappa"):
            check_positive(getattr(state, name), name)
        if not 0 <= state.leaving < 1:
            raise InputError(f"leaving is {state.leaving}, needed a probability below 1.")

    def _check_labels(self, state: ChainState) -> None:
        """Raise if the path of a state, or its tags, do not agree with the known labels."""
        if state.tags is not None:
            tagged_of(self, state)
        if state.path is None:
            return
        self.known.check(state.path, state.n_states)
        held = self.known.tags_of(state.path, state.n_states)
        if state.tags is not None and (state.tags != held)[held >= 0].any():
            raise InputError(f"tags are {state.tags.tolist()}, but the labels that states hold are {held.tolist()}.")

    @classmethod
    def from_sequences(
        cls,
        sequences: Sequences,
        emission: Emission,
        hyperpriors: Hyperpriors | None = None,
        proposals: Proposals | None = None,
        least_stay: int = 1,
    ) -> Model:
        """Build the model of checked sequences."""
        z, starts = emission.augment(sequences)
        return cls(z, starts, emission, hyperpriors or Hyperpriors(), proposals or Proposals(), least_stay)

    def at_weight(self, weight: float) -> Model:
        """Return the model in which a step counts as another share of an observation."""
        return replace(self, emission=replace(self.emission, weight=weight))

    def with_gaps(self, missing: BoolArray) -> Model:
        """Return the model in which some values, (n_steps, n_dims), are missing; they are filled in as they are now."""
        return replace(self, gaps=find_gaps(self.emission, missing, self.starts, self.z))

    def values(self, missing: BoolArray) -> FloatArray:
        """Return what the missing values are filled in with, (n_missing,)."""
        return values_in(self.emission, self.z, missing)

    def with_values(self, missing: BoolArray, values: FloatArray) -> Model:
        """Return the model with other values filled in."""
        return replace(self, z=steps_with(self.emission, self.z, missing, values))

    def draw_values(self, rng: Generator, state: ChainState, missing: BoolArray) -> FloatArray:
        """Draw the missing values given paths and parameters, (n_missing,)."""
        path, whiteners = path_of(self, state), whiteners_of(self, state)
        return values_in(self.emission, drawn_steps(rng, self.emission, self.z, path, whiteners, self.gaps), missing)

    @property
    def n_recordings(self) -> int:
        """Number of recordings."""
        return len(self.starts) - 1

    @property
    def n_steps(self) -> int:
        """Number of steps of all recordings together."""
        return len(self.z)

    @cached_property
    def bounds(self) -> list[tuple[int, int]]:
        """First step of each recording, and the one after its last."""
        return list(zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True))

    @cached_property
    def lengths(self) -> IntArray:
        """Number of steps of each recording."""
        return np.diff(self.starts)

    @property
    def series_of_steps(self) -> IntArray:
        """Recording of every step, (n_steps,)."""
        return np.repeat(np.arange(self.n_recordings), self.lengths)

    def leaving_at(self, state: ChainState) -> float:
        """Return the probability of leaving a state that may be left: that of the chain if it is sampled."""
        return self.leaving if self.leaving_range is None else state.leaving

    def chain_between(self, weights: FloatArray, leaving: float | None = None) -> tuple[FloatArray, FloatArray]:
        """Return start and transition probabilities of a recording with given weights between its states."""
        leaving = self.leaving if leaving is None else leaving
        n = len(weights)
        transition = weights / weights.sum(axis=1, keepdims=True)
        if leaving and n > 1:
            others = np.where(np.eye(n, dtype=bool), 0.0, weights)
            transition = leaving * others / others.sum(axis=1, keepdims=True) + (1 - leaving) * np.eye(n)
        return np.full(n, 1 / n), np.asarray(transition if n > 1 else np.ones((1, 1)))

    @cached_property
    def blocks(self) -> list[IntArray]:
        """Numbers of recordings that one thread works on together."""
        return blocks_of(self.starts)


def log_joint(model: Model, state: ChainState) -> float:
    """Log density of states up to their order, paths and data; parameters and weights integrated out.

    See docs/model.md, section 3.5.

    Minus infinity if a stay is too short for the model. Raises `SweepError` if a part of the state is out of date.
    """
    check_whole(state, "The log joint")
    active, path = active_of(model, state), path_of(model, state)
    if has_short_stay(path, model.starts, model.least_stay):
        return -np.inf
    statistics = path_statistics(model, path, state.n_states)
    counts = transition_counts(model, path, state.n_states)
    n_owners = active.sum(axis=0)
    log_owners = log_owner_prior(n_owners, model.n_recordings, state.mass, state.concentration)
    log_owners -= _log_repeated_unused(active, statistics.sizes > 0)
    log_paths = log_path_prior(counts, active, state.alpha, state.kappa, model.leaving_at(state))
    log_data = log_marginals(model.emission, statistics).sum()
    log_leaving = 0.0
    if model.leaving_range is not None:
        low, high = model.leaving_range
        log_leaving = -float(np.log(state.leaving) + np.log(np.log(high / low)))
    log_labels = model.known.log_prior(path, state.n_states)
    total = float(log_owners + log_paths + log_data + _log_hyperprior(model.hyperpriors, state))
    return total + log_leaving + log_labels


def _log_hyperprior(priors: Hyperpriors, state: ChainState) -> float:
    """Log density of the mass, the concentration (if sampled), alpha and kappa."""
    total = priors.mass.log_density(state.mass) + priors.alpha.log_density(state.alpha)
    total += priors.kappa.log_density(state.kappa)
    return total + (priors.concentration.log_density(state.concentration) if priors.concentration is not None else 0.0)


def expected_new(n_recordings: int, concentration: float) -> float:
    """Return the sum over customers of c / (c + i - 1): how many states a unit of mass is expected to make."""
    return float((concentration / (concentration + np.arange(n_recordings))).sum())


def log_owner_prior(n_owners: FloatArray | IntArray, n_recordings: int, mass: float, concentration: float) -> float:
    """Log density of which recording has which state, states told apart (docs/model.md, section 3.3).

    Parameters
    ----------
    n_owners : ndarray of shape (n_states,)
        How many recordings have each state.
    n_recordings : int
    mass, concentration : float
        The two parameters of the Indian buffet process.
    """
    from homothety.models.ibphmm._kernels import log_owner_density

    return log_owner_density(np.asarray(n_owners, dtype=np.float64), n_recordings, mass, concentration)


def log_path_prior(counts: FloatArray, active: BoolArray, alpha: float, kappa: float, leaving: float = 0.0) -> float:
    """Log probability of the paths of all recordings, transition weights integrated out (docs/model.md, section 3.4).

    Parameters
    ----------
    counts : ndarray of shape (n_recordings, n_states, n_states)
        Transitions of each path.
    active : ndarray of shape (n_recordings, n_states)
    leaving : float
        Fixed probability of leaving a state that may be left; zero if transition weights say that too.
    """
    from homothety.models.ibphmm._kernels import log_path_densities

    check_array(counts, "counts", (*active.shape, active.shape[1]), np.float64)
    return log_path_densities(counts, read_only(active), alpha, kappa, leaving)


def _log_repeated_unused(active: BoolArray, used: BoolArray) -> float:
    """Log of the number of orders of unused states that nobody can tell apart."""
    patterns = Counter(active[:, k].tobytes() for k in np.flatnonzero(~used))
    return float(sum(gammaln(count + 1) for count in patterns.values()))


def path_statistics(model: Model, path: IntArray, n_states: int) -> Statistics:
    """Return the statistics of the states of a path over all recordings."""
    return statistics_of(model.emission, model.z, path, n_states)


def transition_counts(model: Model, path: IntArray, n_states: int) -> FloatArray:
    """Return how often each recording goes from one state to another, (n_recordings, n_states, n_states)."""
    from homothety.models.ibphmm._kernels import count_all_transitions

    check_labels(path, "path", model.n_steps, n_states)
    counts = sparse_zeros((model.n_recordings, n_states, n_states))
    count_all_transitions(read_only(path), model.starts, counts, model.least_stay)
    return counts


@storable
@dataclass(frozen=True, eq=False)
class ChainState(ReadOnly):
    """One point of the chain. Arrays are read-only.

    A part that a move has made out of date is None: `path` after moves that sum paths out, `weights` and `whiteners`
    after moves that integrate these out. After a sweep in the default order nothing is None. Moves read these parts by
    `path_of`, `weights_of` and `whiteners_of`.

    Parameters
    ----------
    active : ndarray of bool, shape (n_recordings, n_states)
        Which recording has which state; every recording has one, every state has a recording.
    ids : ndarray of int, shape (n_states,)
        A number for each state that stays with it for life and is never used again.
    weights : ndarray of shape (n_recordings, n_states, n_states), or None
        Transition weights of each recording between its states, zero elsewhere.
    whiteners : ndarray of shape (n_states, n_dims, n_regressors + n_dims), or None
        Emission parameters, see `models/emissions`.
    path : ndarray of int, shape (n_steps,), or None
        State of every step, all recordings one after the other.
    mass, concentration : float
        Parameters of the Indian buffet process.
    alpha, kappa : float
        Prior weight of a transition, and what a transition to oneself has more.
    next_id : int
        Number of the next state to be born.
    step : int
        Number of sweeps behind this state.
    leaving : float
        Probability of leaving a state that may be left; zero where the weights say that.
    tags : ndarray of int, shape (n_states,), or None
        Label whose steps each state may hold, minus one for none; None where the model knows no labels.
    """

    active: BoolArray
    ids: IntArray
    weights: FloatArray | MaybeNone
    whiteners: FloatArray | MaybeNone
    path: IntArray | MaybeNone
    mass: float
    concentration: float
    alpha: float
    kappa: float
    next_id: int
    step: int = 0
    leaving: float = 0.0
    tags: IntArray | MaybeNone = None

    @property
    def n_states(self) -> int:
        """Number of states that some recording has."""
        return len(self.ids)

    @property
    def id_path(self) -> IntArray:
        """Persistent number of the state of every step, (n_steps,)."""
        return self.ids[up_to_date(self.path, *_PATH)]

    @property
    def n_used(self) -> int:
        """Number of states with at least one step."""
        return int(np.count_nonzero(np.bincount(up_to_date(self.path, *_PATH))))


def active_of(model: Model, state: ChainState) -> BoolArray:
    """Return which recording has which state, or raise if that does not fit the model, or a recording has none."""
    active = check_array(state.active, "active", (model.n_recordings, state.n_states), np.bool_)
    if not active.any(axis=1).all():
        raise InputError(f"Recording {int(active.any(axis=1).argmin())} has no state, needed at least one for each.")
    return active


def path_of(model: Model, state: ChainState) -> IntArray:
    """Return the path, or raise if it is out of date, or has numbers that are not those of states."""
    return check_labels(up_to_date(state.path, *_PATH), "path", model.n_steps, state.n_states)


def weights_of(model: Model, state: ChainState) -> FloatArray:
    """Return the transition weights, or raise if they are out of date, or do not fit the model."""
    shape = (model.n_recordings, state.n_states, state.n_states)
    return check_array(up_to_date(state.weights, *_WEIGHTS), "weights", shape, np.float64)


def whiteners_of(model: Model, state: ChainState) -> FloatArray:
    """Return the emission parameters, or raise if they are out of date, or do not fit the model."""
    shape = (state.n_states, model.emission.n_dims, model.z.shape[1])
    return check_array(up_to_date(state.whiteners, *_WHITENERS), "whiteners", shape, np.float64)


def tagged_of(model: Model, state: ChainState) -> Tagged:
    """Return known labels and the tags of states, or raise if these are out of date, or do not fit the model."""
    if not len(model.known.steps):
        return NO_LABELS
    tags = check_array(up_to_date(state.tags, *_TAGS), "tags", (state.n_states,), np.int64)
    if not -1 <= tags.min() <= tags.max() < model.known.number:
        raise InputError(f"tags are {tags.tolist()}, needed numbers from -1 to {model.known.number - 1}.")
    return model.known.tagged(tags)


def check_whole(state: ChainState, needed_by: str = "This move") -> None:
    """Raise if any part of a state is out of date."""
    for part, remedy in (_PATH, _WEIGHTS, _WHITENERS):
        if getattr(state, part) is None:
            raise SweepError(part, remedy, needed_by)


def check_parts(model: Model, state: ChainState) -> None:
    """Raise if any part of a state is out of date, or does not fit the model: what is quick to check."""
    check_whole(state)
    for part_of in (active_of, path_of, weights_of, whiteners_of):
        part_of(model, state)


def pairs_of(active: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return all pairs of states of the same recording: the recording, and both states, (n_pairs,) each."""
    series, states = np.nonzero(active)
    n_own, first = active.sum(axis=1), np.searchsorted(series, np.arange(len(active)))
    n_partners = n_own[series]
    one = np.repeat(np.arange(len(series)), n_partners)
    within = np.arange(len(one)) - np.repeat(np.cumsum(n_partners) - n_partners, n_partners)
    return series[one], states[one], states[first[series[one]] + within]


def draw_weights(
    rng: Generator, active: BoolArray, counts: FloatArray, alpha: float, kappa: float, leaving: float = 0.0
) -> FloatArray:
    """Draw the transition weights of every recording given its transitions, (n_recordings, n_states, n_states)."""
    from homothety.models.ibphmm._kernels import draw_all_weights

    weights = sparse_zeros(counts.shape)
    draw_all_weights(rng, read_only(active), counts, alpha, kappa, weights, leaving)
    return weights


class Tried(NamedTuple):
    """How many proposals a move made, and how many were accepted."""

    n_tried: int
    n_accepted: int
