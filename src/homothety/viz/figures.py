"""Figures to draw on and to write, what stands along their axes, and the placing of text so that it can be read."""

from __future__ import annotations

import builtins
import sys
from itertools import product
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.proj3d import proj_transform

from homothety.errors import InputError
from homothety.files import written_aside

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

    from homothety.arrays import FloatArray, IntArray
    from homothety.palette import Aspect

FontSetting = Literal["font.size", "legend.fontsize", "xtick.labelsize", "ytick.labelsize"]

FIGSIZE = (6.4, 4.8)  # inches
RESOLUTION = 150  # dots per inch of a file
MAX_LEGEND_COLUMNS = 4
LEGEND_COLUMN = 0.6  # inches that a further column takes
BOX_REACH = 0.36  # of the corners of 3-D axes from the middle, as a share of width or height
SHORT_AXIS = 0.6  # of the length of the longest one, below which an axis has room for few numbers
LINE_SPACING = 1.6  # height of a legend entry in font sizes


def axes_or_new(
    ax: Axes | None, figsize: tuple[float, float] = FIGSIZE, *, n_entries: int = 0, n_dims: int = 2
) -> Axes:
    """Return the given Axes if they are made for that many dimensions, or new ones with room for `n_entries` beside."""
    needed = "3d" if n_dims == 3 else "rectilinear"
    if ax is None:
        return new_figure(with_legend(figsize, n_entries)).add_subplot(projection=needed)
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
        return list(new_figure(figsize).subplots(*shape, squeeze=False, **options).flat)
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
        fit_box(ax, equal=aspect == "equal")
    else:
        ax.set_aspect(aspect, adjustable=adjustable)


def fit_box(ax: Any, *, equal: bool) -> None:
    """Make 3-D Axes as large as their labels allow, with the same unit along all of them or not."""
    extents = np.ptp([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()], axis=1)
    shares = extents / extents.max() if equal else np.ones(3)
    ax.set_box_aspect(shares)
    # Layouts ignore the labels of 3-D axes, so there has to be room for them inside of the Axes.
    x, y, _ = proj_transform(*zip(*product(ax.get_xlim(), ax.get_ylim(), ax.get_zlim()), strict=True), ax.get_proj())
    corners = (ax.transData - ax.transAxes).transform(np.stack([x, y], axis=1))
    ax.set_box_aspect(shares, zoom=BOX_REACH / float(np.abs(corners - 0.5).max()))
    # At the corners the numbers of two axes would meet.
    for axis, share in zip((ax.xaxis, ax.yaxis, ax.zaxis), shares, strict=True):
        axis.set_major_locator(MaxNLocator(nbins=5 if share > SHORT_AXIS else 3, prune="both"))
        axis.labelpad = 13
    # The projection is otherwise brought up to date when the Axes are drawn, but a layout asks for it before.
    ax.M = ax.get_proj()


def with_legend(figsize: tuple[float, float], n_entries: int) -> tuple[float, float]:
    """Return the size of a figure, wider the more columns its legend needs."""
    width, height = figsize
    n_columns = min(ceil(n_entries / _legend_rows(0.8 * 72 * height, title="")), MAX_LEGEND_COLUMNS)
    return width + LEGEND_COLUMN * max(n_columns - 1, 0), height


def new_figure(figsize: tuple[float, float]) -> Figure:
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
    """Return width and height of the Axes in points, the unit of font sizes, with what has been drawn so far.

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
    capacity = MAX_LEGEND_COLUMNS * n_rows
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
    return max(int(height / (LINE_SPACING * font_points("legend.fontsize"))) - (title is not None), 1)


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
