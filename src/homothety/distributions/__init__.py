"""Conjugate priors of a cluster of points: what the mixtures integrate out."""

from homothety.distributions.niw import NIW
from homothety.distributions.normal_gamma import NormalGamma

__all__ = ["NIW", "NormalGamma"]
