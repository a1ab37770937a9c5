"""Scores of clusterings against known classes, and how means over runs are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.metrics import f_measure, gce, hamming, nmi, purity, vi

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


def spread(values: Sequence[float]) -> float:
    """Return the standard deviation of the runs as the paper takes it, by one less than their number."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def format_cell(values: Sequence[float], *, decimals: int = 3) -> str:
    """Return "mean (standard deviation)" of some runs, without the bracket if all agree; a dash for no runs.

    Examples
    --------
    >>> format_cell([0.5, 0.6]), format_cell([1.0, 1.0]), format_cell([3.0, 3.0], decimals=0), format_cell([])
    ('0.550 (0.071)', '1.000', '3', '-')
    """
    if len(values) == 0:
        return "-"
    mean, deviation = float(np.mean(values)), spread(values)
    # Whole numbers stop being whole when they are averaged.
    decimals = max(decimals, 1) if deviation else decimals
    # A standard deviation that would be written as zero is left out, as in the paper.
    return f"{mean:.{decimals}f}" + f" ({deviation:.{decimals}f})" * (deviation >= 0.5 * 10**-decimals)


def format_metric(runs: Sequence[Mapping[str, float]], metric: str, *, decimals: int = 3) -> str:
    """Return the cell of one metric over the runs that have it; numbers of clusters are whole until averaged."""
    values = [run[metric] for run in runs if metric in run]
    return format_cell(values, decimals=0 if metric in COUNTS else decimals)


def format_number(value: float, *, decimals: int = 3) -> str:
    """Return a number, or a dash for NaN.

    Examples
    --------
    >>> format_number(0.5), format_number(float("nan"))
    ('0.500', '-')
    """
    return "-" if np.isnan(value) else f"{value:.{decimals}f}"


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
