"""Covariance matrices: estimating them, measuring how similar they are, and coordinates of their shape."""

from homothety.covariance.estimate import sample_covariance, sample_covariances
from homothety.covariance.measures import (
    SPCM_VARIANTS,
    SPCMVariant,
    airm,
    bounded_spcm,
    jbld,
    kldm,
    lerm,
    resolve_variant,
    similarity_from_spcm,
    spcm_dissimilarity,
    tolerance_factor,
)
from homothety.covariance.shape import log_euclidean_coordinates, shape_coordinates
from homothety.covariance.similarity import (
    MEASURES,
    gaussian_similarity,
    pairwise_distance,
    pairwise_similarity,
    similarity_bandwidth,
)
from homothety.covariance.spectra import check_covariances, eigenvalues

__all__ = [
    "MEASURES",
    "SPCM_VARIANTS",
    "SPCMVariant",
    "airm",
    "bounded_spcm",
    "check_covariances",
    "eigenvalues",
    "gaussian_similarity",
    "jbld",
    "kldm",
    "lerm",
    "log_euclidean_coordinates",
    "pairwise_distance",
    "pairwise_similarity",
    "resolve_variant",
    "sample_covariance",
    "sample_covariances",
    "shape_coordinates",
    "similarity_bandwidth",
    "similarity_from_spcm",
    "spcm_dissimilarity",
    "tolerance_factor",
]
