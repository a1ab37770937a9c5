"""What goes on the page of clustered items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.covariance import eigenvalues
from homothety.datasets import MatrixSet
from homothety.metrics import ari, f_measure, nmi, purity
from homothety.numbering import cluster_number
from homothety.report import chains, settings
from homothety.report.document import Answer, Chart, Report, Section, Table, Text
from homothety.report.downsampling import as_bytes, as_codes, block_means, packed, runs_of
from homothety.report.looks import chain_looks, cluster_looks
from homothety.report.slices import slices_section
from homothety.report.words import MAX_POINTS, NOT_KNOWN, listing
from homothety.summaries.partitions import membership
from homothety.words import SURE, enumerated, number_of, voxel_in_words
from homothety.words.clusters import nearly_singular_in_words, one_cluster_in_words

if TYPE_CHECKING:
    from homothety.arrays import FloatArray, IntArray
    from homothety.report.runs import Run

METRICS = {"NMI": nmi, "purity": purity, "F": f_measure, "ARI": ari}

MAX_ROWS = 1000  # of items in a table; the least sure ones come first
MAX_DOTS = 10_000  # drawn
MAX_SIDE = 240  # cells along a side of a drawn matrix
ONE_SIZE = 1.005  # ratio of sizes up to which they are the same, in three digits
SHAPE_MEASURES = ("spcm", "bspcm")  # the others see where axes point and how long they are, too
MAX_AXES = 8  # lengths of axes in a cell of a table

MATRICES = {
    "similarity": ("similarity_", "Similarity", "Similarity of all pairs of items, sorted by cluster."),
    "coclustering": (
        "coclustering_",
        "Co-clustering",
        "Share of the kept sweeps in which two items are in one cluster, sorted by cluster.",
    ),
}
AGREEMENT = "Agreement is the mean share of draws in which an item is in one cluster with the other members of its own."


@dataclass(frozen=True, eq=False)
class Clustered:
    """Items, their clusters, and how sure these are; None for what the model does not know."""

    run: Run

    @property
    def model(self) -> Any:
        """What was fitted."""
        return self.run.model

    @property
    def labels(self) -> IntArray:
        """Cluster of each item, from 0."""
        labels: IntArray = self.model.labels_
        return labels

    @property
    def numbers(self) -> IntArray:
        """Cluster of each item as readers see it, from 1."""
        return cluster_number(self.labels)

    @property
    def called(self) -> str:
        """What the items are."""
        return "item" if self.matrices is None else "matrix"

    @property
    def plural(self) -> str:
        """The same of several."""
        return "items" if self.matrices is None else "matrices"

    @cached_property
    def index(self) -> IntArray:
        """What the items are called: their numbers in the file they came from."""
        return np.arange(len(self.labels)) if self.run.index is None else self.run.index

    @property
    def matrices(self) -> FloatArray | None:
        """The matrices, if matrices were clustered; models of very many do not keep them, what they came from does."""
        given = getattr(self.run.items, "matrices", None) if hasattr(self.model, "measure") else None
        return getattr(self.model, "matrices_", given)

    @property
    def positions(self) -> IntArray | None:
        """The voxel of each matrix, if they are of an image."""
        return getattr(self.run.items, "positions", None)

    def name_of(self, i: int) -> str:
        """Return what an item is called: its number in the file, and its voxel where there is one."""
        number = str(self.index[i])
        return number if self.positions is None else f"{number}, {voxel_in_words(self.positions[i])}"

    def names(self, some: IntArray) -> list[Any]:
        """Return what some items are called on charts."""
        return self.index[some].tolist() if self.positions is None else [self.name_of(i) for i in some]

    @property
    def truth(self) -> Any:
        """The true class of each item, if it is known."""
        return getattr(self.run.items, "labels", None)

    @cached_property
    def probability(self) -> FloatArray | None:
        """How firmly each item belongs to its cluster."""
        if not hasattr(self.model, "coclustering_"):
            return getattr(self.model, "probability_", None)
        return membership(self.model.coclustering_, self.labels)

    @property
    def order(self) -> IntArray:
        """Items cluster by cluster."""
        return np.argsort(self.labels, kind="stable")


def describe_clustering(run: Run) -> Report:
    """Return what there is to say of clustered items."""
    seen = Clustered(run)
    drawn = {name: getattr(seen.model, attribute, None) for name, (attribute, *_) in MATRICES.items()}
    known = {name: matrix for name, matrix in drawn.items() if matrix is not None}
    shown = slices_section(run.items, seen.labels) if isinstance(run.items, MatrixSet) else None
    images = [] if shown is None else [shown]
    sections = [
        clusters_section(seen),
        *images,
        *([embedding_section(seen)] if hasattr(seen.model, "embedding_") else []),
        *(matrix_section(seen, name, matrix) for name, matrix in known.items()),
        items_section(seen),
        chains.section(seen.model),
        settings.section(run, "matrices" if seen.matrices is not None else "items"),
    ]
    return Report(headline(seen), settings.subtitle(run), answers(seen), sections, clustering_data(seen, known))


def headline(seen: Clustered) -> str:
    """Return the outcome in one sentence."""
    return f"{_items(seen, len(seen.labels))} in {number_of(seen.model.n_clusters_, 'cluster')}"


def _items(seen: Clustered, count: int) -> str:
    if seen.matrices is None:
        return number_of(count, "item")
    return f"{count} {'matrix' if count == 1 else 'matrices'} of {seen.matrices.shape[1]} x {seen.matrices.shape[1]}"


def answers(seen: Clustered) -> list[Answer]:
    """Return how many clusters there are, what is uncertain, how they differ, and if chains agree."""
    return [how_many(seen), what_is_uncertain(seen), how_clusters_differ(seen), chains.answer(seen.model)]


def how_many(seen: Clustered) -> Answer:
    """Return how many clusters were found, and how sure that is."""
    sizes = np.bincount(seen.labels)
    text = f"Of {enumerated([str(size) for size in sizes])} {seen.plural}."
    traced = getattr(seen.model, "trace_", {}).get("n_clusters")
    if traced is not None:
        text += f" Their number is {chains.counts_in_words(traced, seen.model.n_burn_)}."
    for said in (
        one_cluster_in_words(seen.model),
        nearly_singular_in_words(seen.model, seen.index, seen.positions),
    ):
        text += f" {said}" * bool(said)
    if seen.truth is not None:
        scores = ", ".join(f"{name} {metric(seen.truth, seen.labels):.3f}" for name, metric in METRICS.items())
        text += f" Against the labels of the set, which the model was not told: {scores}."
    return Answer("How many clusters are there?", f"{number_of(len(sizes), 'cluster')}.", text)


def what_is_uncertain(seen: Clustered) -> Answer:
    """Return which items may belong elsewhere."""
    question = f"Which {seen.plural} are uncertain?"
    if seen.probability is None:
        return Answer(question, *NOT_KNOWN)
    order = np.argsort(seen.probability, kind="stable")
    unsure = order[seen.probability[order] < SURE]
    limit = f"an agreement below {SURE:.2f}"
    if not len(unsure):
        return Answer(question, "None.", f"None has {limit}. {AGREEMENT}")
    points = [
        f"{seen.called.capitalize()} {seen.name_of(i)}: cluster {seen.numbers[i]}, agreement {seen.probability[i]:.2f}"
        for i in unsure[:MAX_POINTS]
    ]
    return Answer(
        question, f"{len(unsure)} of {len(order)}.", f"They have {limit}. {AGREEMENT} The least sure:", points
    )


def how_clusters_differ(seen: Clustered) -> Answer:
    """Return in what shape clusters differ, and how much their members do in size."""
    question = "How do the clusters differ?"
    if seen.model.n_clusters_ == 1:
        return Answer(question, "There is only one.")
    if seen.matrices is None:
        return Answer(question, "By where their items are.", "That is all that was looked at.")
    text = "Axis lengths, with their geometric mean made one, are below; members of a cluster may differ in size."
    shapes, sizes = shapes_and_sizes(seen.matrices)
    members = [seen.labels == k for k in range(min(seen.model.n_clusters_, MAX_POINTS))]
    points = [
        f"Cluster {cluster_number(k)}: axes {_axes(shapes[own])}; {_sizes(sizes[own])}" for k, own in enumerate(members)
    ]
    more = [f"{seen.model.n_clusters_ - MAX_POINTS} more are in the table of clusters"]
    points += more * (seen.model.n_clusters_ > MAX_POINTS)
    return Answer(question, _what_was_compared(seen.model), text, points)


def _what_was_compared(model: Any) -> str:
    """Return what of the matrices the clusters rest on."""
    if callable(model.measure):
        return "By the measure that was given."
    if getattr(model, "model_", "links") == "shapes":
        return "By shape and size." if model.size == "use" else "By shape."
    by_shape = model.points == "shape" or (model.points in (None, "spectral") and model.measure in SHAPE_MEASURES)
    return "By shape." if by_shape else "As whole matrices: shape, size and direction."


def shapes_and_sizes(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the axis lengths of matrices over their geometric mean, the longest first, and that mean."""
    log_lengths = 0.5 * np.log(np.maximum(eigenvalues(matrices), np.finfo(np.float64).tiny))
    log_sizes = log_lengths.mean(axis=1)
    return np.sort(np.exp(log_lengths - log_sizes[:, None]), axis=1)[:, ::-1], np.exp(log_sizes)


