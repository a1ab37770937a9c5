"""What all estimators share that sample: whether chains agree; and those of partitions: trace, point estimate."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.random import Generator, SeedSequence
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from homothety.arrays import check_count
from homothety.errors import ConvergenceWarning, InputError, ShortChainWarning
from homothety.persistence import Saveable
from homothety.sampling.diagnostics import judge, kept_draws, r_hat, to_arviz
from homothety.sampling.driver import Recording, Sweep, run_chains
from homothety.sampling.trace import Trace
from homothety.summaries.partitions import coclustering, minimise_expected_vi, relabel_by_size, size_entropy

if TYPE_CHECKING:
    from pathlib import Path

    from homothety.arrays import FloatArray, IntArray
    from homothety.sampling.diagnostics import Verdict

PointEstimate = Literal["vi", "map"]
RandomState = int | Generator | SeedSequence | np.random.RandomState | None

# Traced numbers that do not depend on how labels are numbered, and what they are called; only some models trace each.
LABEL_FREE = {
    "log_joint": "log joint density",
    "n_clusters": "number of clusters",
    "size_entropy": "evenness of clusters (entropy)",
    "n_actions": "number of actions",
    "n_action_segments": "number of segments of actions",
    "action_entropy": "evenness of actions (entropy)",
    "n_states": "number of states",
    "n_segments": "number of segments",
    "occupancy_entropy": "evenness of states (entropy)",
}
MAX_R_HAT, MIN_ESS = 1.05, 25  # of chains that agree; draws are those of each chain

# A fit warns of these numbers alone, of large differences alone, and only if there are draws enough to tell them.
WARNED_OF = ("n_clusters", "n_actions", "n_states", "log_joint")
WARNED_R_HAT, LEAST_KEPT = 1.1, 50


class SampledChains:
    """Mixin of the estimators that sample: whether their chains agree.

    `trace_` has the numbers of every sweep, (n_chains, n_sweeps) each, of which the first `n_burn_` were not kept.
    """

    n_sweeps: int
    n_burn_: int
    trace_: dict[str, FloatArray]

    def diagnose(self) -> Verdict:
        """Return whether the chains agree, in numbers and in plain words (needs the extra ``diagnostics``)."""
        return judge(self._kept_traces(), names=self._compared(), max_r_hat=MAX_R_HAT, min_ess=MIN_ESS)

    def to_arviz(self) -> Any:
        """Return the traced numbers of the kept sweeps as ArviZ's data tree (needs the extra ``diagnostics``)."""
        traces = self._kept_traces()
        # ArviZ expects the likelihood of single steps under that name, not their sum.
        left_out = ("seconds", "log_likelihood")
        names = [name for name in self.trace_ if name not in left_out and not name.startswith("acceptance")]
        return to_arviz(traces, names=names)

    def _compared(self) -> list[str]:
        """Return the traced numbers in which chains have to agree."""
        return [name for name in LABEL_FREE if name in self.trace_]

    def _kept_traces(self) -> list[Trace]:
        """Return the traces of all chains again, from what is stored of them."""
        check_is_fitted(self)
        return unstack_traces(self.trace_, self.n_burn_)

    def _warn_unless_chains_agree(self) -> None:
        """Warn of numbers that differ between chains, if the chains are long enough to tell."""
        names = [name for name in WARNED_OF if name in self._compared()]
        draws = kept_draws(self._kept_traces(), names)
        if draws[names[0]].shape[1] < LEAST_KEPT:
            return
        ratios = {name: round(r_hat(values), 2) for name, values in draws.items()}  # as they are told
        differ = [f"{ratios[name]:.2f} for the {LABEL_FREE[name]}" for name in names if ratios[name] > WARNED_R_HAT]
        if differ:
            warnings.warn(
                f"The chains do not agree: R-hat is {' and '.join(differ)}, needed {WARNED_R_HAT} or less. Another run "
                f"may give another answer. Set n_sweeps to {2 * self.n_sweeps} or more; if chains still differ then, "
                "several answers are probable.",
                ConvergenceWarning,
                stacklevel=depth_in_library(),
            )


