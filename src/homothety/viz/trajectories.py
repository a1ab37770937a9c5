"""Recordings as curves in two or three of their dimensions, as they were recorded and in one frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.errors import InputError
from homothety.phrases import number_of
from homothety.sequences import Sequences, check_sequences
from homothety.viz._figures import (
    actions_of_states,
    axes_or_new,
    choose_dims,
    label_dims,
    legend_beside,
    legend_line,
    looks_of,
    match_numbers,
    number_labels,
    panels_or_new,
    shaded_looks,
)
from homothety.viz.segments import find_runs

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray
    from homothety.palette import Aspect
    from homothety.viz._figures import Looks

_PANEL = (4.8, 4.5)  # inches, of one of several pictures side by side
_LINE_WIDTHS = (0.8, 1.2)  # points, of very many steps and of few
_LEGEND_LINE = 3.0  # width in points: a line in a legend is short, and its colour has to be seen
_N_TICKS = 4  # of each axis of aligned recordings, at most: curves are long, and boxes may be narrow


def plot_trajectory(
    series: Any,
    labels: Any = None,
    *,
    dims: Sequence[int] | None = None,
    channels: Sequence[str] | None = None,
    aspect: Aspect = "equal",
    legend: bool | str = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw one or many recordings as curves in two or three of their dimensions, coloured by label.

    Parameters
    ----------
    series : array-like of shape (n_steps, n_dims), or list of such
    labels : array-like of shape (n_steps,), or list of such, optional
        State or action of every step; -1 for none.
    dims : sequence of int, optional
        Which two or three dimensions to draw; by default the first three, or two if there are no more.
    channels : sequence of str, optional
        What all the dimensions are called; their numbers by default.
    aspect : {"equal", "auto"}, default="equal"
        Whether all dimensions are drawn to one scale, so that turned copies look like it, or each fills the picture.
    legend : bool or str, default=True
        Whether to name the labels, beside the Axes; or what the legend is called.
    ax : Axes, optional
        Where to draw, with ``projection="3d"`` for three dimensions; by default on a new figure.

    Returns
    -------
    ax : Axes
        A dot marks where each recording begins.

    Examples
    --------
    >>> ax = plot_trajectory(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), [0, 0, 1], channels=["x", "y"])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x', 'y')
    """
    sequences = _check_sequences(series)
    columns, axis_names = choose_dims(dims, sequences.n_dims, (2, 3), channels)
    if labels is None:
        numbers, looks, legend = np.zeros(sequences.n_steps, dtype=np.int64), looks_of({0: ""}), False
    else:
        numbers, names = _check_labels(labels, sequences, "labels")
        looks = looks_of(names)
    ax = axes_or_new(ax, n_entries=len(looks) * bool(legend), n_dims=len(columns))
    _draw_curves(ax, sequences, numbers, columns, looks)
    label_dims(ax, axis_names, aspect)
    if legend:
        legend_beside(ax, _curve_handles(numbers, looks), legend if isinstance(legend, str) else None)
    return ax


