"""Which dimensions of series are drawn, and what they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

Aspect = Literal["equal", "auto"]


def channel_names(channels: Sequence[str] | None, n_dims: int) -> list[str]:
    """Return the names of the dimensions, their numbers if there are none, or raise."""
    names = [str(dim) for dim in range(n_dims)] if not channels else list(channels)
    if len(names) != n_dims:
        raise InputError(f"channels has {len(names)} names, needed one for each of {n_dims} dimensions.")
    return names


def axis_names(channels: Sequence[str] | None, dims: list[int], n_dims: int) -> list[str]:
    """Return what stands along the axes of a picture of some dimensions: their names, or "dimension 0"."""
    names = channel_names(channels, n_dims)
    return [names[dim] if channels else f"dimension {dim}" for dim in dims]


def check_dims(dims: Sequence[int], n_dims: int, wanted: tuple[int, ...]) -> list[int]:
    """Return the dimensions to draw, or raise if they are not as many as wanted, all different and all there."""
    columns = [int(dim) for dim in dims]
    distinct = len(set(columns)) == len(columns)
    if len(columns) not in wanted or not distinct or not all(0 <= dim < n_dims for dim in columns):
        number = " or ".join(map(str, wanted))
        raise InputError(f"dims is {dims!r}, needed {number} different dimensions out of 0 to {n_dims - 1}.")
    return columns


def check_aspect(aspect: Aspect) -> Aspect:
    """Return whether dimensions are drawn to one scale or each to its own, or raise."""
    if aspect not in ("equal", "auto"):
        raise InputError(f"aspect is {aspect!r}, needed 'equal' or 'auto'.")
    return aspect
