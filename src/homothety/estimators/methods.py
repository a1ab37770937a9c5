"""The methods of segmentation that are compared: five of the paper, ours, and one state for all steps."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from homothety.errors import ShortChainWarning
from homothety.estimators.action_hmm import ActionHMM
from homothety.estimators.baselines import TwoStageHMM
from homothety.estimators.hmm import IBPHMM, ICSCHMM, HMMSelection, StickyHDPHMM
from homothety.sequences import check_sequences

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from homothety.arrays import IntArray


@dataclass(frozen=True)
class Method:
    """A way to label every step of recordings.

    Parameters
    ----------
    title : str
        What it is called in tables.
    prototype : estimator
        With everything that makes it this method and no other; never fitted itself.
    """

    title: str
    prototype: BaseEstimator

    def make(
        self, n_sweeps: int | None = None, n_chains: int | None = None, seed: int | None = None, **others: Any
    ) -> Any:
        """Return an estimator, not yet fitted.

        Parameters
        ----------
        n_sweeps, n_chains : int, optional
            How long to sample; as the estimator has it by default if not given.
        seed : int, optional
        **others
            Further parameters, such as `preprocessing` or `max_states`. Whatever the estimator, or one it is made of,
            has no such parameter for is left out, and so is None.
        """
        wanted = {"n_sweeps": n_sweeps, "n_chains": n_chains, "random_state": seed, **others}
        given = {name: value for name, value in wanted.items() if value is not None}
        model = clone(self.prototype)
        named = {parameter: parameter.rpartition("__")[2] for parameter in model.get_params()}
        return model.set_params(**{parameter: given[name] for parameter, name in named.items() if name in given})


class OneState(BaseEstimator):
    """Give all steps the same label: the baseline that any method has to exceed.

    Some scores look good for it, Hamming among them wherever one action takes most of the time.
    """

    paths_: list[IntArray]

    def fit(self, X: Any, y: Any = None, *, lengths: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Label recordings, given as for any segmenter."""
        self.paths_ = [np.zeros(len(one), dtype=np.int64) for one in check_sequences(X, lengths=lengths)]
        return self


METHODS = {
    "hmm": Method("HMM, BIC", HMMSelection()),
    "hdp": Method("sticky HDP-HMM", StickyHDPHMM()),
    "ibp": Method("IBP-HMM", IBPHMM()),
    "two-stage": Method("IBP-HMM + SPCM-CRP", TwoStageHMM(segmenter=IBPHMM())),
    "icsc-paper": Method(
        "ICSC-HMM, as published",
        ICSCHMM(grouping="links", coupling="paper", covariances="draw", include_unused=True, step_weight=1.0),
    ),
    "icsc": Method("ICSC-HMM", ICSCHMM()),
    "actions": Method("ActionHMM", ActionHMM()),
    "one-state": Method("one state", OneState()),
}


def fit_whole(model: Any, *args: Any, **options: Any) -> Any:
    """Fit a sampler, and raise if it was interrupted, because an incomplete run must not enter a table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShortChainWarning)
        model.fit(*args, **options)
    if getattr(model, "interrupted_", False):
        raise KeyboardInterrupt
    return model


def labels_of(fitted: Any) -> list[IntArray]:
    """Return the label of every step by a fitted method: its action, or its state if there are no actions.

    Returns
    -------
    labels : list of ndarray of int, shape (n_steps_i,)
        One array per recording.
    """
    labels: list[IntArray] = fitted.actions_ if hasattr(fitted, "actions_") else fitted.paths_
    return labels