def _axes(shapes: FloatArray) -> str:
    """Return the axis lengths that members of a cluster have in the geometric mean."""
    lengths = np.exp(np.log(shapes).mean(axis=0))
    return " : ".join(f"{length:.3g}" for length in lengths[:MAX_AXES]) + " : ..." * (len(lengths) > MAX_AXES)


def _sizes(sizes: FloatArray) -> str:
    ratio = sizes.max() / sizes.min()
    return f"the largest is {ratio:.3g} times as large as the smallest" if ratio > ONE_SIZE else "all of one size"


def clusters_section(seen: Clustered) -> Section:
    """Return the part with all clusters."""
    return Section("labels", "Clusters", [Table("All clusters", *clusters_table(seen))])


def clusters_table(seen: Clustered) -> tuple[list[str], list[list[object]]]:
    """Return header and rows of a table of clusters: how large, how sure, of what shape and sizes."""
    header = ["cluster", seen.plural, "share", *["mean agreement"] * (seen.probability is not None)]
    header += ["axis lengths", "sizes"] * (seen.matrices is not None)
    shapes, sizes = (None, None) if seen.matrices is None else shapes_and_sizes(seen.matrices)
    rows = []
    for k in range(seen.model.n_clusters_):
        members = seen.labels == k
        row: list[object] = [cluster_number(k), int(members.sum()), f"{members.mean():.0%}"]
        if seen.probability is not None:
            row.append(f"{seen.probability[members].mean():.2f}")
        if shapes is not None and sizes is not None:
            row += [_axes(shapes[members]), f"{sizes[members].min():.3g} to {sizes[members].max():.3g}"]
        rows.append(row)
    return header, rows


