"""The document about a partition."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.covariance import eigenvalues
from homothety.covariance.shape import fractional_anisotropy
from homothety.datasets.sets import Axis, anatomical_axes, voxel_sizes
from homothety.palette import cluster_colors, to_hex
from homothety.phrases import AXES, SURE, cluster_number, enumerated, number_of, voxel_in_words
from homothety.report.charts import MAX_DOTS, MAX_SIDE, pair_matrices, partition_data
from homothety.report.document import (
    MAX_POINTS,
    MAX_ROWS,
    NOT_KNOWN,
    Answer,
    Chart,
    Document,
    Picture,
    Pictures,
    Section,
    Table,
    Text,
    banner_of,
    chains_answer,
    chains_section,
    count_in_words,
    listing,
    settings_section,
    subtitle,
)
from homothety.summaries.tables import agreement_with_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from homothety.arrays import FloatArray, IntArray
    from homothety.datasets import MatrixSet
    from homothety.summaries.result import Partition


_ONE_SIZE = 1.005  # ratio of sizes up to which they are the same, in three digits
_MAX_AXES = 8  # lengths of axes in a cell of a table
_LIKELY, _POSSIBLE = 0.5, 0.05  # probability of one cluster
_N_NAMED = 5  # matrices

_PAIRS = {
    "similarity": ("Similarity", "Similarity of all pairs of items, sorted by cluster."),
    "coclustering": (
        "Co-clustering",
        "Share of the kept sweeps in which two items are in one cluster, sorted by cluster.",
    ),
}
_AGREEMENT = (
    "Agreement is the mean share of kept sweeps in which an item is in one cluster with each of the other members of "
    "its own."
)


def describe_clustering(result: Partition, data: MatrixSet | None = None) -> Document:
    """Return the document about a partition."""
    names = _Names(result, data)
    matrices = result.matrices if data is None else data.matrices
    shown = None if data is None else _slices_section(data, result.labels)
    sections = [
        Section("labels", "Clusters", [Table("All clusters", *_clusters_table(result, matrices), brief=True)]),
        *([] if shown is None else [shown]),
        *([] if result.embedding is None else [_embedding_section(result, result.embedding)]),
        *(_pairs_section(result, name, matrix) for name, matrix in pair_matrices(result).items()),
        _items_section(result, names, data),
        *([] if result.provenance.applied else [chains_section(result.chains)]),
        settings_section(result.provenance, result.items),
    ]
    answers = [
        _how_many(result, names, data),
        _what_is_uncertain(result, names),
        _how_clusters_differ(result, matrices),
    ]
    if not result.provenance.applied:
        answers.append(chains_answer(result.chains))
    data_of_charts = partition_data(result, names.short)
    return Document(result.headline, subtitle(result), answers, sections, data_of_charts, banner_of(result))


class _Names:
    """Names of items: their number in the file, and their voxel if they have one."""

    def __init__(self, result: Partition, data: MatrixSet | None) -> None:
        self.numbers: IntArray = np.arange(len(result.labels)) if result.numbers is None else result.numbers
        self.positions = None if data is None else data.positions

    def short(self, i: int) -> str:
        number = str(self.numbers[i])
        return number if self.positions is None else f"{number}, {voxel_in_words(self.positions[i])}"

    def at_voxel(self, i: int) -> str:
        voxel = "" if self.positions is None else f" at {voxel_in_words(self.positions[i])}"
        return f"matrix {self.numbers[i]}{voxel}"


# Answers


def _how_many(result: Partition, names: _Names, data: MatrixSet | None) -> Answer:
    """Return the answer on the number of clusters and its certainty."""
    sizes = np.bincount(result.labels, minlength=result.n_clusters)
    parts = [
        f"Of {enumerated([str(size) for size in sizes])} {result.items}.",
        count_in_words(result.chains, "n_clusters"),
        _one_cluster(result.one_cluster_probability),
        _nearly_singular(result, names),
        "Voxels could link to those beside them." if result.spatial else "",
    ]
    scores = agreement_with_labels(result, data)
    if scores and data is not None:
        told = ", ".join(f"{name} {value:.3f}" for name, value in scores.items())
        parts.append(f"Against the labels of the set, which the model was not told: {told}.")
        parts.append(
            _more_than_classes(int((sizes > 0).sum()), len(set(np.asarray(data.labels).tolist())), result.basis)
        )
    text = " ".join(part for part in parts if part)
    if result.provenance.applied:
        short = f"{int((sizes > 0).sum())} of {number_of(len(sizes), 'cluster')}."
        return Answer(f"How many clusters of the model are in these {result.items}?", short, text)
    return Answer("How many clusters are there?", f"{number_of(len(sizes), 'cluster')}.", text)


def _more_than_classes(n_clusters: int, n_classes: int, basis: str) -> str:
    """Return what to think of more clusters than known classes; nothing if there are not more, or not by shape.

    Examples
    --------
    >>> _more_than_classes(4, 2, "shape")[:45]
    'There are more clusters (4) than classes (2).'
    """
    if n_clusters <= n_classes or basis not in ("shape", "shape and size"):
        return ""
    more = "" if basis == "shape and size" else " With size='use' (--size use), sizes count too."
    return (
        f"There are more clusters ({n_clusters}) than classes ({n_classes}). Either classes hold several kinds of "
        f"{basis}, or {basis} is the wrong question: it is not what tells these classes apart.{more} Directions count "
        "with measure='lerm' (--measure lerm)."
    )


def _one_cluster(probability: float | None) -> str:
    """Return a sentence on the probability that all items are one cluster; empty if it is not known.

    Examples
    --------
    >>> _one_cluster(0.98)
    'There is nothing to separate: all matrices are one cluster with a probability of 0.98.'
    >>> _one_cluster(0.0)
    'There is more than one cluster: the probability of a single cluster is below 0.01.'
    """
    if probability is None:
        return ""
    told = f"{probability:.2f}" if probability >= 0.01 else "below 0.01"
    if probability >= _LIKELY:
        return f"There is nothing to separate: all matrices are one cluster with a probability of {told}."
    if probability >= _POSSIBLE:
        return f"All matrices may be one cluster: the probability of a single cluster is {told}."
    return f"There is more than one cluster: the probability of a single cluster is {told}."


def _nearly_singular(result: Partition, names: _Names) -> str:
    """Return sentences on nearly singular matrices and their remedy; empty if there are none."""
    found = [] if result.nearly_singular is None else result.nearly_singular.tolist()
    if not found:
        return ""
    some = ", ".join(map(names.at_voxel, found[:_N_NAMED])) + (", and others" if len(found) > _N_NAMED else "")
    return (
        f"{len(found)} of {len(result.labels)} matrices are nearly singular, as if an eigenvalue had been clipped: "
        f"{some}. min_eigenvalue=0.001 (--min-eigenvalue 0.001) raises such eigenvalues; with --only-spd besides, such "
        "matrices are left out."
    )


def _what_is_uncertain(result: Partition, names: _Names) -> Answer:
    """Return the answer on items whose cluster is uncertain."""
    question, probability = f"Which {result.items} are uncertain?", result.probability
    if probability is None:
        return Answer(question, *NOT_KNOWN)
    order = np.argsort(probability, kind="stable")
    unsure = order[probability[order] < SURE]
    limit = f"an agreement below {SURE:.2f}"
    if not len(unsure):
        return Answer(question, "None.", f"None has {limit}. {_AGREEMENT}")
    points = [
        f"{result.item.capitalize()} {names.short(i)}: cluster {cluster_number(result.labels)[i]}, agreement "
        f"{probability[i]:.2f}"
        for i in unsure[:MAX_POINTS]
    ]
    short = f"{len(unsure)} of {len(order)}."
    return Answer(question, short, f"They have {limit}. {_AGREEMENT} The least sure:", points)


def _how_clusters_differ(result: Partition, matrices: FloatArray | None) -> Answer:
    """Return the answer on the shapes of clusters, and on the sizes of their members."""
    question = "How do the clusters differ?"
    if result.n_clusters == 1:
        return Answer(question, "There is only one.")
    if result.n_dims is None or matrices is None:
        return Answer(question, f"By {result.basis}.", "That is all that was compared.")
    text = "Axis lengths, with their geometric mean made one, are below; members of a cluster may differ in size."
    shapes, sizes = _shapes_and_sizes(matrices)
    members = [result.labels == k for k in range(min(result.n_clusters, MAX_POINTS))]
    points = [
        f"Cluster {cluster_number(k)}: axes {_axes(shapes[own])}; {_sizes(sizes[own])}"
        for k, own in enumerate(members)
        if own.any()
    ]
    n_left = result.n_clusters - MAX_POINTS
    points += [f"{n_left} more {'is' if n_left == 1 else 'are'} in the table of clusters"] * (n_left > 0)
    return Answer(question, f"By {result.basis}.", text, points)


def _shapes_and_sizes(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return axis lengths divided by their geometric mean, the longest first, and the geometric means."""
    log_lengths = 0.5 * np.log(np.maximum(eigenvalues(matrices), np.finfo(np.float64).tiny))
    log_sizes = log_lengths.mean(axis=1)
    return np.sort(np.exp(log_lengths - log_sizes[:, None]), axis=1)[:, ::-1], np.exp(log_sizes)


