"""Scatter plots of spectral coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

from homothety.arrays import check_points
from homothety.errors import InputError
from homothety.palette import darkened
from homothety.viz._clusters import group_items
from homothety.viz._figure import axes_for_dims, fit_box, legend_beside, named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray
    from homothety.viz._clusters import Cluster

FIGSIZE = (6.4, 4.8)


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
    ax = axes_for_dims(ax, len(columns), FIGSIZE, n_entries=len(named(clusters)))
    coordinates = points[:, columns]
    if len(columns) == 1:
        coordinates = np.column_stack([coordinates, np.arange(len(points))])
    _scatter(ax, coordinates, clusters)
    _label_axes(ax, columns)
    legend_beside(ax, [_legend_point(cluster) for cluster in named(clusters)], "cluster")
    return ax


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


def _label_axes(ax: Any, columns: list[int]) -> None:
    """Name the columns along the axes, and measure all of them by the same unit."""
    names = [f"embedding column {column}" for column in columns]
    if len(columns) == 1:
        names.append("item")
    ax.set(**{f"{axis}label": name for axis, name in zip("xyz", names, strict=False)})
    if len(columns) == 2:
        ax.set_aspect("equal", adjustable="datalim")
    elif len(columns) == 3:
        fit_box(ax)


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


def _legend_point(cluster: Cluster) -> Line2D:
    """Return a legend entry of readable size, however small the points are drawn."""
    style, edge = cluster.style, darkened(cluster.style.color)
    point = Line2D([], [], linestyle="none", marker=style.marker, color=style.color, label=cluster.name)
    point.set(markeredgecolor=edge, markeredgewidth=0.4)
    return point
