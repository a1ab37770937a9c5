"""Measure what settings do, and write the tables of the documentation.

They stand between ``<!-- measured: name -->`` and ``<!-- end -->`` in docs/*.md. Run: python -m docs.measure_settings
for all of them, which takes some minutes, or name some: python -m docs.measure_settings strides recordings.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

from homothety import IBPHMM, SPCMMixture
from homothety.datasets import MatrixSet, make_wishart_families
from homothety.decorrelation import decorrelating_stride, directed_steps
from homothety.metrics import hamming, nmi
from homothety.preprocessing import Preprocessing
from paper.sequence_sets import load_sequence_set

DOCS = Path(__file__).parent
N_SETS = 10
Settings = dict[str, Any]


@cache
def shapes(n_shapes: int = 3, dof: int = 500, scale_spread: float = 1.0, n_per_shape: int = 20) -> list[MatrixSet]:
    """Return sets of 3 x 3 sample covariances, drawn with seeds 0, 1, ..."""
    return [
        make_wishart_families(
            n_shapes, 3, n_per_family=n_per_shape, dof=dof, scale_spread=scale_spread, random_state=seed
        )
        for seed in range(N_SETS)
    ]


def fit_all(sets: list[MatrixSet], settings: Settings) -> list[SPCMMixture]:
    """Fit the SPCM-CRP mixture to each set."""
    return [SPCMMixture(model="links", n_sweeps=100, random_state=0, **settings).fit(data.matrices) for data in sets]


def measure(sets: list[MatrixSet], settings: Settings) -> list[str]:
    """Return the mean NMI with the truth and the range of the number of clusters, as cells of a table."""
    models = fit_all(sets, settings)
    scores = [nmi(data.labels, model.labels_) for data, model in zip(sets, models, strict=True)]
    return [f"{np.mean(scores):.2f}", span(models)]


def span(models: list[SPCMMixture]) -> str:
    """Return the least and the largest number of clusters."""
    return extremes([str(model.n_clusters_) for model in sorted(models, key=lambda model: model.n_clusters_)])


def extremes(texts: list[str]) -> str:
    """Return the first and the last of some texts, once if they are the same."""
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"


def write_call(settings: Settings) -> str:
    """Return settings as one writes them in Python."""
    return ", ".join(f"`{name}={value!r}`" for name, value in settings.items()) or "defaults"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def on_noisy_sets(*changes: Settings) -> str:
    """Return what settings do on noisy sets; each is a change of ``variant="log"``."""
    rows = [[write_call(change), *measure(shapes(dof=30), {"variant": "log"} | change)] for change in changes]
    return table(["setting", "mean NMI", "clusters found (3 true)"], rows)


def one_setting(name: str, *values: Any) -> str:
    """Return what the values of one setting do on noisy sets."""
    return on_noisy_sets(*({name: value} for value in values))


def variants() -> str:
    """Compare the readings of SPCM where sizes are equal, and where they vary."""
    rows = []
    for variant in ("log", "scale-free", "published", "published-variance", "paper"):
        (equal, _), (vary, found) = (
            measure(shapes(scale_spread=spread), {"variant": variant}) for spread in (0.0, 1.0)
        )
        rows.append([f'`"{variant}"`', equal, vary, found])
    return table(["variant", "mean NMI, equal sizes", "mean NMI, sizes vary", "clusters found, sizes vary"], rows)


def samples() -> str:
    """Show what the number of samples per matrix does."""
    rows = [[str(dof), *measure(shapes(dof=dof), {"variant": "log"})] for dof in (20, 50, 100, 200, 500)]
    return table(["samples per matrix", "mean NMI", "clusters found (3 true)"], rows)


def matrices() -> str:
    """Show what the number of matrices per shape does."""
    rows = [
        [str(number), *measure(shapes(dof=200, n_per_shape=number), {"variant": "log"})] for number in (3, 5, 20, 100)
    ]
    return table(["matrices per shape", "mean NMI", "clusters found (3 true)"], rows)


def structure() -> str:
    """Show how a set of one shape is split, and by what it can be told from a set of three."""
    rows = []
    for n_shapes, n_per_shape in ((1, 60), (3, 20)):
        for dof in (50, 200, 1000):
            sets = shapes(n_shapes=n_shapes, dof=dof, n_per_shape=n_per_shape)
            spectral, direct = (fit_all(sets, {"variant": "log", "points": p}) for p in ("spectral", "shape"))
            within, between = np.nanmedian([similarities(model) for model in spectral], axis=0)
            rows.append([str(n_shapes), str(dof), span(spectral), span(direct), f"{within:.2f}", f"{between:.2f}"])
    head = ["true shapes", "samples per matrix", "clusters found", 'with `points="shape"`']
    return table([*head, "similarity within clusters", "between clusters"], rows)


def similarities(model: SPCMMixture) -> tuple[float, float]:
    """Return the median similarity within clusters and between them."""
    together = model.labels_[:, None] == model.labels_
    between = model.similarity_[~together]
    return float(np.median(model.similarity_[together])), float(np.median(between)) if between.size else np.nan


def wandering(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a smooth motion of 600 steps about one of two places, and which it is."""
    rng = np.random.default_rng(seed)
    place = np.repeat(rng.permutation(4)[:3] % 2, 200)
    wander = gaussian_filter1d(rng.normal(size=(600, 2)), 8, axis=0)
    return wander / wander.std(axis=0) + 4 * place[:, None], place


