"""Spectra scaled to unit product: what is left of a covariance matrix without rotation and scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

from homothety.covariance.spectra import eigenvalues
from homothety.palette import darkened
from homothety.viz._clusters import group_items
from homothety.viz._figure import axes_or_new, legend_beside, named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray
    from homothety.viz._clusters import Cluster

FIGSIZE = (6.4, 4.2)
SHORT_SPAN = 4.0  # ratio of lengths below which round steps suit a logarithmic axis better than 1, 2, 5, 10


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
    lengths = unit_lengths(covariances)
    clusters = group_items(labels, len(lengths))
    ax = axes_or_new(ax, FIGSIZE, n_entries=len(named(clusters)))
    alpha = float(np.clip(20 / len(lengths), 0.1, 0.6))
    for cluster in clusters:
        _draw_cluster(ax, lengths[cluster.members], cluster, alpha)
    ax.autoscale_view()
    ax.set(xlabel="axis, from shortest to longest", ylabel="axis length, scaled to unit product")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    _scale_logarithmically(ax, lengths.max() / lengths.min())
    legend_beside(ax, [_mean_line(cluster) for cluster in named(clusters)], "cluster")
    return ax


def unit_lengths(covariances: ArrayLike) -> FloatArray:
    """Return the axis lengths of each matrix, ascending, with product one; shape (n_matrices, n_dims)."""
    log_lengths = np.log(eigenvalues(covariances, name="covariances")) / 2
    return np.asarray(np.exp(log_lengths - log_lengths.mean(axis=1, keepdims=True)))


def _scale_logarithmically(ax: Axes, span: float) -> None:
    """Make the vertical axis logarithmic, with plain numbers at round places: powers of ten alone are too few."""
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=10) if span > SHORT_SPAN else MaxNLocator(nbins=7))
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:.3g}"))
    ax.yaxis.set_minor_locator(NullLocator())


def _draw_cluster(ax: Axes, lengths: FloatArray, cluster: Cluster, alpha: float) -> None:
    """Draw the spectra of one cluster and their geometric mean."""
    ranks = np.arange(1, lengths.shape[1] + 1)
    lines = np.stack([np.broadcast_to(ranks, lengths.shape), lengths], axis=-1)
    ax.add_collection(LineCollection(list(lines), colors=cluster.style.color, linewidths=0.8, alpha=alpha))
    mean = _mean_line(cluster)
    mean.set_data(ranks, np.exp(np.log(lengths).mean(axis=0)))
    ax.add_line(mean)


def _mean_line(cluster: Cluster) -> Line2D:
    """Return a line in the style of a cluster, without data."""
    style = cluster.style
    line = Line2D([], [], color=style.color, linestyle=style.linestyle, marker=style.marker, label=cluster.name)
    line.set_markeredgecolor(darkened(style.color))
    return line
