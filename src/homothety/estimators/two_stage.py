"""Segmentation first, actions afterwards: the decoupled variant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from homothety.arrays import check_count
from homothety.errors import InputError
from homothety.estimators._fitted import Fitted, part
from homothety.estimators.actions import make_grouping
from homothety.estimators.hmm import IBPHMM
from homothety.estimators.sampled import seed_sequence
from homothety.models import icsc
from homothety.summaries.partitions import relabel_by_size
from homothety.summaries.result import Labels, Segmentation

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.arrays import IntArray
    from homothety.estimators.actions import GroupingName
    from homothety.estimators.sampled import RandomState
    from homothety.estimators.segmentation import Segmenter

DRAWS_PER_START = 10


@dataclass(kw_only=True, eq=False, repr=False)
class TwoStageHMM(Fitted, BaseEstimator):
    """Segment series by any model, then group its states into actions: the decoupled variant of `ICSCHMM`.

    Parameters
    ----------
    segmenter : IBPHMM, StickyHDPHMM or HMMSelection, optional
        What finds the states; `IBPHMM` with its defaults if not given, which is the paper's.
    grouping : {"links", "shapes"} or Grouping, default="links"
        How states are grouped, as in `ICSCHMM`; the paper's by default.
    n_draws : int, default=100
        Partitions of the states to draw, each after some sweeps more; the most probable one counts.
    least_stay : int, default=1
        As in `IBPHMM`, where no segmenter is given; a segmenter that is given has its own.
    random_state : int, Generator, SeedSequence or None
        Of the grouping; the segmenter has its own.

    Attributes
    ----------
    segmenter_ : estimator
        The fitted segmenter: all that is known of the states.
    paths_, n_states_ : list of ndarray of int, int
        Those of the segmenter.
    actions_ : list of ndarray of int, shape (n_steps_i,)
        Action of every step of each series, numbered by decreasing number of steps.
    state_actions_ : ndarray of int, shape (n_states,)
    n_actions_ : int

    Examples
    --------
    >>> from homothety import HMMSelection, TwoStageHMM
    >>> from homothety.datasets import make_toy_2d
    >>> toy = make_toy_2d(random_state=0, n_steps=100)
    >>> segmenter = HMMSelection(max_states=5, random_state=0)
    >>> model = TwoStageHMM(segmenter=segmenter, grouping="shapes", random_state=0).fit(toy.sequences)
    >>> model.n_states_, model.n_actions_
    (4, 2)
    """

    segmenter: Segmenter | None = None
    grouping: GroupingName | icsc.Grouping = "links"
    n_draws: int = 100
    least_stay: int = 1
    random_state: RandomState = None

    paths_ = part("states.paths")
    n_states_ = part("states.number")
    actions_ = part("actions.paths")
    n_actions_ = part("actions.number")
    state_actions_ = part("state_actions")

    def fit(self, X: Any, y: Any = None, *, lengths: ArrayLike | None = None) -> Self:
        """Segment series, and group the states.

        Parameters
        ----------
        X, y, lengths
            As in `IBPHMM.fit`.
        """
        self._begin_fit()
        grouping = make_grouping(self.grouping)
        check_count(self.n_draws, "n_draws")
        segmenter = self._unfitted_segmenter()
        self.segmenter_ = segmenter.fit(X, y, lengths=lengths)
        rng = np.random.default_rng(seed_sequence(self.random_state))
        labels = most_probable_groups(rng, grouping, states_of(segmenter), self.n_draws)
        self._report(labels)
        return self

    def _unfitted_segmenter(self) -> Segmenter:
        """Return a copy of the segmenter that was given, or the default one."""
        least_stay = check_count(self.least_stay, "least_stay")
        if self.segmenter is None:
            return IBPHMM(least_stay=least_stay, random_state=self.random_state)
        if least_stay > 1:
            raise InputError(
                f"least_stay is {least_stay}, and a segmenter is given, which has its own. Set it there: "
                f"segmenter={type(self.segmenter).__name__}(least_stay={least_stay}, ...)."
            )
        return clone(self.segmenter)

    def _report(self, labels: IntArray) -> None:
        """Set the result: that of the segmenter, with actions numbered by their steps."""
        found: Segmentation = self.segmenter_.result_
        states = found.states.flat
        actions = relabel_by_size(labels[states])
        self.result_ = replace(
            found,
            provenance=self._provenance(),
            actions=Labels(flat=actions, starts=found.states.starts),
            state_actions=actions[np.unique(states, return_index=True)[1]],
        )

    def predict(self, X: Any, *, lengths: ArrayLike | None = None) -> list[IntArray]:
        """Return the most probable path of new series through the states found, one array per series."""
        check_is_fitted(self)
        return self.segmenter_.predict(X, lengths=lengths)

    def predict_actions(self, X: Any, *, lengths: ArrayLike | None = None) -> list[IntArray]:
        """Return the action of every step of new series, recorded in a frame that was there at fit."""
        return [self.state_actions_[path] for path in self.predict(X, lengths=lengths)]

    def score(self, X: Any, y: Any = None, *, lengths: ArrayLike | None = None) -> float:
        """Return the log-likelihood per step looked at of series under the states found."""
        check_is_fitted(self)
        return self.segmenter_.score(X, y, lengths=lengths)


def states_of(segmenter: Segmenter) -> icsc.States:
    """Return what is known of the states of a fitted segmenter, as a grouping wants it."""
    n_states, model, path = segmenter.n_states_, segmenter.states_, np.concatenate(segmenter.paths_)
    looks = model.weight * np.bincount(path, minlength=n_states) / segmenter.preprocessing_.settings.stride
    stays = icsc.count_stays(path, segmenter.starts_, n_states)
    return icsc.States(np.arange(n_states), model.covariances, looks + 1.0, *stays)


def most_probable_groups(rng: Generator, grouping: icsc.Grouping, states: icsc.States, n_draws: int) -> IntArray:
    """Draw partitions of states, from scratch now and then, and return the most probable one, (n_states,)."""
    drawn, clusters = [], icsc.Clusters.none()
    for draw in range(n_draws):
        clusters = grouping.draw(rng, states, icsc.Clusters.none() if draw % DRAWS_PER_START == 0 else clusters)
        drawn.append(clusters)
    return max(drawn, key=lambda one: one.log_density).labels
