"""The pictures of a clustered set, and what pictures of series have in common."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.numbering import cluster_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.figure import Figure

    from homothety.arrays import IntArray
    from homothety.datasets import MatrixSet
    from homothety.estimators.spcm import SPCMMixture

    Drawing = Callable[[], Figure]

MAX_BODIES = 200  # ellipses or ellipsoids in one picture
MAX_POINTS = 20_000  # points or lines in one picture
MAX_SERIES = 8  # with a picture of their own

CAPTIONS = {
    "similarity": "Similarity of all pairs, sorted by cluster.",
    "coclustering": "Share of the kept sweeps in which two matrices are in one cluster.",
    "embedding": "The coordinates that were clustered.",
    "traces": "What the chains did, sweep by sweep.",
    "spectra": "Axis lengths of every matrix, scaled to unit product: its shape.",
    "ellipses": "The matrices as ellipses, scaled to equal length.",
    "ellipsoids": "The matrices as ellipsoids, scaled to equal length.",
    "label-image": "The cluster of every voxel.",
    "label-comparison": "The cluster of every voxel, and its true class.",
}

OF_SEGMENTATIONS = {
    "aligned",
    "segments",
    "actions",
    "trajectories",
    "ellipses",
    "features",
    "transitions",
    "coaction",
    "transforms",
    *(f"series-{i}" for i in range(MAX_SERIES)),
}
# What a page called summary.md may show, of a clustering or of a segmentation: either takes the place of the other.
PAGE_FIGURES = {*CAPTIONS, *OF_SEGMENTATIONS}


def clustering_figures(model: SPCMMixture, items: MatrixSet) -> dict[str, Drawing]:
    """Return functions that draw a fitted model, by the name of the figure."""
    from homothety import viz

    labels, matrices = model.labels_, items.matrices
    names = cluster_number(labels).astype(str)
    few = some_of_each(labels, MAX_POINTS)
    drawings: dict[str, Callable[[], Any]] = {
        "embedding": partial(viz.plot_embedding, model.embedding_[few], names[few]),
        "traces": partial(viz.plot_traces, model.trace_, model.n_burn_),
        "spectra": partial(viz.plot_spectra, matrices[few], names[few]),
    }
    if hasattr(model, "similarity_"):
        drawings["similarity"] = partial(viz.plot_similarity, model.similarity_, names)
        drawings["coclustering"] = partial(viz.plot_coclustering, model.coclustering_, names)
    some = some_of_each(labels, MAX_BODIES)
    if matrices.shape[1] == 2:
        drawings["ellipses"] = partial(viz.plot_ellipses, matrices[some], names[some], sizes="equal")
    if matrices.shape[1] == 3:
        drawings["ellipsoids"] = partial(viz.plot_ellipsoids, matrices[some], names[some], sizes="equal")
    if items.grid is not None and items.labels is None:
        drawings["label-image"] = partial(viz.plot_label_image, names, items)
    if items.grid is not None and items.labels is not None:
        drawings["label-comparison"] = partial(viz.plot_label_comparison, names, items.labels, items)
    return {name: partial(_drawn, drawing) for name, drawing in drawings.items()}


def some_of_each(labels: IntArray, most: int) -> IntArray:
    """Return at most `most` items in ascending order, taken from the clusters in turn, or all if there are no more."""
    order = np.argsort(labels, kind="stable")
    rank = np.empty(len(labels), dtype=np.int64)
    counts = np.bincount(labels)
    rank[order] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(np.argsort(rank, kind="stable")[:most])


def draw_paths(paths: Sequence[Any], names: Sequence[str], *, called: str, **options: Any) -> Figure:
    """Draw the labels of series as one bar each, under a legend that says what labels are called."""
    from homothety import viz

    ax = viz.plot_paths(paths, names, **options)
    legend = ax.get_legend()
    if legend is not None:
        legend.set_title(called)
    return figure_of(ax)


def figure_of(drawn: Any) -> Figure:
    """Return the figure of whatever Axes came back."""
    axes = drawn[0] if isinstance(drawn, list) else drawn
    figure: Figure = axes.figure
    return figure


def _drawn(draw: Callable[[], Any]) -> Figure:
    return figure_of(draw())
