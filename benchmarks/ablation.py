"""What each choice behind the defaults is worth, one changed at a time: ``python -m benchmarks.ablation``.

Reads the paper's data sets (HOMOTHETY_DATA) and writes results/ablation.md. The rat hippocampus set is printed only:
its terms ask for permission before anything is published. Chains are shorter than the default, three seeds each.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.accuracy import UNPUBLISHED, Case, cases
from benchmarks.pages import data_folder, write_result
from homothety import SPCMMixture, metrics
from homothety.covariance import SPCMVariant
from homothety.estimators.similarity import similarity_within

if TYPE_CHECKING:
    from collections.abc import Iterator

N_SEEDS = 3
SHORT = {"n_chains": 2, "n_sweeps": 100}

# Roots of the paper's own dissimilarity: the lengths it states, the dispersion it published.
ROOT = SPCMVariant(length="sqrt", dispersion="std", ddof=0)

ON_EMBEDDING: dict[str, dict[str, Any]] = {
    "default": {},
    "columns by the paper's rule": {"n_components": "paper"},
    "columns by the published rule": {"n_components": "published"},
    "4 columns, damped": {"n_components": 4, "damping": 0.5},
    "6 columns, damped": {"n_components": 6, "damping": 0.5},
    "10 columns, damped": {"n_components": 10, "damping": 0.5},
    "4 columns, not damped": {"n_components": 4},
    "6 columns, not damped": {"n_components": 6},
    "10 columns, not damped": {"n_components": 10},
    "default columns, damping 0.25": {"damping": 0.25},
    "default columns, damping 0.75": {"damping": 0.75},
    "prior worth no points": {"prior_share": 0.0},
    "prior worth 1 % of the points": {"prior_share": 0.01},
    "prior worth 3 % of the points": {"prior_share": 0.03},
    "diagonal covariances": {"diagonal": True},
    "most probable visited partition": {"point_estimate": "map"},
}
ON_MATRICES: dict[str, dict[str, Any]] = {
    "similarity of the paper's text": {"variant": "paper"},
    "its square root": {"variant": ROOT},
    "similarity free of scale (log)": {"variant": "log"},
    "similarity free of scale (CV)": {"variant": "scale-free"},
    "shape coordinates": {"points": "shape"},
    "shape coordinates, prior worth 1 %": {"points": "shape", "prior_share": 0.01},
}
HEADING = """# What each choice is worth

Written by `make accuracy`. NMI / F, means over 3 seeds of 2 chains of 100 sweeps.
Each row changes one setting of the SPCM-CRP mixture, `SPCMMixture(model="links")`; tau is 10 for the tensor field,
else 1."""

MAX_SHAPE_DIMS = 30  # a full covariance of shape coordinates in more dimensions than this is out of reach


def rows(case: Case) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the mean NMI and F of every setting on one set."""
    similarity = similarity_within(
        case.items,
        case.settings.get("measure", "bspcm"),
        "published",
        case.settings.get("tolerance", 1.0),
    )[2]
    for name, settings in ON_EMBEDDING.items():
        if settings.get("n_components", 2) not in range(len(similarity) + 1, 100):
            yield name, mean_scores(similarity, case.truth, settings | {"measure": "precomputed"})
    for name, settings in ON_MATRICES.items():
        if "measure" not in case.settings and not ("points" in settings and case.items.shape[1] > MAX_SHAPE_DIMS):
            yield name, mean_scores(case.items, case.truth, case.settings | settings)


def mean_scores(items: Any, truth: Any, settings: dict[str, Any]) -> np.ndarray:
    """Return NMI and F, averaged over seeds."""
    scores = []
    for seed in range(N_SEEDS):
        labels = SPCMMixture(model="links", random_state=seed, **SHORT, **settings).fit(items).labels_
        scores.append((metrics.nmi(truth, labels), metrics.f_measure(truth, labels)))
    return np.mean(scores, axis=0)


def table(measured: dict[str, dict[str, np.ndarray]]) -> str:
    """Return settings in rows and sets in columns, as Markdown."""
    sets = list(measured)
    lines = ["| setting | " + " | ".join(sets) + " |", "| --- |" + " ---: |" * len(sets)]
    for name in [*ON_EMBEDDING, *ON_MATRICES]:
        cells = [measured[s].get(name) for s in sets]
        lines.append(
            f"| {name} | " + " | ".join("-" if c is None else f"{c[0]:.2f} / {c[1]:.2f}" for c in cells) + " |"
        )
    return "\n".join(lines)


def main() -> int:
    """Measure all settings on all sets and write the page."""
    measured = {}
    for case in cases(data_folder()):
        measured[case.name] = dict(rows(case))
        print(table({case.name: measured[case.name]}), flush=True)
    del measured[UNPUBLISHED]
    write_result("ablation.md", f"{HEADING}\n\n{table(measured)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
