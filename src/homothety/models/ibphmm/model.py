"""What a chain of the IBP-HMM is conditioned on, and its joint density."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy.special import gammaln

from homothety.arrays import check_count, read_only
from homothety.errors import InputError
from homothety.models.emissions.missing import NO_GAPS, drawn_steps, find_gaps, steps_with, values_in
from homothety.models.hmm.stays import has_short_stay
from homothety.models.ibphmm.blocks import blocks_of
from homothety.models.ibphmm.statistics import log_marginals, path_statistics, transition_counts
from homothety.models.parts import check_array, check_starts
from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.emissions import Emission
    from homothety.models.emissions.missing import Gaps
    from homothety.models.ibphmm.state import ChainState
    from homothety.sequences import Sequences


BirthProposal = Literal["prior", "data-driven"]


@storable
class GammaPrior(NamedTuple):
    """Gamma distribution by shape and rate."""

    shape: float
    rate: float

    def log_density(self, value: float) -> float:
        """Log density at a positive value."""
        log_constant = self.shape * np.log(self.rate) - gammaln(self.shape)
        return float(log_constant + (self.shape - 1) * np.log(value) - self.rate * value)


NEAR_ZERO, ABOUT_ONE, ABOUT_TEN = GammaPrior(0.5, 0.5), GammaPrior(1.0, 1.0), GammaPrior(1.0, 0.1)


@storable
@dataclass(frozen=True)
class Hyperpriors:
    """Priors of the four parameters above features and transitions.

    Parameters
    ----------
    gamma : GammaPrior
        Of the rate of new features.
    mass : GammaPrior or None
        Of c, the second parameter of the Indian buffet process; None keeps it where it starts.
    alpha, kappa : GammaPrior
        Of the weight of a transition, and of what a transition to oneself has more.

    Notes
    -----
    Few transitions say little about `alpha` and `kappa`. With much wider priors, such as Gamma(0.01, 0.01), they drift
    over many orders of magnitude, and chains with the same states do not agree.
    """

    gamma: GammaPrior = NEAR_ZERO
    mass: GammaPrior | None = None
    alpha: GammaPrior = ABOUT_ONE
    kappa: GammaPrior = ABOUT_TEN


@dataclass(frozen=True)
class Proposals:
    """How moves propose; none of it changes the posterior.

    Parameters
    ----------
    birth : {"data-driven", "prior"}
        Where the parameters of a new feature come from: half of the time from a window of the series, or never.
    window : tuple of two ints
        Shortest and longest window.
    n_split_merge : int
        Trials of splitting or merging per sweep.
    n_halving : int
        Trials of halving or joining features per sweep.
    n_swaps : int
        Trials of swapping two states in some series per sweep.
    n_switches : int
        Most features that a series tries to switch on or off per sweep, drawn anew each time. Each costs a pass over
        the series.
    n_concentration : int
        Steps on alpha and kappa per sweep.
    n_mass : int
        Steps on c per sweep.
    """

    birth: BirthProposal = "data-driven"
    window: tuple[int, int] = (5, 50)
    n_split_merge: int = 5
    n_halving: int = 5
    n_swaps: int = 5
    n_switches: int = 10
    n_concentration: int = 20
    n_mass: int = 10


@dataclass(frozen=True, eq=False)
class Model:
    """Series, how states emit, and the priors. Never changes.

    Parameters
    ----------
    z : ndarray of shape (n_steps, n_regressors + n_dims)
        Regressors and observation of every step, one series after the other.
    starts : ndarray of shape (n_series + 1,)
    emission : Emission
    hyperpriors : Hyperpriors
    proposals : Proposals
    least_stay : int
        Fewest steps that a state lasts once it is entered. The first and the last stay of a series may be shorter.
    leaving : float
        Probability of leaving a state at a step at which it may be left; transition weights only say where to then. At
        zero, the default, they say both, and how long states last is inferred.
    leaving_range : tuple of two floats, optional
        Least and largest probability of leaving, between which it is sampled, its logarithm uniform a priori; it starts
        at `leaving`. Fixed if not given.
    gaps : Gaps
        Values of `z` that are missing, and filled in somehow; none if not given. `homothety.models.missing` has the
        chain that draws them.
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

    def __post_init__(self) -> None:
        check_count(self.least_stay, "least_stay")
        if not 0 <= self.leaving < 1:
            raise InputError(f"leaving is {self.leaving}, needed a probability below 1, or 0 to infer it.")
        n_columns = self.emission.n_regressors + self.emission.n_dims
        object.__setattr__(self, "z", read_only(check_array(self.z, "z", (len(self.z), n_columns), np.float64)))
        object.__setattr__(self, "starts", read_only(check_starts(self.starts, len(self.z))))

    def check_state(self, state: ChainState) -> None:
        """Raise if a state does not fit this model."""
        from homothety.models.ibphmm.state import check_state

        check_state(self, state)

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
        from homothety.models.ibphmm.state import path_of, whiteners_of

        path, whiteners = path_of(self, state), whiteners_of(self, state)
        return values_in(self.emission, drawn_steps(rng, self.emission, self.z, path, whiteners, self.gaps), missing)

    @property
    def n_series(self) -> int:
        """Number of series."""
        return len(self.starts) - 1

    @property
    def n_steps(self) -> int:
        """Number of steps of all series together."""
        return len(self.z)

    @cached_property
    def bounds(self) -> list[tuple[int, int]]:
        """First step of each series, and the one after its last."""
        return list(zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True))

    @cached_property
    def lengths(self) -> IntArray:
        """Number of steps of each series."""
        return np.diff(self.starts)

    @property
    def series_of_steps(self) -> IntArray:
        """Series of every step, (n_steps,)."""
        return np.repeat(np.arange(self.n_series), self.lengths)

    def leaving_at(self, state: ChainState) -> float:
        """Return the probability of leaving a state that may be left: that of the chain if it is sampled."""
        return self.leaving if self.leaving_range is None else state.leaving

    def chain_between(self, weights: FloatArray, leaving: float | None = None) -> tuple[FloatArray, FloatArray]:
        """Return start and transition probabilities of a series with given weights between its features."""
        leaving = self.leaving if leaving is None else leaving
        n = len(weights)
        transition = weights / weights.sum(axis=1, keepdims=True)
        if leaving and n > 1:
            others = np.where(np.eye(n, dtype=bool), 0.0, weights)
            transition = leaving * others / others.sum(axis=1, keepdims=True) + (1 - leaving) * np.eye(n)
        return np.full(n, 1 / n), np.asarray(transition if n > 1 else np.ones((1, 1)))

    @cached_property
    def blocks(self) -> list[IntArray]:
        """Numbers of series that one thread works on together."""
        return blocks_of(self.starts)