def _axes(shapes: FloatArray) -> str:
    """Return the geometric mean over the members of a cluster of their axis lengths."""
    lengths = np.exp(np.log(shapes).mean(axis=0))
    return " : ".join(f"{length:.3g}" for length in lengths[:_MAX_AXES]) + (
        " : ..." if len(lengths) > _MAX_AXES else ""
    )


def _sizes(sizes: FloatArray) -> str:
    ratio = sizes.max() / sizes.min()
    return f"the largest is {ratio:.3g} times as large as the smallest" if ratio > _ONE_SIZE else "all of one size"


# Sections


def _clusters_table(result: Partition, matrices: FloatArray | None) -> tuple[list[str], list[list[Any]]]:
    """Return header and rows of a table of clusters: number of items, probability, shape and sizes."""
    probability, has_shapes = result.probability, result.n_dims is not None and matrices is not None
    header = ["cluster", result.items, "share", *["mean agreement"] * (probability is not None)]
    header += ["axis lengths", "sizes"] * has_shapes
    shapes, sizes = _shapes_and_sizes(matrices) if has_shapes and matrices is not None else (None, None)
    rows = []
    for k in range(result.n_clusters):
        members = result.labels == k
        row: list[Any] = [cluster_number(k), int(members.sum()), f"{100 * members.mean():.0f} %"]
        if not members.any():
            rows.append([*row, *[None] * (len(header) - len(row))])
            continue
        if probability is not None:
            row.append(f"{probability[members].mean():.2f}")
        if shapes is not None and sizes is not None:
            row += [_axes(shapes[members]), f"{sizes[members].min():.3g} to {sizes[members].max():.3g}"]
        rows.append(row)
    return header, rows


