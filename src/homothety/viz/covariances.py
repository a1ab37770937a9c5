"""Covariance matrices: ellipses and ellipsoids of one standard deviation, and spectra for any number of dimensions."""

from __future__ import annotations

from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

from homothety.arrays import FloatArray, check_points
from homothety.covariance.spectra import check_covariances, eigenvalues
from homothety.errors import InputError
from homothety.palette import ClusterStyle, darkened
from homothety.viz._figures import (
    Cluster,
    axes_or_new,
    font_points,
    group_items,
    item_colors,
    legend_beside,
    legend_line,
    legend_patch,
    named,
    size_in_points,
    sorted_items,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

_Sizes = Literal["true", "equal"]
_SCALES: dict[_Sizes, str] = {"true": "all to one scale", "equal": "each to its own scale"}

_SPECTRA_FIGSIZE = (6.4, 4.2)  # inches
_N_CORNERS = 64  # of an outline
_MAX_FACES = 100_000  # of all ellipsoids together: what is drawn within seconds
_LIGHT = np.array([-0.4, 0.6, 0.7]) / np.linalg.norm([-0.4, 0.6, 0.7])  # from the upper left, behind the viewer
_SHORT_SPAN = 4.0  # ratio of lengths below which round steps suit a logarithmic axis better than 1, 2, 5, 10

# Of the grid on which ellipses and ellipsoids stand.
_MAX_NUMBERED = 60  # bodies; the numbers of more of them would be too small to read
_MAX_ITEMS = 5000  # bodies; more of them would be as small as dots
_CELL = 2.15  # width of a cell in units of the axes, a little more than a body takes
_LINE_HEIGHT = 1.4  # of a number, in font sizes
_WIDTH, _MIN_WIDTH, _MAX_CELL, _LEGEND_WIDTH, _CAPTION_HEIGHT, _NUMBER_HEIGHT = 6.4, 5.0, 1.8, 1.0, 0.5, 0.2  # inches


def plot_ellipses(
    covariances: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    means: ArrayLike | None = None,
    sizes: _Sizes | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw 2 x 2 covariances as ellipses of one standard deviation.

    Parameters
    ----------
    covariances : array-like of shape (n_matrices, 2, 2)
        Symmetric positive definite.
    labels : array-like of shape (n_matrices,), optional
        Cluster of each matrix; -1 for none.
    means : array-like of shape (n_matrices, 2), optional
        Centres of the ellipses. Without them they are set out on a grid, cluster by cluster.
    sizes : {"true", "equal"}, optional
        Whether all are drawn to one scale, which is the default if there are means, or all with long axes of the same
        length, shape alone, which is the default on a grid.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes
        Of equal aspect. On a grid, each ellipse has the number of its matrix below it where there are at most 60.

    Examples
    --------
    >>> ax = plot_ellipses([np.diag([1.0, 4.0]), np.diag([36.0, 9.0])], labels=[0, 0], means=[[0, 0], [8, 0]])
    >>> ax.get_aspect()
    1.0
    """
    sizes = sizes or ("equal" if means is None else "true")
    factors = sphere_to_body(covariances, 2, sizes)
    clusters = group_items(labels, len(factors))
    if means is None:
        ax, centres = _set_out(ax, clusters, f"ellipses of one standard deviation, {_SCALES[sizes]}")
        draw_ellipses(ax, _unit_reach(factors), centres, clusters)
    else:
        centres = check_points(means, "means")
        if centres.shape != (len(factors), 2):
            raise InputError(f"means has shape {centres.shape}, needed ({len(factors)}, 2): a centre for each matrix.")
        ax = axes_or_new(ax, n_entries=len(named(clusters)))
        draw_ellipses(ax, factors, centres, clusters)
        ax.autoscale_view()
        ax.set(xlabel="dimension 0", ylabel="dimension 1")
        ax.set_aspect("equal")
    legend_beside(ax, [legend_patch(cluster) for cluster in named(clusters)], "cluster")
    return ax


def plot_ellipsoids(
    covariances: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    sizes: _Sizes = "equal",
    elevation: float = 25.0,
    azimuth: float = -60.0,
    ax: Axes | None = None,
) -> Axes:
    """Draw 3 x 3 covariances as ellipsoids of one standard deviation, side by side, cluster by cluster.

    Parameters
    ----------
    covariances : array-like of shape (n_matrices, 3, 3)
        Symmetric positive definite. For more dimensions see `plot_spectra`.
    labels : array-like of shape (n_matrices,), optional
        Cluster of each matrix; -1 for none.
    sizes : {"true", "equal"}, default="equal"
        Whether all are drawn to one scale, or all with long axes of the same length: shape alone.
    elevation, azimuth : float, default=25 and -60
        Direction of view, in degrees above the plane of dimensions 0 and 1, and around dimension 2.
    ax : Axes, optional
        Where to draw, ordinary two-dimensional ones; by default on a new figure.

    Returns
    -------
    ax : Axes
        Of equal aspect. Each ellipsoid has the number of its matrix below it where there are at most 60.

    Notes
    -----
    The projection is orthographic, so that size and shape do not depend on the place in the grid.
    """
    factors = _camera(elevation, azimuth) @ _unit_reach(sphere_to_body(covariances, 3, sizes))
    clusters = group_items(labels, len(factors))
    ax, centres = _set_out(ax, clusters, f"ellipsoids of one standard deviation, {_SCALES[sizes]}")
    _draw_surfaces(ax, factors, centres, clusters)
    legend_beside(ax, [legend_patch(cluster) for cluster in named(clusters)], "cluster")
    return ax


def plot_spectra(covariances: ArrayLike, labels: ArrayLike | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the shape of each matrix: its axis lengths in ascending order, scaled to unit product.

    Matrices of one shape lie on one line, whatever their rotation and scale, so that a good clustering shows as
    bundles of one colour. It works for any number of dimensions.

    Parameters
    ----------
    covariances : array-like of shape (n_matrices, n_dims, n_dims)
        Symmetric positive definite.
    labels : array-like of shape (n_matrices,), optional
        Cluster of each matrix; -1 for none.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes
        One thin line per matrix, and one with markers per cluster, its geometric mean.

    Examples
    --------
    >>> ax = plot_spectra([np.diag([1.0, 4.0]), np.diag([36.0, 9.0])], labels=[0, 0])
    >>> [line.round(3).tolist() for line in ax.collections[0].get_segments()]
    [[[1.0, 0.707], [2.0, 1.414]], [[1.0, 0.707], [2.0, 1.414]]]
    """
    lengths = _unit_lengths(covariances)
    clusters = group_items(labels, len(lengths))
    ax = axes_or_new(ax, _SPECTRA_FIGSIZE, n_entries=len(named(clusters)))
    ranks, alpha = np.arange(1, lengths.shape[1] + 1), float(np.clip(20 / len(lengths), 0.1, 0.6))
    for cluster in clusters:
        lines = [np.column_stack([ranks, one]) for one in lengths[cluster.members]]
        ax.add_collection(LineCollection(lines, colors=cluster.style.color, linewidths=0.8, alpha=alpha))
        mean = legend_line(cluster)
        mean.set_data(ranks, np.exp(np.log(lengths[cluster.members]).mean(axis=0)))
        ax.add_line(mean)
    ax.autoscale_view()
    ax.set(xlabel="axis, from shortest to longest", ylabel="axis length, scaled to unit product", yscale="log")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    # Plain numbers at round places: powers of ten alone are too few.
    few = lengths.max() / lengths.min() <= _SHORT_SPAN
    ax.yaxis.set_major_locator(MaxNLocator(nbins=7) if few else LogLocator(subs=(1, 2, 5), numticks=10))
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:.3g}"))
    ax.yaxis.set_minor_locator(NullLocator())
    legend_beside(ax, [legend_line(cluster) for cluster in named(clusters)], "cluster")
    return ax


def _unit_lengths(covariances: ArrayLike) -> FloatArray:
    """Return the axis lengths of each matrix, ascending, with product one; shape (n_matrices, n_dims)."""
    log_lengths = np.log(eigenvalues(covariances, name="covariances")) / 2
    return np.asarray(np.exp(log_lengths - log_lengths.mean(axis=1, keepdims=True)))


# --- ellipses and ellipsoids ------------------------------------------------------------------------------------------


def draw_ellipses(
    ax: Axes, factors: FloatArray, centres: FloatArray, clusters: list[Cluster], max_opacity: float = 0.6
) -> None:
    """Draw the outlines, one collection per cluster, filled so that overlapping ones stay visible."""
    outlines = outlines_of(factors) + centres[:, np.newaxis, :]
    alpha = float(np.clip(30 / len(factors), 0.15, max_opacity))
    for cluster in clusters:
        add_polygons(ax, outlines[cluster.members], cluster.style, facecolors=to_rgba(cluster.style.color, alpha))


def sphere_to_body(covariances: ArrayLike, n_dims: int, sizes: _Sizes) -> FloatArray:
    """Return a matrix per covariance that takes the unit sphere to its ellipsoid: eigenvectors times axis lengths."""
    if sizes not in _SCALES:
        raise InputError(f"sizes is {sizes!r}, needed 'true' or 'equal'.")
    covariances = check_covariances(covariances, "covariances")
    found = covariances.shape[1]
    if found != n_dims:
        remedy = {2: "plot_ellipses", 3: "plot_ellipsoids"}.get(found, "plot_spectra, for any number of dimensions")
        raise InputError(f"covariances are {found} x {found}, needed {n_dims} x {n_dims}. Use {remedy}.")
    values, vectors = np.linalg.eigh(covariances)
    # An axis of no length has no normal to shade a surface by.
    lengths = np.sqrt(np.maximum(values, 1e-12 * values[:, -1:]))
    if sizes == "equal":
        lengths *= np.median(lengths[:, -1]) / lengths[:, -1:]
    return np.asarray(vectors * lengths[:, np.newaxis, :])


def add_polygons(ax: Axes, corners: Any, style: ClusterStyle | None = None, **looks: Any) -> None:
    """Add polygons of equally many corners, (n_polygons, n_corners, 2), as one collection.

    With a style they have its hatch, and edges in its colour, darkened.
    """
    if style is not None:
        looks |= {"edgecolors": [darkened(style.color)], "hatch": style.hatch}
    # As one array they are taken in many times faster than as the sequence matplotlib's types ask for.
    ax.add_collection(PolyCollection(corners, **looks))


def outlines_of(factors: FloatArray) -> FloatArray:
    """Return the outline of each ellipsoid as seen along its last dimension, shape (n_items, N_CORNERS, 2)."""
    # The shadow of an ellipsoid is the ellipse of the covariance of the coordinates that are left.
    shadows = factors[:, :2] @ factors[:, :2].swapaxes(1, 2)
    values, vectors = np.linalg.eigh(shadows)
    angles = np.linspace(0, 2 * np.pi, _N_CORNERS, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    return np.asarray(((vectors * np.sqrt(values)[:, np.newaxis, :]) @ circle).swapaxes(1, 2))


def _camera(elevation: float, azimuth: float) -> FloatArray:
    """Return the rotation to coordinates that point right, up and towards the viewer; the angles are in degrees."""
    up, around = np.deg2rad([elevation, azimuth])
    return np.array(
        [
            [-np.sin(around), np.cos(around), 0.0],
            [-np.sin(up) * np.cos(around), -np.sin(up) * np.sin(around), np.cos(up)],
            [np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)],
        ]
    )


def _draw_surfaces(ax: Axes, factors: FloatArray, centres: FloatArray, clusters: list[Cluster]) -> None:
    """Draw the visible faces of all ellipsoids, shaded by the light that falls on them, and their outlines.

    An ellipsoid is convex and none is in front of another, so faces turned to the viewer hide nothing that is seen.
    """
    corners, directions = _sphere(_MAX_FACES // len(factors))
    normals = np.einsum("nij,fj->nfi", factors / (factors**2).sum(axis=1, keepdims=True), directions)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    seen = normals[..., 2] > 0
    polygons = np.einsum("nij,fcj->nfci", factors[:, :2], corners) + centres[:, np.newaxis, np.newaxis, :]
    colors = _shaded(item_colors(clusters, len(factors))[:, :3], normals)
    # Edges in the colour of their face close the seams between faces.
    add_polygons(ax, polygons[seen], facecolors=colors[seen], edgecolors="face", linewidths=0.8)
    outlines = outlines_of(factors) + centres[:, np.newaxis, :]
    for cluster in clusters:
        add_polygons(ax, outlines[cluster.members], cluster.style, facecolors="none", linewidths=0.8)


def _sphere(n_faces: int) -> tuple[FloatArray, FloatArray]:
    """Return about `n_faces` faces of a sphere: their corners, (n_faces, 4, 3), and directions, (n_faces, 3)."""
    n_bands = int(np.clip(sqrt(n_faces / 2), 5, 40))
    polar, around = np.linspace(0, np.pi, n_bands + 1), np.linspace(0, 2 * np.pi, 2 * n_bands + 1)
    polar, around = np.meshgrid(polar, around, indexing="ij")
    points = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], axis=-1)
    corners = np.stack([points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]], axis=2).reshape(-1, 4, 3)
    return corners, corners.mean(axis=1)


