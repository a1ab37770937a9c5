"""Whether chains agree, and runs with them: ``python -m benchmarks.chain_agreement``.

Every segmenter with its default settings, several seeds. A full run writes docs/chain_agreement.md; a shorter one only
prints, unless told to write.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import arviz
import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.action_accuracy import TASKS, write_page
from homothety import IBPHMM, ICSCHMM, ActionHMM
from homothety.errors import InputError
from homothety.summaries.paths import minimise_expected_vi_paths
from homothety.words.markdown import markdown_table

if TYPE_CHECKING:
    from homothety.arrays import FloatArray, IntArray

N_RUNS = 5
N_COMPARED = 40  # draws of a chain that its own answer is made of
SETS = (
    "Toy 2D, file",
    "Grating, 6 x 3",
    "Grating, 12 x 7",
    "Rolling",
    "Peeling, 13 channels",
    "Demonstrations, 3 frames x 2",
)
MODELS = {"IBPHMM": IBPHMM, "ICSCHMM": ICSCHMM, "ActionHMM": ActionHMM}
HEADER = (
    "set",
    "model",
    "R-hat, log joint",
    "R-hat, states",
    "states of each chain",
    "best less worst chain (nats)",
    "ARI between chains",
    "ARI between runs",
    "first and last number",
    "seconds",
)


class Run(NamedTuple):
    """One fit."""

    r_hat_joint: float
    r_hat_states: float
    n_first: FloatArray  # (n_chains,) states at the start
    n_last: FloatArray  # (n_chains,)
    gap: float  # nats between the means of the best and the worst chain
    between_chains: float  # smallest ARI
    answer: IntArray
    seconds: float


def run_once(name: str, key: str, seed: int) -> Run:
    """Fit a set and compare the chains."""
    task = TASKS[key]
    recordings = task.load(0).sequences
    blocks: dict[str, Any] = {"blocks": task.blocks} if name == "ActionHMM" else {}
    begin = perf_counter()
    fit = MODELS[name](random_state=seed, n_jobs=2, **blocks).fit(recordings)
    seconds = perf_counter() - begin
    n_burn = fit.n_burn_
    log_joint, n_states = fit.trace_["log_joint"], fit.trace_["n_states"]
    means = log_joint[:, n_burn:].mean(axis=1)
    draws = list(fit.draws_ if name == "IBPHMM" else fit.action_draws_)
    parts = np.array_split(np.arange(len(draws)), len(log_joint))
    own = [minimise_expected_vi_paths([draws[i] for i in part[:: -(-len(part) // N_COMPARED)]]) for part in parts]
    return Run(
        float(arviz.rhat(log_joint[:, n_burn:])),
        float(arviz.rhat(n_states[:, n_burn:])),
        n_states[:, 0],
        n_states[:, -1],
        float(means.max() - means.min()),
        min(adjusted_rand_score(a, b) for a, b in combinations(own, 2)),
        np.concatenate(fit.paths_ if name == "IBPHMM" else fit.actions_),
        seconds,
    )


def row(name: str, key: str, n_runs: int) -> list[str] | None:
    """Return the line of a model on a set, None where its file is missing."""
    try:
        runs = [run_once(name, key, seed) for seed in range(n_runs)]
    except InputError as missing:
        print(f"Left out: {key} ({missing})")
        return None
    first, last = (np.concatenate(parts) for parts in zip(*((run.n_first, run.n_last) for run in runs), strict=True))
    varies = np.ptp(first) > 0 and np.ptp(last) > 0
    between = [adjusted_rand_score(a.answer, b.answer) for a, b in combinations(runs, 2)]
    return [
        key,
        name,
        f"{max(run.r_hat_joint for run in runs):.2f}",
        f"{max(run.r_hat_states for run in runs):.2f}",
        f"{last.min():.0f} to {last.max():.0f}",
        f"{max(run.gap for run in runs):.1f}",
        f"{min(run.between_chains for run in runs):.2f}",
        f"{min(between, default=1.0):.2f}",
        f"{np.corrcoef(first, last)[0, 1]:.2f}" if varies else "-",
        f"{np.mean([run.seconds for run in runs]):.0f}",
    ]


def main() -> None:
    """Run what is asked for; write the page if that is everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=SETS, metavar="SET", help=", ".join(SETS))
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--runs", type=int, default=N_RUNS)
    parser.add_argument("--write", action="store_true", help="write the page however few the runs")
    options = parser.parse_args()
    is_full = options.write or vars(options) == vars(parser.parse_args([]))
    rows = []
    for key in options.sets:
        for name in options.models:
            if line := row(name, key, options.runs):
                print(" | ".join(line), flush=True)
                rows.append(line)
    write_page("chain_agreement.md", page(rows, options.runs), complete=is_full)


def page(rows: list[list[str]], n_runs: int) -> str:
    """Return the page as Markdown."""
    return "\n".join(
        [
            "# Do chains agree?",
            "",
            f"Written by `python -m benchmarks.chain_agreement`: default settings, {n_runs} seeds. R-hat and gaps are",
            "those of the worst seed, adjusted Rand indices the smallest between answers of any two chains of a run,",
            "and between answers of any two runs. *First and last number*: correlation of the numbers of states",
            "after the first sweep with that after the last, over all chains.",
            "",
            markdown_table(HEADER, rows),
            "",
        ]
    )


if __name__ == "__main__":
    main()
