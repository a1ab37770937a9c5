"""What there is to say of all matrices of a clustering: if there is anything to find, and which look clipped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homothety.words import voxel_in_words

if TYPE_CHECKING:
    from homothety.arrays import IntArray

LIKELY, POSSIBLE = 0.5, 0.05
N_NAMED = 5  # matrices


def one_cluster_in_words(model: Any) -> str:
    """Return how probable it is that all items are one cluster; nothing for models that do not say.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> one_cluster_in_words(SimpleNamespace(one_cluster_probability_=0.98))
    'There is nothing to separate: all matrices are one cluster with a probability of 0.98.'
    >>> one_cluster_in_words(SimpleNamespace(one_cluster_probability_=0.0))
    'There is more than one cluster: the probability of a single cluster is below 0.01.'
    """
    probability = getattr(model, "one_cluster_probability_", None)
    if probability is None:
        return ""
    told = f"{probability:.2f}" if probability >= 0.01 else "below 0.01"
    if probability >= LIKELY:
        return f"There is nothing to separate: all matrices are one cluster with a probability of {told}."
    if probability >= POSSIBLE:
        return f"All matrices may be one cluster: the probability of a single cluster is {told}."
    return f"There is more than one cluster: the probability of a single cluster is {told}."


def nearly_singular_in_words(model: Any, index: IntArray, positions: IntArray | None) -> str:
    """Return how many matrices are nearly singular, and which; nothing if there are none.

    Parameters
    ----------
    index : ndarray of shape (n_matrices,)
        Number of each matrix in its file.
    positions : ndarray of shape (n_matrices, n_axes) or None
        Voxel of each matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> nearly_singular_in_words(SimpleNamespace(nearly_singular_=[3, 8]), np.arange(9), None)
    '2 of 9 matrices are nearly singular, as if an eigenvalue had been clipped: matrix 3, matrix 8.'
    """
    found = list(getattr(model, "nearly_singular_", ()))
    if not found:
        return ""
    voxels = [""] * len(index) if positions is None else [f" at {voxel_in_words(one)}" for one in positions]
    some = ", ".join(f"matrix {index[i]}{voxels[i]}" for i in found[:N_NAMED]) + ", and others" * (len(found) > N_NAMED)
    return f"{len(found)} of {len(index)} matrices are nearly singular, as if an eigenvalue had been clipped: {some}."
