"""What estimators share that report actions beside states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from homothety.summaries.paths import (
    boundaries_of_table,
    boundary_intervals,
    change_probability,
    colabelling,
    segments_table,
    state_probability,
    table_of_boundaries,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray
    from homothety.preprocessing import FittedPreprocessing
    from homothety.summaries.paths import BoundaryInterval, Segment
    from homothety.summaries.runs import PathDraws


class ReportsActions:
    """Mixin of the segmenters whose states are grouped into actions; `action_draws_` has the actions of all draws."""

    paths_: list[IntArray]
    starts_: IntArray
    n_states_: int
    action_draws_: PathDraws
    preprocessing_: FittedPreprocessing

    if TYPE_CHECKING:

        def _split(self, flat: Any) -> list[Any]: ...

    def _report_actions(self, point: IntArray) -> None:
        """Set actions and how sure they are, for every step of the recordings."""
        draws, states, stride = list(self.action_draws_), np.concatenate(self.paths_), self._stride()
        self.actions_ = self._split(point)
        self.n_actions_ = int(point.max()) + 1
        self.action_probability_ = self._split(state_probability(point, draws, self.starts_, stride))
        self.action_change_probability_ = self._split(change_probability(draws, self.starts_))
        self.action_boundary_table_ = table_of_boundaries(boundary_intervals(point, draws, self.starts_, stride=stride))
        self.state_actions_ = shares_of_actions(states, point, self.n_states_).argmax(axis=1)
        shares = [shares_of_actions(states, draw, self.n_states_) for draw in draws]
        self.coaction_ = np.mean([share @ share.T for share in shares], axis=0)

    @property
    def action_segments_(self) -> list[Segment]:
        """Segments of one action each: series, start, end (not included), action and probability."""
        check_is_fitted(self)
        return segments_table(np.concatenate(self.actions_), self.starts_, np.concatenate(self.action_probability_))

    @property
    def action_boundaries_(self) -> list[BoundaryInterval]:
        """Every change of action with the interval that holds it with a probability of 90 %."""
        check_is_fitted(self)
        return boundaries_of_table(self.action_boundary_table_)

    def action_colabelling(self, rows: ArrayLike, columns: ArrayLike) -> FloatArray:
        """Return the probability that two steps have the same action, for chosen steps only.

        Parameters
        ----------
        rows, columns : array-like of int
            Steps, counted over all recordings one after the other.

        Returns
        -------
        probability : ndarray of shape (n_rows, n_columns)
        """
        check_is_fitted(self)
        return colabelling(list(self.action_draws_), rows, columns, self.starts_, self._stride())

    def _stride(self) -> int:
        """Return the number of steps from one look to the next."""
        return self.preprocessing_.settings.stride


def shares_of_actions(states: IntArray, actions: IntArray, n_states: int) -> FloatArray:
    """Return which share of the steps of each state has each action, (n_states, n_actions)."""
    labels, numbered = np.unique(actions, return_inverse=True)
    counts = np.zeros((n_states, len(labels)))
    np.add.at(counts, (states, numbered), 1.0)
    return counts / counts.sum(axis=1, keepdims=True)
