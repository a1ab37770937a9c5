"""Shared by all figures: Axes and legends, placing of text, and styles of labels."""

from __future__ import annotations

import builtins
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import count, product
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.proj3d import proj_transform
from scipy.optimize import linear_sum_assignment

from homothety.errors import InputError
from homothety.files import written_aside
from homothety.palette import ClusterStyle, cluster_style, darkened, shade_style, to_rgb

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.palette import Aspect


FontSetting = Literal["font.size", "legend.fontsize", "xtick.labelsize", "ytick.labelsize"]

_FIGSIZE = (6.4, 4.8)  # inches
RESOLUTION = 150  # dots per inch of a file
_MAX_LEGEND_COLUMNS = 4
_LEGEND_COLUMN = 0.6  # inches that a further column takes
_BOX_REACH = 0.36  # of the corners of 3-D axes from the middle, as a share of width or height
_SHORT_AXIS = 0.6  # of the length of the longest one, below which an axis has room for few numbers
_LINE_SPACING = 1.6  # height of a legend entry in font sizes


def axes_or_new(
    ax: Axes | None, figsize: tuple[float, float] = _FIGSIZE, *, n_entries: int = 0, n_dims: int = 2
) -> Axes:
    """Return the given Axes if they are made for that many dimensions, or new ones with room for `n_entries` beside."""
    needed = "3d" if n_dims == 3 else "rectilinear"
    if ax is None:
        return _new_figure(with_legend(figsize, n_entries)).add_subplot(projection=needed)
    if (ax.name == "3d") != (needed == "3d"):
        raise InputError(f"ax is {ax.name} but {n_dims} columns are drawn: make it with projection={needed!r}.")
    return ax


def panels_or_new(
    axes: Sequence[Axes] | None,
    panels: Collection[str],
    figsize: tuple[float, float],
    *,
    stacked: bool = False,
    **options: Any,
) -> list[Axes]:
    """Return the given Axes if they are one for each of the named pictures, or new ones.

    New ones stand beside each other, or one above the other if they are `stacked`; `options` are those of `subplots`.
    """
    if axes is None:
        shape = (len(panels), 1) if stacked else (1, len(panels))
        return list(_new_figure(figsize).subplots(*shape, squeeze=False, **options).flat)
    if len(axes) != len(panels):
        raise InputError(f"axes has {len(axes)} Axes, needed {len(panels)}: {', '.join(panels)}.")
    return list(axes)


def label_dims(ax: Any, names: list[str], aspect: Aspect, *, adjustable: Literal["box", "datalim"] = "datalim") -> None:
    """Name the dimensions along the axes, which have the same unit if the aspect is "equal".

    To that end either the box of two-dimensional Axes changes or what they show.
    """
    if aspect not in ("equal", "auto"):
        raise InputError(f"aspect is {aspect!r}, needed 'equal' or 'auto'.")
    ax.set(**{f"{axis}label": name for axis, name in zip("xyz", names, strict=False)})
    if len(names) == 3:
        _fit_box(ax, equal=aspect == "equal")
    else:
        ax.set_aspect(aspect, adjustable=adjustable)


def _fit_box(ax: Any, *, equal: bool) -> None:
    """Make 3-D Axes as large as their labels allow, with the same unit along all of them or not."""
    extents = np.ptp([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()], axis=1)
    shares = extents / extents.max() if equal else np.ones(3)
    ax.set_box_aspect(shares)
    # Layouts ignore the labels of 3-D axes, so there has to be room for them inside of the Axes.
    x, y, _ = proj_transform(*zip(*product(ax.get_xlim(), ax.get_ylim(), ax.get_zlim()), strict=True), ax.get_proj())
    corners = (ax.transData - ax.transAxes).transform(np.stack([x, y], axis=1))
    ax.set_box_aspect(shares, zoom=_BOX_REACH / float(np.abs(corners - 0.5).max()))
    # At the corners the numbers of two axes would meet.
    for axis, share in zip((ax.xaxis, ax.yaxis, ax.zaxis), shares, strict=True):
        axis.set_major_locator(MaxNLocator(nbins=5 if share > _SHORT_AXIS else 3, prune="both"))
        axis.labelpad = 13
    # The projection is otherwise brought up to date when the Axes are drawn, but a layout asks for it before.
    ax.M = ax.get_proj()


