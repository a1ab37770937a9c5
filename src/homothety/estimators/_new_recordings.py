"""Actions and frames of new recordings: each is aligned with the states of a fit, in a frame of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from homothety.block_preparation import check_lengths, filled
from homothety.channels import check_quaternions
from homothety.errors import InputError
from homothety.estimators.hmm import ReportsActions
from homothety.estimators.sampled import ResultPart
from homothety.models import frames
from homothety.models.frames.candidates import Chain, likely_frames
from homothety.models.frames.defaults import default_model
from homothety.models.frames.frames import aligned_steps, composed, log_determinants, stacked, states_in_frame
from homothety.models.frames.intervals import sample_frames
from homothety.models.frames.measurements import line_axes, resting_recordings
from homothety.models.hmm.messages import log_likelihood
from homothety.preprocessing import middle_orientation, rotation_vectors
from homothety.sequences import check_sequences, interpolated
from homothety.summaries.frames import FrameTable, PreparedBlocks, frame_table, one_table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray
    from homothety.channels import ChannelBlocks
    from homothety.models.frames.frames import Blocks
    from homothety.models.frames.intervals import IntervalFactors
    from homothety.models.hmm.states import StateModel
    from homothety.sequences import Sequences
    from homothety.summaries.frames import RecordingFrame
    from homothety.summaries.result import Segmentation

_LEAST_SCORE = -4.0  # standard deviations from the recordings of the fit: what is lower does not fit
_N_FRAME_DRAWS = 200  # of the frame of a new recording


class NewRecording(NamedTuple):
    """Actions, frame and score of a new recording."""

    action_probs: FloatArray
    """(n_steps, n_actions)"""
    frame: RecordingFrame | None
    """How it is turned, resized and moved from the reference, with intervals, given the states of the fit. None for a
    recording that does not move: its frame cannot be inferred, and it is taken as recorded."""
    score: float
    """Log density per used step, in standard deviations from the mean of the recordings of the fit."""
    fits: bool
    """Whether the recording is like those of the fit; if not, its actions mean nothing."""


class Laid(NamedTuple):
    """A new recording aligned with the states of a fit."""

    frame: frames.Frames  # for the blocks of `model`
    aligned: FloatArray  # (n_looks, n_dims) in the frame of the reference
    model: frames.Model | None  # of this recording; its frames may also turn `Blocks.still`. None if it does not move
    chain: Chain | None  # states in the frame `inner`
    inner: frames.Frames  # frame of the fit that acts before `frame`
    line_axis: FloatArray  # (dim,) direction of a straight recording, else zero
    gappy: tuple[StateModel, FloatArray] | None = None
    """If values are missing: the states in the frame of the recording, and its prepared steps, with NaN."""


class LaysNewRecordings(ReportsActions):
    """Base of `ActionHMM`: actions and frames of recordings that it was not fitted to."""

    blocks_: ChannelBlocks
    prepared_blocks_: Blocks
    spans_: tuple[int, ...]
    least_looks_: int
    block_weights_: FloatArray
    place_mean_: FloatArray
    place_spread_: FloatArray
    frame_table_ = ResultPart[FrameTable]("frame_table")
    interval_factors_: IntervalFactors
    reference_middle_: FloatArray
    fit_score_: float
    fit_score_spread_: float

    def _rearranged(self, recordings: Sequences) -> Sequences:
        """Return recordings with their channels in the order of the blocks, and orientations as rotation vectors."""
        parts = []
        for one in recordings:
            columns = [one[:, list(channels)] for channels in self.blocks_.channels]
            for b, values in enumerate(columns):
                if self.blocks_.kinds[b] == "quaternion":
                    columns[b] = _vectors_of_known(values)
            parts.append(np.hstack(columns))
        return check_sequences(parts, names=recordings.names, allow_constant=True, allow_missing=True)

    def _prepared(self) -> PreparedBlocks:
        """Return the prepared blocks, of which computed velocities come last, and their units."""
        preparation, blocks = self.preprocessing_, self.prepared_blocks_
        n_computed = len(blocks.points) if preparation.settings.velocities else 0
        return PreparedBlocks(blocks, len(blocks.kinds) - n_computed, preparation.offset, preparation.factors)

    def _score_of(self, states: StateModel, steps: FloatArray) -> float:
        """Return the log density per used step of an aligned recording, with weights of blocks."""
        evidence = states.weighted_log_evidence(steps)
        total = log_likelihood(evidence, states.initial, states.transition, least_stay=self.least_looks_)
        return total / (len(steps) * float(self.block_weights_.mean()))

    def _new_frames(self, X: Any, lengths: ArrayLike | None) -> frames.Frames:
        laid = self._lay_new(X, lengths)[0]
        return stacked(np.arange(len(laid)), [self._in_fit(one, one.frame) for one in laid])

    def predict_actions(
        self, X: Any, *, lengths: ArrayLike | None = None, return_details: bool = False
    ) -> list[IntArray] | tuple[list[IntArray], list[NewRecording]]:
        """Return the action of every step of new recordings, each in a frame of its own.

        Parameters
        ----------
        X : recordings
            New recordings, as `fit` takes them.
        lengths : array-like of shape (n_series,), optional
            Steps of each recording if `X` is one array.
        return_details : bool, default=False
            Whether to return probabilities, frames and scores too.

        Returns
        -------
        actions : list of ndarray of int, shape (n_steps_i,)
        details : list of NewRecording
            Only with ``return_details=True``.
        """
        laid, names, lengths_ = self._lay_new(X, lengths)
        actions, details = [], []
        for i, (one, n_steps) in enumerate(zip(laid, lengths_, strict=True)):
            states, steps = self._seen(one)
            actions.append(self._expand(self.state_actions_[states.path(steps)], n_steps))
            if return_details:
                probs = states.probs(steps) @ np.eye(self.n_actions_)[self.state_actions_]
                score = self._relative_score(one)
                rests = one.model is None
                frame = None if rests else self._new_frame_table(one, names[i]).rows[-1]._replace(recording=i)
                details.append(NewRecording(self._expand(probs, n_steps), frame, score, bool(score > _LEAST_SCORE)))
        return (actions, details) if return_details else actions

    def apply(self, X: Any, *, lengths: ArrayLike | None = None) -> Segmentation:
        """Return states, actions and frames of new recordings, each in a frame of its own.

        Parameters
        ----------
        X : recordings
            New recordings, as `fit` takes them.
        lengths : array-like of shape (n_series,), optional
            Steps of each recording if `X` is one array.

        Returns
        -------
        result : Segmentation
            With the numbers of states and actions of the fit, the frame of each recording, and whether it fits.
        """
        recordings = check_sequences(X, lengths=lengths, allow_constant=True, allow_missing=self._allows_missing())
        laid, names, n_steps = self._lay_new(recordings, None)
        tables = [self._new_frame_table(one, name) for one, name in zip(laid, names, strict=True)]
        scores = np.array([self._relative_score(one) for one in laid])
        return self._applied(
            recordings,
            [(*self._seen(one), n) for one, n in zip(laid, n_steps, strict=True)],
            frame_table=one_table(tables, names, self.frame_table_.reference_name),
            scores=scores,
            fits=scores > _LEAST_SCORE,
            findings=self._quality(recordings).lines,
        )

    def _relative_score(self, laid: Laid) -> float:
        """Return the score of a recording, in standard deviations from those of the recordings of the fit."""
        return (self._score_of(*self._seen(laid)) - self.fit_score_) / self.fit_score_spread_

    def score(self, X: Any, y: Any = None, *, lengths: ArrayLike | None = None) -> float:  # noqa: ARG002
        """Return the log-likelihood per used step of recordings, each in its likeliest frame, paths summed out.

        It is a density in the units of the recordings, whatever size they have.
        """
        laid, blocks = self._lay_new(X, lengths)[0], self.prepared_blocks_
        found = stacked(np.arange(len(laid)), [self._in_fit(one, one.frame) for one in laid])
        resized = log_determinants(blocks, np.ones(len(blocks.kinds)), found)
        lengths_ = np.array([len(one.aligned) for one in laid])
        log_units, total = np.log(np.abs(self.preprocessing_.factors)), 0.0
        for one, n_looks, volume in zip(laid, lengths_.tolist(), resized.tolist(), strict=True):
            states, steps = self._seen(one)
            # States that a recording shows have its size already. Missing values have no density, and so no unit.
            volumes = n_looks * volume if one.gappy is None else float(np.isnan(steps).sum(axis=0) @ log_units)
            total += states.log_likelihood(steps) - volumes
        return total / float(lengths_.sum()) + float(log_units.sum())

    def _prepare_new(self, X: Any, lengths: ArrayLike | None) -> list[tuple[StateModel, FloatArray, int]]:
        laid, _, n_steps = self._lay_new(X, lengths)
        return [(*self._seen(one), n) for one, n in zip(laid, n_steps, strict=True)]

    def _seen(self, laid: Laid) -> tuple[StateModel, FloatArray]:
        """Return states and used steps in one frame: that of the recording if values are missing."""
        return (self.states_, laid.aligned) if laid.gappy is None else laid.gappy

    def _lay_new(self, X: Any, lengths: ArrayLike | None) -> tuple[list[Laid], tuple[str, ...], list[int]]:
        """Return each new recording aligned with the states, its name, and its number of steps."""
        check_is_fitted(self)
        recordings = check_sequences(X, lengths=lengths, allow_constant=True, allow_missing=self._allows_missing())
        if recordings.n_dims != len(self.blocks_.order):
            needed = len(self.blocks_.order)
            raise InputError(f"Recordings have {recordings.n_dims} channels, needed {needed} as fitted.")
        check_quaternions(recordings, self.blocks_)
        check_lengths(recordings, self.prepared_blocks_, self.preprocessing_.settings.stride)
        gappy = self._rearranged(self._cleaned(recordings))
        prepared = self.preprocessing_.transform(interpolated(gappy))
        axes = line_axes(self.prepared_blocks_, prepared)
        prepared = filled(self.prepared_blocks_, self.spans_, prepared)
        with threadpool_limits(1):
            laid = [
                self._lay_on_states(np.ascontiguousarray(one), axis) for one, axis in zip(prepared, axes, strict=True)
            ]
        if gappy.missing is not None:
            known = self.preprocessing_.transform(gappy)
            laid = [
                one._replace(gappy=(self._states_in(self._in_fit(one, one.frame)), np.ascontiguousarray(part)))
                for one, part in zip(laid, known, strict=True)
            ]
        return laid, recordings.names, recordings.lengths.tolist()

    def _states_in(self, frame: frames.Frames) -> StateModel:
        """Return the states of the fit, transformed into the frame of a recording."""
        means, covariances = self.states_.coefficients[:, :, 0], self.states_.covariances
        means, covariances = states_in_frame(self.prepared_blocks_, frame, means, covariances)
        return replace(self.states_, coefficients=means[:, :, None], covariances=covariances)

    def _lay_on_states(self, steps: FloatArray, axis: FloatArray) -> Laid:
        """Return one prepared recording in its likeliest frame.

        A recording that does not move has the frame of the reference. The prior of its place is as wide as in the fit
        and centred on the recording. Where frames of the fit leave some blocks still, the new recording may also be one
        in a frame of the fit that was then turned as a whole, these blocks included.
        """
        blocks, alone = self.prepared_blocks_, check_sequences([steps], allow_constant=True)
        if resting_recordings(blocks, alone)[0]:
            frame = frames.identity_frames(blocks)
            return Laid(frame, aligned_steps(blocks, frame, steps, alone.starts), None, None, frame, axis)
        known, tried = self.frame_table_.frames, []
        cases: list[tuple[Blocks, frames.Frames, frames.Frames | None]] = [
            (blocks, frames.identity_frames(blocks), known)
        ]
        if blocks.still:
            firsts = np.unique(self.frame_table_.labels, return_index=True)[1]
            cases += [(replace(blocks, still=()), frames.Frames.single(known[i]), None) for i in firsts]
        for way, inner, candidates in cases:
            model = default_model(alone, way, self.block_weights_, self.least_looks_)
            model = replace(model, prior=self._place_prior_of(model))
            chain = self._chain(model, inner)
            found, scores = likely_frames(model, model.steps, chain, candidates, n_kept=1, thorough=True)
            recorded = aligned_steps(way, found, steps, alone.starts)
            aligned = aligned_steps(blocks, inner, recorded, alone.starts)
            tried.append((scores[0], Laid(found, aligned, model, chain, inner, axis)))
        return max(tried, key=lambda one: one[0])[1]

    def _place_prior_of(self, model: frames.Model) -> frames.Prior:
        """Return the prior of a new recording: points may be anywhere, the zeros of other blocks are as in the fit."""
        blocks = model.blocks
        mean = np.where(np.isin(blocks.placed, blocks.points)[:, None], model.prior.place_mean, self.place_mean_)
        return model.prior._replace(place_mean=np.ascontiguousarray(mean), place_spread=self.place_spread_)

    def _in_fit(self, laid: Laid, found: frames.Frames) -> frames.Frames:
        """Return a frame of a new recording as one of the blocks of the fit."""
        blocks, own = self.prepared_blocks_, self.prepared_blocks_ if laid.model is None else laid.model.blocks
        sizes = np.ascontiguousarray(found.log_sizes[:, [own.sized.index(b) for b in blocks.sized]])
        return composed(blocks, replace(found, log_sizes=sizes), laid.inner)

    def _new_frame_table(self, laid: Laid, name: str) -> FrameTable:
        """Return the frames of the reference and of a new recording, with intervals.

        States and the frame of the reference are held fixed. A recording that does not move has the frame of the
        reference.
        """
        blocks, model, sampled = self.prepared_blocks_, laid.model, []
        if model is not None and laid.chain is not None:
            rng = np.random.default_rng(0)  # the same recording has the same intervals in every call
            with threadpool_limits(1):
                sampled = sample_frames(rng, model, laid.chain, laid.frame, _N_FRAME_DRAWS)
        reference = frames.identity_frames(blocks)
        # The likeliest frame comes first: draws that are turned far from it are another mode.
        draws = [stacked(np.arange(2), [reference, self._in_fit(laid, one)]) for one in (laid.frame, *sampled)]
        axes = np.stack([np.zeros(blocks.dim), laid.line_axis])
        names, spread = ("reference", name), self.interval_factors_
        return frame_table(self._prepared(), draws, names, 0, 0, self.reference_middle_, axes, spread)

    def _chain(self, model: frames.Model, inner: frames.Frames) -> Chain:
        """Return the states of the fit in one of its frames."""
        states, emission = self.states_, model.emission
        used = emission.structure_mask[:, : emission.n_regressors]  # of its regressors, a dimension uses one
        means = (states.coefficients * used).sum(axis=2)
        means, covariances = states_in_frame(self.prepared_blocks_, inner, means, states.covariances)
        occupancy = np.bincount(np.concatenate(self.paths_), minlength=self.n_states_).astype(np.float64)
        whiteners = emission.whiteners_of(means[:, :, None] * used, covariances)
        return Chain(whiteners, states.initial, states.transition, occupancy)


def _vectors_of_known(quaternions: FloatArray) -> FloatArray:
    """Return quaternions as rotation vectors from their middle; NaN where one of the four numbers is missing."""
    vectors, known = np.full((len(quaternions), 3), np.nan), ~np.isnan(quaternions).any(axis=1)
    if known.any():
        vectors[known] = rotation_vectors(quaternions[known], middle_orientation(quaternions[known]))
    return vectors
