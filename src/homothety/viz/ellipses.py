"""Covariances of two dimensions as ellipses of one standard deviation, and what ellipsoids share with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba

from homothety.arrays import check_points
from homothety.covariance.spectra import check_covariances
from homothety.errors import InputError
from homothety.palette import darkened
from homothety.viz._clusters import group_items
from homothety.viz._figure import axes_or_new, legend_beside, legend_patch, named
from homothety.viz._side_by_side import set_out, unit_reach

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray
    from homothety.viz._clusters import Cluster

Sizes = Literal["true", "equal"]
SCALES: dict[Sizes, str] = {"true": "all to one scale", "equal": "each to its own scale"}

FIGSIZE = (6.4, 4.8)
N_CORNERS = 64  # of an outline


def plot_ellipses(
    covariances: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    means: ArrayLike | None = None,
    sizes: Sizes | None = None,
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
        ax, centres = set_out(ax, clusters, f"ellipses of one standard deviation, {SCALES[sizes]}")
        draw_ellipses(ax, unit_reach(factors), centres, clusters)
    else:
        ax = axes_or_new(ax, FIGSIZE, n_entries=len(named(clusters)))
        draw_ellipses(ax, factors, _check_means(means, len(factors)), clusters)
        ax.autoscale_view()
        ax.set(xlabel="dimension 0", ylabel="dimension 1")
        ax.set_aspect("equal")
    legend_beside(ax, [legend_patch(cluster) for cluster in named(clusters)], "cluster")
    return ax


def _check_means(means: ArrayLike, n_matrices: int) -> FloatArray:
    centres = check_points(means, "means")
    if centres.shape != (n_matrices, 2):
        raise InputError(f"means has shape {centres.shape}, needed ({n_matrices}, 2): a centre for each matrix.")
    return centres


def draw_ellipses(
    ax: Axes, factors: FloatArray, centres: FloatArray, clusters: list[Cluster], max_opacity: float = 0.6
) -> None:
    """Draw the outlines, one collection per cluster, filled so that overlapping ones stay visible."""
    outlines = outlines_of(factors) + centres[:, np.newaxis, :]
    alpha = float(np.clip(30 / len(factors), 0.15, max_opacity))
    for cluster in clusters:
        fill, edge = to_rgba(cluster.style.color, alpha), darkened(cluster.style.color)
        add_polygons(ax, outlines[cluster.members], facecolors=[fill], edgecolors=[edge], hatch=cluster.style.hatch)


def sphere_to_body(covariances: ArrayLike, n_dims: int, sizes: Sizes) -> FloatArray:
    """Return a matrix per covariance that takes the unit sphere to its ellipsoid: eigenvectors times axis lengths."""
    if sizes not in SCALES:
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


def add_polygons(ax: Axes, corners: Any, **looks: Any) -> None:
    """Add polygons of equally many corners, (n_polygons, n_corners, 2), as one collection."""
    # As one array they are taken in many times faster than as the sequence matplotlib's types ask for.
    ax.add_collection(PolyCollection(corners, **looks))


def outlines_of(factors: FloatArray) -> FloatArray:
    """Return the outline of each ellipsoid as seen along its last dimension, shape (n_items, N_CORNERS, 2)."""
    # The shadow of an ellipsoid is the ellipse of the covariance of the coordinates that are left.
    shadows = factors[:, :2] @ factors[:, :2].swapaxes(1, 2)
    values, vectors = np.linalg.eigh(shadows)
    angles = np.linspace(0, 2 * np.pi, N_CORNERS, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    return np.asarray(((vectors * np.sqrt(values)[:, np.newaxis, :]) @ circle).swapaxes(1, 2))
