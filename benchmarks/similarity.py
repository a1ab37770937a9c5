"""How fast all pairs are compared, as ratios measured side by side in one run.

``python -m benchmarks.similarity`` prints the table.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.timing import Row, best_of, print_rows, row
from homothety.covariance import eigenvalues, pairwise_similarity, tolerance_factor

if TYPE_CHECKING:
    from collections.abc import Callable


def run() -> list[Row]:
    """Return every comparison of this file that can be made here."""
    return [against_numpy(), *against_pyriemann()]


def against_numpy(n_matrices: int = 5_000, n_dims: int = 3) -> Row:
    """Compare B-SPCM of all pairs with the same formula by NumPy broadcasting, in blocks that fit the cache."""
    X = random_covariances(n_matrices, n_dims)
    np.testing.assert_allclose(pairwise_similarity(X[:50], variant="paper"), broadcast_bspcm(X[:50]), rtol=1e-9)
    ours = best_of(lambda: pairwise_similarity(X, variant="paper"), repeats=5)
    reference = best_of(lambda: broadcast_bspcm(X), repeats=2)
    return row(f"B-SPCM, {n_matrices:,} matrices {n_dims}x{n_dims}: NumPy broadcasting", ours, reference, floor=10)


def against_pyriemann(n_matrices: int = 1_000, n_dims: int = 3) -> list[Row]:
    """Compare B-SPCM of all pairs with pyRiemann's affine-invariant distance, where pyRiemann is installed."""
    riemannian = pyriemann_distance()
    if riemannian is None:
        return []
    X = random_covariances(n_matrices, n_dims)
    ours = best_of(lambda: pairwise_similarity(X, variant="paper"), repeats=10)
    reference = best_of(lambda: riemannian(X, metric="riemann"), repeats=3)
    name = f"B-SPCM, {n_matrices:,} matrices {n_dims}x{n_dims}: pyRiemann pairwise_distance('riemann')"
    return [row(name, ours, reference, floor=50)]


def pyriemann_distance() -> Callable[..., np.ndarray] | None:
    """Return pyRiemann's pairwise_distance, which has moved, or None where it is not installed."""
    for module in ("pyriemann.geometry.distance", "pyriemann.utils.distance"):
        try:
            return importlib.import_module(module).pairwise_distance
        except ImportError:
            continue
    return None


def broadcast_bspcm(X: np.ndarray, tolerance: float = 1.0, block_entries: int = 2**20) -> np.ndarray:
    """B-SPCM the way one writes it in NumPy: blocks of rows against all columns."""
    lengths = np.sqrt(eigenvalues(X))
    n_matrices, n_dims = lengths.shape
    upsilon = tolerance_factor(n_dims, tolerance)
    similarity = np.empty((n_matrices, n_matrices))
    block = max(1, block_entries // (n_matrices * n_dims))
    for start in range(0, n_matrices, block):
        rows = lengths[start : start + block, np.newaxis]
        forward, backward = rows / lengths, lengths / rows
        mean_f, mean_b = forward.mean(axis=-1), backward.mean(axis=-1)
        var_f, var_b = forward.var(axis=-1), backward.var(axis=-1)
        spread = np.where(mean_f > mean_b, var_f, np.where(mean_f < mean_b, var_b, (var_f + var_b) / 2))
        similarity[start : start + block] = 1 / (1 + upsilon * spread)
    return similarity


def random_covariances(n_matrices: int, n_dims: int) -> np.ndarray:
    samples = np.random.default_rng(0).normal(size=(n_matrices, n_dims, 3 * n_dims))
    return samples @ samples.swapaxes(1, 2) / (3 * n_dims)


if __name__ == "__main__":
    print_rows(run())
