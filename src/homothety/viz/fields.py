"""Label images: the cluster of each voxel of a field of matrices."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from matplotlib.patches import Patch
from scipy.ndimage import distance_transform_edt

from homothety.datasets.sets import MatrixSet
from homothety.errors import InputError
from homothety.palette import N_SAFE_COLORS, contrasting, to_rgb
from homothety.viz._figures import (
    BLANK,
    Cluster,
    axes_or_new,
    font_points,
    group_numbers,
    item_colors,
    legend_beside,
    match_numbers,
    number_labels,
    panels_or_new,
    size_in_points,
    with_legend,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from homothety.arrays import IntArray

_WIDTH, _LEGEND_WIDTH, _LABELS_HEIGHT = 5.6, 1.4, 0.7  # inches


def plot_label_image(
    labels: ArrayLike,
    field: MatrixSet | Sequence[int] | None = None,
    *,
    background: Any = None,
    slice_axis: int = 2,
    index: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the cluster of each voxel of a plane field of matrices, or of a slice through a volume.

    Parameters
    ----------
    labels : array-like of shape (n_matrices,), or an image of 2 or 3 dimensions
        Cluster of each matrix of `field`, or of each voxel where no field is given; -1 for none, which is grey.
    field : MatrixSet or tuple of int, optional
        Where the matrices are: a set on a grid, or the shape of the grid if it is full, in row-major order.
    background : scalar, optional
        For an image without field: label of the voxels to leave blank. Masked voxels are left blank, too.
    slice_axis : int, default=2
        Axis of a volume that the slice is perpendicular to.
    index : int, optional
        Which slice, by default the middle one.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes
        A plane image has its axis 0 downwards, as arrays are printed. A slice has its first axis to the right and its
        second one up, as brain images are shown, and voxels in proportion if the field has an affine. More than eight
        clusters are also numbered in the picture, where there is room.

    Examples
    --------
    >>> from homothety.datasets import make_dti
    >>> dti = make_dti((16, 20), n_regions=3, random_state=0)
    >>> ax = plot_label_image(dti.labels, dti)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0', '1', '2']
    """
    numbers, names = _numbers_on_grid(labels, field, background, "labels")
    plane = _cut(numbers, field, slice_axis, index)
    ax = axes_or_new(ax, _figsize(plane), n_entries=len(np.unique(plane.numbers)))
    _draw_plane(ax, plane, names)
    return ax