def with_legend(figsize: tuple[float, float], n_entries: int) -> tuple[float, float]:
    """Return the size of a figure, wider the more columns its legend needs."""
    width, height = figsize
    n_columns = min(ceil(n_entries / _legend_rows(0.8 * 72 * height, title="")), _MAX_LEGEND_COLUMNS)
    return width + _LEGEND_COLUMN * max(n_columns - 1, 0), height


def _new_figure(figsize: tuple[float, float]) -> Figure:
    """Return a figure that makes room for labels and legends by itself.

    In a notebook, or once pyplot is loaded, somebody expects to see the figure, so it is one of pyplot's. Otherwise,
    on a server or from the command line, it belongs to nobody else: no window, no global state, no thread to mind.
    """
    if hasattr(builtins, "__IPYTHON__") or "matplotlib.pyplot" in sys.modules:
        import matplotlib.pyplot as plt

        return plt.figure(figsize=figsize, layout="compressed")
    return Figure(figsize=figsize, layout="compressed")


def write_figure(path: Path, figure: Figure) -> None:
    """Write a figure as PNG, and close it."""
    figure.set_dpi(RESOLUTION)
    canvas: Any = FigureCanvasAgg(figure)
    with written_aside(path) as aside:
        canvas.print_png(aside)  # savefig would draw twice to lay out once
    if "matplotlib.pyplot" in sys.modules:  # only then does anything else hold on to it
        sys.modules["matplotlib.pyplot"].close(figure)


def size_in_points(ax: Axes, *, settle: bool = True) -> tuple[float, float]:
    """Return width and height of the Axes in points, the unit of font sizes.

    For that the figure is laid out, which takes as long as drawing it. Do without (`settle=False`) where nothing that
    takes room has been added since the last layout.
    """
    figure = ax.figure.canvas.figure  # not ax.figure, which is part of the figure if there are subfigures
    engine = figure.get_layout_engine()
    if settle and engine is not None:
        engine.execute(figure)
    ax.apply_aspect()
    extent = ax.get_window_extent()
    return extent.width * 72 / ax.figure.dpi, extent.height * 72 / ax.figure.dpi


def font_points(setting: FontSetting) -> float:
    """Return the font size in points of one of matplotlib's settings."""
    return float(FontProperties(size=mpl.rcParams[setting]).get_size_in_points())


def legend_beside(ax: Axes, handles: Collection[Artist], title: str | None = None, *, settle: bool = True) -> None:
    """Put a legend to the right of the Axes, off the data, in as many columns as it takes.

    What does not fit into the last column is counted and not listed. See `size_in_points` for `settle`.
    """
    if not handles:
        return
    n_rows = _legend_rows(size_in_points(ax, settle=settle)[1], title)
    capacity = _MAX_LEGEND_COLUMNS * n_rows
    if len(handles) > capacity:
        rest = Line2D([], [], linestyle="none", label=f"{len(handles) - capacity + 1} more")
        handles = [*list(handles)[: capacity - 1], rest]
    ax.legend(
        handles=list(handles),
        title=title,
        ncols=ceil(len(handles) / n_rows),
        loc="upper left",
        bbox_to_anchor=(1.02, 1.0),
        borderaxespad=0.0,
        columnspacing=1.0,
        handletextpad=0.5,
        frameon=False,
    )


def _legend_rows(height: float, title: str | None) -> int:
    """Return how many entries fit below the title into a height given in points."""
    return max(int(height / (_LINE_SPACING * font_points("legend.fontsize"))) - (title is not None), 1)


def colorbar_beside(ax: Axes, image: AxesImage, label: str) -> None:
    """Put a colour bar to the right of the Axes, exactly as high as they are whatever their aspect."""
    width = size_in_points(ax)[0]
    bar = ax.inset_axes((1 + 10 / width, 0.0, 14 / width, 1.0))
    # Powers of ten that are probabilities read better as 0.01.
    plain = "%g" if isinstance(image.norm, LogNorm) else None
    ax.figure.colorbar(image, cax=bar, label=label, format=plain)


