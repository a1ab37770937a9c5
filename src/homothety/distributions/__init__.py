"""Conjugate priors of a cluster of points: what the mixtures integrate out."""

from homothety.distributions.niw import NIW, NormalGamma

__all__ = ["NIW", "NormalGamma"]
