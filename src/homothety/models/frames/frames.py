"""Frames of recordings: rotation, sizes and place; and the blocks of channels that a frame acts on.

See docs/model.md, section 5.1.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from homothety.arrays import read_only
from homothety.errors import InputError
from homothety.models._parts import ReadOnly
from homothety.models.frames import _kernels
from homothety.models.frames._kernels import Frame, Layout
from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.emissions import Emission
    from homothety.models.emissions.missing import Gaps
    from homothety.models.frames._kernels import Prior

_Kind = Literal["point", "vector", "orientation", "plain"]
Rotations = Literal["all", "yaw", "none"]


@dataclass(frozen=True)
class Blocks:
    """Kinds of the blocks of channels, in order, and which rotations a frame may have.

    Parameters
    ----------
    kinds : tuple of {"point", "vector", "orientation", "plain"}
        A point has `dim` channels and is turned, resized and moved by a frame. A vector has `dim` channels and is
        turned and resized. An orientation is a rotation vector, the axis times the angle from some middle orientation:
        it is turned. Plain channels are left alone.
    dim : {2, 3}
        Dimensions of space.
    rotations : {"all", "yaw", "none"}
        All rotations, those about the third axis only, or none.
    still : tuple of int, optional
        Blocks that frames neither turn nor resize: a force in the frame of the tool, say.
    n_plain : tuple of int, optional
        Channels of each plain block, in order; one each if not given.
    shifted : tuple of int, optional
        Vectors and orientations that are moved too: the zero of a force sensor is another in every recording unless it
        was tared, and the middle orientation depends on what was done most.
    """

    kinds: tuple[_Kind, ...]
    dim: int = 3
    rotations: Rotations = "all"
    still: tuple[int, ...] = ()
    n_plain: tuple[int, ...] = ()
    shifted: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", tuple(self.kinds))
        known = get_args(_Kind)
        unknown = [kind for kind in self.kinds if kind not in known]
        if unknown or not self.kinds:
            raise InputError(
                f"blocks has {unknown[0] if unknown else 'no kind'!r}, needed some of {', '.join(known)}.", "blocks"
            )
        if self.dim not in (2, 3):
            raise InputError(f"dim is {self.dim!r}, needed 2 or 3.")
        if self.rotations not in get_args(Rotations):
            raise InputError(f"rotations is {self.rotations!r}, needed 'all', 'yaw' or 'none'.", "rotations")
        if self.dim == 2 and "orientation" in self.kinds:
            raise InputError("blocks has an orientation, which needs three-dimensional points and vectors.", "blocks")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of channels of each block."""
        plain = iter(self.n_plain or (1,) * self.kinds.count("plain"))
        return tuple(next(plain) if kind == "plain" else self.dim for kind in self.kinds)

    @property
    def n_dims(self) -> int:
        """Number of channels."""
        return sum(self.sizes)

    @property
    def slices(self) -> list[slice]:
        """Channels of each block."""
        starts = self.layout.starts.tolist()
        return [slice(start, stop) for start, stop in itertools.pairwise(starts)]

    @property
    def turned(self) -> list[int]:
        """Blocks that turn with the recording."""
        return [b for b, kind in enumerate(self.kinds) if kind != "plain" and b not in self.still]

    @property
    def sized(self) -> list[int]:
        """Blocks with a size of their own: points and vectors."""
        return [b for b in self.turned if self.kinds[b] != "orientation"]

    @property
    def placed(self) -> list[int]:
        """Blocks with a place: points, and shifted vectors and orientations."""
        return [b for b, kind in enumerate(self.kinds) if kind == "point" or b in self.shifted]

    def at_places(self, values: FloatArray) -> FloatArray:
        """Return the channels of blocks with a place, (..., n_places, dim), from all channels, (..., n_dims)."""
        channels = self.layout.starts[self.placed][:, None] + np.arange(self.dim)
        return np.take(values, channels, axis=-1)

    @property
    def points(self) -> list[int]:
        """Blocks that are points."""
        return [b for b, kind in enumerate(self.kinds) if kind == "point"]

    @property
    def leading(self) -> int | None:
        """The block whose principal axes are compared: the first point, or else the first block that turns."""
        return next((b for b in [*self.points, *self.turned] if b in self.turned), None)

    @property
    def n_angles(self) -> int:
        """Dimensions of the rotations that a frame may have."""
        if self.rotations == "none" or not self.turned:
            return 0
        return 3 if self.dim == 3 and self.rotations == "all" else 1

    @property
    def turn_size(self) -> int:
        """Numbers that describe a rotation: a unit quaternion in three dimensions, cosine and sine in two."""
        return 4 if self.dim == 3 else 2

    @cached_property
    def layout(self) -> Layout:
        """The blocks as arrays, for compiled loops."""
        return Layout(
            read_only(np.concatenate([[0], np.cumsum(self.sizes)])),
            read_only(self._index_in(self.turned) >= 0),
            read_only(self._index_in(self.sized)),
            read_only(self._index_in(self.placed)),
            self.dim,
            self.n_angles,
        )

    def _index_in(self, chosen: list[int]) -> IntArray:
        """Return the position of every block in a list of blocks, (n_blocks,), or -1."""
        index = np.full(len(self.kinds), -1, dtype=np.int64)
        index[chosen] = np.arange(len(chosen))
        return index


