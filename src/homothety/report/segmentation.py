"""The document about a segmentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.phrases import SURE, enumerated, listed, number_of, ordinal
from homothety.report.charts import MAX_CHANNELS, MAX_RECORDINGS, n_drawn, recording_data, steps_per_bin
from homothety.report.document import (
    MAX_POINTS,
    MAX_ROWS,
    NOT_KNOWN,
    Answer,
    Bullets,
    Chart,
    Document,
    Section,
    Table,
    Text,
    banner_of,
    chains_answer,
    chains_section,
    count_in_words,
    listing,
    settings_section,
    subtitle,
)
from homothety.report.sentences import (
    MAX_SENTENCES,
    doubts,
    explanation,
    frame_sentences,
    frames_introduction,
    frames_may_differ,
    frames_table,
    has_directions,
    more_note,
    moved_note,
    one_recording,
    states_of,
    transform_sentence,
    transforms_introduction,
)
from homothety.summaries.positions import position_dims
from homothety.summaries.tables import transform_record, units_of_transforms

if TYPE_CHECKING:
    from homothety.arrays import FloatArray, IntArray
    from homothety.datasets import SequenceSet
    from homothety.report.document import Block
    from homothety.summaries.frames import FrameTable
    from homothety.summaries.paths import Segment
    from homothety.summaries.result import Segmentation
    from homothety.summaries.transforms import StateTransform

_MAX_STATES = 40  # of a table of all pairs
_MAX_NAMES = 3  # of recordings in brackets
_FULL_WEIGHT = 0.995  # of a step: more is all of it, in two digits
_NO_RECORDINGS = "The recordings were not at hand when this page was written, so it has no curves."
_ONLY_STATES = "This model knows no actions, and does not compare states."


def describe_segmentation(result: Segmentation, data: SequenceSet | None = None) -> Document:
    """Return the document about a segmentation; without the recordings it has no curves and trajectories."""
    drawn = recording_data(result, data)
    sections = [_recordings_section(result, data)]
    if "aligned" in drawn:
        sections.insert(0, _aligned_section(result))
    elif "space" in drawn:
        sections.append(_trajectories_section(result))
    if result.frame_table is not None:
        sections.append(_frames_section(result.frame_table))
    if result.findings:
        sections.append(_findings_section(result))
    sections.append(_labels_section(result))
    if "gallery" in drawn:
        sections.append(_gallery_section(result))
    if result.transforms is not None:
        sections.append(_transforms_section(result, result.transforms))
    if result.coaction is not None and result.state_actions is not None and result.states.number > 1:
        sections.append(_coaction_section(result.coaction, result.state_actions))
    sections += [
        _segments_section(result),
        _preparation_section(result),
        *([] if result.provenance.applied else [chains_section(result.chains)]),
        settings_section(result.provenance, "recordings", result.preparation.to_record()["settings"]),
    ]
    answers = [
        _how_many(result),
        _what_is_uncertain(result),
        _how_recordings_differ(result),
        _do_recordings_fit(result) if result.provenance.applied else chains_answer(result.chains),
    ]
    return Document(result.headline, subtitle(result), answers, sections, drawn, banner_of(result))


# Answers


def _how_many(result: Segmentation) -> Answer:
    """Return the answer on the number of actions or states and its certainty."""
    labels, called = result.labels, result.called
    if result.provenance.applied:
        n_found = int((labels.counts > 0).sum())
        short = f"{n_found} of {number_of(labels.number, called)}."
        text = f"They are found in {number_of(len(labels.segments), 'segment')}."
        return Answer(f"How many {called}s of the model are in these recordings?", short, text)
    versions = f"in {number_of(result.states.number, 'version')} (states), " if called == "action" else ""
    they_are, where = "It is" if labels.number == 1 else "They are", number_of(len(labels.segments), "segment")
    text = f"{they_are} found {versions}in {where} of {number_of(len(result.names), 'recording')}."
    told = [count_in_words(result.chains, f"n_{called}s"), "" if result.coaction is None else doubts(result.coaction)]
    told.append(one_recording(result))
    short = f"{number_of(labels.number, called)}."
    return Answer(f"How many {called}s are there?", short, " ".join([text, *filter(None, told)]))


def _do_recordings_fit(result: Segmentation) -> Answer:
    """Return the answer on whether new recordings are like those of the fit."""
    question, names = "Do the recordings fit the model?", result.names
    if result.fits is None or result.scores is None:
        return Answer(question, "This is not known.", "Only ActionHMM measures it.")
    if result.fits.all():
        return Answer(question, "Yes.", "All of them are like the recordings of the fit.")
    strange = np.flatnonzero(~result.fits)
    points = [
        f"{names[i]}: {result.scores[i]:.0f} standard deviations from the recordings of the fit"
        for i in strange[np.argsort(result.scores[strange])][: 2 * MAX_POINTS]
    ]
    text = "Their states, actions and frames mean nothing: they are of something else, or were measured in another way."
    return Answer(question, f"{len(strange)} of {number_of(len(names), 'recording')} do not.", text, points)


def _what_is_uncertain(result: Segmentation) -> Answer:
    """Return the answer on uncertain segments."""
    question, labels = "Which segments are uncertain?", result.labels
    if labels.probability is None:
        return Answer(question, *NOT_KNOWN)
    unsure = [one for one in labels.segments if one.probability is not None and one.probability < SURE]
    limit = f"a probability below {SURE:.2f}"
    if not unsure:
        return Answer(question, "None.", f"No segment has {limit}.")
    unsure.sort(key=lambda one: one.probability or 0.0)
    points = [
        f"{result.names[one.series]}, steps {one.start} to {one.end - 1}: {result.called} "
        f"{result.label_name(one.label)}, with "
        f"probability {one.probability:.2f}"
        for one in unsure[:MAX_POINTS]
    ]
    short = f"{len(unsure)} of {number_of(len(labels.segments), 'segment')}."
    return Answer(question, short, f"They have {limit}. The least sure:", points)


def _how_recordings_differ(result: Segmentation) -> Answer:
    """Return how recordings are turned and resized, how states of an action differ, or which states are shared."""
    if result.actions is None or result.state_actions is None:
        return Answer("How do the recordings differ?", *_who_shares(result))
    if result.frame_table is not None:
        return _how_frames_differ(result.frame_table)
    question = "How does the same action differ between recordings?"
    repeated = [k for k, count in enumerate(np.bincount(result.state_actions)) if count > 1]
    if not repeated:
        return Answer(question, "It does not.", "Every action has one state only, the same wherever it is found.")
    have = f"{enumerated([str(number) for number in repeated])} {'has' if len(repeated) == 1 else 'have'}"
    short = f"Action{'s' if len(repeated) > 1 else ''} {have} several versions."
    points = _differences(result, result.transforms or [])
    more = [f"{len(points) - MAX_POINTS} more are listed under Transformations."] * (len(points) > MAX_POINTS)
    text = "They are turned, moved or resized copies" + (":" if points else "; this model does not say by how much.")
    return Answer(question, short, text, [*points[:MAX_POINTS], *more])


def _how_frames_differ(table: FrameTable) -> Answer:
    """Return how recordings are turned and resized, and which of them share a frame."""
    question, points = "How do the recordings differ?", frame_sentences(table)
    if not frames_may_differ(table):
        return Answer(question, "This is not known.", frames_introduction(table))
    if not points:
        if len(table.names) == 1:
            return Answer(question, "There is one recording.")
        return Answer(question, "All recordings share one frame.", "None is turned, resized or moved.")
    n_frames = len(np.unique(table.labels))
    more = [more_note(len(points) - MAX_POINTS, "listed under Frames")] * (len(points) > MAX_POINTS)
    text = f"Each recording is compared with {table.reference_name}, the one with most steps."
    short = f"They have {n_frames} frames." if len(table.names) > 1 else "It has a frame of its own."
    return Answer(question, short, text, [*points[:MAX_POINTS], *more])


def _who_shares(result: Segmentation) -> tuple[str, str]:
    """Return the number of states that recordings share, in a few words and in sentences."""
    active = result.states.active
    n_recordings, n_states = active.shape
    counts = active.sum(axis=0)
    n_common, n_private = int((counts == n_recordings).sum()), int((counts == 1).sum())
    if n_common == n_states:
        return "All recordings have all states.", _ONLY_STATES
    found = f"{n_common} are found in every recording and {n_private} in a single one."
    return f"Of {number_of(n_states, 'state')}, {found}", f"The table of recordings has them. {_ONLY_STATES}"


def _differences(result: Segmentation, rows: list[StateTransform]) -> list[str]:
    """Return a sentence for every state that is compared with another, with the recordings that have it."""
    turned = sorted((one for one in rows if not one.is_reference), key=lambda one: one.action)
    dims, directed = result.dims(), has_directions(result)
    said = []
    for one in turned:
        names = [name for name, has in zip(result.names, result.states.active[:, one.state], strict=True) if has]
        more = f"; and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
        where = f"{len(names)} of {number_of(len(result.names), 'recording')} ({'; '.join(names[:_MAX_NAMES])}{more})"
        words = transform_sentence(one, dims, directed=directed)
        said.append(f"Action {one.action}: {words} State {one.state} is found in {where}.")
    return said


# Sections


def _aligned_section(result: Segmentation) -> Section:
    """Return the recordings as they were recorded, and in one frame."""
    called = result.called
    caption = (
        "Left: all chosen recordings as they were recorded. Right: the same recordings, turned, resized and moved into "
        f"one frame. Coloured by {called}. A dot marks where a recording begins; a number marks the longest stretch of "
        f"each {called}."
    )
    label = f"Trajectories of {len(result.names)} recordings, {{}}, coloured by {called}."
    return Section("aligned", "Recorded and aligned", [Chart("aligned", "aligned", label, caption)], is_first=True)


def _recordings_section(result: Segmentation, data: SequenceSet | None) -> Section:
    """Return the section on recordings: curves, bars of labels, and a table."""
    n_recordings, n_channels, called = len(result.names), result.n_channels, result.called
    shown = "what was measured, " if data is not None else ""
    bars = "the states" if result.actions is None else "the actions, the states"
    doubtful = f", how doubtful the {called} is, and how probable a change is at every step"
    known = doubtful if result.labels.probability is not None else ""
    thinned = "" if data is None else f" {_thinning(result)}"
    caption = f"Every recording: {shown}{bars}{known}.{thinned}"
    label = (
        f"Charts of {number_of(n_recordings, 'recording')} with bars of their {called}s; the table of segments says "
        "the same."
    )
    notes = [_NO_RECORDINGS] * (data is None)
    notes += [f"Only the first {MAX_RECORDINGS} of {n_recordings} recordings are drawn."] * (
        n_recordings > MAX_RECORDINGS
    )
    notes += [f"Only the first {MAX_CHANNELS} of {n_channels} channels are drawn."] * (
        data is not None and n_channels > MAX_CHANNELS
    )
    if data is not None and data.actions is not None:
        notes.append(
            "The truth is the label of the input, which was not looked at. A true label has the colour of the "
            f"{called} that most of its steps have."
        )
    table = Table("Recordings", *_recordings_table(result), brief=True)
    return Section("series", "Recordings", [Chart("series", "series", label, caption), *map(Text, notes), table])


def _thinning(result: Segmentation) -> str:
    """Return a note on the number of steps that are drawn as one."""
    own, size = "Each channel is drawn over its own range.", steps_per_bin(result)
    if size == 1:
        return f"{own} Every step is drawn; where a pixel holds several, the least and the largest value are drawn."
    return f"{own} Of every {size} steps only the least and the largest value are drawn; the fit used all of them."


def _recordings_table(result: Segmentation) -> tuple[list[str], list[list[Any]]]:
    """Return header and rows of a table of recordings: steps, segments, states and actions."""
    n_segments = np.bincount([one.series for one in result.labels.segments], minlength=len(result.names))
    lengths = [len(path) for path in result.states.paths]
    columns: dict[str, list[Any]] = {"recording": list(result.names), "steps": lengths}
    if result.rate is not None:
        columns["seconds"] = [f"{n_steps / result.rate:.1f}" for n_steps in lengths]
    columns[f"{result.called} segments"] = n_segments.tolist()
    columns["states"] = [listed(path) for path in result.states.paths]
    if result.actions is not None:
        columns["actions"] = [listed(path) for path in result.actions.paths]
    return list(columns), [list(row) for row in zip(*columns.values(), strict=True)]


def _trajectories_section(result: Segmentation) -> Section:
    """Return the recordings as curves in space."""
    names = result.channel_names()
    where = enumerated([names[dim] for dim in position_dims(result)])
    label = f"Trajectories of {number_of(len(result.names), 'recording')} in {where}, coloured by {result.called}."
    caption = (
        f"All chosen recordings in {where}, coloured by {result.called}. A dot marks where a recording begins. Drag to "
        "turn."
    )
    return Section("trajectories", "Trajectories", [Chart("space", "space", label, caption)])


def _frames_section(table: FrameTable) -> Section:
    """Return how recordings are turned, resized and moved."""
    opening, said = frames_introduction(table), frame_sentences(table)
    if not opening:
        opening = "There is only one recording, so there is no other frame to compare its frame with."
    blocks: list[Block] = [Text(opening)]
    if said:
        n_left = len(said) - MAX_SENTENCES
        more = [more_note(n_left, "in the table")] * (n_left > 0)
        blocks.append(Bullets([*said[:MAX_SENTENCES], *more]))
        blocks.append(Table("Frames of all recordings", *frames_table(table), file="frames"))
        blocks.append(Text(moved_note(table)))
    return Section("frames", "Frames", blocks)


def _findings_section(result: Segmentation) -> Section:
    """Return the faults of the recordings."""
    opening = "Faults that may spoil a segmentation were looked for before it was made. These were found:"
    return Section("findings", "Faults of the recordings", [Text(opening), Bullets(result.findings)])


def _labels_section(result: Segmentation) -> Section:
    """Return the section on actions (or states if there are no actions): their steps and recordings."""
    labels, called = result.labels, result.called
    numbers = [f"{called} {result.label_name(k)}" for k in range(labels.number)]
    cells = [[name, *_cells(result, i)] for i, name in enumerate(result.names)]
    what = "empty where there are none" if result.actions is None else "states in brackets"
    blocks: list[Block] = [Text(explanation(result))] * (result.actions is not None)
    blocks.append(Table(f"All {called}s", *_labels_table(result), brief=True))
    blocks.append(Table(f"Steps of every {called} in every recording, {what}", ["recording", *numbers], cells))
    if result.merge_gains is not None and len(result.merge_gains):
        blocks.append(_cuts_table(result.merge_gains, labels.number))
    return Section("labels", f"{called.capitalize()}s", blocks)


def _gallery_section(result: Segmentation) -> Section:
    """Return the gallery: for every action, all its segments drawn over each other."""
    where = "in one frame" if result.frame_table is not None else "as they were recorded"
    caption = (
        f"Positions in the segments of each action, {where}, laid over each other from a common start (dot) and seen "
        "from where they are widest. The thick line is the segment that is nearest to all others."
    )
    label = "Segments of each action over each other; the table of actions has their number and length."
    return Section("gallery", "Gallery", [Chart("gallery", "gallery", label, caption)])


def _labels_table(result: Segmentation) -> tuple[list[str], list[list[Any]]]:
    """Return header and rows of a table of all actions or states."""
    labels = result.labels
    header = [result.called, "steps", "share of steps", "in recordings"]
    header += ["states"] * (result.actions is not None) + ["mean probability"] * (labels.sure is not None)
    rows = []
    for k, steps in enumerate(labels.counts.tolist()):
        share, there = steps / len(labels.flat), int(labels.active[:, k].sum())
        row: list[Any] = [result.label_name(k), steps, f"{100 * share:.0f} %", f"{there} of {len(result.names)}"]
        if result.actions is not None:
            row.append(states_of(result)[k])
        if labels.sure is not None:
            row.append(f"{labels.sure[labels.flat == k].mean():.2f}" if steps else None)
        rows.append(row)
    return header, rows


def _cells(result: Segmentation, i: int) -> list[str | None]:
    """Return the number of steps of a recording with each label, and their states."""
    cells: list[str | None] = []
    for k in range(result.labels.number):
        there = result.labels.paths[i] == k
        states = "" if result.actions is None else f" ({listed(result.states.paths[i][there])})"
        cells.append(f"{int(there.sum())}{states}" if there.any() else None)
    return cells


def _cuts_table(gains: FloatArray, inferred: int) -> Table:
    """Return a table with the evidence for each merge of states, by the number of actions that are left after it."""
    n_states = len(gains) + 1
    rows = [
        [f"{k}{' (inferred)' if k == inferred else ''}", f"{gains[n_states - k - 1]:.1f}"]
        for k in range(n_states - 1, 0, -1)
    ]
    caption = "Evidence for merging states to fewer actions (nats; negative: against it)"
    return Table(caption, ["actions", "evidence for the last merge"], rows)


def _transforms_section(result: Segmentation, rows: list[StateTransform]) -> Section:
    """Return how the states of an action differ."""
    said = _differences(result, rows)
    if not said:
        nothing = "No action has two states: there is nothing to compare."
        return Section("transforms", "Transformations", [Text(nothing)])
    n_left = len(said) - MAX_SENTENCES
    more = [more_note(n_left, "in the table")] * (n_left > 0)
    caption = f"Turned, resized and moved: the numbers, in units of the {units_of_transforms(result)}"
    table = Table(caption, *_transforms_table(rows), file="transforms")
    blocks: list[Block] = [
        Text(transforms_introduction(result, rows)),
        Bullets([*said[:MAX_SENTENCES], *more]),
        table,
    ]
    return Section("transforms", "Transformations", blocks)


def _transforms_table(transformations: list[StateTransform]) -> tuple[list[str], list[list[Any]]]:
    """Return header and rows of a table of the transformations of all states that are compared with another."""
    rows = []
    for one in map(transform_record, [one for one in transformations if not one.is_reference]):
        scale = _interval(one["scale"], one["scale_low"], one["scale_high"])
        distance = None if None in one["translation"] else f"{np.linalg.norm(one['translation']):.3g}"
        angle = None if one["angle"] is None else f"{one['angle']:.0f}°"
        sure = f"{one['agreement']:.2f}"
        rows.append([one["state"], one["action"], one["reference"], angle, scale, distance, sure])
    return ["state", "action", "compared with", "turned by", "times as large", "moved by", "agreement"], rows


def _interval(value: float | None, low: float | None, high: float | None) -> str | None:
    if value is None:
        return None
    return f"{value:.3g}" + ("" if low is None else f" ({low:.3g} to {high:.3g})")


def _coaction_section(coaction: FloatArray, actions: IntArray) -> Section:
    """Return the section on the probability that two states are one action."""
    n_states = len(coaction)
    order = np.lexsort((np.arange(n_states), actions))
    shown = order[:_MAX_STATES]
    rows = [[f"{k} (action {actions[k]})", *coaction[k, shown].round(2).tolist()] for k in shown]
    left = f" The first {_MAX_STATES} of {n_states} states are shown." if n_states > _MAX_STATES else ""
    table = Table(
        "Agreement: the share of kept sweeps in which two states are one action",
        ["state", *(str(k) for k in shown)],
        rows,
        shaded=True,
    )
    return Section("coaction", "Which states are one action", [Text(doubts(coaction) + left), table])


def _segments_section(result: Segmentation) -> Section:
    """Return the section on segments, the most uncertain first; a button shows a segment in the charts."""
    labels = result.labels
    by_doubt, n_segments = labels.sure is not None, len(labels.segments)
    ordered = sorted(labels.segments, key=lambda one: 1.0 if one.probability is None else one.probability)[:MAX_ROWS]
    header = ["recording", "from step", "to step", result.called, *["probability"] * by_doubt]
    rows = [_segment_row(result, one) for one in ordered]
    sure = f" Those below {SURE:.2f} are called uncertain above." if by_doubt else ""
    cut = f" Only {MAX_ROWS} of {n_segments} are listed." if n_segments > MAX_ROWS else ""
    places = [(one.series, one.start, one.end) if one.series < n_drawn(result) else None for one in ordered]
    caption = listing("segments", n_segments, by_doubt=by_doubt)
    file = "segments" if result.actions is None else "action_segments"
    table = Table(caption, header, rows, folded=True, places=places, file=file)
    return Section("segments", "Segments", [Text(f"A button shows its segment in the charts above.{sure}{cut}"), table])


def _segment_row(result: Segmentation, one: Segment) -> list[Any]:
    row: list[Any] = [result.names[one.series], one.start, one.end - 1, result.label_name(one.label)]
    return row if one.probability is None else [*row, f"{one.probability:.2f}"]


def _preparation_section(result: Segmentation) -> Section:
    """Return the section on preparation: kinds of channels, used steps and their weights."""
    notes = ["" if result.blocks is None else result.blocks.sentence, _stride_note(result), _weight_note(result)]
    blocks = [Text(note, brief=note is not notes[0]) for note in notes if note]
    return Section("preparation", "Channels and steps that were used", blocks)


def _stride_note(result: Segmentation) -> str:
    """Return a sentence on the stride and its reason."""
    stride = result.stride
    if not result.stride_is_measured:
        return f"Every {ordinal(stride)} step was used, as asked for." if stride > 1 else "All steps were used."
    if stride == 1:
        return "All steps were used: neighbouring samples are not strongly correlated."
    seconds = "" if result.rate is None else f" ({stride / result.rate:.2g} s)"
    return (
        f"Neighbouring samples are strongly correlated, so every {ordinal(stride)} was used (--subsample 1 uses all). "
        f"Boundaries are accurate to about {stride} steps{seconds}."
    )


def _weight_note(result: Segmentation) -> str:
    """Return a sentence on the weights of steps and their reason; empty for models without weights."""
    weights, asked = result.step_weights, result.provenance.settings.get("step_weight", "auto")
    if not weights:
        return ""
    if "" not in weights:
        named = enumerated([f"{weight:.2g} ({kind})" for kind, weight in weights.items()])
        return f"Remaining autocorrelation is corrected for by weighting each sample {named}."
    weight = weights[""]
    if weight > _FULL_WEIGHT:
        return f"Each sample counts in full{': no autocorrelation is left' if asked == 'auto' else ''}."
    if asked != "auto":
        return f"Each sample has weight {weight:.2g}, as asked for."
    return (
        f"Remaining autocorrelation is corrected for by weighting each sample {weight:.2g} (--step-weight 1 counts "
        "each in full; expect more states)."
    )
