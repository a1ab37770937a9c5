"""Sampler tests of the coupled model: log joint, states, actions, scores and time of every sweep of many chains."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from homothety.estimators.methods import METHODS, fit_whole
from homothety.metrics import f_measure, hamming
from homothety.phrases import format_cell
from paper import printed
from paper.chains import (
    Layout,
    chain_tasks,
    chains_report,
    median_seconds,
    sweeps_to_settle,
)
from paper.plan import Effort, Outcomes, Report, Task
from paper.scores import format_seconds
from paper.sequence_sets import SeriesSet, load_sequence_sets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.arrays import FloatArray

SETS = ("toy-2d", "grating", "grating-7d", "rolling", "peeling")
LOAD = load_sequence_sets
FULL, QUICK = Effort(runs=20, sweeps=500), Effort(runs=2, sweeps=6)

TITLE = "Convergence of the coupled sampler"
Settings = Literal["published", "default"]
SETTINGS: dict[Settings, str] = {"published": "as published", "default": "default"}
METHOD_OF: dict[Settings, str] = {"published": "icsc-paper", "default": "icsc"}
DRAWN = {
    "log_joint": "log joint of states",
    "n_states": "states",
    "n_actions": "actions",
    "f_measure": "F of actions",
    "seconds": "seconds per sweep",
}

NOTES = (
    "The log joint is that of the segmentation alone: the clusters of the published grouping have a density over "
    "another space in every sweep. *As published* and *default* are the two ICSC-HMM of Table 4; the hyper-priors of "
    "the published one change from sweep to sweep, and its log joint with them.",
    "Hamming, F, states and actions are those of the last sweep of each chain, mean (standard deviation): single "
    "samples, not what the sweeps agree on. True numbers of actions are in brackets beside a set.",
    "Seconds are medians over chains, of the first sweep, of the later ones and of all sweeps of a chain. Those of the "
    "authors are of an iteration of their program, run again under GNU Octave on another machine.",
    "*Sweeps to 1%*: median number of sweeps after which the log joint of a chain has covered 99% of the way from its "
    "first sweep to the mean of its second half. The paper finds that states are stable in fewer than 100 iterations, "
    "on toy, grating and rolling.",
)


@dataclass(frozen=True, eq=False)
class SegmentationRecord:
    """What one chain did, sweep by sweep; arrays of shape (n_sweeps,)."""

    log_joint: FloatArray
    n_states: FloatArray
    n_actions: FloatArray
    hamming: FloatArray
    f_measure: FloatArray
    seconds: FloatArray


def tasks(sets: Sequence[SeriesSet], effort: Effort) -> list[Task]:
    """Return the chains of the sampler tests."""
    return chain_tasks(sets, SETTINGS, record_chain, effort)


def record_chain(series_set: SeriesSet, settings: Settings, n_sweeps: int, seed: int) -> SegmentationRecord:
    """Run one chain, and score the actions of every sweep."""
    warm_up(series_set, settings)
    fitted = fit_chain(series_set, settings, n_sweeps, seed)
    return SegmentationRecord(
        **{name: fitted.trace_[name][0] for name in ("log_joint", "n_states", "n_actions", "seconds")},
        hamming=np.array([hamming(series_set.labels, actions) for actions in fitted.action_draws_]),
        f_measure=np.array([f_measure(series_set.labels, actions) for actions in fitted.action_draws_]),
    )


@lru_cache(maxsize=1)  # chains of one set and settings follow each other
def warm_up(series_set: SeriesSet, settings: Settings) -> None:
    """Make a sweep that compiles, so that no later one has to."""
    fit_chain(series_set, settings, n_sweeps=1, seed=0)


def fit_chain(series_set: SeriesSet, settings: Settings, n_sweeps: int, seed: int) -> Any:
    """Return the coupled model, fitted by a single chain of which every sweep is kept."""
    model = METHODS[METHOD_OF[settings]].make(n_sweeps=n_sweeps, n_chains=1, seed=seed, n_burn=0)
    return fit_whole(model, series_set.sequences)


def report(sets: Sequence[SeriesSet], effort: Effort, outcomes: Outcomes) -> Report:
    """Return a table of times and scores, and the traces as one figure per settings."""
    times = ["first sweep", "later sweep", "authors", f"{effort.sweeps} sweeps"]
    header = ["Set", "Settings", *times, "Hamming", "F", "states", "actions", "sweeps to 1%"]
    return chains_report(
        Layout("segmentation-convergence", SETTINGS, header, _row, DRAWN, NOTES), sets, effort, outcomes
    )


def _row(series_set: SeriesSet, title: str, chains: list[SegmentationRecord]) -> list[str]:
    """Return one line of the table."""
    first, later, whole = map(format_seconds, median_seconds(chains))
    return [
        f"{series_set.heading} ({series_set.n_classes})",
        title,
        *(first, later, printed.SEGMENTATION_SECONDS.get(series_set.key, "-"), whole),
        format_cell([chain.hamming[-1] for chain in chains]),
        format_cell([chain.f_measure[-1] for chain in chains]),
        format_cell([chain.n_states[-1] for chain in chains], decimals=0),
        format_cell([chain.n_actions[-1] for chain in chains], decimals=0),
        f"{np.median([sweeps_to_settle(chain.log_joint) for chain in chains]):.0f}",
    ]
