"""What all estimators share that segment series: preparation of recordings, chains, one answer and how sure it is."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.random import SeedSequence
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from homothety.arrays import check_count
from homothety.errors import InputError, ShortChainWarning
from homothety.estimators.sampled import (
    APART_R_HAT,
    AutoSweeps,
    SampledChains,
    burn_of,
    equal_weights,
    forget_fit,
    most_probable,
    seed_sequence,
    stack_traces,
)
from homothety.models.hmm.left_out import log_left_out
from homothety.models.hmm.states import StateModel
from homothety.models.hmm.stays import mend_short_stays
from homothety.persistence import Saveable
from homothety.preprocessing import Preprocessing
from homothety.sampling.paths import RunPath
from homothety.sampling.stacking import draws_by_weight, leave_one_out, stacking_weights, thinned
from homothety.sequences import check_sequences
from homothety.summaries.partitions import relabel_by_size
from homothety.summaries.paths import (
    BoundaryInterval,
    Segment,
    boundaries_of_table,
    boundary_intervals,
    change_probability,
    colabelling,
    minimise_expected_vi_paths,
    segments_table,
    state_probability,
    table_of_boundaries,
)
from homothety.summaries.runs import PathDraws

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.emissions import Emission
    from homothety.sampling.driver import Recording, Sweep
    from homothety.sampling.trace import Trace
    from homothety.sequences import Sequences


N_PREDICTING = 100  # draws of each chain by which it predicts, where chains do not agree; few make noisy weights
ROUNDING = 1e-12  # spreads below this share of the largest value are none
MOST_OFFSET = 1e5  # of a dimension from zero, in units of its spread: squares keep half of their digits


class Segmenter(Saveable, BaseEstimator):
    """Base of the estimators that segment series.

    Subclasses store `preprocessing` as a constructor parameter and say, in `_segment`, what the paths through prepared
    series are. Paths are reported for every step of the recordings, whatever the preparation left out.
    """

    preprocessing: Preprocessing | None

    paths_: list[IntArray]
    rate_: float | None  # steps per second
    states_: StateModel

    def fit(self, X: Any, y: Any = None, *, lengths: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Segment series.

        Parameters
        ----------
        X : list of array-like of shape (n_steps_i, n_dims), or array-like of shape (n_steps, n_dims)
            Series of any lengths; or all of them one after the other, with `lengths`.
        y : ignored
        lengths : array-like of shape (n_series,), optional
            Steps of each series if `X` is one array.

        Returns
        -------
        self
        """
        forget_fit(self)
        recordings = check_sequences(X, lengths=lengths)
        self.preprocessing_ = self._checked_preprocessing().fit(recordings)
        prepared = self.preprocessing_.transform(recordings)
        check_spread(prepared)
        self.names_, self.starts_, self.rate_ = recordings.names, recordings.starts, recordings.rate
        self._segment(prepared)
        return self

    def fit_predict(self, X: Any, y: Any = None, **options: Any) -> list[IntArray]:
        """Segment series and return the state of every step of each."""
        return self.fit(X, y, **options).paths_

    def _segment(self, prepared: Sequences) -> None:
        raise NotImplementedError

    def _checked_preprocessing(self) -> Preprocessing:
        if self.preprocessing is None:
            return Preprocessing(subsample="auto")
        if not isinstance(self.preprocessing, Preprocessing):
            raise InputError(f"preprocessing is {self.preprocessing!r}, needed a Preprocessing, or None.")
        return self.preprocessing

    @property
    def n_states_(self) -> int:
        """Number of states found."""
        check_is_fitted(self)
        return self.states_.n_states

    @property
    def active_(self) -> BoolArray:
        """Which series visits which state, (n_series, n_states)."""
        check_is_fitted(self)
        return np.stack([np.bincount(path, minlength=self.n_states_) > 0 for path in self.paths_])

    @property
    def means_(self) -> FloatArray:
        """Mean of every state in the units of the recordings, (n_states, n_dims)."""
        check_is_fitted(self)
        if self.states_.order:
            raise AttributeError("An autoregressive state has no mean; see coefficients_.")
        return self.preprocessing_.restore_mean(self.states_.coefficients[:, :, 0])

    @property
    def coefficients_(self) -> FloatArray:
        """Coefficients of every autoregressive state, (n_states, n_dims, n_regressors), as the data were prepared."""
        check_is_fitted(self)
        return self.states_.coefficients

    @property
    def covariances_(self) -> FloatArray:
        """Covariance of every state in the units of the recordings, (n_states, n_dims, n_dims)."""
        check_is_fitted(self)
        return self.preprocessing_.restore_covariance(self.states_.covariances)

    @property
    def transition_probs_(self) -> FloatArray:
        """Probability to go from one state to another by the next step looked at, over all series.

        (n_states, n_states); looks are ``preprocessing_.settings.stride`` steps apart.
        """
        check_is_fitted(self)
        return self.states_.transition

    @property
    def segments_(self) -> list[Segment]:
        """All segments: series, start, end (not included), state and probability."""
        check_is_fitted(self)
        probability = getattr(self, "state_probability_", None)
        flat = None if probability is None else np.concatenate(probability)
        return segments_table(np.concatenate(self.paths_), self.starts_, flat)

    def predict(self, X: Any, *, lengths: ArrayLike | None = None) -> list[IntArray]:
        """Return the most probable path of new series through the states found, one array per series."""
        return [self._expand(self.states_.path(series), n) for series, n in self._prepare_new(X, lengths)]

    def predict_proba(self, X: Any, *, lengths: ArrayLike | None = None) -> list[FloatArray]:
        """Return the probability of each state at each step of new series, (n_steps_i, n_states) for each."""
        return [self._expand(self.states_.probs(series), n) for series, n in self._prepare_new(X, lengths)]

    def score(self, X: Any, y: Any = None, *, lengths: ArrayLike | None = None) -> float:  # noqa: ARG002
        """Return the log-likelihood per step looked at of series under the states found, paths summed out.

        It is a density in the units of the recordings, whatever they were multiplied by.
        """
        series = [prepared for prepared, _ in self._prepare_new(X, lengths)]
        total = sum(self.states_.log_likelihood(one) for one in series)
        log_units = float(np.log(np.abs(self.preprocessing_.factors)).sum())
        return total / sum(len(one) - self.states_.order for one in series) + log_units

    def _prepare_new(self, X: Any, lengths: ArrayLike | None) -> list[tuple[FloatArray, int]]:
        """Return new series as the fit prepared its own, each with its number of steps."""
        check_is_fitted(self)
        least = self.states_.order * self.preprocessing_.settings.stride + 1
        recordings = check_sequences(X, lengths=lengths, min_steps=least, allow_constant=True)
        prepared = self.preprocessing_.transform(recordings, min_steps=1)
        return [(prepared[i], int(n)) for i, n in enumerate(recordings.lengths)]

    def _expand(self, values: Any, n_steps: int) -> Any:
        return self.preprocessing_.expand(values, n_steps)

    def _set_paths(self, prepared: Sequences, point: IntArray) -> None:
        """Report a path through prepared series for every step of the recordings."""
        self.paths_ = self._split(point[self._steps_of_recordings(prepared, self.states_.order)])

    def _steps_of_recordings(self, prepared: Sequences, order: int) -> IntArray:
        """Return, for every step of the recordings, the modelled step whose state it has."""
        where, first = [], 0
        for n_recorded, n_prepared in zip(np.diff(self.starts_), prepared.lengths, strict=True):
            modelled = np.maximum(np.arange(n_prepared) - order, 0)
            where.append(first + self._expand(modelled, int(n_recorded)))
            first += int(n_prepared) - order
        return np.concatenate(where)

    def _split(self, flat: Any) -> list[Any]:
        return [flat[start:stop] for start, stop in zip(self.starts_[:-1], self.starts_[1:], strict=True)]


