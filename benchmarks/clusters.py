"""Whether clusters are found where there are some, and none where there are none: ``python -m benchmarks.clusters``.

`SPCMMixture` with its default settings. Prints tables of one shape, of families to count, of the paper's sets
(HOMOTHETY_DATA) and of calibration, and writes them into results/clusters.md if all of them ran in full. Figures of the
rat hippocampus set are printed only: its terms ask for permission before anything is published.
"""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.accuracy import UNPUBLISHED, load
from benchmarks.calibration import HEADER, N_DEGREES, Claims, joined, reliability_rows
from benchmarks.pages import data_folder, filled, template, write_result
from homothety import SPCMMixture, metrics
from homothety.covariance import sample_covariances
from homothety.covariance.shape import shape_coordinates
from homothety.datasets import MatrixSet, make_toy_3d, make_toy_6d, make_wishart_families
from homothety.errors import ConvergenceWarning
from homothety.phrases import markdown_table

if TYPE_CHECKING:
    from collections.abc import Iterator

ONE_SHAPE = [(3, 20), (3, 100), (3, 1000), (6, 20), (6, 100), (6, 1000)]  # dimensions, degrees of freedom
N_MATRICES = (60, 500, 2000)
# Sizes of families, dimensions, degrees of freedom, least separation of two families.
FAMILIES = [
    ("2 of 30", [30] * 2, 6, 50, 0.25),
    ("5 of 20", [20] * 5, 3, 100, 0.25),
    ("10 of 20", [20] * 10, 3, 300, 0.12),
    ("30 of 10", [10] * 30, 6, 300, 0.15),
    ("40 of 10", [10] * 40, 6, 1000, 0.13),
    ("100, 20, 5", [100, 20, 5], 6, 100, 0.25),
    ("57, 3", [57, 3], 6, 100, 0.25),
    ("six pairs", [2] * 6, 6, 300, 0.2),
    ("4 of 20, 50-D", [20] * 4, 50, 300, 0.2),
]


def unequal_families(sizes: list[int], n_dims: int, dof: int, separation: float, seed: int) -> MatrixSet:
    """Return families of given sizes."""
    settings: dict[str, Any] = {"n_per_family": max(sizes), "dof": dof, "min_separation": separation}
    made = make_wishart_families(len(sizes), n_dims, **settings, random_state=seed)
    kept = np.concatenate([np.flatnonzero(made.labels == k)[:size] for k, size in enumerate(sizes)])
    return MatrixSet(made.matrices[kept], np.asarray(made.labels)[kept], "families")


def nothing_there(n_draws: int) -> Iterator[list[str]]:
    """Yield, for one shape sampled again and again, how often one cluster is found and its mean probability."""
    for n_dims, dof in ONE_SHAPE:
        for n_matrices in N_MATRICES:
            fits = [
                SPCMMixture(random_state=seed).fit(
                    make_wishart_families(1, n_dims, n_per_family=n_matrices, dof=dof, random_state=seed).matrices
                )
                for seed in range(n_draws)
            ]
            found = sum(fit.n_clusters_ == 1 for fit in fits)
            probability = np.mean([fit.one_cluster_probability_ for fit in fits])
            yield [f"{n_dims}-D, {dof}", str(n_matrices), f"{found} of {n_draws}", f"{probability:.2f}"]


def counting(n_draws: int) -> Iterator[list[str]]:
    """Yield, for families, clusters found, ARI, and the ARI of k-means on shape coordinates, told the number."""
    for name, sizes, n_dims, dof, separation in FAMILIES:
        scores = []
        for seed in range(n_draws):
            made = unequal_families(sizes, n_dims, dof, separation, seed)
            fit = SPCMMixture(random_state=seed).fit(made.matrices)
            told = KMeans(len(sizes), n_init=10, random_state=seed).fit_predict(shape_coordinates(made.matrices))
            scores.append((fit.n_clusters_, metrics.ari(made.labels, fit.labels_), metrics.ari(made.labels, told)))
        n_clusters, ari, k_means = np.mean(scores, axis=0)
        yield [f"{name} ({n_dims}-D, {dof})", str(len(sizes)), f"{n_clusters:.1f}", f"{ari:.3f}", f"{k_means:.3f}"]


