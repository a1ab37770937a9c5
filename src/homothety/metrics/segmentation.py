"""Disagreement of two segmentations: Hamming distance, global consistency error, variation of information."""

from __future__ import annotations

from math import isfinite, log
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from scipy.optimize import linear_sum_assignment

from homothety.errors import InputError
from homothety.metrics.clustering import count_overlaps

if TYPE_CHECKING:
    from homothety.arrays import IntArray
    from homothety.metrics.clustering import Labels

_Matching = Literal["one-to-one", "many-to-one"]


def hamming(truth: Labels, estimate: Labels, *, matching: _Matching = "one-to-one") -> float:
    """Fraction of items labelled wrongly once clusters have been named after classes as well as can be.

    Parameters
    ----------
    truth, estimate : sequence of n_items labels, or list with one array of labels per sequence
        Any hashable values.
    matching : {"one-to-one", "many-to-one"}, default "one-to-one"
        Whether each class lends its name to at most one cluster; items of clusters and classes left over are then all
        wrong. With "many-to-one", every cluster takes the name of its commonest class: one minus the purity.

    Returns
    -------
    hamming : float
        In [0, 1); 0 for equal partitions. Symmetric when one-to-one, and never below the many-to-one value.

    Notes
    -----
    Eq. (41). The matching maximises the total overlap, which taking the largest overlap first does not.

    Examples
    --------
    >>> hamming([1, 1, 1, 2, 2], [1, 1, 2, 2, 3])
    0.4
    """
    if matching not in get_args(_Matching):
        raise InputError(f'matching is {matching!r}, needed "one-to-one" or "many-to-one".')
    overlaps = count_overlaps(truth, estimate)
    n_right = overlaps.n_in_commonest_class() if matching == "many-to-one" else _n_matched(overlaps.dense())
    return (overlaps.n_items - n_right) / overlaps.n_items


def _n_matched(table: IntArray) -> int:
    """Return the largest total overlap of a matching in which no class and no cluster appears twice."""
    return int(table[linear_sum_assignment(table, maximize=True)].sum())


def gce(truth: Labels, estimate: Labels) -> float:
    """Global consistency error: how far the labellings are from one refining the other.

    Parameters
    ----------
    truth, estimate : sequence of n_items labels, or list with one array of labels per sequence
        Any hashable values.

    Returns
    -------
    gce : float
        In [0, 1). Symmetric. It is 0 whenever one partition refines the other, so for a single cluster and for all
        items apart too: never report it alone.

    Notes
    -----
    Eq. (42), after Martin et al. (2001): the smaller of two errors, each the average over items of the fraction of the
    item's own segment in one labelling that lies outside its segment in the other. A segment is everything that carries
    a label, not one run of it.

    Examples
    --------
    >>> gce([1, 1, 1, 1], [1, 1, 2, 2])
    0.0
    """
    overlaps = count_overlaps(truth, estimate)
    truth_outside_estimate = overlaps.counts @ (1 - overlaps.share_of_class())
    estimate_outside_truth = overlaps.counts @ (1 - overlaps.share_of_cluster())
    return float(min(truth_outside_estimate, estimate_outside_truth)) / overlaps.n_items


def vi(truth: Labels, estimate: Labels, *, base: float = 2) -> float:
    """Variation of information: what either labelling leaves unknown of the other, added up.

    Parameters
    ----------
    truth, estimate : sequence of n_items labels, or list with one array of labels per sequence
        Any hashable values.
    base : float, default 2
        Base of the logarithm: 2 for bits, as in the paper's tables; ``math.e`` for nats.

    Returns
    -------
    vi : float
        In [0, log(n_items)]; 0 for equal partitions. A metric on partitions: symmetric, with the triangle inequality.

    Examples
    --------
    >>> vi([1, 1, 2, 2], [1, 2, 1, 2])
    2.0
    """
    if not (isfinite(base) and base > 1):
        raise InputError(f"base is {base}, needed a number above 1, such as 2 for bits.")
    overlaps = count_overlaps(truth, estimate)
    # Eq. (43) written as H(truth | estimate) + H(estimate | truth): no term is negative and all vanish for equal
    # partitions, whereas a difference of entropies would leave rounding noise of either sign.
    unknown = np.log(1 / overlaps.share_of_class()) + np.log(1 / overlaps.share_of_cluster())
    return float(overlaps.counts @ unknown) / overlaps.n_items / log(base)