def log_joint(model: Model, state: ChainState) -> float:
    """Log density of features up to their order, paths and data; parameters and weights integrated out.

    See docs/model.md, section 3.5.

    Minus infinity if a stay is too short for the model. Raises `SweepError` if a part of the state is out of date.
    """
    from homothety.models.ibphmm.state import active_of, check_whole, path_of

    check_whole(state, "The log joint")
    active, path = active_of(model, state), path_of(model, state)
    if has_short_stay(path, model.starts, model.least_stay):
        return -np.inf
    statistics = path_statistics(model, path, state.n_features)
    counts = transition_counts(model, path, state.n_features)
    n_owners = active.sum(axis=0)
    log_features = log_feature_prior(n_owners, model.n_series, state.gamma, state.mass)
    log_features -= log_repeated_unused(active, statistics.sizes > 0)
    log_paths = log_path_prior(counts, active, state.alpha, state.kappa, model.leaving_at(state))
    log_data = log_marginals(model.emission, statistics).sum()
    log_leaving = 0.0
    if model.leaving_range is not None:
        low, high = model.leaving_range
        log_leaving = -float(np.log(state.leaving) + np.log(np.log(high / low)))
    return float(log_features + log_paths + log_data + log_hyperprior(model.hyperpriors, state)) + log_leaving


def log_hyperprior(priors: Hyperpriors, state: ChainState) -> float:
    """Log density of gamma, c (if sampled), alpha and kappa."""
    total = priors.gamma.log_density(state.gamma) + priors.alpha.log_density(state.alpha)
    total += priors.kappa.log_density(state.kappa)
    return total + (priors.mass.log_density(state.mass) if priors.mass is not None else 0.0)


def expected_new(n_series: int, mass: float) -> float:
    """Return the sum over customers of c / (c + i - 1): how many features a unit of gamma is expected to make."""
    return float((mass / (mass + np.arange(n_series))).sum())


def log_feature_prior(n_owners: FloatArray | IntArray, n_series: int, gamma: float, mass: float) -> float:
    """Log density of which series has which feature, features told apart (docs/model.md, section 3.3).

    Parameters
    ----------
    n_owners : ndarray of shape (n_features,)
        How many series have each feature.
    n_series : int
    gamma, mass : float
        The two parameters of the Indian buffet process.
    """
    from homothety.models.ibphmm._feature_kernels import log_feature_density

    return log_feature_density(np.asarray(n_owners, dtype=np.float64), n_series, gamma, mass)


def log_path_prior(counts: FloatArray, active: BoolArray, alpha: float, kappa: float, leaving: float = 0.0) -> float:
    """Log probability of the paths of all series, transition weights integrated out (docs/model.md, section 3.4).

    Parameters
    ----------
    counts : ndarray of shape (n_series, n_features, n_features)
        Transitions of each path.
    active : ndarray of shape (n_series, n_features)
    leaving : float
        Fixed probability of leaving a state that may be left; zero if transition weights say that too.
    """
    from homothety.models.ibphmm._feature_kernels import log_path_densities

    check_array(counts, "counts", (*active.shape, active.shape[1]), np.float64)
    return log_path_densities(counts, read_only(active), alpha, kappa, leaving)


def log_repeated_unused(active: BoolArray, used: BoolArray) -> float:
    """Log of the number of orders of unused features that nobody can tell apart."""
    patterns = Counter(active[:, k].tobytes() for k in np.flatnonzero(~used))
    return float(sum(gammaln(count + 1) for count in patterns.values()))
