"""Square matrices of items against items, sorted by cluster."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Affine2D, ScaledTranslation, blended_transform_factory

from homothety.arrays import check_similarity
from homothety.viz._clusters import group_items, sorted_items
from homothety.viz._figure import axes_or_new, colorbar_beside, font_points, size_in_points, spaced_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from matplotlib.transforms import Transform
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray
    from homothety.viz._clusters import Cluster

FIGSIZE = (6.2, 5.0)
STRIP = (-11.0, -4.0)  # where the colours of the clusters are, in points from the left edge of the Axes
MAX_SHARP = 400  # items, about as many as the Axes have pixels
NUMBER_PAD = 14.0  # points between that edge and the numbers, past the strip


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
    return _plot_sorted(check_similarity(similarity), labels, ax, cmap, limits, "similarity")


def plot_coclustering(
    coclustering: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    cmap: str = "viridis",
) -> Axes:
    """Draw the posterior probability that two items share a cluster, sorted by a point estimate of the clusters.

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
        As from `plot_similarity`. A sure partition shows as blocks of probability one; blocks that shade into one
        another are clusters the data hardly tell apart.
    """
    probabilities = check_similarity(coclustering, "coclustering")
    return _plot_sorted(probabilities, labels, ax, cmap, (0.0, 1.0), "posterior probability of sharing a cluster")


def _plot_sorted(
    matrix: FloatArray,
    labels: ArrayLike | None,
    ax: Axes | None,
    cmap: str,
    limits: tuple[float, float],
    quantity: str,
) -> Axes:
    clusters = group_items(labels, len(matrix))
    ax = axes_or_new(ax, FIGSIZE)
    draw_sorted(ax, matrix, clusters, Normalize(*limits), cmap, quantity)
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


def draw_sorted(
    ax: Axes, matrix: FloatArray, clusters: list[Cluster], norm: Normalize, cmap: str, quantity: str
) -> AxesImage:
    """Draw a matrix cluster by cluster, with lines between the clusters and a colour bar, and return the image."""
    order = sorted_items(clusters)
    # Cells as large as pixels and larger stay sharp; smaller ones are averaged.
    interpolation = "nearest" if len(matrix) <= MAX_SHARP else None
    image = ax.imshow(matrix[np.ix_(order, order)], cmap=cmap, norm=norm, interpolation=interpolation)
    colorbar_beside(ax, image, quantity)
    if len(clusters) > 1:
        _draw_boundaries(ax, clusters)
    return image


def edges_of(clusters: list[Cluster]) -> FloatArray:
    """Return where clusters begin and end along an axis of a sorted matrix, shape (n_clusters + 1,)."""
    return np.concatenate([[0], np.cumsum([len(cluster.members) for cluster in clusters])]) - 0.5


def _draw_boundaries(ax: Axes, clusters: list[Cluster]) -> None:
    """Draw a line between any two neighbouring clusters, in both directions."""
    edges = edges_of(clusters)
    inner = np.repeat(edges[1:-1], 2).reshape(-1, 2)
    across = np.broadcast_to(edges[[0, -1]], inner.shape)
    segments = np.concatenate([np.stack([inner, across], axis=-1), np.stack([across, inner], axis=-1)])
    width = 0.8 if len(clusters) <= 12 else 0.3
    ax.add_collection(LineCollection(list(segments), colors="white", linewidths=width), autolim=False)


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
    near, far = STRIP
    bars = np.array(
        [[(near, low), (far, low), (far, high), (near, high)] for low, high in pairwise(edges_of(clusters))]
    )
    if side == "top":
        bars = np.stack([bars[..., 1], -bars[..., 0]], axis=-1)
    colors = [cluster.style.color for cluster in clusters]
    strip = PolyCollection(list(bars), facecolors=colors, transform=_points_beside(ax, side), clip_on=False)
    ax.add_collection(strip, autolim=False)


def _points_beside(ax: Axes, side: Literal["left", "top"]) -> Transform:
    """Return the transform that counts points to the right of the left edge of the Axes, or up from the top."""
    corner = ScaledTranslation(0, 1, ax.transAxes)  # type: ignore[arg-type]  # any transform will do
    points = Affine2D().scale(1 / 72) + ax.figure.dpi_scale_trans + corner
    return blended_transform_factory(*((points, ax.transData) if side == "left" else (ax.transData, points)))
