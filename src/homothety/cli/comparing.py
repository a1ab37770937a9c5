"""Running several methods on one set, and writing their scores side by side."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from homothety._version import __version__
from homothety.cli.figures import draw_paths, write_figures
from homothety.errors import InputError
from homothety.estimators.baselines import CRPMixture, GMMSelection
from homothety.estimators.methods import METHODS, fit_whole, labels_of
from homothety.estimators.similarity import SpectralEmbedding
from homothety.estimators.spcm import SPCMMixture
from homothety.files import write_text, written_aside
from homothety.metrics import ari, f_measure, gce, hamming, nmi, purity, vi
from homothety.phrases import format_cell, markdown_table
from homothety.summaries.partitions import named_after
from homothety.workers import run_in_order

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from homothety.arrays import FloatArray, IntArray
    from homothety.cli.console import Console
    from homothety.datasets import SequenceSet
    from homothety.preprocessing import Preprocessing

_Metric = Callable[[Any, Any], float]

SEGMENTATION_METRICS: dict[str, _Metric] = {
    "Hamming": hamming,
    "F": f_measure,
    "GCE": gce,
    "VI": vi,
    "NMI": nmi,
    "purity": purity,
    "ARI": ari,
}
_ERRORS = ("Hamming", "GCE", "VI")  # metrics that are better the smaller
CLUSTERING_METRICS: dict[str, _Metric] = {"NMI": nmi, "purity": purity, "F": f_measure, "ARI": ari}
_MAX_DRAWN = 4  # recordings with a picture of their own
_FIGURES = {f"series-{i}" for i in range(_MAX_DRAWN)}


class Method(NamedTuple):
    """A way to label all items: `label` takes a seed and returns one array of labels, or one for each recording."""

    key: str
    title: str
    label: Callable[[int | None], Any]


class Run(NamedTuple):
    """What came of one run of a method; no seed where there is nothing random."""

    seed: int | None
    labels: Any
    scores: dict[str, float]


# Finished runs by the key of their method.
_Outcomes: TypeAlias = Mapping[str, list[Run]]


class Task(NamedTuple):
    """One run to be made: what progress messages call it, the key its result goes under, and what makes it."""

    name: str
    key: str
    run: Callable[[], Run]


@dataclass(frozen=True)
class Comparison:
    """Methods to compare on one set.

    Parameters
    ----------
    methods : sequence of Method
    baseline : Method
        What any of them has to be better than; it takes no time, and stands in every table.
    truth : array, or list of one array per recording
    metrics : mapping of str to callable
    counted : str
        What labels stand for, such as "clusters".
    names : tuple of str
        Of the recordings, if there are any.
    """

    methods: Sequence[Method]
    baseline: Method
    truth: Any
    metrics: Mapping[str, _Metric]
    counted: str
    names: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """Return what is measured of each run."""
        return [*self.metrics, self.counted, "seconds"]

    @property
    def note(self) -> str:
        """Return how to read the table."""
        errors = [name for name in self.metrics if name in _ERRORS]
        good = [name for name in self.metrics if name not in errors]
        smaller = f"{', '.join(errors)}: smaller is better. " if errors else ""
        return (
            f"{smaller}{', '.join(good)}: larger is better. The truth has {count(self.truth)} {self.counted}. "
            f'The row "{self.baseline.title}" calls everything the same: a score no better than its own is no merit.'
        )

    def tasks(self, seed: int, n_runs: int) -> list[Task]:
        """Return every run of every method; runs have seeds that follow each other."""
        return [
            Task(method.title, method.key, partial(self.run, method, seed + run))
            for method in self.methods
            for run in range(n_runs)
        ]

    def run(self, method: Method, seed: int | None) -> Run:
        """Run a method once and score what it finds."""
        started = perf_counter()
        labels = method.label(seed)
        seconds = perf_counter() - started
        scores = {name: metric(self.truth, labels) for name, metric in self.metrics.items()}
        return Run(seed, labels, scores | {self.counted: float(count(labels)), "seconds": seconds})

    def finished(self, outcomes: _Outcomes) -> list[tuple[Method, list[Run]]]:
        """Return the methods that have come to an end at least once, with their runs."""
        return [(method, outcomes[method.key]) for method in self.methods if method.key in outcomes]

    def listed(self, outcomes: _Outcomes) -> list[tuple[Method, list[Run]]]:
        """Return the methods that have come to an end at least once, and the baseline, with their runs."""
        return [*self.finished(outcomes), (self.baseline, [self.run(self.baseline, None)])]

    def table(self, outcomes: _Outcomes) -> str:
        """Return one row per method; over several runs "mean (standard deviation)"."""
        rows = [
            [method.title, *(self._cell(name, [run.scores[name] for run in runs]) for name in self.columns)]
            for method, runs in self.listed(outcomes)
        ]
        return markdown_table(["method", *self.columns], rows)

    def _cell(self, name: str, values: list[float]) -> str:
        return format_cell(values, decimals={self.counted: 0, "seconds": 1}.get(name, 3))

    def rows(self, outcomes: _Outcomes) -> list[dict[str, Any]]:
        """Return one record per run."""
        return [
            {"method": method.key, "seed": run.seed, **run.scores, self.counted: int(run.scores[self.counted])}
            for method, runs in self.listed(outcomes)
            for run in runs
        ]

    def summary(self, outcomes: _Outcomes) -> dict[str, Any]:
        """Return the runs as what JSON can hold."""
        return {f"true_{self.counted}": count(self.truth), "runs": self.rows(outcomes)}


def run_tasks(tasks: list[Task], console: Console) -> tuple[dict[str, list[Run]], bool]:
    """Run tasks until the last or an interrupt; return the results by key, and whether the last was reached."""
    outcomes: dict[str, list[Run]] = {}
    results = run_in_order([task.run for task in tasks])
    try:
        # Most problems are so small that threads of BLAS and OpenMP would spend their time waiting for each other.
        with threadpool_limits(1):
            for task in console.track(tasks):
                result = next(results)
                outcomes.setdefault(task.key, []).append(result)
    except KeyboardInterrupt:
        if not outcomes:
            raise KeyboardInterrupt("Interrupted before the first result: there is nothing to report.") from None
        return outcomes, False
    return outcomes, True


def segmentation_methods(items: SequenceSet, preprocessing: Preprocessing, **settings: Any) -> dict[str, Method]:
    """Return the ways to segment recordings, by key; all get the same preparation but the one that prepares by itself.

    Parameters
    ----------
    items : SequenceSet
    preprocessing : Preprocessing
    **settings
        Of `homothety.estimators.methods.Method.make`: how long samplers run, or the largest number of states, for those
        that have such a limit.
    """

    def labels(key: str, seed: int | None) -> list[IntArray]:
        model = METHODS[key].make(seed=seed, preprocessing=preprocessing, subsample=preprocessing.subsample, **settings)
        return labels_of(fit_whole(model, items))

    return {key: Method(key, method.title, partial(labels, key)) for key, method in METHODS.items()}


@dataclass(frozen=True)
class _MatrixClusterings:
    """Ways to cluster matrices; the baselines cluster the spectral embedding that the SPCM-CRP mixture uses."""

    matrices: FloatArray
    effort: Mapping[str, Any]

    @cached_property
    def points(self) -> FloatArray:
        """Spectral embedding, (n_matrices, n_components)."""
        points: FloatArray = SpectralEmbedding().fit_transform(self.matrices)
        return points

    def by_nothing(self, seed: int | None) -> IntArray:  # noqa: ARG002
        """Put all into one cluster."""
        return np.zeros(len(self.matrices), dtype=np.int64)

    def by_spcm(self, seed: int | None) -> IntArray:
        """Cluster by the SPCM-CRP mixture."""
        labels: IntArray = fit_whole(
            SPCMMixture(model="links", random_state=seed, **self.effort), self.matrices
        ).labels_
        return labels

    def by_crp(self, seed: int | None) -> IntArray:
        """Cluster by the Chinese restaurant process mixture."""
        labels: IntArray = fit_whole(CRPMixture(random_state=seed, **self.effort), self.points).labels_
        return labels

    def by_gmm(self, seed: int | None) -> IntArray:
        """Cluster by a Gaussian mixture with model selection."""
        labels: IntArray = GMMSelection(random_state=seed).fit(self.points).labels_
        return labels


def clustering_methods(matrices: FloatArray, effort: Mapping[str, Any]) -> dict[str, Method]:
    """Return the ways to cluster matrices, by key."""
    ways = _MatrixClusterings(matrices, effort)
    return {
        "spcm": Method("spcm", "SPCM-CRP mixture", ways.by_spcm),
        "crp": Method("crp", "CRP mixture", ways.by_crp),
        "gmm": Method("gmm", "GMM, BIC", ways.by_gmm),
        "one-cluster": Method("one-cluster", "one cluster", ways.by_nothing),
    }


def choose(methods: Mapping[str, Method], names: str | None) -> list[Method]:
    """Return the methods named, or raise saying which there are."""
    wanted = list(methods) if names is None else [name.strip() for name in names.split(",")]
    unknown = [name for name in wanted if name not in methods]
    if unknown:
        raise InputError(f"--methods has {unknown[0]!r}, needed some of {', '.join(methods)}.")
    return [methods[name] for name in dict.fromkeys(wanted)]


def count(labels: Any) -> int:
    """Return the number of different labels."""
    return len(np.unique(np.concatenate([np.ravel(one) for one in labels])))


def write(comparison: Comparison, outcomes: _Outcomes, folder: Path, *, with_figures: bool = False) -> list[str]:
    """Write the table as Markdown and every run as CSV, and draw what was found if asked to."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = comparison.rows(outcomes)
    with written_aside(folder / "comparison.csv") as aside, aside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    figures = write_figures(folder, _drawings(comparison, outcomes) if with_figures else {}, _FIGURES)
    images = [f"![{name}]({name})" for name in figures]
    made = f"homothety {__version__}; " + comparison.note
    write_text(
        folder / "comparison.md", "\n\n".join(["# Comparison", comparison.table(outcomes), made, *images]) + "\n"
    )
    return ["comparison.md", "comparison.csv", *figures]


def _drawings(comparison: Comparison, outcomes: _Outcomes) -> dict[str, Callable[[], Figure]]:
    """Return functions that draw the truth and what each method found, for the first recording."""
    n_drawn = min(len(comparison.names), _MAX_DRAWN)
    return {f"series-{i}": partial(_draw_recording, comparison, outcomes, i) for i in range(n_drawn)}


def _draw_recording(comparison: Comparison, outcomes: _Outcomes, i: int) -> Figure:
    """Draw one recording: the truth on top, below what each method found, in the colours of what it is called."""
    truth = np.unique(np.concatenate(comparison.truth), return_inverse=True)[1]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in comparison.truth])])
    rows = {"truth": truth}
    for method, runs in comparison.finished(outcomes):
        rows[method.title] = named_after(truth, np.concatenate(runs[0].labels))
    bars = [row[starts[i] : starts[i + 1]] for row in rows.values()]
    figure = draw_paths(bars, list(rows), called="label")
    figure.axes[0].set_title(comparison.names[i])
    return figure