def spaced_out(positions: FloatArray, priorities: FloatArray, gap: float) -> IntArray:
    """Return which positions to label so that no two are closer than `gap`, those of high priority first."""
    chosen: list[int] = []
    for index in np.argsort(-priorities, kind="stable"):
        if np.all(np.abs(positions[chosen] - positions[index]) >= gap):
            chosen.append(int(index))
    return np.sort(np.array(chosen, dtype=np.int64))


def names_or_numbers(names: Sequence[str] | None, n_items: int, items: str, argument: str = "names") -> list[str]:
    """Return the names of items, or their numbers if there are no names; raise if the names are not one for each."""
    if names is None or len(names) == 0:
        return [str(item) for item in range(n_items)]
    if len(names) != n_items:
        raise InputError(f"{argument} has {len(names)} entries, needed one for each of {n_items} {items}.")
    return list(names)


def choose_dims(
    dims: Sequence[int] | None, n_dims: int, wanted: tuple[int, ...], channels: Sequence[str] | None
) -> tuple[list[int], list[str]]:
    """Return the dimensions to draw, and what stands along their axes: their names, or "dimension 0".

    Parameters
    ----------
    dims : sequence of int or None
        None takes the first ones, as many as there are and as can be drawn.
    n_dims : int
        How many there are.
    wanted : tuple of int
        How many can be drawn.
    channels : sequence of str or None
        Names of all dimensions.
    """
    columns = [int(dim) for dim in (range(min(n_dims, max(wanted))) if dims is None else dims)]
    if len(columns) not in wanted or len(set(columns)) < len(columns) or not set(columns) <= set(range(n_dims)):
        number = " or ".join(map(str, wanted))
        raise InputError(f"dims is {dims!r}, needed {number} different dimensions out of 0 to {n_dims - 1}.")
    names = names_or_numbers(channels, n_dims, "dimensions", "channels")
    return columns, [names[dim] if channels else f"dimension {dim}" for dim in columns]


# What labels are called and how they look


NONE = -1  # number of items that belong to no cluster
BLANK = -2  # number of places where there is no item


class Look(NamedTuple):
    """Name and style of a number."""

    name: str
    style: ClusterStyle


Looks: TypeAlias = dict[int, Look]
"""By number, in the order of a legend. It has an entry for -1, which belongs to none."""


@dataclass(frozen=True, eq=False)
class Cluster:
    """The items of one cluster, in their order, and how they are drawn; the name is empty if there were no labels."""

    name: str
    members: IntArray
    style: ClusterStyle


def number_labels(labels: Any, name: str = "labels") -> tuple[IntArray, dict[int, str]]:
    """Return the number that decides how each item looks, and the names of the numbers.

    Parameters
    ----------
    labels : array-like
        Whole numbers from 0 stand for themselves, so that a cluster looks the same wherever it is drawn. Anything else,
        such as strings, is numbered by sorted order; strings of digits are sorted as numbers. Items that are -1, NaN,
        None or masked are in no cluster.
    name : str
        What the messages call the labels.

    Returns
    -------
    numbers : ndarray of the shape of `labels`
        Items in no cluster have -1.
    names : dict of int to str
        In ascending order of the numbers.
    """
    missing, values = np.ma.getmaskarray(labels).copy(), np.asarray(np.ma.getdata(labels))
    if values.dtype.kind in "biuf":
        numbers = _whole_numbers(values, missing, name)
        return numbers, {int(number): str(number) for number in np.unique(numbers)}
    if values.dtype.kind == "O":
        missing |= np.array([value is None for value in values.flat]).reshape(values.shape)
    found, inverse = np.unique(values[~missing].astype(str), return_inverse=True)
    numeric = all(map(str.isdecimal, found))  # so that 2 is before 10
    order = sorted(range(len(found)), key=lambda place: int(found[place]) if numeric else place)
    numbers = np.full(values.shape, NONE, dtype=np.int64)
    numbers[~missing] = np.argsort(order)[inverse]
    return numbers, {number: str(found[place]) for number, place in enumerate(order)}


