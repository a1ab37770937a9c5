"""Table 3: a Gaussian mixture with model selection, a CRP mixture and the SPCM-CRP mixture."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from homothety.estimators.baselines import CRPMixture, GMMSelection
from homothety.estimators.methods import fit_whole
from homothety.estimators.similarity import SimilarityMixture
from homothety.estimators.spcm import SPCMMixture
from homothety.phrases import bullet_list, markdown_table
from paper import printed
from paper.comparison import (
    Method,
    comparison_notes,
    comparison_tasks,
    printed_cell,
    provenance,
    score_labels,
)
from paper.figures import Panel, draw_comparison
from paper.plan import Effort, Outcomes, Report, Task
from paper.published import published_embedding, published_settings
from paper.scores import format_metric
from paper.sets import PaperSet, load_sets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from homothety.arrays import IntArray

SETS = (
    *("toy-3d", "toy-6d", "toy-6d-scaled", "task", "dti", "rat"),
    *("eth80", "eth80-images", "eth80-images-lerm"),
)
LOAD = load_sets
FULL, QUICK = Effort(runs=10, sweeps=200), Effort(runs=2, sweeps=20)

TITLE = "Table 3: clustering without being told the number of clusters"

NOTES = (
    "Mean (standard deviation). K is the number of clusters found, in brackets beside a set the true one.",
    "GMM, CRP-GMM and *ours, as published* cluster one and the same embedding, that of the published rule: "
    "`published` similarity, tolerance tau = 1 (10 for both DTI sets), number of columns by the adapted threshold, "
    "rows of unit length. GMM takes the number of clusters at the minimum of BIC, where the paper also used prior "
    "knowledge.",
    "CRP-GMM and *ours, as published* have alpha = 1 and the prior nu_0 = P, Lambda_0 = I tr(cov Y) / P, kappa_0 = 1, "
    "and report the most probable sample of a single chain.",
    "*Ours, default* is `SPCMMixture(model='links')`, with the same tau: four chains, the damped embedding, a prior "
    "that counts a share of the points, and the partition nearest to all samples.",
    "ETH-80: the authors' similarity is clustered as they stored it. Their features are not public; the rows of "
    "images build covariances of 400 pixels from the images themselves, with a ridge of 1e-3 of the trace, and "
    "compare them by shape or by the log-Euclidean metric. The paper has no such rows.",
    "In the paper the CRP-GMM column shows equal cells for two metrics on both DTI sets (0.536 and 0.502): one of "
    "each pair is probably a slip.",
)


def tasks(sets: Sequence[PaperSet], effort: Effort) -> list[Task]:
    """Return the runs behind Table 3."""
    return comparison_tasks(sets, METHODS, effort, score_labels)


def cluster_by_gmm(paper_set: PaperSet, effort: Effort, seed: int) -> IntArray:  # noqa: ARG001
    """Cluster the published embedding by a Gaussian mixture with model selection."""
    labels: IntArray = GMMSelection(random_state=seed).fit(published_embedding(paper_set).embedding_).labels_
    return labels


def cluster_by_crp(paper_set: PaperSet, effort: Effort, seed: int) -> IntArray:
    """Cluster the published embedding by a CRP mixture."""
    model = CRPMixture(start="one", **published_settings(paper_set, effort.sweeps, seed))
    labels: IntArray = fit_whole(model, published_embedding(paper_set).embedding_).labels_
    return labels


def cluster_as_published(paper_set: PaperSet, effort: Effort, seed: int) -> IntArray:
    """Cluster the published embedding by the SPCM-CRP mixture with the published prior."""
    embedding = published_embedding(paper_set)
    model = SimilarityMixture(**published_settings(paper_set, effort.sweeps, seed))
    labels: IntArray = fit_whole(model, embedding.embedding_, similarity=embedding.similarity_).labels_
    return labels


def cluster_by_default(paper_set: PaperSet, effort: Effort, seed: int) -> IntArray:
    """Cluster by the SPCM-CRP mixture with the settings of this library."""
    model = SPCMMixture(
        model="links",
        measure=paper_set.measure,
        tolerance=paper_set.tolerance,
        n_sweeps=effort.sweeps,
        random_state=seed,
    )
    labels: IntArray = fit_whole(model, paper_set.items).labels_
    return labels


METHODS = [
    Method("gmm", "GMM w/MS", cluster_by_gmm),
    Method("crp", "CRP-GMM", cluster_by_crp),
    Method("spcm", "ours, as published", cluster_as_published),
    Method("default", "ours, default", cluster_by_default, paper_key="spcm"),
]


def report(sets: Sequence[PaperSet], effort: Effort, outcomes: Outcomes) -> Report:
    """Return the table with the paper's numbers beside the measured ones."""
    rows = [_row(paper_set, metric, outcomes) for paper_set in sets for metric in printed.METRICS]
    header = ["Set", "Metric", "GMM", "paper", "CRP-GMM", "paper", "Ours, as published", "Ours, default", "paper"]
    notes = [*NOTES, *comparison_notes(sets, printed.TABLE_3), provenance(effort)]
    return Report(
        markdown=f"{markdown_table(header, rows)}\n\n{bullet_list(notes)}",
        figures={"table-3": partial(_draw, sets, outcomes)},
    )


def _row(paper_set: PaperSet, metric: str, outcomes: Outcomes) -> list[str]:
    """Return one line of the table: every method here and in the paper."""
    gmm, crp, ours, default = (format_metric(outcomes[paper_set.key, method.key], metric) for method in METHODS)
    theirs = [printed_cell(printed.TABLE_3, paper_set, method, metric) for method in ("gmm", "crp", "spcm")]
    heading = f"{paper_set.heading} ({paper_set.n_classes})"
    return [heading, metric, gmm, theirs[0], crp, theirs[1], ours, default, theirs[2]]


def _draw(sets: Sequence[PaperSet], outcomes: Outcomes) -> Figure:
    panels = [Panel(metric, metric, METHODS) for metric in ("NMI", "F")]
    return draw_comparison(panels, [method.title for method in METHODS], sets, outcomes, printed.TABLE_3)
