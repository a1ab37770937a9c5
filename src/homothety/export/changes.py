"""Where labels change, counted as the libraries for change points count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.errors import InputError
from homothety.sampling.trace import RunPath

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from homothety.arrays import IntArray


def to_ruptures(path: ArrayLike) -> list[int]:
    """Return where each segment ends, the end of the series included, as ruptures has it.

    Parameters
    ----------
    path : array_like of shape (n_steps,)
        Label of every step of one series.

    Examples
    --------
    >>> to_ruptures([3, 3, 3, 1, 1])
    [3, 5]
    """
    ends: list[int] = _ends(path).tolist()
    return ends


def to_aeon(path: ArrayLike) -> list[int]:
    """Return where each segment but the first starts, as aeon's segmenters have it.

    Parameters
    ----------
    path : array_like of shape (n_steps,)
        Label of every step of one series.

    Examples
    --------
    >>> to_aeon([3, 3, 3, 1, 1])
    [3]
    """
    starts: list[int] = _ends(path)[:-1].tolist()
    return starts


def _ends(path: ArrayLike) -> IntArray:
    """Return where each run of equal labels ends, or raise if there is no label."""
    labels = np.asarray(path)
    if labels.ndim != 1 or labels.size == 0:
        raise InputError(f"path has shape {labels.shape}, needed one label for each step of a series.")
    # By numbers, because text has no difference.
    return np.cumsum(RunPath.of(np.unique(labels, return_inverse=True)[1]).lengths)