@storable
@dataclass(frozen=True, eq=False)
class Frames(ReadOnly):
    """The frame of every recording. Arrays are read-only.

    Parameters
    ----------
    labels : ndarray of int, shape (n_recordings,)
        Which frame a recording has.
    turns : ndarray of shape (n_frames, 4) or (n_frames, 2)
        Rotations: unit quaternions, w first, or cosine and sine in two dimensions.
    log_sizes : ndarray of shape (n_frames, n_sizes)
        Log size of each block that has one (`Blocks.sized`).
    places : ndarray of shape (n_frames, n_places, dim)
        Where the origin of each block is that has a place (`Blocks.placed`).
    """

    labels: IntArray
    turns: FloatArray
    log_sizes: FloatArray
    places: FloatArray

    @classmethod
    def single(cls, frame: Frame) -> Frames:
        """Return one frame, of one recording."""
        return cls(np.zeros(1, dtype=np.int64), *(part[None] for part in frame))

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return len(self.turns)

    def __getitem__(self, f: int) -> Frame:
        """Return a copy of one frame, for loops that are compiled once, for arrays that can be written to."""
        return Frame(self.turns[f].copy(), self.log_sizes[f].copy(), self.places[f].copy())

    @property
    def rotations(self) -> FloatArray:
        """Rotation matrices, (n_frames, dim, dim)."""
        return rotation_matrices(self.turns)

    def per_recording(self) -> Frames:
        """Return a frame for each recording, with copies of frames that are shared."""
        return self.taken(np.arange(len(self.labels)), self.labels)

    def taken(self, labels: IntArray, which: IntArray) -> Frames:
        """Return chosen frames with new labels."""
        return Frames(labels, self.turns[which], self.log_sizes[which], self.places[which])


def identity_frames(blocks: Blocks, labels: IntArray | None = None) -> Frames:
    """Return frames that change nothing, for recordings with given labels or for one recording."""
    labels = np.zeros(1, dtype=np.int64) if labels is None else labels
    n_frames = int(labels.max()) + 1
    turns = np.zeros((n_frames, blocks.turn_size))
    turns[:, 0] = 1.0
    sizes, places = np.zeros((n_frames, len(blocks.sized))), np.zeros((n_frames, len(blocks.placed), blocks.dim))
    return Frames(np.array(labels, dtype=np.int64), turns, sizes, places)


def stacked(labels: IntArray, parts: list[Frames]) -> Frames:
    """Return frames concatenated, with new labels."""
    columns = (np.concatenate([getattr(part, name) for part in parts]) for name in ("turns", "log_sizes", "places"))
    return Frames(np.array(labels, dtype=np.int64), *columns)


