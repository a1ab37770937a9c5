"""Base classes of estimators: attributes that read the result, chains, and partitions."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, replace
from operator import attrgetter
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar, get_args, overload

import numpy as np
from numpy.random import Generator, SeedSequence
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from homothety.arrays import FloatArray, IntArray, check_count, check_option, check_whole
from homothety.errors import ConvergenceWarning, InputError, ShortChainWarning
from homothety.persistence import Saveable
from homothety.sampling.diagnostics import kept_draws, to_arviz
from homothety.sampling.driver import Recording, Rounds, Schedule, Sweep, run_chains
from homothety.summaries.chains import (
    LABEL_FREE,
    WARNED_R_HAT,
    Chains,
    stack_traces,
    troubles_in_words,
    verdict_of,
    weights_in_words,
)
from homothety.summaries.partitions import minimise_expected_vi, relabel_by_size, size_entropy
from homothety.summaries.result import Partition, Provenance

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from homothety.sampling.diagnostics import Verdict
    from homothety.sampling.trace import Trace


_Part = TypeVar("_Part")


class ResultPart(Generic[_Part]):
    """A fitted attribute that reads a part of `result_`. Where the model has no such part, there is no attribute.

    Parameters
    ----------
    path : str
        Name of the part, with dots: "chains.n_burn" is ``result_.chains.n_burn``.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, model: None, owner: type) -> Self: ...

    @overload
    def __get__(self, model: object, owner: type | None = None) -> _Part: ...

    def __get__(self, model: Any, owner: type | None = None) -> Self | _Part:
        if model is None:
            return self
        check_is_fitted(model)
        value: _Part | None = attrgetter(self.path)(model.result_)
        if value is None:
            raise AttributeError(f"{type(model).__name__} has no {self.name}.")
        return value


