"""What known labels do for recordings without: ``python -m benchmarks.labels``.

Of every second recording all labels are given. Errors are those of the other recordings, which are segmented together
with the labelled ones, or without any label. All sets are made here. Writes results/labels.md.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.pages import filled, template, write_result
from homothety import IBPHMM, ICSCHMM, ActionHMM, StickyHDPHMM
from homothety.datasets import make_demonstrations, make_toy_2d
from homothety.metrics import hamming

if TYPE_CHECKING:
    from collections.abc import Callable

    from homothety.datasets import SequenceSet


class Case(NamedTuple):
    """A set of recordings, and the model that segments it."""

    load: Callable[[int], SequenceSet]
    model: Any
    truth: str  # what is known of the set


def cases(options: dict[str, Any]) -> dict[str, Case]:
    """Return all sets with the models that are tried on them."""

    def toy(seed: int) -> SequenceSet:
        return make_toy_2d(seed, n_steps=30)

    def noisy_toy(seed: int) -> SequenceSet:
        data, rng = make_toy_2d(seed, n_steps=60), np.random.default_rng(seed)
        noise = [0.5 * one.std(axis=0) * rng.normal(size=one.shape) for one in data.sequences]
        return replace(data, sequences=[one + own for one, own in zip(data.sequences, noise, strict=True)])

    def demonstrations(seed: int) -> SequenceSet:
        return make_demonstrations(seed, n_frames=4, n_per_frame=1, noise=0.08)

    return {
        "toy with noise, states": Case(noisy_toy, IBPHMM(**options), "states"),
        "toy with noise, states, sticky": Case(noisy_toy, StickyHDPHMM(**options), "states"),
        "toy, 30 steps, actions": Case(toy, ICSCHMM(**options), "actions"),
        "demonstrations, noise 8 cm, actions": Case(demonstrations, ActionHMM(**options), "actions"),
    }


def number_of_violations(y: list[Any], found: list[Any]) -> int:
    """Return how many labelled steps are not in the class that stands for their label, and only for that."""
    labelled = [(own, one) for own, one in zip(y, found, strict=True) if own is not None]
    truth, numbers = (np.concatenate(parts) for parts in zip(*labelled, strict=True))
    return round(hamming([truth], [numbers]) * len(truth))


def error_of_unlabelled(truth: list[Any], found: list[Any]) -> float:
    """Return the share of steps of every second recording that are wrong, classes being named over all recordings."""
    one, other = (np.unique(np.concatenate(labels), return_inverse=True)[1] for labels in (truth, found))
    counts = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(counts, (one, other), 1.0)
    named, numbers = linear_sum_assignment(counts, maximize=True)
    names = np.full(other.max() + 1, -1)
    names[numbers] = named
    is_unlabelled = np.concatenate([np.full(len(own), i % 2 == 1) for i, own in enumerate(truth)])
    return float(np.mean(names[other[is_unlabelled]] != one[is_unlabelled]))


def row_of(name: str, case: Case, n_runs: int) -> str:
    """Return the table row of one set."""
    without, given, violated = [], [], 0
    for seed in range(n_runs):
        data = case.load(seed)
        truth = getattr(data, case.truth)
        y = [np.asarray(one, dtype=np.int64) if i % 2 == 0 else None for i, one in enumerate(truth)]
        for labels, errors in ((None, without), (y, given)):
            model = type(case.model)(**(case.model.get_params() | {"random_state": seed})).fit(data, labels)
            found = model.actions_ if case.truth == "actions" else model.paths_
            errors.append(error_of_unlabelled(truth, found))
        violated += number_of_violations(y, found)
    cells = [name, type(case.model).__name__, str(violated), f"{np.mean(without):.3f}", f"{np.mean(given):.3f}"]
    print(f"| {' | '.join(cells)} |", flush=True)
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="seeds of each set")
    parser.add_argument("--chains", type=int, default=1)
    parser.add_argument("--sweeps", type=int, default=100)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    options = {"n_chains": arguments.chains, "n_sweeps": arguments.sweeps}
    rows = [row_of(name, case, arguments.runs) for name, case in cases(options).items()]
    page = filled(template("labels_page.md"), rows="\n".join(rows), **vars(arguments))
    write_result("labels.md", page, complete=True)


if __name__ == "__main__":
    main()
