"""Sentences and tables about actions, about states that are one action, and about frames of recordings."""

from __future__ import annotations

from itertools import combinations
from math import floor, log10
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.phrases import SURE, enumerated, number_of
from homothety.summaries.frames import KINDS
from homothety.summaries.tables import place_names, units_of_transforms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.arrays import FloatArray
    from homothety.summaries.frames import FrameTable, RecordingFrame
    from homothety.summaries.result import Segmentation
    from homothety.summaries.transforms import StateTransform


_EXPLANATION = "An action groups states that differ only in position, orientation and size."
_IN_FRAMES = (
    "States are those of the aligned recordings. An action is one state, or several where there is evidence that they "
    "are pieces, or moved or turned copies, of one motion."
)
_MAX_DOUBTS = 5  # pairs of states named in a sentence


def explanation(result: Segmentation) -> str:
    """Return a sentence that defines an action in the model of a result."""
    return _EXPLANATION if result.frame_table is None else _IN_FRAMES


def doubts(coaction: FloatArray) -> str:
    """Return a sentence on uncertain groupings, from the agreement on each pair, (n_states, n_states)."""
    pairs = [(k, other, float(coaction[k, other])) for k, other in combinations(range(len(coaction)), 2)]
    unclear = sorted((pair for pair in pairs if 1 - SURE < pair[2] < SURE), key=lambda pair: abs(pair[2] - 0.5))
    if not pairs:
        return "There is only one state, and so one action."
    if not unclear:
        return f"Which states are one action is clear: {SURE:.0%} of the kept sweeps or more agree on every pair."
    named = ", ".join(f"{k} and {other} ({share:.2f})" for k, other, share in unclear[:_MAX_DOUBTS])
    more = f" and {len(unclear) - _MAX_DOUBTS} more pairs" if len(unclear) > _MAX_DOUBTS else ""
    return (
        f"It is not clear whether these states are one action (agreement, the share of kept sweeps, in brackets): "
        f"{named}{more}."
    )


def one_recording(result: Segmentation) -> str:
    """Return a caution on actions found by shape in a single recording; empty in other cases."""
    if len(result.names) > 1 or result.provenance.settings.get("grouping") != "shapes":
        return ""
    return (
        "There is only one recording, and in each an action is expected in one version: its states are less readily "
        "one action than those of several recordings would be. --grouping links looks at shapes alone."
    )


def _states_in_words(states: list[int], shares: list[float]) -> str:
    """Return the states of an action; those with only some of their steps in it with their share.

    Examples
    --------
    >>> _states_in_words([0, 3], [1.0, 0.2])
    '0, 3 (20 %)'
    """
    texts = [
        str(state) if share > 0.5 else f"{state} ({100 * share:.2g} %)"
        for state, share in zip(states, shares, strict=True)
    ]
    return ", ".join(texts) or "-"


def states_of(result: Segmentation) -> list[str]:
    """Return the states of each action, with shares of those that are mostly in another action."""
    steps = result.steps_by_action
    if steps is None:
        return []
    shares = steps / np.maximum(steps.sum(axis=1, keepdims=True), 1)
    found = [np.flatnonzero(column) for column in steps.T]
    return [_states_in_words(states.tolist(), shares[states, action].tolist()) for action, states in enumerate(found)]


# Transformations between the states of an action


_MAX_MOVES = 3  # dimensions named in a sentence


