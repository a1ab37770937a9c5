"""Means and covariances of what was found, for programs that generate or recognise motions from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.arrays import check_count
from homothety.errors import InputError
from homothety.known import mean_of_known
from homothety.sequences import check_sequences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike
    from typing import Any

    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray


class Moments(NamedTuple):
    """What the steps of each label have in common; row k is that of label k."""

    steps: IntArray  # (n_labels,)
    means: FloatArray  # (n_labels, n_dims), NaN where there is no step
    covariances: FloatArray  # (n_labels, n_dims, n_dims), by the number of steps; NaN where there is no step


def pooled_moments(X: Any, paths: Sequence[ArrayLike], n_labels: int | None = None) -> Moments:
    """Return mean and covariance of all steps of each label, over all series.

    Parameters
    ----------
    X : series
        As estimators take them, in units of their own.
    paths : sequence of array_like of shape (n_steps_i,)
        Label of every step of each series, from 0: ``model.actions_`` or ``model.paths_``.
    n_labels : int, optional
        How many labels there are; by default up to the largest in `paths`.

    Notes
    -----
    Steps are pooled wherever and in whatever direction they are. Where an action is done in several places its pooled
    covariance is that of the places too; that of each of its states is not. Where values are missing, each entry is
    that of the steps at which both dimensions are known.
    """
    sequences = check_sequences(X, min_steps=1, allow_constant=True, allow_missing=True)
    labels = [np.asarray(path, dtype=np.int64) for path in paths]
    if [len(path) for path in labels] != sequences.lengths.tolist():
        raise InputError(
            f"paths have {[len(path) for path in labels]} labels but the series {sequences.lengths.tolist()} steps, "
            "needed one label for each step of each series."
        )
    flat = np.concatenate(labels)
    count = int(flat.max()) + 1 if n_labels is None else check_count(n_labels, "n_labels")
    parts = [sequences.steps[flat == label] for label in range(count)]
    n_dims = sequences.n_dims
    means = [mean_of_known(part) if len(part) else np.full(n_dims, np.nan) for part in parts]
    spreads = [
        _covariance_of_known(part - mean) if len(part) else np.full((n_dims, n_dims), np.nan)
        for part, mean in zip(parts, means, strict=True)
    ]
    return Moments(np.array([len(part) for part in parts]), np.array(means), np.array(spreads))


def _covariance_of_known(centred: FloatArray) -> FloatArray:
    """Return mean products of dimensions about their means over steps at which both are known; NaN without such."""
    known = ~np.isnan(centred)
    filled, counts = np.where(known, centred, 0.0), known.T.astype(float) @ known
    return np.asarray(np.divide(filled.T @ filled, counts, out=np.full(counts.shape, np.nan), where=counts > 0))


def write_moments(path: str | PathLike[str], found: Mapping[str, Moments], channels: Sequence[str] = ()) -> None:
    """Write moments as an archive of NumPy.

    Parameters
    ----------
    path : str or Path
        Ends in .npz.
    found : mapping from str to Moments
        By what they are of: ``{"action": ...}`` gives arrays ``action_steps``, ``action_means`` and
        ``action_covariances``.
    channels : sequence of str
        What the dimensions are called.
    """
    arrays = {f"{kind}_{name}": values for kind, moments in found.items() for name, values in moments._asdict().items()}
    with open(path, "wb") as file:  # by name NumPy would add an ending of its own
        np.savez(file, channels=np.array(channels, dtype=np.str_), **arrays)
