"""What SPCM needs to know of matrices, so that the similarity of any two can be worked out when it is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homothety.arrays import read_only
from homothety.covariance.measures import axis_lengths
from homothety.covariance.shape import coordinates_of_spectra

if TYPE_CHECKING:
    from homothety.arrays import FloatArray
    from homothety.covariance.variants import SPCMVariant
    from homothety.models.ordered._kernels import Pairs


@dataclass(frozen=True, eq=False)
class PairSimilarity:
    """B-SPCM of any two of many matrices, from a few numbers of each.

    Parameters
    ----------
    features : ndarray of shape (n_items, n_features)
        Axis lengths, ascending; or, for the dispersion "log", shape coordinates such that their squared distance is the
        dissimilarity.
    variant : SPCMVariant
    strength : float
        Of the decay.
    """

    features: FloatArray
    variant: SPCMVariant
    strength: float

    @classmethod
    def of_spectra(cls, spectra: FloatArray, variant: SPCMVariant, tolerance: float) -> PairSimilarity:
        """Return the similarity of matrices with the given eigenvalues, ascending and positive."""
        n_dims = spectra.shape[1]
        features = axis_lengths(spectra, variant)
        if variant.dispersion == "log":
            doubled = 1.0 if variant.length == "sqrt" else 2.0
            features = coordinates_of_spectra(spectra) * (doubled / np.sqrt(n_dims - variant.ddof))
        return cls(read_only(features), variant, variant.strength(n_dims, tolerance))

    def take(self, items: slice) -> PairSimilarity:
        """Return the similarity of some of the items."""
        return PairSimilarity(read_only(self.features[items]), self.variant, self.strength)

    @property
    def compiled(self) -> Pairs:
        """The same as the compiled loops want it."""
        from homothety.models.ordered import _kernels

        dispersion = _kernels.DISPERSIONS[self.variant.dispersion]
        return _kernels.Pairs(
            self.features, self.variant.ddof, dispersion, _kernels.DECAYS[self.variant.decay], self.strength
        )
