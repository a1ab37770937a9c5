"""Whether actions stay what they are: ``python -m benchmarks.action_invariance``.

Every recording is turned, resized and moved on its own; noise of a tenth of the spread is added; every second and every
fifth step is used. Answers are compared with those before. Reads the paper's recordings (HOMOTHETY_DATA). Lines of
results/action_invariance.md are written as soon as they are measured; a run with fewer seeds only prints.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.action_accuracy import (
    POINT,
    POSE,
    Task,
    demonstrations,
    find_actions,
    measure_page,
    recorded,
)
from benchmarks.action_new_frames import in_new_frame
from homothety.metrics import ari, hamming
from homothety.phrases import format_cell

if TYPE_CHECKING:
    from homothety.datasets import SequenceSet

N_RUNS = 5
NOISE = 0.1  # of the spread of points
HEADER = ("set", "what was done", "ARI with the answer before", "Hamming", "Hamming before", "seeds")
PAGE = """\
# Actions in other frames, with noise, at other rates

Written by `python -m benchmarks.action_invariance`: `ActionHMM` with its default settings, means
(standard deviations) over seeds. *Own frames*: every recording turned, resized (half to
twice) and moved at random on its own. *Noise*: a tenth of the spread of positions. *Every 2nd*: only
every second step is kept.

{table}

{age}"""
TASKS = {
    "Grating, 6 x 3": Task(recorded("grating"), POINT),
    "Grating, 6 x 7": Task(recorded("grating-7d"), POSE),
    "Rolling": Task(recorded("rolling"), POINT),
    "Demonstrations": Task(demonstrations(3, 2), POINT),
    "Peeling, 13 channels": Task(recorded("peeling"), [*POSE, "vector", "vector"]),
}
CHANGES = {
    "Grating, 6 x 3": ("own frames", "noise", "every 2nd", "every 5th"),
    "Grating, 6 x 7": ("own frames",),
    "Rolling": ("own frames",),
    "Demonstrations": ("own frames",),
    "Peeling, 13 channels": ("every 2nd", "every 5th"),
}


def changed(rng: np.random.Generator, recordings: SequenceSet, blocks: list[str], change: str) -> SequenceSet:
    """Return recordings with something done to them; labels are those of the steps that are left."""
    if change == "own frames":
        return replace(recordings, sequences=[in_new_frame(rng, one, blocks) for one in recordings.sequences])
    if change == "noise":
        sizes = [NOISE * one.std(axis=0).mean() for one in recordings.sequences]
        noisy = [one + size * rng.normal(size=one.shape) for one, size in zip(recordings.sequences, sizes, strict=True)]
        return replace(recordings, sequences=noisy)
    every = int(change.split()[1][0])
    parts = ([one[::every] for one in values] for values in (recordings.sequences, recordings.actions))
    sequences, actions = parts
    return replace(recordings, sequences=sequences, actions=actions, states=None)


def rows_of(title: str, n_runs: int) -> list[list[str]]:
    """Return the lines of a set."""
    task, found = TASKS[title], {change: [] for change in CHANGES[title]}
    for seed in range(n_runs):
        recordings = task.load(seed)
        before = find_actions(recordings, task.blocks, seed)
        wrong_before = hamming(recordings.actions, before.actions_)
        for change in CHANGES[title]:
            others = changed(np.random.default_rng(seed), recordings, list(task.blocks), change)
            after = find_actions(others, task.blocks, seed)
            every = int(change.split()[1][0]) if change.startswith("every") else 1
            kept = np.concatenate([one[::every] for one in before.actions_])
            agreement = ari(kept, np.concatenate(after.actions_))
            found[change].append((agreement, hamming(others.actions, after.actions_), wrong_before))
    return [
        [title, change, *(format_cell(values) for values in zip(*scores, strict=True))]
        for change, scores in found.items()
    ]


def main() -> None:
    """Run everything."""
    measure_page(__doc__, "action_invariance", rows_of, HEADER, PAGE, dict.fromkeys(TASKS, N_RUNS))


if __name__ == "__main__":
    main()
