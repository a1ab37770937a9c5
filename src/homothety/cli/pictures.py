"""The pictures of segmented series, with what is said below each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.cli.figures import MAX_SERIES, draw_paths, figure_of
from homothety.datasets.readers.checks import is_missing
from homothety.estimators.action_reports import ReportsActions
from homothety.estimators.segmentation import SampledSegmenter
from homothety.palette import aspect_of
from homothety.words import actions, blocks, enumerated, transforms

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from homothety.arrays import FloatArray
    from homothety.cli.figures import Drawing
    from homothety.cli.segmentation import Segmentation
    from homothety.palette import Aspect


SHADES = "States are shades of the colour of their action."


class Picture(NamedTuple):
    """What a picture is called, what is said below it, and a function that draws it."""

    title: str
    caption: str
    draw: Drawing


def pictures(result: Segmentation) -> dict[str, Picture]:
    """Return the pictures of a fitted model by the names of their files, in the order of a page."""
    model, names = result.model, result.items.names
    found: dict[str, Picture] = {}
    if isinstance(model, ReportsActions):
        found |= pictures_of_actions(result, model)
    else:
        draw = partial(draw_paths, model.paths_, names, called="state")
        found["segments"] = Picture("Segments", "The states of all recordings.", draw)
    found |= pictures_of_series(result)
    if isinstance(model, SampledSegmenter):
        draw = partial(_draw, "plot_traces", model.trace_, model.n_burn_)
        found["traces"] = Picture("Traces", "What the chains did, sweep by sweep.", draw)
    return found


def pictures_of_actions(result: Segmentation, model: Any) -> dict[str, Picture]:
    """Return the pictures of what is known of all series together; those with nothing to show are left out."""
    names, groups = result.items.names, model.state_actions_
    found: dict[str, Picture] = {}
    if hasattr(model, "frames_") and model.prepared_blocks_.points:
        found["aligned"] = picture_of_aligned(result, model)
    found |= {
        "segments": Picture(
            "Segments",
            f"The states of all recordings. {SHADES}",
            partial(draw_paths, model.paths_, names, called="state", state_actions=groups),
        ),
        "actions": Picture(
            "Actions",
            f"The actions of all recordings. {actions.explanation(model)}",
            partial(draw_paths, model.actions_, names, called="action"),
        ),
    }
    if result.items.n_dims > 1:
        found["trajectories"] = picture_of_trajectories(result, model)
    if not model.states_.order:
        found["ellipses"] = picture_of_ellipses(result, model)
    if model.n_states_ > 1:
        found |= pictures_of_states(result, model)
    return found


def pictures_of_states(result: Segmentation, model: Any) -> dict[str, Picture]:
    """Return the pictures of how states are related: to series, to each other, to their actions."""
    groups, stride = model.state_actions_, model.preprocessing_.settings.stride
    later = "a step" if stride == 1 else f"{stride} steps"
    found = {
        "features": Picture(
            "Which recording has which state",
            f"A filled cell is a state that the recording has. Columns are sorted by action. {SHADES}",
            partial(_draw, "plot_features", model.active_, groups, names=result.items.names),
        ),
        "transitions": Picture(
            "What follows what",
            f"How probable the state of the column is {later} after that of the row, on a logarithmic "
            "scale. Equal small values in a row are for what was never seen.",
            partial(_draw, "plot_transitions", model.transition_probs_, groups),
        ),
        "coaction": Picture(
            "Which states are one action",
            "How probable it is that two states are one action, by the kept sweeps.",
            partial(_draw, "plot_coaction", model.coaction_, groups),
        ),
    }
    if hasattr(model, "transforms_") and model.n_states_ > len(np.unique(groups)):
        found["transforms"] = picture_of_transforms(model)
    return found


def picture_of_aligned(result: Segmentation, model: Any) -> Picture:
    """Return the picture of all recordings as recorded, and in one frame."""
    caption = (
        "All recordings as they were recorded, and the same recordings turned, resized and moved into one frame, "
        "coloured by action. A dot marks where a recording begins."
    )
    return Picture("Recorded and aligned", caption, partial(_draw, "plot_aligned", model, result.items))


def picture_of_transforms(model: Any) -> Picture:
    """Return the picture of scale, rotation and translation."""
    n_dims = model.preprocessing_.n_dims
    lines = f"translations have a line for each of the {n_dims} dimensions, the first on top."
    caption = (
        "What takes the state with most steps of an action (the grey ticks) to its other states. Lines are 95 % "
        f"intervals; {transforms.NO_PLACES if model.states_.order else lines} An interval that goes from edge to edge, "
        "dotted, has no ends: one of the two states has too few observations."
    )
    return Picture("Scale, rotation and translation", caption, partial(_draw, "plot_transforms", model.transforms_))


def picture_of_trajectories(result: Segmentation, model: Any) -> Picture:
    """Return the picture of all series as curves: their positions if these are known, else their first dimensions."""
    items = result.items
    dims = blocks.first_position(model, recorded=True) or list(range(min(items.n_dims, 3)))
    aspect = aspect_of(np.concatenate(items.sequences)[:, dims])
    labels = "state and by action" if items.actions is None else "true action, by state and by action"
    caption = (
        f"All recordings in {_dimensions(result.spoken_channels, dims)}, coloured by {labels}. {_scales_note(aspect)} "
        f"{SHADES} A dot marks where a recording begins.{truth_note(result)}"
    )
    draw = partial(
        _draw,
        "plot_trajectories",
        items.sequences,
        model.paths_,
        model.actions_,
        truth=true_actions(result),
        state_actions=model.state_actions_,
        dims=dims,
        channels=items.channels or None,
        aspect=aspect,
    )
    return Picture("Trajectories", caption, draw)


def picture_of_ellipses(result: Segmentation, model: Any) -> Picture:
    """Return the picture of where states lie in two dimensions: of a position if one is known, else the first."""
    names = model.preprocessing_.name_dims(blocks.in_order_of(model, result.spoken_channels))
    dims = (blocks.first_position(model) or [0, 1])[:2]
    steps = steps_of_states(result)
    aspect = aspect_of(np.concatenate(steps)[:, dims])
    relative = ", relative to the middle of each recording" * model.preprocessing_.means_are_relative
    relative += ", in one frame" * hasattr(model, "frames_")
    caption = (
        f"The states as ellipses of one standard deviation in {_dimensions(names, dims)}{relative}, in the colours of "
        f"their actions; behind them the steps of the recordings. {_scales_note(aspect)}"
    )
    draw = partial(
        _draw,
        "plot_state_ellipses",
        model.means_,
        model.covariances_,
        model.state_actions_,
        dims=dims,
        sequences=steps,
        channels=names,
        aspect=aspect,
    )
    return Picture("Where the states are", caption, draw)


def steps_of_states(result: Segmentation) -> list[FloatArray]:
    """Return the steps that were used, in the units and the frame of the means of states."""
    model: Any = result.model
    if hasattr(model, "frames_"):
        return [padded(one, model.preprocessing_.n_dims) for one in model.aligned(result.items)]
    prepared = model.preprocessing_
    return [prepared.restore_mean(one) for one in prepared.transform(result.items.sequences)]


def padded(steps: FloatArray, n_dims: int) -> FloatArray:
    """Return aligned steps with zeros for velocities, which are not drawn."""
    return np.pad(steps, ((0, 0), (0, n_dims - steps.shape[1])))


def pictures_of_series(result: Segmentation) -> dict[str, Picture]:
    """Return the pictures of the first series, one each; what is seen is said once."""
    names = result.items.names[:MAX_SERIES]
    n_left = len(result.items) - len(names)
    captions = [series_caption(result), *[""] * (len(names) - 1)]
    captions[-1] += f"The other {n_left} recordings have no picture of their own." * (n_left > 0)
    return {
        f"series-{i}": Picture(name, caption, partial(draw_series, result, i))
        for i, (name, caption) in enumerate(zip(names, captions, strict=True))
    }


def series_caption(result: Segmentation) -> str:
    """Return what is seen in the picture of a series."""
    model = result.model
    bars = f"the states and the actions. {SHADES}" if isinstance(model, ReportsActions) else "the states."
    caption = f"What was measured, each dimension over its own range, and {bars}{truth_note(result)}"
    if not isinstance(model, SampledSegmenter):
        return caption
    return (
        f"{caption} Below, where the posterior has changes of state; the interval of a reported one holds 90 % of "
        "where the draws have it."
    )


def truth_note(result: Segmentation) -> str:
    """Return where true actions are from, if they are drawn."""
    if result.items.actions is None or not isinstance(result.model, ReportsActions):
        return ""
    return (
        " The truth is the label of the input, which was not looked at; every true action has the colour of the action "
        "it is matched with, one to one, so that most steps agree."
    )


def draw_series(result: Segmentation, i: int) -> Figure:
    """Draw one series with all that is known of its steps."""
    from homothety import viz

    model, one, name = result.model, result.items.sequences[i], result.items.names[i]
    if not isinstance(model, SampledSegmenter):
        ax = viz.plot_segments(one, model.paths_[i], channels=result.channels)
        ax.set_title(name)
        return figure_of(ax)
    boundaries = [boundary for boundary in model.boundaries_ if boundary.series == i]
    known: dict[str, Any] = known_of_actions(result, model, i) if isinstance(model, ReportsActions) else {}
    looks: dict[str, Any] = {"boundaries": boundaries, "channels": result.channels, "title": name}
    return figure_of(viz.plot_segmentation(one, model.paths_[i], model.change_probability_[i], **looks, **known))


def known_of_actions(result: Segmentation, model: ReportsActions, i: int) -> dict[str, Any]:
    """Return what a picture of one series needs to show actions, with the same colours in the pictures of all."""
    from homothety import viz

    known: dict[str, Any] = {"actions": model.actions_[i], "state_actions": model.state_actions_}
    truth = true_actions(result)
    if truth is None:
        return known
    return known | {"truth": truth[i], "truth_actions": viz.match_truth(truth, model.actions_)}


def true_actions(result: Segmentation) -> list[NDArray[Any]] | None:
    """Return the labels that came with the series as strings, None for steps without; they may be anything."""
    if result.items.actions is None:
        return None
    return [_names_of(one) for one in result.items.actions]


def _names_of(labels: NDArray[Any]) -> NDArray[Any]:
    names = np.asarray(labels).astype(str).astype(object)
    names[is_missing(labels)] = None
    return names


def _scales_note(aspect: Aspect) -> str:
    if aspect == "equal":
        return "All axes have one scale."
    return "Ranges differ so much that every axis has its own scale, and turned copies do not look alike."


def _dimensions(names: Any, drawn: list[int]) -> str:
    """Return which dimensions are drawn, and whether there are more."""
    is_first = drawn == list(range(len(drawn)))
    some = f"{'the first ' * is_first}{len(drawn)} of {len(names)} dimensions, " * (len(names) > len(drawn))
    return some + enumerated([names[dim] for dim in drawn])


def _draw(function: str, *args: Any, **options: Any) -> Figure:
    """Draw by a function of homothety.viz, which is not loaded before."""
    from homothety import viz

    return figure_of(getattr(viz, function)(*args, **options))
