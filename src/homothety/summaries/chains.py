"""Traces and weights of the chains of a fit, and whether the chains agree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from homothety.sampling.diagnostics import exceeds, judge, r_hat

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from homothety.arrays import FloatArray
    from homothety.sampling.diagnostics import Verdict
    from homothety.sampling.trace import Trace

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
# Chains agree up to these R-hats, with so many effective draws of each chain: Gelman et al., Bayesian Data Analysis,
# third edition, section 11.5. A density is more informative than a number that takes few values. It is not reported, so
# nobody needs its mean exactly.
MAX_R_HAT, MAX_R_HAT_OF_DENSITY, _MIN_ESS = 1.1, 1.05, 10.0

# A fit warns of these numbers alone, of large differences alone, and only if there are enough draws to measure them.
_WARNED_OF = ("n_clusters", "n_actions", "n_states", "log_joint")
WARNED_R_HAT, LEAST_KEPT = 1.1, 100


@dataclass(frozen=True, eq=False, kw_only=True)
class Chains:
    """Traces of all chains of a fit, sweep by sweep.

    Parameters
    ----------
    trace : dict of str to ndarray of shape (n_chains, n_sweeps)
        Traced numbers by name; NaN in sweeps that an interrupt left out.
    n_burn : int
        First sweeps of each chain, which are not kept.
    n_kept : int
        Draws that count, of all chains.
    weights : ndarray of shape (n_chains,)
        How much the draws of each chain count.
    compared : tuple of str
        Traced numbers in which chains have to agree.
    interrupted : bool
        Whether the chains made fewer sweeps than asked for.
    """

    trace: dict[str, FloatArray]
    n_burn: int
    n_kept: int
    weights: FloatArray
    compared: tuple[str, ...]
    interrupted: bool = False

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return len(self.trace["log_joint"])

    @property
    def n_sweeps(self) -> int:
        """Number of sweeps that each chain has made; the longest chain after an interrupt."""
        return int(self.trace["log_joint"].shape[1])

    def kept(self, names: Iterable[str]) -> dict[str, FloatArray]:
        """Return traced numbers of the kept sweeps, each (n_chains, n_draws), cut to the shortest chain with any."""
        n_made = np.isfinite(self.trace["log_joint"]).sum(axis=1)
        with_draws = n_made > self.n_burn
        kept = slice(self.n_burn, n_made[with_draws].min() if with_draws.any() else self.n_burn)
        return {name: self.trace[name][with_draws, kept] for name in names}

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the chains agree; its table has a row for every number in `LABEL_FREE` that is traced."""
        names = [*(name for name in LABEL_FREE if name in self.trace), *set(self.compared).difference(LABEL_FREE)]
        return verdict_of(self.kept(names), self.compared)

    def differences(self, limit: float = WARNED_R_HAT) -> list[str]:
        """Return in words the numbers that differ clearly between chains; empty if chains are too short to compare."""
        draws = self.kept(name for name in _WARNED_OF if name in self.compared)
        if next(iter(draws.values())).shape[1] < LEAST_KEPT:
            return []
        ratios = {name: r_hat(values) for name, values in draws.items()}
        return [f"{ratio:.2f} for the {LABEL_FREE[name]}" for name, ratio in ratios.items() if exceeds(ratio, limit)]


def stack_traces(traces: Sequence[Trace]) -> dict[str, FloatArray]:
    """Return each traced number as an array (n_chains, n_sweeps); sweeps that an interrupt left out are NaN."""
    n_sweeps = max(trace.n_sweeps for trace in traces)

    def padded(trace: Trace, name: str) -> FloatArray:
        return np.pad(trace.array(name), (0, n_sweeps - trace.n_sweeps), constant_values=np.nan)

    return {name: np.stack([padded(trace, name) for trace in traces]) for name in traces[0].scalars}


def verdict_of(draws: Mapping[str, FloatArray], compared: Collection[str]) -> Verdict:
    """Return whether chains agree in some numbers, from the draws (n_chains, n_draws) of each number."""
    max_r_hat = dict.fromkeys(draws, MAX_R_HAT) | {"log_joint": MAX_R_HAT_OF_DENSITY}
    min_ess = dict.fromkeys(draws, _MIN_ESS) | {"log_joint": 0.0}
    return judge(draws, compared=compared, max_r_hat=max_r_hat, min_ess=min_ess)


def troubles_in_words(verdict: Verdict) -> list[str]:
    """Return the reasons why chains do not agree, one clause for each number, the largest R-hat first."""
    rows = sorted((row for row in verdict.table if row.trouble), key=lambda row: -np.nan_to_num(row.r_hat, nan=np.inf))
    return [f"the {LABEL_FREE.get(row.name, row.name)} {row.trouble}" for row in rows]


def weights_in_words(chains: Chains) -> str:
    """Return a sentence on the weights of chains; empty if all weights are equal."""
    weights = chains.weights
    if np.ptp(weights[weights > 0]) == 0:
        return ""
    told = ", ".join(f"{weight:.2f}" for weight in weights)
    return f"Draws are weighted by how well each chain predicts left-out looks: {told}."
