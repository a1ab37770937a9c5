"""What faults of recordings cost: ``python -m benchmarks.robustness``.

Faults are put into recordings, which are then segmented as they are. Toy series and demonstrations are made here;
grating is the paper's (HOMOTHETY_DATA). Writes results/robustness.md.
"""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.action_accuracy import POINT, demonstrations, recorded
from benchmarks.pages import filled, template, write_result
from homothety import IBPHMM, ActionHMM
from homothety.datasets import make_toy_2d
from homothety.errors import InputError
from homothety.metrics import hamming

if TYPE_CHECKING:
    from collections.abc import Callable

    from homothety.datasets import SequenceSet

Parts = list[np.ndarray]
SHARE, SIZE = 0.05, 100.0  # of steps that are outliers, and their size in standard deviations
SPOILT = 1  # the recording that one fault is put into


class Case(NamedTuple):
    """A set of recordings, and the model that segments it."""

    load: Callable[[int], SequenceSet]
    model: Any
    truth: str  # what is known of the set
    blocks: list[str] | None = None  # what the channels are, for models that ask


class Faulty(NamedTuple):
    """Recordings with a fault, and what is true of their steps."""

    parts: Parts
    truth: Parts


def unchanged(rng: np.random.Generator, parts: Parts, truth: Parts) -> Faulty:  # noqa: ARG001
    """Return the recordings as they are."""
    return Faulty(parts, truth)


def with_outliers(rng: np.random.Generator, parts: Parts, truth: Parts) -> Faulty:
    """Replace a share of the steps by normal values as much wider than the recordings."""
    spread, spoilt = np.concatenate(parts).std(axis=0), [one.copy() for one in parts]
    for one in spoilt:
        hit = rng.random(len(one)) < SHARE
        one[hit] = one.mean(axis=0) + SIZE * spread * rng.normal(size=(int(hit.sum()), one.shape[1]))
    return Faulty(spoilt, truth)


def with_spike(rng: np.random.Generator, parts: Parts, truth: Parts) -> Faulty:
    """Add 1,000 standard deviations to one value."""
    spoilt = [one.copy() for one in parts]
    spoilt[SPOILT][rng.integers(len(spoilt[SPOILT])), 0] += 1000 * np.concatenate(parts)[:, 0].std()
    return Faulty(spoilt, truth)


def with_dead_sensor(rng: np.random.Generator, parts: Parts, truth: Parts) -> Faulty:  # noqa: ARG001
    """Let the first channel of one recording stand still."""
    spoilt = [one.copy() for one in parts]
    spoilt[SPOILT][:, 0] = spoilt[SPOILT][0, 0]
    return Faulty(spoilt, truth)


def with_pause(rng: np.random.Generator, parts: Parts, truth: Parts) -> Faulty:
    """Hold one recording still for a fifth of its length; what is done then is what was done before."""
    first, n = int(rng.integers(len(parts[SPOILT]))), len(parts[SPOILT]) // 5
    spoilt, known = list(parts), list(truth)
    spoilt[SPOILT] = np.insert(spoilt[SPOILT], first, np.repeat(spoilt[SPOILT][first][None], n, axis=0), axis=0)
    known[SPOILT] = np.insert(known[SPOILT], first, np.repeat(known[SPOILT][first], n))
    return Faulty(spoilt, known)


def with_copy(rng: np.random.Generator, parts: Parts, truth: Parts) -> Faulty:  # noqa: ARG001
    """Add a copy of one recording."""
    return Faulty([*parts, parts[SPOILT].copy()], [*truth, truth[SPOILT]])


def with_doubled_channel(rng: np.random.Generator, parts: Parts, truth: Parts) -> Faulty:  # noqa: ARG001
    """Add the first channel once more."""
    return Faulty([np.column_stack([one, one[:, 0]]) for one in parts], truth)


def with_summed_channel(rng: np.random.Generator, parts: Parts, truth: Parts) -> Faulty:  # noqa: ARG001
    """Add the sum of all channels."""
    return Faulty([np.column_stack([one, one.sum(axis=1)]) for one in parts], truth)


FAULTS: dict[str, Callable[[np.random.Generator, Parts, Parts], Faulty]] = {
    "none": unchanged,
    "5 % of the steps outliers": with_outliers,
    "one value of 1,000": with_spike,
    "dead sensor in one recording": with_dead_sensor,
    "pause in one recording": with_pause,
    "copy of a recording": with_copy,
    "channel twice": with_doubled_channel,
    "sum of channels": with_summed_channel,
}


def cases(options: dict[str, Any]) -> dict[str, Case]:
    """Return all sets."""
    acting = ActionHMM(**options)
    return {
        "toy, 2 channels": Case(lambda seed: make_toy_2d(seed), IBPHMM(**options), "states"),
        "grating, 6 x 3": Case(recorded("grating"), acting, "actions", POINT),
        "demonstrations": Case(demonstrations(3, 2), acting, "actions", POINT),
    }


def score(case: Case, faulty: Faulty, seed: int, n_channels: int) -> tuple[float, int]:
    """Fit, and return which share of the steps has another label than the true one, and how many labels there are."""
    settings = case.model.get_params() | {"random_state": seed}
    if case.blocks is not None:
        settings["blocks"] = case.blocks + ["plain"] * (faulty.parts[0].shape[1] - n_channels)
    model = type(case.model)(**settings).fit(faulty.parts)
    found = np.concatenate(model.actions_ if case.truth == "actions" else model.paths_)
    return hamming(np.concatenate(faulty.truth), found), len(np.unique(found))


def in_words(scores: list[tuple[float, int]]) -> list[str]:
    """Return mean distance, and the numbers found."""
    distances, numbers = zip(*scores, strict=True)
    return [f"{np.mean(distances):.3f}", ", ".join(map(str, sorted(set(numbers))))]


def rows_of(name: str, case: Case, n_runs: int) -> list[str]:
    """Return table rows of one set."""
    rows, sets = [], [case.load(seed) for seed in range(n_runs)]
    for fault, spoil in FAULTS.items():
        scores = []
        for seed, data in enumerate(sets):
            faulty = spoil(np.random.default_rng(seed), data.sequences, getattr(data, case.truth))
            scores.append(score(case, faulty, seed, data.n_dims))
        rows.append(f"| {' | '.join([name, fault, *in_words(scores)])} |")
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", help="names of sets, by their beginnings; all by default")
    parser.add_argument("--runs", type=int, default=3, help="seeds of each set")
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--sweeps", type=int, default=200)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    options = {"n_chains": arguments.chains, "n_sweeps": arguments.sweeps}
    rows, complete = [], arguments.sets is None
    for name, case in cases(options).items():
        if arguments.sets is None or name.startswith(tuple(arguments.sets)):
            try:
                rows += rows_of(name, case, arguments.runs)
            except InputError as error:
                print(f"Left out: {name} ({error})")
                complete = False
    parts = {"rows": "\n".join(rows), **vars(arguments)}
    write_result("robustness.md", filled(template("robustness_page.md"), **parts), complete=complete)


if __name__ == "__main__":
    main()
