"""What estimators share that report actions beside states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from homothety.estimators._fitted import part
from homothety.summaries.paths import colabelling

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray
    from homothety.summaries.paths import BoundaryInterval, Segment
    from homothety.summaries.result import Labels, Segmentation
    from homothety.summaries.runs import PathDraws


class ReportsActions:
    """Mixin of the segmenters whose states are grouped into actions; `action_draws_` has the actions of all draws."""

    result_: Segmentation
    actions_: list[IntArray] = part("actions.paths")
    n_actions_: int = part("actions.number")
    action_probability_: list[FloatArray] = part("actions.probability")
    action_change_probability_: list[FloatArray] = part("actions.change_probability")
    action_segments_: list[Segment] = part("actions.segments")
    action_boundaries_: list[BoundaryInterval] = part("actions.boundaries")
    action_draws_: PathDraws = part("actions.draws")
    state_actions_: IntArray = part("state_actions")
    coaction_: FloatArray = part("coaction")

    if TYPE_CHECKING:

        def _labels(self, point: IntArray, draws: Iterable[IntArray]) -> Labels: ...
        def _amend(self, **parts: Any) -> None: ...

    def _report_actions(self, point: IntArray, draws: Iterable[IntArray]) -> None:
        """Set actions of all steps of the recordings, and how sure they are by some draws of them."""
        states, n_states = self.result_.states.flat, self.result_.states.number
        actions = self._labels(point, draws)
        shares = [shares_of_actions(states, draw, n_states) for draw in actions.draws or ()]
        self._amend(
            actions=actions,
            state_actions=shares_of_actions(states, point, n_states).argmax(axis=1),
            coaction=np.mean([share @ share.T for share in shares], axis=0),
        )

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
        result = self.result_
        return colabelling(list(self.action_draws_), rows, columns, result.states.starts, result.stride)


def shares_of_actions(states: IntArray, actions: IntArray, n_states: int) -> FloatArray:
    """Return which share of the steps of each state has each action, (n_states, n_actions)."""
    labels, numbered = np.unique(actions, return_inverse=True)
    counts = np.zeros((n_states, len(labels)))
    np.add.at(counts, (states, numbered), 1.0)
    return counts / counts.sum(axis=1, keepdims=True)