def rotation_matrices(turns: FloatArray) -> FloatArray:
    """Return the rotation matrices, (..., d, d), of unit quaternions, w first, or of cosines and sines."""
    if turns.shape[-1] == 2:
        c, s = np.moveaxis(turns, -1, 0)
        return np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)
    w, x, y, z = np.moveaxis(turns, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def turn_of_matrix(rotation: FloatArray) -> FloatArray:
    """Return rotation matrices, (..., d, d), as unit quaternions, w first, or as cosines and sines."""
    if rotation.shape[-1] == 2:
        turn = rotation[..., 0]
        return np.asarray(turn / np.linalg.norm(turn, axis=-1, keepdims=True))
    from scipy.spatial.transform import Rotation

    return np.asarray(np.roll(Rotation.from_matrix(rotation).as_quat(), 1, axis=-1))


def product_of_turns(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the product of two rotations."""
    out = np.empty(len(left))
    _kernels.write_product(np.array(left), np.array(right), out)
    return out


def inverse_turn(turn: FloatArray) -> FloatArray:
    """Return the inverse of a rotation."""
    return turn * np.where(np.arange(len(turn)) == 0, 1.0, -1.0)


def draw_turn(rng: Generator, blocks: Blocks) -> FloatArray:
    """Draw a rotation uniformly among those allowed."""
    turn = np.zeros(blocks.turn_size)
    if blocks.n_angles == 0:
        turn[0] = 1.0
    elif blocks.n_angles == 1:
        direction = rng.standard_normal(2)
        turn[[0, -1]] = direction / np.linalg.norm(direction)
    else:
        direction = rng.standard_normal(4)
        turn = direction / np.linalg.norm(direction)
    return turn


def draw_frame(rng: Generator, blocks: Blocks, prior: Prior) -> Frames:
    """Draw one frame from its prior, for one recording."""
    sizes = prior.size_spread * rng.standard_normal(len(blocks.sized))
    places = prior.place_mean + prior.place_spread[:, None] * rng.standard_normal(prior.place_mean.shape)
    return Frames.single(Frame(draw_turn(rng, blocks), sizes, places))


def aligned_steps(blocks: Blocks, frames: Frames, steps: FloatArray, starts: IntArray) -> FloatArray:
    """Return recorded steps in the canonical frame, (n_steps, n_dims)."""
    aligned, steps = np.empty_like(steps), read_only(steps)
    _kernels.align_steps(
        steps, starts, frames.labels, frames.turns, frames.log_sizes, frames.places, blocks.layout, aligned
    )
    return aligned


def carried(blocks: Blocks, turns: FloatArray, log_sizes: FloatArray, values: FloatArray) -> FloatArray:
    """Return canonical values of the blocks with a place, (n_places, dim), turned and resized but not moved.

    Turns and log sizes of several frames give as many results, (n_frames, n_places, dim).
    """
    rotations, found = rotation_matrices(turns), []
    for b, value in zip(blocks.placed, values, strict=True):
        turned = rotations @ value if b in blocks.turned else np.broadcast_to(value, rotations.shape[:-1])
        size = np.exp(log_sizes[..., blocks.sized.index(b)]) if b in blocks.sized else np.ones(rotations.shape[:-2])
        found.append(size[..., None] * turned)
    return np.stack(found, axis=-2) if found else np.zeros((*rotations.shape[:-2], 0, blocks.dim))


def composed(blocks: Blocks, outer: Frames, inner: Frames) -> Frames:
    """Return the composition of each outer frame with the inner one of the same number, which acts first."""
    turns = np.stack([product_of_turns(a, b) for a, b in zip(outer.turns, inner.turns, strict=True)])
    moved = [carried(blocks, *parts) for parts in zip(outer.turns, outer.log_sizes, inner.places, strict=True)]
    return Frames(outer.labels, turns, outer.log_sizes + inner.log_sizes, outer.places + np.stack(moved))


def states_in_frame(
    blocks: Blocks, frame: Frames, means: FloatArray, covariances: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return means, (n_states, n_dims), and covariances of states as recordings of one frame show them."""
    matrix, places = matrix_and_place(blocks, frame, 0)
    return means @ matrix.T + places, matrix @ covariances @ matrix.T


def matrix_and_place(blocks: Blocks, frames: Frames, f: int) -> tuple[FloatArray, FloatArray]:
    """Return what a frame multiplies canonical steps by, (n_dims, n_dims), and adds to them, (n_dims,)."""
    matrix, places = np.eye(blocks.n_dims), np.zeros(blocks.n_dims)
    for b, block in enumerate(blocks.slices):
        if b in blocks.turned:
            matrix[block, block] = frames.rotations[f]
        if b in blocks.sized:
            matrix[block, block] *= np.exp(frames.log_sizes[f, blocks.sized.index(b)])
        if b in blocks.placed:
            places[block] = frames.places[f, blocks.placed.index(b)]
    return matrix, places


def recorded_steps(blocks: Blocks, frames: Frames, aligned: FloatArray, starts: IntArray) -> FloatArray:
    """Return steps in the canonical frame as they were recorded, (n_steps, n_dims)."""
    recorded = np.empty_like(aligned)
    for i, f in enumerate(frames.labels.tolist()):
        (matrix, places), part = matrix_and_place(blocks, frames, f), slice(starts[i], starts[i + 1])
        recorded[part] = aligned[part] @ matrix.T + places
    return recorded


def gaps_in_frames(blocks: Blocks, frames: Frames, emission: Emission, gaps: Gaps, fill: FloatArray) -> Gaps:
    """Return the gaps of recorded steps as the aligned steps have them.

    Parameters
    ----------
    blocks : Blocks
    frames : Frames
    emission : Emission
    gaps : Gaps
        Of the recorded steps.
    fill : ndarray of shape (n_steps, n)
        Augmented steps that are aligned and filled in somehow.
    """
    edges = emission.structure.starts - emission.n_regressors
    inverses = [np.linalg.inv(matrix_and_place(blocks, frames, f)[0]) for f in range(frames.n_frames)]
    bases, dims = gaps.bases.copy(), gaps.dims.copy()
    of_groups = np.repeat(frames.labels, np.diff(gaps.groups))
    turned = [range(edges[b], edges[b + 1]) for b in range(len(edges) - 1)]
    for g, (f, b, n) in enumerate(zip(of_groups.tolist(), gaps.blocks.tolist(), gaps.counts.tolist(), strict=True)):
        own = inverses[f][np.ix_(turned[b], turned[b])]
        if not (own == np.eye(len(own))).all():
            bases[g, : len(own), :n] = own[:, gaps.dims[g, :n]]
            dims[g] = -1
    return gaps._replace(bases=read_only(bases), dims=read_only(dims), fill=read_only(fill))


def log_determinants(blocks: Blocks, weights: FloatArray, frames: Frames) -> FloatArray:
    """Return the log determinant of each frame, (n_frames,), blocks counted by their weights.

    The log density of a recorded step is that of the aligned step less this number.
    """
    return np.asarray(frames.log_sizes @ (blocks.dim * weights[blocks.sized]))
