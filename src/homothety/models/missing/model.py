"""What a chain of recordings with missing values is conditioned on (docs/model.md, section 3.18)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from homothety.models.parts import check_array, check_finite

if TYPE_CHECKING:
    from typing import Self

    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray
    from homothety.models.missing.state import ChainState


class Incomplete(Protocol):
    """A model of complete recordings that knows which of their values are filled in."""

    def with_gaps(self, missing: BoolArray) -> Self:
        """Return the model in which some values, (n_steps, n_dims), are missing and filled in as they are now."""

    def values(self, missing: BoolArray) -> FloatArray:
        """Return what is filled in, (n_missing,)."""

    def with_values(self, missing: BoolArray, values: FloatArray) -> Self:
        """Return the model with other values filled in."""

    def draw_values(self, rng: Generator, state: Any, missing: BoolArray) -> FloatArray:
        """Draw the missing values given everything else in a state of the chain."""


@dataclass(frozen=True, eq=False)
class Model:
    """A model of recordings of which some values are missing at random.

    Parameters
    ----------
    inner : Incomplete
        Model of the recordings with something filled in, see `Model.of`.
    missing : ndarray of bool, shape (n_steps, n_dims)
        Which values are missing.
    """

    inner: Any
    missing: BoolArray

    @classmethod
    def of(cls, inner: Incomplete, missing: BoolArray) -> Model:
        """Return the model of recordings in which some values are missing; `inner` has them filled in somehow."""
        return cls(inner.with_gaps(missing), missing)

    def at_weight(self, weight: float) -> Model:
        """Return the model in which a step counts as another share of an observation."""
        return replace(self, inner=self.inner.at_weight(weight))

    def completed(self, values: FloatArray) -> Any:
        """Return the model with given values filled in; that of the last call is remembered."""
        last = self._last.get("last")  # once: chains of one process may share a model
        if last is None or last[0] is not values:
            check_array(values, "values", (int(np.count_nonzero(self.missing)),), np.float64)
            last = (values, self.inner.with_values(self.missing, values))
            self._last["last"] = last
        return last[1]

    @cached_property
    def _last(self) -> dict[str, tuple[FloatArray, Any]]:
        """Values and model of the last call. No field: a copy has its own, and no checkpoint asks."""
        return {}

    def check_state(self, state: ChainState) -> None:
        """Raise if a state does not fit this model."""
        check_finite(state.values, "values")
        self.completed(state.values).check_state(state.inner)
