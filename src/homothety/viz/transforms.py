"""Transformations of states: how the states of an action are resized, turned and moved from the one with most steps."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

from homothety.errors import InputError
from homothety.palette import cluster_style, darkened
from homothety.viz.figures import panels_or_new

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from homothety.arrays import FloatArray
    from homothety.summaries.transforms import StateTransform

WIDTH, MARGIN = 9.0, 1.1  # inches
ROW_HEIGHT, LINE_HEIGHT, MAX_HEIGHT = 0.32, 0.09, 14.0  # of a state, of one of its dimensions, of the figure
ROW_SHARE = 0.7  # of the height of a row, taken by the lines of dimensions
IDENTITY_COLOR, RULE_COLOR = "#999999", "#CCCCCC"
SHORT_SPAN = 2.5  # ratio of scales up to which round numbers in even steps are ticks
LONG_SPAN = 50  # ratio of scales beyond which only powers of ten have room
PADDING = 1.15  # of the widest interval, on both sides

NO_DIRECTION, SOME_DIRECTIONS = "direction unknown", "only some directions known"


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
    row_height = max(ROW_HEIGHT, LINE_HEIGHT * len(rows[0].mean))
    figsize = WIDTH, min(MARGIN + row_height * len(rows), MAX_HEIGHT)
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
    ax.set(xscale="log", xlabel="scale", xlim=(span.min() / PADDING, span.max() * PADDING))
    few_powers = LogLocator(subs=(1, 2, 5) if ratio <= LONG_SPAN else (1,), numticks=6)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=4) if ratio <= SHORT_SPAN else few_powers)
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:.3g}"))
    ax.xaxis.set_minor_locator(NullLocator())
    _draw_rows(ax, rows, intervals[..., np.newaxis], identity=1.0)


def _draw_angles(ax: Axes, rows: list[StateTransform]) -> None:
    # The angle of a rotation is off by no more than the rotation is.
    intervals = np.array(
        [(row.angle, max(row.angle - row.rotation_within, 0.0), row.angle + row.rotation_within) for row in rows]
    )
    ax.set(xlabel="rotation (degrees)", xlim=(-3, PADDING * _finite(intervals).max(initial=90.0)))
    ax.xaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 1.5, 3, 4.5, 9, 10]))
    others = [(place, row) for place, row in enumerate(rows) if not row.is_reference]
    for place in (place for place, row in others if row.orientation == "none"):
        text = ax.text(0.5, place, NO_DIRECTION, transform=ax.get_yaxis_transform(), ha="center", va="center")
        text.set(color=IDENTITY_COLOR, style="italic", fontsize="small")
    if any(row.orientation == "partial" for _, row in others):
        ax.set_title(f"hollow: {SOME_DIRECTIONS}", fontsize="small")
    _draw_rows(ax, rows, intervals[..., np.newaxis], orientation=True)


def _draw_translations(ax: Axes, rows: list[StateTransform]) -> None:
    intervals = np.array([(row.translation, row.translation_low, row.translation_high) for row in rows])
    reach = PADDING * np.abs(_finite(intervals)).max(initial=0.0) or 1.0
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
    shifts = ROW_SHARE * ((np.arange(n_dims) + 0.5) / n_dims - 0.5)
    for place, row in enumerate(rows):
        if row.is_reference:
            ax.plot([identity, identity], [place - 0.3, place + 0.3], color=IDENTITY_COLOR, linewidth=2.0)
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
            ax.axhline(place - 0.5, color=RULE_COLOR, linewidth=0.5, zorder=0)
    ax.axvline(identity, color=RULE_COLOR, linewidth=0.8, zorder=0)
    ax.set_ylim(len(rows) - 0.5, -0.5)
