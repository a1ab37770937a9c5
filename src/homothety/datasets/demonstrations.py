"""Synthetic demonstrations of a task in several frames: a hand reaches out, strokes and returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from homothety.arrays import check_count
from homothety.datasets._draws import check_spread, haar_orthogonal
from homothety.datasets.sets import Frames, SequenceSet

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.datasets._draws import RandomState

HOME = np.array([0.0, 0.0, 0.0])
WORK = np.array([0.60, 0.0, 0.0])  # metres: the far end of a stroke is beside it
ARCH = np.array([0.0, 0.0, 0.25])  # how high a reach goes on its way
SWEEP = np.array([0.0, -0.12, 0.0])  # how far to the side a return goes
STROKE = np.array([0.0, 0.16, 0.0])  # from the middle of a stroke to its end
PRESS = np.array([0.0, 0.0, 0.03])  # how far the hand is lifted on its way back
SWAY = np.array([0.05, 0.0, 0.0])  # how far it wanders sideways, from one stroke to another

STEPS_OF = {"reach": (70, 100), "stroke": (220, 320), "return": (60, 90)}  # at 50 steps a second
STROKE_STEPS = (36, 48)  # there and back
SIZES = (0.6, 1.6)
DISTANCE = 0.8  # metres between frames, about
ACTIONS = tuple(STEPS_OF)


def make_demonstrations(
    random_state: RandomState = None, *, n_frames: int = 3, n_per_frame: int = 2, noise: float = 0.002
) -> SequenceSet:
    """Make demonstrations of one task in several frames: reach, stroke, return, and again.

    Parameters
    ----------
    random_state : int, Generator or None, default None
        Seed, or generator to draw on.
    n_frames : int, default 3
        Places where the task is performed, each turned, resized and moved at random.
    n_per_frame : int, default 2
        Demonstrations in each frame.
    noise : float, default 0.002
        Standard deviation of the noise of a recorded position, in metres.

    Returns
    -------
    demonstrations : SequenceSet
        Positions of a hand, 50 a second. True `actions` are 0 (reach), 1 (stroke) and 2 (return); true `states` are
        actions in a frame, ``3 * frame + action``; true `frames` are the rotation, size and origin of each
        demonstration, and the number of its frame.

    Notes
    -----
    A reach goes over an arch and slows down at both ends; a stroke goes to and fro along a line, pressed one way,
    lifted the other, and wanders; a return goes home in a flat bow to the side. All three are performed two or three
    times in a demonstration, at a pace that varies. A stroke has a shape of its own; a reach and a return are both
    drawn out, and much alike: only their order tells them apart.

    Examples
    --------
    >>> make_demonstrations(0)
    <SequenceSet demonstrations: 6 series, ... steps of 3 dimensions, 9 states, 3 actions>
    """
    rng = np.random.default_rng(random_state)
    n_frames = check_count(n_frames, "n_frames")
    n_per_frame = check_count(n_per_frame, "n_per_frame")
    check_spread(noise, "noise")
    frames = _draw_frames(rng, n_frames, n_per_frame)
    paths, actions = zip(*(_perform(rng) for _ in frames.label), strict=True)
    return SequenceSet(
        [_recorded(rng, path, frames, i, noise) for i, path in enumerate(paths)],
        [len(ACTIONS) * frame + one for frame, one in zip(frames.label, actions, strict=True)],
        list(actions),
        tuple(f"frame {i + 1}, demonstration {n + 1}" for i in range(n_frames) for n in range(n_per_frame)),
        ("x", "y", "z"),
        "demonstrations",
        frames,
    )


def _draw_frames(rng: Generator, n_frames: int, n_per_frame: int) -> Frames:
    """Draw proper rotations, log-uniform sizes and origins, and repeat each frame for its demonstrations."""
    rotations = haar_orthogonal(rng, n_frames, 3)
    rotations[:, :, 0] *= np.linalg.det(rotations)[:, None]
    smallest, largest = np.log(SIZES).tolist()
    sizes = np.exp(rng.uniform(smallest, largest, size=n_frames))
    origins = DISTANCE * rng.standard_normal((n_frames, 3))
    frames = (rotations, sizes, origins, np.arange(n_frames))
    return Frames(*(np.repeat(each, n_per_frame, axis=0) for each in frames))


def _perform(rng: Generator) -> tuple[FloatArray, IntArray]:
    """Return the positions and the actions of one demonstration, in the frame of the task."""
    pieces, actions = [HOME[None]], []
    for _ in range(rng.integers(2, 4)):
        for number, (name, bounds) in enumerate(STEPS_OF.items()):
            n_steps = int(rng.integers(*bounds))
            pieces.append(MOVES[name](rng, n_steps, pieces[-1][-1]))
            actions.append(np.full(n_steps, number))
    return np.concatenate(pieces[1:]), np.concatenate(actions)


def _reach(rng: Generator, n_steps: int, start: FloatArray) -> FloatArray:
    """Go to the work over an arch."""
    on_the_way = _ease(n_steps)[:, None]
    height = np.sin(np.pi * on_the_way) * rng.uniform(0.8, 1.2)
    return start + on_the_way * (WORK + STROKE - start) + height * ARCH


def _stroke(rng: Generator, n_steps: int, start: FloatArray) -> FloatArray:  # noqa: ARG001
    """Go to and fro: pressed one way, lifted the other, wandering sideways."""
    period = np.interp(np.arange(n_steps), np.linspace(0, n_steps, 5), rng.uniform(*STROKE_STEPS, size=5))
    phase = 2 * np.pi * np.cumsum(1 / period)[:, None]
    drift = np.interp(np.arange(n_steps), np.linspace(0, n_steps, 6), [0, *rng.uniform(-1, 1, size=4), 0])[:, None]
    return WORK + np.cos(phase) * STROKE + np.sin(phase) * PRESS + drift * SWAY


def _return(rng: Generator, n_steps: int, start: FloatArray) -> FloatArray:
    """Go home in a flat bow to the side."""
    on_the_way = _ease(n_steps)[:, None]
    bow = np.sin(np.pi * on_the_way) * rng.uniform(0.8, 1.2)
    return start + on_the_way * (HOME - start) + bow * SWEEP


def _ease(n_steps: int) -> FloatArray:
    """Return the way from 0 to 1, slower at both ends, as hands go."""
    t = np.linspace(0, 1, n_steps)
    return t - np.sin(2 * np.pi * t) / (4 * np.pi)


def _recorded(rng: Generator, points: FloatArray, frames: Frames, i: int, noise: float) -> FloatArray:
    """Return the positions of demonstration `i` as they are measured in its frame."""
    placed = frames.origin[i] + frames.size[i] * points @ frames.rotation[i].T
    return placed + noise * rng.standard_normal(points.shape)


Move: TypeAlias = "Callable[[Generator, int, FloatArray], FloatArray]"
MOVES: dict[str, Move] = {"reach": _reach, "stroke": _stroke, "return": _return}