def strides() -> str:
    """Show how many states are found if every step of a slow motion is looked at, or only some."""
    series, places = zip(*(wandering(seed) for seed in range(2)), strict=True)
    rows = []
    for stride in (1, 6, "auto", 24):
        preprocessing = Preprocessing(subsample=stride)
        models = [
            IBPHMM(n_chains=2, n_sweeps=100, preprocessing=preprocessing, random_state=seed).fit(list(series))
            for seed in range(3)
        ]
        used = f"{models[0].preprocessing_.settings.stride}{' (automatic)' * (stride == 'auto')}"
        found = sorted(model.n_states_ for model in models)
        errors = sorted(hamming(list(places), model.paths_) for model in models)
        rows.append([used, extremes([str(n) for n in found]), extremes([f"{error:.2f}" for error in errors])])
    return table(["steps from one look to the next", "states found (2 true)", "Hamming distance to the truth"], rows)


RECORDINGS = {
    "toy-2d": "toy series (steps are independent)",
    "grating": "grating, positions",
    "rolling": "rolling, velocities, 100 Hz",
    "peeling": "peeling, one arm, 100 Hz",
    "peeling-positions": "peeling, positions of both arms, 100 Hz",
}


def recordings() -> str:
    """Show the strides of the paper's recordings, which must be at hand (HOMOTHETY_DATA)."""
    folder, rows = Path(os.environ.get("HOMOTHETY_DATA", DOCS.parent.parent / "shared" / "data")), []
    for key, name in RECORDINGS.items():
        series = load_sequence_set(key, folder).sequences
        n_steps = sum(len(one) for one in series)
        rows.append([name, f"{n_steps:,}", str(directed_steps(series)), str(decorrelating_stride(series))])
    return table(["recordings", "steps", "goes on for", "stride"], rows)


TABLES = {
    "recordings": recordings,
    "strides": strides,
    "variants": variants,
    "samples": samples,
    "matrices": matrices,
    "structure": structure,
    "tolerance": lambda: one_setting("tolerance", 1, 5, 10, 20),
    "concentration": lambda: on_noisy_sets(
        *({"concentration": value} for value in (0.01, 0.1, 1, 10, 100)), {"sample_concentration": True}
    ),
    "prior": lambda: on_noisy_sets(*({"prior_share": value} for value in (0, 0.003, 0.03, 0.3)), {"diagonal": True}),
    "points": lambda: one_setting("points", "spectral", "shape", "log-euclidean"),
    "columns": lambda: one_setting("n_components", "damped", "paper", "published", 2, 3, 5),
    "estimate": lambda: one_setting("point_estimate", "vi", "map"),
}


def main() -> None:
    """Measure the tables that pages ask for, all or those named, and write them there."""
    wanted = sys.argv[1:] or list(TABLES)

    def written(match: re.Match[str]) -> str:
        return f"{match[1]}\n{TABLES[match[2]]()}\n{match[3]}" if match[2] in wanted else match[0]

    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        measured = re.sub(
            r"(<!-- measured: (\w+) -->\n).*?(\n<!-- end -->)",
            written,
            text,
            flags=re.DOTALL,
        )
        if measured != text:
            page.write_text(measured, encoding="utf-8")
            print(page.name)


if __name__ == "__main__":
    main()
