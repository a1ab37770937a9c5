"""Base classes of estimators that segment recordings: preparation, chains, point estimate and uncertainty."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.random import SeedSequence
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from homothety.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    check_count,
    check_option,
    mean_of_known,
    variance_of_known,
)
from homothety.datasets import SequenceSet
from homothety.errors import DataWarning, InputError
from homothety.estimators._known_labels import labels_of_modelled, labels_of_steps, over_all_steps
from homothety.estimators.sampled import (
    APART_R_HAT,
    AutoSweeps,
    Fitted,
    ResultPart,
    SampledChains,
    depth_in_library,
    most_probable,
    seed_sequence,
)
from homothety.models import missing
from homothety.models.emissions.missing import augmented
from homothety.models.hmm.labels import NOTHING_KNOWN, KnownLabels, held_path
from homothety.models.hmm.messages import mend_short_stays
from homothety.models.hmm.states import Imputed, StateModel, impute_steps, log_left_out
from homothety.preprocessing import FittedPreprocessing, Preprocessing
from homothety.quality import UNMEASURED, Quality, examine
from homothety.sampling.diagnostics import draws_by_weight, leave_one_out, stacking_weights, thinned
from homothety.sampling.trace import RunPath
from homothety.sequences import check_sequences
from homothety.summaries.partitions import relabel_by_size
from homothety.summaries.paths import (
    BoundaryInterval,
    PathDraws,
    Segment,
    boundary_intervals,
    change_probability,
    colabelling,
    minimise_expected_vi_paths,
    state_probability,
)
from homothety.summaries.result import Labels, Segmentation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.estimators.sampled import RandomState
    from homothety.models.emissions import Emission
    from homothety.sampling.driver import Recording, Sweep
    from homothety.sampling.trace import Trace
    from homothety.sequences import Sequences


Missing = Literal["random", "error"]
Outliers = Literal["missing", "keep"]

_NO_STATES = StateModel(np.ones(0), np.ones((0, 0)), np.ones((0, 0, 0)), np.ones((0, 0, 0)))  # before a fit knows any
_N_PREDICTING = 100  # draws of each chain by which it predicts, where chains do not agree; few make noisy weights
_ROUNDING = 1e-12  # spreads below this share of the largest value are none
_MOST_OFFSET = 1e5  # of a dimension from zero, in units of its spread: squares keep half of their digits


class Segmenter(Fitted, BaseEstimator):
    """Base of the estimators that segment recordings.

    Subclasses store `preprocessing` as a constructor parameter and say, in `_segment`, what the paths through prepared
    recordings are. Paths are reported for every step of the recordings, whatever the preparation left out.
    """

    preprocessing: Preprocessing | None
    missing: Missing = "error"
    outliers: Outliers = "keep"

    result_: Segmentation
    names_ = ResultPart[tuple[str, ...]]("names")
    starts_ = ResultPart[IntArray]("states.starts")
    preprocessing_ = ResultPart[FittedPreprocessing]("preparation")
    findings_ = ResultPart[tuple[str, ...]]("findings")
    states_ = ResultPart[StateModel]("parameters")
    paths_ = ResultPart[list[IntArray]]("states.paths")
    n_states_ = ResultPart[int]("parameters.n_states")
    active_ = ResultPart[BoolArray]("states.active")
    segments_ = ResultPart[list[Segment]]("states.segments")
    covariances_ = ResultPart[FloatArray]("covariances")
    transition_probs_ = ResultPart[FloatArray]("parameters.transition")
    coefficients_ = ResultPart[FloatArray]("parameters.coefficients")

    def fit(self, X: Any, y: Any = None, *, lengths: ArrayLike | None = None) -> Self:
        """Segment recordings.

        Parameters
        ----------
        X : list of array-like of shape (n_steps_i, n_dims), or array-like of shape (n_steps, n_dims)
            Recordings of any lengths; or all of them one after the other, with `lengths`.
        y : list of array-like of int, shape (n_steps_i,), or array-like of int, shape (n_steps,), optional
            Known labels of steps, -1 where unknown; None in a list for a recording without labels. What is reported
            agrees with them, by numbers of its own: equal labels are one state, different labels different states. With
            `ICSCHMM` they are labels of actions. `HMMSelection` takes none, and ignores them.
        lengths : array-like of shape (n_recordings,), optional
            Steps of each recording if `X` is one array.

        Returns
        -------
        self
        """
        self._begin_fit()
        recordings = check_sequences(X, lengths=lengths, allow_missing=self._allows_missing())
        quality = self._examined(recordings)
        recordings = quality.cleaned(recordings)
        asked = self._checked_preprocessing()
        preparation = asked.fit(recordings)
        prepared = preparation.transform(recordings)
        _check_spread(prepared)
        self._begin_result(recordings, preparation, stride_is_measured=asked.subsample == "auto")
        self._amend(findings=quality.lines)
        self._take_labels(y, recordings)
        self._segment(prepared)
        self._amend(provenance=self._provenance())
        return self

    def fit_predict(self, X: Any, y: Any = None, **options: Any) -> list[IntArray]:
        """Segment recordings and return the state of every step of each."""
        return self.fit(X, y, **options).paths_

    def _allows_missing(self) -> bool:
        """Return whether recordings may have missing values."""
        check_option(self.missing, "missing", get_args(Missing))
        return self.missing == "random"

    def _takes_outliers_out(self) -> bool:
        """Return whether outliers and values of dead sensors are treated as missing."""
        check_option(self.outliers, "outliers", get_args(Outliers))
        return self.outliers == "missing" and self._allows_missing()

    def _quality(self, recordings: Sequences) -> Quality:
        """Return faults of recordings."""
        return examine(recordings, as_missing=self._takes_outliers_out())

    def _examined(self, recordings: Sequences) -> Quality:
        """Return faults of the recordings of a fit, and warn of them."""
        quality = self._quality(recordings)
        _warn_of(quality.lines)
        return quality

    def _cleaned(self, recordings: Sequences) -> Sequences:
        """Return new recordings with outliers and values of dead sensors set to NaN, with warnings."""
        if not self._takes_outliers_out():
            return recordings
        quality = self._quality(recordings)
        _warn_of([one.text for one in quality.findings if one.kind in UNMEASURED])
        return quality.cleaned(recordings)

    def _take_labels(self, y: Any, recordings: Sequences) -> None:
        """Keep what is known of the labels of steps; nothing where the model has no use for it."""

    def _segment(self, prepared: Sequences) -> None:
        raise NotImplementedError

    def _checked_preprocessing(self) -> Preprocessing:
        if self.preprocessing is None:
            return Preprocessing(subsample="auto")
        if not isinstance(self.preprocessing, Preprocessing):
            raise InputError(f"preprocessing is {self.preprocessing!r}, needed a Preprocessing, or None.")
        return self.preprocessing

    def _begin_result(
        self, recordings: Sequences, preparation: FittedPreprocessing, *, stride_is_measured: bool
    ) -> None:
        """Set a result that has the recordings, but no states yet."""
        self.result_ = Segmentation(
            provenance=self._provenance(),
            names=recordings.names,
            channels=tuple(recordings.channels or ()),
            rate=recordings.rate,
            preparation=preparation,
            stride_is_measured=stride_is_measured,
            states=Labels(flat=np.zeros(recordings.n_steps, dtype=np.int64), starts=recordings.starts),
            parameters=_NO_STATES,
        )

    @property
    def rate_(self) -> float | None:
        """Steps per second; None where the recordings do not say."""
        check_is_fitted(self)
        return self.result_.rate

    @property
    def means_(self) -> FloatArray:
        """Mean of every state in the units of the recordings, (n_states, n_dims)."""
        check_is_fitted(self)
        means = self.result_.means
        if means is None:
            raise AttributeError("An autoregressive state has no mean; see coefficients_.")
        return means

    def predict(self, X: Any, *, lengths: ArrayLike | None = None) -> list[IntArray]:
        """Return the most probable path of each new recording, given the states of the fit."""
        return [self._expand(states.path(series), n) for states, series, n in self._prepare_new(X, lengths)]

    def predict_proba(self, X: Any, *, lengths: ArrayLike | None = None) -> list[FloatArray]:
        """Return the probability of each state at each step of new recordings, (n_steps_i, n_states) for each."""
        return [self._expand(states.probs(series), n) for states, series, n in self._prepare_new(X, lengths)]

    def score(self, X: Any, y: Any = None, *, lengths: ArrayLike | None = None) -> float:  # noqa: ARG002
        """Return the log-likelihood per used step of recordings given the states of the fit, summed over paths.

        It is a density in the units of the recordings, whatever they were multiplied by.
        """
        series = [prepared for _, prepared, _ in self._prepare_new(X, lengths)]
        total = sum(self.states_.log_likelihood(one) for one in series)
        log_units = np.log(np.abs(self.preprocessing_.factors))
        n_looks = sum(len(one) - self.states_.order for one in series)
        # Missing values have no density, and so no unit.
        n_missing = sum(np.isnan(one).sum(axis=0) for one in series)
        return total / n_looks + float(log_units.sum() - n_missing @ log_units / n_looks)

    def impute(self, X: Any, *, lengths: ArrayLike | None = None, level: float = 0.9) -> list[Imputed]:
        """Return recordings with missing values replaced by their expectation given the states, with intervals.

        Parameters
        ----------
        X : recordings
            Those of the fit, or new ones, as `fit` takes them.
        lengths : array-like of shape (n_series,), optional
            Steps of each recording if `X` is one array.
        level : float, default=0.9
            Probability that an interval holds the value.

        Returns
        -------
        imputed : list of Imputed
            For each recording `values`, `lower` and `upper`, of shape (n_steps_i, n_dims) each. Where a value is
            observed, all three are that value; outliers count as missing if the fit treats them so. A coordinate of a
            point or vector that a recording with a frame of its own lacks at all steps stays NaN, because its position
            along this coordinate is unknown.

        Notes ----- What is missing at a step follows the Gaussians of the states given the observed channels of the
        step, weighted by the probabilities of the states given the whole recording. States are held at their posterior
        means. Neighbouring steps are used for the state only: where a recording moves slowly, linear interpolation of
        short gaps may be more accurate. If recordings are smoothed, intervals are those of smoothed values.
        """
        check_is_fitted(self)
        if not 0 < level < 1:
            raise InputError(f"level is {level!r}, needed a probability between 0 and 1.")
        settings = self.preprocessing_.settings
        if self.states_.order or settings.velocities == "replace":
            raise InputError(
                "Only positions under Gaussian states can be imputed. Use emission='gaussian', and no velocities, or "
                "velocities='append'.",
                "emission",
                "velocities",
            )
        recordings = check_sequences(X, lengths=lengths, min_steps=1, allow_constant=True, allow_missing=True)
        return self._imputed(recordings, level)

    def _imputed(self, recordings: Sequences, level: float) -> list[Imputed]:
        """Return recordings with their missing values filled in."""
        settings, n_dims, imputed = self.preprocessing_.settings, recordings.n_dims, []
        recordings = self._cleaned(recordings)
        means, covariances = self.means_[:, :n_dims], self.covariances_[:, :n_dims, :n_dims]
        for one, probs in zip(recordings, self.predict_proba(recordings), strict=True):
            middle = mean_of_known(one[:: settings.stride]) if settings.centre == "series" else 0.0
            imputed.append(impute_steps(one, probs, means + middle, covariances, level))
        return imputed

    def apply(self, X: Any, *, lengths: ArrayLike | None = None) -> Segmentation:
        """Return states and, if the model has them, actions and frames of new recordings.

        Parameters
        ----------
        X : recordings
            New recordings, as `fit` takes them.
        lengths : array-like of shape (n_series,), optional
            Steps of each recording if `X` is one array.

        Returns
        -------
        result : Segmentation
            With the numbers of states and actions of the fit. Probabilities are given the parameters of the fit.
        """
        check_is_fitted(self)
        recordings = check_sequences(
            X, lengths=lengths, allow_constant=True, min_steps=1, allow_missing=self._allows_missing()
        )
        return self._applied(recordings, self._prepare_new(recordings, None), findings=self._quality(recordings).lines)

    def _applied(
        self, recordings: Sequences, prepared: list[tuple[StateModel, FloatArray, int]], **parts: Any
    ) -> Segmentation:
        """Return the result for new recordings: the states as each shows them, what is prepared of it, its length."""
        found = self.result_
        path = np.concatenate([self._expand(states.path(one), n) for states, one, n in prepared])
        probs = np.concatenate([self._expand(states.probs(one), n) for states, one, n in prepared])
        steps, starts = np.arange(len(path)), recordings.starts
        actions = None
        if found.actions is not None and found.state_actions is not None:
            groups, number = found.state_actions[path], found.actions.number
            of_actions = probs @ np.eye(number)[found.state_actions]
            actions = Labels(flat=groups, starts=starts, sure=of_actions[steps, groups], n_labels=number)
        left_out: dict[str, Any] = dict.fromkeys(("coaction", "transform_table", "merges", "merge_gains", "chains"))
        return replace(
            found,
            **(left_out | parts),
            names=recordings.names,
            channels=tuple(recordings.channels or ()),
            rate=recordings.rate,
            provenance=replace(found.provenance, applied=True, source="", seconds=None),
            states=Labels(flat=path, starts=starts, sure=probs[steps, path], n_labels=self.n_states_),
            actions=actions,
        )

    def steps_of_states(self, X: Any) -> list[FloatArray]:
        """Return the steps of recordings that are used, in the units and the frame of `means_`."""
        check_is_fitted(self)
        prepared = self.preprocessing_
        return [prepared.restore_mean(one) for one in prepared.transform(X)]

    def sample(
        self, n_recordings: int = 1, n_looks: int | None = None, *, random_state: RandomState = None
    ) -> SequenceSet:
        """Draw recordings from the states of the fit.

        Parameters
        ----------
        n_recordings : int, default=1
        n_looks : int, optional
            Steps of each recording, as far apart as the steps that the fit used: ``preprocessing_.settings.stride``
            steps of its recordings. If not given, as many as the median recording of the fit has.
        random_state : int, Generator, SeedSequence or None

        Returns
        -------
        sampled : SequenceSet
            Recordings in the units of those of the fit, and the state of every step; also actions and frames, where the
            model has such. The rate is that of the steps used.

        Notes
        -----
        States are held at their posterior means, and transitions are those over all recordings. Steps are independent
        given their states, however little each counted in the fit. Smoothing is not undone; recordings that were
        centred each on its own are drawn about zero; autoregressive ones begin at the middle of the recordings.
        """
        check_is_fitted(self)
        stride = self.preprocessing_.settings.stride
        if n_looks is None:
            n_looks = max(int(np.median(-(-np.diff(self.starts_) // stride))), self.states_.order + 1)
        check_count(n_looks, "n_looks", minimum=self.states_.order + 1)
        rng = np.random.default_rng(seed_sequence(random_state))
        drawn = [self.states_.sample(rng, n_looks) for _ in range(check_count(n_recordings, "n_recordings"))]
        sampled = self._sampled(rng, [path for path, _ in drawn], [steps for _, steps in drawn])
        names = tuple(f"sample {i}" for i in range(n_recordings))
        return replace(sampled, names=names, name="sampled", rate=self.rate_ and self.rate_ / stride)

    def _sampled(self, rng: Generator, paths: list[IntArray], steps: list[FloatArray]) -> SequenceSet:  # noqa: ARG002
        """Return drawn paths and prepared steps as recordings."""
        n_dims = self.preprocessing_.n_input_dims
        return SequenceSet([self.preprocessing_.restore_mean(one)[:, :n_dims] for one in steps], paths)

    def _prepare_new(self, X: Any, lengths: ArrayLike | None) -> list[tuple[StateModel, FloatArray, int]]:
        """Return for each new recording the states as it shows them, its prepared steps, and its length."""
        check_is_fitted(self)
        least = self.states_.order * self.preprocessing_.settings.stride + 1
        recordings = check_sequences(
            X, lengths=lengths, min_steps=least, allow_constant=True, allow_missing=self._allows_missing()
        )
        prepared = self.preprocessing_.transform(self._cleaned(recordings), min_steps=1)
        return [(self.states_, prepared[i], int(n)) for i, n in enumerate(recordings.lengths)]

    def _expand(self, values: Any, n_steps: int) -> Any:
        return self.preprocessing_.expand(values, n_steps)

    def _steps_of_recordings(self, prepared: Sequences, order: int) -> IntArray:
        """Return, for every step of the recordings, the modelled step whose state it has."""
        where, first = [], 0
        for n_recorded, n_prepared in zip(np.diff(self.starts_), prepared.lengths, strict=True):
            modelled = np.maximum(np.arange(n_prepared) - order, 0)
            where.append(first + self._expand(modelled, int(n_recorded)))
            first += int(n_prepared) - order
        return np.concatenate(where)


class SampledSegmenter(SampledChains, Segmenter):
    """Base of the segmenters whose answer is a posterior over paths.

    Subclasses also store `least_stay`.
    """

    auto_sweeps = AutoSweeps(first=200, most=1600, alone=500)
    labels_are_states: ClassVar[bool] = True  # known labels: those of states, or of actions

    least_stay: int
    _step_labels: IntArray | None = None
    _known_labels: KnownLabels = NOTHING_KNOWN

    state_probability_ = ResultPart[list[FloatArray]]("states.probability")
    change_probability_ = ResultPart[list[FloatArray]]("states.change_probability")
    boundaries_ = ResultPart[list[BoundaryInterval]]("states.boundaries")
    draws_ = ResultPart[PathDraws]("states.draws")

    def _sample(
        self, prepared: Sequences, model: Any, start: Any, sweep: Sweep, recording: Recording, emission: Emission
    ) -> None:
        """Run the chains and set everything that follows from them."""
        lacking = self._missing_of(prepared)
        if lacking is not None:  # the model is that of filled recordings
            model, start = missing.Model.of(model, lacking), missing.lifted_start(start)
            sweep, recording = missing.lifted_sweep(sweep), missing.lifted_recording(recording)
        numbers = partial(self._with_numbers, prepared)
        traces, chains = self._run_chains(model, start, sweep, recording, numbers)
        self._amend(chains=chains)
        traces = self._completed(prepared, traces)
        self._answer(prepared, emission, self._pooled(prepared, emission, traces))
        self._warn_unless_chains_agree()

    def _take_labels(self, y: Any, recordings: Sequences) -> None:
        self._step_labels = labels_of_steps(y, recordings)

    def _known(self, prepared: Sequences, order: int = 0) -> KnownLabels:
        """Return, and keep, the known labels of modelled steps."""
        self._known_labels = NOTHING_KNOWN
        if self._step_labels is not None:
            where = self._steps_of_recordings(prepared, order)
            labels = labels_of_modelled(self._step_labels, where, prepared.n_steps - order * prepared.n_recordings)
            self._known_labels = KnownLabels(labels, self.labels_are_states)
        return self._known_labels

    def _held(self, point: IntArray, starts: IntArray) -> IntArray:
        """Return labels of modelled steps, numbered by size, that agree with what is known."""
        if self._step_labels is None:
            return point
        known = self._known_labels._replace(is_state=True)
        return relabel_by_size(held_path(point, starts, known, self._least_stay_in_looks()))

    def _missing_of(self, prepared: Sequences) -> BoolArray | None:
        """Return which values of the prepared recordings chains draw, (n_steps, n_dims); None if none is missing."""
        return prepared.missing

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
        n_kept = [len(trace.kept) for trace in traces]
        chosen = [np.arange(number) for number in n_kept]
        if self._chains().differences(APART_R_HAT) and min(n_kept) > 0:
            weights = stacking_weights(np.column_stack([self._log_left_out(prepared, emission, one) for one in traces]))
            chosen = draws_by_weight(weights, n_kept)
            self._amend_chains(weights=weights, n_kept=sum(map(len, chosen)))
        return [trace.taken(which) for trace, which in zip(traces, chosen, strict=True)]

    def _amend_chains(self, **parts: Any) -> None:
        """Set parts of what is known of the chains."""
        self._amend(chains=replace(self._chains(), **parts))

    def _log_left_out(self, prepared: Sequences, emission: Emission, trace: Trace) -> FloatArray:
        """Return how well a chain predicts every look from the others, (n_looks,), by some of its draws."""
        rng = np.random.default_rng(0)  # the same for all chains, so that equal chains have equal weights
        draws = [trace.kept[number] for number in thinned(len(trace.kept), _N_PREDICTING)]
        return leave_one_out(np.stack([self._log_left_out_of(rng, prepared, emission, draw) for draw in draws]))

    def _log_left_out_of(self, rng: Generator, prepared: Sequences, emission: Emission, draw: Any) -> FloatArray:
        """Return how well parameters that follow from one draw predict every look from the others, (n_looks,)."""
        path = draw if isinstance(draw, RunPath) else draw.path
        z, starts, gaps = augmented(emission, prepared)
        return log_left_out(rng, emission, z, starts, path.expand(), gaps)

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
        where = self._steps_of_recordings(prepared, emission.order)
        labels = self._step_labels if self.labels_are_states else None
        if labels is not None:
            point = self._held(point, emission.augment(prepared)[1])
        self._amend(
            parameters=StateModel.from_path(emission, prepared, point, least_stay),
            states=self._labels(
                over_all_steps(point, where, labels, self._known_labels.steps), (path[where] for path in augmented)
            ),
            least_stay=least_stay * self.result_.stride,
        )
        return point

    def _least_stay_in_looks(self) -> int:
        """Return the least stay in used steps, rounded up, from that in steps of the recordings."""
        n_steps = check_count(self.least_stay, "least_stay")
        return -(-n_steps // self.preprocessing_.settings.stride)

    def _labels(self, point: IntArray, draws: Iterable[IntArray]) -> Labels:
        """Return reported labels of all steps of the recordings, and how sure they are by some draws of them."""
        stride, starts = self.result_.stride, self.starts_
        runs = PathDraws.of([RunPath.of(path) for path in draws])
        paths = list(runs)
        return Labels(
            flat=point,
            starts=starts,
            sure=state_probability(point, paths, starts, stride),
            changes=change_probability(paths, starts),
            boundaries=boundary_intervals(point, paths, starts, stride=stride),
            draws=runs,
        )

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
            Steps, counted over all recordings one after the other.

        Returns
        -------
        probability : ndarray of shape (n_rows, n_columns)
        """
        check_is_fitted(self)
        return colabelling(list(self.draws_), rows, columns, self.starts_, self.result_.stride)

    def _compared(self, traced: Collection[str]) -> list[str]:
        names = super()._compared(traced)
        if "action_entropy" not in names:
            return names
        # Chains may differ in the states that they group into the same actions.
        return [name for name in names if "action" in name or name == "log_joint"]


def _warn_of(findings: Iterable[str]) -> None:
    """Warn of faults of recordings, one warning for each."""
    for text in findings:
        warnings.warn(DataWarning(text, "outliers"), stacklevel=depth_in_library())


def _check_spread(prepared: Sequences) -> None:
    """Raise for a dimension that is constant after preparation, or too far from zero for accurate computation."""
    spread, offset = np.sqrt(variance_of_known(prepared.steps)), np.abs(mean_of_known(prepared.steps))
    still = np.flatnonzero(~(spread > _ROUNDING * np.fmax.reduce(np.abs(prepared.steps))))
    if still.size:
        raise InputError(
            f"Channel {prepared.called[still[0]]} of the prepared recordings is the same at every step used. Leave it "
            "out, or prepare it in another way: other steps, no velocities, or centred over all recordings instead of "
            "each."
        )
    far = np.flatnonzero(offset > _MOST_OFFSET * spread)
    if far.size:
        raise InputError(
            f"Channel {prepared.called[far[0]]} varies by {spread[far[0]]:.3g} about {offset[far[0]]:.3g}: too little, "
            "so far from zero, to be computed with. Centre the recordings: centre='all'.",
            "centre",
        )
