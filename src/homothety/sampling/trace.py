"""What a chain leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from homothety.arrays import FloatArray, IntArray


@dataclass(eq=False)
class Trace:
    """Numbers of every sweep and states of the kept ones.

    Parameters
    ----------
    scalars : dict of str to list of float
        One number per sweep, by name.
    kept : list
        What was kept of each sweep after burn-in.
    interrupted : bool
        Whether an interrupt ended the chain before its last sweep.
    stopped_by : str, optional
        Name of the recorder that ended the chain before its last sweep.
    """

    scalars: dict[str, list[float]] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    interrupted: bool = False
    stopped_by: str | None = None

    @property
    def n_sweeps(self) -> int:
        """Number of sweeps made."""
        return max((len(values) for values in self.scalars.values()), default=0)

    def add(self, scalars: dict[str, float]) -> None:
        """Append the numbers of one sweep."""
        for name, value in scalars.items():
            self.scalars.setdefault(name, []).append(float(value))

    def array(self, name: str) -> FloatArray:
        """Return one of the traces as an array of shape (n_sweeps,)."""
        return np.asarray(self.scalars[name])

    def taken(self, chosen: IntArray) -> Trace:
        """Return some of the kept draws, with their numbers alone."""
        n_before = self.n_sweeps - len(self.kept)
        scalars = {name: [values[n_before + number] for number in chosen] for name, values in self.scalars.items()}
        return replace(self, scalars=scalars, kept=[self.kept[number] for number in chosen])

    def truncate(self, n_sweeps: int, n_kept: int) -> None:
        """Forget what came after the first `n_sweeps` sweeps: an interrupt may strike in the middle of a record."""
        for values in self.scalars.values():
            del values[n_sweeps:]
        del self.kept[n_kept:]
