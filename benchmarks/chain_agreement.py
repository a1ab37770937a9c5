"""Whether chains agree, and runs with them: ``python -m benchmarks.chain_agreement``.

Every segmenter with its default settings, several seeds, and how long it takes until chains agree, compared with
Gaussian hidden Markov models of hmmlearn with 2 to 12 states, three restarts each, on the same looks. A full run writes
results/chain_agreement.md; a shorter one only prints, unless told to write.
"""

from __future__ import annotations

import argparse
from functools import partial
from itertools import combinations, pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.action_accuracy import TASKS
from benchmarks.action_speed import fit_hmmlearn
from benchmarks.pages import filled, template, write_result
from benchmarks.timing import seconds
from homothety import IBPHMM, ICSCHMM, ActionHMM
from homothety.errors import InputError
from homothety.models import ibphmm
from homothety.models.ibphmm.starts import draw_number
from homothety.phrases import markdown_table
from homothety.sampling.diagnostics import draws_by_weight, r_hat, require_arviz
from homothety.sequences import check_sequences
from homothety.summaries.paths import minimise_expected_vi_paths

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
    "sweeps",
    "seconds",
    "hmmlearn (s)",
)


WITHOUT_SETS = ("Grating, 6 x 3", "Demonstrations, 3 frames x 2", "Peeling, 13 channels", "Grating, 12 x 7")
WITHOUT: dict[str, tuple[dict[str, Any], dict[str, int]]] = {  # settings of the estimator, and of proposals
    "nothing": ({}, {}),
    "annealed starts": ({"start": "clusters"}, {}),
    "halving and joining": ({}, {"n_halving": 0}),
    "measured weights of steps": ({"step_weight": 1.0}, {}),
    "swaps of states": ({}, {"n_swaps": 0}),
    "all four": ({"start": "clusters", "step_weight": 1.0}, {"n_halving": 0, "n_swaps": 0}),
}
WITHOUT_HEADER = ("set", "left out", *HEADER[2:6], "effective draws of the log joint per second")
N_SWEEPS_WITHOUT = 400


class Run(NamedTuple):
    """One fit."""

    r_hat_joint: float
    r_hat_states: float
    n_first: IntArray  # (n_chains,) states that chains began with
    n_last: FloatArray  # (n_chains,)
    gap: float  # nats between the means of the best and the worst chain
    between_chains: float  # smallest ARI
    answer: IntArray
    n_sweeps: int
    seconds: float
    peer_seconds: float


def first_numbers(name: str, seed: int, n_states: FloatArray) -> IntArray:
    """Return the number of states that each chain began with, before annealing; (n_chains,)."""
    if name == "ActionHMM":  # chains start from what a search found
        return n_states[:, 0].astype(np.int64)
    seeds = np.random.SeedSequence(seed).spawn(len(n_states))
    return np.array([draw_number(np.random.default_rng(own)) for own in seeds])


def run_once(name: str, key: str, seed: int) -> Run:
    """Fit a set and compare the chains."""
    task = TASKS[key]
    recordings = task.load(0).sequences
    blocks: dict[str, Any] = {"blocks": task.blocks} if name == "ActionHMM" else {}
    begin = perf_counter()
    fit = MODELS[name](random_state=seed, n_jobs=2, **blocks).fit(recordings)
    duration = perf_counter() - begin
    peer = 0.0
    if seed == 0:
        checked = check_sequences(recordings)
        # Quaternions become vectors first where frames are looked for.
        looks = fit.preprocessing_.transform(fit._rearranged(checked) if name == "ActionHMM" else checked)
        peer = seconds(partial(fit_hmmlearn, looks.steps, looks.lengths))
    n_burn = fit.n_burn_
    log_joint, n_states = fit.trace_["log_joint"], fit.trace_["n_states"]
    means = log_joint[:, n_burn:].mean(axis=1)
    own = own_answers(fit, name)
    return Run(
        np.nan_to_num(r_hat(log_joint[:, n_burn:]), nan=1.0, posinf=np.inf),
        np.nan_to_num(r_hat(n_states[:, n_burn:]), nan=1.0, posinf=np.inf),  # where no chain ever changes
        first_numbers(name, seed, n_states),
        n_states[:, -1],
        float(means.max() - means.min()),
        min((adjusted_rand_score(a, b) for a, b in combinations(own, 2)), default=1.0),
        np.concatenate(fit.paths_ if name == "IBPHMM" else fit.actions_),
        fit.n_sweeps_,
        duration,
        peer,
    )


