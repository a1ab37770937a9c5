"""How well the default settings recover known groups, with 10 seeds each: ``python -m benchmarks.accuracy``.

Reads the paper's data sets (HOMOTHETY_DATA) and writes results/accuracy.md. What is measured on the rat hippocampus set
is printed only: its terms ask for permission before anything is published.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.pages import data_folder, filled, template, write_result
from homothety import SPCMMixture, metrics
from homothety.covariance import sample_covariances
from homothety.datasets import make_toy_3d, make_toy_6d

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

N_SEEDS = 10
N_DRAWS = 20
UNPUBLISHED = "rat hippocampus"


@dataclass(frozen=True)
class Case:
    """One set to cluster: its items, the truth, settings other than the defaults, and the scores aimed at."""

    name: str
    items: Any
    truth: Any
    aim: tuple[float, float]
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Score:
    """Mean and standard deviation over seeds of NMI, F and number of clusters."""

    case: Case
    mean: np.ndarray
    std: np.ndarray

    @property
    def reached(self) -> bool:
        """Whether both aims are reached, rounded as they are given."""
        return bool(round(self.mean[0], 2) >= self.case.aim[0] and round(self.mean[1], 2) >= self.case.aim[1])


def cases(folder: Path) -> Iterator[Case]:
    """Yield every set of the table."""
    yield stored(folder, "toy 3D", "toy_3d", (1.0, 1.0))
    yield stored(folder, "toy 6D", "toy_6d_seed0", (1.0, 1.0))
    yield stored(folder, "task ellipsoids", "task_ellipsoids_6d", (1.0, 1.0))
    yield stored(folder, "synthetic DTI", "dti_synthetic", (0.94, 0.95), tolerance=10.0)
    yield stored(folder, UNPUBLISHED, "dti_rat_hippocampus", (0.66, 0.76), tolerance=10.0)
    similarity = load(folder, "eth80_similarity")
    settings = {"measure": "precomputed"}
    yield Case("ETH-80, stored similarity", similarity["similarity"], similarity["labels"], (0.54, 0.48), settings)
    images = load(folder, "eth80_images_20x20")
    covariances = sample_covariances(images["images"].astype(float), ddof=1, ridge=1e-3)
    yield Case("ETH-80, image covariances, by shape", covariances, images["labels"], (0.58, 0.52))
    log_euclidean = {"measure": "lerm"}
    yield Case("ETH-80, image covariances, log-Euclidean", covariances, images["labels"], (0.77, 0.70), log_euclidean)


def load(folder: Path, name: str) -> dict[str, np.ndarray]:
    """Return the arrays of one file."""
    with np.load(folder / f"{name}.npz", allow_pickle=False) as archive:
        return dict(archive)


def stored(folder: Path, name: str, file: str, aim: tuple[float, float], **settings: Any) -> Case:
    """Return a set of covariance matrices kept in a file."""
    arrays = load(folder, file)
    return Case(name, arrays["matrices"], arrays["labels"], aim, settings)


def measure(case: Case, n_seeds: int = N_SEEDS) -> Score:
    """Fit with several seeds and score each."""
    return score(case, [(case.items, case.truth, seed) for seed in range(n_seeds)])


def measure_draws(name: str, make: Any, n_draws: int = N_DRAWS) -> Score:
    """Fit one seed to each of several draws of a generator and score them together."""
    drawn = [make(random_state=seed) for seed in range(n_draws)]
    case = Case(name, None, None, (1.0, 1.0))
    return score(case, [(toy.matrices, toy.labels, seed) for seed, toy in enumerate(drawn)])


def score(case: Case, runs: list[tuple[Any, Any, int]]) -> Score:
    """Fit every run and average NMI, F and the number of clusters."""
    scores = []
    for items, truth, seed in runs:
        model = SPCMMixture(model="links", random_state=seed, **case.settings).fit(items)
        labels = model.labels_
        scores.append((metrics.nmi(truth, labels), metrics.f_measure(truth, labels), model.n_clusters_))
    return Score(case, np.mean(scores, axis=0), np.std(scores, axis=0))


def line(score: Score) -> str:
    """Return one line of the table."""
    cells = [f"{mean:.3f} ({std:.3f})" for mean, std in zip(score.mean[:2], score.std[:2], strict=True)]
    aim = f"{score.case.aim[0]:.2f} / {score.case.aim[1]:.2f}"
    reached = "yes" if score.reached else "no"
    return f"| {score.case.name} | {cells[0]} | {cells[1]} | {score.mean[2]:.1f} | {aim} | {reached} |"


def all_scores(folder: Path) -> Iterator[Score]:
    """Yield the score of every set, printing it as it comes."""
    generated = [("toy 3D, 20 random draws", make_toy_3d), ("toy 6D, 20 random draws", make_toy_6d)]
    for name, make in generated:
        yield measure_draws(name, make)
    yield measure_draws("toy 6D, a scale per matrix, 20 draws", lambda **seed: make_toy_6d(scale="matrix", **seed))
    for case in cases(folder):
        yield measure(case)


def main() -> int:
    """Measure all sets, print the table and write the page."""
    lines = []
    for measured in all_scores(data_folder()):
        print(line(measured), flush=True)
        if measured.case.name != UNPUBLISHED:
            lines.append(line(measured))
    write_result("accuracy.md", filled(template("accuracy_page.md"), table="\n".join(lines)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
