"""Similarity of items, sorted by cluster or as points of an embedding, and tables of scores."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, inf
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.textpath import TextPath
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Affine2D, ScaledTranslation, blended_transform_factory

from homothety.arrays import FloatArray, check_points, check_similarity
from homothety.errors import InputError
from homothety.palette import contrasting, darkened
from homothety.viz._figures import (
    Cluster,
    FontSetting,
    axes_or_new,
    colorbar_beside,
    font_points,
    group_items,
    label_dims,
    legend_beside,
    legend_line,
    named,
    size_in_points,
    sorted_items,
    spaced_out,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from numpy.typing import ArrayLike

_FIGSIZE = (6.2, 5.0)  # inches, of a sorted matrix
_STRIP = (-11.0, -4.0)  # where the colours of the clusters are, in points from the left edge of the Axes
_MAX_SHARP = 400  # items; the Axes have about as many pixels
NUMBER_PAD = 14.0  # points between that edge and the numbers, past the strip
_MAX_ANNOTATED = 150  # cells; nobody reads more numbers than that
_MIN_GAP = 8.0  # points between neighbouring texts
_MISSING_COLOR = "#DDDDDD"


def plot_similarity(
    similarity: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    cmap: str = "cividis",
    limits: tuple[float, float] = (0.0, 1.0),
) -> Axes:
    """Draw a similarity matrix sorted by cluster.

    Parameters
    ----------
    similarity : array-like of shape (n_items, n_items)
        Symmetric, values in [0, 1].
    labels : array-like of shape (n_items,), optional
        Cluster of each item; -1 for none. Items are sorted by it, within a cluster they keep their order. Without
        labels the matrix is drawn as it is.
    ax : Axes, optional
        Where to draw; by default on a new figure.
    cmap : str, default="cividis"
        Colour map, best a perceptually uniform one.
    limits : tuple of two floats, default=(0, 1)
        Similarities that get the first and the last colour.

    Returns
    -------
    ax : Axes
        Clusters are told apart by lines, by their colours on the left, and by their numbers, except numbers there is
        no room for.

    Examples
    --------
    >>> ax = plot_similarity([[1.0, 0.1, 0.9], [0.1, 1.0, 0.2], [0.9, 0.2, 1.0]], labels=[0, 1, 0])
    >>> ax.images[0].get_array()[0]
    masked_array(data=[1. , 0.9, 0.1], mask=False, fill_value=1e+20)
    """
    low, high = limits
    return _plot_sorted(ax, check_similarity(similarity), labels, "similarity", cmap=cmap, vmin=low, vmax=high)


def plot_coclustering(
    coclustering: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    cmap: str = "viridis",
) -> Axes:
    """Draw the share of kept sweeps in which two items are in one cluster, sorted by a point estimate of the clusters.

    Parameters
    ----------
    coclustering : array-like of shape (n_items, n_items)
        As `homothety.summaries.coclustering` returns it.
    labels : array-like of shape (n_items,), optional
        Cluster of each item; -1 for none. Without labels the matrix is drawn as it is.
    ax : Axes, optional
        Where to draw; by default on a new figure.
    cmap : str, default="viridis"
        Colour map, best a perceptually uniform one.

    Returns
    -------
    ax : Axes
        As from `plot_similarity`. A sure partition shows as blocks of ones; blocks that shade into one
        another are clusters the data hardly tell apart.
    """
    probabilities = check_similarity(coclustering, "coclustering")
    quantity = "agreement on one cluster"
    return _plot_sorted(ax, probabilities, labels, quantity, cmap=cmap, vmin=0.0, vmax=1.0)


def plot_embedding(
    points: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    dims: int | Sequence[int] = 2,
    ax: Axes | None = None,
) -> Axes:
    """Draw embedded items as points, each cluster with its colour and marker.

    Parameters
    ----------
    points : array-like of shape (n_items, n_components)
        Coordinates, such as those of `homothety.covariance.embedding.spectral_embedding`.
    labels : array-like of shape (n_items,), optional
        Cluster of each item; -1 for none.
    dims : int or sequence of int, default=2
        Which columns to draw, two or three of them; or how many, and then the most spread ones are taken. A single
        column of points is drawn against the number of the item.
    ax : Axes, optional
        Where to draw, with ``projection="3d"`` for three columns; by default on a new figure.

    Returns
    -------
    ax : Axes
        The legend stands beside the Axes and covers no point. Small clusters lie on top of large ones.

    Examples
    --------
    >>> ax = plot_embedding([[0.0, 1.0, 0.1], [0.1, 0.9, 0.1], [1.0, 0.0, 0.1]], labels=[0, 0, 1])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('embedding column 0', 'embedding column 1')
    """
    points = check_points(points)
    clusters = group_items(labels, len(points))
    columns = _choose_columns(points, dims)
    ax = axes_or_new(ax, n_entries=len(named(clusters)), n_dims=len(columns))
    coordinates, names = points[:, columns], [f"embedding column {column}" for column in columns]
    if len(columns) == 1:
        coordinates, names = np.column_stack([coordinates, np.arange(len(points))]), [*names, "item"]
    _scatter(ax, coordinates, clusters)
    label_dims(ax, names, "auto" if len(columns) == 1 else "equal")
    # Of readable size, however small the points are drawn.
    handles = [legend_line(cluster, linestyle="none", markeredgewidth=0.4) for cluster in named(clusters)]
    legend_beside(ax, handles, "cluster")
    return ax


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
    table = np.array(values, dtype=np.float64)
    if table.shape != (len(rows), len(columns)) or table.size == 0:
        raise InputError(
            f"values has shape {table.shape}, needed ({len(rows)}, {len(columns)}): one value for each of the rows and "
            "columns, at least one of each. Transpose it if rows and columns are swapped."
        )
    table[~np.isfinite(table)] = np.nan
    width, height = 0.62 * len(columns) + 2.2, 0.42 * len(rows) + 1.4  # room for every cell, within reason
    ax = axes_or_new(ax, (float(np.clip(width, 4.5, 10.0)), float(np.clip(height, 2.8, 8.0))))
    low, high = limits if limits is not None else (None, None)
    image = ax.imshow(table, cmap=cmap, vmin=low, vmax=high, aspect="auto", origin="lower", interpolation="nearest")
    ax.set_facecolor(_MISSING_COLOR)
    colorbar_beside(ax, image, value_label)
    ax.set(xlabel=column_label, ylabel=row_label)
    _label_settings(ax, rows, columns)
    write_values(image, number_format, annotate=annotate)
    return ax


def _setting_text(value: float | str) -> str:
    r"""Return a setting as short text: three digits, far from one by powers of ten.

    Examples
    --------
    >>> [_setting_text(value) for value in (0.5, 1e-5, 30000000, "auto")]
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


