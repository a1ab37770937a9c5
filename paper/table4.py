"""Table 4: segmentations by the paper's five methods, by the defaults of this library, and by doing nothing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.estimators import methods as registry
from homothety.estimators.methods import fit_whole
from homothety.phrases import bullet_list, markdown_table
from paper import printed
from paper.comparison import (
    Method,
    comparison_notes,
    comparison_tasks,
    printed_cell,
    provenance,
)
from paper.figures import Panel, draw_comparison
from paper.plan import Effort, Outcomes, Report, Task
from paper.scores import format_metric, score, score_segmentation
from paper.sequence_sets import SeriesSet, load_sequence_sets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

INPUTS = {
    "As the paper's table used them": ("toy-2d", "toy-2d-published", "grating", "rolling", "peeling"),
    "In full": ("grating-7d", "grating-full", "rolling-full", "peeling-full"),
}
SETS = tuple(key for keys in INPUTS.values() for key in keys)
LOAD = load_sequence_sets
FULL, QUICK = Effort(runs=10, sweeps=500), Effort(runs=1, sweeps=6, states=3)

TITLE = "Table 4: segmentation, and states grouped into actions"
SHOWN = ("Hamming", "GCE", "VI", "F", "K", "K_Z")

NOTES = (
    "Mean (standard deviation) against the true actions, whose number is in brackets beside a set. K is the number of "
    "states found, K_Z that of actions; what knows no actions is scored by its states, as in the paper. VI is in bits.",
    "*One state* calls every step the same. Where one action takes most of the time its Hamming distance looks good, "
    "and its GCE always is 0: a method is worth something only beyond this row.",
    "The paper's table calls its sets 7-D, 13-D and 26-D. What was run is less: three position channels of six series "
    "for grating, velocities for rolling, the thirteen channels of the active arm for peeling. Beside the full inputs "
    "stand the same printed numbers, for want of others. The authors' program, run again on grating, 6 x 7-D, came to "
    "Hamming 0.086 (0.021), F 0.919 (0.017), K 4.5 and K_Z 3.75 over four short chains.",
    "The HMM takes the number of states at the minimum of BIC. Samplers of the paper run a single chain and report the "
    "states of its most probable sample; actions are those that the kept half of its sweeps agrees on.",
    "*ICSC-HMM, as published* groups states by links, couples in every sweep, and groups drawn covariances, those of "
    "unused states too. *ICSC-HMM* is `ICSCHMM` as it comes, with four chains.",
    "Every method looks at one step of each stretch over which the recordings go on in one direction; labels are those "
    "of all steps.",
)

# One chain and one sample of it, as the paper has it: ours is what the chains agree on.
ONE_SAMPLE = {"n_chains": 1, "point_estimate": "map"}
PRINTED_AS = {"icsc-paper": "icsc"}


def tasks(sets: Sequence[SeriesSet], effort: Effort) -> list[Task]:
    """Return the runs behind Table 4."""
    return comparison_tasks(sets, METHODS, effort, score_fit)


def fit_method(key: str, series_set: SeriesSet, effort: Effort, seed: int) -> Any:
    """Return a method of the registry, fitted to the series of a set."""
    options: dict[str, Any] = {} if key == "icsc" else ONE_SAMPLE
    model = registry.METHODS[key].make(
        n_sweeps=effort.sweeps, seed=seed, max_states=most_states(key, effort), **options
    )
    return fit_whole(model, series_set.sequences)


def most_states(key: str, effort: Effort) -> int | None:
    """Return the most states to try, where each number is tried in turn; other methods have their own bounds."""
    return effort.states if key == "hmm" else None


def score_fit(series_set: SeriesSet, fitted: Any) -> dict[str, float]:
    """Return the columns of the paper's table; methods without actions have no K_Z."""
    labels = np.concatenate(registry.labels_of(fitted))
    scores = score_segmentation(series_set.labels, labels) | score(series_set.labels, labels)
    if hasattr(fitted, "actions_"):
        scores["K_Z"] = float(fitted.n_actions_)
    return scores | {"K": float(len(np.unique(np.concatenate(fitted.paths_))))}


METHODS = [
    Method(key, method.title, partial(fit_method, key), paper_key=PRINTED_AS.get(key))
    for key, method in registry.METHODS.items()
    if key != "actions"  # it wants names of channels and whole recordings, not the paper's prepared input
]


def report(sets: Sequence[SeriesSet], effort: Effort, outcomes: Outcomes) -> Report:
    """Return one table for each kind of input, with the paper's numbers beside the measured ones."""
    parts = [
        f"## {title}\n\n{_table(chosen, outcomes)}"
        for title, keys in INPUTS.items()
        if (chosen := [series_set for series_set in sets if series_set.key in keys])
    ]
    lengths = f"{effort.sweeps} sweeps per chain; the HMM has up to {effort.states} states."
    notes = [*NOTES, *comparison_notes(sets, printed.TABLE_4), f"{provenance(effort)} {lengths}"]
    return Report(
        markdown="\n\n".join([*parts, bullet_list(notes)]),
        figures={"table-4": partial(_draw, sets, outcomes)},
    )


def _table(sets: Sequence[SeriesSet], outcomes: Outcomes) -> str:
    """Return the table of some sets: a line for each method, as in the paper."""
    header = ["Set", "Method", *(name for metric in SHOWN for name in (metric, "paper"))]
    rows = [
        [f"{series_set.heading} ({series_set.n_classes})", method.title, *_cells(series_set, method, outcomes)]
        for series_set in sets
        for method in METHODS
    ]
    return markdown_table(header, rows)


def _cells(series_set: SeriesSet, method: Method[Any, Any], outcomes: Outcomes) -> list[str]:
    """Return what was measured and what was printed, metric by metric."""
    runs = outcomes[series_set.key, method.key]
    pairs = [
        (format_metric(runs, metric), printed_cell(printed.TABLE_4, series_set, method.printed_as, metric))
        for metric in SHOWN
    ]
    return [cell for pair in pairs for cell in pair]


def _draw(sets: Sequence[SeriesSet], outcomes: Outcomes) -> Figure:
    panels = [Panel(metric, metric, METHODS) for metric in ("Hamming", "F")]
    return draw_comparison(panels, [method.title for method in METHODS], sets, outcomes, printed.TABLE_4)
