"""Paths as runs of equal labels: what is kept of a sweep, a few hundred numbers for thousands of steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from homothety.arrays import IntArray


@storable
class RunPath(NamedTuple):
    """A path over all steps of all series, one after the other.

    Examples
    --------
    >>> RunPath.of(np.array([3, 3, 3, 1, 1]))
    RunPath(labels=array([3, 1]), lengths=array([3, 2]))
    >>> RunPath.of(np.array([3, 3, 3, 1, 1])).expand()
    array([3, 3, 3, 1, 1])
    """

    labels: IntArray  # (n_runs,)
    lengths: IntArray  # (n_runs,)

    @classmethod
    def of(cls, path: IntArray) -> RunPath:
        """Return the runs of a path."""
        edges = np.concatenate([[0], np.flatnonzero(np.diff(path)) + 1, [len(path)]])
        return cls(path[edges[:-1]], np.diff(edges))

    def expand(self) -> IntArray:
        """Return the path, step by step."""
        return np.repeat(self.labels, self.lengths)


def count_segments(path: IntArray, starts: IntArray) -> int:
    """Return the number of segments of a path, every series beginning one."""
    return len(np.union1d(np.flatnonzero(np.diff(path)) + 1, starts[:-1]))


def occupancy_entropy(path: IntArray) -> float:
    """Return the entropy, in bits, of the shares of steps that states have."""
    shares = np.unique(path, return_counts=True)[1] / len(path)
    return float(-(shares * np.log2(shares)).sum())
