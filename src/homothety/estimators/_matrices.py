"""Similarities as the estimators on covariance matrices need them, at fit and for new data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homothety.arrays import check_similarity, check_similarity_to
from homothety.covariance.similarity import pairwise_similarity, similarity_bandwidth
from homothety.covariance.spectra import check_covariances
from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray
    from homothety.covariance.measures import SPCMVariant

    Measure = str | Callable[[FloatArray, FloatArray], float]


def is_spcm(measure: Measure) -> bool:
    """Whether a measure is SPCM, which has a tolerance instead of a bandwidth."""
    return measure in ("bspcm", "spcm")


def similarity_within(
    X: ArrayLike, measure: Measure, variant: str | SPCMVariant, tolerance: float
) -> tuple[FloatArray | None, float | None, FloatArray]:
    """Return the checked matrices, the bandwidth and the similarity of all pairs.

    There are no matrices for a precomputed similarity, and no bandwidth for it or for SPCM.
    """
    if measure == "precomputed":
        return None, None, check_similarity(X, "X")
    matrices = check_covariances(X)
    if is_spcm(measure):
        return matrices, None, pairwise_similarity(matrices, variant=variant, tolerance=tolerance)
    # One matrix has no distance to take a bandwidth from, and no use for one.
    bandwidth = similarity_bandwidth(matrices, measure=measure) if len(matrices) > 1 else 1.0
    return matrices, bandwidth, pairwise_similarity(matrices, measure=measure, bandwidth=bandwidth)


def similarity_between(
    X: ArrayLike,
    fitted: FloatArray | None,
    measure: Measure,
    variant: str | SPCMVariant,
    tolerance: float,
    bandwidth: float | None,
    n_fitted: int,
) -> FloatArray:
    """Return the similarity of new matrices to the fitted ones, (n_new, n_fitted)."""
    if fitted is None:
        return check_similarity_to(X, n_fitted, "X")
    matrices = check_covariances(X)
    if matrices.shape[1] != fitted.shape[1]:
        raise InputError(
            f"X holds {matrices.shape[1]} x {matrices.shape[1]} matrices, the model was fitted on "
            f"{fitted.shape[1]} x {fitted.shape[1]} ones."
        )
    if is_spcm(measure):
        return pairwise_similarity(matrices, fitted, variant=variant, tolerance=tolerance)
    return pairwise_similarity(matrices, fitted, measure=measure, bandwidth=bandwidth)


def matrix_tags(tags: Any, measure: Measure) -> Any:
    """Tell scikit-learn that the input is a stack of matrices, or a matrix of pairs if precomputed."""
    tags.input_tags.pairwise = measure == "precomputed"
    tags.input_tags.two_d_array = measure == "precomputed"
    tags.input_tags.three_d_array = measure != "precomputed"
    return tags
