"""How fast a sweep is: against one NumPy pass over the weights of all links, against the first sweep, and with size.

``python -m benchmarks.sampler`` prints the table. The set is the paper's synthetic tensor field where it is at hand
(HOMOTHETY_DATA), else a field of the same size made by `make_dti`.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from benchmarks.timing import Row, best_of, print_rows, row
from homothety.covariance import eigenvalues, pairwise_similarity
from homothety.covariance.embedding import spectral_embedding
from homothety.covariance.shape import shape_points
from homothety.datasets import make_dti
from homothety.models import ddcrp, shapes
from homothety.models.partitions import base_measure

RESOLUTION = 0.01  # default of SPCMMixture
SIZES = (250, 500, 1000, 2000, 4000)


def run() -> list[Row]:
    """Return every comparison of this file."""
    model = tensor_model(tensor_field(), n_components=3)
    sweeps = sweep_seconds(model, n_sweeps=300)
    steady, first = float(np.median(sweeps[50:])), float(sweeps[0])
    numpy_pass = numpy_pass_seconds(model)
    return [
        row(f"Steady sweep, {model.n_items:,} tensors, P = 3: one NumPy pass over the weights", steady, numpy_pass, 2),
        row("The same: allowance of 20 steady sweeps for the first sweep from singletons", first, 20 * steady, 1),
        row("Sweep of the mixture of shapes, the same tensors: one such pass", shapes_sweep_seconds(), numpy_pass, 2.5),
        row(
            "500 sweeps: the authors' MATLAB, recorded on another machine (1,416 s)",
            total_seconds(model, 500),
            1416,
            100,
        ),
    ]


def scaling() -> dict[int, float]:
    """Return seconds per steady sweep by number of tensors."""
    return {n: float(np.median(sweep_seconds(tensor_model(sized_field(n), 3), 60)[30:])) for n in SIZES}


def exponent(times: dict[int, float]) -> float:
    """Return the slope of log time against log size."""
    return float(np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0])


def tensor_field() -> np.ndarray:
    """Return 1,024 diffusion tensors."""
    folder = Path(os.environ.get("HOMOTHETY_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    if (folder / "dti_synthetic.npz").exists():
        with np.load(folder / "dti_synthetic.npz", allow_pickle=False) as archive:
            return archive["matrices"]
    return make_dti((32, 32), random_state=0).matrices


def sized_field(n_tensors: int) -> np.ndarray:
    """Return tensors of a synthetic field with five regions."""
    side = int(np.ceil(np.sqrt(n_tensors)))
    return make_dti((side, side), random_state=0).matrices[:n_tensors]


def tensor_model(tensors: np.ndarray, n_components: int) -> ddcrp.Model:
    """Return the mixture on the spectral embedding of tensors."""
    similarity = pairwise_similarity(tensors, variant="published", tolerance=10.0)
    points = spectral_embedding(similarity, n_components=n_components).points
    base = base_measure(points, mean_strength=1.0, dof=None, scale=None, share=0.003, diagonal=False)
    return ddcrp.Model.from_similarity(points, similarity, base)


def sweep_seconds(model: ddcrp.Model, n_sweeps: int) -> np.ndarray:
    """Return how long each sweep from singletons takes, compilation left out."""
    rng = np.random.default_rng(0)
    ddcrp.resample_links(rng, model, ddcrp.init_state(model))
    state, times = ddcrp.init_state(model), np.empty(n_sweeps)
    for s in range(n_sweeps):
        started = time.perf_counter()
        state, _ = ddcrp.resample_links(rng, model, state)
        times[s] = time.perf_counter() - started
    return times


def shapes_sweep_seconds(n_sweeps: int = 300) -> float:
    """Return how long a steady sweep of the mixture of shapes takes, with all its moves."""
    rng = np.random.default_rng(0)
    points = shape_points(eigenvalues(tensor_field()))
    points = points + RESOLUTION * rng.standard_normal(points.shape)
    model = shapes.Model(points, shapes.ClusterKinds.of_points(points, RESOLUTION))
    state, times = shapes.grow_state(rng, model), np.empty(n_sweeps)
    for s in range(n_sweeps):
        started = time.perf_counter()
        for move in shapes.default_sweep().values():
            state, _ = move(rng, model, state)
        times[s] = time.perf_counter() - started
    return float(np.median(times[50:]))


def total_seconds(model: ddcrp.Model, n_sweeps: int) -> float:
    """Return how long a chain of sweeps takes."""
    return float(sweep_seconds(model, n_sweeps).sum())


def numpy_pass_seconds(model: ddcrp.Model) -> float:
    """Return how long NumPy takes for the cumulative weights of all items given a factor per table."""
    state = ddcrp.init_state(model)
    for _ in range(20):
        state, _ = ddcrp.resample_links(np.random.default_rng(1), model, state)
    factors = np.random.default_rng(2).random(state.n_clusters)
    return best_of(lambda: np.cumsum(model.weights * factors[state.labels], axis=1), repeats=30)


if __name__ == "__main__":
    print_rows(run())
