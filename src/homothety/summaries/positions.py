"""Positions in recordings: which channels they are, and where they lie in the frame of the reference."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homothety.arrays import FloatArray
    from homothety.datasets import SequenceSet
    from homothety.summaries.frames import FrameTable
    from homothety.summaries.result import Segmentation

_AXES = "xyz"


def position_dims(result: Segmentation) -> list[int]:
    """Return three channels to draw as a place: the first position, those called x, y and z, or else the first ones."""
    known = first_position(result)
    if known is not None:
        return known
    names = result.channel_names()
    found = [_ending_in(axis, names) for axis in _AXES]
    return [dim for dim in found if dim is not None] if None not in found else list(range(min(len(names), 3)))


def _ending_in(axis: str, channels: list[str]) -> int | None:
    """Return the first channel called by the name of an axis, alone or after something else."""
    pattern = re.compile(rf"(?:^|[^a-z]){axis}$", flags=re.IGNORECASE)
    return next((dim for dim, name in enumerate(channels) if pattern.search(name)), None)


def first_position(result: Segmentation) -> list[int] | None:
    """Return the channels of the first position; None if the model knows none."""
    blocks = result.blocks
    if blocks is None or "point" not in blocks.kinds:
        return None
    return list(blocks.channels[blocks.kinds.index("point")])


def position_maps(table: FrameTable) -> list[tuple[FloatArray, FloatArray]]:
    """Return what brings the first position of each recording into the frame of the reference: matrix and place.

    A recorded place x is ``matrix @ (x - place)`` in the frame of the reference.
    """
    size = table.blocks.sized.index(table.blocks.points[0])
    return [(one.rotation.T / one.sizes[size], one.places[0]) for one in table.rows]


def aligned_places(result: Segmentation, data: SequenceSet, dims: list[int]) -> list[FloatArray]:
    """Return the places of all steps, in the frame of the reference where frames are known.

    Parameters
    ----------
    result : Segmentation
    data : SequenceSet
        The recordings it is about.
    dims : list of int
        Channels of the place: see `position_dims`.

    Returns
    -------
    places : list of ndarray of shape (n_steps_i, len(dims))
    """
    places = [one[:, dims] for one in data.sequences]
    if result.frame_table is None or first_position(result) is None:
        return places
    maps = position_maps(result.frame_table)
    return [(one - place) @ matrix.T for one, (matrix, place) in zip(places, maps, strict=True)]