# --- sorted matrices --------------------------------------------------------------------------------------------------


def _plot_sorted(ax: Axes | None, matrix: FloatArray, labels: ArrayLike | None, quantity: str, **looks: Any) -> Axes:
    """Draw a matrix sorted by cluster, with the clusters on the left; `looks` are options of `imshow`."""
    clusters = group_items(labels, len(matrix))
    ax = axes_or_new(ax, _FIGSIZE)
    draw_sorted(ax, matrix, clusters, quantity, **looks)
    if labels is None:
        ax.set(xlabel="item", ylabel="item")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    else:
        n_items = "1 item" if len(matrix) == 1 else f"{len(matrix)} items"
        ax.set(xlabel=f"{n_items}, sorted by cluster", ylabel="cluster", xticks=[])
        _name_clusters(ax, clusters)
        draw_strip(ax, clusters)
    return ax


def draw_sorted(ax: Axes, matrix: FloatArray, clusters: list[Cluster], quantity: str, **looks: Any) -> AxesImage:
    """Draw a matrix cluster by cluster, with lines between the clusters and a colour bar, and return the image."""
    order = sorted_items(clusters)
    # Cells as large as pixels and larger stay sharp; smaller ones are averaged.
    interpolation = "nearest" if len(matrix) <= _MAX_SHARP else None
    image = ax.imshow(matrix[np.ix_(order, order)], interpolation=interpolation, **looks)
    colorbar_beside(ax, image, quantity)
    if len(clusters) > 1:
        edges = edges_of(clusters)
        inner = np.repeat(edges[1:-1], 2).reshape(-1, 2)
        across = np.broadcast_to(edges[[0, -1]], inner.shape)
        lines = np.concatenate([np.stack([inner, across], axis=-1), np.stack([across, inner], axis=-1)])
        width = 0.8 if len(clusters) <= 12 else 0.3
        ax.add_collection(LineCollection(list(lines), colors="white", linewidths=width), autolim=False)
    return image


def edges_of(clusters: list[Cluster]) -> FloatArray:
    """Return where clusters begin and end along an axis of a sorted matrix, shape (n_clusters + 1,)."""
    return np.concatenate([[0], np.cumsum([len(cluster.members) for cluster in clusters])]) - 0.5


def _name_clusters(ax: Axes, clusters: list[Cluster]) -> None:
    """Put the numbers of the clusters on the left, of those there is room for."""
    edges = edges_of(clusters)
    sizes, centres = np.diff(edges), (edges[:-1] + edges[1:]) / 2
    points_per_item = size_in_points(ax)[1] / sizes.sum()
    shown = spaced_out(centres * points_per_item, sizes, gap=1.2 * font_points("ytick.labelsize"))
    ax.set_yticks(centres[shown], [clusters[index].name for index in shown])
    ax.tick_params(axis="y", length=0, pad=NUMBER_PAD)


