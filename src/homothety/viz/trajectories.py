"""Series as curves in two or three of their dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

from homothety.errors import InputError
from homothety.sequences import check_sequences
from homothety.viz._channels import axis_names, check_aspect, check_dims
from homothety.viz._clusters import match_numbers, number_labels
from homothety.viz._figure import axes_for_dims, fit_box, legend_beside, new_figure
from homothety.viz._lanes import find_runs
from homothety.viz._looks import actions_of_states, looks_of, shaded_looks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray
    from homothety.sequences import Sequences
    from homothety.viz._channels import Aspect
    from homothety.viz._looks import Look, Looks

FIGSIZE = (6.4, 4.8)
PANEL = (4.8, 4.5)  # inches, of one of several pictures side by side
LINE_WIDTHS = (0.8, 1.2)  # points, of very many steps and of few
LEGEND_LINE = 3.0  # width in points: a line in a legend is short, and its colour has to be seen


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
    """Draw one or many series as curves in two or three of their dimensions, coloured by label.

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
        A dot marks where each series begins.

    Examples
    --------
    >>> ax = plot_trajectory(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), [0, 0, 1], channels=["x", "y"])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x', 'y')
    """
    sequences = _check_sequences(series)
    columns = _choose_dims(dims, sequences.n_dims)
    if labels is None:
        numbers, looks, legend = np.zeros(sequences.n_steps, dtype=np.int64), looks_of({0: ""}), False
    else:
        numbers, names = _check_labels(labels, sequences, "labels")
        looks = looks_of(names)
    ax = axes_for_dims(ax, len(columns), FIGSIZE, n_entries=len(looks) * bool(legend))
    _draw_curves(ax, sequences, numbers, columns, looks)
    _label_dims(ax, axis_names(channels, columns, sequences.n_dims), aspect)
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
    """Draw series as curves, side by side: coloured by true action if it is given, by state, and by action.

    Parameters
    ----------
    sequences : list of array-like of shape (n_steps_i, n_dims), or a single one
    paths, actions, truth : list of array-like of shape (n_steps_i,), or a single one
        State, action and true action of every step of each series; -1 for none.
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
    columns = _choose_dims(dims, steps.n_dims)
    names = axis_names(channels, columns, steps.n_dims)
    panels = _panels(steps, paths, actions, truth, state_actions)
    axes = _side_by_side(len(panels), len(columns)) if axes is None else list(axes)
    if len(axes) != len(panels):
        raise InputError(f"axes has {len(axes)} Axes, needed {len(panels)}, for {', '.join(panels)}.")
    for ax, (title, (numbers, looks)) in zip(axes, panels.items(), strict=True):
        axes_for_dims(ax, len(columns), PANEL)
        _draw_curves(ax, steps, numbers, columns, looks)
        _label_dims(ax, names, aspect)
        ax.set_title(title)
        legend_beside(ax, _curve_handles(numbers, looks), settle=ax is axes[0])
    return axes


def _panels(
    steps: Sequences, paths: Any, actions: Any, truth: Any, state_actions: ArrayLike | None
) -> dict[str, tuple[IntArray, Looks]]:
    """Return the numbers of all steps and their looks, by the title of the picture."""
    states, state_names = _check_labels(paths, steps, "paths")
    numbers, names = _check_labels(actions, steps, "actions")
    owners = actions_of_states(state_actions, states, numbers)
    panels = {"state": (states, shaded_looks(state_names, owners)), "action": (numbers, looks_of(names))}
    if truth is None:
        return panels
    matched, matched_names = match_numbers(*_check_labels(truth, steps, "truth"), numbers)
    return {"truth": (matched, looks_of(matched_names))} | panels


def _side_by_side(n_panels: int, n_dims: int) -> list[Axes]:
    figure = new_figure((PANEL[0] * n_panels, PANEL[1]))
    projection = "3d" if n_dims == 3 else None
    return [figure.add_subplot(1, n_panels, place + 1, projection=projection) for place in range(n_panels)]


def _check_sequences(series: Any) -> Sequences:
    sequences = check_sequences(series, min_steps=1, allow_constant=True)
    if sequences.n_dims < 2:
        raise InputError("The series have 1 dimension, needed at least 2 to draw a curve. Use plot_segments.")
    return sequences


def _check_labels(labels: Any, sequences: Sequences, name: str) -> tuple[IntArray, dict[int, str]]:
    """Return the number of every step of all series and the names of the numbers, or raise."""
    rows = [np.asarray(one) for one in labels]
    if sequences.n_series == 1 and all(one.ndim == 0 for one in rows):
        rows = [np.asarray(labels)]  # of a single series
    if len(rows) != sequences.n_series:
        raise InputError(f"{name} has {len(rows)} arrays, needed {sequences.n_series}: one for each series.")
    for i, (one, n_steps) in enumerate(zip(rows, sequences.lengths, strict=True)):
        if one.shape != (n_steps,):
            raise InputError(f"{name}[{i}] has shape {one.shape}, needed ({n_steps},): a label for every step.")
    return number_labels(np.concatenate(rows), name)


def _choose_dims(dims: Sequence[int] | None, n_dims: int) -> list[int]:
    return list(range(min(n_dims, 3))) if dims is None else check_dims(dims, n_dims, (2, 3))


def _draw_curves(ax: Any, sequences: Sequences, numbers: IntArray, columns: list[int], looks: Looks) -> None:
    """Draw one line per label, which goes on where its runs do, and a dot where each series begins."""
    points = [series[:, columns] for series in sequences]
    pieces: dict[int, list[FloatArray]] = {}
    for one, labels in zip(points, sequences.split(numbers), strict=True):
        for run in find_runs(labels):
            # To the first step of the next run, so that the curve has no gaps; after that, one.
            piece = one[run.start : run.end + 1]
            pieces.setdefault(run.number, []).append(np.vstack([piece, np.full(len(columns), np.nan)]))
    width = float(np.clip(30 / np.sqrt(sequences.n_steps), *LINE_WIDTHS))
    for number in sorted(pieces):
        style = looks[number].style
        ax.plot(*np.concatenate(pieces[number]).T, color=style.color, linestyle=style.linestyle, linewidth=width)
    ax.plot(*np.array([one[0] for one in points]).T, "o", color="black", markersize=3, linestyle="none")


def _label_dims(ax: Any, names: list[str], aspect: Aspect) -> None:
    """Name the dimensions along the axes, which have one scale or not."""
    ax.set(**{f"{axis}label": name for axis, name in zip("xyz", names, strict=False)})
    if len(names) == 3:
        fit_box(ax, equal=check_aspect(aspect) == "equal")
    else:
        ax.set_aspect(check_aspect(aspect), adjustable="datalim")


def _curve_handles(numbers: IntArray, looks: Looks) -> list[Line2D]:
    found = set(np.unique(numbers).tolist())
    return [_legend_line(look) for number, look in looks.items() if number in found]


def _legend_line(look: Look) -> Line2D:
    color, linestyle = look.style.color, look.style.linestyle
    return Line2D([], [], color=color, linestyle=linestyle, linewidth=LEGEND_LINE, label=look.name)
