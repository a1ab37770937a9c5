"""Text and tables about the frames of recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.phrases import SURE, enumerated, number_of
from homothety.report.transforms import Estimate
from homothety.summaries.frames import KINDS
from homothety.summaries.tables import place_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.arrays import FloatArray
    from homothety.summaries.frames import FrameTable, RecordingFrame

MAX_SENTENCES = 20
MAX_NAMES = 3  # of recordings that share a frame, in a sentence


def may_differ(table: FrameTable) -> bool:
    """Say whether there are channels that a frame acts on: positions, vectors or orientations."""
    return bool(table.blocks.turned or table.blocks.placed)


def introduction(table: FrameTable) -> str:
    """Return what the frames are relative to, and how many there are."""
    frames = table.rows
    n_frames = len(np.unique(table.labels))
    if not may_differ(table):
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


def sentences(table: FrameTable) -> list[str]:
    """Return one sentence for each frame, about its first recording; none where all recordings share a frame."""
    frames, labels = table.rows, table.labels
    firsts = [frames[i] for i in np.sort(np.unique(labels, return_index=True)[1])]
    if (len(firsts) == 1 and table.reference >= 0) or not may_differ(table):
        return []
    told = firsts
    if table.reference >= 0:
        reference = frames[table.reference]
        told = [reference if labels[one.recording] == labels[table.reference] else one for one in firsts]
    may_turn, size = table.blocks.n_angles > 0, leading_size(table)
    told = [one for one in told if not one.is_reference or one.shared_with]
    return [sentence(one, frames, may_turn=may_turn, size=size) for one in told]


def leading_size(table: FrameTable) -> int:
    """Return which of the sizes of a frame is reported: that of positions, if there are any."""
    blocks = table.blocks
    return blocks.sized.index(blocks.leading) if blocks.leading in blocks.sized else 0


def sentence(one: RecordingFrame, frames: Sequence[RecordingFrame], *, may_turn: bool = True, size: int = 0) -> str:
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
        return f"Recording {one.name} shares its frame with {_names(others)}."
    parts = ([_turned(one)] if may_turn else []) + ([_resized(one, size)] if len(one.sizes) else [])
    shared = [f"shares its frame with {_names(others)}"] if others else []
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


def _names(frames: Sequence[RecordingFrame]) -> str:
    first = sorted(frames, key=lambda one: not one.is_reference)[:MAX_NAMES]
    n_left = len(frames) - len(first)
    names = [*(one.name for one in first), *[f"{n_left} more"] * (n_left > 0)]
    return "; ".join(names) if any("," in name for name in names) else enumerated(names)


def _turned(one: RecordingFrame) -> str:
    if one.angle <= one.angle_error:
        return f"not turned by more than {_degrees(one.angle + one.angle_error)} degrees"
    return f"turned by {_degrees(one.angle)} degrees (90 % within {_degrees(one.angle_error)})"


def _degrees(angle: float) -> str:
    return f"{angle:.0f}" if angle >= 1 else f"{angle:.1g}"


def _resized(one: RecordingFrame, which: int) -> str:
    size = Estimate(float(one.sizes[which]), *map(float, one.size_intervals[which]))
    value, low, high = size.as_texts()
    if size.holds(1.0):
        return f"about as large ({low} to {high} times)"
    return f"{value} times as large ({low} to {high})"


def table_rows(table: FrameTable) -> tuple[list[str], list[list[Any]]]:
    """Return header and rows of a table of all frames."""
    frames = table.rows
    may_turn, places, size = table.blocks.n_angles > 0, place_names(table), leading_size(table)
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
        cells.append(_names([frames[other] for other in one.shared_with]) if one.shared_with else "-")
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
    """Return where the sentences are that were left out."""
    return f"{count} more {'is' if count == 1 else 'are'} {where}."


def moved_note(table: FrameTable) -> str:
    """Return what translations in the table mean; nothing if there are none."""
    where = f"Moved: where the origin of {table.reference_name} lies, in the units of the recordings."
    return where if place_names(table) else ""
