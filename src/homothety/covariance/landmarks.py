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

BLOCK = 2**14  # matrices worked on at a time, at most
BLOCK_ENTRIES = 2**22  # numbers of what they are compared with


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
        n_columns, n_landmarks = self.embedding.n_components, len(self.spectra)
        return in_blocks(lambda block: self.embedding.place(self.similarity_to(block)), spectra, n_columns, n_landmarks)

    def similarity_to(self, spectra: FloatArray) -> FloatArray:
        """Return the similarity of matrices to the landmarks, (n_matrices, n_landmarks)."""
        return spcm_of_spectra(spectra, self.spectra, self.variant, self.tolerance)


def in_blocks(
    function: Callable[[FloatArray], FloatArray], values: FloatArray, n_columns: int, n_compared: int = 1
) -> FloatArray:
    """Return what a function makes of rows, block by block.

    Parameters
    ----------
    function : callable
        From rows to as many rows of `n_columns` numbers.
    values : ndarray of shape (n, ...)
    n_columns : int
    n_compared : int, default=1
        How many numbers the function works out for each row on the way: the more, the smaller are the blocks.

    Returns
    -------
    out : ndarray of shape (n, n_columns)
    """
    out = np.empty((len(values), n_columns))
    for rows in blocks_of(len(values), n_compared):
        out[rows] = function(values[rows])
    return out


def blocks_of(n: int, n_compared: int = 1) -> Iterator[slice]:
    """Yield slices that together are `n` rows; the more numbers are worked out for each row, the shorter they are."""
    n_rows = max(1, min(BLOCK, BLOCK_ENTRIES // n_compared))
    for start in range(0, n, n_rows):
        yield slice(start, min(start + n_rows, n))
