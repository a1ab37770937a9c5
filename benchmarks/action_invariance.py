"""Whether actions stay what they are in other frames and at other rates: ``python -m benchmarks.action_invariance``.

Every series of a recording is turned and resized, and then moved too, by a similarity of its own, and the answers are
compared; then every second and every fifth step is looked at instead of all. Reads the paper's recordings
(HOMOTHETY_DATA). A full run writes docs/action_invariance.md; a shorter one only prints.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import special_ortho_group

from benchmarks.action_accuracy import Schedule, find_actions, parse_options, write_page
from benchmarks.segmentation_accuracy import data_folder
from homothety.errors import InputError
from homothety.metrics import ari
from homothety.reproduce.scores import format_cell
from homothety.reproduce.sequence_sets import SEQUENCE_RECIPES, load_sequence_set
from homothety.words.markdown import markdown_table

# Channels that are turned together, by set. Vectors of one space are turned alike and moved alike.
POSITIONS: dict[str, list[slice]] = {
    "grating": [slice(0, 3)],
    "grating-full": [slice(0, 3)],
    "peeling-positions": [slice(0, 3), slice(3, 6)],
}
QUATERNIONS: dict[str, list[slice]] = {"grating-full": [slice(3, 7)]}

STRIDES = {"grating-full": (2, 5), "peeling": (2, 5)}
SIZES = (0.5, 2.0)  # of a series, log-uniform between
N_RUNS = 5

FRAMES = {"turned and resized": 0.0, "turned, resized and moved": 1.0}  # how far positions move, in their spread
TURNED = ("set", "what was done", "ARI with the answer before", "ARI, another seed", "actions", "actions before")
RATES = ("set", "every", "ARI with the full rate", "actions", "actions at the full rate")


def transformed(seed: int, key: str, sequences: list[np.ndarray], distance: float) -> list[np.ndarray]:
    """Return every series under a random similarity of its own that respects what its channels are."""
    rng = np.random.default_rng(seed)
    spread = np.concatenate([one[:, : POSITIONS[key][-1].stop] for one in sequences]).std()
    return [in_other_frame(rng, key, one, distance * spread) for one in sequences]


def in_other_frame(rng: np.random.Generator, key: str, series: np.ndarray, distance: float) -> np.ndarray:
    """Return a series in another frame: positions turned and moved, quaternions turned in their four dimensions.

    Everything is resized by one factor, since a shape is one of all channels together.
    """
    turned = series.copy()
    rotation, shift = special_ortho_group.rvs(3, random_state=rng), distance * rng.normal(size=3)
    for block in POSITIONS[key]:
        turned[:, block] = series[:, block] @ rotation.T + shift
    for block in QUATERNIONS.get(key, []):
        turned[:, block] = series[:, block] @ special_ortho_group.rvs(4, random_state=rng).T
    return np.exp(rng.uniform(*np.log(SIZES))) * turned


def agreement(one: list[np.ndarray], other: list[np.ndarray]) -> float:
    """Return the adjusted Rand index of two answers."""
    return ari(np.concatenate(one), np.concatenate(other))


def turned_row(key: str, frame: str, fits: list[Any], sequences: list[np.ndarray], schedule: Schedule) -> list[str]:
    """Return how well the answers in other frames agree with those in the frame of the recording."""
    others = [
        find_actions(transformed(seed, key, sequences, FRAMES[frame]), seed, schedule) for seed in range(len(fits))
    ]
    pairs = zip(fits, others, strict=True)
    return [
        SEQUENCE_RECIPES[key].title,
        frame,
        format_cell([agreement(fit.actions_, other.actions_) for fit, other in pairs]),
        format_cell([agreement(fit.actions_, other.actions_) for fit, other in pairwise(fits)]),
        format_cell([other.n_actions_ for other in others], decimals=0),
        format_cell([fit.n_actions_ for fit in fits], decimals=0),
    ]


def rate_row(key: str, stride: int, fits: list[Any], sequences: list[np.ndarray], schedule: Schedule) -> list[str]:
    """Return how well the answers at a lower rate agree with those at the full one, at the steps they share."""
    others = [find_actions([one[::stride] for one in sequences], seed, schedule) for seed in range(len(fits))]
    shared = [
        agreement([path[::stride] for path in fit.actions_], other.actions_)
        for fit, other in zip(fits, others, strict=True)
    ]
    return [
        SEQUENCE_RECIPES[key].title,
        f"{stride}",
        format_cell(shared),
        format_cell([other.n_actions_ for other in others], decimals=0),
        format_cell([fit.n_actions_ for fit in fits], decimals=0),
    ]


def rows_of(key: str, n_runs: int, schedule: Schedule) -> tuple[list[list[str]], list[list[str]]]:
    """Return the lines of a set in both tables; none where its file is missing."""
    try:
        sequences = load_sequence_set(key, data_folder()).sequences
    except InputError as missing:
        print(f"Left out: {key} ({missing})")
        return [], []
    fits = [find_actions(sequences, seed, schedule) for seed in range(n_runs)]
    frames = FRAMES if key in POSITIONS else ()
    turned = [turned_row(key, frame, fits, sequences, schedule) for frame in frames]
    rates = [rate_row(key, stride, fits, sequences, schedule) for stride in STRIDES.get(key, ())]
    for line in (*turned, *rates):
        print(" | ".join(line), flush=True)
    return turned, rates


def main() -> None:
    """Run everything; write the page if nothing was left out."""
    options = parse_options(__doc__, list(dict.fromkeys([*POSITIONS, *STRIDES])), N_RUNS)
    turned: list[list[str]] = []
    rates: list[list[str]] = []
    for key in options.sets:
        in_frames, at_rates = rows_of(key, options.runs, options.schedule)
        turned += in_frames
        rates += at_rates
    complete = len(turned) == len(POSITIONS) * len(FRAMES) and len(rates) == sum(map(len, STRIDES.values()))
    write_page("action_invariance.md", page(turned, rates), complete=options.is_full and complete)


def page(turned: list[list[str]], rates: list[list[str]]) -> str:
    """Return the page as Markdown."""
    return "\n".join(
        [
            "# Actions in other frames and at other rates",
            "",
            "Written by `make accuracy`: `ICSCHMM` with its default settings, means (standard deviations) over",
            f"{N_RUNS} seeds. The adjusted Rand index (ARI) is 1 for equal answers, about 0 for unrelated ones.",
            "",
            "Every series, prepared as for the accuracy of actions, then turned, resized (by half to twice) and moved",
            "(by as much as positions spread) on its own. Quaternions are turned in their four dimensions and not",
            "moved. Who centres each series takes moves back: the first line of a set is theirs. Beside it, for",
            "comparison, how well answers to the same recordings with neighbouring seeds agree.",
            "",
            markdown_table(TURNED, turned),
            "",
            "Every so many-th step of the recordings, compared at the steps both have.",
            "",
            markdown_table(RATES, rates),
            "",
        ]
    )


if __name__ == "__main__":
    main()
