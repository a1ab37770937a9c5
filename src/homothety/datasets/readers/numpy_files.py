"""Matrices from NumPy's .npy and .npz files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.datasets.readers.checks import blame_file, check_labels, check_stack
from homothety.datasets.sets import MatrixSet
from homothety.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from homothety.arrays import IntArray

MAX_LISTED = 20  # arrays named in an error
REMEDY = (
    "Copy it again if it was cut short, or write plain arrays of numbers with np.save or np.savez; Python objects are "
    "never loaded, for safety."
)


def read_npy(path: Path) -> MatrixSet:
    """Read an array of shape (n_matrices, n_dims, n_dims)."""
    return MatrixSet(check_stack(load_array(path), str(path)), name=path.stem)


def read_npz(path: Path, variable: str | None) -> MatrixSet:
    """Read matrices from an archive."""
    return read_archive_matrices(load_archive(path), path, variable)


def read_archive_matrices(arrays: dict[str, NDArray[Any]], path: Path, variable: str | None) -> MatrixSet:
    """Return matrices among named arrays and, if they are there, `labels`, `grid`, `positions` and `affine`."""
    name = _choose_variable(arrays, variable, path)
    matrices = check_stack(arrays[name], f"{path}, array {name!r}")
    labels, grid = arrays.get("labels"), _grid(arrays)
    return MatrixSet(
        matrices,
        labels=None if labels is None else check_labels(labels, len(matrices), str(path)),
        name=path.stem,
        grid=grid,
        positions=_positions(arrays, grid, len(matrices), path),
        affine=arrays.get("affine"),
    )


def load_array(path: Path) -> NDArray[Any]:
    """Load a single array."""
    with blame_file(path, REMEDY), path.open("rb") as file:
        array = np.load(file, allow_pickle=False)
    if not isinstance(array, np.ndarray):
        raise InputError(f"{path} is an archive of several arrays, needed one array. Rename it to end in .npz.")
    return array


def load_archive(path: Path) -> dict[str, NDArray[Any]]:
    """Load every array of an archive."""
    # Opened here, because NumPy leaves the file open when the archive is broken.
    with blame_file(path, REMEDY), path.open("rb") as file:
        archive = np.load(file, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise InputError(f"{path} is a single array, needed an archive. Rename it to end in .npy.")
        return dict(archive)


def listed(arrays: dict[str, NDArray[Any]]) -> str:
    """Return the names and shapes of arrays in words, of many only the first."""
    named = [f"{name} {array.shape}" for name, array in arrays.items()]
    more = f" and {len(named) - MAX_LISTED} more" * (len(named) > MAX_LISTED)
    return ", ".join(named[:MAX_LISTED]) + more or "nothing"


def _choose_variable(arrays: dict[str, NDArray[Any]], variable: str | None, path: Path) -> str:
    """Return the name of the array that holds the matrices: as told, `matrices`, or the only 3-D one."""
    found = listed(arrays)
    if variable is not None and variable not in arrays:
        raise InputError(f"{path} has no array {variable!r}. It holds {found}.")
    name = variable or "matrices"
    if name in arrays:
        return name
    three_dimensional = [name for name, array in arrays.items() if array.ndim == 3]
    if len(three_dimensional) != 1:
        raise InputError(
            f"{path} holds {found}; needed an array called 'matrices' or exactly one of shape "
            "(n_matrices, n_dims, n_dims). Say which it is with variable=."
        )
    return three_dimensional[0]


def _grid(arrays: dict[str, NDArray[Any]]) -> tuple[int, ...] | None:
    """Return the shape of the image the matrices come from, if the archive says so."""
    grid = arrays.get("grid")
    if grid is None or grid.dtype.kind not in "iu" or grid.shape not in ((2,), (3,)):
        return None  # an array that happens to have this name
    return tuple(int(size) for size in grid)


def _positions(
    arrays: dict[str, NDArray[Any]], grid: tuple[int, ...] | None, n_matrices: int, path: Path
) -> IntArray | None:
    """Return the voxels of the matrices; without any given, all voxels of the grid in row-major order."""
    if grid is None:
        return None
    if "positions" in arrays:
        return arrays["positions"].astype(np.int64)
    if np.prod(grid) != n_matrices:
        raise InputError(
            f"{path} has {n_matrices} matrices on a grid of {' x '.join(map(str, grid))}, needed one per voxel. "
            "Store the voxel of each as an array 'positions' of shape (n_matrices, n_axes)."
        )
    return np.stack(np.unravel_index(np.arange(n_matrices), grid), axis=1)
