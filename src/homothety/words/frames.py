"""Text and tables about the frames of recordings, shared by terminal, summary and report."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.words import SURE, enumerated
from homothety.words.blocks import left_as_recorded, n_recorded
from homothety.words.markdown import bullet_list, markdown_table
from homothety.words.transforms import Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.arrays import FloatArray
    from homothety.estimators.action_hmm import ActionHMM
    from homothety.summaries.frames import RecordingFrame

FILE = "frames.csv"
TITLE = "Frames of the recordings"
NOT_DETERMINED = "rotation about its line"  # of a recording on a straight line
MAX_SENTENCES = 20
MAX_NAMES = 3  # of recordings that share a frame, in a sentence
AXES = "xyz"
ROUNDING = 1e-12  # numbers below are rounding errors


def rows(model: ActionHMM) -> list[dict[str, Any]]:
    """Return the frame of every recording for JSON; angles in degrees, intervals of 90 %."""
    sizes, places, zeros = size_names(model), place_names(model), zero_names(model)
    frames = model.frames_
    return [
        {
            "recording": one.name,
            "reference": one.is_reference,
            "shared_with": [frames[other].name for other in one.shared_with],
            "turned_by": _number(one.angle),
            "turned_within": _number(one.angle_error),
            "rotation": [[_number(entry) for entry in row] for row in one.rotation.tolist()],
            "sizes": _named(sizes, one.sizes, one.size_intervals),
            "moved": _named(places, one.places, one.place_intervals),
            "zeros": _named(zeros, one.zeros, one.zero_intervals),
            "agreement": _number(one.agreement),
            "not_determined": NOT_DETERMINED if one.free_axis is not None else "",
        }
        for one in frames
    ]


def flat_rows(model: ActionHMM) -> list[dict[str, Any]]:
    """Return the rows of a table in which every number has a column of its own."""
    return [
        {
            "recording": row["recording"],
            "reference": row["reference"],
            "shared_with": "; ".join(row["shared_with"]),
            "turned_by": row["turned_by"],
            "turned_within": row["turned_within"],
            **_columns("size", row["sizes"]),
            **_columns("moved", row["moved"]),
            **_columns("zero", row["zeros"]),
            "agreement": row["agreement"],
            "not_determined": row["not_determined"],
        }
        for row in rows(model)
    ]


def _columns(quantity: str, numbers: dict[str, dict[str, float | None]]) -> dict[str, float | None]:
    """Return numbers with their intervals by the names of columns: moved_x, moved_x_low, moved_x_high."""
    return {
        "_".join([quantity, *name.split(), *([] if end == "value" else [end])]): value
        for name, ends in numbers.items()
        for end, value in ends.items()
    }


def size_names(model: ActionHMM) -> list[str]:
    """Return what the blocks with a size are called: position, vector and velocity, numbered where there are several.

    Velocities that the model has computed come last.
    """
    blocks, n_first = model.prepared_blocks_, n_recorded(model)
    words = ["velocity" if b >= n_first else _kind(blocks.kinds[b]) for b in blocks.sized]
    return _numbered(words)


def place_names(model: ActionHMM) -> list[str]:
    """Return what the coordinates of places are called: x, y and z, with the block before them if there are several."""
    blocks = model.prepared_blocks_
    names = _numbered([_kind("point")] * len(blocks.points))
    axes = AXES[: blocks.dim]
    return [f"{name} {axis}" if len(names) > 1 else axis for name in names for axis in axes]


def zero_names(model: ActionHMM) -> list[str]:
    """Return what the coordinates of the zeros of recorded vectors are called: vector x, vector y and so on."""
    blocks = model.prepared_blocks_
    names = _numbered(["vector" for b in blocks.shifted if blocks.kinds[b] == "vector"])
    return [f"{name} {axis}" for name in names for axis in AXES[: blocks.dim]]


def _kind(kind: str) -> str:
    return {"point": "position"}.get(kind, kind)


def _numbered(words: list[str]) -> list[str]:
    """Return words that are all different.

    Examples
    --------
    >>> _numbered(["position", "velocity", "position"])
    ['position', 'velocity', 'position 2']
    """
    seen: Counter[str] = Counter()
    numbered = []
    for word in words:
        seen[word] += 1
        numbered.append(word if seen[word] == 1 else f"{word} {seen[word]}")
    return numbered


def _with_ends(values: FloatArray, intervals: FloatArray) -> FloatArray:
    """Return each value with the ends of its interval, (n_values, 3)."""
    return np.column_stack([values.ravel(), intervals.reshape(-1, 2)])


def _named(names: list[str], values: FloatArray, intervals: FloatArray) -> dict[str, dict[str, float | None]]:
    rows = zip(names, _with_ends(values, intervals), strict=True)
    return {name: dict(zip(("value", "low", "high"), map(_number, row), strict=True)) for name, row in rows}


def _number(number: float) -> float | None:
    if abs(number) < ROUNDING:
        return 0.0
    return float(f"{number:.6g}") if np.isfinite(number) else None


def reference_of(model: ActionHMM) -> RecordingFrame:
    """Return the recording that all others are compared with."""
    return next(one for one in model.frames_ if one.is_reference)


def may_differ(model: ActionHMM) -> bool:
    """Say whether there are channels that a frame acts on: positions, vectors or orientations."""
    return bool(model.prepared_blocks_.turned or model.prepared_blocks_.placed)


def introduction(model: ActionHMM) -> str:
    """Return what the frames are relative to, and how many there are."""
    frames = model.frames_
    n_frames = len(np.unique(model.frame_labels_))
    if not may_differ(model):
        return "No channel turns or moves with a recording, so there are no frames to compare."
    if n_frames == 1:
        return "All recordings share one frame: none is turned, resized or moved." * (len(frames) > 1)
    said = (
        f"{len(frames)} recordings have {n_frames} frames. Each is compared with {reference_of(model).name}, the "
        f"recording with most steps. Intervals are of 90 %. {left_as_recorded(model)}"
    )
    return said.strip()


def sentences(model: ActionHMM) -> list[str]:
    """Return one sentence for each frame, about its first recording; none where all recordings share a frame."""
    frames, labels = model.frames_, model.frame_labels_
    firsts = [frames[i] for i in np.sort(np.unique(labels, return_index=True)[1])]
    if len(firsts) == 1 or not may_differ(model):
        return []
    reference = reference_of(model)
    told = [reference if labels[one.recording] == labels[reference.recording] else one for one in firsts]
    may_turn, size = model.prepared_blocks_.n_angles > 0, leading_size(model)
    told = [one for one in told if not one.is_reference or one.shared_with]
    return [sentence(one, frames, may_turn=may_turn, size=size) for one in told]


def leading_size(model: ActionHMM) -> int:
    """Return which of the sizes of a frame is reported: that of positions, if there are any."""
    blocks = model.prepared_blocks_
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
    line = " It lies on a straight line, so its rotation about that line cannot be determined."
    return f"Recording {one.name} {said}.{line * (may_turn and one.free_axis is not None)}{doubt}"


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


def table(model: ActionHMM) -> tuple[list[str], list[list[Any]]]:
    """Return header and rows of a table of all frames."""
    frames = model.frames_
    may_turn, places, size = model.prepared_blocks_.n_angles > 0, place_names(model), leading_size(model)
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
        if one.is_reference:
            cells += ["-"] * (len(header) - len(cells))
        else:
            cells += [f"{one.angle:.1f} (± {one.angle_error:.1f})"] * may_turn
            shown = _with_ends(one.sizes, one.size_intervals)[size : size + 1]
            cells += [_cell(*row) for row in (*shown, *_with_ends(one.places, one.place_intervals))]
        found.append(cells)
    return header, found


def _cell(value: float, low: float, high: float) -> str:
    value_text, *ends = Estimate(value, low, high).as_texts()
    return f"{value_text} ({' to '.join(ends)})"


def notes(model: ActionHMM, most: int = MAX_SENTENCES, file: str = FILE) -> list[str]:
    """Return what to say on a terminal: an introduction and sentences; nothing about a single recording."""
    said = sentences(model)
    more = [more_note(len(said) - most, f"in {file}")] * (len(said) > most)
    return [line for line in (introduction(model), *said[:most], *more) if line]


def more_note(count: int, where: str) -> str:
    """Return where the sentences are that were left out."""
    return f"{count} more {'is' if count == 1 else 'are'} {where}."


def section(model: ActionHMM, file: str = FILE) -> list[str]:
    """Return a part of a page in Markdown about the frames; nothing if there is a single recording."""
    opening, *said = notes(model, file=file) or [""]
    if not opening:
        return []
    shown = [bullet_list(said), markdown_table(*table(model))] if said else []
    return [f"## {TITLE}", opening, *shown, f"{moved_note(model)} `{file}` has all numbers.".strip()]


def moved_note(model: ActionHMM) -> str:
    """Return what translations in the table mean; nothing if there are none."""
    where = f"Moved: where the origin of {reference_of(model).name} lies, in the units of the recordings."
    return where * bool(place_names(model))