class SampledSegmenter(SampledChains, Segmenter):
    """Base of the segmenters whose answer is a posterior over paths.

    Subclasses also store `least_stay`.
    """

    auto_sweeps = AutoSweeps(first=200, most=1600, alone=500)

    least_stay: int

    def _sample(
        self, prepared: Sequences, model: Any, start: Any, sweep: Sweep, recording: Recording, emission: Emission
    ) -> None:
        """Run the chains and set everything that follows from them."""
        traces = self._run_chains(model, start, sweep, recording, partial(self._with_numbers, prepared))
        self._check_kept(sum(len(trace.kept) for trace in traces))
        self.n_burn_, self.trace_ = burn_of(traces), stack_traces(traces)
        traces = self._completed(prepared, traces)
        self._answer(prepared, emission, self._pooled(prepared, emission, traces))
        self._warn_unless_chains_agree()

    def _search_rng(self) -> np.random.Generator:
        """Return a generator for what is done before the chains, independent of theirs."""
        # Without a seed, a run that goes on from its checkpoint must find the same starts again.
        seed = seed_sequence(0 if self.random_state is None and self.checkpoint else self.random_state)
        return np.random.default_rng(SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 2**31)))

    def _with_numbers(self, prepared: Sequences, trace: Trace) -> Trace:  # noqa: ARG002
        """Return a trace with all numbers by which chains are compared while they run."""
        return trace

    def _completed(self, prepared: Sequences, traces: list[Trace]) -> list[Trace]:  # noqa: ARG002
        """Add to `trace_` what is known of all kept draws only afterwards; return traces with that beside each draw."""
        return traces

    def _pooled(self, prepared: Sequences, emission: Emission, traces: list[Trace]) -> list[Trace]:
        """Return the draws of every chain that count, and set the weights of chains.

        Where chains agree, all draws count. Where they do not, chains get weights by stacking, and contribute draws in
        proportion to them.
        """
        self.chain_weights_, n_kept = equal_weights(traces), [len(trace.kept) for trace in traces]
        chosen = [np.arange(number) for number in n_kept]
        if self._warned_of(APART_R_HAT) and min(n_kept) > 0:
            left_out = [self._log_left_out(prepared, emission, trace) for trace in traces]
            self.chain_weights_ = stacking_weights(np.column_stack(left_out))
            chosen = draws_by_weight(self.chain_weights_, n_kept)
        return [trace.taken(which) for trace, which in zip(traces, chosen, strict=True)]

    def _log_left_out(self, prepared: Sequences, emission: Emission, trace: Trace) -> FloatArray:
        """Return how well a chain predicts every look from the others, (n_looks,), by some of its draws."""
        rng = np.random.default_rng(0)  # the same for all chains, so that equal chains have equal weights
        draws = [trace.kept[number] for number in thinned(len(trace.kept), N_PREDICTING)]
        return leave_one_out(np.stack([self._log_left_out_of(rng, prepared, emission, draw) for draw in draws]))

    def _log_left_out_of(self, rng: Generator, prepared: Sequences, emission: Emission, draw: Any) -> FloatArray:
        """Return how well parameters that follow from one draw predict every look from the others, (n_looks,)."""
        path = draw if isinstance(draw, RunPath) else draw.path
        return log_left_out(rng, emission, *emission.augment(prepared), path.expand())

    def _answer(self, prepared: Sequences, emission: Emission, traces: list[Trace]) -> IntArray:
        """Set draws, point estimate, states and uncertainty from the draws of all chains that count.

        The path over modelled steps that is reported is returned.
        """
        augmented = PathDraws.of([path for trace in traces for path in trace.kept])
        point = relabel_by_size(augmented[most_probable(traces)])
        least_stay = self._least_stay_in_looks()
        if self.point_estimate == "vi":
            point = minimise_expected_vi_paths(list(augmented))
            if least_stay > 1:  # what draws agree on may have stays that none of them has
                point = relabel_by_size(mend_short_stays(point, emission.augment(prepared)[1], least_stay))
        self.states_ = StateModel.from_path(emission, prepared, point, least_stay)
        where = self._steps_of_recordings(prepared, emission.order)
        self.draws_ = PathDraws.of([RunPath.of(path[where]) for path in augmented])
        self._report(point[where])
        return point

    def _least_stay_in_looks(self) -> int:
        """Return the least stay, which is in steps of the recordings, in steps that are looked at, rounded up."""
        n_steps = check_count(self.least_stay, "least_stay")
        return -(-n_steps // self.preprocessing_.settings.stride)

    def _check_kept(self, n_kept: int) -> None:
        if not n_kept:
            raise KeyboardInterrupt("Interrupted before any sweep after burn-in: there is nothing to report.")
        if self.interrupted_:
            message = f"Interrupted: the answer rests on the {n_kept} sweeps kept until then."
            warnings.warn(message, ShortChainWarning, stacklevel=5)

    def _report(self, point: IntArray) -> None:
        """Set paths and how sure they are, for every step of the recordings."""
        draws, stride = list(self.draws_), self.preprocessing_.settings.stride
        self.paths_ = self._split(point)
        self.state_probability_ = self._split(state_probability(point, draws, self.starts_, stride))
        self.change_probability_ = self._split(change_probability(draws, self.starts_))
        self.boundary_table_ = table_of_boundaries(boundary_intervals(point, draws, self.starts_, stride=stride))

    @property
    def boundaries_(self) -> list[BoundaryInterval]:
        """Every change of state with the interval that holds it with a probability of 90 %."""
        check_is_fitted(self)
        return boundaries_of_table(self.boundary_table_)

    @property
    def acceptance_(self) -> dict[str, float]:
        """Share of proposals accepted after burn-in, by move."""
        check_is_fitted(self)
        prefix = "acceptance: "
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a move that never proposed has no share
            return {
                name.removeprefix(prefix): float(np.nanmean(values[:, self.n_burn_ :]))
                for name, values in self.trace_.items()
                if name.startswith(prefix)
            }

    def colabelling(self, rows: ArrayLike, columns: ArrayLike) -> FloatArray:
        """Return the probability that two steps have the same state, for chosen steps only.

        Parameters
        ----------
        rows, columns : array-like of int
            Steps, counted over all series one after the other.

        Returns
        -------
        probability : ndarray of shape (n_rows, n_columns)
        """
        check_is_fitted(self)
        return colabelling(list(self.draws_), rows, columns, self.starts_, self.preprocessing_.settings.stride)

    def _compared_of(self, traced: Collection[str]) -> list[str]:
        names = super()._compared_of(traced)
        if "action_entropy" not in names:
            return names
        # Chains may differ in the states that they group into the same actions.
        return [name for name in names if "action" in name or name == "log_joint"]


def check_spread(prepared: Sequences) -> None:
    """Raise for a dimension that stands still once it is prepared, or is too far from zero to be computed with."""
    spread, offset = prepared.steps.std(axis=0), np.abs(prepared.steps.mean(axis=0))
    still = np.flatnonzero(~(spread > ROUNDING * np.abs(prepared.steps).max(axis=0)))
    if still.size:
        raise InputError(
            f"Dimension {still[0]} of the prepared series is the same at every step looked at. Leave it out, or "
            "prepare it in another way: other steps, no velocities, or centred over all series instead of each."
        )
    far = np.flatnonzero(offset > MOST_OFFSET * spread)
    if far.size:
        raise InputError(
            f"Dimension {far[0]} varies by {spread[far[0]]:.3g} about {offset[far[0]]:.3g}: too little, so far from "
            "zero, to be computed with. Centre the recordings: Preprocessing(centre='all')."
        )
