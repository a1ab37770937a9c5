"""Clustering of covariance matrices by shape, whatever their rotation and scale."""

from homothety._version import __version__

__all__ = ["__version__"]
