"""Diffusion tensors from diffusion-weighted signals, as the paper's rat hippocampus was fitted."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import nnls
from scipy.spatial import ConvexHull

from homothety.datasets.readers.checks import blame_file
from homothety.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from homothety.arrays import FloatArray, IntArray

N_SUBDIVISIONS = 2  # of an icosahedron: 81 directions and their opposites


class TensorFit(NamedTuple):
    """Tensors fitted to signals."""

    matrices: FloatArray  # (n_voxels, 3, 3)
    baselines: FloatArray  # (n_voxels,), the signal without diffusion weighting


def read_fdt(path: Path) -> FloatArray:
    """Read an image of fanDTasia: four big-endian sizes (x, y, z, volumes), then the values, x running fastest.

    Returns
    -------
    image : ndarray of shape (x, y, z, n_volumes)
    """
    with blame_file(path, "Needed an .fdt file as fanDTasia writes it."):
        raw = path.read_bytes()
        sizes = [int(size) for size in np.frombuffer(raw, ">i4", count=4)]
        values = np.frombuffer(raw, ">f4", offset=16)
    if min(sizes) < 1 or int(np.prod(sizes, dtype=object)) != len(values):
        raise InputError(f"{path} says its sizes are {sizes} but holds {len(values)} values. Get it again.")
    return values.astype(np.float64).reshape(sizes, order="F")


def read_gradients(path: Path) -> tuple[FloatArray, FloatArray]:
    """Read the directions (n_volumes, 3) and weights (n_volumes,) of the gradients, one row of four numbers each."""
    with blame_file(path, "Needed one row per volume: gradient x, y, z and b-value."):
        table = np.loadtxt(path, ndmin=2)
    if table.shape[1] != 4:
        raise InputError(f"{path} has {table.shape[1]} columns, needed 4: gradient x, y, z and b-value.")
    return table[:, :3], table[:, 3]


def fit_tensors(signals: FloatArray, directions: FloatArray, weights: FloatArray) -> TensorFit:
    """Fit one positive semi-definite tensor per voxel.

    Parameters
    ----------
    signals : ndarray of shape (n_voxels, n_volumes)
        Positive.
    directions : ndarray of shape (n_volumes, 3)
    weights : ndarray of shape (n_volumes,)
        The b-values.

    Notes
    -----
    Least squares of log S = log S0 - b g'Dg, where D is a sum of tensors vv' with weights of at least 0, over 81
    directions v spread evenly, and log S0 at least 0. Where the plain least-squares tensor is well inside that cone,
    which is nearly all of a good image, the fit is that tensor, whatever the directions v.
    """
    axes = even_directions()
    shares = -weights[:, None] * (directions @ axes.T) ** 2
    design = np.column_stack([shares, np.ones(len(weights))])
    fits = np.array([nnls(design, one)[0] for one in np.log(signals)])
    tensors = np.einsum("nk,ki,kj->nij", fits[:, :-1], axes, axes)
    return TensorFit((tensors + tensors.swapaxes(1, 2)) / 2, np.exp(fits[:, -1]))


def even_directions() -> FloatArray:
    """Return 81 unit vectors, no two of them opposite: half the corners of an icosahedron divided twice."""
    golden = (1 + np.sqrt(5)) / 2
    corners = np.array([[0, a, b * golden] for a in (-1, 1) for b in (-1, 1)])
    points = np.concatenate([np.roll(corners, shift, axis=1) for shift in range(3)]) / np.hypot(1, golden)
    for _ in range(N_SUBDIVISIONS):
        points = _with_midpoints(points)
    return points[_is_upper(points)]


def anisotropy_classes(anisotropies: FloatArray, width: float) -> IntArray:
    """Return the classes, from 1, that tensors fall into by bins of one width from the least anisotropy on."""
    return 1 + np.floor((anisotropies - anisotropies.min()) / width).astype(np.int64)


def _with_midpoints(points: FloatArray) -> FloatArray:
    """Return points on the sphere, and between them the middles of all edges of their hull."""
    edges = {tuple(sorted(edge)) for face in ConvexHull(points).simplices for edge in combinations(face.tolist(), 2)}
    middles = np.array([points[first] + points[second] for first, second in sorted(edges)])
    return np.concatenate([points, middles / np.linalg.norm(middles, axis=1, keepdims=True)])


def _is_upper(points: FloatArray) -> NDArray[Any]:
    """Say of which points the last coordinate that is not zero is positive: one of every two opposite ones."""
    cleaned = np.where(np.abs(points) < 1e-9, 0, points)
    last = np.where(cleaned[:, 2] != 0, cleaned[:, 2], np.where(cleaned[:, 1] != 0, cleaned[:, 1], cleaned[:, 0]))
    return np.asarray(last > 0)
