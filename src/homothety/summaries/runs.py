"""Paths as runs of equal labels: what is kept of a sweep, a few hundred numbers for thousands of steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


@dataclass(frozen=True, eq=False)
class PathDraws:
    """Many paths over the same steps, all runs one after the other: small in memory, and on disk.

    Parameters
    ----------
    labels, lengths : ndarray of int, shape (n_runs of all draws,)
    ends : ndarray of int, shape (n_draws,)
        Where the runs of each draw end.
    """

    labels: IntArray
    lengths: IntArray
    ends: IntArray

    @classmethod
    def of(cls, paths: Sequence[RunPath]) -> PathDraws:
        """Collect paths given as runs."""
        labels = np.concatenate([path.labels for path in paths])
        lengths = np.concatenate([path.lengths for path in paths])
        return cls(labels, lengths, np.cumsum([len(path.labels) for path in paths]))

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, draw: int) -> IntArray:
        """Return one path, step by step."""
        draw = range(len(self))[draw]
        runs = slice(int(self.ends[draw - 1]) if draw else 0, int(self.ends[draw]))
        return np.repeat(self.labels[runs], self.lengths[runs]).astype(np.int32)

    def __iter__(self) -> Iterator[IntArray]:
        return (self[draw] for draw in range(len(self)))
