"""A spectral embedding of very many matrices: of a sample of them, the landmarks, by which all others are placed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homothety.covariance.embedding import Embedding, spectral_embedding
from homothety.covariance.similarity import spcm_of_spectra

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from homothety.arrays import FloatArray
    from homothety.covariance.embedding import DimensionRule
    from homothety.covariance.variants import SPCMVariant

BLOCK = 2**14  # matrices worked on at a time


@dataclass(frozen=True, eq=False)
class Landmarks:
    """A sample of matrices, embedded, by whom others are placed.

    Parameters
    ----------
    spectra : ndarray of shape (n_landmarks, n_dims)
        Their eigenvalues.
    embedding : Embedding
        Of them.
    variant : SPCMVariant
    tolerance : float
    """

    spectra: FloatArray
    embedding: Embedding
    variant: SPCMVariant
    tolerance: float

    @classmethod
    def of_spectra(
        cls,
        spectra: FloatArray,
        variant: SPCMVariant,
        tolerance: float,
        n_components: int | DimensionRule = "damped",
        damping: float | None = None,
    ) -> Landmarks:
        """Return landmarks with the given eigenvalues, embedded."""
        similarity = spcm_of_spectra(spectra, None, variant, tolerance)
        embedding = spectral_embedding(similarity, n_components=n_components, damping=damping)
        return cls(spectra, embedding, variant, tolerance)

    def place(self, spectra: FloatArray) -> FloatArray:
        """Return the coordinates of matrices with given eigenvalues, (n_matrices, n_components), block by block."""
        return in_blocks(
            lambda block: self.embedding.place(self.similarity_to(block)), spectra, self.embedding.n_components
        )

    def similarity_to(self, spectra: FloatArray) -> FloatArray:
        """Return the similarity of matrices to the landmarks, (n_matrices, n_landmarks)."""
        return spcm_of_spectra(spectra, self.spectra, self.variant, self.tolerance)


def in_blocks(function: Callable[[FloatArray], FloatArray], values: FloatArray, n_columns: int) -> FloatArray:
    """Return what a function makes of rows, block by block."""
    out = np.empty((len(values), n_columns))
    for rows in blocks_of(len(values)):
        out[rows] = function(values[rows])
    return out


def blocks_of(n: int) -> Iterator[slice]:
    """Yield blocks of rows."""
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))