def embedding_section(seen: Clustered) -> Section:
    """Return the part with the coordinates that were clustered."""
    n_dims = seen.model.embedding_.shape[1]
    turned = " Drag it, or use the arrow keys, to turn it." * (n_dims >= 3)
    first = f"the first {min(n_dims, 3)} of {n_dims} coordinates" if n_dims > 3 else "the coordinates"
    number = "Every" if len(seen.labels) <= MAX_DOTS else f"{MAX_DOTS} of {len(seen.labels)}: every"
    caption = (
        f"{number} {seen.called} at {first} that were clustered, with the colour and the marker of its cluster.{turned}"
    )
    label = f"Scatter plot of {len(seen.labels)} {seen.plural} in {seen.model.n_clusters_} clusters."
    return Section("embedding", "Embedding", [Chart("space", "space", label, caption)])


def matrix_section(seen: Clustered, name: str, matrix: FloatArray) -> Section:
    """Return the part with a matrix of all pairs: drawn, and as means over pairs of clusters."""
    _, title, caption = MATRICES[name]
    side = -(-len(matrix) // MAX_SIDE)
    thinned = f" A cell is the mean of {side} x {side} pairs." * (side > 1)
    label = f"{title} of all pairs; the table of means over clusters says the same in short."
    numbers = [f"cluster {cluster_number(k)}" for k in range(seen.model.n_clusters_)]
    means = cluster_means(matrix, seen.labels)
    rows = [[one, *row] for one, row in zip(numbers, means.round(2).tolist(), strict=True)]
    table = Table(f"Mean {title.lower()} of pairs, cluster by cluster", ["", *numbers], rows, shaded=True)
    return Section(name, title, [Chart(name, "matrix", label, caption + thinned), table])


def cluster_means(matrix: FloatArray, labels: IntArray) -> FloatArray:
    """Return the mean of a matrix over all pairs of members of two clusters, (n_clusters, n_clusters)."""
    shares = (labels[:, None] == np.arange(labels.max() + 1)) / np.bincount(labels)
    return np.asarray(shares.T @ matrix @ shares)


def items_section(seen: Clustered) -> Section:
    """Return the part with all items, the least sure first."""
    sure = np.ones(len(seen.labels)) if seen.probability is None else seen.probability
    order = np.argsort(sure, kind="stable")[:MAX_ROWS]
    columns: dict[str, Any] = {seen.called: seen.index[order].tolist()}
    if seen.positions is not None:
        columns["voxel"] = [str(tuple(voxel)) for voxel in seen.positions[order].tolist()]
    columns["cluster"] = seen.numbers[order].tolist()
    if seen.probability is not None:
        columns["agreement"] = [f"{seen.probability[i]:.2f}" for i in order]
    if seen.truth is not None:
        columns["true class"] = [str(seen.truth[i]) for i in order]
    rows = list(zip(*columns.values(), strict=True))
    cut = f"Only {MAX_ROWS} of {len(seen.labels)} are listed. " * (len(seen.labels) > MAX_ROWS)
    caption = listing(seen.plural, len(seen.labels), MAX_ROWS, by_doubt=seen.probability is not None)
    table = Table(caption, list(columns), rows, folded=True)
    return Section("items", seen.plural.capitalize(), [Text(cut + AGREEMENT * (seen.probability is not None)), table])


def clustering_data(seen: Clustered, known: dict[str, FloatArray]) -> dict[str, Any]:
    """Return what the charts draw."""
    data: dict[str, Any] = {"looks": {"cluster": cluster_looks(seen.model.n_clusters_)}}
    data |= {name: matrix_data(seen, matrix) for name, matrix in known.items()}
    if hasattr(seen.model, "embedding_"):
        data["space"] = points_data(seen)
    if chains.is_sampled(seen.model):
        data["looks"]["chain"] = chain_looks(len(seen.model.trace_["log_joint"]))
        data["traces"] = chains.trace_data(seen.model.trace_, seen.model.n_burn_)
    return data


def matrix_data(seen: Clustered, matrix: FloatArray) -> dict[str, Any]:
    """Return a matrix of all pairs, sorted by cluster."""
    order = seen.order
    cells = block_means(matrix[np.ix_(order, order)], MAX_SIDE)
    return {
        "side": len(cells),
        "every": -(-len(matrix) // MAX_SIDE),
        "cells": packed(as_bytes(cells)),
        "items": seen.names(order),
        "clusters": runs_of(seen.numbers[order]),
    }


def points_data(seen: Clustered) -> dict[str, Any]:
    """Return the coordinates of the items, the first three; of very many, evenly chosen ones."""
    some = np.unique(np.linspace(0, len(seen.labels) - 1, MAX_DOTS).astype(int))
    points = seen.model.embedding_[some, :3]
    low, high = points.min(axis=0), points.max(axis=0)
    return {
        "names": [f"coordinate {dim + 1}" for dim in range(points.shape[1])],
        "low": low.tolist(),
        "high": high.tolist(),
        "places": [packed(codes) for codes in as_codes(points, low, high).T],
        "labels": seen.labels[some].tolist(),
        "items": seen.names(some),
    }
