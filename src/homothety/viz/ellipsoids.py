"""Covariances of three dimensions as ellipsoids of one standard deviation."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import to_rgb

from homothety.palette import darkened
from homothety.viz._clusters import group_items
from homothety.viz._figure import legend_beside, legend_patch, named
from homothety.viz._side_by_side import set_out, unit_reach
from homothety.viz.ellipses import SCALES, add_polygons, outlines_of, sphere_to_body

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray
    from homothety.viz._clusters import Cluster
    from homothety.viz.ellipses import Sizes

MAX_FACES = 100_000  # of all ellipsoids together: what is drawn within seconds
LIGHT = np.array([-0.4, 0.6, 0.7]) / np.linalg.norm([-0.4, 0.6, 0.7])  # from the upper left, behind the viewer


def plot_ellipsoids(
    covariances: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    sizes: Sizes = "equal",
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
        Where they are looked at from, in degrees above the plane of dimensions 0 and 1, and around dimension 2.
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
    factors = _camera(elevation, azimuth) @ unit_reach(sphere_to_body(covariances, 3, sizes))
    clusters = group_items(labels, len(factors))
    ax, centres = set_out(ax, clusters, f"ellipsoids of one standard deviation, {SCALES[sizes]}")
    _draw_surfaces(ax, factors, centres, clusters)
    legend_beside(ax, [legend_patch(cluster) for cluster in named(clusters)], "cluster")
    return ax


def _camera(elevation: float, azimuth: float) -> FloatArray:
    """Return the rotation to coordinates that point right, up and towards the viewer."""
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
    corners, directions = _sphere(MAX_FACES // len(factors))
    normals = np.einsum("nij,fj->nfi", factors / (factors**2).sum(axis=1, keepdims=True), directions)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    seen = normals[..., 2] > 0
    polygons = np.einsum("nij,fcj->nfci", factors[:, :2], corners) + centres[:, np.newaxis, np.newaxis, :]
    colors = _shaded(_item_colors(clusters, len(factors)), normals)
    # Edges in the colour of their face close the seams between faces.
    add_polygons(ax, polygons[seen], facecolors=colors[seen], edgecolors="face", linewidths=0.8)
    outlines = outlines_of(factors) + centres[:, np.newaxis, :]
    for cluster in clusters:
        edge, hatch = darkened(cluster.style.color), cluster.style.hatch
        add_polygons(ax, outlines[cluster.members], facecolors="none", edgecolors=[edge], linewidths=0.8, hatch=hatch)


def _sphere(n_faces: int) -> tuple[FloatArray, FloatArray]:
    """Return about `n_faces` faces of a sphere: their corners, (n_faces, 4, 3), and directions, (n_faces, 3)."""
    n_bands = int(np.clip(sqrt(n_faces / 2), 5, 40))
    polar, around = np.linspace(0, np.pi, n_bands + 1), np.linspace(0, 2 * np.pi, 2 * n_bands + 1)
    polar, around = np.meshgrid(polar, around, indexing="ij")
    points = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], axis=-1)
    corners = np.stack([points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]], axis=2).reshape(-1, 4, 3)
    return corners, corners.mean(axis=1)


def _item_colors(clusters: list[Cluster], n_items: int) -> FloatArray:
    colors = np.empty((n_items, 3))
    for cluster in clusters:
        colors[cluster.members] = to_rgb(cluster.style.color)
    return colors


def _shaded(colors: FloatArray, normals: FloatArray) -> FloatArray:
    """Return the colour of each face, (n_items, n_faces, 3): dim in the shade and at the rim, white in full light."""
    light = np.clip(normals @ LIGHT, 0, 1)[..., np.newaxis]
    dimmed = colors[:, np.newaxis, :] * (0.4 + 0.2 * normals[..., 2:] + 0.4 * light)
    return np.asarray(dimmed + (1 - dimmed) * 0.5 * light**6)
