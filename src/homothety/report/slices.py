"""Slices through an image: clusters in half-transparent colours over the fractional anisotropy of the tensors."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homothety.anatomy import Axis, anatomical_axes, voxel_sizes
from homothety.covariance.shape import fractional_anisotropy
from homothety.palette import cluster_colors, to_hex
from homothety.phrases import AXES, cluster_number, enumerated
from homothety.report.document import Picture, Pictures, Section

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from homothety.arrays import FloatArray, IntArray
    from homothety.datasets import MatrixSet

OPACITY = 0.5  # of the colours of clusters
NO_LETTERS = ("", "", "", "")
SIGNATURE = b"\x89PNG\r\n\x1a\n"
RGBA = 6  # kind of colour of a PNG file: red, green, blue and opacity, of eight bits each


@dataclass(frozen=True)
class Plane:
    """How an image is cut and laid out: which axes run to the right, up, and through the plane.

    `letters` are those at the left, right, top and bottom edge. A plane image has no axis through it.
    """

    name: str
    across: Axis
    up: Axis
    through: Axis | None
    letters: tuple[str, str, str, str] = NO_LETTERS


def slices_section(items: MatrixSet, labels: IntArray) -> Section | None:
    """Return the part of a page with slices through an image; None if the matrices are of no image, or of a line."""
    if items.grid is None or items.positions is None or len(items.grid) not in (2, 3) or items.matrices.shape[1] < 2:
        return None
    colors = items.to_image(colors_of(items.matrices, labels), background=0)
    sizes = np.ones(3) if items.affine is None else voxel_sizes(items.affine)
    sizes = np.where(sizes > 0, sizes, 1.0)
    pictures = [picture_of(plane, colors, items.positions, sizes) for plane in planes_of(items.positions, items.affine)]
    legend = [(f"cluster {cluster_number(label)}", *shades_of(label)) for label in range(int(labels.max()) + 1)]
    return Section(
        "slices", "Slices", [Pictures(pictures, legend, caption_of(len(items.grid), items.affine is not None))]
    )


def shades_of(label: int) -> tuple[str, str]:
    """Return the colours of a cluster in slices where the fractional anisotropy is 0 and 1."""
    color = cluster_colors(label + 1)[label]
    dark, light = ((1 - OPACITY) * grey + OPACITY * color for grey in (0.0, 1.0))
    return to_hex(*dark), to_hex(*light)


def colors_of(matrices: FloatArray, labels: IntArray) -> NDArray[np.uint8]:
    """Return the colour of each voxel, with its opacity, (n_matrices, 4)."""
    grey = np.clip(fractional_anisotropy(matrices), 0, 1)[:, None]
    mixed = (1 - OPACITY) * grey + OPACITY * cluster_colors(int(labels.max()) + 1)[labels]
    return np.rint(255 * np.hstack([mixed, np.ones_like(grey)])).astype(np.uint8)


def planes_of(positions: IntArray, affine: FloatArray | None) -> list[Plane]:
    """Return the planes to show: those of the body if the image has an affine, else those of the array.

    In a volume of one slice, two planes are a single row of voxels, and are left out.
    """
    if positions.shape[1] == 2:
        return [Plane("", Axis(1, 1), Axis(0, -1), None)]
    if affine is None:
        first, second, third = (Axis(number, 1) for number in range(3))
        found = [
            Plane("", first, second, third),
            Plane("", first, third, second),
            Plane("", second, third, first),
        ]
    else:
        right, front, up = anatomical_axes(affine)
        found = [
            Plane("Axial", right, front, up, ("L", "R", "A", "P")),
            Plane("Coronal", right, up, front, ("L", "R", "S", "I")),
            Plane("Sagittal", front, up, right, ("P", "A", "S", "I")),
        ]
    extents = np.ptp(positions, axis=0)
    wide = [plane for plane in found if extents[plane.across.number] and extents[plane.up.number]]
    return wide or found[:1]


def picture_of(plane: Plane, colors: NDArray[np.uint8], positions: IntArray, sizes: FloatArray) -> Picture:
    """Return one slice, cut to where there are matrices, its size in millimetres."""
    low, high = positions.min(axis=0), positions.max(axis=0) + 1
    cut: list[slice | int] = [slice(start, stop) for start, stop in zip(low.tolist(), high.tolist(), strict=True)]
    title = plane.name
    if plane.through is not None:
        index = fullest_slice(positions[:, plane.through.number])
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


def fullest_slice(indices: IntArray) -> int:
    """Return the slice with most voxels, of several the one nearest to the middle of all voxels.

    Examples
    --------
    >>> fullest_slice(np.array([0, 1, 1, 2, 2, 3, 3, 4]))
    2
    """
    counts = np.bincount(indices)
    fullest = np.flatnonzero(counts == counts.max())
    return int(fullest[np.abs(fullest - indices.mean()).argmin()])


def caption_of(n_axes: int, has_affine: bool) -> str:
    """Return how to read the slices."""
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
    """Return a picture as a PNG file. Nothing but zlib is needed for such small pictures.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (n_rows, n_columns, 4)
        Red, green, blue and opacity; the first row is the top one.
    """
    n_rows, n_columns, _ = pixels.shape
    rows = np.ascontiguousarray(pixels).reshape(n_rows, -1)
    unfiltered = np.zeros((n_rows, 1), dtype=np.uint8)  # each row begins with how it is filtered: not at all
    header = struct.pack(">IIBBBBB", n_columns, n_rows, 8, RGBA, 0, 0, 0)
    data = zlib.compress(np.hstack([unfiltered, rows]).tobytes(), 9)
    return SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