def own_answers(fit: Any, name: str) -> list[IntArray]:
    """Return the answer of each chain alone."""
    draws = list(fit.draws_ if name == "IBPHMM" else fit.action_draws_)
    n_kept = fit.n_sweeps_ - fit.n_burn_
    chosen = draws_by_weight(fit.chain_weights_, [n_kept] * len(fit.chain_weights_))
    ends = np.cumsum([0, *[len(part) for part in chosen]])
    parts = [draws[first:last] for first, last in pairwise(ends.tolist()) if last > first]
    return [minimise_expected_vi_paths(part[:: -(-len(part) // N_COMPARED)]) for part in parts]


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
        f"{np.mean([run.n_sweeps for run in runs]):.0f}",
        f"{np.mean([run.seconds for run in runs]):.0f}",
        f"{runs[0].peer_seconds:.0f}",
    ]


def row_without(key: str, left_out: str) -> list[str]:
    """Return how `IBPHMM` fares on a set if something is left out."""
    settings, proposals = WITHOUT[left_out]
    model = IBPHMM(random_state=0, n_jobs=2, n_sweeps=N_SWEEPS_WITHOUT, **settings)
    with mock.patch.object(ibphmm, "Proposals", partial(ibphmm.Proposals, **proposals)):
        begin = perf_counter()
        model.fit(TASKS[key].load(0).sequences)
        duration = perf_counter() - begin
    log_joint, n_states = (model.trace_[name][:, model.n_burn_ :] for name in ("log_joint", "n_states"))
    means = log_joint.mean(axis=1)
    return [
        key,
        left_out,
        f"{r_hat(log_joint):.2f}",
        f"{np.nan_to_num(r_hat(n_states), nan=1.0, posinf=np.inf):.2f}",
        f"{n_states[:, -1].min():.0f} to {n_states[:, -1].max():.0f}",
        f"{means.max() - means.min():.1f}",
        f"{float(require_arviz().ess(log_joint)) / duration:.2f}",
    ]


def main() -> None:
    """Run what is asked for; write the page if that is everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=SETS, metavar="SET", help=", ".join(SETS))
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--runs", type=int, default=N_RUNS)
    parser.add_argument("--write", action="store_true", help="write the page however few the runs")
    parser.add_argument(
        "--without", action=argparse.BooleanOptionalAction, default=True, help="what each part is worth"
    )
    options = parser.parse_args()
    is_full = options.write or vars(options) == vars(parser.parse_args([]))
    rows = []
    for key in options.sets:
        for name in options.models:
            if line := row(name, key, options.runs):
                print(" | ".join(line), flush=True)
                rows.append(line)
    without = []
    if options.without:
        for key in WITHOUT_SETS:
            for left_out in WITHOUT:
                without.append(row_without(key, left_out))
                print(" | ".join(without[-1]), flush=True)
    write_result("chain_agreement.md", page(rows, options.runs, without), complete=is_full)


def page(rows: list[list[str]], n_runs: int, without: list[list[str]]) -> str:
    """Return the page as Markdown."""
    found = {"agreement": markdown_table(HEADER, rows), "without": markdown_table(WITHOUT_HEADER, without)}
    return filled(template("chain_agreement_page.md"), runs=n_runs, sweeps=N_SWEEPS_WITHOUT, **found)


if __name__ == "__main__":
    main()
