"""What all estimators share that sample: whether chains agree; and those of partitions: trace, point estimate."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.random import Generator, SeedSequence
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from homothety.arrays import check_count, check_option, check_whole
from homothety.errors import ConvergenceWarning, InputError, ShortChainWarning
from homothety.persistence import Saveable
from homothety.sampling.diagnostics import judge, kept_draws, r_hat, to_arviz
from homothety.sampling.driver import Recording, Sweep, run_chains
from homothety.sampling.rounds import Rounds, Schedule
from homothety.sampling.trace import Trace
from homothety.summaries.partitions import coclustering, minimise_expected_vi, relabel_by_size, size_entropy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from homothety.arrays import FloatArray, IntArray
    from homothety.sampling.diagnostics import Verdict

PointEstimate = Literal["vi", "map"]
NumberOfSweeps = int | Literal["auto"]
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
# Chains agree up to these; draws are those of each chain. A density tells more than a number that takes few values.
MAX_R_HAT, MAX_R_HAT_OF_DENSITY, MIN_ESS = 1.1, 1.05, 25

# A fit warns of these numbers alone, of large differences alone, and only if there are draws enough to tell them.
WARNED_OF = ("n_clusters", "n_actions", "n_states", "log_joint")
WARNED_R_HAT, LEAST_KEPT = 1.1, 100
# Chains are weighted if they differ more from each other than each of them varies: R-hat squared is above two.
APART_R_HAT = 1.41


class AutoSweeps(NamedTuple):
    """What ``n_sweeps="auto"`` means for a model: sweeps of each chain."""

    first: int  # before chains are compared for the first time
    most: int
    alone: int  # of a single chain, which cannot be compared


@dataclass(kw_only=True, eq=False, repr=False)
class ChainSettings:
    """Parameters of all estimators that sample."""

    n_chains: int = 4
    n_sweeps: NumberOfSweeps = "auto"
    n_burn: int | None = None
    point_estimate: PointEstimate = "vi"
    random_state: RandomState = None
    n_jobs: int | None = None
    progress: bool = False
    checkpoint: str | Path | None = None


class SampledChains(ChainSettings):
    """Mixin of the estimators that sample: how long, and whether their chains agree.

    `trace_` has the numbers of every sweep, (n_chains, n_sweeps) each, of which the first `n_burn_` were not kept.
    """

    auto_sweeps: ClassVar[AutoSweeps] = AutoSweeps(first=200, most=800, alone=200)

    n_burn_: int
    trace_: dict[str, FloatArray]
    chain_weights_: FloatArray

    @property
    def n_sweeps_(self) -> int:
        """Number of sweeps that each chain has made; the longest chain after an interrupt."""
        check_is_fitted(self)
        return int(self.trace_["log_joint"].shape[1])

    def diagnose(self) -> Verdict:
        """Return whether the chains agree, in numbers and in plain words (needs the extra ``diagnostics``)."""
        traces, names = self._kept_traces(), self._compared()
        return judge(traces, names=names, max_r_hat=r_hat_limits(names), min_ess=MIN_ESS)

    def to_arviz(self) -> Any:
        """Return the traced numbers of the kept sweeps as ArviZ's data tree (needs the extra ``diagnostics``)."""
        traces = self._kept_traces()
        # ArviZ expects the likelihood of single steps under that name, not their sum.
        left_out = ("seconds", "log_likelihood")
        names = [name for name in self.trace_ if name not in left_out and not name.startswith("acceptance")]
        return to_arviz(traces, names=names)

    def _run_chains(
        self, model: Any, state: Any, sweep: Sweep, recording: Recording, numbers: Callable[[Trace], Trace]
    ) -> list[Trace]:
        """Run all chains; `numbers` adds to a trace what else chains are compared by, for its kept sweeps."""
        check_option(self.point_estimate, "point_estimate", get_args(PointEstimate))
        traces = run_chains(
            model,
            state,
            sweep,
            recording,
            seed=None if self.random_state is None else seed_sequence(self.random_state),
            n_chains=self.n_chains,
            n_sweeps=self._n_sweeps(lambda traces: self._differences([numbers(trace) for trace in traces])),
            n_burn=self.n_burn,
            n_jobs=self.n_jobs,
            progress=self.progress,
            checkpoint=self.checkpoint,
        )
        self.interrupted_ = was_interrupted(traces, self.n_chains)
        return [trace for trace in traces if trace.n_sweeps]

    def _n_sweeps(self, differences: Callable[[list[Trace]], str]) -> int | Rounds:
        """Return how many sweeps to make."""
        if not isinstance(self.n_sweeps, str):
            return check_whole(self.n_sweeps, "n_sweeps")
        if self.n_sweeps != "auto":
            raise InputError(f"n_sweeps is {self.n_sweeps!r}, needed a whole number, or 'auto'.")
        auto = self.auto_sweeps
        return auto.alone if self.n_chains == 1 else Rounds(auto.first, auto.most, differences)

    def least_burn(self) -> int:
        """Return the sweeps that are forgotten in any case: the burn-in of the first round."""
        return Schedule(self._n_sweeps(lambda _: ""), self.n_burn).least_burn

    def _differences(self, traces: list[Trace]) -> str:
        """Return the number in which chains differ most, in words; nothing if they agree."""
        names = self._compared_of(traces[0].scalars)
        # Rounded as they are told. A number that never changes has none, and is fine.
        ratios = {name: round(r_hat(values), 2) for name, values in kept_draws(traces, names).items()}
        differ = [name for name, limit in r_hat_limits(names).items() if ratios[name] > limit]
        if not differ:
            return ""
        worst = max(differ, key=lambda name: ratios[name])
        return f"the {LABEL_FREE.get(worst, worst)} (R-hat {ratios[worst]:.2f})"

    def _compared(self) -> list[str]:
        """Return the traced numbers in which chains have to agree."""
        return self._compared_of(self.trace_)

    def _compared_of(self, traced: Collection[str]) -> list[str]:
        """Return those of some traced numbers in which chains have to agree."""
        return [name for name in LABEL_FREE if name in traced]

    def _kept_traces(self) -> list[Trace]:
        """Return the traces of all chains again, from what is stored of them."""
        check_is_fitted(self)
        return unstack_traces(self.trace_, self.n_burn_)

    def _warned_of(self, limit: float = WARNED_R_HAT) -> list[str]:
        """Return the numbers that differ clearly between chains, in words, if the chains are long enough to tell."""
        names = [name for name in WARNED_OF if name in self._compared()]
        draws = kept_draws(self._kept_traces(), names)
        if draws[names[0]].shape[1] < LEAST_KEPT:
            return []
        ratios = {name: round(r_hat(values), 2) for name, values in draws.items()}  # as they are told
        return [f"{ratios[name]:.2f} for the {LABEL_FREE[name]}" for name in names if ratios[name] > limit]

    def _warn_unless_chains_agree(self) -> None:
        """Warn of numbers that differ between chains."""
        if differ := self._warned_of():
            weighted = weights_in_words(self)
            warnings.warn(
                f"The chains do not agree: R-hat is {' and '.join(differ)}, needed {WARNED_R_HAT} or less. Another run "
                f"may give another answer. {f'{weighted} ' * bool(weighted)}{self._remedy()}",
                ConvergenceWarning,
                stacklevel=depth_in_library(),
            )

    def _remedy(self) -> str:
        """Return what to do if chains do not agree."""
        twice = 2 * self.n_sweeps_
        if self.n_sweeps == "auto" and self.n_sweeps_ == self.auto_sweeps.most:
            return (
                f"{self.n_sweeps_} sweeps are the limit of n_sweeps='auto'. Several answers are probable; to make "
                f"sure, set n_sweeps={twice}."
            )
        return f"Set n_sweeps to {twice} or more; if chains still differ then, several answers are probable."


