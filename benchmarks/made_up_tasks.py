"""How well actions are found in made-up tasks: ``python -m benchmarks.made_up_tasks``.

`ActionHMM` with its default settings on movements of many kinds: from place to place, to and fro, around, with rests,
and of one action alone, some with forces. Every recording is turned, resized and moved on its own. Lines of
results/made_up_tasks.md are written as soon as they are measured; a shorter run only prints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.spatial.transform import Rotation

from benchmarks.action_accuracy import find_actions, measure_page
from homothety.datasets import SequenceSet
from homothety.metrics import hamming
from homothety.phrases import format_cell

if TYPE_CHECKING:
    from collections.abc import Callable

    from homothety.arrays import FloatArray

N_RUNS = 3
POINT, SENSED = ["point"], ["point", "vector", "vector", "point"]
TREMOR = 0.01  # standard deviation of the noise of positions; movements are about 1 long
HEADER = ("task", "actions (true)", "Hamming", "Hamming of states", "Hamming, told the number", "seeds")
PAGE = """\
# Made-up tasks

Written by `python -m benchmarks.made_up_tasks`: `ActionHMM` with its default settings, not told how
many actions there are, on tasks that are made anew for every seed. Every recording is turned, resized
and moved on its own. Means (standard deviations) over seeds.

{table}

