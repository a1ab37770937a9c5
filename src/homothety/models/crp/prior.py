"""Prior over partitions: the Chinese restaurant process, in which bigger clusters attract more items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import IntArray


def log_partition_prior(labels: IntArray, concentration: float) -> float:
    """Log probability of a partition under the Chinese restaurant process (Ewens' formula).

    Parameters
    ----------
    labels : ndarray of shape (n_items,)
        Cluster of each item, by any labels.
    concentration : float
        Weight of a new cluster, where a cluster has its size for weight.

    Examples
    --------
    Two items share a cluster as often as not:

    >>> float(np.exp(log_partition_prior(np.array([0, 0]), 1.0)))
    0.5
    """
    sizes = np.unique(labels, return_counts=True)[1]
    log_weights = len(sizes) * np.log(concentration) + gammaln(sizes).sum()
    return float(log_weights + gammaln(concentration) - gammaln(concentration + len(labels)))


def sample_labels(rng: Generator, n_items: int, concentration: float) -> IntArray:
    """Draw a partition (n_items,) from its prior, clusters numbered in order of first appearance."""
    labels = np.zeros(n_items, dtype=np.int64)
    for i in range(1, n_items):
        # Picking the cluster of a uniformly drawn earlier item picks clusters in proportion to their size.
        opens = rng.random() * (i + concentration) < concentration
        labels[i] = labels[:i].max() + 1 if opens else labels[rng.integers(i)]
    return labels
