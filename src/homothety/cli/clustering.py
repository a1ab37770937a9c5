"""Clustering one set of matrices and writing everything about it into a folder."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety._version import __version__
from homothety.cli.chains import chains_agree, planned, verdict
from homothety.cli.figures import CAPTIONS, PAGE_FIGURES, clustering_figures
from homothety.cli.files import REPORT, has_matplotlib, make_folder, write_figures, write_json
from homothety.datasets import write_label_image
from homothety.datasets.readers.brain import NIFTI_SUFFIXES
from homothety.export.lookup_tables import FREESURFER_TABLE, FSLEYES_TABLE, write_lookup_tables
from homothety.files import write_text, written_aside
from homothety.numbering import cluster_number
from homothety.report import write_report
from homothety.report.clustering import METRICS
from homothety.report.runs import versions
from homothety.report.saved import write_matrices
from homothety.summaries.partitions import membership
from homothety.words import AXES, number_of
from homothety.words.clusters import nearly_singular_in_words, one_cluster_in_words
from homothety.words.markdown import markdown_table

if TYPE_CHECKING:
    from pathlib import Path

    from homothety.arrays import FloatArray, IntArray
    from homothety.cli.console import Console
    from homothety.datasets import MatrixSet
    from homothety.estimators.spcm import SPCMMixture

LABEL_IMAGE = "labels.nii.gz"


@dataclass(frozen=True, eq=False)
class Clustering:
    """A set of matrices and the model fitted to it.

    Parameters
    ----------
    items : MatrixSet
    model : SPCMMixture
        Fitted.
    index : ndarray of shape (n_matrices,)
        Number of each matrix in the file it came from.
    source : str
        Where the matrices came from.
    seconds : float
        How long the fit took.
    spatial : bool
        Whether matrices could link to those beside them in the image.
    """

    items: MatrixSet
    model: SPCMMixture
    index: IntArray
    source: str
    seconds: float
    spatial: bool = False

    @property
    def probabilities(self) -> FloatArray:
        """How firmly each matrix belongs to its cluster, (n_matrices,)."""
        if hasattr(self.model, "probability_"):
            return self.model.probability_
        return membership(self.model.coclustering_, self.model.labels_)

    @property
    def metrics(self) -> dict[str, float] | None:
        """Agreement with the labels of the set, if it has any."""
        truth = self.items.labels
        if truth is None:
            return None
        return {name: metric(truth, self.model.labels_) for name, metric in METRICS.items()}


def fit(
    items: MatrixSet,
    model: SPCMMixture,
    console: Console,
    *,
    source: str,
    index: IntArray | None = None,
    positions: IntArray | None = None,
) -> Clustering:
    """Fit the model, saying so; an interrupt ends it early with whatever was sampled by then."""
    n_dims = items.matrices.shape[1]
    console.say(f"Sampling {planned(model)} over {len(items)} matrices of {n_dims} x {n_dims}")
    started = perf_counter()
    model.set_params(progress=console.shows_progress)
    model.fit(items.matrices, positions=positions)
    model.set_params(progress=False)
    index = np.arange(len(items)) if index is None else index
    return Clustering(items, model, index, source, perf_counter() - started, spatial=positions is not None)


def write(result: Clustering, folder: Path, console: Console) -> list[str]:
    """Write labels, summary, model and figures into a folder, and return the names of the files."""
    make_folder(folder)
    result.model.save(folder / "model.homothety")
    write_labels(folder / "labels.csv", result)
    write_json(folder / "summary.json", summarise(result))
    names = ["labels.csv", "summary.json", "model.homothety"]
    names += write_matrices(folder, result.model, result.items)
    names += write_image(result, folder)
    drawings = clustering_figures(result.model, result.items) if has_matplotlib() else {}
    figures = write_figures(folder, drawings, console, PAGE_FIGURES)
    write_text(folder / "summary.md", describe(result, figures))
    write_report(result, folder / REPORT)
    return [REPORT, "summary.md", *names, *figures]


def write_image(result: Clustering, folder: Path) -> list[str]:
    """Write the label image of a NIfTI image with its lookup tables, and return the names of the files.

    Of other sources nothing is written; files of an earlier run are removed.
    """
    if not result.source.lower().endswith(NIFTI_SUFFIXES):
        for name in (LABEL_IMAGE, FSLEYES_TABLE, FREESURFER_TABLE):
            (folder / name).unlink(missing_ok=True)
        return []
    with written_aside(folder / LABEL_IMAGE) as aside:
        write_label_image(aside, result.model.labels_, result.items)
    return [LABEL_IMAGE, *write_lookup_tables(folder, result.model.n_clusters_)]


def write_labels(path: Path, result: Clustering) -> None:
    """Write one line per matrix: number in the file, cluster, probability, true class and voxel where known."""
    columns: dict[str, Any] = {
        "index": result.index,
        "label": cluster_number(result.model.labels_),
        "probability": [f"{value:.4f}" for value in result.probabilities],
    }
    if result.items.labels is not None:
        columns["truth"] = result.items.labels
    if result.items.positions is not None:
        columns.update(zip(AXES, result.items.positions.T, strict=False))
    with written_aside(path) as aside, aside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def summarise(result: Clustering) -> dict[str, Any]:
    """Return what is worth knowing of a clustering, as what JSON can hold."""
    model, items = result.model, result.items
    settings = model.get_params()
    del settings["progress"]
    return {
        "source": result.source,
        "matrices": len(items),
        "dimensions": items.matrices.shape[1],
        "image": image_of(items),
        "spatial": result.spatial,
        "clusters": model.n_clusters_,
        "sizes": np.bincount(model.labels_).tolist(),
        "one_cluster_probability": model.one_cluster_probability_,
        "nearly_singular": result.index[getattr(model, "nearly_singular_", [])].tolist(),
        "metrics": result.metrics,
        "chains_agree": chains_agree(model),
        "verdict": verdict(model),
        "interrupted": model.interrupted_,
        "sweeps_kept": len(model.draws_),
        "seconds": round(result.seconds, 3),
        "seed": settings.pop("random_state"),
        "settings": settings,
        "versions": versions(),
    }


def image_of(items: MatrixSet) -> dict[str, Any] | None:
    """Return the image that matrices are of, as what JSON can hold; None if they are of none."""
    if items.grid is None:
        return None
    return {"grid": list(items.grid), "affine": None if items.affine is None else items.affine.tolist()}


def cluster_table(result: Clustering) -> str:
    """Return the clusters with their sizes and how firm they are."""
    labels, probabilities = result.model.labels_, result.probabilities
    rows = [
        [cluster_number(k), size, f"{size / len(labels):.0%}", f"{probabilities[labels == k].mean():.2f}"]
        for k, size in enumerate(np.bincount(labels))
    ]
    return markdown_table(["cluster", "matrices", "share", "agreement"], rows)


def headline(result: Clustering) -> str:
    """Return the outcome in one sentence."""
    n_dims = result.items.matrices.shape[1]
    return f"{len(result.items)} matrices of {n_dims} x {n_dims} in {number_of(result.model.n_clusters_, 'cluster')}"


def agreement(result: Clustering) -> str:
    """Return in one sentence how well the clusters agree with the labels of the set, or nothing without labels."""
    if result.metrics is None:
        return ""
    scores = ", ".join(f"{name} {value:.3f}" for name, value in result.metrics.items())
    return f"Against the labels of the set: {scores}."


def notes(result: Clustering) -> list[str]:
    """Return sentences on the clustering as a whole."""
    model = result.model
    if unclear := nearly_singular_in_words(model, result.index, result.items.positions):
        unclear += (
            " Such eigenvalues are raised by --min-eigenvalue 0.001, or the matrices left out with --only-spd besides."
        )
    return [said for said in (one_cluster_in_words(model), unclear, agreement(result), verdict(model)) if said]


def report(result: Clustering) -> str:
    """Return what is shown on the terminal."""
    return "\n\n".join([f"{headline(result)}.", cluster_table(result), "\n".join(notes(result))])


def describe(result: Clustering, figures: list[str]) -> str:
    """Return a page about a clustering, with its figures."""
    model = result.model
    parts = [
        f"# {headline(result)}",
        f"Source: `{result.source}`. {model.n_chains} chains of {model.n_sweeps_} sweeps, of which {len(model.draws_)} "
        f"were kept; {result.seconds:.1f} s; seed {model.random_state}; homothety {__version__}."
        + " Voxels could link to those beside them." * result.spatial
        + " The run was interrupted and rests on fewer sweeps than asked for." * model.interrupted_,
        cluster_table(result),
        "*Agreement*: how often, on average, a matrix shared its cluster with the other members of it.",
        *notes(result),
        f"`{REPORT}` is an interactive report, `labels.csv` has the cluster of every matrix, `summary.json` the "
        "settings. "
        "`homothety.load('model.homothety')` gives the model back, to predict the clusters of new matrices.",
        *(_figure_section(name) for name in figures),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _figure_section(file: str) -> str:
    """Return the part of a page that shows one figure."""
    name = file.removesuffix(".png")
    return f"## {name.replace('-', ' ').capitalize()}\n\n![{name}]({file})\n\n{CAPTIONS[name]}"
