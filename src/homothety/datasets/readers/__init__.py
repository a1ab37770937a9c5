"""Covariance matrices and series of measurements in files of many kinds, each read by a library only it needs."""

from homothety.datasets.readers.data_frames import sequences_from_frame
from homothety.datasets.readers.dispatch import read_matrices
from homothety.datasets.readers.mne_files import epochs_covariances
from homothety.datasets.readers.nifti import write_label_image
from homothety.datasets.readers.sequences import read_sequences

__all__ = ["epochs_covariances", "read_matrices", "read_sequences", "sequences_from_frame", "write_label_image"]
