"""How well the default settings recover known actions: ``python -m benchmarks.action_accuracy``.

Toy series are made here; recordings are the paper's (HOMOTHETY_DATA), as its table used them and in full. Beside what
is found stand the figure to reach, the paper's, that of the best other method that was told the number of actions, one
state for everything, and what merging the states that were found could come to at best. A full run writes
docs/action_accuracy.md; a shorter one only prints.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.segmentation_accuracy import DOCS, N_DRAWS, data_folder, oracle_merge
from homothety import ICSCHMM
from homothety.datasets import SequenceSet, make_toy_2d
from homothety.errors import InputError
from homothety.metrics import f_measure, hamming
from homothety.reproduce.paper import TABLE_4, cell_value
from homothety.reproduce.scores import format_cell
from homothety.reproduce.sequence_sets import SEQUENCE_RECIPES, load_sequence_set
from homothety.words.markdown import markdown_table

if TYPE_CHECKING:
    from collections.abc import Callable

DRAWS = "toy-draws"
N_RUNS = 10

# Hamming / F to reach, by set.
TO_REACH = {
    DRAWS: "0.000 / 1.000",
    "toy-2d": "0.000 / 1.000",
    "toy-2d-published": "0.000 / 1.000",
    "grating": "0.10 / 0.90",
    "grating-7d": "0.085 / 0.92",
    "grating-full": "0.10 / 0.90",
    "rolling": "0.24 / 0.78",
    "peeling": "0.32 / 0.70",
}
# The authors' program, run again on an input that is not in their table.
RUN_AGAIN = {"grating-7d": "0.086 / 0.919, 3.8"}
# The best of several methods that were told the number of actions.
BEST_PEER = {
    "grating": "0.101 / 0.894, TICC",
    "grating-7d": "0.099 / 0.893, TICC",
    "grating-full": "0.106 / 0.883, TICC",
    "rolling": "0.225 / 0.780, Gaussian HMM",
    "peeling": "0.348 / 0.690, variational HMM",
}
HEADER = ("set", "actions (true)", "Hamming", "F", "to reach", "paper", "told the number", "one state", "oracle")


class Score(NamedTuple):
    """What one run found on a set with known actions."""

    n_actions: int
    hamming: float
    f_measure: float
    oracle_hamming: float
    oracle_f: float


class Schedule(NamedTuple):
    """How long to sample."""

    n_chains: int = 4
    n_sweeps: int = 500


def find_actions(sequences: list[np.ndarray], seed: int, schedule: Schedule) -> ICSCHMM:
    """Return the model with its default settings, fitted to series."""
    return ICSCHMM(random_state=seed, n_jobs=2, **schedule._asdict()).fit(sequences)


def score(recordings: SequenceSet, fit: ICSCHMM) -> Score:
    """Compare what was found with the known actions."""
    truth, found = np.concatenate(recordings.actions), np.concatenate(fit.actions_)
    merged = oracle_merge(truth, np.concatenate(fit.paths_))
    return Score(fit.n_actions_, *pair(truth, found), *pair(truth, merged))


def pair(truth: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Return Hamming distance and F."""
    return hamming(truth, labels), f_measure(truth, labels)


def sets_of(key: str, n_runs: int) -> list[SequenceSet]:
    """Return the series of every run: one set again and again, or a draw each."""
    if key == DRAWS:
        return [make_toy_2d(random_state=seed) for seed in range(min(N_DRAWS, 2 * n_runs))]
    return [load_sequence_set(key, data_folder())] * n_runs


def row(key: str, n_runs: int, schedule: Schedule) -> list[str] | None:
    """Fit a set again and again and return its line of the table, None where its file is missing."""
    try:
        sets = sets_of(key, n_runs)
    except InputError as missing:
        print(f"Left out: {key} ({missing})")
        return None
    scores = [score(one, find_actions(one.sequences, seed, schedule)) for seed, one in enumerate(sets)]
    n_actions, hammings, f_measures, *oracle = zip(*scores, strict=True)
    return [
        SEQUENCE_RECIPES[key].title if key in SEQUENCE_RECIPES else f"Toy 2D, {len(sets)} draws",
        f"{format_cell(n_actions, decimals=0)} ({n_true(sets)})",
        format_cell(hammings),
        format_cell(f_measures),
        TO_REACH[key],
        printed(key),
        BEST_PEER.get(key, "-"),
        written([nothing(one) for one in sets]),
        written(list(zip(*oracle, strict=True))),
    ]


def n_true(sets: list[SequenceSet]) -> int:
    """Return the number of true actions."""
    return len(np.unique(np.concatenate(sets[0].actions)))


