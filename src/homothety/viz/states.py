"""States and their actions: places and shapes, recordings that have them, transitions and transformations."""

from __future__ import annotations

from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.patheffects import withStroke
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

from homothety.arrays import BoolArray, FloatArray, check_points, check_similarity, real_array
from homothety.covariance.spectra import check_covariances
from homothety.errors import InputError
from homothety.palette import Aspect, cluster_style, darkened
from homothety.sequences import check_sequences
from homothety.viz._figures import (
    Cluster,
    Look,
    axes_or_new,
    choose_dims,
    font_points,
    group_items,
    label_dims,
    legend_beside,
    legend_patch,
    named,
    names_or_numbers,
    panels_or_new,
    size_in_points,
    sorted_items,
    state_looks,
)
from homothety.viz.covariances import add_polygons, draw_ellipses, outlines_of, sphere_to_body
from homothety.viz.matrices import NUMBER_PAD, draw_sorted, draw_strip, edges_of, write_values
from homothety.viz.segments import label_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from homothety.summaries.transforms import StateTransform


_CELL = 0.42  # inches, of a state in a matrix
_MARGINS = (2.0, 1.1)  # inches beside and above the cells, for names, numbers and a colour bar
_COLORBAR_HEIGHT = 3.4  # inches, of a figure whose colour bar has room for its label
_LEAST_PROBABILITY = 1e-3  # transitions below it have the colour of this one
_LEAST_WRITTEN = 0.005  # probabilities below it would be written as zero

_OPACITY = 0.4  # of ellipses at most: they overlap, and two colours should not look like a third
_STEP_COLOR = "#C8C8C8"
_ABSENT_COLOR = "#F2F2F2"
_CELL_SHARE = 0.88  # of the width and height of a cell that is filled


def plot_state_ellipses(
    means: ArrayLike,
    covariances: ArrayLike,
    state_actions: ArrayLike | None = None,
    *,
    dims: Sequence[int] = (0, 1),
    sequences: Any = None,
    channels: Sequence[str] | None = None,
    aspect: Aspect = "equal",
    ax: Axes | None = None,
) -> Axes:
    """Draw states as ellipses of one standard deviation in two dimensions, in the colours of their actions.

    Parameters
    ----------
    means : array-like of shape (n_states, n_dims)
    covariances : array-like of shape (n_states, n_dims, n_dims)
        Symmetric positive definite.
    state_actions : array-like of int, shape (n_states,), optional
        Action of each state; -1 for none.
    dims : sequence of two int, default=(0, 1)
        Which dimensions to draw.
    sequences : list of array-like of shape (n_steps_i, n_dims), or a single one, optional
        Recordings in the units of the means, whose steps are drawn as faint points behind.
    channels : sequence of str, optional
        What all the dimensions are called; their numbers by default.
    aspect : {"equal", "auto"}, default="equal"
        Whether both dimensions are drawn to one scale, so that turned copies look like it, or each fills the picture.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes
        The number of each state stands at its centre, or on its outline where another number is in the way.

    Examples
    --------
    >>> ax = plot_state_ellipses([[0, 0], [8, 0]], [np.diag([1.0, 4.0]), np.diag([36.0, 9.0])], [0, 0])
    >>> [text.get_text() for text in ax.texts]
    ['0', '1']
    """
    points, matrices = check_points(means, "means"), check_covariances(covariances, "covariances")
    n_states, n_dims = points.shape
    if matrices.shape != (n_states, n_dims, n_dims):
        raise InputError(
            f"covariances has shape {matrices.shape}, needed {(n_states, n_dims, n_dims)}: as many states and "
            "dimensions as means."
        )
    columns, names = choose_dims(dims, n_dims, (2,), channels)
    centres, factors = points[:, columns], sphere_to_body(matrices[:, columns][:, :, columns], 2, "true")
    actions = group_items(state_actions, len(factors), "state_actions")
    ax = axes_or_new(ax, n_entries=len(named(actions)))
    if sequences is not None:
        checked = check_sequences(sequences, min_steps=1, allow_constant=True, allow_missing=True)
        if checked.n_dims != n_dims:
            raise InputError(f"sequences have {checked.n_dims} dimensions and means {n_dims}, needed the same.")
        # One picture in files of lines, in which so many points would be too much.
        ax.plot(*checked.steps[:, columns].T, ".", color=_STEP_COLOR, markersize=1.5, zorder=0, rasterized=True)
    areas = np.abs(np.linalg.det(factors))
    by_area = sorted(actions, key=lambda action: -areas[action.members].max())  # large ellipses hide no small ones
    draw_ellipses(ax, factors, centres, by_area, _OPACITY)
    ax.autoscale_view()
    label_dims(ax, names, aspect, adjustable="box")
    legend_beside(ax, [legend_patch(action) for action in named(actions)], "action")
    _number_states(ax, centres, outlines_of(factors) + centres[:, np.newaxis], actions)
    return ax


