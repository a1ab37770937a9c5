"""Sampler tests: log posterior, F and time of every sweep of many chains, as in the paper's figure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.random import SeedSequence

from homothety.estimators.similarity import SimilarityMixture
from homothety.estimators.spcm import SPCMMixture
from homothety.metrics import f_measure
from homothety.models import ddcrp
from homothety.models.ddcrp import RECORDING
from homothety.phrases import format_cell
from homothety.sampling import run_chain
from paper import printed
from paper.chains import (
    Layout,
    chain_tasks,
    chains_report,
    median_seconds,
    sweeps_to_settle,
)
from paper.plan import Effort, Outcomes, Report, Task
from paper.published import published_embedding, published_settings
from paper.scores import format_seconds
from paper.sets import PaperSet, load_sets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.arrays import FloatArray

SETS = ("toy-6d", "task", "dti")
LOAD = load_sets
FULL, QUICK = Effort(runs=20, sweeps=500), Effort(runs=2, sweeps=20)

TITLE = "Convergence of the sampler"
Settings = Literal["published", "default"]
SETTINGS: dict[Settings, str] = {"published": "as published", "default": "default"}
DRAWN = {"log_posterior": "log posterior", "f_measure": "F", "seconds": "seconds per sweep"}

NOTES = (
    "Every chain starts with each matrix in a cluster of its own. alpha = 1; tolerance tau = 1, and 10 for synthetic "
    "DTI, as in the paper. *As published*: `published` similarity, number of columns P by the adapted rule, nu_0 = P, "
    "Lambda_0 = I tr(cov Y) / P. *Default*: similarity, embedding and prior of `SPCMMixture(model='links')`.",
    "Seconds are medians over chains, of the first sweep, of the later ones and of all sweeps of a chain; those of "
    "the authors are from their own recordings (MATLAB, Intel Core i7-3770, 500 sweeps). The machines differ.",
    "F and K are those of the last sweep of each chain, mean (standard deviation): single samples, not the point "
    "estimate. The paper prints K = 2.7 (0.7) for synthetic DTI.",
    "*Sweeps to 1%*: median number of sweeps after which the log posterior of a chain has covered 99% of the way from "
    "its first sweep to the mean of its second half.",
)


@dataclass(frozen=True, eq=False)
class ChainRecord:
    """What one chain did, sweep by sweep; arrays of shape (n_sweeps,)."""

    log_posterior: FloatArray
    f_measure: FloatArray
    n_clusters: FloatArray
    seconds: FloatArray


def tasks(sets: Sequence[PaperSet], effort: Effort) -> list[Task]:
    """Return the chains of the sampler tests."""
    return chain_tasks(sets, SETTINGS, record_chain, effort)


def record_chain(paper_set: PaperSet, settings: Settings, n_sweeps: int, seed: int) -> ChainRecord:
    """Run one chain, keeping the partition of every sweep."""
    trace = _run(warm_model(paper_set, settings), n_sweeps, seed)
    if trace.interrupted:
        raise KeyboardInterrupt
    return ChainRecord(
        log_posterior=trace.array("log_joint"),
        f_measure=np.array([f_measure(paper_set.labels, labels) for labels in trace.kept]),
        n_clusters=trace.array("n_clusters"),
        seconds=trace.array("seconds"),
    )


def _run(model: ddcrp.Model, n_sweeps: int, seed: int) -> Any:
    state, sweep = ddcrp.init_state(model, concentration=1.0), ddcrp.default_sweep()
    return run_chain(SeedSequence(seed), model, state, sweep, RECORDING, n_sweeps=n_sweeps, n_burn=0)


@lru_cache(maxsize=1)  # chains of one set and settings follow each other
def warm_model(paper_set: PaperSet, settings: Settings) -> ddcrp.Model:
    """Return the model of a set as an estimator builds it; its one sweep compiles, so that no later one has to."""
    fitted = fit_published(paper_set) if settings == "published" else fit_default(paper_set)
    return ddcrp.Model.from_similarity(fitted.embedding_, fitted.similarity_, fitted.base_)


def fit_published(paper_set: PaperSet) -> SimilarityMixture:
    """Fit one sweep with the settings behind the published figure."""
    embedding = published_embedding(paper_set)
    model = SimilarityMixture(**published_settings(paper_set, n_sweeps=1, seed=0))
    return model.fit(embedding.embedding_, similarity=embedding.similarity_)


def fit_default(paper_set: PaperSet) -> SPCMMixture:
    """Fit one sweep with the settings of this library."""
    once: dict[str, Any] = {"n_chains": 1, "n_sweeps": 1, "n_burn": 0, "random_state": 0}
    return SPCMMixture(model="links", measure=paper_set.measure, tolerance=paper_set.tolerance, **once).fit(
        paper_set.items
    )


def report(sets: Sequence[PaperSet], effort: Effort, outcomes: Outcomes) -> Report:
    """Return a table of times and scores, and the traces as one figure per settings."""
    measured = [f"{name}: here" for name in ("first sweep", "later sweep", f"{effort.sweeps} sweeps")]
    times = [name for here in measured for name in (here, "authors")]
    header = ["Set", "Settings", *times, "F", "K", "sweeps to 1%"]
    layout = Layout("convergence", SETTINGS, header, _row, DRAWN, NOTES)
    return chains_report(layout, sets, effort, outcomes)


def _row(paper_set: PaperSet, title: str, chains: list[ChainRecord]) -> list[str]:
    """Return one line of the table."""
    times = zip(median_seconds(chains), printed.SECONDS[paper_set.key], strict=True)
    return [
        f"{paper_set.heading} ({len(paper_set)})",
        title,
        *(format_seconds(seconds) for pair in times for seconds in pair),
        format_cell([chain.f_measure[-1] for chain in chains]),
        format_cell([chain.n_clusters[-1] for chain in chains], decimals=0),
        f"{np.median([sweeps_to_settle(chain.log_posterior) for chain in chains]):.0f}",
    ]
