"""What estimators share that report actions beside states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from homothety.summaries.paths import change_probability, segments_table, state_probability

if TYPE_CHECKING:
    from homothety.arrays import FloatArray, IntArray
    from homothety.summaries.paths import Segment
    from homothety.summaries.runs import PathDraws


class ReportsActions:
    """Mixin of the segmenters whose states are grouped into actions; `action_draws_` has the actions of all draws."""

    paths_: list[IntArray]
    starts_: IntArray
    n_states_: int
    action_draws_: PathDraws

    if TYPE_CHECKING:

        def _split(self, flat: Any) -> list[Any]: ...

    def _report_actions(self, point: IntArray) -> None:
        """Set actions and how sure they are, for every step of the recordings."""
        draws, states = list(self.action_draws_), np.concatenate(self.paths_)
        self.actions_ = self._split(point)
        self.n_actions_ = int(point.max()) + 1
        self.action_probability_ = self._split(state_probability(point, draws))
        self.action_change_probability_ = self._split(change_probability(draws, self.starts_))
        self.state_actions_ = shares_of_actions(states, point, self.n_states_).argmax(axis=1)
        shares = [shares_of_actions(states, draw, self.n_states_) for draw in draws]
        self.coaction_ = np.mean([share @ share.T for share in shares], axis=0)

    @property
    def action_segments_(self) -> list[Segment]:
        """Segments of one action each: series, start, end (not included), action and probability."""
        check_is_fitted(self)
        return segments_table(np.concatenate(self.actions_), self.starts_, np.concatenate(self.action_probability_))


def shares_of_actions(states: IntArray, actions: IntArray, n_states: int) -> FloatArray:
    """Return which share of the steps of each state has each action, (n_states, n_actions)."""
    labels, numbered = np.unique(actions, return_inverse=True)
    counts = np.zeros((n_states, len(labels)))
    np.add.at(counts, (states, numbered), 1.0)
    return counts / counts.sum(axis=1, keepdims=True)