def draw_strip(ax: Axes, clusters: list[Cluster], side: Literal["left", "top"] = "left") -> None:
    """Put the colour of each cluster beside a sorted matrix."""
    near, far = _STRIP
    bars = np.array(
        [[(near, low), (far, low), (far, high), (near, high)] for low, high in pairwise(edges_of(clusters))]
    )
    # Across the strip are points, to the right of the left edge of the Axes or up from the top.
    corner = ScaledTranslation(0, 1, ax.transAxes)  # type: ignore[arg-type]  # any transform will do
    points, items = Affine2D().scale(1 / 72) + ax.figure.dpi_scale_trans + corner, ax.transData
    if side == "top":
        bars, transform = np.stack([bars[..., 1], -bars[..., 0]], axis=-1), blended_transform_factory(items, points)
    else:
        transform = blended_transform_factory(points, items)
    colors = [cluster.style.color for cluster in clusters]
    strip = PolyCollection(list(bars), facecolors=colors, transform=transform, clip_on=False)
    ax.add_collection(strip, autolim=False)


# --- embeddings -------------------------------------------------------------------------------------------------------


def _choose_columns(points: FloatArray, dims: int | Sequence[int]) -> list[int]:
    """Return the columns to draw, in ascending order where the choice is ours."""
    n_columns = points.shape[1]
    if isinstance(dims, int | np.integer):
        if dims not in (2, 3):
            raise InputError(f"dims is {dims}, needed 2 or 3 columns, or a sequence that says which.")
        if n_columns < dims and (n_columns, dims) != (1, 2):
            raise InputError(f"points has {n_columns} columns, needed at least {dims} for dims={dims}.")
        most_spread = np.argsort(-points.var(axis=0), kind="stable")[:dims]
        return sorted(most_spread.tolist())
    columns = list(dims)
    if len(columns) not in (2, 3) or not all(0 <= column < n_columns for column in columns):
        raise InputError(f"dims is {dims!r}, needed 2 or 3 columns out of 0 to {n_columns - 1}.")
    return columns


def _scatter(ax: Axes, coordinates: FloatArray, clusters: list[Cluster]) -> None:
    """Draw one collection per cluster, the largest at the bottom."""
    area = float(np.clip(6000 / len(coordinates), 12, 40))
    draw: Any = ax.scatter  # on 3-D Axes it takes a third coordinate
    for depth, cluster in enumerate(sorted(clusters, key=lambda cluster: -len(cluster.members))):
        points = draw(*coordinates[cluster.members].T, s=area, marker=cluster.style.marker)
        points.set(
            facecolor=cluster.style.color,
            edgecolor=darkened(cluster.style.color),
            linewidth=0.4,
            zorder=2 + depth / len(clusters),
        )


# --- tables -----------------------------------------------------------------------------------------------------------


def _label_settings(ax: Axes, rows: Sequence[float | str], columns: Sequence[float | str]) -> None:
    """Name every setting, those of columns slanting if they are long, or every n-th if there are too many."""
    row_step = ceil(1.3 * font_points("ytick.labelsize") * len(rows) / size_in_points(ax)[1])
    ax.set_yticks(range(0, len(rows), row_step), [_setting_text(row) for row in rows[::row_step]])
    width = size_in_points(ax)[0] / len(columns)  # names of rows took some of it
    texts = [_setting_text(column) for column in columns]
    slanting = max(_text_width(text, "xtick.labelsize") for text in texts) + _MIN_GAP > width
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


def write_values(image: AxesImage, number_format: str, *, annotate: bool | None = None, least: float = -inf) -> None:
    """Write each number into its cell, light on dark and dark on light, by default where they are few and short enough.

    Cells that are NaN, or less than `least`, stay empty.
    """
    ax, table = image.axes, np.ma.masked_array(image.get_array()).filled(np.nan)
    texts = np.array([[f"{value:{number_format}}" for value in row] for row in table], dtype=object)
    if annotate is None:
        annotate = texts.size <= _MAX_ANNOTATED and _fits_cells(ax, max(texts.flat, key=len), table.shape)
    if not annotate:
        return
    colors = image.to_rgba(table)
    for row, column in np.argwhere(table >= least):
        color = contrasting(*colors[row, column, :3])
        ax.text(column, row, texts[row, column], color=color, ha="center", va="center")


def _fits_cells(ax: Axes, text: str, shape: tuple[int, ...]) -> bool:
    """Say whether a number is short enough to be written into each cell of a table."""
    width, height = np.divide(size_in_points(ax), shape[::-1])
    return bool(_text_width(text, "font.size") + _MIN_GAP < width and 1.3 * font_points("font.size") < height)
