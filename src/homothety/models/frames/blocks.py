"""Channels in blocks that turn together, and how a frame acts on each kind of block (section 1 of the model)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from homothety.errors import InputError
from homothety.models.frames._kernels import PLAIN, POINT, QUATERNION, VECTOR, Layout

if TYPE_CHECKING:
    from homothety.arrays import IntArray

Kind = Literal["point", "vector", "quaternion", "plain"]
Rotations = Literal["all", "yaw", "none"]

CODES = {"point": POINT, "vector": VECTOR, "quaternion": QUATERNION, "plain": PLAIN}


@dataclass(frozen=True)
class Blocks:
    """Kinds of the blocks of channels, in order, and which rotations a frame may have.

    Parameters
    ----------
    kinds : tuple of {"point", "vector", "quaternion", "plain"}
        A point has `dim` channels and is turned, resized and moved by a frame. A vector has `dim` channels and is
        turned and resized. A quaternion has four channels, w first, and is turned by a product from the left. Plain
        channels are left alone.
    dim : {2, 3}
        Dimensions of space.
    rotations : {"all", "yaw", "none"}
        All rotations, those about the third axis only, or none.
    still : tuple of int, optional
        Blocks that frames leave alone whatever their kind: a force in the frame of the tool, say.
    n_plain : tuple of int, optional
        Channels of each plain block, in order; one each if not given.
    """

    kinds: tuple[Kind, ...]
    dim: int = 3
    rotations: Rotations = "all"
    still: tuple[int, ...] = ()
    n_plain: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", tuple(self.kinds))
        unknown = [kind for kind in self.kinds if kind not in CODES]
        if unknown or not self.kinds:
            raise InputError(f"blocks has {unknown[0] if unknown else 'no kind'!r}, needed some of {', '.join(CODES)}.")
        if self.dim not in (2, 3):
            raise InputError(f"dim is {self.dim!r}, needed 2 or 3.")
        if self.rotations not in get_args(Rotations):
            raise InputError(f"rotations is {self.rotations!r}, needed 'all', 'yaw' or 'none'.")
        if self.dim == 2 and "quaternion" in self.kinds:
            raise InputError("blocks has a quaternion, which needs three-dimensional points and vectors.")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of channels of each block."""
        plain = iter(self.n_plain or (1,) * self.kinds.count("plain"))
        channels = {"point": self.dim, "vector": self.dim, "quaternion": 4}
        return tuple(next(plain) if kind == "plain" else channels[kind] for kind in self.kinds)

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
    def sized(self) -> list[int]:
        """Blocks with a size of their own: points and vectors."""
        return [b for b, kind in enumerate(self.kinds) if kind in ("point", "vector") and b not in self.still]

    @property
    def points(self) -> list[int]:
        """Blocks with a place: points."""
        return [b for b, kind in enumerate(self.kinds) if kind == "point" and b not in self.still]

    @property
    def n_angles(self) -> int:
        """Dimensions of the rotations that a frame may have."""
        if self.rotations == "none" or not (self.sized or self.has_sign):
            return 0
        return 3 if self.dim == 3 and self.rotations == "all" else 1

    @property
    def turn_size(self) -> int:
        """Numbers that describe a rotation: a unit quaternion in three dimensions, cosine and sine in two."""
        return 4 if self.dim == 3 else 2

    @property
    def has_sign(self) -> bool:
        """Whether the sign of the quaternion of a rotation matters, since channels are quaternions themselves."""
        return any(kind == "quaternion" and b not in self.still for b, kind in enumerate(self.kinds))

    @cached_property
    def layout(self) -> Layout:
        """The same for compiled loops."""
        return Layout(
            _frozen([PLAIN if b in self.still else CODES[kind] for b, kind in enumerate(self.kinds)]),
            _frozen(np.concatenate([[0], np.cumsum(self.sizes)])),
            _frozen([_place(b, self.sized) for b in range(len(self.kinds))]),
            _frozen([_place(b, self.points) for b in range(len(self.kinds))]),
            self.dim,
            self.n_angles,
        )


def _place(block: int, listed: list[int]) -> int:
    return listed.index(block) if block in listed else -1


def _frozen(values: object) -> IntArray:
    array = np.array(values, dtype=np.int64)
    array.setflags(write=False)
    return array
