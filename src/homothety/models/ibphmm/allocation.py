"""Features and paths with parameters integrated out: what splits, merges and collapsed births work on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.models.ibphmm.prior import log_feature_prior, log_path_prior
from homothety.models.ibphmm.statistics import (
    Statistics,
    log_marginals,
    mean_parameters,
    path_statistics,
    transition_counts,
)

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.ibphmm.model import Model
    from homothety.models.ibphmm.state import ChainState


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

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.active.shape[1]

    @cached_property
    def statistics(self) -> Statistics:
        """Statistics of every feature."""
        return path_statistics(self.model, self.path, self.n_features)

    @cached_property
    def log_marginals(self) -> FloatArray:
        """Log marginal likelihood of the steps of every feature, (n_features,)."""
        return log_marginals(self.model.emission, self.statistics)

    @cached_property
    def mean_parameters(self) -> FloatArray:
        """Parameters of every feature at their posterior means."""
        return mean_parameters(self.model.emission, self.statistics)

    @cached_property
    def counts(self) -> FloatArray:
        """Transitions of every series, (n_series, n_features, n_features)."""
        return transition_counts(self.model, self.path, self.n_features)

    def log_density(self, at: Concentrations) -> float:
        """Log density of features, told apart, paths and data: the target of splits and merges (section 7)."""
        n_owners = self.active.sum(axis=0)
        log_features = log_feature_prior(n_owners, self.model.n_series, at.gamma, at.mass)
        log_paths = log_path_prior(self.counts, self.active, at.alpha, at.kappa)
        return log_features + log_paths + float(self.log_marginals.sum())

    def reordered(self, order: IntArray) -> Allocation:
        """Return the same allocation with its features in another order; what is known of them is kept."""
        other = Allocation(self.model, self.active[:, order], np.argsort(order)[self.path])
        other.__dict__["statistics"] = Statistics(*(values[order] for values in self.statistics))
        return other


class PathProposal:
    """Proposes the path of one series under plug-in parameters, or tells how likely it is to propose a given one.

    Parameters
    ----------
    model : Model
    i : int
        The series.
    features : ndarray of int, shape (n_own,)
        Features it may have.
    whiteners : ndarray of shape (n_features, n_dims, n)
        Plug-in parameters.
    """

    def __init__(
        self, model: Model, i: int, features: IntArray, whiteners: FloatArray, concentrations: Concentrations
    ) -> None:
        from homothety.models.emissions._kernels import BLOCK, write_all_evidence
        from homothety.models.hmm._kernels import scale_evidence
        from homothety.models.ibphmm._feature_kernels import build_scratch

        self.start, self.stop = model.bounds[i]
        self.sticky = (concentrations.alpha, concentrations.kappa)
        self.features = features
        # Columns are those of the features in question alone: most series have few of all there are.
        self.columns = np.full(len(whiteners), len(features))
        self.columns[features] = np.arange(len(features))
        shape = (self.stop - self.start, len(features))
        log, likelihood, offsets = np.empty(shape), np.empty(shape), np.empty(shape[0])
        block = np.empty((model.z.shape[1] + 2, BLOCK))
        write_all_evidence(model.z[self.start : self.stop], 0, shape[0], whiteners[features], log, block)
        scale_evidence(log, offsets, likelihood)
        self.evidence = (log, offsets, likelihood)
        self.scratch = build_scratch(shape[1], shape[0])
        self.positions = np.empty(shape[1], dtype=np.int64)

    def log_likelihood(self, features: IntArray) -> float:
        """Log-likelihood of the series with the given features, paths summed out."""
        from homothety.models.ibphmm._path_kernels import sticky_log_likelihood

        return sticky_log_likelihood(self.columns[features], *self.sticky, *self.evidence, self.scratch)

    def propose(
        self, rng: Generator, features: IntArray, path: IntArray, *, drawn: bool, log_likelihood: float | None = None
    ) -> float:
        """Draw the stretch of `path` of this series, or take it as given; return the log probability of drawing it.

        The log-likelihood with these features, if it is known, need not be worked out again for a given path.
        """
        if drawn:
            stretch = np.empty(self.stop - self.start, dtype=np.int64)
            log_likelihood = self._draw(rng, features, stretch)
            path[self.start : self.stop] = self.features[stretch]
        else:
            stretch = self.columns[path[self.start : self.stop]]
            if stretch.max() == len(self.features):
                return -np.inf
            log_likelihood = self.log_likelihood(features) if log_likelihood is None else log_likelihood
        return self._log_density(features, stretch) - log_likelihood

    def _draw(self, rng: Generator, features: IntArray, stretch: IntArray) -> float:
        from homothety.models.ibphmm._path_kernels import draw_sticky_path

        return draw_sticky_path(rng, self.columns[features], *self.sticky, *self.evidence, self.scratch, stretch)

    def _log_density(self, features: IntArray, stretch: IntArray) -> float:
        from homothety.models.ibphmm._path_kernels import log_sticky_path_density

        arguments = (self.columns[features], *self.sticky, self.evidence[0], self.scratch, self.positions)
        return log_sticky_path_density(*arguments, stretch)
