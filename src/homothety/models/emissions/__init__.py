"""Emissions of hidden Markov models: Gaussian or autoregressive, with a conjugate prior."""

from homothety.models.emissions.regression import Blocks, Emission

__all__ = ["Blocks", "Emission"]