def paper_sets(n_seeds: int) -> Iterator[list[str]]:
    """Yield NMI, F and number of clusters on the paper's sets, means over seeds or draws."""
    folder = data_folder()
    for name, make in (("toy 3D, drawn", make_toy_3d), ("toy 6D, drawn", make_toy_6d)):
        toys = [make(random_state=seed) for seed in range(2 * n_seeds)]
        yield scored(name, [(toy.matrices, toy.labels) for toy in toys])
    images = load(folder, "eth80_images_20x20")
    covariances = sample_covariances(images["images"].astype(float), ddof=1, ridge=1e-3)
    yield scored("ETH-80 images, by shape", [(covariances, images["labels"])] * n_seeds)
    for name, file, settings in (
        ("synthetic DTI", "dti_synthetic", {}),
        ("task ellipsoids", "task_ellipsoids_6d", {}),
        ('task ellipsoids, `size="use"`', "task_ellipsoids_6d", {"size": "use"}),
        (UNPUBLISHED, "dti_rat_hippocampus", {}),
    ):
        arrays = load(folder, file)
        yield scored(name, [(arrays["matrices"], arrays["labels"])] * n_seeds, **settings)


def scored(name: str, runs: list[tuple[Any, Any]], **settings: Any) -> list[str]:
    """Return one line: means and standard deviations over runs, one seed each."""
    values = []
    for seed, (matrices, truth) in enumerate(runs):
        fit = SPCMMixture(random_state=seed, **settings).fit(matrices)
        values.append((metrics.nmi(truth, fit.labels_), metrics.f_measure(truth, fit.labels_), fit.n_clusters_))
    mean, std = np.mean(values, axis=0), np.std(values, axis=0)
    return [name, f"{mean[0]:.3f} ({std[0]:.3f})", f"{mean[1]:.3f} ({std[1]:.3f})", f"{mean[2]:.1f}", str(len(runs))]


def calibration(n_draws: int) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield, for degrees of freedom, how often pairs are of one family, by their co-clustering probability."""
    for dof in N_DEGREES:
        parts = []
        for seed in range(n_draws):
            made = make_wishart_families(dof=dof, random_state=seed)
            pairs = np.triu_indices(len(made.matrices), 1)
            together = np.equal.outer(made.labels, made.labels)[pairs]
            parts.append(Claims(SPCMMixture(random_state=seed).fit(made.matrices).coclustering_[pairs], together))
        yield f"{dof} degrees of freedom", reliability_rows(joined(parts))


def printed(rows: Iterator[list[str]]) -> list[list[str]]:
    """Return rows, printing each as it comes; those that may not be published are only printed."""
    kept = []
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
        if row[0] != UNPUBLISHED:
            kept.append(row)
    return kept


def main() -> None:
    """Measure everything and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20, help="draws of each made-up set")
    parser.add_argument("--seeds", type=int, default=10, help="seeds on each of the paper's sets")
    parser.add_argument("--write", action="store_true", help="write the page however few the draws")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    is_full = vars(options) == vars(parser.parse_args([]))
    tables = {
        "sets": markdown_table(["set", "NMI", "F", "clusters", "runs"], printed(paper_sets(options.seeds))),
        "counting": markdown_table(
            ["families (dimensions, degrees of freedom)", "true", "found", "ARI", "ARI of k-means, told the number"],
            printed(counting(options.draws)),
        ),
        "nothing": markdown_table(
            ["one shape, degrees of freedom", "matrices", "one cluster found", "mean probability of one cluster"],
            printed(nothing_there(options.draws)),
        ),
        "calibration": "\n\n".join(
            f"{title}:\n\n{markdown_table(HEADER, printed(iter(rows)))}" for title, rows in calibration(options.draws)
        ),
    }
    text = filled(template("clusters_page.md"), draws=options.draws, seeds=options.seeds, **tables)
    write_result("clusters.md", text, complete=is_full or options.write)


if __name__ == "__main__":
    main()
