"""The figures of a result, and how figures are written to a folder."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.datasets.readers.checks import is_missing
from homothety.palette import aspect_of
from homothety.phrases import cluster_number, enumerated
from homothety.report.sentences import explanation
from homothety.summaries.positions import position_dims
from homothety.summaries.result import Partition, Segmentation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from homothety.arrays import IntArray
    from homothety.datasets import MatrixSet, SequenceSet
    from homothety.palette import Aspect

_MAX_BODIES = 200  # ellipses or ellipsoids in one figure
_MAX_POINTS = 20_000  # points or lines in one figure
MAX_RECORDINGS = 8  # with a figure of their own
_SHADES = "States are shades of the colour of their action."
ALL_FIGURES = {
    *("similarity", "coclustering", "embedding", "traces", "spectra", "ellipses", "ellipsoids"),
    *("label-image", "label-comparison", "aligned", "segments", "actions", "trajectories", "features"),
    *("transitions", "coaction", "transforms"),
    *(f"series-{i}" for i in range(MAX_RECORDINGS)),
}
"""Names of all figures that a run may write: those of an earlier run are removed."""


class _Drawing(NamedTuple):
    """Title and caption of a figure, and a function that draws it."""

    title: str
    caption: str
    draw: Callable[[], Figure]


def figures_of(model: Any, data: Any) -> dict[str, _Drawing]:
    """Return the figures of a fitted model by the names of their files, in the order of a page."""
    result = model.result_
    if isinstance(result, Partition):
        return _of_partition(result, data)
    found: dict[str, _Drawing] = {}
    if result.actions is None:
        draw = partial(draw_paths, result.states.paths, result.names, called="state")
        found["segments"] = _Drawing("Segments", "The states of all recordings.", draw)
    else:
        found |= _of_actions(result, model, data)
    found |= _of_recordings(result, data)
    return found | _of_chains(result)


def _of_chains(result: Segmentation | Partition) -> dict[str, _Drawing]:
    chains = result.chains
    if chains is None:
        return {}
    draw = partial(_draw, "plot_traces", chains.trace, chains.n_burn)
    return {"traces": _Drawing("Traces", "The chains, sweep by sweep.", draw)}


# Segmentations


def _of_actions(result: Segmentation, model: Any, data: SequenceSet) -> dict[str, _Drawing]:
    """Return the figures of actions in all recordings; figures without content are left out."""
    names, groups, actions = result.names, result.state_actions, result.actions
    assert groups is not None
    assert actions is not None
    found: dict[str, _Drawing] = {}
    if result.frame_table is not None and result.frame_table.blocks.points:
        caption = (
            "All recordings as they were recorded, and the same recordings turned, resized and moved into one frame, "
            "coloured by action. A dot marks where a recording begins."
        )
        found["aligned"] = _Drawing("Recorded and aligned", caption, partial(_draw, "plot_aligned", model, data))
    draw = partial(draw_paths, result.states.paths, names, called="state", state_actions=groups)
    found["segments"] = _Drawing("Segments", f"The states of all recordings. {_SHADES}", draw)
    draw = partial(draw_paths, actions.paths, names, called="action")
    found["actions"] = _Drawing("Actions", f"The actions of all recordings. {explanation(result)}", draw)
    if data.n_dims > 1:
        found["trajectories"] = _trajectories(result, data)
    if result.means is not None:
        found["ellipses"] = _ellipses(result, model, data)
    if result.states.number > 1:
        found |= _of_states(result, groups)
    return found


def _of_states(result: Segmentation, groups: IntArray) -> dict[str, _Drawing]:
    """Return the figures of states: their recordings, transitions and actions."""
    later = "a step" if result.stride == 1 else f"{result.stride} steps"
    found = {
        "features": _Drawing(
            "Which recording has which state",
            f"A filled cell is a state that the recording has. Columns are sorted by action. {_SHADES}",
            partial(_draw, "plot_features", result.states.active, groups, names=result.names),
        ),
        "transitions": _Drawing(
            "What follows what",
            f"Probability of the state of the column {later} after that of the row, on a logarithmic scale. Equal "
            "small values in a row are for what was never seen.",
            partial(_draw, "plot_transitions", result.parameters.transition, groups),
        ),
    }
    if result.coaction is not None:
        caption = "Agreement: the share of kept sweeps in which two states are one action."
        draw = partial(_draw, "plot_coaction", result.coaction, groups)
        found["coaction"] = _Drawing("Which states are one action", caption, draw)
    if result.transforms is not None and any(not one.is_reference for one in result.transforms):
        n_dims = result.preparation.n_dims
        places = (
            "autoregressive states have no place, and no translation."
            if result.means is None
            else f"translations have a line for each of the {n_dims} dimensions, the first on top."
        )
        caption = (
            "What takes the state with most steps of an action (the grey ticks) to its other states. Lines are 95 % "
            f"intervals; {places} An interval that goes from edge to edge, dotted, has no ends: one of the two states "
            "has too few observations."
        )
        draw = partial(_draw, "plot_transforms", result.transforms)
        found["transforms"] = _Drawing("Scale, rotation and translation", caption, draw)
    return found


def _trajectories(result: Segmentation, data: SequenceSet) -> _Drawing:
    """Return the figure of all recordings as curves."""
    dims = position_dims(result)
    aspect = aspect_of(np.concatenate(data.sequences)[:, dims])
    labels = "state and by action" if data.actions is None else "true action, by state and by action"
    caption = (
        f"All recordings in {_dimensions(result.channel_names(), dims)}, coloured by {labels}. {_scales_note(aspect)} "
        f"{_SHADES} A dot marks where a recording begins.{_truth_note(result, data)}"
    )
    draw = partial(
        _draw,
        "plot_trajectories",
        data.sequences,
        result.states.paths,
        result.labels.paths,
        truth=true_labels(data),
        state_actions=result.state_actions,
        dims=dims,
        channels=result.channels or None,
        aspect=aspect,
    )
    return _Drawing("Trajectories", caption, draw)


def _ellipses(result: Segmentation, model: Any, data: SequenceSet) -> _Drawing:
    """Return the figure of where states lie in two dimensions: of a position if one is known, else the first."""
    names, dims, table = result.dims(), [0, 1], result.frame_table
    if table is not None and table.blocks.points:
        columns = table.blocks.slices[table.blocks.points[0]]
        dims = [columns.start, columns.start + 1]
    steps = model.steps_of_states(data)
    aspect = aspect_of(np.concatenate(steps)[:, dims])
    relative = ", relative to the middle of each recording" if result.preparation.means_are_relative else ""
    relative += ", in one frame" if result.frame_table is not None else ""
    caption = (
        f"The states as ellipses of one standard deviation in {_dimensions(names, dims)}{relative}, in the colours of "
        f"their actions; behind them the steps of the recordings. {_scales_note(aspect)}"
    )
    draw = partial(
        _draw,
        "plot_state_ellipses",
        result.means,
        result.covariances,
        result.state_actions,
        dims=dims,
        sequences=steps,
        channels=names,
        aspect=aspect,
    )
    return _Drawing("Where the states are", caption, draw)


def _of_recordings(result: Segmentation, data: SequenceSet) -> dict[str, _Drawing]:
    """Return one figure for each of the first recordings; only the first has a caption that explains it."""
    names = result.names[:MAX_RECORDINGS]
    n_left = len(result.names) - len(names)
    captions = [_recording_caption(result, data), *[""] * (len(names) - 1)]
    captions[-1] += f"The other {n_left} recordings have no figure of their own." if n_left else ""
    return {
        f"series-{i}": _Drawing(name, caption, partial(_draw_recording, result, data, i))
        for i, (name, caption) in enumerate(zip(names, captions, strict=True))
    }


def _recording_caption(result: Segmentation, data: SequenceSet) -> str:
    """Return what the figure of a recording shows."""
    bars = "the states." if result.actions is None else f"the states and the actions. {_SHADES}"
    caption = f"What was measured, each channel over its own range, and {bars}{_truth_note(result, data)}"
    if result.states.changes is None:
        return caption
    return (
        f"{caption} Below, where the posterior has changes of state; the interval of a reported one holds 90 % of "
        "where the draws have it."
    )


def _truth_note(result: Segmentation, data: SequenceSet) -> str:
    """Return a note on the source of true actions, if they are drawn."""
    if data.actions is None or result.actions is None:
        return ""
    return (
        " The truth is the label of the input, which was not looked at; every true action has the colour of the action "
        "it is matched with, one to one, so that most steps agree."
    )


def _draw_recording(result: Segmentation, data: SequenceSet, i: int) -> Figure:
    """Draw one recording with states, actions, true labels and probabilities of changes."""
    from homothety import viz

    one, path, name, states = data.sequences[i], result.states.paths[i], result.names[i], result.states
    channels = result.channel_names("{}")
    if states.change_probability is None:
        ax = viz.plot_segments(one, path, channels=channels)
        ax.set_title(name)
        return _figure_of(ax)
    known: dict[str, Any] = {}
    if result.actions is not None:
        known = {"actions": result.actions.paths[i], "state_actions": result.state_actions}
        if (truth := true_labels(data)) is not None:  # the same colours in the figures of all recordings
            known |= {"truth": truth[i], "truth_actions": viz.match_truth(truth, result.actions.paths)}
    boundaries = [boundary for boundary in states.boundaries or () if boundary.series == i]
    looks: dict[str, Any] = {"boundaries": boundaries, "channels": channels, "title": name}
    return _figure_of(viz.plot_segmentation(one, path, states.change_probability[i], **looks, **known))


def true_labels(data: SequenceSet) -> list[NDArray[Any]] | None:
    """Return the labels that came with recordings as strings, None for steps without; they may be anything."""
    if data.actions is None:
        return None
    found = []
    for labels in data.actions:
        names = np.asarray(labels).astype(str).astype(object)
        names[is_missing(labels)] = None
        found.append(names)
    return found


def _scales_note(aspect: Aspect) -> str:
    if aspect == "equal":
        return "All axes have one scale."
    return "Ranges differ so much that every axis has its own scale, and turned copies do not look alike."


def _dimensions(names: Sequence[str], drawn: list[int]) -> str:
    """Return which dimensions are drawn, and whether there are more."""
    first = "the first " if drawn == list(range(len(drawn))) else ""
    some = f"{first}{len(drawn)} of {len(names)} dimensions, " if len(names) > len(drawn) else ""
    return some + enumerated([names[dim] for dim in drawn])


# Partitions


def _of_partition(result: Partition, data: MatrixSet) -> dict[str, _Drawing]:
    """Return the figures of clusters."""
    names, found = cluster_number(result.labels).astype(str), _of_chains(result)
    few, some = _some_of_each(result.labels, _MAX_POINTS), _some_of_each(result.labels, _MAX_BODIES)

    def add(name: str, title: str, caption: str, function: str, *args: Any, **options: Any) -> None:
        found[name] = _Drawing(title, caption, partial(_draw, function, *args, **options))

    if result.similarity is not None:
        add("similarity", "Similarity", "All pairs, sorted by cluster.", "plot_similarity", result.similarity, names)
    if result.coclustering is not None:
        caption = "Share of the kept sweeps in which two matrices are in one cluster."
        add("coclustering", "Co-clustering", caption, "plot_coclustering", result.coclustering, names)
    if result.embedding is not None:
        caption = "The coordinates that were clustered."
        add("embedding", "Embedding", caption, "plot_embedding", result.embedding[few], names[few])
    caption = "Axis lengths of every matrix, scaled to unit product: its shape."
    add("spectra", "Shapes", caption, "plot_spectra", data.matrices[few], names[few])
    bodies = {2: "ellipses", 3: "ellipsoids"}.get(data.matrices.shape[1])
    if bodies is not None:
        caption = f"The matrices as {bodies}, scaled to equal length."
        matrices = data.matrices[some]
        add(bodies, bodies.capitalize(), caption, f"plot_{bodies}", matrices, names[some], sizes="equal")
    if data.grid is not None and data.labels is None:
        add("label-image", "Label image", "The cluster of every voxel.", "plot_label_image", names, data)
    if data.grid is not None and data.labels is not None:
        caption = "The cluster of every voxel, and its true class."
        add("label-comparison", "Label image and truth", caption, "plot_label_comparison", names, data.labels, data)
    return found


def _some_of_each(labels: IntArray, most: int) -> IntArray:
    """Return at most `most` items in ascending order, taken from the clusters in turn, or all if there are no more."""
    order = np.argsort(labels, kind="stable")
    rank = np.empty(len(labels), dtype=np.int64)
    counts = np.bincount(labels)
    rank[order] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(np.argsort(rank, kind="stable")[:most])


# Drawing


def draw_paths(paths: Sequence[Any], names: Sequence[str], *, called: str, **options: Any) -> Figure:
    """Draw the labels of recordings as one bar each, under a legend that says what labels are called."""
    from homothety import viz

    ax = viz.plot_paths(paths, names, **options)
    legend = ax.get_legend()
    if legend is not None:
        legend.set_title(called)
    return _figure_of(ax)


def _draw(function: str, *args: Any, **options: Any) -> Figure:
    """Draw by a function of homothety.viz, which is imported only then."""
    from homothety import viz

    return _figure_of(getattr(viz, function)(*args, **options))


def _figure_of(drawn: Any) -> Figure:
    """Return the figure of one or several Axes."""
    axes = drawn[0] if isinstance(drawn, list) else drawn
    figure: Figure = axes.figure
    return figure


def write_figures(
    folder: Path, figures: Mapping[str, Callable[[], Figure]], replaced: Collection[str] = ()
) -> list[str]:
    """Draw and write figures as PNG, and return the names of the files.

    Figures called as in `replaced` that are not written again are of an earlier run, and are removed.
    """
    for name in set(replaced).difference(figures):
        (folder / f"{name}.png").unlink(missing_ok=True)
    if figures:
        from homothety.viz import write_figure

        for name, draw in figures.items():
            write_figure(folder / f"{name}.png", draw())
    return [f"{name}.png" for name in figures]
