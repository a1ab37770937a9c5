"""Very many matrices and very long recordings: ``python -m benchmarks.large``, or ``make bench-large``.

Every size runs in a process of its own, so that its peak memory is known. Prints results, and writes results/large.md
with its plot. With ``--keep FILE`` results are kept there, and those that are there are not measured again. The
agreement of both solvers is measured on the paper's diffusion sets where they are at hand (HOMOTHETY_DATA).
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.pages import RESULTS, data_folder, write_result
from benchmarks.segmentation import clustered, grating, made, median_sweep
from benchmarks.timing import best_of, seconds
from homothety import SPCMMixture
from homothety.covariance.spectra import spectra_in_blocks
from homothety.datasets import make_dti
from homothety.errors import InputError
from homothety.metrics import ari
from homothety.phrases import format_cell, markdown_table

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (1_000, 10_000, 100_000, 1_000_000)
N_SWEEPS, N_EXACT, N_SEEDS = 100, 4_000, 5
DEFAULT = "default"
REGIONS = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 4.0], [1.0, 4.0, 4.0], [1.0, 2.5, 9.0], [1.0, 7.0, 16.0]])
GRATING_STEPS = 34_587
SHARES = (None, 1.0, 10.0, 100.0)  # of neighbours
IMAGES = [(grid, noise, "shape") for grid in ((48, 48), (14, 14, 14)) for noise in (0.1, 0.2)]
IMAGES += [((48, 48), noise, "spectral") for noise in (0.1, 0.2)]


def tensor_field(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the region of every tensor of a field of five, and the tensors: noisy, turned and resized at random."""
    rng = np.random.default_rng(seed)
    side = int(np.sqrt(n))
    regions = (np.arange(n) // side * len(REGIONS) // (n // side + 1)).astype(np.int64)
    noise = rng.normal(scale=0.15, size=(n, 3)) + rng.normal(scale=0.5, size=(n, 1))
    axes = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
    tensors = (axes * (REGIONS[regions] * np.exp(noise))[:, None]) @ axes.transpose(0, 2, 1)
    return regions, (tensors + tensors.transpose(0, 2, 1)) / 2


def cluster_field(n: int, solver: str, n_sweeps: int = N_SWEEPS) -> dict[str, float]:
    """Return what it takes to cluster a field by one chain, all included: by the default, or by links with a solver."""
    regions, tensors = tensor_field(n)
    links = {} if solver == DEFAULT else {"model": "links", "variant": "log", "solver": solver}
    model = SPCMMixture(**links, n_chains=1, n_sweeps=n_sweeps, random_state=0)
    model.fit(tensors[: min(n, 1000)])  # compiles
    before = peak_gigabytes()
    taken = seconds(lambda: model.fit(tensors))
    return {
        "seconds": taken,
        "sweep": float(np.median(model.trace_["seconds"])),
        "gigabytes": peak_gigabytes(),
        "before": before,
        "ari": ari(regions, model.labels_),
        "clusters": model.n_clusters_,
    }


def segment_long(n_recordings: int, n_steps: int = 5_000) -> dict[str, float]:
    """Return what a sweep over long recordings takes, and over the grating recordings, both at ten states."""
    small = median_sweep(*clustered(grating(), 10), n_sweeps=5)
    recordings = made(n_recordings=n_recordings, n_steps=n_steps, n_dims=6, n_states=10)
    before = peak_gigabytes()
    large = median_sweep(*clustered(recordings, 10), n_sweeps=3)
    data = recordings.steps.nbytes / 2**30
    linear = small * recordings.n_steps / GRATING_STEPS
    return {
        "seconds": large,
        "over linear": large / linear,
        "memory over data": (peak_gigabytes() - before + data) / data,
    }


def peak_gigabytes() -> float:
    """Return the largest amount of memory this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def apart(task: str, *arguments: Any) -> dict[str, Any]:
    """Return what a task of this file returns in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.large", task, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(task, *arguments, result, flush=True)
    return result


def agreement_row(key: str) -> list[str]:
    """Return how well both solvers agree on a diffusion set, and each with itself from another seed."""
    archive = np.load(data_folder() / f"{key}.npz")
    matrices = archive["matrices"]
    fits = {
        solver: [
            SPCMMixture(model="links", solver=solver, random_state=seed).fit(matrices).labels_
            for seed in range(N_SEEDS)
        ]
        for solver in ("exact", "ordered")
    }
    between = [ari(one, other) for one, other in zip(*fits.values(), strict=True)]
    within = [ari(fits["exact"][seed], fits["exact"][seed - 1]) for seed in range(N_SEEDS)]
    return [key, f"{len(matrices):,}", format_cell(between), format_cell(within)]


def spatial_rows() -> dict[str, list[list[str]]]:
    """Return how well regions of noisy images are found without neighbours and with them, by how much they count."""
    rows = []
    for grid, noise, points in IMAGES:
        scores = [[spatial_ari(grid, noise, points, share, seed) for seed in range(N_SEEDS)] for share in SHARES]
        rows.append([" x ".join(map(str, grid)), f"{noise}", points, *map(format_cell, scores)])
    return {"rows": rows}


def spatial_ari(grid: tuple[int, ...], noise: float, points: str, share: float | None, seed: int) -> float:
    """Return the agreement with the regions of a made image; no share is no neighbours."""
    image = make_dti(grid, 5, noise=noise, random_state=seed)
    settings = {"variant": "log", "points": points, "solver": "ordered", "n_chains": 2, "n_sweeps": N_SWEEPS}
    if share is None:
        model = SPCMMixture(**settings, random_state=seed).fit(image.matrices)
    else:
        model = SPCMMixture(**settings, random_state=seed, neighbor_share=share)
        model.fit(image.matrices, positions=image.positions)
    return ari(image.labels, model.labels_)


def eigenvalue_row(n: int, n_dims: int) -> list[str]:
    """Return what reading off the shapes of large matrices takes over NumPy's eigenvalues of them."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(n, n_dims, n_dims + 10))
    matrices = factors @ factors.transpose(0, 2, 1)
    ours = best_of(lambda: spectra_in_blocks(matrices), repeats=3)
    reference = best_of(lambda: np.linalg.eigvalsh(matrices), repeats=3)
    return [f"{n:,} of {n_dims}-D", f"{ours:.2f}", f"{reference:.2f}", f"{ours / reference:.2f}"]


def eigenvalue_rows() -> dict[str, list[list[str]]]:
    """Return the lines of large matrices."""
    return {"rows": [eigenvalue_row(2_000, 100), eigenvalue_row(200, 400)]}


def agreement_rows(*keys: str) -> dict[str, list[list[str]]]:
    """Return the lines of the sets that are there."""
    rows = []
    for key in keys:
        try:
            rows.append(agreement_row(key))
        except (InputError, FileNotFoundError) as missing:
            print(f"Left out: {key} ({missing})")
    return {"rows": rows}


def speed_up() -> dict[str, float]:
    """Return how much faster two workers of a dask cluster are than one."""
    from benchmarks.dask_speedup import run

    return {"ratio": run()[0]["ratio"]}


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "cluster": cluster_field,
    "segment": segment_long,
    "spatial": spatial_rows,
    "eigenvalues": eigenvalue_rows,
    "agreement": agreement_rows,
    "dask": speed_up,
}


def main() -> None:
    """Measure one task, or everything and write the page."""
    if len(sys.argv) > 1 and sys.argv[1] in TASKS:
        name, *arguments = sys.argv[1:]
        print(json.dumps(TASKS[name](*(int(one) if one.isdigit() else one for one in arguments))))
        return
    measure = partial(measured, Path(sys.argv[2]) if sys.argv[1:2] == ["--keep"] else None)
    fields = {n: measure("cluster", n, "ordered") for n in SIZES}
    text = page(
        exact=measure("cluster", N_EXACT, "exact"),
        fields=fields,
        shapes={n: measure("cluster", n, DEFAULT) for n in SIZES},
        long=measure("segment", 1_000),
        eigenvalues=measure("eigenvalues")["rows"],
        agreements=measure("agreement", "dti_synthetic")["rows"],
        spatial=measure("spatial")["rows"],
        speed_up=measure("dask")["ratio"],
    )
    measure("agreement", "dti_rat_hippocampus")  # its figures are printed, and stay out of the page
    draw(fields, RESULTS / "figures" / "large.png")
    write_result("large.md", text)


def measured(kept: Path | None, task: str, *arguments: Any) -> dict[str, Any]:
    """Return the result of a task: the one that is kept in a file if it is there, else one that is kept from now on."""
    key = " ".join(map(str, (task, *arguments)))
    results = json.loads(kept.read_text(encoding="utf-8")) if kept is not None and kept.exists() else {}
    if key not in results:
        results[key] = apart(task, *arguments)
        if kept is not None:
            kept.write_text(json.dumps(results, indent=1), encoding="utf-8")
    result: dict[str, Any] = results[key]
    return result


def exponent(fields: dict[int, dict[str, float]]) -> float:
    """Return the slope of log time against log size over all sizes."""
    return float(np.polyfit(np.log(list(fields)), np.log([one["seconds"] for one in fields.values()]), 1)[0])


def draw(fields: dict[int, dict[str, float]], path: Path) -> None:
    """Draw time against the number of matrices."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.4), layout="constrained")
    ax = figure.subplots()
    ax.loglog(list(fields), [one["seconds"] for one in fields.values()], "o-", label=f"n^{exponent(fields):.2f}")
    ax.set(xlabel="matrices", ylabel="seconds for 100 sweeps, all included")
    ax.legend()
    figure.savefig(path, dpi=90, metadata={"Software": None})


def page(
    exact: dict[str, float],
    fields: dict[int, dict[str, float]],
    shapes: dict[int, dict[str, float]],
    long: dict[str, float],
    eigenvalues: list[list[str]],
    agreements: list[list[str]],
    spatial: list[list[str]],
    speed_up: float,
) -> str:
    """Return the page as Markdown."""
    rows = [
        *([f"{n:,}", "mixture of shapes (default)", *cells(one)] for n, one in shapes.items()),
        [f"{N_EXACT:,}", "links, exact", *cells(exact)],
        *([f"{n:,}", "links, ordered", *cells(one)] for n, one in fields.items()),
    ]
    return "\n".join(
        [
            "# Very many matrices, very long recordings",
            "",
            "Written by `make bench-large`. A field of 3 x 3 tensors in five regions, with noise, each tensor turned",
            f"and resized at random; one chain of {N_SWEEPS} sweeps by `SPCMMixture()`, or by the SPCM-CRP mixture,",
            "`SPCMMixture(variant='log')`; start and point estimate included. Other clusters here are those of links.",
            "",
            markdown_table(("tensors", "model", "seconds", "peak GiB", "clusters", "ARI with the regions"), rows),
            "",
            f"The time of links grows with the number of tensors as n^{exponent(fields):.2f}.",
            "",
            "![Seconds against the number of matrices, both logarithmic](figures/large.png)",
            "",
            "How well both solvers agree (ARI of their answers, mean and standard deviation over 5 seeds), beside how",
            "well the exact one agrees with itself from another seed:",
            "",
            markdown_table(("set", "matrices", "ordered with exact", "exact, another seed"), agreements),
            "",
            "Regions of noisy images of tensors, five of them, without links to neighbours and with them, by",
            "`neighbor_share` (ARI, mean and standard deviation over 5 images):",
            "",
            markdown_table(
                ("image", "noise", "points", "no neighbours", *(f"{share:g}" for share in SHARES[1:])), spatial
            ),
            "",
            "Shapes of large matrices, seconds:",
            "",
            markdown_table(("matrices", "ours", "numpy.linalg.eigvalsh", "ratio"), eigenvalues),
            "",
            "1,000 recordings of 5,000 steps in 6-D, ten states: a sweep takes "
            f"{long['seconds']:.0f} s, {long['over linear']:.2f} times what the grating sweep would make of as many",
            f"steps, with a peak memory of {long['memory over data']:.1f} times the data.",
            "",
            f"Eight chains on a dask cluster of this machine: two workers are {speed_up:.2f} times as fast as one.",
            "",
        ]
    )


def cells(one: dict[str, float]) -> list[str]:
    """Return the numbers of a run as cells."""
    return [f"{one['seconds']:.0f}", f"{one['gigabytes']:.1f}", f"{one['clusters']:.0f}", f"{one['ari']:.3f}"]


if __name__ == "__main__":
    main()