class Estimate(NamedTuple):
    """A number and the ends of its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def has_interval(self) -> bool:
        """Whether the value has an interval."""
        return bool(np.isfinite([self.low, self.high]).all())

    def holds(self, value: float) -> bool:
        """Return whether a value is inside the interval."""
        return self.low <= value <= self.high

    def as_texts(self) -> list[str]:
        """Return value and interval as texts with the significant digits, and never rounded to zero.

        Examples
        --------
        >>> Estimate(1.9234, 1.82, 2.04).as_texts(), Estimate(0.0231, 0.0123, 0.31).as_texts()
        (['1.9', '1.8', '2.0'], ['0.02', '0.01', '0.31'])
        """
        shown = list(self) if self.has_interval else [self.value]
        doubt = (self.high - self.low) / 2 if self.has_interval else abs(self.value) / 10
        smallest = min((size for size in (doubt, *map(abs, shown)) if size > 0), default=1.0)
        decimals = min(max(-floor(log10(smallest)), 0), 12)
        return [f"{number:.{decimals}f}" for number in shown]


def _moves(one: StateTransform) -> list[Estimate]:
    """Return the translation, dimension by dimension."""
    ends = np.stack([one.translation, one.translation_low, one.translation_high], axis=1)
    return [Estimate(*move) for move in ends.tolist()]


def transform_sentence(one: StateTransform, dims: Sequence[str], *, directed: bool = True) -> str:
    """Return a sentence on the map from the reference of an action to a state.

    Parameters
    ----------
    one : StateTransform
    dims : sequence of str
        What the dimensions are called.
    directed : bool
        Whether states could have been found to lie in different directions.
    """
    doubt = f" The agreement that they are one action is {one.agreement:.2f}." * (one.agreement < SURE)
    if np.isinf(one.scale_high):
        grouped = f"State {one.state} is grouped with state {one.reference}"
        return f"{grouped}, but one of the two has too few observations to tell how they differ.{doubt}"
    parts = [part for part in (_state_turned(one) * directed, _state_resized(one), _state_moved(one, dims)) if part]
    comma = "," * (not parts[0].startswith("turned"))
    same = f"State {one.state} is state {one.reference}{comma} {enumerated(parts)}."
    return f"{same}{_what_is_unknown(one, directed=directed)}{doubt}"


def _what_is_unknown(one: StateTransform, *, directed: bool) -> str:
    undirected = " Its orientation cannot be determined." * (directed and one.orientation == "none")
    if np.isfinite(one.scale_high):
        return undirected
    return f"{undirected} How sure this is cannot be told: no kept sweep has both states as they are reported."


def _state_turned(one: StateTransform) -> str:
    if one.orientation == "none":
        return ""
    within = f" (within {_degrees(one.rotation_within)}°)" * bool(np.isfinite(one.rotation_within))
    partly = " as far as its orientation can be determined" * (one.orientation == "partial")
    return f"turned by {_degrees(one.angle)}°{within}{partly}"


def _degrees(angle: float) -> str:
    return f"{angle:.0f}" if angle >= 1 else f"{angle:.1g}"


def _state_resized(one: StateTransform) -> str:
    scale = Estimate(one.scale, one.scale_low, one.scale_high)
    value, *ends = scale.as_texts()
    if not scale.has_interval:
        return f"{value} times as large"
    if scale.holds(1.0):
        return f"about as large ({ends[0]} to {ends[1]} times)"
    return f"{value} times as large ({ends[0]} to {ends[1]})"


def _state_moved(one: StateTransform, dims: Sequence[str]) -> str:
    """Return in words the certain translations of a mean, the largest first; autoregressive states have none."""
    if np.isnan(one.translation).any():
        return ""
    moves = sorted(zip(_moves(one), dims, strict=True), key=lambda pair: -abs(pair[0].value))
    sure = [(move, dim) for move, dim in moves if not (move.has_interval and move.holds(0.0))]
    if not sure:
        return "not moved, as far as can be told"
    named = [_along(dim, move) for move, dim in sure[:_MAX_MOVES]]
    n_left = len(sure) - len(named)
    if n_left == 0:
        return f"moved by {enumerated(named)}"
    return f"moved by {', '.join(named)} and less along {n_left} more dimension{'s' * (n_left > 1)}"


def _along(dim: str, move: Estimate) -> str:
    value, *ends = move.as_texts()
    return f"{value} along {dim}" + f" ({' to '.join(ends)})" * move.has_interval


def transforms_introduction(result: Segmentation, transforms: Sequence[StateTransform]) -> str:
    """Return an introduction to the transformations: what is compared, and in which units."""
    counts = np.bincount([one.action for one in transforms])
    alone = [str(one.state) for one in transforms if counts[one.action] == 1]
    parts = [
        "Every state is compared with the one of its action that has most steps. In brackets are 95 % intervals.",
        _remarks(result),
    ]
    if alone:
        whose = "its action" if len(alone) == 1 else "their actions"
        states = f"state{'s' if len(alone) > 1 else ''} {enumerated(alone)}"
        parts.insert(1, f"Alone in {whose}, and so not compared: {states}.")
    return " ".join(parts)


def _remarks(result: Segmentation) -> str:
    """Return remarks that apply to all transformations."""
    units = units_of_transforms(result)
    prepared = ", in which shapes were compared" if units != "recordings" else ""
    where = " and relative to the middle of each recording" if result.preparation.means_are_relative else ""
    places = f"Translations are in the units of the {units}{prepared}{where}."
    if result.parameters.order:
        places = "Autoregressive states have no place, and no translation."
    if not has_directions(result):
        return f"{places} No rotation is told, because independent dimensions were assumed (--emission diagonal)."
    return f"{places} An axis has no front and back, so several rotations fit: the smallest is told."


def has_directions(result: Segmentation) -> bool:
    """Return whether states can differ in the directions of their axes."""
    return result.provenance.settings.get("emission") != "diagonal"


# Frames of recordings


MAX_SENTENCES = 20
_MAX_NAMES = 3  # of recordings that share a frame, in a sentence


def frames_may_differ(table: FrameTable) -> bool:
    """Return whether there are channels that a frame acts on: positions, vectors or orientations."""
    return bool(table.blocks.turned or table.blocks.placed)


def frames_introduction(table: FrameTable) -> str:
    """Return an introduction to the frames: their reference and their number."""
    frames = table.rows
    n_frames = len(np.unique(table.labels))
    if not frames_may_differ(table):
        return "No channel turns or moves with a recording, so there are no frames to compare."
    if n_frames == 1 and table.reference >= 0:
        return "All recordings share one frame: none is turned, resized or moved." * (len(frames) > 1)
    counts = f"{number_of(len(frames), 'recording')} in {number_of(n_frames, 'frame')}"
    compared = f"Each is compared with {table.reference_name}, the recording of the fit with most steps"
    return f"{counts}. {compared}. Intervals are of 90 %. {_left_as_recorded(table)}".strip()


def _left_as_recorded(table: FrameTable) -> str:
    """Return which kinds of channels frames leave alone although they could turn them; nothing if there are none."""
    named = enumerated(sorted({KINDS[table.blocks.kinds[b]] for b in table.blocks.still}) or [""])
    return f"{named[0].upper()}{named[1:]} fit better as recorded, and are not turned." if named else ""


def frame_sentences(table: FrameTable) -> list[str]:
    """Return one sentence for each frame, about its first recording; none where all recordings share a frame."""
    frames, labels = table.rows, table.labels
    firsts = [frames[i] for i in np.sort(np.unique(labels, return_index=True)[1])]
    if (len(firsts) == 1 and table.reference >= 0) or not frames_may_differ(table):
        return []
    told = firsts
    if table.reference >= 0:
        reference = frames[table.reference]
        told = [reference if labels[one.recording] == labels[table.reference] else one for one in firsts]
    may_turn, size = table.blocks.n_angles > 0, _leading_size(table)
    told = [one for one in told if not one.is_reference or one.shared_with]
    return [_frame_sentence(one, frames, may_turn=may_turn, size=size) for one in told]


def _leading_size(table: FrameTable) -> int:
    """Return which of the sizes of a frame is reported: that of positions, if there are any."""
    blocks = table.blocks
    return blocks.sized.index(blocks.leading) if blocks.leading in blocks.sized else 0


def _frame_sentence(
    one: RecordingFrame, frames: Sequence[RecordingFrame], *, may_turn: bool = True, size: int = 0
) -> str:
    """Return how a recording differs from the reference.

    Parameters
    ----------
    one : RecordingFrame
    frames : sequence of RecordingFrame
        Of all recordings, for the names of those that share the frame.
    may_turn : bool
        Whether frames of the model may have rotations.
    size : int
        Which of the sizes is reported.
    """
    others = [frames[other] for other in one.shared_with]
    if any(each.is_reference for each in (one, *others)):
        return f"Recording {one.name} shares its frame with {_sharing_names(others)}."
    parts = ([_recording_turned(one)] if may_turn else []) + ([_recording_resized(one, size)] if len(one.sizes) else [])
    shared = [f"shares its frame with {_sharing_names(others)}"] if others else []
    is_like = [f"is {enumerated(parts)}"] if len(parts) > 1 and not shared else [f"is {', '.join(parts)}"] * bool(parts)
    said = ", and ".join([*is_like, *shared]) or "has a frame of its own"
    doubt = (
        f" {1 - one.agreement:.0%} of the draws turn it by more than 90 degrees from this.".replace("%", " %")
        if may_turn and one.agreement < SURE
        else ""
    )
    line = ""
    if may_turn and one.free_axis is not None:
        line = " It lies on a straight line, so its rotation about that line cannot be determined."
    return f"Recording {one.name} {said}.{line}{doubt}"


def _sharing_names(frames: Sequence[RecordingFrame]) -> str:
    first = sorted(frames, key=lambda one: not one.is_reference)[:_MAX_NAMES]
    n_left = len(frames) - len(first)
    names = [*(one.name for one in first), *[f"{n_left} more"] * (n_left > 0)]
    return "; ".join(names) if any("," in name for name in names) else enumerated(names)


def _recording_turned(one: RecordingFrame) -> str:
    if one.angle <= one.angle_error:
        return f"not turned by more than {_degrees(one.angle + one.angle_error)} degrees"
    return f"turned by {_degrees(one.angle)} degrees (90 % within {_degrees(one.angle_error)})"


def _recording_resized(one: RecordingFrame, which: int) -> str:
    size = Estimate(float(one.sizes[which]), *map(float, one.size_intervals[which]))
    value, low, high = size.as_texts()
    if size.holds(1.0):
        return f"about as large ({low} to {high} times)"
    return f"{value} times as large ({low} to {high})"


def frames_table(table: FrameTable) -> tuple[list[str], list[list[Any]]]:
    """Return header and rows of a table of all frames."""
    frames = table.rows
    may_turn, places, size = table.blocks.n_angles > 0, place_names(table), _leading_size(table)
    header = [
        "recording",
        "shares its frame with",
        *["turned by (degrees)"] * may_turn,
        *["times as large"] * bool(len(frames[0].sizes)),
        *(f"moved along {name}" for name in places),
    ]
    found = []
    for one in frames:
        cells: list[Any] = [f"{one.name}{' (reference)' * one.is_reference}"]
        cells.append(_sharing_names([frames[other] for other in one.shared_with]) if one.shared_with else "-")
        if table.reference >= 0 and table.labels[one.recording] == table.labels[table.reference]:
            cells += ["-"] * (len(header) - len(cells))
        else:
            cells += [f"{one.angle:.1f} (± {one.angle_error:.1f})"] * may_turn
            shown = _with_ends(one.sizes, one.size_intervals)[size : size + 1]
            cells += [_cell(*row) for row in (*shown, *_with_ends(one.places, one.place_intervals))]
        found.append(cells)
    return header, found


def _with_ends(values: FloatArray, intervals: FloatArray) -> FloatArray:
    """Return each value with the ends of its interval, (n_values, 3)."""
    return np.column_stack([values.ravel(), intervals.reshape(-1, 2)])


def _cell(value: float, low: float, high: float) -> str:
    value_text, *ends = Estimate(value, low, high).as_texts()
    return f"{value_text} ({' to '.join(ends)})"


def more_note(count: int, where: str) -> str:
    """Return a note on where to find the sentences that were left out."""
    return f"{count} more {'is' if count == 1 else 'are'} {where}."


def moved_note(table: FrameTable) -> str:
    """Return a note on the translations in the table; empty if there are none."""
    where = f"Moved: where the origin of {table.reference_name} lies, in the units of the recordings."
    return where if place_names(table) else ""
