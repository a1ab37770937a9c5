"""A grid on which bodies stand side by side."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np

from homothety.errors import InputError
from homothety.viz._clusters import sorted_items
from homothety.viz._figure import axes_or_new, font_points, named, size_in_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from homothety.arrays import FloatArray, IntArray
    from homothety.viz._clusters import Cluster

MAX_NUMBERED = 60  # bodies; with more of them their numbers would be too small to read
MAX_ITEMS = 5000  # more of them are dots
CELL = 2.15  # width of a cell in units of the axes, a little more than a body takes
LINE_HEIGHT = 1.4  # of a number, in font sizes
WIDTH, MIN_WIDTH, MAX_CELL, LEGEND_WIDTH, CAPTION_HEIGHT, NUMBER_HEIGHT = 6.4, 5.0, 1.8, 1.0, 0.5, 0.2  # inches


@dataclass(frozen=True)
class Grid:
    """Rows and columns for a number of bodies, and whether they are numbered."""

    n_rows: int
    n_columns: int
    numbered: bool

    @classmethod
    def of(cls, n_items: int) -> Grid:
        """Return a grid somewhat wider than high."""
        n_columns = min(ceil(sqrt(1.4 * n_items)), n_items)
        return cls(ceil(n_items / n_columns), n_columns, n_items <= MAX_NUMBERED)

    def figsize(self) -> tuple[float, float]:
        """Return a figure size in inches of the proportions of the grid."""
        cell = min((WIDTH - LEGEND_WIDTH) / self.n_columns, MAX_CELL)
        width = max(self.n_columns * cell + LEGEND_WIDTH, MIN_WIDTH)
        return width, self.n_rows * (cell + NUMBER_HEIGHT * self.numbered) + CAPTION_HEIGHT

    def places(self, order: IntArray) -> IntArray:
        """Return column and row of each item, (n_items, 2), when they are set out row by row in the given order."""
        places = np.empty((len(order), 2), dtype=np.int64)
        places[order] = np.stack(np.divmod(np.arange(len(order)), self.n_columns)[::-1], axis=1)
        return places


def unit_reach(factors: FloatArray) -> FloatArray:
    """Return the bodies at one scale, at which the largest reaches as far as one from its centre."""
    return np.asarray(factors / np.linalg.norm(factors, ord=2, axis=(1, 2)).max())


def set_out(ax: Axes | None, clusters: list[Cluster], caption: str) -> tuple[Axes, FloatArray]:
    """Return Axes and where on them the centre of each body belongs, (n_items, 2), cluster by cluster in rows.

    Bodies reach as far as one from their centre. Below each is its number if there are few enough for it to be read.
    """
    order = sorted_items(clusters)
    _check_number(len(order))
    grid = Grid.of(len(order))
    ax = axes_or_new(ax, grid.figsize(), n_entries=len(named(clusters)))
    height = CELL * (1 + _line_share(ax, grid))
    centres = grid.places(order) * np.array([CELL, -height])
    ax.set(xlim=(-CELL / 2, (grid.n_columns - 0.5) * CELL), ylim=(CELL / 2 - grid.n_rows * height, CELL / 2))
    ax.set(aspect="equal", xticks=[], yticks=[], xlabel=caption)
    ax.spines[:].set_visible(False)
    if grid.numbered:
        for item, (x, y) in enumerate(centres):
            ax.text(x, y - height / 2, str(item), ha="center", va="center")
    return ax, centres


def _line_share(ax: Axes, grid: Grid) -> float:
    """Return the height of a number as a fraction of the width of a cell, 0 where there are none."""
    points_per_cell = size_in_points(ax)[0] / grid.n_columns
    return min(LINE_HEIGHT * font_points("font.size") / points_per_cell, 1.0) * grid.numbered


def _check_number(n_items: int) -> None:
    if n_items > MAX_ITEMS:
        raise InputError(
            f"covariances holds {n_items} matrices, needed at most {MAX_ITEMS} to draw them side by side. "
            "Draw a random choice of them, or all with plot_spectra."
        )
