"""Whether actions are recognised in frames that were not there at fit: ``python -m benchmarks.action_new_frames``.

Demonstrations of a made-up task: two frames to fit, the third is new. Grating, of the paper's recordings
(HOMOTHETY_DATA): every series in turn is left out, turned, resized and moved. A full run writes
docs/action_new_frames.md; a shorter one only prints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.action_accuracy import Schedule, find_actions, measure_rows, parse_options, write_page
from benchmarks.action_invariance import transformed
from benchmarks.segmentation_accuracy import data_folder
from homothety.datasets import SequenceSet, make_demonstrations
from homothety.reproduce.scores import format_cell
from homothety.reproduce.sequence_sets import load_sequence_set
from homothety.words.markdown import markdown_table

if TYPE_CHECKING:
    from collections.abc import Callable

N_RUNS, PER_FRAME = 12, 3
HEADER = ("set", "wrong at fit", "wrong in the new frame, adapt=True", "without adapting", "one action for all")


class Split(NamedTuple):
    """Series to fit, and series in a frame that is not among theirs."""

    known: list[np.ndarray]
    known_actions: np.ndarray
    new: list[np.ndarray]
    new_actions: np.ndarray


def split(recordings: SequenceSet, new: list[int]) -> Split:
    """Return the series that are left, and those that are new."""
    left = [i for i in range(len(recordings)) if i not in new]
    sequences, actions = recordings.sequences, recordings.actions
    return Split(
        [sequences[i] for i in left],
        np.concatenate([actions[i] for i in left]),
        [sequences[i] for i in new],
        np.concatenate([actions[i] for i in new]),
    )


def demonstrations(seed: int) -> Split:
    """Return a task in two frames, and in a third."""
    made = make_demonstrations(seed, n_frames=3, n_per_frame=PER_FRAME)
    return split(made, list(range(2 * PER_FRAME, 3 * PER_FRAME)))


def one_moved(key: str) -> Callable[[int], Split]:
    """Return a recipe of all recordings but one, and that one in another frame."""

    def recipe(seed: int) -> Split:
        recordings = load_sequence_set(key, data_folder())
        left_out = seed % len(recordings)
        parts = split(recordings, [left_out])
        return parts._replace(new=[transformed(seed, key, recordings.sequences, 1.0)[left_out]])

    return recipe


SETS: dict[str, Callable[[int], Split]] = {
    "Demonstrations": demonstrations,
    "Grating, 3-D": one_moved("grating"),
    "Grating, 7-D": one_moved("grating-full"),
}


def meanings(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return for every action found the true one that most of its steps have."""
    return np.array([np.bincount(truth[found == a]).argmax() for a in range(found.max() + 1)])


def wrong_shares(parts: Split, seed: int, schedule: Schedule) -> list[float]:
    """Return the shares of wrong steps: at fit, in the new frame with and without adapting, and of one action."""
    model = find_actions(parts.known, seed, schedule)
    truth, new_truth = parts.known_actions.astype(int), parts.new_actions.astype(int)
    found = np.concatenate(model.actions_)
    means = meanings(found, truth)
    adapted, plain = (np.concatenate(model.predict_actions(parts.new, adapt=adapt)) for adapt in (True, False))
    most = np.bincount(truth).argmax()
    wrong = [means[found] != truth, means[adapted] != new_truth, means[plain] != new_truth, new_truth != most]
    return [float(each.mean()) for each in wrong]


def row(title: str, n_runs: int, schedule: Schedule) -> list[str]:
    """Return the line of a set."""
    shares = [wrong_shares(SETS[title](seed), seed, schedule) for seed in range(n_runs)]
    return [title, *(format_cell(column) for column in zip(*shares, strict=True))]


def main() -> None:
    """Run everything; write the page if nothing was left out."""
    options = parse_options(__doc__, list(SETS), N_RUNS)
    write_page("action_new_frames.md", page(measure_rows(options, row)), complete=options.is_full)


def page(rows: list[list[str]]) -> str:
    """Return the page as Markdown."""
    return "\n".join(
        [
            "# Actions in a new frame",
            "",
            "Written by `make accuracy`: `ICSCHMM` with its default settings is fitted to some series, and",
            "`predict_actions` finds the same actions in others, in a frame that was not there: the third frame of",
            "made-up demonstrations, or a series of grating that was left out, turned, resized and moved at random.",
            "Shares of steps whose action is wrong, where an action means what most of its steps at fit are; means",
            f"(standard deviations) of {N_RUNS}.",
            "",
            markdown_table(HEADER, rows),
            "",
        ]
    )


if __name__ == "__main__":
    main()