def nothing(recordings: SequenceSet) -> tuple[float, float]:
    """Return the scores of one state for everything."""
    truth = np.concatenate(recordings.actions)
    return pair(truth, np.zeros(len(truth), dtype=int))


def written(pairs: list[tuple[float, float]]) -> str:
    """Return mean Hamming distance and mean F."""
    return " / ".join(f"{value:.3f}" for value in np.mean(pairs, axis=0))


def printed(key: str) -> str:
    """Return Hamming, F and number of actions of the paper's own method, where there is such a row."""
    name = "toy-2d" if key.startswith("toy") else key
    if (name, "icsc", "F") not in TABLE_4:
        return RUN_AGAIN.get(key, "-")
    distance, f_value, number = (cell_value(TABLE_4[name, "icsc", metric]) for metric in ("Hamming", "F", "K_Z"))
    return f"{distance:.3f} / {f_value:.3f}, {number:g}"


def main() -> None:
    """Run everything; write the page if nothing was left out."""
    options = parse_options(__doc__, list(TO_REACH), N_RUNS)
    rows = measure_rows(options, row)
    write_page("action_accuracy.md", page(rows), complete=options.is_full and len(rows) == len(TO_REACH))


class Options(NamedTuple):
    """What to run."""

    sets: list[str]
    runs: int
    schedule: Schedule
    is_full: bool


def parse_options(title: str, keys: list[str], n_runs: int, n_sweeps: int = 500) -> Options:
    """Return what the command line asks for; everything if it asks for nothing."""
    parser = argparse.ArgumentParser(description=title.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=keys, choices=keys, metavar="SET", help=", ".join(keys))
    parser.add_argument("--runs", type=int, default=n_runs)
    parser.add_argument("--chains", type=int, default=Schedule().n_chains)
    parser.add_argument("--sweeps", type=int, default=n_sweeps)
    found = parser.parse_args()
    is_full = vars(found) == vars(parser.parse_args([]))
    return Options(found.sets, found.runs, Schedule(found.chains, found.sweeps), is_full)


def measure_rows(options: Options, row: Callable[[str, int, Schedule], list[str] | None]) -> list[list[str]]:
    """Return the lines of the sets asked for, but for those without data, each printed when it is there."""
    rows = []
    for key in options.sets:
        if line := row(key, options.runs, options.schedule):
            print(" | ".join(line), flush=True)
            rows.append(line)
    return rows


def write_page(name: str, text: str, *, complete: bool) -> None:
    """Write a page of the documentation, unless something is missing from it."""
    if complete:
        (DOCS / name).write_text(text, encoding="utf-8")
    else:
        print(f"docs/{name} is not written: that takes all sets, with the usual runs, chains and sweeps.")


def page(rows: list[list[str]]) -> str:
    """Return the page as Markdown."""
    return "\n".join(
        [
            "# Accuracy of actions",
            "",
            "Written by `make accuracy`: `ICSCHMM` with its default settings, not told how many actions there are.",
            f"Means (standard deviations) over {N_RUNS} seeds, and over {N_DRAWS} draws of the toy; pairs are Hamming",
            "distance / F, and a third number is that of the actions found.",
            "",
            markdown_table(HEADER, rows),
            "",
            "- *To reach*: what these settings were meant to come to.",
            "- *Paper*: its ICSC-HMM, as printed; for grating, 6 x 7-D, its program run again, since the table was run",
            "  on less.",
            "- *Told the number*: the best of several other methods, which were told how many actions there are.",
            "- *One state*: every step called the same. Where one action takes most of the time this looks good.",
            "- *Oracle*: every state found is given the action most of its steps have. No grouping of these states has",
            "  fewer wrong steps; what is left is due to the states.",
            "",
            "**These recordings are not unseen.** The default settings (the weight of a look, the prior of states, the",
            "tolerance of shapes) were chosen among many by their scores on the same recordings, with some of the same",
            "seeds. Expect less [on others](action_unseen.md).",
            "",
            *missing_note(rows),
        ]
    )


def missing_note(rows: list[list[str]]) -> list[str]:
    """Say which sets are not in the table."""
    titles = [
        SEQUENCE_RECIPES[key].title if key in SEQUENCE_RECIPES else f"Toy 2D, {N_DRAWS} draws" for key in TO_REACH
    ]
    missing = [title for title in titles if title not in [line[0] for line in rows]]
    return [f"Not measured yet: {'; '.join(missing)}.", ""] if missing else []


if __name__ == "__main__":
    main()
