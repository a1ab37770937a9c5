"""Discovery of actions: states that are the same up to rotation, scale and translation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from homothety.errors import InputError
from homothety.estimators._fitted import part
from homothety.estimators.hmm import IBPHMM
from homothety.estimators.sampled import seed_sequence
from homothety.known import mean_of_known, variance_of_known
from homothety.models import icsc
from homothety.models.emissions.missing import completed_series
from homothety.models.hmm.messages import mend_short_stays
from homothety.models.icsc.model import Coupling, Covariances
from homothety.summaries.partitions import relabel_by_size
from homothety.summaries.paths import colabelling, minimise_expected_vi_paths
from homothety.summaries.runs import PathDraws
from homothety.summaries.transforms import transform_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray
    from homothety.datasets import SequenceSet
    from homothety.models.emissions import Emission
    from homothety.sampling.trace import Trace
    from homothety.sequences import Sequences
    from homothety.summaries.paths import BoundaryInterval, Segment
    from homothety.summaries.result import Labels, Segmentation


STILL = 1e-9  # share of the variance over all series, below which a dimension does not vary inside them

GroupingName = Literal["shapes", "links"]


def typical_variances(prepared: Sequences) -> FloatArray:
    """Return the variance of each dimension inside a series of typical size.

    Where series are does not count, and one that is much larger or smaller than the others does not set the prior.
    """
    centred = [one - mean_of_known(one) for one in prepared]
    inside, overall = mean_of_known(np.concatenate(centred) ** 2), variance_of_known(prepared.steps)
    moves = inside > STILL * overall
    spread = np.where(moves, inside, overall)  # a dimension may do nothing but tell series apart
    if not moves.any():
        return spread
    return spread * np.median([mean_of_known(one[:, moves] ** 2 / spread[moves], axis=None) for one in centred])


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


@dataclass(kw_only=True, eq=False, repr=False)
class ICSCHMM(ReportsActions, IBPHMM):
    """Segment series and find which states are one action, turned, moved or resized.

    The states are those of `IBPHMM`. In every sweep they are grouped into actions by the shape of their covariances,
    and the answer is what the sweeps of all chains agree on.

    Parameters
    ----------
    grouping : {"shapes", "links"} or Grouping, default="shapes"
        How states are grouped. "shapes": by shape coordinates with the noise they have, by their order, and
        one version of an action per series. "links": as the paper has it, by a spectral embedding of their similarity.
    coupling : {"burnin", "paper"} or None, default=None
        Whether the number of actions sets the hyper-priors of the segmentation: until the end of burn-in; always, as
        the paper has it, though no posterior is sampled then; or never. Coupled, the prior mean of the weight of
        staying in a state is one, whatever is found.
    covariances : {"sample", "mean", "draw"}, default="sample"
        What stands for the covariance of a state when it is grouped: that of its steps, its posterior mean, which is
        rounder, or the draw of the sweep (the paper's).
    include_unused : bool, default=False
        Whether states without any step are grouped too (the paper's).
    scale : float, default=0.5
        Prior variance of a state, as a multiple of that inside a series of typical size. Larger than in `IBPHMM`: an
        action is a larger piece of a motion than a state.
    mean_strength : float, default=0.1
        As in `IBPHMM`, where it is larger: a strong prior of the mean stretches every state that is far from the middle
        towards it.
    step_weight : float or "auto", default="auto"
        As in `IBPHMM`.
    emission, order, preprocessing, dof, gamma, alpha, kappa, sample_mass, start, n_start, n_split_merge
        As in `IBPHMM`.
    least_stay, missing
        As in `IBPHMM`.
    n_chains, n_sweeps, n_burn, point_estimate, random_state, n_jobs, progress, checkpoint
        As in `IBPHMM`.

    Attributes
    ----------
    actions_ : list of ndarray of int, shape (n_steps_i,)
        Action of every step of each series, numbered by decreasing number of steps.
    n_actions_ : int
    state_actions_ : ndarray of int, shape (n_states,)
        Action that most of the steps of a state have.
    action_probability_ : list of ndarray, shape (n_steps_i,)
        Posterior probability of the reported action of every step, as `state_probability_` of `IBPHMM`.
    action_change_probability_ : list of ndarray, shape (n_steps_i,)
        Posterior probability of a change of action, as `change_probability_` of `IBPHMM`.
    action_boundaries_ : list of BoundaryInterval
        Every change of action, with a 90 % interval.
    coaction_ : ndarray of shape (n_states, n_states)
        Posterior probability that two states are one action.
    transforms_ : list of StateTransform
        For every state its rotation, scale and translation from the state with most steps of its action, with
        intervals. In the units of the recordings if the preparation multiplied all dimensions by the same number, else
        in those of the prepared recordings, in which shapes were compared. Where each recording was centred on its own,
        means and translations are relative to the centres of recordings.
    n_sweeps_, chain_weights_
        As in `IBPHMM`.
    paths_, n_states_, segments_, means_, covariances_, transition_probs_, step_weight_, trace_, draws_
        As in `IBPHMM`; the trace has "n_actions", and "log_clusters" of the actions beside "log_joint" of the states.
    action_draws_ : PathDraws
        Actions of the kept sweeps, numbered anew in each.

    Examples
    --------
    >>> from homothety import ICSCHMM
    >>> from homothety.datasets import make_toy_2d
    >>> toy = make_toy_2d(random_state=0, n_steps=200)
    >>> model = ICSCHMM(n_chains=2, n_sweeps=100, random_state=0).fit(toy.sequences)
    >>> model.n_states_, model.n_actions_
    (4, 2)
    """

    grouping: GroupingName | icsc.Grouping = "shapes"
    coupling: Coupling | None = None
    covariances: Covariances = "sample"
    include_unused: bool = False
    mean_strength: float = 0.1
    scale: float = 0.5

    transforms_ = part("transforms")

    def _spread(self, prepared: Sequences) -> FloatArray:
        return typical_variances(prepared)  # series may be in different places and sizes

    def _segment(self, prepared: Sequences) -> None:
        segmentation = self._segmentation_model(prepared)
        model = icsc.Model(
            segmentation,
            make_grouping(self.grouping),
            self.covariances,
            self.include_unused,
            self.coupling,
            n_adapt=self.least_burn() if self.coupling == "burnin" else 0,
        )
        start = partial(icsc.init_state, start=self._start(prepared.missing))
        self._sample(prepared, model, start, icsc.default_sweep(), icsc.RECORDING, segmentation.emission)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.coupling is not None and self.coupling not in get_args(Coupling):
            raise InputError(f"coupling is {self.coupling!r}, needed 'burnin', 'paper' or None.")
        if self.covariances not in get_args(Covariances):
            raise InputError(f"covariances is {self.covariances!r}, needed 'sample', 'mean' or 'draw'.")

    def _answer(self, prepared: Sequences, emission: Emission, traces: list[Trace]) -> IntArray:
        kept = [draw for trace in traces for draw in trace.kept]
        states = [replace(trace, kept=[draw.path for draw in trace.kept]) for trace in traces]
        point = super()._answer(prepared, emission, states)
        where = self._steps_of_recordings(prepared, emission.order)
        actions = [draw.actions().expand() for draw in kept]
        agreed = self._agreed_actions(actions, emission.augment(prepared)[1])
        self._report_actions(agreed[where], (path[where] for path in actions))
        self._report_transforms(prepared, emission, point, PathDraws.of([path for one in states for path in one.kept]))
        return point

    def _agreed_actions(self, actions: list[IntArray], starts: IntArray) -> IntArray:
        """Return what the actions of all draws agree on, over modelled steps, without stays that are too short."""
        point, least_stay = minimise_expected_vi_paths(actions), self._least_stay_in_looks()
        return point if least_stay == 1 else relabel_by_size(mend_short_stays(point, starts, least_stay))

    def _report_transforms(self, prepared: Sequences, emission: Emission, point: IntArray, draws: PathDraws) -> None:
        """Set how the states of an action differ from the one that has most of its steps."""
        rng = np.random.default_rng(seed_sequence(self.random_state))
        with threadpool_limits(1):  # thousands of small matrices: threads would wait for each other most of the time
            # Where values are missing, intervals do not include what is not known of them.
            prepared = completed_series(rng, emission, prepared, point)
            table = transform_table(rng, emission, prepared, point, draws, self.state_actions_)
        factors = self.preprocessing_.factors
        if (factors == factors[0]).all():
            table = table.rescaled(float(factors[0]), self.preprocessing_.offset)
        self._amend(transform_table=table)

    def predict_actions(self, X: Any, *, lengths: ArrayLike | None = None) -> list[IntArray]:
        """Return the action of every step of new recordings, in the frames of those of the fit.

        `ActionHMM.predict_actions` finds actions in frames that were not there at fit.

        Parameters
        ----------
        X, lengths
            As in `fit`.
        """
        new = self._prepare_new(X, lengths)
        return [self._expand(self.state_actions_[states.path(series)], n) for states, series, n in new]

    def _sampled(self, rng: Generator, paths: list[IntArray], steps: list[FloatArray]) -> SequenceSet:
        return replace(super()._sampled(rng, paths, steps), actions=[self.state_actions_[path] for path in paths])


def make_grouping(grouping: GroupingName | icsc.Grouping) -> icsc.Grouping:
    """Return a way to group states by its name, or the given one."""
    known: dict[str, icsc.Grouping] = {"shapes": icsc.ShapeGrouping(), "links": icsc.LinkGrouping()}
    if isinstance(grouping, str):
        if grouping not in known:
            raise InputError(
                f"grouping is {grouping!r}, needed 'shapes', 'links' or a grouping of homothety.models.icsc."
            )
        return known[grouping]
    return grouping
