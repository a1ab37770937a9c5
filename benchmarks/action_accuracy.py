"""How well actions are found: ``python -m benchmarks.action_accuracy``.

`ActionHMM` with one default for all sets, not told how many actions there are. Blocks are named for each set: they say
what the channels are. Toy series, demonstrations and joined recordings of a watch are made here; the other recordings
are the paper's (HOMOTHETY_DATA). Lines of results/action_accuracy.md are written as soon as they are measured; a run
with fewer seeds only prints.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.pages import age_note, data_folder, filled, updated_rows, write_result
from homothety import ActionHMM
from homothety.datasets import SequenceSet, make_demonstrations, make_toy_2d
from homothety.errors import InputError
from homothety.metrics import f_measure, hamming
from homothety.phrases import format_cell, markdown_table
from paper.sequence_sets import load_sequence_set

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

N_RECORDINGS, N_EACH = 10, 2  # of the watch: how many, and how often each activity is in one
HEADER = (
    *("set", "actions (true)", "Hamming", "F", "Hamming of states", "Hamming, told the number"),
    *("to reach", "paper", "peer told the number", "seeds"),
)
PAGE = """\
# Accuracy of actions

Written by `python -m benchmarks.action_accuracy`: `ActionHMM` with its default settings, not told how
many actions there are. Means (standard deviations) over seeds; sets that are made up are made anew for
every seed. Pairs are Hamming distance / F.

{table}

{age}- *Hamming of states*: the states before they are grouped into actions.
- *Told the number*: the same fit, cut at the true number of actions (`actions_at`).
- *To reach*: the figure that the method was meant to come to.
- *Paper*: the ICSC-HMM of the paper, on the input of its table.
- *Peer told the number*: the best of several other methods, which were told the number of actions.

The method was developed with these sets in sight, so expect less on others. Of the exercises, only the
largest number of used steps was chosen with them in sight. Drawn gestures are curves, and a Gaussian state
is a blob: gestures that pass through the same places in the same directions are not told apart.
"""


class Task(NamedTuple):
    """A set of recordings with known actions, and the figures to compare with: Hamming / F."""

    load: Callable[[int], SequenceSet]
    blocks: list[str] | str = "auto"
    to_reach: str = "-"
    paper: str = "-"
    peer: str = "-"
    runs: int = 10


def recorded(key: str) -> Callable[[int], SequenceSet]:
    """Return a recipe of one of the paper's sets, as it was recorded."""
    return lambda seed: load_sequence_set(key, data_folder(), prepare=False)  # noqa: ARG005


def demonstrations(n_frames: int, n_per_frame: int) -> Callable[[int], SequenceSet]:
    """Return a recipe of demonstrations from a seed."""
    return lambda seed: make_demonstrations(seed, n_frames=n_frames, n_per_frame=n_per_frame)


def gestures(name: str) -> Callable[[int], SequenceSet]:
    """Return a recipe of drawn gestures joined by moves between them."""

    def load(seed: int) -> SequenceSet:  # noqa: ARG001
        path = data_folder() / f"{name}.npz"
        if not path.exists():
            raise InputError(f"{path.name} is not there.")
        with np.load(path) as file:
            cuts = np.cumsum(file["lengths"])[:-1]
            return SequenceSet(np.split(file["x"], cuts), actions=np.split(file["labels"].astype(int), cuts), name=name)

    return load


def watch(seed: int) -> SequenceSet:
    """Return ten-second recordings of standing, walking, running and badminton, joined in random order.

    Six channels, ten steps a second. Every recording is used once.
    """
    from aeon.datasets import load_basic_motions

    series, activity = load_basic_motions()
    rng, actions = np.random.default_rng(seed), np.unique(activity, return_inverse=True)[1]
    left = [rng.permutation(np.flatnonzero(actions == a)).tolist() for a in range(actions.max() + 1)]
    orders = [rng.permutation(np.repeat(np.arange(len(left)), N_EACH)) for _ in range(N_RECORDINGS)]
    pieces = [[series[left[a].pop()].T for a in order] for order in orders]
    labels = [np.repeat(order, [len(piece) for piece in parts]) for order, parts in zip(orders, pieces, strict=True)]
    return SequenceSet([np.concatenate(parts) for parts in pieces], actions=labels, name="watch")


def exercises(seed: int) -> SequenceSet:
    """Return recordings of ten persons who do seven exercises of the shoulder, joined in random order.

    Accelerations and rates of rotation of a watch on the right arm, 50 steps a second, about four minutes each.
    """
    from seglearn.datasets import load_watch

    watched, rng = load_watch(), np.random.default_rng(seed)
    person, side, exercise = (np.array(watched[key]).astype(int) for key in ("subject", "side", "y"))
    parts = [rng.permutation(np.flatnonzero((person == one) & (side == 1))) for one in np.unique(person)]
    labels = [np.concatenate([np.full(len(watched["X"][i]), exercise[i]) for i in own]) for own in parts]
    return SequenceSet([np.concatenate([watched["X"][i] for i in own]) for own in parts], actions=labels, name="watch")


