"""Segmentation of recordings into actions, where every recording may have a frame of its own."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from homothety.arrays import FloatArray, IntArray, check_count, range_of_known
from homothety.block_preparation import filled, motion_stride, prepare_blocks
from homothety.channels import check_blocks, check_quaternions, guess_blocks
from homothety.datasets import SequenceSet
from homothety.datasets.sets import Frames as RecordedFrames
from homothety.errors import (
    FewerActionsWarning,
    InputError,
    MissingCoordinateWarning,
    RestingRecordingWarning,
    StraightRecordingsWarning,
)
from homothety.estimators._known_labels import over_all_steps
from homothety.estimators._new_recordings import LaysNewRecordings
from homothety.estimators.sampled import AutoSweeps, ResultPart, most_probable
from homothety.models import frames
from homothety.models.emissions.missing import NO_GAPS, completed_steps, plain_steps
from homothety.models.frames.defaults import Task, default_model, model_and_starts, start_from
from homothety.models.frames.frames import Frames, aligned_steps, log_determinants, matrix_and_place
from homothety.models.frames.grouping import Evidence, draw_groups, merge_tree, summarise_states
from homothety.models.frames.intervals import interval_factors
from homothety.models.frames.measurements import line_axes, resting_recordings, spans_of
from homothety.models.hmm.labels import longest_least_stay
from homothety.models.hmm.messages import mend_short_stays
from homothety.models.hmm.states import Imputed, StateModel, impute_steps, log_left_out
from homothety.models.missing.starts import lacks_coordinate, starts_in_observed
from homothety.preprocessing import middle_orientation, orientations
from homothety.quality import Quality, examine
from homothety.sampling.trace import Trace, count_segments, occupancy_entropy
from homothety.sequences import Sequences, check_measured, check_sequences, interpolated
from homothety.summaries.frames import RecordingFrame, frame_table, weights_by_kind
from homothety.summaries.partitions import relabel_by_size
from homothety.summaries.paths import minimise_expected_vi_paths
from homothety.times import is_duration, steps_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.arrays import BoolArray
    from homothety.channels import ChannelBlocks
    from homothety.estimators.segmentation import Missing, Outliers
    from homothety.models.emissions import Emission
    from homothety.models.emissions.missing import Gaps
    from homothety.models.frames.frames import Rotations
    from homothety.models.frames.grouping import StateSummary
    from homothety.sampling.trace import RunPath

_LEAST_SCORE_SPREAD = 0.2  # nats per used step and block: least standard deviation of scores between recordings
_N_ROUNDS_OF_DRAWS = 10  # of parameters and missing values in turn, given the path of a draw
LEAST_LOOKS = 4  # default length of a stay where recordings move: half a period of a swing


class _ActedDraw(NamedTuple):
    """A kept draw: the path of states, the frames, and the action of every used step."""

    path: RunPath
    frames: Frames
    actions: IntArray


@dataclass(kw_only=True, eq=False, repr=False)
class ActionHMM(LaysNewRecordings):
    """Segment recordings into actions, where each recording may be turned, resized and moved.

    Every recording has a rotation, a size and a place of its own, its frame, which is inferred together with the
    segmentation. The states of the aligned recordings are grouped into actions where there is evidence for it.

    Parameters
    ----------
    blocks : "auto" or list of {"point", "vector", "quaternion", "plain"}, default="auto"
        What the channels are, in order. A point (2 or 3 channels) is turned, resized and moved with its recording; a
        vector (a velocity, force or torque) is turned and resized; a quaternion (4 channels, w first) is turned; a
        plain channel is left alone. "auto" goes by the names of channels; two or three channels without names are a
        point, and more are plain channels. The zero of a vector, and how a tool is held, may differ between recordings.
    frames : {"auto", "one", "each"} or list of labels, default="auto"
        Which recordings share a frame: inferred, all of them, none of them, or those with the same label. If points do
        not move along a path, frames cannot be inferred, and "auto" means "one".
    rotations : {"all", "yaw", "none"}, default="all"
        Rotations between frames: all, those about the third axis (gravity is known), or none.
    velocities : bool or "auto", default="auto"
        Whether velocities of points are used too. "auto": where points move along a path.
    least_stay : int, str or "auto", default="auto"
        Fewest steps of the recording that an action lasts; or a time, such as "0.5s" or "200ms", where recordings come
        with their rate. "auto": half a period of a typical swing.
    subsample : int or "auto", default="auto"
        Use every `subsample`-th step; 1 uses all. "auto": a few steps for every turn of the motion.
    n_actions : int, optional
        Number of actions to report. If not given, it is inferred; `actions_at` gives any other number after the fit.
        States are merged into actions and never split: with fewer states than `n_actions`, a `FewerActionsWarning`
        says how many actions there are.
    missing : {"random", "error"}, default="random"
        What NaN in recordings means: a value that is missing at random, which is drawn along with all else that is
        unknown. A channel may be missing in whole recordings. "error" refuses recordings with NaN. The
        stride, the weights of blocks and the starts of chains are measured on straight lines through gaps, which the
        chains then forget. A quaternion is missing where one of its numbers is.
    outliers : {"missing", "keep"}, default="missing"
        What is done with values that no movement gives: single steps far outside the range of their recording, and
        channels of a recording whose sensor is dead. They are treated as missing, or used as they are. They are always
        used with ``missing="error"``. In either case a `DataWarning` names them.
    n_sweeps : int or "auto", default="auto"
        Sweeps per chain. "auto" makes 100 and compares the actions of the last half of all chains; while these differ,
        it doubles the number, up to 800. A single chain makes 200.
    n_chains : int, default=4
        Independent chains; their kept sweeps are pooled.
    n_burn : int, optional
        Sweeps of each chain that are thrown away first; half of them if not given.
    point_estimate : {"vi", "map"}, default="vi"
        The segmentation nearest to all kept sweeps, by variation of information, or the most probable one visited.
    random_state : int, Generator, SeedSequence or None, default=None
        Seed. Equal seeds give equal results, whatever `n_jobs`.
    n_jobs : int, optional
        Chains that run side by side.
    progress : bool, default=False
        Whether to show a progress bar.
    checkpoint : str or Path, optional
        Folder in which the chains are written while they run; a run found there goes on where it was.

    Attributes
    ----------
    actions_ : list of ndarray of int, shape (n_steps_i,)
        Action of every step of each recording, numbered by decreasing number of steps.
    n_actions_ : int
        Number of actions.
    frames_ : list of RecordingFrame
        How each recording is turned, resized and moved from the recording with most steps, with intervals.
    rate_ : float or None
        Steps per second, if the recordings have times or a rate.
    frame_labels_ : ndarray of int, shape (n_recordings,)
        Recordings with the same label share a frame.
    blocks_ : ChannelBlocks
        Kinds of the channels; ``blocks_.sentence`` describes them in one line.
    block_weights_ : ndarray
        How much of an independent observation a step counted as, in each block; velocities come last.
    state_actions_ : ndarray of int, shape (n_states,)
        Action that most of the steps of a state have.
    action_segments_ : list of Segment
        Recording, start, end, action and probability of every segment of one action.
    action_probability_ : list of ndarray, shape (n_steps_i,)
        Posterior probability of the reported action of every step.
    action_change_probability_ : list of ndarray, shape (n_steps_i,)
        Posterior probability of a change of action between the used step before and the one after a step.
    action_boundaries_ : list of BoundaryInterval
        Every change of action with a 90 % interval.
    coaction_ : ndarray of shape (n_states, n_states)
        Agreement: the share of kept sweeps in which two states are one action.
    merges_ : ndarray of int, shape (n_states - 1, 2)
        States that `actions_at` merges, in order.
    merge_gains_ : ndarray of shape (n_states - 1,)
        Evidence for each merge, in nats.
    paths_ : list of ndarray of int, shape (n_steps_i,)
        State of every step of each recording, numbered by decreasing number of steps.
    n_states_ : int
        Number of states.
    means_ : ndarray of shape (n_states, n_dims)
        Means of the states in the frame of the recording with most steps, in the units of the recordings. A quaternion
        has three dimensions: how far, and about which axis, it is turned from the middle of its recording.
    covariances_ : ndarray of shape (n_states, n_dims, n_dims)
        Covariances of the states in the same frame. Where all recordings lie in planes or on lines, they have the
        spread across them that was added.
    transition_probs_ : ndarray of shape (n_states, n_states)
        Transition probabilities over all recordings.
    segments_ : list of Segment
        Recording, start, end, state and probability of every segment.
    boundaries_ : list of BoundaryInterval
        Every change of state with the shortest interval that holds it with a probability of 90 %.
    findings_ : tuple of str
        Faults of the recordings, such as outliers, copies and pauses, in one line each.
    trace_ : dict of str to ndarray of shape (n_chains, n_sweeps)
        "log_joint", "n_states", "n_actions", "n_segments", "occupancy_entropy", hyper-parameters and acceptance of
        every move.
    draws_ : PathDraws
        The kept paths that count, by numbers that are the same for a state through all sweeps of a chain.
    n_sweeps_ : int
        Number of sweeps that each chain made.
    chain_weights_ : ndarray of shape (n_chains,)
        How much the draws of each chain count: equal unless chains differ more from each other than each of them
        varies; then by how well each chain predicts left-out steps.

    Examples
    --------
    >>> from homothety import ActionHMM
    >>> from homothety.datasets import make_demonstrations
    >>> demonstrations = make_demonstrations(0)
    >>> model = ActionHMM(n_chains=1, n_sweeps=20, random_state=0).fit(demonstrations)
    >>> model.n_actions_
    3
    """

    auto_sweeps = AutoSweeps(first=100, most=800, alone=200)

    blocks: Literal["auto"] | Sequence[str] = "auto"
    frames: Literal["auto", "one", "each"] | Sequence[Any] = "auto"
    rotations: Rotations = "all"
    velocities: bool | Literal["auto"] = "auto"
    least_stay: Any = "auto"
    subsample: int | Literal["auto"] = "auto"
    n_actions: int | None = None
    missing: Missing = "random"
    outliers: Outliers = "missing"

    frames_ = ResultPart[list[RecordingFrame]]("frame_table.rows")
    frame_labels_ = ResultPart[IntArray]("frame_table.labels")
    labels_are_states = False

    merges_ = ResultPart[IntArray]("merges")
    merge_gains_ = ResultPart[FloatArray]("merge_gains")

    def fit(self, X: Any, y: Any = None, *, lengths: ArrayLike | None = None) -> Self:
        """Find actions and frames of recordings.

        Parameters
        ----------
        X : list of array-like of shape (n_steps_i, n_dims), or array-like of shape (n_steps, n_dims)
            Recordings of any lengths; or all of them one after the other, with `lengths`. Names of channels are taken
            from data frames and data sets.
        y : list of array-like of int, shape (n_steps_i,), or array-like of int, shape (n_steps,), optional
            Known actions of steps, -1 where unknown; None in a list for a recording without labels. `actions_` agree
            with them, by numbers of their own: equal labels are one action, different labels are different actions.
        lengths : array-like of shape (n_recordings,), optional
            Steps of each recording if `X` is one array.

        Returns
        -------
        self
        """
        self._begin_fit()
        self._check_parameters()
        recordings = check_sequences(X, lengths=lengths, allow_constant=True, allow_missing=self._allows_missing())
        check_measured(recordings)
        self.blocks_ = blocks = self._channel_blocks(recordings)
        check_quaternions(recordings, blocks)
        self._check_blocks_vary(recordings)
        self.least_steps_ = steps_of(self.least_stay, recordings.rate, "least_stay")
        self.recordings_digest_ = _digest_of(recordings)
        quality = self._examined(recordings)
        recordings = quality.cleaned(recordings)
        gappy = self._rearranged(recordings)
        rearranged = interpolated(gappy)  # as which recordings are measured; chains draw what is missing
        preparation, self.prepared_blocks_ = prepare_blocks(
            rearranged,
            ["orientation" if kind == "quaternion" else kind for kind in self.blocks_.kinds],
            self.blocks_.dim,
            rotations=self.rotations,
            velocities=None if self.velocities == "auto" else bool(self.velocities),
            subsample=None if self.subsample == "auto" else int(self.subsample),
        )
        self._begin_result(recordings, preparation, stride_is_measured=self.subsample == "auto")
        self._amend(blocks=blocks, findings=quality.lines)
        self._take_labels(y, recordings)
        slices = self.prepared_blocks_.slices
        self.has_path_ = preparation.settings.velocities is not None or any(
            motion_stride([one[:, slices[b]] for one in rearranged]) is not None for b in self.prepared_blocks_.points
        )
        prepared = preparation.transform(rearranged)
        self._say_which_rest(prepared)
        self.spans_ = spans_of(self.prepared_blocks_, prepared)
        self.line_axes_ = line_axes(self.prepared_blocks_, prepared)
        self._say_if_straight()
        prepared = filled(self.prepared_blocks_, self.spans_, prepared)
        self._lacking = self.preprocessing_.transform(gappy).missing
        self._say_what_is_lacking(prepared)
        with threadpool_limits(1):  # thousands of small matrices: threads would wait for each other
            self._segment(prepared)
        reference = recordings[int(np.argmax(prepared.lengths))]
        self.middle_orientations_ = [
            middle_orientation(_known_quaternions(reference[:, list(channels)]))
            for channels, kind in zip(self.blocks_.channels, self.blocks_.kinds, strict=True)
            if kind == "quaternion"
        ]
        self._amend(provenance=self._provenance())
        return self

    def _quality(self, recordings: Sequences) -> Quality:
        return examine(recordings, blocks=self.blocks_.channels, as_missing=self._takes_outliers_out())

    def _check_parameters(self) -> None:
        for name in ("least_stay", "subsample"):
            value = getattr(self, name)
            if value != "auto" and not (name == "least_stay" and is_duration(value)):
                check_count(value, name)
        if self.n_actions is not None:
            check_count(self.n_actions, "n_actions")
        if isinstance(self.frames, str) and self.frames not in ("auto", "one", "each"):
            raise InputError(
                f"frames is {self.frames!r}, needed 'auto', 'one', 'each' or a label for each recording.", "frames"
            )
        if self.velocities not in (True, False, "auto"):
            raise InputError(f"velocities is {self.velocities!r}, needed True, False or 'auto'.", "velocities")

    def _check_blocks_vary(self, recordings: Sequences) -> None:
        """Raise naming the channels of a block that are the same at every step of all recordings."""
        for channels in self.blocks_.channels:
            if not range_of_known(recordings.steps[:, list(channels)]).any():
                called = [recordings.channels[c] if recordings.channels else f"channel {c}" for c in channels]
                raise InputError(
                    f"{', '.join(called)} (one block) is the same at every step of all recordings. Leave it out."
                )

    def _say_which_rest(self, prepared: Sequences) -> None:
        """Warn of recordings that do not move."""
        rests, groups = resting_recordings(self.prepared_blocks_, prepared), self._groups(prepared.n_recordings)
        then = "They are taken as recorded in the frame of another recording."
        if groups is not None:
            rests, then = rests & ~np.isin(groups, groups[~rests]), "The frames reported for them mean nothing."
        named = [f"{i} ({prepared.names[i]})" for i in np.flatnonzero(rests)]
        if named:
            warnings.warn(
                f"Recordings that do not move, so that their frames cannot be inferred: {', '.join(named)}. {then}",
                RestingRecordingWarning,
                stacklevel=3,
            )

    def _say_what_is_lacking(self, prepared: Sequences) -> None:
        """Warn if every recording lacks a coordinate of a block that turns."""
        blocks = self.prepared_blocks_
        if (
            self._lacking is not None
            and blocks.n_angles
            and lacks_coordinate(blocks, prepared.starts, self._lacking).all()
        ):
            warnings.warn(
                MissingCoordinateWarning(
                    "Every recording lacks a coordinate of a point or vector at nearly all steps. Frames are searched "
                    "for as if these coordinates stood still, and may be wrong. Compare with rotations='none'.",
                    "rotations",
                ),
                stacklevel=3,
            )

    def _say_if_straight(self) -> None:
        """Warn if all points and vectors of all recordings are on straight lines."""
        blocks = self.prepared_blocks_
        if not blocks.sized or any(self.spans_[b] > 1 for b in blocks.sized):
            return
        free = ", and the rotation about its line cannot be determined" * bool(self.line_axes_.any())
        warnings.warn(
            StraightRecordingsWarning(
                f"Every recording lies on a straight line, so that few actions can be told apart{free}. To find more "
                "actions, give the position along the line and its velocity as two plain channels with blocks=.",
                "blocks",
            ),
            stacklevel=3,
        )

    def _channel_blocks(self, recordings: Sequences) -> ChannelBlocks:
        if isinstance(self.blocks, str) and self.blocks == "auto":
            return guess_blocks(recordings.channels, recordings.n_dims)
        return check_blocks(self.blocks, recordings.n_dims, recordings.channels)

    def _segment(self, prepared: Sequences) -> None:
        stride = self.preprocessing_.settings.stride
        self.least_looks_ = LEAST_LOOKS if self._moving() else 1
        if self.least_steps_ != "auto":
            self.least_looks_ = max(1, -(-int(self.least_steps_) // stride))
        known = self._known(prepared)
        if self.least_steps_ == "auto":
            self.least_looks_ = longest_least_stay(known, prepared.starts, self.least_looks_)
        if self.n_actions is not None and self.n_actions < known.number:
            raise InputError(f"n_actions is {self.n_actions}, needed {known.number} or more: y has so many labels.")
        is_limited = self.preprocessing_.settings.velocities is not None
        groups = self._groups(prepared.n_recordings)
        task = Task(prepared, self.prepared_blocks_, self.spans_, self.least_looks_, groups, is_limited)
        model, starts = (
            model_and_starts(self._search_rng(), task)
            if self._lacking is None
            else starts_in_observed(self._search_rng(), task, self._lacking)
        )
        self.prepared_blocks_ = model.blocks
        self.block_weights_ = model.block_weights
        self.place_mean_, self.place_spread_ = model.prior.place_mean, model.prior.place_spread
        model = replace(model, segmentation=replace(model.segmentation, known=known))
        self._incomplete = None if self._lacking is None else model.with_gaps(self._lacking)
        self._sample(
            prepared, model, partial(start_from, starts), frames.default_sweep(), frames.RECORDING, model.emission
        )

    def _missing_of(self, prepared: Sequences) -> BoolArray | None:  # noqa: ARG002
        return self._lacking

    def _groups(self, n_recordings: int) -> IntArray | None:
        """Return the given frame labels of recordings, (n_recordings,); None if sharing is inferred."""
        if isinstance(self.frames, str):
            framed = self.prepared_blocks_.turned or self.prepared_blocks_.placed
            if self.frames == "auto" and self._moving() and framed:
                return None
            return np.arange(n_recordings) if self.frames == "each" else np.zeros(n_recordings, dtype=np.int64)
        return _frame_groups(self.frames, n_recordings)

    def _least_stay_in_looks(self) -> int:
        return self.least_looks_

    def _completed(self, prepared: Sequences, traces: list[Trace]) -> list[Trace]:
        acted = [replace(trace, kept=self._acted_draws(prepared, trace.kept)) for trace in traces]
        actions = [draw.actions for trace in acted for draw in trace.kept]
        self._trace_actions(actions, [len(trace.kept) for trace in traces], prepared.starts)
        return acted

    def _log_left_out_of(self, rng: Generator, prepared: Sequences, emission: Emission, draw: Any) -> FloatArray:
        z, gaps = self._aligned_with_gaps(prepared, emission, draw.frames)
        found = log_left_out(rng, emission, z, prepared.starts, draw.path.expand(), gaps)
        # Densities are compared in the units of the recordings, whatever the size of their frames.
        volumes = log_determinants(self.prepared_blocks_, self.block_weights_, draw.frames)[draw.frames.labels]
        return np.asarray(found - np.repeat(volumes, prepared.lengths))

    def _aligned_with_gaps(self, prepared: Sequences, emission: Emission, found: Frames) -> tuple[FloatArray, Gaps]:
        """Return the augmented steps of aligned recordings, and their gaps."""
        if self._incomplete is not None:
            aligned = self._incomplete.aligned(found)
            return aligned.z, aligned.gaps
        steps = aligned_steps(self.prepared_blocks_, found, prepared.steps, prepared.starts)
        return emission.augment_steps(steps), NO_GAPS

    def _completed_steps(
        self, rng: Generator, prepared: Sequences, emission: Emission, found: Frames, path: IntArray
    ) -> FloatArray:
        """Return aligned recordings, with missing values drawn given a path."""
        z, gaps = self._aligned_with_gaps(prepared, emission, found)
        return plain_steps(emission, completed_steps(rng, emission, z, path, gaps, _N_ROUNDS_OF_DRAWS))

    def _answer(self, prepared: Sequences, emission: Emission, traces: list[Trace]) -> IntArray:
        kept = [draw for trace in traces for draw in trace.kept]
        self._report_frames(prepared, kept, most_probable(traces))
        aligned = self._aligned(prepared)
        states = [replace(trace, kept=[draw.path for draw in trace.kept]) for trace in traces]
        point = super()._answer(aligned, emission, states)
        if self._incomplete is not None:
            rng = np.random.default_rng(0)
            steps = self._completed_steps(rng, prepared, emission, self.frame_table_.frames, point)
            aligned = replace(aligned, steps=steps)
            self._amend(parameters=StateModel.from_path(emission, aligned, point, self.least_looks_))
        where = self._steps_of_recordings(aligned, 0)
        actions = [draw.actions for draw in kept]
        starts = prepared.starts
        summary = self._summarise_states(aligned.steps, point, starts)
        tree = merge_tree(Evidence(summary))
        self._amend(
            merges=np.array(tree.merged, dtype=np.int64).reshape(-1, 2),
            merge_gains=np.array(tree.gains),
            step_weights=weights_by_kind(self._prepared(), self.block_weights_),
        )
        agreed = minimise_expected_vi_paths(actions)
        if self.n_actions is not None:
            agreed = self.result_.state_groups(min(self.n_actions, len(tree.gains) + 1))[point]
        agreed = self._held(relabel_by_size(mend_short_stays(agreed, starts, self.least_looks_)), starts)
        self._say_if_fewer(int(agreed.max()) + 1)
        self._report_actions(
            over_all_steps(agreed, where, self._step_labels, self._known_labels.steps),
            (path[where] for path in actions),
        )
        self._report_scores(aligned)
        return point

    def _say_if_fewer(self, n_found: int) -> None:
        """Warn where fewer actions are reported than asked for."""
        if self.n_actions is None or n_found >= self.n_actions:
            return
        found = "1 action is" if n_found == 1 else f"{n_found} actions are"
        warnings.warn(
            FewerActionsWarning(
                f"n_actions is {self.n_actions}, but {found} reported: states are merged into actions and never split, "
                "and no more states were found. Make least_stay= or subsample= smaller to find finer states.",
                *("n_actions", "least_stay", "subsample"),
            ),
            stacklevel=5,
        )

    def _trace_actions(self, actions: list[IntArray], n_kept: list[int], starts: IntArray) -> None:
        """Add numbers of the actions of every kept sweep to the trace; there are none in burn-in."""
        chains, ends, added = self._chains(), np.cumsum([0, *n_kept]), {}
        for name, values in _numbers_of(actions, starts).items():
            added[name] = np.full(chains.trace["log_joint"].shape, np.nan)
            for chain, (first, last) in enumerate(pairwise(ends)):
                added[name][chain, chains.n_burn : chains.n_burn + last - first] = values[first:last]
        trace = chains.trace | added
        self._amend_chains(trace=trace, compared=tuple(self._compared(trace)))

    def _with_numbers(self, prepared: Sequences, trace: Trace) -> Trace:
        actions = [draw.actions for draw in self._acted_draws(prepared, trace.kept)]
        log_joint = trace.scalars["log_joint"][-len(trace.kept) :]
        return Trace({"log_joint": log_joint, **_numbers_of(actions, prepared.starts)}, kept=trace.kept)

    def _acted_draws(self, prepared: Sequences, kept: list[Any]) -> list[_ActedDraw]:
        """Return the kept draws of a chain with the actions of each.

        The seed is always the same: chains are compared by the same actions while they run, after a run is resumed,
        and in the verdict that is reported.
        """
        rng = np.random.default_rng(0)
        return [_ActedDraw(draw.path, draw.frames, self._actions_of(rng, prepared, draw)) for draw in kept]

    def _report_frames(self, prepared: Sequences, kept: list[_ActedDraw], best: int) -> None:
        """Set the frame of every recording, relative to the recording with most steps."""
        blocks = self.prepared_blocks_
        reference = int(np.argmax(prepared.lengths))
        self.reference_middle_ = prepared[reference].mean(axis=0)
        model = default_model(prepared, blocks, self.block_weights_, self.least_looks_)
        self.interval_factors_ = interval_factors(model, kept[best].frames, kept[best].path.expand())
        draws = [draw.frames for draw in kept]
        middle, spread = self.reference_middle_, self.interval_factors_
        table = frame_table(self._prepared(), draws, self.names_, reference, best, middle, self.line_axes_, spread)
        self._amend(frame_table=table)

    def _aligned(self, prepared: Sequences) -> Sequences:
        """Return prepared recordings in the frame of the reference."""
        steps = aligned_steps(self.prepared_blocks_, self.frame_table_.frames, prepared.steps, prepared.starts)
        parts = np.split(steps, prepared.starts[1:-1])
        return check_sequences(parts, names=prepared.names, allow_constant=True, min_steps=1)

    def _actions_of(self, rng: Generator, prepared: Sequences, draw: Any) -> IntArray:
        """Return the action of every used step in one draw."""
        path = np.unique(draw.path.expand(), return_inverse=True)[1]
        if self._incomplete is not None:
            steps = self._completed_steps(rng, prepared, self._incomplete.emission, draw.frames, path)
        else:
            steps = aligned_steps(self.prepared_blocks_, draw.frames, prepared.steps, prepared.starts)
        return np.asarray(draw_groups(rng, self._summarise_states(steps, path, prepared.starts))[path])

    def _summarise_states(self, steps: FloatArray, path: IntArray, starts: IntArray) -> StateSummary:
        blocks, weights = self.prepared_blocks_, self.block_weights_
        summary = summarise_states(blocks, weights, steps, path, starts, moving=self._moving())
        if self._step_labels is None:
            return summary
        return summary.with_labels(self._known_labels.tags_of(path, len(summary.n_steps)))

    def _moving(self) -> bool:
        """Whether recordings move along a path, or have no points that could."""
        return self.has_path_ or not self.prepared_blocks_.points

    def _report_scores(self, aligned: Sequences) -> None:
        """Set mean and spread of the scores of the recordings of the fit, which new recordings are compared with."""
        scores = [self._score_of(self.states_, one) for one in aligned]
        self.fit_score_ = float(np.mean(scores))
        self.fit_score_spread_ = max(float(np.std(scores)), _LEAST_SCORE_SPREAD * len(self.prepared_blocks_.kinds))

    def _imputed(self, recordings: Sequences, level: float) -> list[Imputed]:
        if "quaternion" in self.blocks_.kinds and recordings.missing is not None:
            turned = [
                c for b, kind in enumerate(self.blocks_.kinds) if kind == "quaternion" for c in self.blocks_.channels[b]
            ]
            if recordings.missing[:, turned].any():
                raise InputError(
                    "Orientations are missing, and only positions, vectors and plain channels are imputed."
                )
        is_fitted = _digest_of(recordings) == self.recordings_digest_
        found = self.frame_table_.frames if is_fitted else self._new_frames(recordings, None)
        recordings = self._cleaned(recordings)
        rearranged, order = self._rearranged(recordings), self._recorded_order()
        prepared, n_dims = self.preprocessing_.transform(rearranged, min_steps=1), rearranged.n_dims
        factors, offset, imputed = self.preprocessing_.factors[:n_dims], self.preprocessing_.offset[:n_dims], []
        for i, (one, looks, label) in enumerate(zip(rearranged, prepared, found.labels.tolist(), strict=True)):
            states = self._states_in(Frames.single(found[label]))
            means = states.coefficients[:, :n_dims, 0] / factors + offset
            covariances = states.covariances[:, :n_dims, :n_dims] / np.outer(factors, factors)
            probs = self._expand(states.probs(looks), len(one))
            parts = impute_steps(one, probs, means, covariances, level)
            whole = [recordings[i].copy() for _ in parts]
            for filled_in, target in zip(parts, whole, strict=True):
                gaps = np.isnan(target[:, order[0]])
                target[:, order[0]] = np.where(gaps, filled_in[:, order[1]], target[:, order[0]])
                # Where the recording is along a coordinate that it lacks, nothing tells.
                target[:, self._framed_channels() & np.isnan(recordings[i]).all(axis=0)] = np.nan
            imputed.append(Imputed(*whole))
        return imputed

    def _sampled(self, rng: Generator, paths: list[IntArray], steps: list[FloatArray]) -> SequenceSet:
        """Show drawn recordings in frames of recordings of the fit, drawn at random."""
        found, blocks, rows = self.frame_table_.frames, self.prepared_blocks_, self.frames_
        chosen = rng.integers(len(rows), size=len(paths))
        sequences = []
        for i, one in zip(chosen.tolist(), steps, strict=True):
            matrix, place = matrix_and_place(blocks, found, i)
            sequences.append(self._as_recorded(self.preprocessing_.restore_mean(one @ matrix.T + place)))
        known = None
        if blocks.points and blocks.points[0] in blocks.sized:
            size = blocks.sized.index(blocks.points[0])
            known = RecordedFrames(
                np.stack([rows[i].rotation for i in chosen]),
                np.array([rows[i].sizes[size] for i in chosen]),
                np.stack([rows[i].places[0] for i in chosen]),
                self.frame_labels_[chosen],
            )
        return SequenceSet(sequences, paths, [self.state_actions_[path] for path in paths], frames=known)

    def _as_recorded(self, rearranged: FloatArray) -> FloatArray:
        """Return channels in the order of the recordings, (n_steps, n_channels), from those in the order of blocks."""
        recorded, middles = np.empty((len(rearranged), len(self.blocks_.order))), iter(self.middle_orientations_)
        first = 0
        for kind, channels in zip(self.blocks_.kinds, self.blocks_.channels, strict=True):
            width = 3 if kind == "quaternion" else len(channels)
            values = rearranged[:, first : first + width]
            recorded[:, list(channels)] = orientations(values, next(middles)) if kind == "quaternion" else values
            first += width
        return recorded

    def _framed_channels(self) -> BoolArray:
        """Return which channels of the recordings are coordinates of points and vectors, (n_channels,)."""
        framed = np.zeros(len(self.blocks_.order), dtype=bool)
        for kind, channels in zip(self.blocks_.kinds, self.blocks_.channels, strict=True):
            framed[list(channels)] = kind in ("point", "vector")
        return framed

    def _recorded_order(self) -> tuple[list[int], list[int]]:
        """Return the channels that are not orientations, as recorded and as rearranged."""
        recorded: list[int] = []
        rearranged: list[int] = []
        first = 0
        for kind, channels in zip(self.blocks_.kinds, self.blocks_.channels, strict=True):
            width = 3 if kind == "quaternion" else len(channels)
            if kind != "quaternion":
                recorded += list(channels)
                rearranged += range(first, first + width)
            first += width
        return recorded, rearranged

    def actions_at(self, n_actions: int) -> list[IntArray]:
        """Return the action of every step with another number of actions, without sampling again.

        States are merged in the order of least loss; ``merge_gains_`` has what each merge gains, in nats.

        Parameters
        ----------
        n_actions : int
            From 1 to the number of states.

        Returns
        -------
        actions : list of ndarray of int, shape (n_steps_i,)
        """
        check_is_fitted(self)
        return self.result_.actions_at(n_actions)

    def steps_of_states(self, X: Any) -> list[FloatArray]:
        """Return the steps of the recordings of the fit that are used, in the units and the frame of `means_`."""
        check_is_fitted(self)
        recordings = check_sequences(X, allow_constant=True)
        prepared = self.preprocessing_.transform(self._rearranged(recordings))
        return [self.preprocessing_.restore_mean(one) for one in self._aligned(prepared)]

    def aligned(self, X: Any, *, lengths: ArrayLike | None = None) -> list[FloatArray]:
        """Return recordings in the frame of the reference, in its units.

        Parameters
        ----------
        X, lengths
            The recordings of the fit, or new ones, whose frames are found first.

        Returns
        -------
        aligned : list of ndarray of shape (n_steps_i, n_dims)
            Channels in the order of ``blocks_``, without velocities.
        """
        check_is_fitted(self)
        recordings = check_sequences(X, lengths=lengths, allow_constant=True, allow_missing=self._allows_missing())
        is_fitted = _digest_of(recordings) == self.recordings_digest_
        found = self.frame_table_.frames if is_fitted else self._new_frames(X, lengths)
        n_recorded = self._prepared().n_recorded
        recorded = replace(self.prepared_blocks_, kinds=self.prepared_blocks_.kinds[:n_recorded])
        own = replace(found, log_sizes=np.ascontiguousarray(found.log_sizes[:, : len(recorded.sized)]))
        offset, factors = self.preprocessing_.offset[: recorded.n_dims], self.preprocessing_.factors[: recorded.n_dims]
        rearranged = self._rearranged(recordings)
        units = np.ascontiguousarray((rearranged.steps - offset) * factors)
        steps = aligned_steps(recorded, own, units, rearranged.starts) / factors + offset
        columns, middles = np.split(steps, recorded.layout.starts[1:-1], axis=1), iter(self.middle_orientations_)
        for b, kind in enumerate(recorded.kinds):
            if kind == "orientation":
                columns[b] = orientations(columns[b], next(middles))
        return np.split(np.hstack(columns), rearranged.starts[1:-1])


def _known_quaternions(quaternions: FloatArray) -> FloatArray:
    """Return the quaternions of which all four numbers are known."""
    return quaternions[~np.isnan(quaternions).any(axis=1)]


def _numbers_of(actions: list[IntArray], starts: IntArray) -> dict[str, list[float]]:
    """Return label-free statistics of the actions of several draws, by name."""
    return {
        "n_actions": [float(len(np.unique(path))) for path in actions],
        "n_action_segments": [float(count_segments(path, starts)) for path in actions],
        "action_entropy": [occupancy_entropy(path) for path in actions],
    }


def _digest_of(recordings: Sequences) -> str:
    """Return a digest of the values and lengths of recordings."""
    return sha256(recordings.starts.tobytes() + recordings.steps.tobytes()).hexdigest()


def _frame_groups(labels: Sequence[Any], n_recordings: int) -> IntArray:
    """Return labels of recordings as numbers from zero without gaps, (n_recordings,)."""
    if not hasattr(labels, "__len__") or len(labels) != n_recordings:
        found = f"has {len(labels)} labels" if hasattr(labels, "__len__") else f"is {labels!r}"
        raise InputError(
            f"frames {found} for {n_recordings} recordings, needed one label for each, or 'auto', 'one' or 'each'."
        )
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)