def _whole_numbers(values: NDArray[Any], missing: BoolArray, name: str) -> IntArray:
    """Return numeric labels as integers with -1 where they are missing, or raise naming the first that is no label."""
    missing = missing | np.isnan(values)
    wrong = ~missing & ((values != np.floor(values)) | (values < NONE) | np.isinf(values))
    if wrong.any():
        where = ", ".join(map(str, np.argwhere(wrong)[0]))
        raise InputError(
            f"{name}[{where}] is {values[wrong][0]}, needed whole numbers from 0 up, or -1 for items in no cluster. "
            "Round them or pass strings."
        )
    numbers = np.where(missing, 0, values).astype(np.int64)  # first to a type that has negative numbers
    numbers[missing] = NONE
    return numbers


def match_numbers(
    truth: IntArray, truth_names: dict[int, str], estimate: IntArray, given: Mapping[str, int] | None = None
) -> tuple[IntArray, dict[int, str]]:
    """Return the true classes under the numbers of clusters, and the names of these numbers.

    Parameters
    ----------
    truth, estimate : ndarray of the same shape
        Numbers; -1 for none.
    truth_names : dict of int to str
        Of the true classes.
    given : mapping of str to int, optional
        The number of each true class by its name. By default it is that of the cluster it shares most items with, in
        pairs one to one; classes without a cluster of their own get numbers that no cluster has.
    """
    classes = np.unique(truth[truth >= 0])
    if given is None:
        clusters = np.unique(estimate[estimate >= 0])
        both = (truth >= 0) & (estimate >= 0)
        overlaps = np.zeros((len(classes), len(clusters)), dtype=np.int64)
        np.add.at(overlaps, (np.searchsorted(classes, truth[both]), np.searchsorted(clusters, estimate[both])), 1)
        pairs = {int(classes[i]): int(clusters[j]) for i, j in zip(*linear_sum_assignment(-overlaps), strict=True)}
        unused = (number for number in count() if number not in clusters)
        new_numbers = {old: pairs[old] if old in pairs else next(unused) for old in classes.tolist()}
    else:
        missing = [truth_names[old] for old in classes.tolist() if truth_names[old] not in given]
        if missing:
            raise InputError(
                f"truth_actions has no {missing[0]!r}, needed an action for each true one. Use match_truth."
            )
        new_numbers = {old: given[truth_names[old]] for old in classes.tolist()}
    matched = truth.copy()
    for old, new in new_numbers.items():
        matched[truth == old] = new
    return matched, {new: truth_names[old] for old, new in new_numbers.items()}


# --- clusters: items that look the same -----------------------------------------------------------------------------


def group_items(labels: ArrayLike | None, n_items: int, name: str = "labels") -> list[Cluster]:
    """Return the clusters of `n_items` items in the order of their labels, items in none last.

    Parameters
    ----------
    labels : array-like of shape (n_items,) or None
        See `number_labels`. None makes one nameless cluster of all items.
    n_items : int
    name : str
        What the messages call the labels.
    """
    if labels is None:
        return [Cluster("", np.arange(n_items), cluster_style(0))]
    if np.shape(labels) != (n_items,):
        raise InputError(f"{name} has shape {np.shape(labels)}, needed ({n_items},): one label for each item.")
    return group_numbers(*number_labels(labels, name))


def group_numbers(numbers: IntArray, names: dict[int, str]) -> list[Cluster]:
    """Return the clusters of numbered items in ascending order, those in none last; blank places are in no group.

    `members` index the flattened array.
    """
    order = np.argsort(numbers, axis=None, kind="stable")
    found, starts = np.unique(numbers.ravel()[order], return_index=True)
    groups = {int(number): members for number, members in zip(found, np.split(order, starts[1:]), strict=True)}
    shown = [*(number for number in groups if number >= 0), *({NONE} & groups.keys())]
    looks = looks_of(names)
    return [Cluster(looks[number].name, groups[number], looks[number].style) for number in shown]


