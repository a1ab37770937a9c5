"""A score for every combination of two settings."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.textpath import TextPath

from homothety.errors import InputError
from homothety.palette import contrasting
from homothety.viz._figure import axes_or_new, colorbar_beside, font_points, size_in_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray
    from homothety.viz._figure import FontSetting

MAX_ANNOTATED = 150  # cells; more numbers than that nobody reads
MIN_GAP = 8.0  # points between neighbouring texts
MISSING_COLOR = "#DDDDDD"


def plot_heatmap(
    values: ArrayLike,
    rows: Sequence[float | str],
    columns: Sequence[float | str],
    *,
    row_label: str = "",
    column_label: str = "",
    value_label: str = "",
    annotate: bool | None = None,
    number_format: str = ".2f",
    cmap: str = "cividis",
    limits: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a table of scores over two hyper-parameters, one cell per combination.

    Parameters
    ----------
    values : array-like of shape (n_rows, n_columns)
        NaN marks combinations that were not tried.
    rows, columns : sequence of float or str
        Settings, in the order of the table. Cells are equally large, so log-spaced settings look evenly spaced.
    row_label, column_label, value_label : str
        What the settings and the scores are called.
    annotate : bool, optional
        Whether to write the score into each cell; by default where it fits and there are no more than 150.
    number_format : str, default=".2f"
        Format of those numbers.
    cmap : str, default="cividis"
        Colour map, best a perceptually uniform one.
    limits : tuple of two floats, optional
        Scores that get the first and the last colour; by default the lowest and the highest.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes
        The first row is at the bottom, as on any vertical axis.

    Examples
    --------
    >>> ax = plot_heatmap([[0.5, 0.9]], rows=[1.0], columns=[1e-5, 0.02], value_label="NMI")
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['$10^{-5}$', '0.02']
    """
    table = _check_table(values, rows, columns)
    ax = axes_or_new(ax, _figsize(*table.shape))
    low, high = limits if limits is not None else (None, None)
    image = ax.imshow(table, cmap=cmap, vmin=low, vmax=high, aspect="auto", origin="lower", interpolation="nearest")
    ax.set_facecolor(MISSING_COLOR)
    colorbar_beside(ax, image, value_label)
    ax.set(xlabel=column_label, ylabel=row_label)
    _label_settings(ax, rows, columns)
    texts = [[f"{value:{number_format}}" for value in row] for row in table]
    if annotate if annotate is not None else texts_fit(ax, texts):
        write_values(ax, image, table, texts)
    return ax


def setting_text(value: float | str) -> str:
    r"""Return a setting as short text: three digits, far from one by powers of ten.

    Examples
    --------
    >>> [setting_text(value) for value in (0.5, 1e-5, 30000000, "auto")]
    ['0.5', '$10^{-5}$', '$3 \\times 10^{7}$', 'auto']
    """
    if isinstance(value, str):
        return value
    text = f"{float(f'{value:.3g}'):.5g}"
    if "e" not in text:
        return text
    factor, exponent = text.split("e")
    power = f"10^{{{int(exponent)}}}"
    return f"${power}$" if factor == "1" else rf"${factor} \times {power}$"


def _check_table(values: ArrayLike, rows: Sequence[float | str], columns: Sequence[float | str]) -> FloatArray:
    """Return the scores as an array with infinities as NaN, or raise if it does not fit the settings."""
    table = np.array(values, dtype=np.float64)
    if table.shape != (len(rows), len(columns)) or table.size == 0:
        raise InputError(
            f"values has shape {table.shape}, needed ({len(rows)}, {len(columns)}): one value for each of the rows and "
            "columns, at least one of each. Transpose it if rows and columns are swapped."
        )
    table[~np.isfinite(table)] = np.nan
    return table


def _figsize(n_rows: int, n_columns: int) -> tuple[float, float]:
    """Return a size in inches that gives every cell room, within reason."""
    return float(np.clip(0.62 * n_columns + 2.2, 4.5, 10.0)), float(np.clip(0.42 * n_rows + 1.4, 2.8, 8.0))


def _cell_size(ax: Axes, n_rows: int, n_columns: int) -> tuple[float, float]:
    """Return width and height of a cell in points."""
    width, height = size_in_points(ax)
    return width / n_columns, height / n_rows


def _label_settings(ax: Axes, rows: Sequence[float | str], columns: Sequence[float | str]) -> None:
    """Name every setting, those of columns slanting if they are long, or every n-th if there are too many."""
    _, height = _cell_size(ax, len(rows), len(columns))
    row_step = ceil(1.3 * font_points("ytick.labelsize") / height)
    ax.set_yticks(range(0, len(rows), row_step), [setting_text(row) for row in rows[::row_step]])
    width, _ = _cell_size(ax, len(rows), len(columns))  # names of rows took some of it
    texts = [setting_text(column) for column in columns]
    slanting = max(_text_width(text, "xtick.labelsize") for text in texts) + MIN_GAP > width
    column_step = ceil(1.6 * font_points("xtick.labelsize") / width) if slanting else 1
    ax.set_xticks(range(0, len(columns), column_step), texts[::column_step])
    if slanting:
        ax.tick_params(axis="x", rotation=45)
        for label in ax.get_xticklabels():
            label.set(horizontalalignment="right", rotation_mode="anchor")


def _text_width(text: str, setting: FontSetting) -> float:
    """Return how wide a text is, in points, in matplotlib's default font."""
    corners = TextPath((0, 0), text, size=font_points(setting)).vertices
    return float(np.ptp(corners[:, 0])) if len(corners) else 0.0


def texts_fit(ax: Axes, texts: list[list[str]]) -> bool:
    """Say whether the numbers are few and short enough to be written into their cells."""
    n_rows, n_columns = len(texts), len(texts[0])
    if n_rows * n_columns > MAX_ANNOTATED:
        return False
    width, height = _cell_size(ax, n_rows, n_columns)
    longest = max((text for row in texts for text in row), key=len)
    return _text_width(longest, "font.size") + MIN_GAP < width and 1.3 * font_points("font.size") < height


def write_values(ax: Axes, image: AxesImage, table: FloatArray, texts: list[list[str]]) -> None:
    """Write each number into its cell, light on dark and dark on light; what is missing stays empty."""
    colors = image.to_rgba(table)
    for (row, column), value in np.ndenumerate(table):
        if not np.isnan(value):
            color = contrasting(*colors[row, column, :3])
            ax.text(column, row, texts[row][column], color=color, ha="center", va="center")
