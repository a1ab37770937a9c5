"""The two types all data sets come in: covariance matrices, and recordings of measurements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.errors import InputError
from homothety.times import common_rate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import FloatArray, IntArray


_FAR = 2.001  # times the smallest distance of voxels; headers hold sizes in single precision


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
        return tuple(np.flatnonzero(used & (sizes > _FAR * sizes[used].min())).tolist())

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


class Frames(NamedTuple):
    """The frame that each recording was made in: a canonical point y is recorded as ``origin + size * rotation @ y``.

    Attributes
    ----------
    rotation : ndarray of shape (n_recordings, 3, 3)
    size : ndarray of shape (n_recordings,)
    origin : ndarray of shape (n_recordings, 3)
    label : ndarray of shape (n_recordings,)
        Recordings with the same label share a frame.
    """

    rotation: FloatArray
    size: FloatArray
    origin: FloatArray
    label: IntArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SequenceSet:
    """Series of measurements with what is known about them.

    Attributes
    ----------
    sequences : list of ndarray of shape (n_steps_i, n_dims)
        One array per recording.
    states : list of ndarray of shape (n_steps_i,), or None
        True state at every step, where it is known: a movement in one place, direction and size.
    actions : list of ndarray of shape (n_steps_i,), or None
        True action at every step, where it is known: an action groups states that differ only in place, direction
        and size.
    names : tuple of str
        One per recording.
    channels : tuple of str
        What each dimension measures; empty where that is not known.
    name : str
        What the set is called in tables and figures.
    frames : Frames, or None
        True frame of every recording, where it is known.
    rate : float, or None
        Steps per second, where it is known.
    """

    sequences: list[FloatArray]
    states: list[NDArray[Any]] | None = None
    actions: list[NDArray[Any]] | None = None
    names: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    name: str = "sequences"
    frames: Frames | None = None
    rate: float | None = None

    def __post_init__(self) -> None:
        if not self.names:
            object.__setattr__(self, "names", tuple(f"series {i}" for i in range(len(self.sequences))))
        if len(self.names) != len(self.sequences):
            raise InputError(f"{self.name}: {len(self.names)} names for {len(self.sequences)} series, needed one each.")
        for kind, paths in (("states", self.states), ("actions", self.actions)):
            if paths is not None:
                _check_lengths(self, kind, paths)
        if self.frames is not None:
            _check_frames(self, self.frames)

    def __len__(self) -> int:
        return len(self.sequences)

    @property
    def n_steps(self) -> int:
        """Number of time steps of all recordings together."""
        return sum(map(len, self.sequences))

    @property
    def n_dims(self) -> int:
        """Number of dimensions of the first recording."""
        return self.sequences[0].shape[1]

    def __repr__(self) -> str:
        known = "".join(
            f", {len(np.unique(np.concatenate(paths)))} {kind}"
            for kind, paths in (("states", self.states), ("actions", self.actions))
            if paths is not None
        )
        return f"<SequenceSet {self.name}: {len(self)} series, {self.n_steps} steps of {self.n_dims} dimensions{known}>"


def join_sets(sets: Iterable[SequenceSet], name: str) -> SequenceSet:
    """Return the recordings of several sets as one set; states, actions, frames and rate only if all have them."""
    sets = list(sets)
    return SequenceSet(
        [one for each in sets for one in each.sequences],
        _joined([each.states for each in sets]),
        _joined([each.actions for each in sets]),
        tuple(one for each in sets for one in each.names),
        sets[0].channels,
        name,
        _joined_frames([each.frames for each in sets]),
        common_rate([each.rate for each in sets]),
    )


def _joined(paths: list[list[NDArray[Any]] | None]) -> list[NDArray[Any]] | None:
    known = [each for each in paths if each is not None]
    return [path for each in known for path in each] if len(known) == len(paths) else None


def _joined_frames(frames: list[Frames | None]) -> Frames | None:
    """Return the frames of several sets, none of which two sets share."""
    known: list[Frames] = []
    n_labels = 0
    for each in frames:
        if each is None:
            return None
        known.append(each._replace(label=each.label + n_labels))
        n_labels += int(each.label.max(initial=-1)) + 1
    return Frames(*map(np.concatenate, zip(*known, strict=True))) if known else None


def _check_frames(one: SequenceSet, frames: Frames) -> None:
    """Raise unless there is one frame for each recording."""
    for kind, values in frames._asdict().items():
        if len(values) != len(one.sequences):
            raise InputError(
                f"{one.name}: {kind} of frames has {len(values)} entries for {len(one.sequences)} series, needed one "
                "each."
            )


def _check_lengths(one: SequenceSet, kind: str, paths: list[NDArray[Any]]) -> None:
    """Raise unless there is one entry per step of each recording."""
    if len(paths) != len(one.sequences):
        raise InputError(f"{one.name}: {kind} of {len(paths)} series but there are {len(one.sequences)}.")
    for i, (path, series) in enumerate(zip(paths, one.sequences, strict=True)):
        if path.shape != (len(series),):
            raise InputError(
                f"{one.name}: {kind}[{i}] has shape {path.shape}, needed one for each of {len(series)} steps."
            )


# Images: sizes of voxels and axes of the body


class Axis(NamedTuple):
    """An axis of an array, and whether its indices grow (1) or shrink (-1) in a direction."""

    number: int
    sign: int


def voxel_sizes(affine: FloatArray) -> FloatArray:
    """Return the distance of neighbouring voxels along each axis of an image, in millimetres.

    Parameters
    ----------
    affine : ndarray of shape (4, 4)
        From voxel indices to millimetres.

    Examples
    --------
    >>> voxel_sizes(np.diag([2.0, -2.0, 4.0, 1.0]))
    array([2., 2., 4.])
    """
    return np.asarray(np.linalg.norm(affine[:3, :3], axis=0))


def anatomical_axes(affine: FloatArray) -> tuple[Axis, Axis, Axis]:
    """Return the axes of an image that run, as nearly as possible, to the right, to the front and up.

    Parameters
    ----------
    affine : ndarray of shape (4, 4)
        From voxel indices to millimetres, which grow to the right, to the front and up, as in NIfTI.

    Notes
    -----
    The rotation nearest to the affine, of voxels of equal size, decides. The axis of the array that is best aligned
    with a direction gets it, then the next best, as nibabel's `io_orientation` has it.

    Examples
    --------
    The first axis of the array runs to the left:

    >>> anatomical_axes(np.diag([-2.0, 2.0, 2.0, 1.0]))[0]
    Axis(number=0, sign=-1)
    """
    sizes = voxel_sizes(affine)
    left, _, right = np.linalg.svd(affine[:3, :3] / np.where(sizes > 0, sizes, 1.0))
    rotation = left @ right
    order = np.argsort(-(rotation**2).max(axis=0), kind="stable")
    axes: dict[int, Axis] = {}
    for number in order.tolist():
        free = [direction for direction in range(3) if direction not in axes]
        direction = max(free, key=lambda one: abs(rotation[one, number]))
        axes[direction] = Axis(number, 1 if rotation[direction, number] >= 0 else -1)
    return axes[0], axes[1], axes[2]
