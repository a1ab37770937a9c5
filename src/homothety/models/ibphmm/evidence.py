"""Log densities of all steps under all features, worked out once per change of parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from homothety.arrays import FloatArray, IntArray

Rows = tuple["FloatArray", "FloatArray", "FloatArray"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Log densities, (n_steps, n_columns), with a spare column in which each series keeps its newborn feature.

    Parameters
    ----------
    log : ndarray of shape (n_steps, n_columns)
    offsets : ndarray of shape (n_steps,)
        Largest of each row.
    likelihood : ndarray of shape (n_steps, n_columns)
        Exponential of what is left after subtracting it.
    columns : ndarray of int, shape (n_features,)
        Where each feature stands.
    """

    log: FloatArray
    offsets: FloatArray
    likelihood: FloatArray
    columns: IntArray

    @property
    def spare(self) -> int:
        """The last column, minus infinity where no feature was born."""
        return self.log.shape[1] - 1

    @property
    def has_newborn(self) -> bool:
        """Whether the spare column is in use."""
        return bool((self.columns == self.spare).any())

    def of(self, start: int, stop: int) -> Rows:
        """Return the rows of one series in all three forms."""
        return self.log[start:stop], self.offsets[start:stop], self.likelihood[start:stop]


def evaluate(z: FloatArray, whiteners: FloatArray, weight: float = 1.0) -> Evidence:
    """Return the evidence of all steps, each with the given weight, under all features."""
    from homothety.models.emissions._kernels import BLOCK, write_all_evidence
    from homothety.models.hmm._kernels import scale_evidence

    n_features, _, n = whiteners.shape
    log, likelihood = np.empty((len(z), n_features + 1)), np.empty((len(z), n_features + 1))
    log[:, n_features] = -np.inf
    write_all_evidence(z, 0, len(z), whiteners, weight, log, np.empty((n + 2, BLOCK)))
    offsets = np.empty(len(z))
    scale_evidence(log, offsets, likelihood)
    return Evidence(log, offsets, likelihood, np.arange(n_features))
