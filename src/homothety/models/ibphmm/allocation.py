"""Features and paths with parameters integrated out: what splits and merges work on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.arrays import read_only
from homothety.models.hmm.stays import has_short_stay
from homothety.models.ibphmm.blocks import in_blocks, sum_over_blocks
from homothety.models.ibphmm.prior import log_feature_prior, log_path_prior
from homothety.models.ibphmm.statistics import (
    Statistics,
    factors_of,
    log_marginals,
    mean_parameters,
    path_statistics,
    transition_counts,
)

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.ibphmm._split_kernels import Trial
    from homothety.models.ibphmm.model import Model
    from homothety.models.ibphmm.state import ChainState

ANYWHERE = (-1, -1)  # steps of all features may be drawn into any feature


class Concentrations(NamedTuple):
    """The four parameters above features and transitions."""

    gamma: float
    mass: float
    alpha: float
    kappa: float

    @classmethod
    def of(cls, state: ChainState) -> Concentrations:
        """Return those of a state."""
        return cls(state.gamma, state.mass, state.alpha, state.kappa)


@dataclass(frozen=True, eq=False)
class Allocation:
    """Which series has which feature, and the path through them."""

    model: Model
    active: BoolArray  # (n_series, n_features)
    path: IntArray  # (n_steps,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "active", read_only(self.active))
        object.__setattr__(self, "path", read_only(self.path))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.active.shape[1]

    @cached_property
    def statistics(self) -> Statistics:
        """Statistics of every feature."""
        return path_statistics(self.model, self.path, self.n_features)

    @cached_property
    def factors(self) -> FloatArray:
        """Factors of the statistics, (n_features, n, n)."""
        return factors_of(self.model.emission, self.statistics)

    @cached_property
    def log_marginals(self) -> FloatArray:
        """Log marginal likelihood of the steps of every feature, (n_features,)."""
        return log_marginals(self.model.emission, self.statistics, self.factors)

    @cached_property
    def mean_parameters(self) -> FloatArray:
        """Parameters of every feature at their posterior means."""
        return mean_parameters(self.model.emission, self.statistics, self.factors)

    @cached_property
    def counts(self) -> FloatArray:
        """Transitions of every series, (n_series, n_features, n_features)."""
        return transition_counts(self.model, self.path, self.n_features)

    def log_density(self, at: Concentrations) -> float:
        """Log density of features, told apart, paths and data: the target of splits and merges.

        See docs/model.md, section 3.10. Minus infinity if a stay is too short for the model.
        """
        if at not in self._log_densities:
            self._log_densities[at] = self._work_out_log_density(at)
        return self._log_densities[at]

    @cached_property
    def _log_densities(self) -> dict[Concentrations, float]:
        return {}

    def _work_out_log_density(self, at: Concentrations) -> float:
        if has_short_stay(self.path, self.model.starts, self.model.least_stay):
            return -np.inf
        n_owners = self.active.sum(axis=0)
        log_features = log_feature_prior(n_owners, self.model.n_series, at.gamma, at.mass)
        log_paths = log_path_prior(self.counts, self.active, at.alpha, at.kappa, self.model.leaving)
        return log_features + log_paths + float(self.log_marginals.sum())

    def reordered(self, order: IntArray) -> Allocation:
        """Return the same allocation with its features in another order; what is known of them is kept."""
        other = Allocation(self.model, self.active[:, order], np.argsort(order)[self.path])
        other.__dict__["statistics"] = Statistics(*(values[order] for values in self.statistics))
        return other


def make_trial(
    model: Model,
    active: BoolArray,
    path: IntArray,
    whiteners: FloatArray,
    at: Concentrations,
    target: Allocation | None,
    between: tuple[int, int] = ANYWHERE,
) -> Trial:
    """Return what a proposal reads and writes: features and paths, changed in place, and plug-in parameters."""
    from homothety.models.ibphmm._series_kernels import Data
    from homothety.models.ibphmm._split_kernels import Trial

    # A draw follows nothing; a kernel wants arrays all the same. Copies, since kernels are compiled for either kind.
    followed = (path, active) if target is None else (target.path.copy(), target.active.copy())
    emission = model.emission
    settings = (emission.weight, emission.structure, model.least_stay, model.leaving)
    data = Data(model.z, model.starts, whiteners, *settings)
    return Trial(data, active, path, *followed, target is None, at.alpha, at.kappa, between)


def redrawn(
    rng: Generator,
    current: Allocation,
    active: BoolArray,
    owners: IntArray,
    whiteners: FloatArray,
    at: Concentrations,
    target: Allocation | None = None,
    least: float = -np.inf,
    between: tuple[int, int] = ANYWHERE,
) -> tuple[Allocation, float]:
    """Return an allocation of other features whose owners have new paths, the target's if there is one.

    Parameters
    ----------
    current : Allocation
        Where all other paths come from.
    active : ndarray of bool, shape (n_series, n_features)
    owners : ndarray of int
        Series to draw a path for.
    whiteners : ndarray of shape (n_features, n_dims, n)
        Plug-in parameters.
    target : Allocation, optional
        Followed instead of drawing.
    least : float, optional
        Log probability below which minus infinity will do.
    between : tuple of two ints, optional
        Features whose steps are divided between them; all other steps stay where they are.

    Returns
    -------
    proposed : Allocation
    log_probability : float
        Of drawing these paths; minus infinity if a path to follow leaves the features there are.
    """
    from homothety.models.ibphmm._split_kernels import build_workspace, redraw_paths

    model, path = current.model, (current if target is None else target).path.copy()
    trial = make_trial(model, active, path, whiteners, at, target, between)

    def redraw(rng: Generator, series: IntArray, least: float) -> float:
        return redraw_paths(rng, series, least, trial, build_workspace(trial.data, active.shape[1]))

    return Allocation(model, active, path), sum_over_blocks(rng, in_blocks(model, owners), redraw, least)


def put_last(allocation: Allocation, b: int) -> Allocation:
    """Return the same allocation with feature `b` numbered last."""
    return allocation.reordered(np.append(np.delete(np.arange(allocation.n_features), b), b))


def renewed(state: ChainState, allocation: Allocation, ids: IntArray) -> ChainState:
    """Return the state with other features and paths; parameters and weights are out of date."""
    return replace(
        state,
        active=allocation.active,
        path=allocation.path,
        ids=ids,
        next_id=max(state.next_id, int(ids.max()) + 1),
        weights=None,
        whiteners=None,
    )