def plot_features(
    active: ArrayLike,
    state_actions: ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw which recording has which state.

    Parameters
    ----------
    active : array-like of bool, shape (n_recordings, n_states)
        Such as `active_` of a fitted estimator.
    state_actions : array-like of int, shape (n_states,), optional
        Action of each state; -1 for none. States are sorted by it, and the actions are shown above. Without it they
        are drawn as they come.
    names : sequence of str, optional
        What the recordings are called; their numbers by default.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes
        A row for each recording, the first on top; a cell is filled where the recording has the state, with the shade
        that `plot_actions` gives it.

    Examples
    --------
    >>> ax = plot_features([[True, False, True], [False, True, True]], [0, 1, 0])
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['0', '2', '1']
    """
    values = real_array(active, "active")
    if values.ndim != 2 or values.size == 0 or not np.isin(values, (0, 1)).all():
        raise InputError(f"active has shape {values.shape}, needed (n_recordings, n_states) with values true or false.")
    owned = values.astype(bool)
    n_recordings, n_states = owned.shape
    titles = names_or_numbers(names, n_recordings, "series")
    actions = group_items(state_actions, n_states, "state_actions")
    looks = state_looks({state: str(state) for state in range(n_states)}, np.arange(n_states), state_actions)
    order = sorted_items(actions)
    ax = axes_or_new(ax, _cells_figsize(n_recordings, n_states))
    ax.set(xlim=(-0.5, n_states - 0.5), ylim=(n_recordings - 0.5, -0.5), ylabel="recording")
    _fill_cells(ax, owned[:, order], [looks[state] for state in order])
    label_rows(ax, np.arange(n_recordings), titles)
    ax.spines["bottom"].set_visible(False)
    _label_states(ax, actions)
    return ax


def plot_transitions(
    transition_probs: ArrayLike,
    state_actions: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    cmap: str = "cividis",
) -> Axes:
    """Draw the probability of every transition from state to state, states sorted by action.

    Parameters
    ----------
    transition_probs : array-like of shape (n_states, n_states)
        From the state of the row to that of the column; rows sum to one.
    state_actions : array-like of int, shape (n_states,), optional
        Action of each state; -1 for none. Without it states are drawn as they come.
    ax : Axes, optional
        Where to draw; by default on a new figure.
    cmap : str, default="cividis"
        Colour map, best a perceptually uniform one.

    Returns
    -------
    ax : Axes
        Colours are logarithmic, because staying is much more probable than leaving. Probabilities are written into
        the cells where they fit.

    Examples
    --------
    >>> ax = plot_transitions([[0.9, 0.1], [0.2, 0.8]], [0, 1])
    >>> ax.get_ylabel()
    'from state'
    """
    probs = real_array(transition_probs, "transition_probs")
    if probs.ndim != 2 or probs.shape[0] != probs.shape[1] or probs.size == 0:
        raise InputError(f"transition_probs has shape {probs.shape}, needed (n_states, n_states).")
    wrong = ~(np.isclose(probs.sum(axis=1), 1.0, atol=1e-6) & (probs >= 0).all(axis=1))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"transition_probs[{row}] sums to {probs[row].sum():.3g} with a least value of {probs[row].min():.3g}, "
            "needed probabilities that sum to one. Divide counts by the sums of their rows."
        )
    norm, labels = LogNorm(_LEAST_PROBABILITY, 1.0, clip=True), ("to state", "from state")
    return _plot_state_matrix(ax, probs, state_actions, "probability", labels, norm=norm, cmap=cmap)


def plot_coaction(
    coaction: ArrayLike,
    state_actions: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    cmap: str = "viridis",
) -> Axes:
    """Draw the share of kept sweeps in which two states are one action, states sorted by action.

    Parameters
    ----------
    coaction : array-like of shape (n_states, n_states)
        Such as `coaction_` of a fitted estimator.
    state_actions : array-like of int, shape (n_states,), optional
        Action of each state; -1 for none. Without it states are drawn as they come.
    ax : Axes, optional
        Where to draw; by default on a new figure.
    cmap : str, default="viridis"
        Colour map, best a perceptually uniform one.

    Returns
    -------
    ax : Axes
        As `plot_coclustering`, for states: sure actions show as blocks of ones. Shares are written into the cells
        where they fit.

    Examples
    --------
    >>> ax = plot_coaction([[1.0, 0.1, 0.9], [0.1, 1.0, 0.2], [0.9, 0.2, 1.0]], [0, 1, 0])
    >>> ax.images[0].get_array()[0]
    masked_array(data=[1. , 0.9, 0.1], mask=False, fill_value=1e+20)
    """
    probs, quantity = check_similarity(coaction, "coaction"), "agreement on one action"
    return _plot_state_matrix(ax, probs, state_actions, quantity, ("state", "state"), vmin=0.0, vmax=1.0, cmap=cmap)


def _plot_state_matrix(
    ax: Axes | None,
    matrix: FloatArray,
    state_actions: ArrayLike | None,
    quantity: str,
    labels: tuple[str, str],
    **looks: Any,
) -> Axes:
    """Draw a matrix of states against states, sorted by action, with their numbers; `looks` are options of `imshow`."""
    actions = group_items(state_actions, len(matrix), "state_actions")
    ax = axes_or_new(ax, _cells_figsize(*matrix.shape, least=_COLORBAR_HEIGHT))
    image = draw_sorted(ax, matrix, actions, quantity, **looks)
    ax.tick_params(axis="y", length=0)
    if named(actions):
        draw_strip(ax, actions)
        ax.tick_params(axis="y", pad=NUMBER_PAD)
    order = sorted_items(actions)
    label_rows(ax, np.arange(len(order)), [str(state) for state in order])
    _label_states(ax, actions)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    ax.spines[:].set_visible(False)
    write_values(image, ".2f", least=_LEAST_WRITTEN)
    return ax


def _number_states(ax: Axes, centres: FloatArray, outlines: FloatArray, actions: list[Cluster]) -> None:
    """Write the number of each state where it covers no other."""
    size_in_points(ax)
    colors = {state: darkened(action.style.color) for action in actions for state in action.members}
    candidates = np.concatenate([centres[:, np.newaxis], outlines[:, :: ceil(outlines.shape[1] / 8)]], axis=1)
    in_points = ax.transData.transform(candidates.reshape(-1, 2)).reshape(candidates.shape) * 72 / ax.figure.dpi
    places = _first_free(in_points, gap=1.4 * font_points("font.size"))
    halo = [withStroke(linewidth=2.5, foreground="white")]
    for state, place in enumerate(places):
        x, y = candidates[state, place]
        ax.text(x, y, str(state), color=colors[state], ha="center", va="center", weight="bold", path_effects=halo)


def _first_free(candidates: FloatArray, gap: float) -> list[int]:
    """Return which of its candidate places each item takes: the first at a distance of `gap` from those before it.

    Where there is none, the item takes the farthest. `candidates` has shape (n_items, n_candidates, 2).
    """
    chosen: list[int] = []
    taken = np.empty((0, 2))
    for places in candidates:
        distances = np.linalg.norm(places[:, np.newaxis] - taken, axis=-1).min(axis=1, initial=gap)
        chosen.append(int(distances.argmax()))
        taken = np.vstack([taken, places[chosen[-1]]])
    return chosen


def _cells_figsize(n_rows: int, n_columns: int, *, least: float = 2.4) -> tuple[float, float]:
    """Return a size in inches that gives every cell room, within limits, and is at least `least` high."""
    width, height = _CELL * n_columns + _MARGINS[0], _CELL * n_rows + _MARGINS[1]
    return float(np.clip(width, 4.2, 9.0)), float(np.clip(height, least, 8.2))


def _fill_cells(ax: Axes, owned: BoolArray, looks: list[Look]) -> None:
    """Draw a matrix of filled and empty cells, first all that are empty, then one collection for each column."""
    square = (np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) - 0.5) * _CELL_SHARE
    cells = np.stack(np.meshgrid(*map(np.arange, owned.shape[::-1])), axis=-1)[:, :, np.newaxis] + square
    add_polygons(ax, cells[~owned], facecolors=_ABSENT_COLOR, linewidths=0)
    for column, (_, style) in enumerate(looks):
        add_polygons(ax, cells[owned[:, column], column], style, facecolors=style.color, linewidths=0)


def _label_states(ax: Axes, actions: list[Cluster]) -> None:
    """Write the numbers of the states below a matrix, those that have room, and their actions above it."""
    order = sorted_items(actions)
    points = size_in_points(ax)[0] / len(order)
    every = ceil(0.8 * font_points("xtick.labelsize") * len(str(len(order))) / points)
    shown = range(0, len(order), every)
    ax.set_xticks(list(shown), [str(order[place]) for place in shown])
    ax.tick_params(axis="x", length=0)
    ax.set_xlabel("state")
    if named(actions):
        draw_strip(ax, actions, "top")
        edges = edges_of(actions)
        above = ax.secondary_xaxis("top")
        above.set_xticks((edges[:-1] + edges[1:]) / 2, [action.name for action in actions])
        above.tick_params(length=0, pad=NUMBER_PAD)
        above.spines["top"].set_visible(False)
        above.set_xlabel("action")


# How the states of an action differ


_WIDTH, _MARGIN = 9.0, 1.1  # inches
_ROW_HEIGHT, _LINE_HEIGHT, _MAX_HEIGHT = 0.32, 0.09, 14.0  # of a state, of one of its dimensions, of the figure
_ROW_SHARE = 0.7  # of the height of a row, taken by the lines of dimensions
_IDENTITY_COLOR, _RULE_COLOR = "#999999", "#CCCCCC"
_SHORT_SPAN = 2.5  # ratio of scales up to which round numbers in even steps are ticks
_LONG_SPAN = 50  # ratio of scales beyond which only powers of ten have room
_PADDING = 1.15  # of the widest interval, on both sides

NO_DIRECTION, _SOME_DIRECTIONS = "direction unknown", "only some directions known"


def plot_transforms(transforms: Sequence[StateTransform], *, axes: Sequence[Axes] | None = None) -> list[Axes]:
    """Draw scale, rotation and translation of every state, in one row each, grouped by action.

    Parameters
    ----------
    transforms : sequence of StateTransform
        Such as `transforms_` of a fitted `ICSCHMM`.
    axes : sequence of three Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    axes : list of Axes
        Scale, angle of the rotation, and translation, which has a line for every dimension, the first on top. Lines are
        95 % intervals; that of an angle shows how far the rotation may be off. A dotted line across the Axes is an
        infinite interval; such a scale has no mark. A grey tick is the state that the others of the action are compared
        with. A hollow mark is the angle of a rotation of which only some axes are known.

    Examples
    --------
    >>> from homothety import ICSCHMM
    >>> from homothety.datasets import make_toy_2d
    >>> toy = make_toy_2d(random_state=0, n_steps=200)
    >>> model = ICSCHMM(n_chains=1, n_sweeps=40, random_state=0).fit(toy.sequences)
    >>> [ax.get_xlabel() for ax in plot_transforms(model.transforms_)]
    ['scale', 'rotation (degrees)', 'translation']
    """
    if not transforms:
        raise InputError("transforms is empty, needed the transforms_ of a fitted model.")
    # Action by action, each with its reference first.
    rows = sorted(transforms, key=lambda row: (row.action, not row.is_reference, row.state))
    row_height = max(_ROW_HEIGHT, _LINE_HEIGHT * len(rows[0].mean))
    figsize = _WIDTH, min(_MARGIN + row_height * len(rows), _MAX_HEIGHT)
    axes = panels_or_new(axes, ["scale", "rotation", "translation"], figsize, sharey=True)
    _draw_scales(axes[0], rows)
    _draw_angles(axes[1], rows)
    _draw_translations(axes[2], rows)
    names = [f"action {row.action}, state {row.state}" if row.is_reference else f"state {row.state}" for row in rows]
    axes[0].set_yticks(range(len(rows)), names)
    return axes


def _draw_scales(ax: Axes, rows: list[StateTransform]) -> None:
    intervals = np.array([(row.scale, row.scale_low, row.scale_high) for row in rows])
    # Of too few observations for a covariance, the product of axis lengths is next to nothing, and says nothing.
    intervals[np.isinf(intervals[:, 2]), 0] = np.nan
    span = np.append(_finite(intervals), 1.0)
    ratio = span.max() / span.min()
    ax.set(xscale="log", xlabel="scale", xlim=(span.min() / _PADDING, span.max() * _PADDING))
    few_powers = LogLocator(subs=(1, 2, 5) if ratio <= _LONG_SPAN else (1,), numticks=6)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=4) if ratio <= _SHORT_SPAN else few_powers)
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:.3g}"))
    ax.xaxis.set_minor_locator(NullLocator())
    _draw_rows(ax, rows, intervals[..., np.newaxis], identity=1.0)


def _draw_angles(ax: Axes, rows: list[StateTransform]) -> None:
    # The angle of a rotation is off by no more than the rotation is.
    intervals = np.array(
        [(row.angle, max(row.angle - row.rotation_within, 0.0), row.angle + row.rotation_within) for row in rows]
    )
    ax.set(xlabel="rotation (degrees)", xlim=(-3, _PADDING * _finite(intervals).max(initial=90.0)))
    ax.xaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 1.5, 3, 4.5, 9, 10]))
    others = [(place, row) for place, row in enumerate(rows) if not row.is_reference]
    for place in (place for place, row in others if row.orientation == "none"):
        text = ax.text(0.5, place, NO_DIRECTION, transform=ax.get_yaxis_transform(), ha="center", va="center")
        text.set(color=_IDENTITY_COLOR, style="italic", fontsize="small")
    if any(row.orientation == "partial" for _, row in others):
        ax.set_title(f"hollow: {_SOME_DIRECTIONS}", fontsize="small")
    _draw_rows(ax, rows, intervals[..., np.newaxis], orientation=True)


def _draw_translations(ax: Axes, rows: list[StateTransform]) -> None:
    intervals = np.array([(row.translation, row.translation_low, row.translation_high) for row in rows])
    reach = _PADDING * np.abs(_finite(intervals)).max(initial=0.0) or 1.0
    ax.set(xlabel="translation", xlim=(-reach, reach))
    ax.xaxis.set_major_locator(MaxNLocator(nbins=4))
    _draw_rows(ax, rows, intervals, size=3.0)


def _finite(intervals: FloatArray) -> FloatArray:
    """Return the values an axis has to include: finite ones but 0, which is shown anyway or, on a log axis, never."""
    return intervals[np.isfinite(intervals) & (intervals != 0)]


def _draw_rows(
    ax: Axes,
    rows: list[StateTransform],
    intervals: FloatArray,
    *,
    identity: float = 0.0,
    size: float = 5.0,
    orientation: bool = False,
) -> None:
    """Draw the value and the interval of every state, a line for each dimension, and the identity of references.

    Between the rows are lines, stronger ones between actions. The first row is on top.

    Parameters
    ----------
    intervals : ndarray of shape (n_states, 3, n_dims)
        Value, lower and upper end. A line goes from edge to edge where it has no ends.
    identity : float
        Where a state is that is compared with itself.
    size : float
        Of marks, in points.
    orientation : bool
        Whether a state without directions is left out, and one that has only some gets a hollow mark.
    """
    n_dims = intervals.shape[2]
    shifts = _ROW_SHARE * ((np.arange(n_dims) + 0.5) / n_dims - 0.5)
    for place, row in enumerate(rows):
        if row.is_reference:
            ax.plot([identity, identity], [place - 0.3, place + 0.3], color=_IDENTITY_COLOR, linewidth=2.0)
            continue
        if orientation and row.orientation == "none":
            continue
        style = cluster_style(row.action)
        edge = darkened(style.color)
        fill = "white" if orientation and row.orientation == "partial" else style.color
        for height, (value, low, high) in zip(place + shifts, intervals[place].T, strict=True):
            if np.isinf(high):
                ax.plot(ax.get_xlim(), [height, height], color=edge, linewidth=1.0, linestyle="dotted")
            else:
                ax.plot([low, high], [height, height], color=edge, linewidth=1.5, solid_capstyle="butt")
            ax.plot([value], [height], style.marker, markersize=size, markerfacecolor=fill, markeredgecolor=edge)
    for place, (before, after) in enumerate(pairwise(rows), start=1):
        if before.action != after.action:
            ax.axhline(place - 0.5, color="black", linewidth=0.8)
        else:
            ax.axhline(place - 0.5, color=_RULE_COLOR, linewidth=0.5, zorder=0)
    ax.axvline(identity, color=_RULE_COLOR, linewidth=0.8, zorder=0)
    ax.set_ylim(len(rows) - 0.5, -0.5)
