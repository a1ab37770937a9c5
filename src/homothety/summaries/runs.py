"""Many paths over the same steps, each as runs of equal labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from homothety.arrays import IntArray
    from homothety.sampling.trace import RunPath


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
