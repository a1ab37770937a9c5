"""Compiled loops over many sampled partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety._jit import jit

if TYPE_CHECKING:
    from homothety.arrays import FloatArray, IntArray

MAX_POLISHING_SWEEPS = 20


@jit
def count_pairs(labels: IntArray) -> FloatArray:
    """Count the draws, rows of `labels`, in which each pair of items is in one cluster."""
    n_draws, n_items = labels.shape
    counts = np.zeros((n_items, n_items))
    for d in range(n_draws):
        for i in range(n_items):
            for j in range(n_items):
                counts[i, j] += labels[d, i] == labels[d, j]
    return counts


@jit
def entropy_terms(n_items: int) -> FloatArray:
    """Table of x log2(x) for x = 0, ..., n_items."""
    terms = np.zeros(n_items + 1)
    for x in range(2, n_items + 1):
        terms[x] = x * np.log2(x)
    return terms


@jit
def summed_terms(counts: IntArray, n_counts: int, terms: FloatArray) -> float:
    """Sum of x log2(x) over the first counts, which are set back to zero for the next use."""
    total = 0.0
    for k in range(n_counts):
        total += terms[counts[k]]
        counts[k] = 0
    return total


@jit
def mean_vi(partitions: IntArray, draws: IntArray, n_clusters: int) -> FloatArray:
    """Mean variation of information, in bits, of each partition to all draws; labels are below `n_clusters`."""
    n_draws, n_items = draws.shape
    terms, expected = entropy_terms(n_items), np.zeros(partitions.shape[0])
    sizes, drawn_sizes = np.zeros(n_clusters, dtype=np.int64), np.zeros(n_clusters, dtype=np.int64)
    overlaps = np.zeros(n_clusters * n_clusters, dtype=np.int64)
    for c in range(partitions.shape[0]):
        for d in range(n_draws):
            for i in range(n_items):
                sizes[partitions[c, i]] += 1
                drawn_sizes[draws[d, i]] += 1
                overlaps[partitions[c, i] * n_clusters + draws[d, i]] += 1
            expected[c] += summed_terms(sizes, n_clusters, terms) + summed_terms(drawn_sizes, n_clusters, terms)
            expected[c] -= 2.0 * summed_terms(overlaps, n_clusters * n_clusters, terms)
        expected[c] /= n_items * n_draws
    return expected


@jit
def rise_on_joining(
    i: int, cluster: int, sizes: IntArray, overlaps: IntArray, draws: IntArray, terms: FloatArray
) -> float:
    """How much the summed variation of information rises when item `i` joins a cluster it is not in."""
    size = sizes[cluster]
    rise = draws.shape[0] * (terms[size + 1] - terms[size])
    for d in range(draws.shape[0]):
        overlap = overlaps[cluster, d, draws[d, i]]
        rise -= 2.0 * (terms[overlap + 1] - terms[overlap])
    return rise


@jit
def shift(i: int, cluster: int, step: int, sizes: IntArray, overlaps: IntArray, draws: IntArray) -> None:
    """Add item `i` to a cluster (`step` 1) or remove it (`step` -1)."""
    sizes[cluster] += step
    for d in range(draws.shape[0]):
        overlaps[cluster, d, draws[d, i]] += step


@jit
def polish(labels: IntArray, draws: IntArray, sizes: IntArray, overlaps: IntArray) -> None:
    """Move single items to the cluster that lowers the mean variation of information most, until none does.

    Changes `labels` in place. `sizes` (n_slots,) and `overlaps` (n_slots, n_draws, n_drawn_clusters) come as zeros;
    slots beyond the clusters there are serve items that are better off alone.
    """
    n_items = labels.shape[0]
    terms = entropy_terms(n_items)
    for i in range(n_items):
        shift(i, labels[i], 1, sizes, overlaps, draws)
    for _ in range(MAX_POLISHING_SWEEPS):
        n_moved = 0
        for i in range(n_items):
            old = labels[i]
            shift(i, old, -1, sizes, overlaps, draws)
            best, least = old, rise_on_joining(i, old, sizes, overlaps, draws, terms) - 1e-9
            for cluster in range(sizes.shape[0]):
                rise = rise_on_joining(i, cluster, sizes, overlaps, draws, terms)
                if rise < least:
                    best, least = cluster, rise
            shift(i, best, 1, sizes, overlaps, draws)
            labels[i] = best
            n_moved += best != old
        if n_moved == 0:
            break
