"""Compiled: which states may hold steps whose label is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety._jit import jit

if TYPE_CHECKING:
    from homothety.arrays import FloatArray, IntArray
    from homothety.models.hmm.labels import Tagged


@jit
def write_tags(path: IntArray, labels: IntArray, tags: IntArray) -> None:
    """Write the label of the steps that each state holds; minus one for states that hold no labelled step."""
    tags[:] = -1
    for t in range(path.shape[0]):
        if labels[t] >= 0:
            tags[path[t]] = labels[t]


@jit
def rule_out_labels(first: int, tag: int, labels: IntArray, column: int, log_evidence: FloatArray) -> None:
    """Make it impossible for the state in a column to hold steps of other labels than its tag.

    Parameters
    ----------
    first : int
        Where the recording begins in `labels`.
    log_evidence : ndarray of shape (n_steps, n_columns)
        Of the recording. Changed in place.
    """
    for t in range(log_evidence.shape[0]):
        if labels[first + t] >= 0 and labels[first + t] != tag:
            log_evidence[t, column] = -np.inf


@jit
def log_tag_prior(n_states: int, path: IntArray, tagged: Tagged) -> float:
    """Log probability of the known labels given a path, tags summed out; minus infinity if they cannot be so."""
    labels = tagged.labels
    tags = np.empty(n_states, dtype=np.int64)
    write_tags(path, labels, tags)
    for t in range(path.shape[0]):
        if labels[t] >= 0 and tags[path[t]] != labels[t]:
            return -np.inf
    total = 0.0
    for k in range(n_states):
        total += tagged.log_cost if tags[k] >= 0 else 0.0
        for j in range(k if tagged.is_state and tags[k] >= 0 else 0):
            if tags[j] == tags[k]:
                return -np.inf
    return total