{age}- *Hamming of states*: the states before they are grouped into actions.
- *Told the number*: the same fit, cut at the true number of actions (`actions_at`).
- Moves and rests: a rest is shorter than the least stay of a state, and part of the move beside it.
"""


class Recording:
    """A recording that grows action by action, from where the hand is."""

    def __init__(self, rng: np.random.Generator, dim: int) -> None:
        self.rng, self.place = rng, np.zeros(dim)
        self.steps: list[FloatArray] = []
        self.actions: list[int] = []

    def go(self, place: FloatArray | list[float], action: int, n_steps: float) -> None:
        """Move to a place as hands do: slowly at both ends."""
        phase = np.linspace(0, 1, int(n_steps * self.rng.uniform(0.8, 1.25)))[:, None]
        there = np.asarray(place) + self.rng.normal(0, 0.04, len(self.place))
        self._add(self.place + phase**3 * (10 - 15 * phase + 6 * phase**2) * (there - self.place), action)

    def repeat(self, sizes: list[float], lags: list[float], period: float, action: int, n_steps: float) -> None:
        """Swing about the place: sines of one period, each with a size and a lag of its phase."""
        time = np.arange(int(n_steps * self.rng.uniform(0.75, 1.3)))[:, None]
        phase = 2 * np.pi * time / (period * self.rng.uniform(0.9, 1.1))
        swing = np.array(sizes) * np.sin(phase + np.array(lags))
        self._add(self.place + swing - swing[0], action)

    def rest(self, action: int, n_steps: float) -> None:
        """Stay where the hand is."""
        self._add(np.repeat(self.place[None], int(n_steps * self.rng.uniform(0.7, 1.3)), axis=0), action)

    def in_own_frame(self) -> FloatArray:
        """Return the positions with tremor, turned, resized and moved."""
        steps = np.concatenate(self.steps)
        tremor = gaussian_filter1d(self.rng.normal(size=steps.shape), 3, axis=0)
        rotation = Rotation.random(random_state=self.rng).as_matrix()
        if len(self.place) == 2:
            angle = self.rng.uniform(0, 2 * np.pi)
            rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        size = np.exp(self.rng.normal(0, 0.3))
        steps = steps + TREMOR * tremor / tremor.std()
        return np.asarray(size * steps @ rotation.T + self.rng.normal(size=len(self.place)))

    def _add(self, steps: FloatArray, action: int) -> None:
        self.steps.append(steps)
        self.actions += [action] * len(steps)
        self.place = steps[-1]


def task(n_recordings: int, dim: int, perform: Callable[[Recording], None]) -> Callable[[int], SequenceSet]:
    """Return a recipe of a set of recordings in which the same is performed."""

    def make(seed: int) -> SequenceSet:
        rng, made = np.random.default_rng(seed), []
        for _ in range(n_recordings):
            made.append(Recording(rng, dim))
            perform(made[-1])
        return SequenceSet([one.in_own_frame() for one in made], actions=[np.array(one.actions) for one in made])

    return make


def visit_places(recording: Recording) -> None:
    """Visit eight places once, always in the same order."""
    for action, place in enumerate(np.random.default_rng(7).uniform(-1, 1, size=(8, 3))):
        recording.go(place, action, 55)


def move_around(recording: Recording) -> None:
    """Go around four places, twice."""
    for _ in range(2):
        for action, place in enumerate([[1.0, 0.0, 0.0], [1.0, 0.8, 0.2], [0.1, 0.9, 0.6], [0.0, 0.0, 0.0]]):
            recording.go(place, action, 55)


def draw_strokes(recording: Recording) -> None:
    """Hatch, circle, zigzag and scribble, each in its corner, in any order, with moves between them."""
    corners = [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]]
    swings = [
        ([0.6, 0.08], [0.0, 1.0]),
        ([0.4, 0.4], [0.0, np.pi / 2]),
        ([0.15, 0.5], [0.0, 0.2]),
        ([0.3, 0.6], [0, 0.3]),
    ]
    for action in recording.rng.permutation(4):
        recording.go(corners[action], 4, 60)
        recording.repeat(*swings[action], period=66, action=int(action), n_steps=450)


def cook(recording: Recording) -> None:
    """Reach, stir, carry, shake, wipe and return."""
    recording.go([0.8, 0.2, 0.1], 0, 80)
    recording.repeat([0.12, 0.12, 0.01], [0.0, np.pi / 2, 0.0], 50, 1, 400)
    recording.go([0.1, 0.9, 0.5], 2, 110)
    recording.repeat([0.02, 0.01, 0.15], [0.0, np.pi / 2, 0.0], 35, 3, 250)
    recording.go([-0.6, 0.3, 0.05], 2, 110)
    recording.repeat([0.3, 0.02, 0.0], [0.0, np.pi / 2, 0.0], 90, 4, 350)
    recording.go([0.0, 0.0, 0.0], 5, 90)


def pick_and_place(recording: Recording) -> None:
    """Reach, grasp, lift, carry, lower and return, twice."""
    ways = [([0.5, 0.1, 0.0], 55), ([0.5, 0.1, 0.0], 30), ([0.5, 0.1, 0.4], 35)]
    ways += [([-0.4, 0.5, 0.4], 70), ([-0.4, 0.5, 0.0], 30), ([0.0, 0.0, 0.0], 60)]
    for _ in range(2):
        for action, (place, n_steps) in enumerate(ways):
            recording.go(place, action, n_steps)


def sort_things(recording: Recording) -> None:
    """Make moves of three kinds in any order, with short rests."""
    for action in np.concatenate([recording.rng.permutation(3) for _ in range(5)]):
        way = np.array([[1.0, 0.0], [0.3, 0.9], [-0.7, 0.2]])[action]
        recording.go(recording.place + way * recording.rng.uniform(0.8, 1.2), int(action), 47)
        recording.rest(3, 22)


def swing_only(recording: Recording) -> None:
    """Do one thing all the time."""
    recording.repeat([1.0, 0.3, 0.05], [0.0, np.pi / 2, 1.0], 45, 0, 600)


def with_sensors(recipe: Callable[[int], SequenceSet]) -> Callable[[int], SequenceSet]:
    """Return a recipe of the same recordings with a force, a torque and a second hand that drifts: 12 channels.

    Force and torque have a mean for every action, in the frame of the tool, and a zero for every recording.
    """

    def make(seed: int) -> SequenceSet:
        made, rng = recipe(seed), np.random.default_rng(seed + 100)
        strength = rng.choice([0.0, 0.3, 1.5], size=(20, 1))  # of up to twenty actions
        means = np.hstack([rng.normal(size=(20, 3)), 0.3 * rng.normal(size=(20, 3))]) * strength
        recordings = []
        for positions, actions in zip(made.sequences, made.actions, strict=True):
            noise, drift = rng.normal(size=(len(actions), 6)), rng.normal(size=(len(actions), 3))
            sensed = gaussian_filter1d(means[actions], 4, axis=0) + rng.normal(scale=0.2, size=6)
            sensed += gaussian_filter1d(noise, 2, axis=0) * np.repeat([0.3, 0.1], 3)
            hand = 1.5 * gaussian_filter1d(drift, 40, axis=0) + rng.normal(scale=0.3, size=3)
            recordings.append(np.hstack([positions, sensed, hand]))
        return SequenceSet(recordings, actions=made.actions)

    return make


TASKS = {
    "Eight places, each once": task(8, 3, visit_places),
    "Around four places": task(6, 3, move_around),
    "Strokes of four kinds, and moves": task(6, 2, draw_strokes),
    "Cooking": task(7, 3, cook),
    "Pick and place": task(6, 3, pick_and_place),
    "Moves of three kinds, and rests": task(6, 2, sort_things),
    "One swing": task(6, 3, swing_only),
    "Cooking, 2 recordings, 12 channels": with_sensors(task(2, 3, cook)),
    "Pick and place, 2 recordings, 12 channels": with_sensors(task(2, 3, pick_and_place)),
    "Eight places, 4 recordings, 12 channels": with_sensors(task(4, 3, visit_places)),
}


def rows_of(title: str, n_runs: int) -> list[list[str]]:
    """Fit a task with every seed and return its line of the table."""
    scores, n_true = [], 0
    for seed in range(n_runs):
        recordings = TASKS[title](seed)
        fit = find_actions(recordings, POINT if recordings.sequences[0].shape[1] < 12 else SENSED, seed)
        truth = np.concatenate(recordings.actions)
        n_true = len(np.unique(truth))
        cuts = fit.actions_, fit.paths_, fit.actions_at(min(n_true, fit.n_states_))
        scores.append((fit.n_actions_, *(hamming(truth, np.concatenate(cut)) for cut in cuts)))
    n_actions, *others = zip(*scores, strict=True)
    cells = [format_cell(values) for values in others]
    return [[title, f"{format_cell(n_actions, decimals=1)} ({n_true})", *cells]]


def main() -> None:
    """Run everything."""
    measure_page(__doc__, "made_up_tasks", rows_of, HEADER, PAGE, dict.fromkeys(TASKS, N_RUNS))


if __name__ == "__main__":
    main()
