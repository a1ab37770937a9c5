"""Features of one series alone are born and die: reversible jumps with paths summed out (section 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.models.ibphmm.statistics import Statistics, empty_statistics, factors_of

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.ibphmm._feature_kernels import Scratch
    from homothety.models.ibphmm.evidence import Evidence
    from homothety.models.ibphmm.model import Model
    from homothety.models.ibphmm.state import ChainState


class Birth(NamedTuple):
    """A feature that was born to a series, with all transition weights of the series, the newborn last."""

    whitener: FloatArray  # (n_dims, n)
    weights: FloatArray  # (n_features + 1, n_features + 1)


class Death(NamedTuple):
    """A feature of a series alone that was dropped."""

    feature: int


Jump = Birth | Death | None


class Window(NamedTuple):
    """The posterior of a stretch of the series: what a new feature may look like."""

    statistics: Statistics
    factors: FloatArray


def birth_probability(n_unique: int, n_active: int) -> float:
    """Return how often a birth is tried rather than a death."""
    return 1.0 if n_unique == 0 or n_active == 1 else 0.5


def log_move_ratio(n_unique: int, n_active: int) -> float:
    """Log of the chance to undo a birth over the chance to try it, at the smaller state."""
    death = (1.0 - birth_probability(n_unique + 1, n_active + 1)) / (n_unique + 1)
    return float(np.log(death / birth_probability(n_unique, n_active)))


def draw_window(rng: Generator, model: Model, start: int, stop: int) -> Window:
    """Draw a stretch of a series, whatever the state of the chain, and return its posterior."""
    from homothety.models.emissions._kernels import add_steps

    shortest, longest = model.proposals.window[0], min(model.proposals.window[1], stop - start)
    length = int(rng.integers(shortest, longest + 1)) if shortest <= longest else stop - start
    first = start + int(rng.integers(stop - start - length + 1))
    statistics = empty_statistics(model.emission, 1)
    zeros = np.zeros(length, dtype=np.int64)
    add_steps(
        model.z[first : first + length], zeros, 0, length, model.emission.weight, statistics.scales, statistics.sizes
    )
    return Window(statistics, factors_of(model.emission, statistics))


def propose_parameters(rng: Generator, model: Model, window: Window) -> FloatArray:
    """Draw parameters of a new feature from the prior, or half of the time from the posterior of the window."""
    from homothety.models.emissions._kernels import draw_whitener

    emission = model.emission
    from_window = model.proposals.birth == "data-driven" and rng.random() < 0.5
    size, factors = (window.statistics.sizes[0], window.factors) if from_window else (0.0, emission.prior_factor)
    whitener = np.empty((emission.n_dims, factors.shape[1]))
    draw_whitener(rng, 0, size, factors, emission.dof, emission.n_regressors, emission.diagonal, whitener)
    return whitener


def log_prior_over_proposal(model: Model, window: Window, whitener: FloatArray) -> float:
    """Log of the prior density of parameters over that of proposing them."""
    from homothety.models.ibphmm._feature_kernels import log_birth_density

    emission = model.emission
    return log_birth_density(
        window.statistics.sizes[0],
        window.factors,
        emission.prior_factor,
        whitener,
        emission.dof,
        emission.n_regressors,
        emission.diagonal,
        model.proposals.birth == "data-driven",
    )


class Series:
    """One series on trial: its features with one slot more, its weights, and its rows of the evidence."""

    def __init__(self, model: Model, state: ChainState, evidence: Evidence, i: int) -> None:
        self.model, self.state, self.i = model, state, i
        self.start, self.stop = model.bounds[i]
        n_features = state.n_features
        self.active: BoolArray = np.append(state.active[i], False)
        self.columns: IntArray = np.append(evidence.columns, evidence.spare)
        self.weights: FloatArray = np.zeros((n_features + 1, n_features + 1))
        self.weights[:-1, :-1] = state.weights[i]
        self.evidence = evidence
        self.rows = evidence.of(self.start, self.stop)

    def log_likelihood(self, scratch: Scratch) -> float:
        """Log-likelihood of the series given its features, paths summed out."""
        from homothety.models.ibphmm._feature_kernels import series_log_likelihood

        return series_log_likelihood(self.active, self.weights, self.columns, *self.rows, scratch)

    def show_newborn(self, whitener: FloatArray | None) -> None:
        """Write the evidence of a feature on trial into the spare column, or clear it."""
        from homothety.models.emissions._kernels import BLOCK, write_evidence
        from homothety.models.hmm._kernels import scale_evidence

        if whitener is None:
            self.rows[0][:, self.evidence.spare] = -np.inf
        else:
            z = self.model.z[self.start : self.stop]
            block = np.empty((z.shape[1] + 2, BLOCK))
            column, weight = self.evidence.spare, self.model.emission.weight
            write_evidence(z, 0, len(z), whitener, weight, column, self.rows[0], block)
        scale_evidence(*self.rows)


def jump(rng: Generator, model: Model, state: ChainState, evidence: Evidence, i: int, scratch: Scratch) -> Jump:
    """Try one birth or death in series `i`; return what happened. Evidence of a newborn stays in the spare column."""
    unique = np.flatnonzero(state.active[i] & (state.active.sum(axis=0) == 1))
    n_unique, n_active = len(unique), int(state.active[i].sum())
    series, window = Series(model, state, evidence, i), draw_window(rng, model, *model.bounds[i])
    log_rate = float(np.log(state.gamma * state.mass / (state.mass + model.n_series - 1)))
    before = series.log_likelihood(scratch)
    if rng.random() < birth_probability(n_unique, n_active):
        whitener = propose_parameters(rng, model, window)
        draw_newborn_weights(rng, series, state.alpha, state.kappa)
        series.show_newborn(whitener)
        log_ratio = series.log_likelihood(scratch) - before + log_rate + log_move_ratio(n_unique, n_active)
        if np.log(rng.random()) < log_ratio + log_prior_over_proposal(model, window, whitener):
            return Birth(whitener, series.weights)
        series.show_newborn(None)
        return None
    k = int(rng.choice(unique))
    series.active[k] = False
    log_ratio = series.log_likelihood(scratch) - before - log_rate - log_move_ratio(n_unique - 1, n_active - 1)
    accepted = np.log(rng.random()) < log_ratio - log_prior_over_proposal(model, window, state.whiteners[k])
    return Death(k) if accepted else None


def draw_newborn_weights(rng: Generator, series: Series, alpha: float, kappa: float) -> None:
    """Give the last slot to a new feature: draw its weights from and to the features of the series."""
    from homothety.models.ibphmm._feature_kernels import LEAST_WEIGHT

    own = np.flatnonzero(series.active)
    series.weights[own, -1] = np.maximum(rng.standard_gamma(alpha, len(own)), LEAST_WEIGHT)
    series.weights[-1, own] = np.maximum(rng.standard_gamma(alpha, len(own)), LEAST_WEIGHT)
    series.weights[-1, -1] = max(rng.standard_gamma(alpha + kappa), LEAST_WEIGHT)
    series.active[-1] = True
