"""Covariance matrices to cluster and recordings to segment: made by a recipe with a known answer, or read from files.

Everything here comes as a :class:`MatrixSet` or a :class:`SequenceSet`. The same ``random_state`` makes the same data
again.
"""

from homothety.datasets.poses import in_object_coordinates, shared_frames
from homothety.datasets.readers.brain import epochs_covariances, write_label_image
from homothety.datasets.readers.dispatch import read_matrices, read_sequences
from homothety.datasets.readers.tables import sequences_from_frame
from homothety.datasets.sets import Frames, MatrixSet, SequenceSet
from homothety.datasets.synthetic import make_demonstrations, make_dti, make_wishart_families
from homothety.datasets.toy import make_toy_2d, make_toy_3d, make_toy_6d

__all__ = [
    "Frames",
    "MatrixSet",
    "SequenceSet",
    "epochs_covariances",
    "in_object_coordinates",
    "make_demonstrations",
    "make_dti",
    "make_toy_2d",
    "make_toy_3d",
    "make_toy_6d",
    "make_wishart_families",
    "read_matrices",
    "read_sequences",
    "sequences_from_frame",
    "shared_frames",
    "write_label_image",
]