def weights_in_words(model: Any) -> str:
    """Return the weights of chains in one sentence; nothing where all chains count alike."""
    weights = getattr(model, "chain_weights_", None)  # files from before there were weights do not hold them
    if weights is None or np.ptp(weights[weights > 0]) == 0:
        return ""
    told = ", ".join(f"{weight:.2f}" for weight in weights)
    return f"Draws are weighted by how well each chain predicts left-out looks: {told}."


def equal_weights(traces: list[Trace]) -> FloatArray:
    """Return equal weights of all chains that have kept something, (n_chains,)."""
    has_draws = np.array([bool(trace.kept) for trace in traces])
    return np.asarray(has_draws / has_draws.sum())


def r_hat_limits(names: Iterable[str]) -> dict[str, float]:
    """Return the largest R-hat at which chains agree, by name."""
    return {name: MAX_R_HAT_OF_DENSITY if name == "log_joint" else MAX_R_HAT for name in names}


def depth_in_library() -> int:
    """Return the stack level, for a warning of the calling function, of the line outside of the library."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("homothety."):
        frame, level = frame.f_back, level + 1
    return level


@dataclass(kw_only=True, eq=False, repr=False)
class ClusterSettings:
    """Parameters of all mixtures of Gaussians that sample: the prior of partitions and of a cluster."""

    concentration: float = 1.0
    sample_concentration: bool = False
    mean_strength: float = 1.0
    dof: float | None = None
    scale: float | None = None
    prior_share: float = 0.003
    diagonal: bool = False


class SampledPartition(ClusterSettings, SampledChains, ClusterMixin, Saveable, BaseEstimator):
    """Base of the estimators whose answer is a posterior over partitions."""

    draws_: IntArray
    labels_: IntArray

    def _sample(self, model: Any, state: Any, sweep: Sweep, recording: Recording) -> None:
        """Run the chains and set everything that follows from their traces."""
        self._summarise(self._run_chains(model, state, sweep, recording, with_entropy))
        self._warn_unless_chains_agree()

    def _summarise(self, traces: list[Trace]) -> None:
        """Set trace, draws and labels from the traces of all chains."""
        self._coclustering: FloatArray | None = None  # of these draws, worked out when asked for
        if not any(trace.kept for trace in traces):
            raise KeyboardInterrupt("Interrupted before any sweep after burn-in: there is nothing to report.")
        if self.interrupted_:
            n_kept = sum(len(trace.kept) for trace in traces)
            message = f"Interrupted: the answer rests on the {n_kept} sweeps kept until then."
            warnings.warn(message, ShortChainWarning, stacklevel=4)
        self.n_burn_ = burn_of(traces)
        self.trace_ = stack_traces([with_entropy(trace) for trace in traces])
        self.chain_weights_ = equal_weights(traces)
        self.draws_ = self._of_items(np.concatenate([np.stack(trace.kept) for trace in traces if trace.kept]))
        self.map_labels_ = relabel_by_size(self.draws_[most_probable(traces)])
        self.labels_ = self._agreed(self.draws_) if self.point_estimate == "vi" else self.map_labels_
        self.n_clusters_ = int(self.labels_.max()) + 1

    def _compared_of(self, traced: Collection[str]) -> list[str]:
        return [*super()._compared_of(traced), *["concentration"] * bool(self.sample_concentration)]

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


def burn_of(traces: list[Trace]) -> int:
    """Return after how many sweeps states were kept, 0 if none were."""
    return next((trace.n_sweeps - len(trace.kept) for trace in traces if trace.kept), 0)


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


def most_probable(traces: list[Trace]) -> int:
    """Return which of all kept draws, chain after chain, has the largest joint density."""
    return int(np.argmax(np.concatenate([one.array("log_joint")[one.n_sweeps - len(one.kept) :] for one in traces])))


def forget_fit(model: Any) -> None:
    """Take away all that a fit has set: a fit that fails must leave no mixture of two behind."""
    for name in [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]:
        delattr(model, name)
