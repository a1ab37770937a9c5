"""Frames of recordings as they are reported: relative to one recording, in its units, with intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.models.frames.frames import Frames, carried, inverse_turn, product_of_turns, rotation_matrices
from homothety.models.frames.intervals import IntervalFactors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.frames.frames import Blocks

_LEVEL = 0.9  # of intervals
_TINY = 1e-12
NEAR = np.pi / 2  # radians: draws that are turned farther from the most probable one are another mode


class RecordingFrame(NamedTuple):
    """How one recording is turned, resized and moved from the reference."""

    recording: int
    name: str
    is_reference: bool
    shared_with: tuple[int, ...]
    """Other recordings that most probably have the same frame."""
    rotation: FloatArray
    """(dim, dim), from the directions of the reference to those of the recording."""
    angle: float
    """Of the rotation, in degrees."""
    angle_error: float
    """Degrees within which 90 % of the draws lie about the rotation."""
    sizes: FloatArray
    """(n_sizes,) size of each point and vector block, as a multiple of the reference."""
    size_intervals: FloatArray
    """(n_sizes, 2)"""
    places: FloatArray
    """(n_points, dim) where the origin of the reference is, in the units of the recordings."""
    place_intervals: FloatArray
    """(n_points, dim, 2)"""
    zeros: FloatArray
    """(n_vectors, dim) what each recorded vector shows where it is zero: a force sensor may not be tared."""
    zero_intervals: FloatArray
    """(n_vectors, dim, 2)"""
    agreement: float
    """Share of the draws that agree on the rotation up to 90 degrees."""
    free_axis: FloatArray | None = None
    """(dim,) direction of a recording on a straight line. How far it is turned about this axis cannot be determined:
    the rotation is the smallest that lays line on line, and `angle_error` is that of the direction of the line."""


class PreparedBlocks(NamedTuple):
    """Blocks of prepared channels and their units, see `FrameTable`."""

    blocks: Blocks
    n_recorded: int
    offset: FloatArray
    factors: FloatArray


KINDS = {"point": "positions", "vector": "vectors", "orientation": "orientations", "plain": "plain channels"}


def weights_by_kind(prepared: PreparedBlocks, weights: FloatArray) -> dict[str, float]:
    """Return the mean weight of the blocks of each kind; computed velocities are a kind of their own."""
    by_kind: dict[str, list[float]] = {}
    for b, (kind, weight) in enumerate(zip(prepared.blocks.kinds, weights, strict=True)):
        by_kind.setdefault(KINDS[kind] if b < prepared.n_recorded else "velocities", []).append(float(weight))
    return {kind: sum(values) / len(values) for kind, values in by_kind.items()}


@dataclass(frozen=True, eq=False)
class FrameTable:
    """Frames of all recordings, one row each, relative to the reference.

    Parameters
    ----------
    blocks : Blocks
        Of the prepared channels; velocities that were computed come last.
    n_recorded : int
        Number of blocks that were recorded, not computed.
    offset, factors : ndarray of shape (n_dims,)
        What was subtracted from each prepared channel, and what it was multiplied by then.
    names : tuple of str
    reference : int
        Recording that all frames are relative to; -1 if it is not among these recordings.
    reference_name : str
    labels : ndarray of int, shape (n_recordings,)
        Recordings with the same label share a frame.
    turns, log_sizes, places : ndarray
        As in `homothety.models.frames.Frames`, a row per recording, in prepared units.
    angle_errors : ndarray of shape (n_recordings,)
        Radians.
    size_intervals : ndarray of shape (n_recordings, n_sizes, 2)
        Of log sizes.
    place_intervals : ndarray of shape (n_recordings, n_places, dim, 2)
        Of where the origin of the recordings, not that of prepared units, is taken to; in prepared units.
    agreements : ndarray of shape (n_recordings,)
    free_axes : ndarray of shape (n_recordings, dim)
        Directions about which rotations cannot be determined; zero for recordings that have none.
    """

    blocks: Blocks
    n_recorded: int
    offset: FloatArray
    factors: FloatArray
    names: tuple[str, ...]
    reference: int
    reference_name: str
    labels: IntArray
    turns: FloatArray
    log_sizes: FloatArray
    places: FloatArray
    angle_errors: FloatArray
    size_intervals: FloatArray
    place_intervals: FloatArray
    agreements: FloatArray
    free_axes: FloatArray

    @property
    def frames(self) -> Frames:
        """A frame for each recording."""
        return Frames(np.arange(len(self.labels)), self.turns, self.log_sizes, self.places)

    @cached_property
    def rows(self) -> list[RecordingFrame]:
        """One row per recording, in the units of the recordings."""
        blocks = self.blocks
        rotations = rotation_matrices(self.turns)
        origins, scales = blocks.at_places(self.offset), 1 / blocks.at_places(self.factors)[:, :1]
        points = [place for place, b in enumerate(blocks.placed) if blocks.kinds[b] == "point"]
        shifted = [place for place, b in enumerate(blocks.placed) if blocks.kinds[b] == "vector"]
        rows = []
        for i, rotation in enumerate(rotations):
            sizes = np.exp(self.log_sizes[i])
            shift = origins - carried(blocks, self.turns[i], self.log_sizes[i], origins)
            places = self.places[i] * scales + shift
            intervals = self.place_intervals[i] * scales[:, :, None] + origins[:, :, None]
            rows.append(
                RecordingFrame(
                    i,
                    self.names[i],
                    i == self.reference,
                    tuple(int(j) for j in np.flatnonzero(self.labels == self.labels[i]) if j != i),
                    rotation,
                    float(np.degrees(rotation_angle(rotation))),
                    float(np.degrees(self.angle_errors[i])),
                    sizes,
                    np.exp(self.size_intervals[i]),
                    places[points],
                    intervals[points],
                    places[shifted],
                    intervals[shifted],
                    float(self.agreements[i]),
                    self.free_axes[i] if self.free_axes[i].any() else None,
                )
            )
        return rows


def one_table(tables: Sequence[FrameTable], names: tuple[str, ...], reference_name: str) -> FrameTable:
    """Return the last rows of several tables as one table, of recordings with frames of their own."""
    arrays = ("turns", "log_sizes", "places", "angle_errors", "size_intervals", "place_intervals", "agreements")
    columns: dict[str, Any] = {
        name: np.stack([getattr(table, name)[-1] for table in tables]) for name in (*arrays, "free_axes")
    }
    labels = np.arange(len(tables))
    return replace(tables[0], names=names, reference=-1, reference_name=reference_name, labels=labels, **columns)


def rotation_angle(rotation: FloatArray) -> float:
    """Return the angle of a rotation matrix, in radians."""
    if len(rotation) == 2:
        return float(abs(np.arctan2(rotation[1, 0], rotation[0, 0])))
    return float(np.arccos(np.clip((np.trace(rotation) - 1) / 2, -1.0, 1.0)))


def _angle_between_turns(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the angles between rotations, (...,): unit quaternions up to their sign, or cosines and sines."""
    cosine = np.clip(np.abs((first * second).sum(axis=-1)), 0.0, 1.0)
    if first.shape[-1] == 2:
        return np.asarray(np.arccos(np.clip((first * second).sum(axis=-1), -1.0, 1.0)))
    return np.asarray(2 * np.arccos(cosine))