def named(clusters: list[Cluster]) -> list[Cluster]:
    """Return the clusters that have a name to put into a legend."""
    return [cluster for cluster in clusters if cluster.name]


def sorted_items(clusters: list[Cluster]) -> IntArray:
    """Return the items cluster by cluster, each cluster in its items' own order."""
    return np.concatenate([cluster.members for cluster in clusters])


def item_colors(clusters: list[Cluster], n_items: int) -> FloatArray:
    """Return red, green, blue and opacity of each item, shape (n_items, 4); items in no group are transparent."""
    colors = np.zeros((n_items, 4))
    for cluster in clusters:
        colors[cluster.members] = *to_rgb(cluster.style.color), 1.0
    return colors


# --- looks: name and style of every number ----------------------------------------------------------------------------


def looks_of(names: dict[int, str]) -> Looks:
    """Return the looks of numbered clusters in the order of their names, those in none last."""
    looks = {number: Look(name, cluster_style(number)) for number, name in names.items() if number >= 0}
    return looks | {NONE: Look("none", cluster_style(NONE))}


def shaded_looks(names: dict[int, str], actions: dict[int, int]) -> Looks:
    """Return the looks of states as shades of the colour of their action, action by action.

    Parameters
    ----------
    names : dict of int to str
        Of the states; a state that is not in it is called by its number.
    actions : dict of int to int
        Of each state; -1 for none.
    """
    looks: Looks = {}
    ranks: Counter[int] = Counter()
    for state in sorted(actions, key=lambda state: (actions[state] == NONE, actions[state], state)):
        action = actions[state]
        looks[state] = Look(names.get(state, str(state)), shade_style(cluster_style(action), ranks[action]))
        ranks[action] += 1
    return looks | looks_of({})


def state_looks(names: dict[int, str], states: IntArray, state_actions: ArrayLike | None) -> Looks:
    """Return the looks of states: shades of their actions, or as of clusters if these are not known."""
    if state_actions is None:
        return looks_of(names)
    return shaded_looks(names, actions_of_states(state_actions, states, states))


def legend_patch(look: Cluster | Look, kind: str = "") -> Patch:
    """Return the legend entry of what is filled with the colour of a cluster, named with its kind if that is given."""
    style = look.style
    label = f"{kind} {look.name}" if kind else look.name
    return Patch(facecolor=style.color, edgecolor=darkened(style.color), hatch=style.hatch, linewidth=0.4, label=label)


def legend_line(look: Cluster | Look, **options: Any) -> Line2D:
    """Return the legend entry of what is drawn in the line style and with the marker of a cluster; without data."""
    style = look.style
    looks = {"color": style.color, "linestyle": style.linestyle, "marker": style.marker}
    return Line2D([], [], label=look.name, markeredgecolor=darkened(style.color), **(looks | options))


def actions_of_states(state_actions: ArrayLike | None, states: IntArray, actions: IntArray) -> dict[int, int]:
    """Return the action of each state: the given one, or the one that most of its steps have.

    Parameters
    ----------
    state_actions : array-like of shape (n_states,) or None
    states, actions : ndarray of shape (n_steps,)
        Numbers; -1 for none.
    """
    if state_actions is None:
        return {int(state): _most_frequent(actions[states == state]) for state in np.unique(states[states >= 0])}
    given, _ = number_labels(state_actions, "state_actions")
    if given.ndim != 1:
        raise InputError(f"state_actions has shape {given.shape}, needed (n_states,): the action of each state.")
    if (highest := int(states.max(initial=NONE))) >= len(given):
        raise InputError(
            f"state_actions has {len(given)} entries, needed one for each state, and there is a state {highest}."
        )
    return dict(enumerate(given.tolist()))


def _most_frequent(numbers: IntArray) -> int:
    """Return the number from 0 up that occurs most often, the lowest if there are several; -1 if there is none."""
    found = numbers[numbers >= 0]
    return int(np.bincount(found).argmax()) if len(found) else NONE
