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
def mean_vi(partitions: IntArray, draws: IntArray) -> FloatArray:
    """Mean variation of information, in bits, of each partition to all draws; labels are 0, 1, ... in each row."""
    n_items = draws.shape[1]
    terms, expected = entropy_terms(n_items), np.zeros(partitions.shape[0])
    for c in range(partitions.shape[0]):
        sizes = np.bincount(partitions[c])
        for d in range(draws.shape[0]):
            other_sizes = np.bincount(draws[d])
            overlaps = np.bincount(partitions[c] * other_sizes.shape[0] + draws[d])
            expected[c] += terms[sizes].sum() + terms[other_sizes].sum() - 2.0 * terms[overlaps].sum()
    return expected / (n_items * draws.shape[0])


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
def polish(labels: IntArray, draws: IntArray) -> IntArray:
    """Move single items to the cluster that lowers the mean variation of information most, until none does."""
    n_draws, n_items = draws.shape
    labels, terms = labels.copy(), entropy_terms(n_items)
    # One slot more than clusters: an empty one, for an item that is better off alone.
    n_slots = labels.max() + 2
    sizes = np.zeros(n_slots, dtype=np.int64)
    overlaps = np.zeros((n_slots, n_draws, draws.max() + 1), dtype=np.int32)
    for i in range(n_items):
        shift(i, labels[i], 1, sizes, overlaps, draws)
    for _ in range(MAX_POLISHING_SWEEPS):
        n_moved = 0
        for i in range(n_items):
            old = labels[i]
            shift(i, old, -1, sizes, overlaps, draws)
            best, least = old, rise_on_joining(i, old, sizes, overlaps, draws, terms) - 1e-9
            for cluster in range(n_slots):
                rise = rise_on_joining(i, cluster, sizes, overlaps, draws, terms)
                if rise < least:
                    best, least = cluster, rise
            shift(i, best, 1, sizes, overlaps, draws)
            labels[i] = best
            n_moved += best != old
        if n_moved == 0:
            break
    return labels