def relative_to(blocks: Blocks, draw: Frames, reference: int) -> Frames:
    """Return a frame for each recording, relative to that of the reference.

    Only points have places that are relative: the zero of a vector or orientation is that of its own recording.
    """
    each = draw.per_recording()
    is_point = np.isin(blocks.placed, blocks.points)[:, None]
    turn, sizes, places = each.turns[reference], each.log_sizes[reference], each.places[reference] * is_point
    turns = np.stack([product_of_turns(one, inverse_turn(turn)) for one in each.turns])
    log_sizes = each.log_sizes - sizes
    return Frames(each.labels, turns, log_sizes, each.places - carried(blocks, turns, log_sizes, places))


def frame_table(
    prepared: PreparedBlocks,
    draws: Sequence[Frames],
    names: tuple[str, ...],
    reference: int,
    best: int,
    middle: FloatArray,
    axes: FloatArray | None = None,
    spread: IntervalFactors | None = None,
) -> FrameTable:
    """Summarise draws of frames.

    Parameters
    ----------
    prepared : PreparedBlocks
    draws : sequence of Frames
    names : tuple of str
    reference : int
    best : int
        The most probable draw: those that are turned far from it, recording by recording, are counted apart.
    middle : ndarray of shape (n_dims,)
        Middle of the reference, in prepared units: rotations and sizes are averaged about it.
    axes : ndarray of shape (n_recordings, dim), optional
        Directions of recordings on a straight line, zero for all others.
    spread : IntervalFactors, optional
        What the deviations of draws from their mean are multiplied by for intervals.

    Notes
    -----
    A place is where a frame takes the origin of the recordings. Its interval therefore includes the uncertainty of
    rotation and size, times the distance of the recording from the origin.
    """
    blocks = prepared.blocks
    if spread is None:
        spread = IntervalFactors(1.0, np.ones(len(blocks.sized)), np.ones(len(blocks.placed)))
    middle, origin = blocks.at_places(middle), blocks.at_places(-prepared.offset * prepared.factors)
    labels = sharing(draws)
    free = np.zeros((len(names), blocks.dim)) if axes is None else _free_axes(axes, labels, reference)
    relative = [relative_to(blocks, draw, reference) for draw in draws]
    turns, sizes = np.stack([one.turns for one in relative]), np.stack([one.log_sizes for one in relative])
    places, recorded = np.stack([one.places for one in relative]), turns.copy()
    for i in np.flatnonzero(free.any(axis=1)).tolist():
        turns[:, i] = [_without_twist(turn, free[i]) for turn in turns[:, i]]
    near = _angle_between_turns(turns, turns[best]) < NEAR
    rows = []
    for i in range(len(names)):
        own = near[:, i]
        turn = _mean_turn(turns[own, i], turns[best, i])
        log_sizes = sizes[own, i].mean(axis=0)
        images = places[own, i] + carried(blocks, recorded[own, i], sizes[own, i], middle)
        image = images.mean(axis=0)
        # Draws with the spread that `spread` corrects for.
        all_turns = _with_angles_scaled(recorded[own, i], _mean_turn(recorded[own, i], recorded[best, i]), spread.angle)
        all_sizes = log_sizes + spread.sizes * (sizes[own, i] - log_sizes)
        all_images = image + spread.places[:, None] * (images - image)
        origins = all_images + carried(blocks, all_turns, all_sizes, origin - middle)
        low, high = (1 - _LEVEL) / 2, (1 + _LEVEL) / 2
        rows.append(
            (
                turn,
                log_sizes,
                image - carried(blocks, turn, log_sizes, middle),
                spread.angle * np.quantile(_angle_between_turns(turns[own, i], turn), _LEVEL),
                np.moveaxis(np.quantile(all_sizes, [low, high], axis=0), 0, -1),
                np.moveaxis(np.quantile(origins, [low, high], axis=0), 0, -1),
            )
        )
    quantities = ("turns", "log_sizes", "places", "angle_errors", "size_intervals", "place_intervals")
    columns: dict[str, Any] = {
        name: np.stack(column) for name, column in zip(quantities, zip(*rows, strict=True), strict=True)
    }
    return FrameTable(
        *prepared, names, reference, names[reference], labels, **columns, agreements=near.mean(axis=0), free_axes=free
    )