def _shaded(colors: FloatArray, normals: FloatArray) -> FloatArray:
    """Return the colour of each face, (n_items, n_faces, 3): dim in the shade and at the rim, white in full light."""
    light = np.clip(normals @ _LIGHT, 0, 1)[..., np.newaxis]
    dimmed = colors[:, np.newaxis, :] * (0.4 + 0.2 * normals[..., 2:] + 0.4 * light)
    return np.asarray(dimmed + (1 - dimmed) * 0.5 * light**6)


# --- the grid ---------------------------------------------------------------------------------------------------------


def _set_out(ax: Axes | None, clusters: list[Cluster], caption: str) -> tuple[Axes, FloatArray]:
    """Return Axes and where on them the centre of each body belongs, (n_items, 2), cluster by cluster in rows.

    Bodies reach as far as one from their centre. Below each is its number if there are few enough for it to be read.
    """
    order = sorted_items(clusters)
    n_rows, n_columns = _grid_shape(len(order))
    numbered = len(order) <= _MAX_NUMBERED
    cell = min((_WIDTH - _LEGEND_WIDTH) / n_columns, _MAX_CELL)
    width = max(n_columns * cell + _LEGEND_WIDTH, _MIN_WIDTH)
    figsize = width, n_rows * (cell + _NUMBER_HEIGHT * numbered) + _CAPTION_HEIGHT
    ax = axes_or_new(ax, figsize, n_entries=len(named(clusters)))
    points_per_cell = size_in_points(ax)[0] / n_columns
    height = _CELL * (1 + min(_LINE_HEIGHT * font_points("font.size") / points_per_cell, 1.0) * numbered)
    rows, columns = np.divmod(np.argsort(order), n_columns)
    centres = np.stack([columns * _CELL, rows * -height], axis=1)
    ax.set(xlim=(-_CELL / 2, (n_columns - 0.5) * _CELL), ylim=(_CELL / 2 - n_rows * height, _CELL / 2))
    ax.set(aspect="equal", xticks=[], yticks=[], xlabel=caption)
    ax.spines[:].set_visible(False)
    if numbered:
        for item, (x, y) in enumerate(centres):
            ax.text(x, y - height / 2, str(item), ha="center", va="center")
    return ax, centres


def _grid_shape(n_items: int) -> tuple[int, int]:
    """Return rows and columns of a grid somewhat wider than high, or raise if there are too many items to draw."""
    if n_items > _MAX_ITEMS:
        raise InputError(
            f"covariances holds {n_items} matrices, needed at most {_MAX_ITEMS} to draw them side by side. "
            "Draw a random choice of them, or all with plot_spectra."
        )
    n_columns = min(ceil(sqrt(1.4 * n_items)), n_items)
    return ceil(n_items / n_columns), n_columns


def _unit_reach(factors: FloatArray) -> FloatArray:
    """Return the bodies at one scale, at which the largest reaches as far as one from its centre."""
    return np.asarray(factors / np.linalg.norm(factors, ord=2, axis=(1, 2)).max())
