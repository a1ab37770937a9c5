"""Whether actions are found in frames that were not in the fit: ``python -m benchmarks.action_new_frames``.

Recordings are left out of the fit, and turned, resized and moved at random. Demonstrations are made here; grating is
of the paper's recordings (HOMOTHETY_DATA). Lines of
results/action_new_frames.md are written as soon as they are measured; a shorter run only prints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.action_accuracy import measure_page
from benchmarks.pages import data_folder
from homothety import ActionHMM
from homothety.datasets import SequenceSet, make_demonstrations
from homothety.phrases import format_cell
from paper.sequence_sets import load_sequence_set

if TYPE_CHECKING:
    from collections.abc import Callable

N_RUNS = 6
SIZES = (0.5, 2.0)  # of a recording in its new frame, log-uniform between
HEADER = ("set", "actions", "wrong at fit", "wrong in new frames", "one action for all", "recordings that fit", "runs")
PAGE = """\
# Actions in a new frame

Written by `python -m benchmarks.action_new_frames`. `ActionHMM` with its default settings is fitted to
some recordings. Other
recordings of the set, which were left out of the fit, are turned, resized and moved at random, and
`predict_actions` finds their actions. Columns 3 to 5 are shares of steps whose action is wrong. An
action stands for the true action that most of its steps in the fit have. The last column is the share
of new recordings with `fits`. Means (standard deviations) of runs.

{table}

{age}"""


class Recordings(NamedTuple):
    """A set of recordings, what its channels are, and how many recordings are left out."""

    known: SequenceSet
    blocks: list[str]
    n_new: int


def grating(key: str, blocks: list[str]) -> Callable[[int], Recordings]:
    """Return a recipe of the grating recordings as they were recorded."""
    return lambda seed: Recordings(load_sequence_set(key, data_folder(), prepare=False), blocks, 1)  # noqa: ARG005


SETS: dict[str, Callable[[int], Recordings]] = {
    "Demonstrations": lambda seed: Recordings(make_demonstrations(seed, n_frames=3), ["point"], 2),
    "Grating, 3-D": grating("grating", ["point"]),
    "Grating, 7-D": grating("grating-full", ["point", "quaternion"]),
}


def in_new_frame(rng: np.random.Generator, steps: np.ndarray, blocks: list[str]) -> np.ndarray:
    """Return a recording turned, resized and moved at random: a point, and a quaternion w first if there is one."""
    rotation, points = Rotation.from_quat(rng.normal(size=4)), steps[:, :3]
    size, shift = np.exp(rng.uniform(*np.log(SIZES))), points.std() * rng.normal(size=3)
    parts = [size * rotation.apply(points) + shift]
    if "quaternion" in blocks:
        orientations = Rotation.from_quat(np.roll(steps[:, 3:7], -1, axis=1))  # scipy has w last
        parts.append(np.roll((rotation * orientations).as_quat(), 1, axis=1))
    return np.column_stack(parts)


def wrong_shares(recordings: Recordings, seed: int) -> list[float]:
    """Return number of actions, shares of wrong steps at fit, in new frames and of one action, and of recordings."""
    rng = np.random.default_rng(seed)
    sequences, actions = recordings.known.sequences, recordings.known.actions
    left_out = [(recordings.n_new * seed + n) % len(sequences) for n in range(recordings.n_new)]
    known = [i for i in range(len(sequences)) if i not in left_out]
    model = ActionHMM(blocks=recordings.blocks, random_state=seed, n_jobs=2)
    model.fit([sequences[i] for i in known])
    moved = [in_new_frame(rng, sequences[i], recordings.blocks) for i in left_out]
    found, details = model.predict_actions(moved, return_details=True)
    truth, new_truth = (np.concatenate([actions[i] for i in chosen]).astype(int) for chosen in (known, left_out))
    at_fit, in_new = np.concatenate(model.actions_), np.concatenate(found)
    meanings = np.array([np.bincount(truth[at_fit == a]).argmax() for a in range(model.n_actions_)])
    wrong = [meanings[at_fit] != truth, meanings[in_new] != new_truth, new_truth != np.bincount(truth).argmax()]
    return [model.n_actions_, *(float(each.mean()) for each in wrong), float(np.mean([one.fits for one in details]))]


def rows_of(title: str, n_runs: int) -> list[list[str]]:
    """Return the line of a set."""
    columns = zip(*(wrong_shares(SETS[title](seed), seed) for seed in range(n_runs)), strict=True)
    n_actions, *shares = columns
    return [[title, format_cell(n_actions, decimals=1), *(format_cell(column) for column in shares)]]


def main() -> None:
    """Run everything."""
    measure_page(__doc__, "action_new_frames", rows_of, HEADER, PAGE, dict.fromkeys(SETS, N_RUNS))


if __name__ == "__main__":
    main()