class Fitted(Saveable):
    """Base of the estimators with a `result_`."""

    result_: Any

    def _begin_fit(self) -> None:
        """Remove everything that an earlier fit has set: a fit that fails must not leave parts of two fits."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)
        self._begun = perf_counter()

    def _amend(self, **parts: Any) -> None:
        """Set parts of the result."""
        self.result_ = replace(self.result_, **parts)

    def _provenance(self) -> Provenance:
        """Return the provenance of the result, with the seconds since the fit began."""
        return Provenance.of(self, perf_counter() - self._begun)


# Estimators that sample


_PointEstimate = Literal["vi", "map"]
_NumberOfSweeps = int | Literal["auto"]
RandomState = int | Generator | SeedSequence | np.random.RandomState | None

# Chains are weighted if they differ more from each other than each of them varies: R-hat squared is above two.
APART_R_HAT = 1.41


class AutoSweeps(NamedTuple):
    """Numbers of sweeps of each chain with ``n_sweeps="auto"``."""

    first: int  # before chains are compared for the first time
    most: int
    alone: int  # of a single chain, which cannot be compared


@dataclass(kw_only=True, eq=False, repr=False)
class _ChainSettings:
    """Parameters of all estimators that sample."""

    n_chains: int = 4
    n_sweeps: _NumberOfSweeps = "auto"
    n_burn: int | None = None
    point_estimate: _PointEstimate = "vi"
    random_state: RandomState = None
    n_jobs: int | None = None
    progress: bool = False
    checkpoint: str | Path | None = None


class SampledChains(_ChainSettings, Fitted):
    """Mixin of the estimators that sample: number of sweeps and agreement of chains.

    `trace_` has the numbers of every sweep, (n_chains, n_sweeps) each, of which the first `n_burn_` were not kept.
    """

    auto_sweeps: ClassVar[AutoSweeps] = AutoSweeps(first=200, most=800, alone=200)

    trace_ = ResultPart[dict[str, FloatArray]]("chains.trace")
    n_burn_ = ResultPart[int]("chains.n_burn")
    n_sweeps_ = ResultPart[int]("chains.n_sweeps")
    chain_weights_ = ResultPart[FloatArray]("chains.weights")
    interrupted_ = ResultPart[bool]("chains.interrupted")

    def diagnose(self) -> Verdict:
        """Return whether the chains agree, with R-hat, effective sample sizes and a text."""
        return self._chains().verdict

    def to_arviz(self) -> Any:
        """Return the traced numbers of the kept sweeps as ArviZ's data tree (needs the extra ``diagnostics``)."""
        # ArviZ expects the likelihood of single steps under that name, not their sum.
        left_out = ("seconds", "log_likelihood")
        names = [name for name in self.trace_ if name not in left_out and not name.startswith("acceptance")]
        chains = self._chains()
        return to_arviz(chains.kept(names), chains.kept(["seconds"] if "seconds" in self.trace_ else []))

    def _chains(self) -> Chains:
        check_is_fitted(self)
        chains: Chains = self.result_.chains
        return chains

    def _run_chains(
        self, model: Any, state: Any, sweep: Sweep, recording: Recording, numbers: Callable[[Trace], Trace]
    ) -> tuple[list[Trace], Chains]:
        """Run all chains; return the traces of those that have begun, and their summary.

        `numbers` adds to a trace what else chains are compared by, for its kept sweeps.
        """
        check_option(self.point_estimate, "point_estimate", get_args(_PointEstimate))
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
        interrupted = len(traces) < self.n_chains or any(trace.interrupted for trace in traces)
        begun = [trace for trace in traces if trace.n_sweeps]
        n_kept = sum(len(trace.kept) for trace in begun)
        if not n_kept:
            raise KeyboardInterrupt("Interrupted before any sweep after burn-in: there is nothing to report.")
        if interrupted:
            message = f"Interrupted: the answer rests on the {n_kept} sweeps kept until then."
            warnings.warn(message, ShortChainWarning, stacklevel=depth_in_library())
        has_draws = np.array([bool(trace.kept) for trace in begun])
        chains = Chains(
            trace=stack_traces(begun),
            n_burn=next(trace.n_sweeps - len(trace.kept) for trace in begun if trace.kept),
            n_kept=n_kept,
            weights=np.asarray(has_draws / has_draws.sum()),
            compared=tuple(self._compared(begun[0].scalars)),
            interrupted=interrupted,
        )
        return begun, chains

    def _n_sweeps(self, differences: Callable[[list[Trace]], str]) -> int | Rounds:
        """Return how many sweeps to make."""
        if not isinstance(self.n_sweeps, str):
            return check_whole(self.n_sweeps, "n_sweeps")
        if self.n_sweeps != "auto":
            raise InputError(f"n_sweeps is {self.n_sweeps!r}, needed a whole number, or 'auto'.", "n_sweeps")
        auto = self.auto_sweeps
        return auto.alone if self.n_chains == 1 else Rounds(auto.first, auto.most, differences)

    def least_burn(self) -> int:
        """Return the sweeps that are forgotten in any case: the burn-in of the first round."""
        return Schedule(self._n_sweeps(lambda _: ""), self.n_burn).least_burn

    def _differences(self, traces: list[Trace]) -> str:
        """Return in words the number with the largest R-hat if chains do not agree; empty if they agree."""
        compared = self._compared(traces[0].scalars)
        verdict = verdict_of(kept_draws(traces, compared), compared)
        return "" if verdict.agree else next(iter(troubles_in_words(verdict)), verdict.text)

    def _compared(self, traced: Collection[str]) -> list[str]:
        """Return those of some traced numbers in which chains have to agree."""
        return [name for name in LABEL_FREE if name in traced]

    def _warn_unless_chains_agree(self) -> None:
        """Warn of numbers that differ between chains."""
        chains = self._chains()
        if differ := chains.differences():
            weighted = weights_in_words(chains)
            warnings.warn(
                ConvergenceWarning(
                    f"The chains do not agree: R-hat is {' and '.join(differ)}, needed {WARNED_R_HAT} or less. Another "
                    f"run may give another answer. {f'{weighted} ' * bool(weighted)}{self._remedy()}",
                    "n_sweeps",
                ),
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


def depth_in_library() -> int:
    """Return the stack level, for a warning of the calling function, of the line outside of the library."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("homothety."):
        frame, level = frame.f_back, level + 1
    return level


@dataclass(kw_only=True, eq=False, repr=False)
class _ClusterSettings:
    """Parameters of all mixtures of Gaussians that sample: the prior of partitions and of a cluster."""

    concentration: float = 1.0
    sample_concentration: bool = False
    mean_strength: float = 1.0
    dof: float | None = None
    scale: float | None = None
    prior_share: float = 0.003
    diagonal: bool = False


class SampledPartition(_ClusterSettings, SampledChains, ClusterMixin, BaseEstimator):
    """Base of the estimators whose answer is a posterior over partitions."""

    result_: Partition
    labels_ = ResultPart[IntArray]("labels")
    n_clusters_ = ResultPart[int]("n_clusters")
    draws_ = ResultPart[IntArray]("draws")
    map_labels_ = ResultPart[IntArray]("map_labels")
    embedding_ = ResultPart[FloatArray]("embedding")
    probability_ = ResultPart[FloatArray]("probability")

    def _sample(
        self, model: Any, state: Any, sweep: Sweep, recording: Recording, points: FloatArray, basis: str = "points"
    ) -> None:
        """Run the chains and set the result: clusters of all items, whose coordinates are `points`."""
        traces, chains = self._run_chains(model, state, sweep, recording, _with_entropy)
        chains = replace(chains, trace=stack_traces([_with_entropy(trace) for trace in traces]))
        chains = replace(chains, compared=tuple(self._compared(chains.trace)))
        draws = self._of_items(np.concatenate([np.stack(trace.kept) for trace in traces if trace.kept]))
        map_labels = relabel_by_size(draws[most_probable(traces)])
        labels, probability = self._agreed(draws)
        self.result_ = Partition(
            provenance=self._provenance(),
            labels=labels if self.point_estimate == "vi" else map_labels,
            basis=basis,
            draws=draws,
            map_labels=map_labels,
            placed_probability=probability,
            embedding=points,
            chains=chains,
        )
        self._warn_unless_chains_agree()

    def _compared(self, traced: Collection[str]) -> list[str]:
        return [*super()._compared(traced), *["concentration"] * bool(self.sample_concentration)]

    def _of_items(self, draws: IntArray) -> IntArray:
        """Return draws (n_draws, n_items) with the items in the order they were given in."""
        return draws

    def _agreed(self, draws: IntArray) -> tuple[IntArray, FloatArray | None]:
        """Return the partition that draws agree on best, and the probability of each label where it is known."""
        return minimise_expected_vi(draws), None

    @property
    def coclustering_(self) -> FloatArray:
        """Share of the kept sweeps in which two items are in one cluster, (n_items, n_items)."""
        check_is_fitted(self)
        shares = self.result_.coclustering
        if shares is None:
            raise AttributeError(
                f"coclustering_ of {len(self.labels_)} {self.result_.items} would have as many rows and columns. "
                "probability_ says how sure each one is; homothety.summaries.partitions.coclustering takes some "
                "columns of draws_."
            )
        return shares

    def fit_predict(self, X: Any, y: Any = None, **options: Any) -> IntArray:
        """Fit, and return the cluster of each item, (n_items,)."""
        fitted: Self = self.fit(X, y, **options)
        return fitted.labels_


def _with_entropy(trace: Trace) -> Trace:
    """Return the trace of a chain over partitions with the entropy of the cluster sizes; NaN where none was kept."""
    burnt = [np.nan] * (trace.n_sweeps - len(trace.kept))
    return replace(trace, scalars={**trace.scalars, "size_entropy": burnt + [size_entropy(one) for one in trace.kept]})


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


def most_probable(traces: list[Trace]) -> int:
    """Return which of all kept draws, chain after chain, has the largest joint density."""
    return int(np.argmax(np.concatenate([one.array("log_joint")[one.n_sweeps - len(one.kept) :] for one in traces])))
