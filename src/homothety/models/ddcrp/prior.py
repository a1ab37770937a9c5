"""Prior over links: each item links to another in proportion to their similarity, or to itself (Eqs. 14, 18)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.models.parts import check_labels

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray


def link_weights(similarity: FloatArray) -> FloatArray:
    """Return the weights of links between different items: the similarity with its diagonal set to zero."""
    weights = np.array(similarity, dtype=np.float64, order="C")
    np.fill_diagonal(weights, 0.0)
    return weights


def log_link_prior(links: IntArray, weights: FloatArray, concentration: float) -> float:
    """Log probability of all links.

    Parameters
    ----------
    links : ndarray of shape (n_items,)
        Item each item links to; itself for a self-link.
    weights : ndarray of shape (n_items, n_items)
        Weights of the links, with zero diagonal.
    concentration : float
        Weight of a self-link.

    Notes
    -----
    Every row is divided by the sum of its own weights. Eq. 18 divides self-links by another number than the rest,
    which is not a distribution.
    """
    items = np.arange(len(links))
    chosen = np.where(links == items, concentration, weights[items, links])
    with np.errstate(divide="ignore"):
        return float(np.log(chosen).sum() - np.log(concentration + weights.sum(axis=1)).sum())


def sample_links(rng: Generator, weights: FloatArray, concentration: float) -> IntArray:
    """Draw all links from their prior; rows of `weights` (n_items, n_items) have zero diagonal."""
    rows = weights + concentration * np.eye(len(weights))
    cumulative = np.cumsum(rows, axis=1)
    targets = rng.random(len(weights)) * cumulative[:, -1]
    return np.asarray((cumulative <= targets[:, None]).sum(axis=1))


def labels_from_links(links: IntArray) -> IntArray:
    """Return the connected component of each item, numbered in order of first appearance."""
    from homothety.models.ddcrp._kernels import build_links, find_components

    links = np.asarray(links, dtype=np.int64)
    check_labels(links, "links", links.size, links.size)
    labels, path = np.empty((2, len(links)), dtype=np.int64)
    find_components(build_links(links), labels, path)
    return labels
