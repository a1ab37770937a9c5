"""What goes on the page of segmented series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.report import chains, settings
from homothety.report.aligned import aligned_data, cuts_data
from homothety.report.document import Bullets, Chart, Report, Section, Table, Text
from homothety.report.looks import chain_looks
from homothety.report.segmentation_answers import answers, differences
from homothety.report.segmented import Segmented
from homothety.report.series_data import MAX_CHANNELS, MAX_SERIES, n_drawn, series_data, steps_per_bin
from homothety.report.words import listing
from homothety.words import SURE, actions, enumerated, frames, listed, number_of, transforms

if TYPE_CHECKING:
    from homothety.report.document import Block
    from homothety.report.runs import Run

MAX_ROWS = 1000  # of segments in a table; the least sure ones come first
MAX_STATES = 40  # of a table of all pairs

NO_RECORDINGS = "The recordings were not at hand when this page was written, so it has no curves."


def describe_segmentation(run: Run) -> Report:
    """Return what there is to say of segmented series."""
    seen = Segmented(run)
    data = series_data(seen)
    if chains.is_sampled(seen.segmenter):
        data["looks"]["chain"] = chain_looks(len(seen.segmenter.trace_["log_joint"]))
        data["traces"] = chains.trace_data(seen.segmenter.trace_, seen.segmenter.n_burn_)
    data |= {name: part for name, part in (("aligned", aligned_data(seen)), ("cuts", cuts_data(seen))) if part}
    sections = [
        *([aligned_section(seen)] if "aligned" in data else []),
        series_section(seen),
        *([trajectory_section(seen)] if "space" in data and "aligned" not in data else []),
        *([frames_section(seen)] if hasattr(seen.model, "frames_") else []),
        labels_section(seen),
        *([transforms_section(seen)] if hasattr(seen.model, "transforms_") else []),
        *([coaction_section(seen)] if hasattr(seen.model, "coaction_") and seen.model.n_states_ > 1 else []),
        segments_section(seen),
        chains.section(seen.segmenter),
        settings.section(run, "recordings"),
    ]
    return Report(headline(seen), settings.subtitle(run), answers(seen), sections, data)


def headline(seen: Segmented) -> str:
    """Return the outcome in one sentence."""
    known = f", {number_of(seen.n_labels, 'action')}" * (seen.called == "action")
    n_segments, n_states = number_of(len(seen.segmenter.segments_), "segment"), number_of(seen.model.n_states_, "state")
    return f"{number_of(len(seen.names), 'recording')} in {n_segments} of {n_states}{known}"


def series_section(seen: Segmented) -> Section:
    """Return the part with the series, their curves and bars."""
    shown = "what was measured, " * (seen.sequences is not None)
    bars = "the actions, the states" if seen.actions is not None else "the states"
    caption = f"Every recording: {shown}{bars}{_doubt_words(seen)}. {_thinning(seen)}"
    label = (
        f"Charts of {number_of(len(seen.names), 'recording')} with bars of their {seen.called}s; the table of segments "
        "says the same."
    )
    notes = [NO_RECORDINGS] * (seen.sequences is None) + _left_out(seen) + _truth_words(seen)
    table = Table("Recordings", *series_table(seen))
    return Section("series", "Recordings", [Chart("series", "series", label, caption), *map(Text, notes), table])


def _doubt_words(seen: Segmented) -> str:
    if seen.probability is None:
        return ""
    return f", how doubtful the {seen.called} is, and how probable a change is at every step"


def _thinning(seen: Segmented) -> str:
    """Return what is not drawn of the curves."""
    size = steps_per_bin(seen)
    if seen.sequences is None:
        return ""
    own = "Each dimension is drawn over its own range."
    if size == 1:
        return f"{own} Every step is there; where a pixel holds several, the least and the largest value are drawn."
    return (
        f"{own} Of every {size} steps only the least and the largest value are drawn; nothing was left out of the fit."
    )


def _left_out(seen: Segmented) -> list[str]:
    n_series, n_channels = len(seen.names), len(seen.channels)
    return [f"Only the first {MAX_SERIES} of {n_series} recordings are drawn."] * (n_series > MAX_SERIES) + [
        f"Only the first {MAX_CHANNELS} of {n_channels} dimensions are drawn."
    ] * (n_channels > MAX_CHANNELS)


def _truth_words(seen: Segmented) -> list[str]:
    return [
        "The bar called truth has the labels of the input, which the model was not told; each has the colour of the "
        f"{seen.called} that most of its steps have."
    ] * (seen.truth is not None)


def series_table(seen: Segmented) -> tuple[list[str], list[list[object]]]:
    """Return header and rows of a table of all series: steps, segments, how sure they are, and what is in them."""
    n_segments = np.bincount([one.series for one in seen.segments], minlength=len(seen.names))
    header = [
        "recording",
        "steps",
        "segments",
        *[f"mean probability of the {seen.called}"] * (seen.probability is not None),
    ]
    rows = []
    for i, name in enumerate(seen.names):
        sure = [] if seen.probability is None else [f"{seen.probability[i].mean():.2f}"]
        kinds = [listed(seen.labels[i])] + [listed(seen.paths[i])] * (seen.actions is not None)
        rows.append([name, len(seen.paths[i]), int(n_segments[i]), *sure, *kinds])
    return [*header, *["actions"] * (seen.actions is not None), "states"], rows


def trajectory_section(seen: Segmented) -> Section:
    """Return the part with the series as curves in space."""
    names = [seen.channels[dim] for dim in seen.position_dims]
    turned = "Drag it, or use the arrow keys, to turn it. " * (len(names) == 3)
    caption = (
        f"All chosen recordings in {enumerated(names)}, coloured by {seen.called}. {turned}A dot marks where a "
        f"recording begins; a number marks the longest stretch of each {seen.called}."
    )
    label = (
        f"Trajectories of {number_of(len(seen.names), 'recording')} in {enumerated(names)}, coloured by {seen.called}."
    )
    return Section("trajectories", "Trajectories", [Chart("space", "space", label, caption)])


def aligned_section(seen: Segmented) -> Section:
    """Return the part with the recordings as they were recorded, and in one frame."""
    caption = (
        "Left: all chosen recordings as they were recorded. Right: the same recordings, turned, resized and moved into "
        f"one frame. Coloured by {seen.called}. A dot marks where a recording begins; a number marks the longest "
        f"stretch of each {seen.called}."
    )
    label = f"Trajectories of {len(seen.names)} recordings, {{}}, coloured by {seen.called}."
    return Section("aligned", "Recorded and aligned", [Chart("aligned", "aligned", label, caption)])


def frames_section(seen: Segmented) -> Section:
    """Return the part about how recordings are turned, resized and moved."""
    model = seen.model
    blocks: list[Block] = [Text(model.blocks_.sentence)]
    opening = frames.introduction(model)
    if not opening:
        blocks.append(Text("There is only one recording, so there is no other frame to compare its frame with."))
    elif said := frames.sentences(model):
        n_left = len(said) - frames.MAX_SENTENCES
        more = [frames.more_note(n_left, "in the table")] * (n_left > 0)
        blocks += [Text(opening), Bullets([*said[: frames.MAX_SENTENCES], *more])]
        blocks += [Table("Frames of all recordings", *frames.table(model)), Text(frames.moved_note(model))]
    else:
        blocks.append(Text(opening))
    return Section("frames", "Frames", blocks)


def labels_section(seen: Segmented) -> Section:
    """Return the part about actions, or states where there are none: how much there is of each, and where."""
    title = f"{seen.called.capitalize()}s"
    numbers = [f"{seen.called} {k}" for k in range(seen.n_labels)]
    cells = [[name, *_cells(seen, i)] for i, name in enumerate(seen.names)]
    what = "states in brackets" if seen.actions is not None else "empty where there are none"
    blocks: list[Block] = [Text(actions.explanation(seen.model))] * (seen.actions is not None)
    blocks.append(Table(f"All {seen.called}s", *labels_table(seen)))
    blocks.append(Table(f"Steps of every {seen.called} in every recording, {what}", ["recording", *numbers], cells))
    if hasattr(seen.model, "actions_at") and seen.model.n_states_ > 1:
        blocks.append(cuts_table(seen))
    return Section("labels", title, blocks)


def cuts_table(seen: Segmented) -> Table:
    """Return how many actions there are if states are merged further or less, and the evidence for each merge."""
    model = seen.model
    rows = [
        [f"{k}{' (inferred)' * (k == seen.n_labels)}", f"{model.merge_gains_[model.n_states_ - k - 1]:.1f}"]
        for k in range(model.n_states_ - 1, 0, -1)
    ]
    caption = "Evidence for merging states to fewer actions (nats; negative: against it)"
    return Table(caption, ["actions", "evidence for the last merge"], rows)


def labels_table(seen: Segmented) -> tuple[list[str], list[list[object]]]:
    """Return header and rows of a table of all actions or states."""
    labels = np.concatenate(seen.labels)
    header = [seen.called, "steps", "share of steps", "in recordings"]
    header += ["states"] * (seen.actions is not None) + ["mean probability"] * (seen.probability is not None)
    rows = []
    for k in range(seen.n_labels):
        there = labels == k
        row: list[object] = [k, int(there.sum()), f"{there.mean():.0%}"]
        row.append(f"{sum(k in path for path in seen.labels)} of {len(seen.names)}")
        if seen.actions is not None:
            row.append(", ".join(map(str, np.flatnonzero(seen.state_actions == k))) or "-")
        if seen.probability is not None:
            row.append(f"{np.concatenate(seen.probability)[there].mean():.2f}")
        rows.append(row)
    return header, rows


def _cells(seen: Segmented, i: int) -> list[str | None]:
    """Return how many steps of a series have each label, and as which states."""
    cells: list[str | None] = []
    for k in range(seen.n_labels):
        there = seen.labels[i] == k
        states = f" ({listed(seen.paths[i][there])})" if seen.actions is not None else ""
        cells.append(f"{int(there.sum())}{states}" if there.any() else None)
    return cells


def transforms_section(seen: Segmented) -> Section:
    """Return the part about how the states of an action differ."""
    said = differences(seen)
    if not said:
        nothing = "No action has two states: there is nothing to compare."
        return Section("transforms", "Transformations", [Text(nothing)])
    introduction = (
        "Every state is compared with the one of its action that has most steps. In brackets are 95 % intervals. "
        f"Translations are in the units of the {transforms.units(seen.model)}."
    )
    table = Table("Turned, resized and moved: the numbers", *transforms_table(seen))
    return Section("transforms", "Transformations", [Text(introduction), Bullets(said), table])


def transforms_table(seen: Segmented) -> tuple[list[str], list[list[object]]]:
    """Return header and rows of a table of the transformations of all states that are compared with another."""
    rows = []
    for one in transforms.rows(seen.model):
        if one["state"] != one["reference"]:
            scale = _interval(one["scale"], one["scale_low"], one["scale_high"])
            distance = None if None in one["translation"] else f"{np.linalg.norm(one['translation']):.3g}"
            angle = None if one["angle"] is None else f"{one['angle']:.0f}°"
            sure = f"{one['probability']:.2f}"
            rows.append([one["state"], one["action"], one["reference"], angle, scale, distance, sure])
    return ["state", "action", "compared with", "turned by", "times as large", "moved by", "probability"], rows


def _interval(value: float | None, low: float | None, high: float | None) -> str | None:
    if value is None:
        return None
    return f"{value:.3g}" + ("" if low is None else f" ({low:.3g} to {high:.3g})")


def coaction_section(seen: Segmented) -> Section:
    """Return the part that says which states are one action."""
    model = seen.model
    order = np.lexsort((np.arange(model.n_states_), seen.state_actions))
    shown = order[:MAX_STATES]
    header = ["state", *(str(k) for k in shown)]
    rows = [[f"{k} (action {seen.state_actions[k]})", *model.coaction_[k, shown].round(2).tolist()] for k in shown]
    left = f" The first {MAX_STATES} of {model.n_states_} states are shown." * (len(shown) < len(order))
    table = Table("Probability that two states are one action", header, rows, shaded=True)
    return Section("coaction", "Which states are one action", [Text(actions.doubts(model) + left), table])


def segments_section(seen: Segmented) -> Section:
    """Return the part with the segments, the least sure first; those of series that are drawn lead there."""
    ordered = sorted(seen.segments, key=lambda one: 1.0 if one.probability is None else one.probability)[:MAX_ROWS]
    header = ["recording", "from step", "to step", seen.called, *["probability"] * (seen.probability is not None)]
    rows = [
        [seen.names[one.series], one.start, one.end - 1, one.state]
        + ([] if one.probability is None else [f"{one.probability:.2f}"])
        for one in ordered
    ]
    sure = f" Those below {SURE:.2f} are called uncertain above." * (seen.probability is not None)
    cut = f" Only {MAX_ROWS} of {len(seen.segments)} are listed." * (len(seen.segments) > MAX_ROWS)
    places = [(one.series, one.start, one.end) if one.series < n_drawn(seen) else None for one in ordered]
    caption = listing("segments", len(seen.segments), MAX_ROWS, by_doubt=seen.probability is not None)
    table = Table(caption, header, rows, folded=True, places=places)
    return Section("segments", "Segments", [Text(f"A button shows its segment in the charts above.{sure}{cut}"), table])
