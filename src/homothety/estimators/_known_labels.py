"""Labels of steps that users know: from `y` to the steps that chains model, and back to all steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.errors import InputError

if TYPE_CHECKING:
    from homothety.arrays import IntArray
    from homothety.sequences import Sequences


def labels_of_steps(y: Any, recordings: Sequences) -> IntArray | None:
    """Return known labels of the steps of recordings, numbered from zero without gaps; None if none is known.

    Parameters
    ----------
    y : list of array-like of int, shape (n_steps_i,), or array-like of int, shape (n_steps,), or None
        Minus one where a label is unknown; None in a list for a recording of which no label is known.
    recordings : Sequences

    Returns
    -------
    labels : ndarray of int, shape (n_steps,), or None
    """
    if y is None:
        return None
    n_each, names = recordings.lengths.tolist(), recordings.names
    if isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype != object and len(y) == recordings.n_steps:
        y = np.split(y, recordings.starts[1:-1])
    if not hasattr(y, "__len__") or len(y) != len(n_each):
        found = f"has {len(y)} parts" if hasattr(y, "__len__") else f"is {y!r}"
        raise InputError(
            f"y {found} for {len(n_each)} recordings, needed an array of labels for each, or None for a recording "
            "without labels."
        )
    parts = [_checked(one, i, name, n) for i, (one, name, n) in enumerate(zip(y, names, n_each, strict=True))]
    flat = np.concatenate(parts)
    known = flat >= 0
    if not known.any():
        return None
    flat[known] = np.unique(flat[known], return_inverse=True)[1]
    return flat


def _checked(labels: Any, i: int, name: str, n_steps: int) -> IntArray:
    """Return the labels of one recording, or raise if they are not whole numbers, one for each step."""
    if labels is None:
        return np.full(n_steps, -1)
    found = np.asarray(labels)
    if found.shape != (n_steps,) or found.dtype.kind not in "iu" or found.min() < -1:
        least = f", least {found.min()}" if found.dtype.kind in "iu" and found.size else ""
        raise InputError(
            f"y[{i}] ({name}) has shape {found.shape} and dtype {found.dtype}{least}, needed {n_steps} whole numbers, "
            "one per step, -1 where the label is unknown."
        )
    return found.astype(np.int64)


def labels_of_modelled(labels: IntArray, where: IntArray, n_modelled: int) -> IntArray:
    """Return the label of every modelled step: that of most of the steps that it stands for, if any is known.

    Parameters
    ----------
    labels : ndarray of int, shape (n_steps,)
    where : ndarray of int, shape (n_steps,)
        Modelled step whose state each step has.
    n_modelled : int

    Examples
    --------
    >>> labels_of_modelled(np.array([-1, 0, 1, 1, 1, -1]), np.array([0, 0, 1, 1, 2, 3]), 4)
    array([ 0,  1,  1, -1])
    """
    known, n_labels = labels >= 0, int(labels.max()) + 1
    counts = np.zeros((n_modelled, n_labels), dtype=np.int64)
    np.add.at(counts, (where[known], labels[known]), 1)
    lost = np.setdiff1d(labels[known], counts.argmax(axis=1)[counts.any(axis=1)])
    if lost.size:
        raise InputError(
            f"Label number {lost[0]} of y, counted from the smallest, is too short for the steps in use. Use all "
            "steps: subsample=1."
        )
    return np.where(counts.any(axis=1), counts.argmax(axis=1), -1)


def over_all_steps(path: IntArray, where: IntArray, labels: IntArray | None, modelled: IntArray) -> IntArray:
    """Return a path over modelled steps, which agrees with their labels, for all steps of the recordings.

    A labelled step has the number of its label, whatever modelled step is nearest.

    Parameters
    ----------
    path : ndarray of int, shape (n_modelled,)
    where : ndarray of int, shape (n_steps,)
        Modelled step whose state each step has.
    labels : ndarray of int, shape (n_steps,), or None
    modelled : ndarray of int, shape (n_modelled,)
        Labels of the modelled steps, as `labels_of_modelled` has them.

    Examples
    --------
    >>> over_all_steps(np.array([5, 7]), np.array([0, 0, 1, 1]), np.array([0, 1, 1, -1]), np.array([0, 1]))
    array([5, 7, 7, 7])
    """
    flat = path[where]
    if labels is not None:
        known = labels >= 0
        first = np.unique(modelled[modelled >= 0], return_index=True)[1]
        flat[known] = path[modelled >= 0][first][labels[known]]
    return flat
