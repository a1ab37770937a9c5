"""Covariance matrices in files: NumPy, MATLAB, CSV and NIfTI."""

from homothety.datasets.readers.dispatch import read_matrices
from homothety.datasets.readers.nifti import write_label_image

__all__ = ["read_matrices", "write_label_image"]