POINT, POSE = ["point"], ["point", "quaternion"]
TASKS = {
    "Toy 2D, draws": Task(
        lambda seed: make_toy_2d(random_state=seed), POINT, "0.000 / 1.000", "0.000 / 1.000", runs=20
    ),
    "Toy 2D, file": Task(recorded("toy-2d"), POINT, "0.000 / 1.000", "0.000 / 1.000"),
    "Toy 2D, the authors' draw": Task(recorded("toy-2d-published"), POINT, "0.000 / 1.000", "0.000 / 1.000"),
    "Grating, 6 x 3": Task(recorded("grating"), POINT, "0.05 / 0.95", "0.126 / 0.890", "0.101 / 0.894"),
    "Grating, 6 x 7": Task(recorded("grating-7d"), POSE, "0.06 / 0.94", "0.086 / 0.919", "0.099 / 0.893"),
    "Grating, 12 x 7": Task(recorded("grating-full"), POSE, "0.06 / 0.94", "-", "0.106 / 0.883"),
    "Rolling": Task(recorded("rolling"), POINT, "0.13 / 0.87", "0.354 / 0.713", "0.225 / 0.780"),
    "Peeling, 13 channels": Task(
        recorded("peeling"), [*POSE, "vector", "vector"], "0.33 / 0.70", "0.390 / 0.647", "0.348 / 0.690"
    ),
    "Demonstrations, 3 frames x 2": Task(demonstrations(3, 2), POINT, "0.03 / 0.97", "-", "0.620 / 0.427"),
    "Demonstrations, 3 frames x 4": Task(demonstrations(3, 4), POINT, "0.03 / 0.97", "-", "0.628 / 0.418"),
    "Demonstrations, 2 frames x 6": Task(demonstrations(2, 6), POINT, "0.03 / 0.97", "-", "0.481 / 0.643"),
    "Watch, shuffled": Task(watch, "auto", "0.20 / 0.80", "-", "0.185 / 0.812"),
    "Exercises of ten persons": Task(exercises, runs=2),
    "Drawn gestures": Task(gestures("shrec_gestures_3d"), POINT, runs=5),
    "Drawn gestures, own frames": Task(gestures("shrec_gestures_3d_frames"), POINT, runs=5),
}


def find_actions(recordings: SequenceSet, blocks: list[str] | str, seed: int) -> ActionHMM:
    """Return the model with its default settings, fitted to recordings."""
    return ActionHMM(blocks=blocks, random_state=seed, n_jobs=2).fit(recordings.sequences)


def rows_of(title: str, n_runs: int) -> list[list[str]]:
    """Fit a set with every seed and return its line of the table."""
    task, scores, n_true = TASKS[title], [], 0
    for seed in range(n_runs):
        recordings = task.load(seed)
        truth = np.concatenate(recordings.actions)
        fit, n_true = find_actions(recordings, task.blocks, seed), len(np.unique(truth))
        found = np.concatenate(fit.actions_)
        of_states = hamming(truth, np.concatenate(fit.paths_))
        # The tree of merges has no cut with more actions than there are states.
        told = hamming(truth, np.concatenate(fit.actions_at(min(n_true, fit.n_states_))))
        scores.append((fit.n_actions_, hamming(truth, found), f_measure(truth, found), of_states, told))
    n_actions, *others = zip(*scores, strict=True)
    cells = [format_cell(values) for values in others]
    return [[title, f"{format_cell(n_actions, decimals=1)} ({n_true})", *cells, task.to_reach, task.paper, task.peer]]


def measure_page(
    title: str,
    name: str,
    rows_of: Callable[[str, int], list[list[str]]],
    header: Sequence[str],
    page: str,
    runs: dict[str, int],
) -> None:
    """Measure sets; with the usual number of runs, the page of results has the lines of a set once these are measured.

    Parameters
    ----------
    title : str
        Docstring of the benchmark.
    name : str
        Of the page in benchmarks/results, without its ending. Lines of sets that are not measured stay as they are.
    rows_of : callable
        From the name of a set and a number of runs to its lines. Their first cell is the name.
    header : sequence of str
        First line of the table.
    page : str
        Text of the page, with ``{table}`` for the table and ``{age}`` for what asterisks in it mean.
    runs : dict of str to int
        Usual number of runs of each set.
    """
    parser = argparse.ArgumentParser(description=title.splitlines()[0])
    parser.add_argument(
        "--sets", nargs="*", default=list(runs), choices=list(runs), metavar="SET", help=", ".join(runs)
    )
    parser.add_argument("--runs", type=int, help="runs of each set; with fewer than usual the lines are only printed")
    options = parser.parse_args()
    for key in options.sets:
        n_runs = options.runs or runs[key]
        try:
            lines = [[*line, str(n_runs)] for line in rows_of(key, n_runs)]
        except InputError as missing:
            print(f"Left out: {key} ({missing})")
            continue
        print("\n".join(" | ".join(line) for line in lines), flush=True)
        if n_runs >= runs[key]:
            rows = updated_rows(name, lines, list(runs))
            text = filled(page, table=markdown_table(header, rows), age=age_note(rows))
            write_result(f"{name}.md", text.rstrip() + "\n")


def main() -> None:
    """Run everything."""
    measure_page(__doc__, "action_accuracy", rows_of, HEADER, PAGE, {key: task.runs for key, task in TASKS.items()})


if __name__ == "__main__":
    main()