def plot_label_comparison(
    labels: ArrayLike,
    truth: ArrayLike,
    field: MatrixSet | Sequence[int] | None = None,
    *,
    background: Any = None,
    slice_axis: int = 2,
    index: int | None = None,
    axes: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw a label image with the true one beside it.

    Parameters
    ----------
    labels, truth : array-like of shape (n_matrices,), or images of 2 or 3 dimensions
        Clusters found, and the classes they should be.
    field, background, slice_axis, index
        As for `plot_label_image`.
    axes : sequence of two Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    axes : list of two Axes
        Clusters first. A true class has the colour of the cluster it is matched with: those pairs, one to one, that
        have most voxels in common.
    """
    numbers, names = _numbers_on_grid(labels, field, background, "labels")
    truth_numbers, truth_names = _numbers_on_grid(truth, field, background, "truth")
    if truth_numbers.shape != numbers.shape:
        raise InputError(f"truth has shape {truth_numbers.shape} and labels {numbers.shape}, needed the same.")
    matched, matched_names = match_numbers(truth_numbers, truth_names, numbers)
    plane, true_plane = (_cut(image, field, slice_axis, index) for image in (numbers, matched))
    width, height = with_legend(_figsize(plane), len(np.unique(plane.numbers)))
    axes = panels_or_new(axes, ["labels", "truth"], (2 * width, height))
    _draw_plane(axes[0], plane, names)
    _draw_plane(axes[1], true_plane, matched_names, legend_title="truth")
    return axes


def _numbers_on_grid(
    labels: ArrayLike, field: MatrixSet | Sequence[int] | None, background: Any, name: str
) -> tuple[IntArray, dict[int, str]]:
    """Return an image of cluster numbers, of 2 or 3 dimensions and `BLANK` where nothing is, and the names."""
    labels = np.asanyarray(labels)  # a masked array stays one
    if field is None:
        blank = np.ma.getmaskarray(labels).copy()
        if background is not None:
            blank |= np.ma.getdata(labels) == background
        labels = np.ma.masked_array(np.ma.getdata(labels), blank)
    image, names = number_labels(labels, name)
    if field is None:
        image[blank] = BLANK
    elif isinstance(field, MatrixSet):
        image = field.to_image(image, background=BLANK)
    elif image.size == prod(field):
        image = image.reshape(tuple(field))
    else:
        raise InputError(f"{name} has shape {labels.shape}, needed {prod(field)} labels for a grid {tuple(field)}.")
    if image.ndim not in (2, 3) or image.size == 0:
        raise InputError(
            f"{name} makes an image of shape {image.shape}, needed 2 or 3 dimensions. "
            "Pass the field the labels belong to, or the shape of its grid."
        )
    return image, names


class _Plane(NamedTuple):
    """Cluster numbers in a plane and its texts, where the rows start, and how much higher than wide voxels are."""

    numbers: IntArray
    texts: dict[str, str]
    origin: Literal["upper", "lower"] = "upper"
    aspect: float = 1.0


def _cut(numbers: IntArray, field: MatrixSet | Sequence[int] | None, slice_axis: int, index: int | None) -> _Plane:
    """Return a plane image as it is, or a slice of a volume."""
    if numbers.ndim == 2:
        if index is not None:
            raise InputError(f"index is {index} but the image has shape {numbers.shape}: only volumes have slices.")
        return _Plane(numbers, {"xlabel": "axis 1", "ylabel": "axis 0"})
    if slice_axis not in (0, 1, 2):
        raise InputError(f"slice_axis is {slice_axis}, needed 0, 1 or 2.")
    n_slices = numbers.shape[slice_axis]
    index = n_slices // 2 if index is None else index
    if not 0 <= index < n_slices:
        raise InputError(f"index is {index}, needed 0 to {n_slices - 1} along axis {slice_axis}.")
    right, up = (axis for axis in range(3) if axis != slice_axis)
    aspect = 1.0
    if isinstance(field, MatrixSet) and field.affine is not None:
        sizes = np.linalg.norm(field.affine[:3, :3], axis=0)  # of a voxel
        aspect = float(sizes[up] / sizes[right])
    texts = {"xlabel": f"axis {right}", "ylabel": f"axis {up}", "title": f"slice {index} along axis {slice_axis}"}
    return _Plane(np.take(numbers, index, axis=slice_axis).T, texts, "lower", aspect)


def _figsize(plane: _Plane) -> tuple[float, float]:
    """Return a figure size in inches of the proportions of the plane, within reason."""
    n_rows, n_columns = plane.numbers.shape
    height = (_WIDTH - _LEGEND_WIDTH) * plane.aspect * n_rows / n_columns
    return _WIDTH, float(np.clip(height, 1.5, 7.0)) + _LABELS_HEIGHT


def _draw_plane(ax: Axes, plane: _Plane, names: dict[int, str], legend_title: str = "cluster") -> None:
    """Draw the plane in the colours of its clusters, with a legend beside it."""
    clusters = group_numbers(plane.numbers, names)
    image = item_colors(clusters, plane.numbers.size).reshape(*plane.numbers.shape, 4)
    ax.imshow(image, origin=plane.origin, aspect=plane.aspect, interpolation="nearest")
    ax.set(**plane.texts)
    ax.locator_params(integer=True)  # voxels are counted
    handles = [Patch(color=cluster.style.color, label=cluster.name) for cluster in clusters]
    legend_beside(ax, handles, legend_title)
    if len(clusters) > N_SAFE_COLORS:
        _number_regions(ax, clusters, plane)


def _number_regions(ax: Axes, clusters: list[Cluster], plane: _Plane) -> None:
    """Write the name of each cluster into the widest place of its region, unless it is too narrow for that."""
    points_per_voxel = min(np.divide(size_in_points(ax), plane.numbers.shape[::-1]))
    for cluster in clusters:
        region = np.zeros(plane.numbers.size, dtype=bool)
        region[cluster.members] = True
        # Padded, because the border of the image ends a region as another cluster does.
        depth = distance_transform_edt(np.pad(region.reshape(plane.numbers.shape), 1))[1:-1, 1:-1]
        row, column = np.unravel_index(depth.argmax(), depth.shape)
        room = (2 * depth.max() - 1) * points_per_voxel  # depth is counted to the middle of the next voxel outside
        if room > 0.8 * font_points("font.size") * (1 + len(cluster.name)):
            color = contrasting(*to_rgb(cluster.style.color))
            ax.text(column, row, cluster.name, color=color, ha="center", va="center", clip_on=True)
