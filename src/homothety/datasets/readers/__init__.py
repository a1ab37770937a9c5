"""Covariance matrices in files (NumPy, MATLAB, CSV and NIfTI) and series of measurements (also Parquet)."""

from homothety.datasets.readers.dispatch import read_matrices
from homothety.datasets.readers.nifti import write_label_image
from homothety.datasets.readers.sequences import read_sequences

__all__ = ["read_matrices", "read_sequences", "write_label_image"]
