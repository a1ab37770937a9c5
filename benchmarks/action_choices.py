"""What each choice behind the default discovery of actions is worth: ``python -m benchmarks.action_choices``.

Reads the paper's recordings (HOMOTHETY_DATA), changes one setting at a time, prints the tables and writes
docs/action_choices.md if all sets are there. Chains are shorter than the default, two seeds each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.segmentation_accuracy import DOCS, data_folder
from homothety import IBPHMM, ICSCHMM, TwoStageHMM
from homothety.datasets import SequenceSet
from homothety.decorrelation import decorrelating_stride
from homothety.metrics import f_measure, hamming
from homothety.models.icsc import ShapeGrouping
from homothety.preprocessing import Preprocessing
from homothety.reproduce.sequence_sets import SEQUENCE_RECIPES, load_sequence_set
from homothety.words.markdown import markdown_table

SETS = ("grating", "grating-7d", "grating-full", "rolling", "peeling")
N_SEEDS = 2
SHORT: dict[str, Any] = {"n_chains": 2, "n_sweeps": 100, "n_jobs": 2}
N_SINGLE = 20  # sweeps that are each asked for an answer of their own

Labels = list[np.ndarray]
Fit = Callable[[SequenceSet, int], Labels | list[Labels]]


def changed(**settings: Any) -> Fit:
    """Return a fit of the default with some settings changed."""
    return lambda recordings, seed: ICSCHMM(**SHORT | settings, random_state=seed).fit(recordings.sequences).actions_


def of_single_sweeps(recordings: SequenceSet, seed: int) -> list[Labels]:
    """Return the actions of single sweeps of the default."""
    fit = ICSCHMM(**SHORT, random_state=seed).fit(recordings.sequences)
    chosen = np.linspace(0, len(fit.action_draws_) - 1, N_SINGLE).astype(int)
    return [np.split(fit.action_draws_[int(i)], fit.starts_[1:-1]) for i in chosen]


def afterwards(recordings: SequenceSet, seed: int) -> Labels:
    """Return the actions of states that were grouped once, after they were found much as by the default."""
    like_default = {"scale": 0.5, "mean_strength": 0.1, "step_weight": "auto"}
    segmenter = IBPHMM(**SHORT | like_default, random_state=seed)
    return TwoStageHMM(segmenter=segmenter, grouping="shapes", random_state=seed).fit(recordings.sequences).actions_


def with_a_third_of_the_stride(step_weight: Any) -> Fit:
    """Return a fit that looks three times as often as the automatic stride would."""

    def fit(recordings: SequenceSet, seed: int) -> Labels:
        stride = max(1, decorrelating_stride(recordings.sequences) // 3)
        return changed(preprocessing=Preprocessing(subsample=stride), step_weight=step_weight)(recordings, seed)

    return fit


GROUPING: dict[str, Fit] = {
    "default": changed(),
    "single sweeps instead of what they agree on": of_single_sweeps,
    "grouped once, afterwards": afterwards,
    "order says nothing": changed(grouping=ShapeGrouping(followers=None)),
    "recordings say nothing": changed(grouping=ShapeGrouping(versions=None)),
    "shape alone": changed(grouping=ShapeGrouping(followers=None, versions=None)),
    "shapes must be equal up to 0.1": changed(grouping=ShapeGrouping(within=0.1)),
    "shapes must be equal up to 0.4": changed(grouping=ShapeGrouping(within=0.4)),
    "posterior means of covariances": changed(covariances="mean"),
    "covariances as drawn": changed(covariances="draw"),
    "published grouping": changed(grouping="links"),
    "published grouping of covariances as drawn": changed(grouping="links", covariances="draw", include_unused=True),
    "hyper-priors coupled during burn-in": changed(coupling="burnin"),
    "hyper-priors coupled always": changed(coupling="paper"),
}
EVIDENCE: dict[str, Fit] = {
    "default": changed(),
    "looks count in full": changed(step_weight=1.0),
    "three times as many looks, in full": with_a_third_of_the_stride(1.0),
    "three times as many looks, weighted": with_a_third_of_the_stride("auto"),
    "autoregressive states, looks in full": changed(emission="autoregressive", step_weight=1.0),
    "prior spread of states 0.1": changed(scale=0.1),
    "prior spread of states 1.0": changed(scale=1.0),
    "prior of means worth one look": changed(mean_strength=1.0),
}
HEADING = f"""# What each choice about actions is worth

Written by `make accuracy`. Hamming distance / F and the number of actions found, means over {N_SEEDS} seeds of
{SHORT["n_chains"]} chains of {SHORT["n_sweeps"]} sweeps, shorter than the default. Every row changes one thing."""


def cell(recordings: SequenceSet, fit: Fit) -> str:
    """Return the scores of one setting on one set."""
    truth, scores = np.concatenate(recordings.actions), []
    for seed in range(N_SEEDS):
        answer = fit(recordings, seed)
        for labels in answer if isinstance(answer[0], list) else [answer]:
            flat = np.concatenate(labels)
            scores.append((hamming(truth, flat), f_measure(truth, flat), len(np.unique(flat))))
    distance, f_value, number = np.mean(scores, axis=0)
    return f"{distance:.3f} / {f_value:.3f}, {number:.1f}"


def table(title: str, fits: dict[str, Fit], sets: dict[str, SequenceSet]) -> str:
    """Return settings in rows and sets in columns, as Markdown, printed row by row."""
    rows = []
    for name, fit in fits.items():
        rows.append([name, *(cell(recordings, fit) for recordings in sets.values())])
        print(" | ".join(rows[-1]), flush=True)
    return f"## {title}\n\n" + markdown_table(("setting", *(SEQUENCE_RECIPES[key].title for key in sets)), rows)


def main() -> int:
    """Measure all settings on all sets and write the page."""
    sets = {key: load_sequence_set(key, data_folder()) for key in SETS}
    parts = [table("How states are grouped", GROUPING, sets), table("How much a step counts", EVIDENCE, sets)]
    (DOCS / "action_choices.md").write_text("\n\n".join([HEADING, *parts]) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