def _free_axes(axes: FloatArray, labels: IntArray, reference: int) -> FloatArray:
    """Return the axes about which the frames of straight recordings are undetermined, (n_recordings, dim).

    Recordings that share a frame with one that is not straight, or with the reference, have none.
    """
    found = axes.copy()
    for label in np.unique(labels):
        own = labels == label
        if own[reference] or not axes[own].any(axis=1).all():
            found[own] = 0.0
    return found


def _without_twist(turn: FloatArray, axis: FloatArray) -> FloatArray:
    """Return the smallest rotation that takes the same direction to an axis as a given rotation does."""
    origin = rotation_matrices(turn).T @ axis
    if origin @ axis < -1 + _TINY:  # a half turn about any direction across the axis
        across = np.eye(3)[np.argmin(np.abs(axis))]
        across = across - (across @ axis) * axis
        return np.array([0.0, *across / np.linalg.norm(across)])
    smallest = np.array([1.0 + origin @ axis, *np.cross(origin, axis)])
    return np.asarray(smallest / np.linalg.norm(smallest))


def _mean_turn(turns: FloatArray, side: FloatArray) -> FloatArray:
    """Return the mean of rotations that are near each other; quaternions get the sign of `side`."""
    signs = np.where(turns @ side < 0, -1.0, 1.0) if turns.shape[1] == 4 else np.ones(len(turns))
    mean = (turns * signs[:, None]).mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean))


def _with_angles_scaled(turns: FloatArray, mean: FloatArray, factor: float) -> FloatArray:
    """Return rotations with their angles from a mean multiplied by a factor.

    Examples
    --------
    >>> quarter, none = np.array([[np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0]]), np.array([1.0, 0.0, 0.0, 0.0])
    >>> np.degrees(_angle_between_turns(_with_angles_scaled(quarter, none, 0.5), none)).round(6).tolist()
    [45.0]
    """
    back, found = inverse_turn(mean), []
    for turn in turns:
        between = product_of_turns(back, turn)
        if len(between) == 4 and between[0] < 0:
            between = -between
        length = np.linalg.norm(between[1:])
        angle = factor * np.arctan2(length, between[0])
        axis = between[1:] / max(float(length), _TINY)
        found.append(product_of_turns(mean, np.array([np.cos(angle), *(np.sin(angle) * axis)])))
    return np.stack(found)


def sharing(draws: Sequence[Frames]) -> IntArray:
    """Return frame labels: recordings that share a frame in more than half of the draws are connected."""
    labels = np.stack([draw.labels for draw in draws])
    together = (labels[:, :, None] == labels[:, None, :]).mean(axis=0) > 0.5
    found = np.arange(labels.shape[1])
    for i in range(len(found)):
        for j in range(i):
            if together[i, j]:
                found[found == found[i]] = found[j]
    return np.asarray(np.unique(found, return_inverse=True)[1])
