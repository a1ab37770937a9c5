"""What missing values cost, in accuracy and in time: ``python -m benchmarks.missing``.

Values of recordings are taken away at random. Each set is segmented as it is, with gaps filled in by straight lines
(pandas), and with the gaps left to the library. Toy series and demonstrations are made here; grating is the paper's
(HOMOTHETY_DATA). Writes results/missing.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.action_accuracy import POINT, demonstrations, recorded
from benchmarks.pages import filled, template, write_result
from homothety import IBPHMM, ActionHMM
from homothety.datasets import make_toy_2d
from homothety.errors import InputError
from homothety.metrics import hamming
from homothety.models import ibphmm, missing
from homothety.models.emissions import Emission
from homothety.sampling.driver import iterate
from homothety.sequences import check_sequences

if TYPE_CHECKING:
    from collections.abc import Callable

    from homothety.datasets import SequenceSet

N_SWEEPS_TIMED = 15


class Case(NamedTuple):
    """A set of recordings, and the model that segments it."""

    load: Callable[[int], SequenceSet]
    model: Any
    truth: str  # what is known of the set


class Score(NamedTuple):
    """Steps with another state or action than the true one, how many of these were found, and coverage."""

    distance: float
    number: int
    coverage: float = float("nan")


def steps_missing(share: float) -> Callable[[np.random.Generator, int, np.ndarray], np.ndarray]:
    """Return what takes a share of the steps away."""
    return lambda rng, i, steps: np.where(rng.random((len(steps), 1)) < share, np.nan, steps)  # noqa: ARG005


def values_missing(share: float) -> Callable[[np.random.Generator, int, np.ndarray], np.ndarray]:
    """Return what takes a share of single values away."""
    return lambda rng, i, steps: np.where(rng.random(steps.shape) < share, np.nan, steps)  # noqa: ARG005


def first_channel_missing(rng: np.random.Generator, i: int, steps: np.ndarray) -> np.ndarray:  # noqa: ARG001
    """Take the first channel away from every second recording."""
    return np.where((np.arange(steps.shape[1]) == 0) & (i % 2 == 1), np.nan, steps)


GAPS = {
    "10 % of the steps": steps_missing(0.1),
    "30 % of the steps": steps_missing(0.3),
    "50 % of the steps": steps_missing(0.5),
    "30 % of single values": values_missing(0.3),
    "first channel, in half of the recordings": first_channel_missing,
}


def cases(options: dict[str, Any]) -> dict[str, Case]:
    """Return all sets."""
    acting = ActionHMM(**options)
    return {
        "toy, 2 channels": Case(lambda seed: make_toy_2d(seed), IBPHMM(**options), "states"),
        "grating, 6 x 3": Case(recorded("grating"), replace_blocks(acting, POINT), "actions"),
        "demonstrations": Case(demonstrations(3, 2), acting, "actions"),
    }


def replace_blocks(model: ActionHMM, blocks: Any) -> ActionHMM:
    """Return a model with other blocks."""
    return ActionHMM(**(model.get_params() | {"blocks": blocks}))


def interpolated(sequences: list[np.ndarray]) -> list[np.ndarray]:
    """Return recordings with gaps filled in by pandas; a channel that is not there is its mean over the others."""
    means = np.nanmean(np.concatenate(sequences), axis=0)
    frames = [pd.DataFrame(one).interpolate(limit_direction="both") for one in sequences]
    return [np.where(frame.isna(), means, frame) for frame in frames]


def score(case: Case, data: SequenceSet, sequences: list[np.ndarray], seed: int, *, impute: bool = False) -> Score:
    """Fit, and return how good the answer is."""
    model = type(case.model)(**(case.model.get_params() | {"random_state": seed}))
    model.fit(replace(data, sequences=sequences))
    found = model.actions_ if case.truth == "actions" else model.paths_
    distance = hamming(getattr(data, case.truth), found)
    number = model.n_actions_ if case.truth == "actions" else model.n_states_
    if not impute:
        return Score(distance, number)
    inside = []
    for one, whole, gappy in zip(model.impute(sequences), data.sequences, sequences, strict=True):
        gaps = np.isnan(gappy) & ~np.isnan(one.values)
        inside.append(((one.lower <= whole) & (whole <= one.upper))[gaps])
    held = np.concatenate(inside)
    return Score(distance, number, float(held.mean()) if len(held) else float("nan"))


def in_words(scores: list[Score]) -> str:
    """Return mean distance and numbers found."""
    numbers = ", ".join(map(str, sorted({one.number for one in scores})))
    return f"{np.mean([one.distance for one in scores]):.3f} ({numbers})"


def rows_of(name: str, case: Case, n_runs: int) -> list[str]:
    """Return table rows of one set."""
    rows, sets = [], [case.load(seed) for seed in range(n_runs)]
    whole = [score(case, one, one.sequences, seed) for seed, one in enumerate(sets)]
    for kind, take in GAPS.items():
        straight, drawn = [], []
        for seed, data in enumerate(sets):
            rng = np.random.default_rng(seed)
            gappy = [take(rng, i, one) for i, one in enumerate(data.sequences)]
            straight.append(score(case, data, interpolated(gappy), seed))
            drawn.append(score(case, data, gappy, seed, impute=True))
        coverage = np.mean([one.coverage for one in drawn])
        cells = [
            name,
            kind,
            in_words(straight),
            in_words(drawn),
            in_words(whole),
            "-" if np.isnan(coverage) else f"{coverage:.2f}",
        ]
        rows.append(f"| {' | '.join(cells)} |")
        print(rows[-1], flush=True)
    return rows


def sweep_seconds(model: Any, state: Any, sweep: Any) -> float:
    """Return the shortest processor time of a sweep."""
    sweeps, times = iterate(np.random.default_rng(1), model, state, sweep), []
    list(islice(sweeps, 3))
    for _ in range(N_SWEEPS_TIMED):
        started = time.process_time()
        next(sweeps)
        times.append(time.process_time() - started)
    return min(times)


def cost_rows() -> list[str]:
    """Return table rows of what a sweep takes with gaps, over what it takes without, in one run."""
    rows = []
    for n_dims in (2, 6, 13):
        rng = np.random.default_rng(0)
        means, roots = 2 * rng.normal(size=(5, n_dims)), rng.normal(size=(5, n_dims, n_dims)) / np.sqrt(n_dims)
        paths = [np.repeat(rng.integers(0, 5, 40), 50) for _ in range(6)]
        noise = [rng.normal(size=(len(path), n_dims)) for path in paths]
        steps = check_sequences(
            [means[path] + np.einsum("tde,te->td", roots[path], e) for path, e in zip(paths, noise, strict=True)]
        )
        emission = Emission.gaussian(np.zeros(n_dims), 1.0, 1.5 * np.eye(n_dims), n_dims + 3.0)
        model = ibphmm.Model.from_sequences(steps, emission)
        state = ibphmm.init_annealed(rng, model, n_clusters=6, n_sweeps=20)
        whole, ratios = sweep_seconds(model, state, ibphmm.default_sweep()), []
        for shape in ((steps.n_steps, 1), (steps.n_steps, n_dims)):
            lacking = np.broadcast_to(rng.random(shape) < 0.3, (steps.n_steps, n_dims)).copy()
            lifted, sweep = missing.Model.of(model, lacking), missing.lifted_sweep(ibphmm.default_sweep())
            start = missing.ChainState(state, model.values(lacking))
            ratios.append(f"{sweep_seconds(lifted, start, sweep) / whole:.2f}")
        rows.append(f"| {n_dims} | {1000 * whole:.1f} | {' | '.join(ratios)} |")
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
    costs, rows, complete = cost_rows(), [], arguments.sets is None
    for name, case in cases(options).items():
        if arguments.sets is None or name.startswith(tuple(arguments.sets)):
            try:
                rows += rows_of(name, case, arguments.runs)
            except InputError as error:
                print(f"Left out: {name} ({error})")
                complete = False
    parts = {"rows": "\n".join(rows), "costs": "\n".join(costs), **vars(arguments)}
    write_result("missing.md", filled(template("missing_page.md"), **parts), complete=complete)


if __name__ == "__main__":
    main()
