"""The one type all data sets of series come in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.errors import InputError
from homothety.times import common_rate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from homothety.arrays import FloatArray, IntArray


class Frames(NamedTuple):
    """The frame that each recording was made in: a canonical point y is recorded as ``origin + size * rotation @ y``.

    Attributes
    ----------
    rotation : ndarray of shape (n_series, 3, 3)
    size : ndarray of shape (n_series,)
    origin : ndarray of shape (n_series, 3)
    label : ndarray of shape (n_series,)
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
        One array per series.
    states : list of ndarray of shape (n_steps_i,), or None
        True state at every step, where it is known: a movement in one place, direction and size.
    actions : list of ndarray of shape (n_steps_i,), or None
        True action at every step, where it is known: what states have in common whatever their place, direction and
        size.
    names : tuple of str
        One per series.
    channels : tuple of str
        What each dimension measures; empty where that is not known.
    name : str
        What the set is called in tables and figures.
    frames : Frames, or None
        True frame of every series, where it is known.
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
        """Number of time steps of all series together."""
        return sum(map(len, self.sequences))

    @property
    def n_dims(self) -> int:
        """Number of dimensions of the first series."""
        return self.sequences[0].shape[1]

    def __repr__(self) -> str:
        known = "".join(
            f", {len(np.unique(np.concatenate(paths)))} {kind}"
            for kind, paths in (("states", self.states), ("actions", self.actions))
            if paths is not None
        )
        return f"<SequenceSet {self.name}: {len(self)} series, {self.n_steps} steps of {self.n_dims} dimensions{known}>"


def join_sets(sets: Iterable[SequenceSet], name: str) -> SequenceSet:
    """Return the series of several sets as one set; states, actions, frames and rate only if all have them."""
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
    """Raise unless there is one frame for each series."""
    for kind, values in frames._asdict().items():
        if len(values) != len(one.sequences):
            raise InputError(
                f"{one.name}: {kind} of frames has {len(values)} entries for {len(one.sequences)} series, needed one "
                "each."
            )


def _check_lengths(one: SequenceSet, kind: str, paths: list[NDArray[Any]]) -> None:
    """Raise unless there is one entry per step of each series."""
    if len(paths) != len(one.sequences):
        raise InputError(f"{one.name}: {kind} of {len(paths)} series but there are {len(one.sequences)}.")
    for i, (path, series) in enumerate(zip(paths, one.sequences, strict=True)):
        if path.shape != (len(series),):
            raise InputError(
                f"{one.name}: {kind}[{i}] has shape {path.shape}, needed one for each of {len(series)} steps."
            )
