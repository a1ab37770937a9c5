"""What time and memory are made of: ``python -m benchmarks.cost`` measures the constants and writes docs/cost.md."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import nnls

from benchmarks.large import apart
from benchmarks.pages import REPOSITORY, filled, template
from benchmarks.segmentation import clustered, made, median_sweep
from benchmarks.timing import best_of
from homothety.covariance.spectra import spectra_in_blocks

EXACT, ORDERED, MANY_ORDERED = 2_000, 50_000, 400_000  # matrices that are measured on
N_RECORDINGS, N_STEPS = 8, 4_000
STATES, DIMENSIONS = (4, 8, 16), (3, 6, 12, 24)


def main() -> None:
    """Measure all constants, print them and write the page."""
    constants = clustering_constants() | eigenvalue_constants() | segmentation_constants()
    for name, value in constants.items():
        print(f"{name}: {value}")
    (REPOSITORY / "docs" / "cost.md").write_text(filled(template("cost_page.md"), **constants), encoding="utf-8")


def clustering_constants() -> dict[str, str]:
    """Return microseconds and bytes for each matrix or pair of matrices, by both solvers, 3 x 3."""
    exact, ordered = apart("cluster", EXACT, "exact"), apart("cluster", ORDERED, "ordered")
    many = apart("cluster", MANY_ORDERED, "ordered", 4)  # so many that the room of blocks counts little
    grown = (many["gigabytes"] - many["before"]) * 2**30 / MANY_ORDERED
    return {
        "exact_matrices": f"{EXACT:,}",
        "exact_sweep": f"{1e6 * exact['sweep'] / EXACT:.1f}",
        "exact_rest": f"{exact['seconds'] - 100 * exact['sweep']:.1f}",
        "exact_bytes": f"{(exact['gigabytes'] - exact['before']) * 2**30 / EXACT**2:.0f}",
        "ordered_matrices": f"{ORDERED:,}",
        "ordered_sweep": f"{1e6 * ordered['sweep'] / ORDERED:.1f}",
        "ordered_rest": f"{1e6 * (ordered['seconds'] - 100 * ordered['sweep']) / ORDERED:.0f}",
        "ordered_bytes": f"{grown:.0f}",
    }


def eigenvalue_constants() -> dict[str, str]:
    """Return what reading off the shape of one matrix takes, in microseconds, by its size."""
    rng, found = np.random.default_rng(0), {}
    for n_dims, n in ((3, 20_000), (30, 2_000), (100, 500), (400, 40)):
        factors = rng.normal(size=(n, n_dims, n_dims + 10))
        matrices = factors @ factors.transpose(0, 2, 1)
        seconds = best_of(lambda matrices=matrices: spectra_in_blocks(matrices), repeats=3)
        found[f"eigenvalues_{n_dims}"] = f"{1e6 * seconds / n:,.1f}"
    return found


def segmentation_constants() -> dict[str, str]:
    """Return nanoseconds a step and sweep, as a sum of terms in states of a series and dimensions."""
    rows, times = [], []
    for n_states, n_dims in product(STATES, DIMENSIONS):
        model, state = clustered(made(N_RECORDINGS, N_STEPS, n_dims, n_states), n_states)
        k = float(np.mean(state.active.sum(axis=1) ** 3) ** (1 / 3))
        rows.append([1.0, k, k * n_dims**2, k**3])
        times.append(1e9 * median_sweep(model, state, n_sweeps=5) / model.n_steps)
    # By ratios: the smallest times count as much as the largest.
    weights = 1 / np.array(times)
    terms, _ = nnls(np.array(rows) * weights[:, None], np.ones(len(times)))
    off = np.abs(np.array(rows) @ terms * weights - 1)
    tiny = median_sweep(*clustered(made(N_RECORDINGS, 20, 3, 4), 4), n_sweeps=20)
    names = ("step", "step_state", "step_state_dims", "step_states")
    found = {name: f"{term:.0f}" if term >= 10 else f"{term:.1g}" for name, term in zip(names, terms, strict=True)}
    return found | {"step_off": f"{off.max():.0%}", "sweep": f"{1e3 * tiny:.0f}"}


if __name__ == "__main__":
    main()
