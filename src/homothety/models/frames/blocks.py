"""Channels in blocks that turn together, and how a frame acts on each kind of block (docs/model.md, section 5.1)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from homothety.arrays import read_only
from homothety.errors import InputError
from homothety.models.frames._kernels import Layout

if TYPE_CHECKING:
    from homothety.arrays import FloatArray, IntArray

Kind = Literal["point", "vector", "orientation", "plain"]
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

    kinds: tuple[Kind, ...]
    dim: int = 3
    rotations: Rotations = "all"
    still: tuple[int, ...] = ()
    n_plain: tuple[int, ...] = ()
    shifted: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", tuple(self.kinds))
        known = get_args(Kind)
        unknown = [kind for kind in self.kinds if kind not in known]
        if unknown or not self.kinds:
            raise InputError(f"blocks has {unknown[0] if unknown else 'no kind'!r}, needed some of {', '.join(known)}.")
        if self.dim not in (2, 3):
            raise InputError(f"dim is {self.dim!r}, needed 2 or 3.")
        if self.rotations not in get_args(Rotations):
            raise InputError(f"rotations is {self.rotations!r}, needed 'all', 'yaw' or 'none'.")
        if self.dim == 2 and "orientation" in self.kinds:
            raise InputError("blocks has an orientation, which needs three-dimensional points and vectors.")

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
