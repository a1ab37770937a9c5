"""Scores of clusterings against known classes, and how means over runs are written in tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.metrics import f_measure, gce, hamming, nmi, purity, vi
from homothety.phrases import format_cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike


COUNTS = ("K", "K_Z")


def score(truth: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """Return the four columns of the paper's tables: NMI, purity, F and the number of clusters K.

    Examples
    --------
    >>> score([0, 0, 1], [5, 5, 5])["K"]
    1.0
    """
    truth, labels = np.asarray(truth), np.asarray(labels)
    return {
        "NMI": nmi(truth, labels),
        "purity": purity(truth, labels),
        "F": f_measure(truth, labels),
        "K": float(len(np.unique(labels))),
    }


def score_segmentation(truth: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """Return what the paper's table of segmentations has beside the scores of clusters: Hamming, GCE and VI, in bits.

    Examples
    --------
    >>> score_segmentation([0, 0, 1, 1], [0, 0, 0, 0])
    {'Hamming': 0.5, 'GCE': 0.0, 'VI': 1.0}
    """
    truth, labels = np.asarray(truth), np.asarray(labels)
    return {
        "Hamming": hamming(truth, labels),
        "GCE": gce(truth, labels),
        "VI": vi(truth, labels),
    }


def format_metric(runs: Sequence[Mapping[str, float]], metric: str, *, decimals: int = 3) -> str:
    """Return the cell of one metric over the runs that have it; numbers of clusters are whole until averaged."""
    values = [run[metric] for run in runs if metric in run]
    return format_cell(values, decimals=0 if metric in COUNTS else decimals)


def format_seconds(seconds: float) -> str:
    """Return a length of time in the unit that suits it.

    Examples
    --------
    >>> format_seconds(0.000328), format_seconds(69.2), format_seconds(1416.0)
    ('0.328 ms', '69.2 s', '1416 s')
    """
    if seconds < 1:
        return f"{1e3 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.0f} s"
