"""The one type all data sets of matrices come in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.anatomy import voxel_sizes
from homothety.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import FloatArray, IntArray

FAR = 2.001  # times the smallest distance of voxels; headers hold sizes in single precision


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MatrixSet:
    """Covariance matrices with what is known about them.

    Attributes
    ----------
    matrices : ndarray of shape (n_matrices, n_dims, n_dims)
        Symmetric.
    labels : ndarray of shape (n_matrices,) or None
        The class of every matrix, where it is known.
    name : str
        What the set is called in tables and figures.
    grid : tuple of int or None
        Shape of the image the matrices are the voxels of, if they come from one.
    positions : ndarray of shape (n_matrices, len(grid)) or None
        Voxel of every matrix. Voxels outside the set are background.
    affine : ndarray of shape (4, 4) or None
        From voxel indices to millimetres, for images that have it.
    """

    matrices: FloatArray
    labels: NDArray[Any] | None = None
    name: str = "matrices"
    grid: tuple[int, ...] | None = None
    positions: IntArray | None = None
    affine: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.matrices.ndim != 3 or self.matrices.shape[1] != self.matrices.shape[2]:
            raise InputError(
                f"{self.name}: matrices has shape {self.matrices.shape}, needed (n_matrices, n_dims, n_dims)."
            )
        if self.labels is not None and self.labels.shape != (len(self),):
            raise InputError(f"{self.name}: {len(self)} matrices but labels of shape {self.labels.shape}.")
        if (self.grid is None) != (self.positions is None):
            raise InputError(f"{self.name}: grid and positions describe an image together, needed both or neither.")
        if self.grid is not None and self.positions is not None:
            _check_positions(self.positions, self.grid, len(self), self.name)
        if self.affine is not None and self.affine.shape != (4, 4):
            raise InputError(f"{self.name}: affine has shape {self.affine.shape}, needed (4, 4).")

    def __len__(self) -> int:
        return len(self.matrices)

    def __repr__(self) -> str:
        n_dims = self.matrices.shape[1]
        classes = "" if self.labels is None else f", {len(np.unique(self.labels))} classes"
        image = "" if self.grid is None else f", on a grid of {' x '.join(map(str, self.grid))}"
        return f"<MatrixSet {self.name}: {len(self)} matrices of {n_dims} x {n_dims}{classes}{image}>"

    def take(self, which: NDArray[np.bool_] | NDArray[np.integer[Any]]) -> MatrixSet:
        """Return the chosen matrices with their labels and positions, by index or by a mask of shape (n_matrices,)."""
        return replace(
            self,
            matrices=self.matrices[which],
            labels=None if self.labels is None else self.labels[which],
            positions=None if self.positions is None else self.positions[which],
        )

    @property
    def far_axes(self) -> tuple[int, ...]:
        """Axes of the image along which voxels lie more than twice as far apart as along the nearest one.

        That is known from the affine; without one there are none.
        """
        if self.affine is None or self.positions is None or not len(self) or self.positions.shape[1] > 3:
            return ()
        sizes = voxel_sizes(self.affine)[: self.positions.shape[1]]
        used = (np.ptp(self.positions, axis=0) > 0) & (sizes > 0)  # an image of one slice has no neighbours across it
        if not used.any():
            return ()
        return tuple(np.flatnonzero(used & (sizes > FAR * sizes[used].min())).tolist())

    @property
    def link_positions(self) -> IntArray | None:
        """Voxel of every matrix, for ``SPCMMixture.fit(positions=...)``; None for matrices that are of no image.

        Matrices one step apart are neighbours there. Along `far_axes` steps are doubled, so that thick slices are not
        taken for neighbours.

        Examples
        --------
        >>> thick = MatrixSet(np.ones((2, 1, 1)), None, "", (1, 2, 2), np.array([[0, 0, 0], [0, 1, 1]]),
        ...                   np.diag([2.0, 2.0, 5.0, 1.0]))
        >>> thick.link_positions
        array([[0, 0, 0],
               [0, 1, 2]])
        """
        if self.positions is None:
            return None
        steps = np.ones(self.positions.shape[1], dtype=np.int64)
        steps[list(self.far_axes)] = 2
        return self.positions * steps

    def to_image(self, values: ArrayLike, background: Any = 0) -> NDArray[Any]:
        """Lay one value per matrix out on the grid.

        Parameters
        ----------
        values : array_like of shape (n_matrices, ...)
            Labels, say, or ``self.matrices``.
        background : scalar, default 0
            Value of the voxels that hold no matrix.

        Returns
        -------
        image : ndarray of shape (*grid, ...)
        """
        if self.grid is None or self.positions is None:
            raise InputError(f"{self.name} has no grid, so its values have no place in an image.")
        values = np.asarray(values)
        if values.ndim == 0 or len(values) != len(self):
            raise InputError(f"values has shape {values.shape}, needed one value for each of {len(self)} matrices.")
        image = np.full(self.grid + values.shape[1:], background, dtype=values.dtype)
        image[tuple(self.positions.T)] = values
        return image


def _check_positions(positions: IntArray, grid: tuple[int, ...], n_matrices: int, name: str) -> None:
    """Raise unless every matrix has a voxel inside the grid."""
    if positions.shape != (n_matrices, len(grid)):
        raise InputError(
            f"{name}: positions has shape {positions.shape}, needed {(n_matrices, len(grid))} for a grid {grid}."
        )
    if n_matrices and (positions.min() < 0 or (positions >= grid).any()):
        raise InputError(f"{name}: positions run outside the grid {grid}. Count voxels from 0.")
