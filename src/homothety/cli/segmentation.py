"""Segmenting one set of series and writing everything about it into a folder."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety._version import __version__
from homothety.cli.chains import chains_agree, planned, verdict
from homothety.cli.figures import PAGE_FIGURES
from homothety.cli.files import REPORT, has_matplotlib, make_folder, write_figures, write_json
from homothety.cli.pictures import pictures
from homothety.estimators.action_reports import ReportsActions
from homothety.estimators.segmentation import SampledSegmenter
from homothety.export.tables import KINDS, action_segments_table, in_seconds, rounded, segments_table, write_rows
from homothety.files import write_text, written_aside
from homothety.report import write_report
from homothety.report.runs import versions
from homothety.report.saved import RECORDINGS, write_recordings
from homothety.words import actions, blocks, frames, listed, number_of, ordinal, transforms
from homothety.words.markdown import markdown_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from homothety.cli.console import Console
    from homothety.cli.pictures import Picture
    from homothety.datasets import SequenceSet
    from homothety.estimators.segmentation import Segmenter
    from homothety.summaries.paths import BoundaryInterval

MAX_LISTED = 20  # series in the table on the terminal
FULL_WEIGHT = 0.995  # of a step: more is all of it, in two digits


@dataclass(frozen=True, eq=False)
class Segmentation:
    """A set of series and the model fitted to it.

    Parameters
    ----------
    items : SequenceSet
    model : Segmenter
        Fitted.
    source : str
        Where the series came from.
    seconds : float
        How long the fit took.
    """

    items: SequenceSet
    model: Segmenter
    source: str
    seconds: float

    @property
    def interrupted(self) -> bool:
        """Whether the answer rests on fewer sweeps than asked for."""
        return bool(getattr(self.model, "interrupted_", False))

    @property
    def channels(self) -> list[str]:
        """What the dimensions of the recordings are called in tables."""
        return list(self.items.channels) or [str(dim) for dim in range(self.items.n_dims)]

    @property
    def model_channels(self) -> list[str]:
        """What the dimensions are called in tables, in the order in which the model has them."""
        return blocks.in_order_of(self.model, self.channels)

    @property
    def spoken_channels(self) -> list[str]:
        """What the dimensions of the recordings are called in sentences."""
        return list(self.items.channels) or [f"dimension {dim}" for dim in range(self.items.n_dims)]


def fit(items: SequenceSet, model: Segmenter, console: Console, *, source: str) -> Segmentation:
    """Fit the model, saying so; an interrupt ends it early with whatever was sampled by then."""
    size = f"{number_of(len(items), 'recording')}, {items.n_steps} steps of {items.n_dims} dimensions"
    if isinstance(model, SampledSegmenter):
        first = ""
        if blocks.are_known_by(model):
            console.say(blocks.of_recordings(model, items).replace("blocks=[...]", "--blocks"))
            first = ", after a search for frames to start from"
        console.say(f"Sampling {planned(model)} over {size}{first}")
        model.set_params(progress=console.shows_progress)
    else:
        console.say(f"Fitting hidden Markov models to {size}")
    started = perf_counter()
    model.fit(items)  # the set, for its names of channels
    if isinstance(model, SampledSegmenter):
        model.set_params(progress=False)
    return Segmentation(items, model, source, perf_counter() - started)


def write(result: Segmentation, folder: Path, console: Console, kind: str = "csv") -> list[str]:
    """Write tables, states, summary, model and figures into a folder, and return the names of the files.

    `kind` is that of the tables: "csv", "json" or "parquet".
    """
    make_folder(folder)
    result.model.save(folder / "model.homothety")
    tables = write_tables(result, folder, kind)
    write_json(folder / "states.json", describe_states(result))
    write_json(folder / "summary.json", summarise(result))
    shown = pictures(result) if has_matplotlib() else {}
    figures = write_figures(folder, {name: one.draw for name, one in shown.items()}, console, PAGE_FIGURES)
    write_text(folder / "summary.md", page(result, shown, kind))
    write_recordings(folder / RECORDINGS, result.items)
    write_report(result, folder / REPORT)
    others = ["states.json", "summary.json", "model.homothety", RECORDINGS]
    return [REPORT, "summary.md", *tables, *others, *figures]


ACTION_SEGMENTS, ACTION_BOUNDARIES = "action_segments.csv", "action_boundaries.csv"
TABLES = (
    "segments.csv",
    "boundaries.csv",
    "labels.csv",
    ACTION_SEGMENTS,
    ACTION_BOUNDARIES,
    transforms.FILE,
    frames.FILE,
)
BOUNDARY_COLUMNS = ("series", "step", "low", "high", "share")


def write_tables(result: Segmentation, folder: Path, kind: str = "csv") -> list[str]:
    """Write the tables, and return the names of the files; those of an earlier run that are not written are removed."""
    tables: dict[str, Iterable[Mapping[str, Any]]] = {
        "segments.csv": segment_rows(result),
        "boundaries.csv": boundary_rows(result),
        "labels.csv": label_rows(result),
    }
    model: Any = result.model
    if isinstance(model, ReportsActions):
        tables[ACTION_SEGMENTS] = action_segments_table(model, result.items.names)
        tables[ACTION_BOUNDARIES] = action_boundary_rows(model, result.items.names)
    if hasattr(model, "transforms_"):
        tables[transforms.FILE] = transforms.flat_rows(model, result.channels)
    if hasattr(model, "frames_"):
        tables[frames.FILE] = frames.flat_rows(model)
    for name, rows in tables.items():
        with written_aside(folder / called(name, kind)) as aside:
            write_rows(aside, rows, BOUNDARY_COLUMNS if name.endswith("boundaries.csv") else None)
    written = [called(name, kind) for name in tables]
    for stale in {called(name, other) for name in TABLES for other in KINDS}.difference(written):
        (folder / stale).unlink(missing_ok=True)
    return written


def called(name: str, kind: str) -> str:
    """Return the name of a table in files of another kind."""
    return f"{name.removesuffix('.csv')}.{kind}"


def segment_rows(result: Segmentation) -> list[dict[str, Any]]:
    """Return the segments: series by name, start, end (not included), state and probability, and their actions."""
    return segments_table(result.model, result.items.names)


def boundary_rows(result: Segmentation) -> list[dict[str, Any]]:
    """Return the changes of state; without draws nothing is known of where else they could be."""
    names = result.items.names
    if isinstance(result.model, SampledSegmenter):
        return interval_rows(result.model, result.model.boundaries_, names)
    inner = [one for one in result.model.segments_ if one.start > 0]
    return [dict(zip(BOUNDARY_COLUMNS, (names[one.series], one.start, None, None, None), strict=True)) for one in inner]


def action_boundary_rows(model: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the changes of action with their intervals."""
    return interval_rows(model, model.action_boundaries_, names)


