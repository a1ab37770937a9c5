"""Transformations of states: how the states of an action are resized, turned and moved from the one with most steps."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

from homothety.errors import InputError
from homothety.palette import cluster_style, darkened
from homothety.viz._figure import new_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.ticker import Locator

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
        Scale, angle of the rotation, and translation: a line for every dimension, from the first at the top of the row
        to the last. Lines are 95 % intervals; that of an angle reaches as far as the rotation is unsure. An interval
        that is infinite goes through all of the Axes, dotted, and such a scale has no mark. The state that the others
        of an action are compared with is a grey tick. A hollow mark is the angle of a rotation of which only some axes
        are known.

    Examples
    --------
    >>> from homothety import ICSCHMM
    >>> from homothety.datasets import make_toy_2d
    >>> toy = make_toy_2d(random_state=0, n_steps=200)
    >>> model = ICSCHMM(n_chains=1, n_sweeps=40, random_state=0).fit(toy.sequences)
    >>> [ax.get_xlabel() for ax in plot_transforms(model.transforms_)]
    ['scale', 'rotation (degrees)', 'translation']
    """
    rows = _in_order(transforms)
    if axes is None:
        figure = new_figure((WIDTH, _height(rows)))
        axes = list(figure.subplots(1, 3, sharey=True))
    elif len(axes) != 3:
        raise InputError(f"axes has {len(axes)} Axes, needed 3: scale, rotation and translation.")
    _draw_scales(axes[0], rows)
    _draw_angles(axes[1], rows)
    _draw_translations(axes[2], rows)
    for ax in axes:
        _separate_actions(ax, rows)
    _name_rows(axes[0], rows)
    if any(row.orientation == "partial" and not row.is_reference for row in rows):
        axes[1].set_title(f"hollow: {SOME_DIRECTIONS}", fontsize="small")
    return list(axes)


def _in_order(transforms: Sequence[StateTransform]) -> list[StateTransform]:
    """Return the rows action by action, each with its reference first."""
    if not transforms:
        raise InputError("transforms is empty, needed the transforms_ of a fitted model.")
    return sorted(transforms, key=lambda row: (row.action, not row.is_reference, row.state))


def _height(rows: list[StateTransform]) -> float:
    """Return the height of a figure in inches: rows are the higher, the more dimensions they have to show."""
    row_height = max(ROW_HEIGHT, LINE_HEIGHT * len(rows[0].mean))
    return min(MARGIN + row_height * len(rows), MAX_HEIGHT)


def _draw_scales(ax: Axes, rows: list[StateTransform]) -> None:
    intervals = np.array([(row.scale, row.scale_low, row.scale_high) for row in rows])
    # Of too few observations for a covariance, the product of axis lengths is next to nothing, and says nothing.
    intervals[np.isinf(intervals[:, 2]), 0] = np.nan
    span = np.append(_finite(intervals), 1.0)
    ax.set(xscale="log", xlabel="scale", xlim=(span.min() / PADDING, span.max() * PADDING))
    ax.xaxis.set_major_locator(_scale_ticks(span.max() / span.min()))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:.3g}"))
    ax.xaxis.set_minor_locator(NullLocator())
    for place, row in enumerate(rows):
        if row.is_reference:
            _draw_identity(ax, place, 1.0)
        else:
            _draw_interval(ax, place, intervals[place], row)


def _scale_ticks(ratio: float) -> Locator:
    """Return where an axis of scales has numbers, given the ratio of its ends."""
    if ratio <= SHORT_SPAN:
        return MaxNLocator(nbins=4)
    return LogLocator(subs=(1, 2, 5) if ratio <= LONG_SPAN else (1,), numticks=6)


def _draw_angles(ax: Axes, rows: list[StateTransform]) -> None:
    intervals = np.array([_angles_of(row) for row in rows])
    ax.set(xlabel="rotation (degrees)", xlim=(-3, PADDING * _finite(intervals).max(initial=90.0)))
    ax.xaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 1.5, 3, 4.5, 9, 10]))
    for place, row in enumerate(rows):
        if row.is_reference:
            _draw_identity(ax, place, 0.0)
        elif row.orientation == "none":
            text = ax.text(0.5, place, NO_DIRECTION, transform=ax.get_yaxis_transform(), ha="center", va="center")
            text.set(color=IDENTITY_COLOR, style="italic", fontsize="small")
        else:
            _draw_interval(ax, place, intervals[place], row, hollow=row.orientation == "partial")


def _angles_of(row: StateTransform) -> tuple[float, float, float]:
    """Return the angle and how far it may be off: the angle of a rotation differs by no more than the rotation does."""
    return row.angle, max(row.angle - row.rotation_within, 0.0), row.angle + row.rotation_within


def _draw_translations(ax: Axes, rows: list[StateTransform]) -> None:
    intervals = np.array([(row.translation, row.translation_low, row.translation_high) for row in rows])
    reach = PADDING * np.abs(_finite(intervals)).max(initial=0.0) or 1.0
    ax.set(xlabel="translation", xlim=(-reach, reach))
    ax.xaxis.set_major_locator(MaxNLocator(nbins=4))
    n_dims = intervals.shape[2]
    for place, row in enumerate(rows):
        if row.is_reference:
            _draw_identity(ax, place, 0.0)
            continue
        for dim in range(n_dims):
            shift = ROW_SHARE * ((dim + 0.5) / n_dims - 0.5)
            _draw_interval(ax, place + shift, intervals[place, :, dim], row, size=3.0)


def _finite(intervals: FloatArray) -> FloatArray:
    """Return all values an axis has to show; a zero is there anyway, or infinitely far."""
    return intervals[np.isfinite(intervals) & (intervals != 0)]


def _draw_interval(
    ax: Axes, place: float, interval: FloatArray, row: StateTransform, *, size: float = 5.0, hollow: bool = False
) -> None:
    """Draw a value and its interval, which goes from edge to edge where it has no ends."""
    style = cluster_style(row.action)
    value, low, high = interval
    edge = darkened(style.color)
    if np.isinf(high):
        ax.plot(ax.get_xlim(), [place, place], color=edge, linewidth=1.0, linestyle="dotted")
    else:
        ax.plot([low, high], [place, place], color=edge, linewidth=1.5, solid_capstyle="butt")
    ax.plot(
        [value],
        [place],
        marker=style.marker,
        markersize=size,
        markerfacecolor="white" if hollow else style.color,
        markeredgecolor=edge,
        linestyle="none",
    )


def _draw_identity(ax: Axes, place: int, value: float) -> None:
    """Mark where a state is that is compared with itself."""
    ax.plot([value, value], [place - 0.3, place + 0.3], color=IDENTITY_COLOR, linewidth=2.0)


def _separate_actions(ax: Axes, rows: list[StateTransform]) -> None:
    """Draw a line between actions, the identity of all rows, and put the first row on top."""
    for place, (before, after) in enumerate(pairwise(rows)):
        if before.action != after.action:
            ax.axhline(place + 0.5, color="black", linewidth=0.8)
        else:
            ax.axhline(place + 0.5, color=RULE_COLOR, linewidth=0.5, zorder=0)
    ax.axvline(1.0 if ax.get_xscale() == "log" else 0.0, color=RULE_COLOR, linewidth=0.8, zorder=0)
    ax.set_ylim(len(rows) - 0.5, -0.5)


def _name_rows(ax: Axes, rows: list[StateTransform]) -> None:
    names = [f"action {row.action}, state {row.state}" if row.is_reference else f"state {row.state}" for row in rows]
    ax.set_yticks(range(len(rows)), names)