def depth_in_library() -> int:
    """Return the stack level, for a warning of the calling function, of the line outside of the library."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("homothety."):
        frame, level = frame.f_back, level + 1
    return level


class SampledPartition(SampledChains, ClusterMixin, Saveable, BaseEstimator):
    """Base of the estimators whose answer is a posterior over partitions.

    Subclasses store, as constructor parameters, `n_chains`, `n_sweeps`, `n_burn`, `point_estimate`, `random_state`,
    `n_jobs`, `progress`, `checkpoint` and `sample_concentration`.
    """

    n_chains: int
    n_sweeps: int
    n_burn: int | None
    point_estimate: PointEstimate
    random_state: RandomState
    n_jobs: int | None
    progress: bool
    checkpoint: str | Path | None
    sample_concentration: bool

    draws_: IntArray
    labels_: IntArray

    def _sample(self, model: Any, state: Any, sweep: Sweep, recording: Recording) -> None:
        """Run the chains and set everything that follows from their traces."""
        if self.point_estimate not in ("vi", "map"):
            raise InputError(f"point_estimate is {self.point_estimate!r}, needed 'vi' or 'map'.")
        n_burn = self.n_sweeps // 2 if self.n_burn is None else self.n_burn
        run = partial(run_chains, n_chains=self.n_chains, n_sweeps=self.n_sweeps, n_burn=n_burn)
        traces = run(
            model,
            state,
            sweep,
            recording,
            seed=None if self.random_state is None else seed_sequence(self.random_state),
            n_jobs=self.n_jobs,
            progress=self.progress,
            checkpoint=self.checkpoint,
        )
        self.interrupted_ = was_interrupted(traces, self.n_chains)
        self._summarise([trace for trace in traces if trace.kept or trace.n_sweeps], n_burn)
        self._warn_unless_chains_agree()

    def _summarise(self, traces: list[Trace], n_burn: int) -> None:
        """Set trace, draws and labels from the traces of all chains."""
        self._coclustering: FloatArray | None = None  # of these draws, worked out when asked for
        if not any(trace.kept for trace in traces):
            raise KeyboardInterrupt("Interrupted before any sweep after burn-in: there is nothing to report.")
        if self.interrupted_:
            n_kept = sum(len(trace.kept) for trace in traces)
            message = f"Interrupted: the answer rests on the {n_kept} sweeps kept until then."
            warnings.warn(message, ShortChainWarning, stacklevel=4)
        self.n_burn_ = n_burn
        self.trace_ = stack_traces([with_entropy(trace) for trace in traces])
        self.draws_ = self._of_items(np.concatenate([np.stack(trace.kept) for trace in traces if trace.kept]))
        self.map_labels_ = relabel_by_size(self.draws_[most_probable(traces, n_burn)])
        self.labels_ = self._agreed(self.draws_) if self.point_estimate == "vi" else self.map_labels_
        self.n_clusters_ = int(self.labels_.max()) + 1

    def _compared(self) -> list[str]:
        return [*super()._compared(), *["concentration"] * self.sample_concentration]

    def _of_items(self, draws: IntArray) -> IntArray:
        """Return draws (n_draws, n_items) with the items in the order they were given in."""
        return draws

    def _agreed(self, draws: IntArray) -> IntArray:
        """Return the partition that draws agree on best."""
        return minimise_expected_vi(draws)

    @property
    def coclustering_(self) -> FloatArray:
        """Share of the kept sweeps in which two items are in one cluster, (n_items, n_items)."""
        check_is_fitted(self)
        known: FloatArray | None = getattr(self, "_coclustering", None)  # files do not hold it
        if known is None:
            known = self._coclustering = coclustering(self.draws_)
        return known

    def fit_predict(self, X: Any, y: Any = None, **options: Any) -> IntArray:
        """Fit, and return the cluster of each item, (n_items,)."""
        fitted: Self = self.fit(X, y, **options)
        return fitted.labels_


def with_entropy(trace: Trace) -> Trace:
    """Return the trace of a chain over partitions with the entropy of the cluster sizes; NaN where none was kept."""
    burnt = [np.nan] * (trace.n_sweeps - len(trace.kept))
    return replace(trace, scalars={**trace.scalars, "size_entropy": burnt + [size_entropy(one) for one in trace.kept]})


def was_interrupted(traces: list[Trace], n_chains: int) -> bool:
    """Say whether a chain ended early, or was not even begun."""
    return len(traces) < n_chains or any(trace.interrupted for trace in traces)


def seed_sequence(random_state: RandomState) -> SeedSequence:
    """Return a seed sequence from whatever scikit-learn accepts as `random_state`."""
    if isinstance(random_state, SeedSequence):
        # A copy as new: chains spawn from it, and a second fit must find it as the first did.
        return SeedSequence(random_state.entropy, spawn_key=random_state.spawn_key, pool_size=random_state.pool_size)
    if isinstance(random_state, Generator):
        return SeedSequence(int(random_state.integers(2**63)))
    if isinstance(random_state, np.random.RandomState):
        return SeedSequence(int(random_state.randint(2**31)))
    return SeedSequence(None if random_state is None else check_count(random_state, "random_state", minimum=0))


def stack_traces(traces: list[Trace]) -> dict[str, FloatArray]:
    """Return each traced quantity as an array (n_chains, n_sweeps); sweeps an interrupt left out are NaN."""
    n_sweeps = max(trace.n_sweeps for trace in traces)
    names = traces[0].scalars
    return {
        name: np.stack(
            [np.pad(t.array(name), (0, n_sweeps - t.n_sweeps), constant_values=np.nan) for t in traces],
        )
        for name in names
    }


def unstack_traces(stacked: dict[str, FloatArray], n_burn: int) -> list[Trace]:
    """Return the traces of all chains again, without what was kept of their states: the opposite of `stack_traces`."""
    traces = []
    for chain, log_joint in enumerate(stacked["log_joint"]):
        n_sweeps = int(np.isfinite(log_joint).sum())
        scalars = {name: values[chain, :n_sweeps].tolist() for name, values in stacked.items()}
        traces.append(Trace(scalars, kept=list(range(max(n_sweeps - n_burn, 0)))))
    return traces


def most_probable(traces: list[Trace], n_burn: int) -> int:
    """Return which of all kept draws, chain after chain, has the largest joint density."""
    return int(np.argmax(np.concatenate([trace.array("log_joint")[n_burn:] for trace in traces])))


def forget_fit(model: Any) -> None:
    """Take away all that a fit has set: a fit that fails must leave no mixture of two behind."""
    for name in [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]:
        delattr(model, name)