def _embedding_section(result: Partition, embedding: FloatArray) -> Section:
    """Return the coordinates that were clustered."""
    n_items, n_dims = embedding.shape
    turned = " Drag it, or use the arrow keys, to turn it." if n_dims >= 3 else ""
    first = f"the first {min(n_dims, 3)} of {n_dims} coordinates" if n_dims > 3 else "the coordinates"
    number = "Every" if n_items <= MAX_DOTS else f"{MAX_DOTS} of {n_items}: every"
    caption = (
        f"{number} {result.item} at {first} that were clustered, with the colour and the marker of its cluster.{turned}"
    )
    label = f"Scatter plot of {n_items} {result.items} in {result.n_clusters} clusters."
    return Section("embedding", "Embedding", [Chart("space", "space", label, caption)])


def _pairs_section(result: Partition, name: str, matrix: FloatArray) -> Section:
    """Return a matrix of all pairs: drawn, and as means over pairs of clusters."""
    title, caption = _PAIRS[name]
    side = -(-len(matrix) // MAX_SIDE)
    thinned = f" A cell is the mean of {side} x {side} pairs." if side > 1 else ""
    label = f"{title} of all pairs; the table of means over clusters says the same in short."
    numbers = [f"cluster {cluster_number(k)}" for k in range(result.n_clusters)]
    means = _cluster_means(matrix, result.labels)
    rows = [[one, *row] for one, row in zip(numbers, means.round(2).tolist(), strict=True)]
    table = Table(f"Mean {title.lower()} of pairs, cluster by cluster", ["", *numbers], rows, shaded=True)
    return Section(name, title, [Chart(name, "matrix", label, caption + thinned), table])


def _cluster_means(matrix: FloatArray, labels: IntArray) -> FloatArray:
    """Return the mean of a matrix over all pairs of members of two clusters, (n_clusters, n_clusters)."""
    shares = (labels[:, None] == np.arange(labels.max() + 1)) / np.bincount(labels)
    return np.asarray(shares.T @ matrix @ shares)


def _items_section(result: Partition, names: _Names, data: MatrixSet | None) -> Section:
    """Return the section with all items, the most uncertain first."""
    probability, n_items = result.probability, len(result.labels)
    sure = np.ones(n_items) if probability is None else probability
    order = np.argsort(sure, kind="stable")[:MAX_ROWS]
    columns: dict[str, Any] = {result.item: names.numbers[order].tolist()}
    if names.positions is not None:
        columns["voxel"] = [str(tuple(voxel)) for voxel in names.positions[order].tolist()]
    columns["cluster"] = cluster_number(result.labels)[order].tolist()
    if probability is not None:
        columns["agreement"] = [f"{probability[i]:.2f}" for i in order]
    if data is not None and data.labels is not None:
        columns["true class"] = [str(data.labels[i]) for i in order]
    rows = list(zip(*columns.values(), strict=True))
    notes = [f"Only {MAX_ROWS} of {n_items} are listed."] * (n_items > MAX_ROWS)
    notes += [_AGREEMENT] * (probability is not None)
    caption = listing(result.items, n_items, by_doubt=probability is not None)
    table = Table(caption, list(columns), rows, folded=True, file="labels")
    return Section("items", result.items.capitalize(), [Text(" ".join(notes)), table])


# Slices through an image: clusters in half-transparent colours over the fractional anisotropy of the tensors


_OPACITY = 0.5  # of the colours of clusters
_NO_LETTERS = ("", "", "", "")
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGBA = 6  # kind of colour of a PNG file: red, green, blue and opacity, of eight bits each


@dataclass(frozen=True)
class _Plane:
    """Orientation of a slice: the axes of the image to the right, up and through the plane.

    `letters` are those at the left, right, top and bottom edge. A plane image has no axis through it.
    """

    name: str
    across: Axis
    up: Axis
    through: Axis | None
    letters: tuple[str, str, str, str] = _NO_LETTERS


def _slices_section(items: MatrixSet, labels: IntArray) -> Section | None:
    """Return the part of a page with slices through an image; None if the matrices are of no image, or of a line."""
    if items.grid is None or items.positions is None or len(items.grid) not in (2, 3) or items.matrices.shape[1] < 2:
        return None
    colors = items.to_image(_colors_of(items.matrices, labels), background=0)
    sizes = np.ones(3) if items.affine is None else voxel_sizes(items.affine)
    sizes = np.where(sizes > 0, sizes, 1.0)
    pictures = [
        _picture_of(plane, colors, items.positions, sizes) for plane in _planes_of(items.positions, items.affine)
    ]
    legend = [(f"cluster {cluster_number(label)}", *_shades_of(label)) for label in range(int(labels.max()) + 1)]
    return Section(
        "slices", "Slices", [Pictures(pictures, legend, _caption_of(len(items.grid), items.affine is not None))]
    )


def _shades_of(label: int) -> tuple[str, str]:
    """Return the colours of a cluster in slices where the fractional anisotropy is 0 and 1."""
    color = cluster_colors(label + 1)[label]
    dark, light = ((1 - _OPACITY) * grey + _OPACITY * color for grey in (0.0, 1.0))
    return to_hex(*dark), to_hex(*light)


def _colors_of(matrices: FloatArray, labels: IntArray) -> NDArray[np.uint8]:
    """Return the colour of each voxel, with its opacity, (n_matrices, 4)."""
    grey = np.clip(fractional_anisotropy(matrices), 0, 1)[:, None]
    mixed = (1 - _OPACITY) * grey + _OPACITY * cluster_colors(int(labels.max()) + 1)[labels]
    return np.rint(255 * np.hstack([mixed, np.ones_like(grey)])).astype(np.uint8)


def _planes_of(positions: IntArray, affine: FloatArray | None) -> list[_Plane]:
    """Return the planes to show: those of the body if the image has an affine, else those of the array.

    In a volume of one slice, two planes are a single row of voxels, and are left out.
    """
    if positions.shape[1] == 2:
        return [_Plane("", Axis(1, 1), Axis(0, -1), None)]
    if affine is None:
        first, second, third = (Axis(number, 1) for number in range(3))
        found = [
            _Plane("", first, second, third),
            _Plane("", first, third, second),
            _Plane("", second, third, first),
        ]
    else:
        right, front, up = anatomical_axes(affine)
        found = [
            _Plane("Axial", right, front, up, ("L", "R", "A", "P")),
            _Plane("Coronal", right, up, front, ("L", "R", "S", "I")),
            _Plane("Sagittal", front, up, right, ("P", "A", "S", "I")),
        ]
    extents = np.ptp(positions, axis=0)
    wide = [plane for plane in found if extents[plane.across.number] and extents[plane.up.number]]
    return wide or found[:1]


def _picture_of(plane: _Plane, colors: NDArray[np.uint8], positions: IntArray, sizes: FloatArray) -> Picture:
    """Return one slice, cut to where there are matrices, its size in millimetres."""
    low, high = positions.min(axis=0), positions.max(axis=0) + 1
    cut: list[slice | int] = [slice(start, stop) for start, stop in zip(low.tolist(), high.tolist(), strict=True)]
    title = plane.name
    if plane.through is not None:
        index = _fullest_slice(positions[:, plane.through.number])
        cut[plane.through.number] = index
        title = f"{plane.name or 'Slice'}, {AXES[plane.through.number]} = {index}"
    pixels = colors[tuple(cut)]
    if plane.across.number < plane.up.number:  # rows go up
        pixels = pixels.swapaxes(0, 1)
    pixels = pixels[:: -plane.up.sign, :: plane.across.sign]
    n_rows, n_columns = pixels.shape[:2]
    size = (n_columns * float(sizes[plane.across.number]), n_rows * float(sizes[plane.up.number]))
    told = f"{title or 'Image'}: clusters of {n_columns} by {n_rows} voxels over fractional anisotropy."
    return Picture(title, f"data:image/png;base64,{b64encode(png_of(pixels)).decode()}", told, size, plane.letters)


def _fullest_slice(indices: IntArray) -> int:
    """Return the slice with most voxels; if there are several, the one nearest to the middle of all voxels.

    Examples
    --------
    >>> _fullest_slice(np.array([0, 1, 1, 2, 2, 3, 3, 4]))
    2
    """
    counts = np.bincount(indices)
    fullest = np.flatnonzero(counts == counts.max())
    return int(fullest[np.abs(fullest - indices.mean()).argmin()])


def _caption_of(n_axes: int, has_affine: bool) -> str:
    """Return the caption of the slices."""
    text = "The colours of clusters over fractional anisotropy, from 0 (dark) to 1 (light), as in the legend."
    if n_axes == 2:
        return f"{text} Axis {AXES[0]} runs downwards, axis {AXES[1]} to the right."
    axes = enumerated(list(AXES))
    text += f" Each slice is the one with most voxels, numbered from 0 along {axes}, the axes of the array."
    if not has_affine:
        return text
    return (
        f"{text} Letters are left, right, anterior, posterior, superior and inferior, of the axes of the body that are "
        "nearest to those of the array. Voxels are in proportion to their size in millimetres."
    )


def png_of(pixels: NDArray[np.uint8]) -> bytes:
    """Return an image as the bytes of a PNG file, written with zlib alone.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (n_rows, n_columns, 4)
        Red, green, blue and opacity; the first row is the top one.
    """
    n_rows, n_columns, _ = pixels.shape
    rows = np.ascontiguousarray(pixels).reshape(n_rows, -1)
    unfiltered = np.zeros((n_rows, 1), dtype=np.uint8)  # each row begins with how it is filtered: not at all
    header = struct.pack(">IIBBBBB", n_columns, n_rows, 8, _RGBA, 0, 0, 0)
    data = zlib.compress(np.hstack([unfiltered, rows]).tobytes(), 9)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