def plot_trajectories(
    sequences: Any,
    paths: Any,
    actions: Any,
    *,
    truth: Any = None,
    state_actions: ArrayLike | None = None,
    dims: Sequence[int] | None = None,
    channels: Sequence[str] | None = None,
    aspect: Aspect = "equal",
    axes: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw recordings as curves, side by side: coloured by true action if it is given, by state, and by action.

    Parameters
    ----------
    sequences : list of array-like of shape (n_steps_i, n_dims), or a single one
    paths, actions, truth : list of array-like of shape (n_steps_i,), or a single one
        State, action and true action of every step of each recording; -1 for none.
    state_actions : array-like of int, shape (n_states,), optional
        Action of each state, which decides its colour; by default the one that most of its steps have.
    dims, channels, aspect
        As in `plot_trajectory`.
    axes : sequence of Axes, optional
        Where to draw, one for each picture; by default on a new figure.

    Returns
    -------
    axes : list of two or three Axes
        Colours are those of `plot_actions`.
    """
    steps = _check_sequences(sequences)
    columns, axis_names = choose_dims(dims, steps.n_dims, (2, 3), channels)
    states, state_names = _check_labels(paths, steps, "paths")
    numbers, names = _check_labels(actions, steps, "actions")
    owners = actions_of_states(state_actions, states, numbers)
    panels = {"state": (states, shaded_looks(state_names, owners)), "action": (numbers, looks_of(names))}
    if truth is not None:
        matched, matched_names = match_numbers(*_check_labels(truth, steps, "truth"), numbers)
        panels = {"truth": (matched, looks_of(matched_names))} | panels
    axes = _side_by_side(axes, panels, len(columns))
    for ax, (title, (labels, looks)) in zip(axes, panels.items(), strict=True):
        _draw_curves(ax, steps, labels, columns, looks)
        label_dims(ax, axis_names, aspect)
        ax.set_title(title)
        legend_beside(ax, _curve_handles(labels, looks), settle=ax is axes[0])
    return axes


def plot_aligned(
    model: Any,
    recordings: Any,
    *,
    labels: Any = None,
    block: int = 0,
    channels: Sequence[str] | None = None,
    axes: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw recordings as they were recorded, and beside it the same recordings in one frame, coloured by action.

    Parameters
    ----------
    model : ActionHMM
        Fitted.
    recordings : list of array-like of shape (n_steps_i, n_dims)
        What the model was fitted to.
    labels : list of array-like of shape (n_steps_i,), optional
        Action of every step; ``model.actions_`` by default. ``model.actions_at(k)`` has k actions.
    block : int, default=0
        Which of the positions to draw, if the recordings have several.
    channels : sequence of str, optional
        Names of the channels of the recordings; taken from `recordings` if it has names.
    axes : sequence of two Axes, optional
        Where to draw, with ``projection="3d"`` for positions in three dimensions; by default on a new figure.

    Returns
    -------
    axes : list of two Axes
        All axes have one scale. A dot marks where each recording begins.

    Examples
    --------
    >>> from homothety import ActionHMM
    >>> from homothety.datasets import make_demonstrations
    >>> demonstrations = make_demonstrations(0, n_per_frame=1)
    >>> model = ActionHMM(n_chains=1, n_sweeps=10, subsample=10, random_state=0).fit(demonstrations)
    >>> recorded, aligned = plot_aligned(model, demonstrations)
    >>> aligned.get_title()
    'aligned in one frame'
    """
    places = [one for one, kind in enumerate(model.blocks_.kinds) if kind == "point"]
    if not 0 <= block < len(places):
        raise InputError(
            f"block is {block}, but the recordings have {number_of(len(places), 'position')} to draw, counted from 0."
        )
    sequences = check_sequences(recordings, allow_constant=True, allow_missing=True, min_steps=1)
    aligned = check_sequences(model.aligned(recordings), allow_constant=True, allow_missing=True, min_steps=1)
    columns = list(model.blocks_.channels[places[block]])
    _, axis_names = choose_dims(columns, sequences.n_dims, (2, 3), channels or sequences.channels)
    columns_aligned = list(range(*model.blocks_.slices[places[block]].indices(sequences.n_dims)))
    numbers, names = _check_labels(model.actions_ if labels is None else labels, sequences, "labels")
    looks = looks_of(names)
    panels = {"as recorded": (sequences, columns), "aligned in one frame": (aligned, columns_aligned)}
    axes = _side_by_side(axes, panels, len(columns))
    for ax, (title, (drawn, dims)) in zip(axes, panels.items(), strict=True):
        _draw_curves(ax, drawn, numbers, dims, looks)
        label_dims(ax, axis_names, "equal")
        ax.locator_params(nbins=_N_TICKS)
        ax.set_title(title)
    legend_beside(axes[1], _curve_handles(numbers, looks), "action")
    return axes


def _side_by_side(axes: Sequence[Axes] | None, panels: Collection[str], n_dims: int) -> list[Axes]:
    """Return Axes for pictures of 2 or 3 dimensions beside each other: new ones, or the given ones if they are."""
    projection = {"projection": "3d" if n_dims == 3 else None}
    axes = panels_or_new(axes, panels, (_PANEL[0] * len(panels), _PANEL[1]), subplot_kw=projection)
    return [axes_or_new(ax, n_dims=n_dims) for ax in axes]


def _check_sequences(series: Any) -> Sequences:
    sequences = check_sequences(series, min_steps=1, allow_constant=True, allow_missing=True)
    if sequences.n_dims < 2:
        raise InputError("The series have 1 dimension, needed at least 2 to draw a curve. Use plot_segments.")
    return sequences


def _check_labels(labels: Any, sequences: Sequences, name: str) -> tuple[IntArray, dict[int, str]]:
    """Return the number of every step of all recordings and the names of the numbers, or raise."""
    rows = [np.asarray(one) for one in labels]
    if sequences.n_recordings == 1 and all(one.ndim == 0 for one in rows):
        rows = [np.asarray(labels)]  # of a single recording
    if len(rows) != sequences.n_recordings:
        raise InputError(f"{name} has {len(rows)} arrays, needed {sequences.n_recordings}: one for each series.")
    for i, (one, n_steps) in enumerate(zip(rows, sequences.lengths, strict=True)):
        if one.shape != (n_steps,):
            raise InputError(f"{name}[{i}] has shape {one.shape}, needed ({n_steps},): a label for every step.")
    return number_labels(np.concatenate(rows), name)


def _draw_curves(ax: Any, sequences: Sequences, numbers: IntArray, columns: list[int], looks: Looks) -> None:
    """Draw one line per label, which goes on where its runs do, and a dot where each recording begins."""
    points = [series[:, columns] for series in sequences]
    pieces: dict[int, list[FloatArray]] = {}
    for one, labels in zip(points, sequences.split(numbers), strict=True):
        for run in find_runs(labels):
            # To the first step of the next run, so that the curve has no gaps; after that, one.
            piece = one[run.start : run.end + 1]
            pieces.setdefault(run.number, []).append(np.vstack([piece, np.full(len(columns), np.nan)]))
    width = float(np.clip(30 / np.sqrt(sequences.n_steps), *_LINE_WIDTHS))
    for number in sorted(pieces):
        style = looks[number].style
        ax.plot(*np.concatenate(pieces[number]).T, color=style.color, linestyle=style.linestyle, linewidth=width)
    ax.plot(*np.array([one[0] for one in points]).T, "o", color="black", markersize=3, linestyle="none")


def _curve_handles(numbers: IntArray, looks: Looks) -> list[Line2D]:
    found = set(np.unique(numbers).tolist())
    shown = (look for number, look in looks.items() if number in found)
    return [legend_line(look, marker="none", linewidth=_LEGEND_LINE) for look in shown]