def interval_rows(model: Segmenter, boundaries: list[BoundaryInterval], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return changes with their intervals in steps, and in seconds where the rate is known."""
    return [
        {**one._asdict(), "series": names[one.series], "share": rounded(one.share)}
        | in_seconds(model, step=one.step, low=one.low, high=one.high)
        for one in boundaries
    ]


def label_rows(result: Segmentation) -> Iterator[dict[str, Any]]:
    """Return the state of every step, how sure it is, and how probable a change is at it; and the same of actions."""
    model = result.model
    for i, (name, path) in enumerate(zip(result.items.names, model.paths_, strict=True)):
        columns: dict[str, Any] = {"series": [name] * len(path), "step": range(len(path)), "state": path.tolist()}
        if isinstance(model, SampledSegmenter):
            columns["probability"] = np.round(model.state_probability_[i], 4).tolist()
            columns["change_probability"] = np.round(model.change_probability_[i], 4).tolist()
        if isinstance(model, ReportsActions):
            columns |= actions.columns_of_steps(model, i)
        yield from (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


def describe_states(result: Segmentation) -> dict[str, Any]:
    """Return means and covariances of the states in the units of the recordings, and how they follow each other."""
    model, names = result.model, result.items.names
    counts = np.bincount(np.concatenate(model.paths_), minlength=model.n_states_)
    # An autoregressive state is a motion and has no place.
    order = model.states_.order
    kind, centres = ("coefficients", model.coefficients_) if order else ("mean", model.means_)
    states = [
        {
            "state": k,
            "steps": int(counts[k]),
            "series": [name for name, visits in zip(names, model.active_[:, k], strict=True) if visits],
            kind: centres[k].tolist(),
            "covariance": model.covariances_[k].tolist(),
        }
        | ({"action": int(model.state_actions_[k])} if isinstance(model, ReportsActions) else {})
        for k in range(model.n_states_)
    ]
    return {
        "dimensions": list(model.preprocessing_.name_dims(result.model_channels)),
        "means_are_relative_to_each_series": model.preprocessing_.means_are_relative,
        "order": order,
        "states": states,
        "transition_probs": model.transition_probs_.tolist(),
    } | (describe_actions(model, names) if isinstance(model, ReportsActions) else {})


def describe_actions(model: ReportsActions, names: Sequence[str]) -> dict[str, Any]:
    """Return the actions, and how probable it is that two states are one."""
    return {"actions": actions.describe(model, names), "coaction_probs": np.round(model.coaction_, 4).tolist()}


def summarise(result: Segmentation) -> dict[str, Any]:
    """Return what is worth knowing of a segmentation, as what JSON can hold."""
    items = result.items
    model: Any = result.model
    settings = {name: value for name, value in model.get_params(deep=False).items() if name != "progress"}
    preprocessing = model.preprocessing_.to_record()["settings"]
    return {
        "source": result.source,
        "model": type(model).__name__,
        "series": len(items),
        "steps": items.n_steps,
        "dimensions": items.n_dims,
        "rate": items.rate,
        "states": model.n_states_,
        "actions": model.n_actions_ if isinstance(model, ReportsActions) else None,
        "segments_found": len(model.segments_),
        "stride": model.preprocessing_.settings.stride,
        "step_weight": getattr(model, "step_weight_", None),
        "chains_agree": chains_agree(model),
        "verdict": verdict(model),
        "interrupted": result.interrupted,
        "sweeps_kept": len(model.draws_) if isinstance(model, SampledSegmenter) else None,
        "seconds": round(result.seconds, 3),
        "seed": settings.pop("random_state"),
        "settings": {**settings, "preprocessing": preprocessing},
        "versions": versions(),
        **({"transforms": transforms.describe(model, result.channels)} if hasattr(model, "transforms_") else {}),
        **(describe_frames(model) if hasattr(model, "frames_") else {}),
    }


def describe_frames(model: Any) -> dict[str, Any]:
    """Return what is known of blocks, frames and coarser or finer actions, as what JSON can hold."""
    return {
        "blocks": {"kinds": list(model.blocks_.kinds), "text": model.blocks_.sentence},
        "block_weights": [round(float(weight), 4) for weight in model.block_weights_],
        "least_stay": model.least_looks_ * model.preprocessing_.settings.stride,
        "frames": frames.rows(model),
        "merges": [
            {"states": pair, "gain": round(float(gain), 4)}
            for pair, gain in zip(model.merges_.tolist(), model.merge_gains_, strict=True)
        ],
    }


def tables(result: Segmentation) -> dict[str, Any]:
    """Return what the JSON on stdout has besides the summary."""
    found: dict[str, Any] = {"segments": segment_rows(result), "boundaries": boundary_rows(result)}
    if isinstance(result.model, ReportsActions):
        found["action_segments"] = action_segments_table(result.model, result.items.names)
        found["action_boundaries"] = action_boundary_rows(result.model, result.items.names)
    return found


def stride_note(model: Segmenter) -> str:
    """Return which steps were used, and why."""
    stride, was_asked = model.preprocessing_.settings.stride, _asked_stride(model) != "auto"
    if was_asked:
        return f"Every {ordinal(stride)} step was used, as asked for." if stride > 1 else "All steps were used."
    if stride == 1:
        return "All steps were used: neighbouring samples are not strongly correlated."
    return (
        f"Neighbouring samples are strongly correlated, so every {ordinal(stride)} was used (--subsample 1 uses all). "
        f"Boundaries are accurate to about {stride} steps{duration_note(model, stride)}."
    )


def duration_note(model: Any, n_steps: int) -> str:
    """Return how long some steps last, in brackets; nothing where the rate is not known."""
    rate = getattr(model, "rate_", None)
    return "" if rate is None else f" ({n_steps / rate:.2g} s)"


def _asked_stride(model: Any) -> Any:
    """Return the subsampling asked for, which is a parameter of the model or of its preparation."""
    if hasattr(model, "subsample"):
        return model.subsample
    return "auto" if model.preprocessing is None else model.preprocessing.subsample


def weight_note(model: Segmenter) -> str:
    """Return the weight of a sample, and why; nothing for models that know no such weight."""
    if hasattr(model, "block_weights_"):
        return blocks.weight_note(model)
    weight, asked = getattr(model, "step_weight_", None), getattr(model, "step_weight", None)
    if weight is None:
        return ""
    if weight > FULL_WEIGHT:
        why = ": no autocorrelation is left" if asked == "auto" else ""
        return f"Each sample counts in full{why}."
    if asked != "auto":
        return f"Each sample has weight {weight:.2g}, as asked for."
    return (
        f"Remaining autocorrelation is corrected for by weighting each sample {weight:.2g} (--step-weight 1 counts "
        "each in full; expect more states)."
    )


def series_table(result: Segmentation, most: int | None = None) -> str:
    """Return the series with their numbers of steps and segments, their states and, where known, their actions."""
    model = result.model
    rate = getattr(model, "rate_", None)
    n_segments = np.bincount([one.series for one in model.segments_], minlength=len(result.items))
    columns = {
        "recording": result.items.names,
        "steps": [len(path) for path in model.paths_],
        **({"seconds": [f"{len(path) / rate:.1f}" for path in model.paths_]} if rate else {}),
        "segments": n_segments,
        "states": [listed(path) for path in model.paths_],
    }
    if isinstance(model, ReportsActions):
        columns["actions"] = [listed(path) for path in model.actions_]
    rows = list(zip(*columns.values(), strict=True))
    n_left = len(rows) - len(rows[:most])
    return markdown_table(list(columns), rows[:most]) + f"\n... and {number_of(n_left, 'more recording')}." * (
        n_left > 0
    )


def headline(result: Segmentation) -> str:
    """Return the outcome in one sentence."""
    model = result.model
    found = f"{number_of(len(result.items), 'recording')} in {number_of(len(model.segments_), 'segment')}"
    known = f", {number_of(model.n_actions_, 'action')}" if isinstance(model, ReportsActions) else ""
    return f"{found} of {number_of(model.n_states_, 'state')}{known}"


def report(result: Segmentation) -> str:
    """Return what is shown on the terminal."""
    model = result.model
    notes = "\n".join(note for note in (verdict(model), stride_note(model), weight_note(model)) if note)
    parts = [
        f"{headline(result)}.",
        series_table(result, MAX_LISTED),
        *action_notes(result),
        *frame_notes(model),
        notes,
    ]
    return "\n\n".join(parts)


def frame_notes(model: Any) -> list[str]:
    """Return the frames of recordings in plain words, in one paragraph; nothing if the model has none."""
    said = frames.notes(model) if hasattr(model, "frames_") else []
    return ["\n".join(said)] if said else []


def action_notes(result: Segmentation) -> list[str]:
    """Return the actions and how sure they are, in plain words; nothing if the model knows none."""
    model = result.model
    if not isinstance(model, ReportsActions):
        return []
    notes = [actions.explanation(model), actions.doubts(model), actions.one_recording(model)]
    return [actions.table(model, result.items.names), "\n".join(note for note in notes if note)]


def page(result: Segmentation, shown: Mapping[str, Picture], kind: str = "csv") -> str:
    """Return a page about a segmentation, with its pictures by the names of their files and tables of a kind."""
    model: Any = result.model
    chains = ""
    if isinstance(model, SampledSegmenter):
        chains = f"{model.n_chains} chains of {model.n_sweeps_} sweeps, of which {len(model.draws_)} were kept; "
    parts = [
        f"# {headline(result)}",
        f"Source: `{result.source}`. {type(model).__name__}; {chains}{result.seconds:.1f} s; seed "
        f"{model.get_params()['random_state']}; homothety {__version__}."
        + " The run was interrupted and rests on fewer sweeps than asked for."
        * result.interrupted,
        series_table(result),
        *action_notes(result),
        verdict(model),
        f"{stride_note(model)} {weight_note(model)}".strip(),
        *([model.blocks_.sentence] if blocks.are_known_by(model) else []),
        where_to_look(model, kind),
        *(frames.section(model, called(frames.FILE, kind)) if hasattr(model, "frames_") else []),
        *(_transforms_section(model, result.spoken_channels, kind) if hasattr(model, "transforms_") else []),
        *(_picture_section(name, picture) for name, picture in shown.items()),
    ]
    return "\n\n".join(parts) + "\n"


def _transforms_section(model: Any, channels: Sequence[str], kind: str) -> list[str]:
    return transforms.section(model, channels, called(transforms.FILE, kind))


def where_to_look(model: Segmenter, kind: str = "csv") -> str:
    """Return what is in which file."""
    merged = grouped = turned = framed = changes = ""
    if isinstance(model, ReportsActions):
        merged, grouped = f"`{called(ACTION_SEGMENTS, kind)}` those of one action each, ", " with its action"
        changes = f", `{called(ACTION_BOUNDARIES, kind)}` those of actions"
    if hasattr(model, "transforms_"):
        turned = f"`{called(transforms.FILE, kind)}` how the states of an action differ, "
    if hasattr(model, "frames_"):
        framed = f"`{called(frames.FILE, kind)}` how recordings are turned, resized and moved, "
    return (
        f"`{REPORT}` is an interactive report, "
        f"`segments.{kind}` has the segments, {merged}`boundaries.{kind}` the changes with 90 % intervals{changes}, "
        f"`labels.{kind}` the state of every step{grouped}, `states.json` means and covariances, {framed}{turned}"
        "`summary.json` the settings. `homothety.load('model.homothety')` gives the model back, to find the same "
        "states in new recordings."
    )


def _picture_section(name: str, picture: Picture) -> str:
    """Return the part of a page that shows a picture."""
    shown = f"## {picture.title}\n\n![{picture.title}]({name}.png)"
    return f"{shown}\n\n{picture.caption}" if picture.caption else shown
