"""How well the default settings recover known states and actions: ``python -m benchmarks.segmentation_accuracy``.

Toy series are made here; recordings are the paper's (HOMOTHETY_DATA), as its table used them and in full. Beside them
stands a Gaussian hidden Markov model of hmmlearn with the number of states that was found here, the likeliest of ten
starts, on every step of the recordings. Writes results/segmentation_accuracy.md.
"""

from __future__ import annotations

import argparse
import logging
import warnings
from typing import NamedTuple

import numpy as np

from benchmarks.pages import data_folder, write_result
from homothety import IBPHMM, metrics
from homothety.datasets import make_toy_2d
from homothety.errors import InputError
from homothety.sampling.diagnostics import judge
from paper.sequence_sets import load_sequence_set

TOYS = ("toy-2d", "toy-2d-published")
RECORDINGS = ("grating", "grating-full", "rolling", "rolling-full", "peeling", "peeling-full")
N_DRAWS = 20


class Score(NamedTuple):
    """What one run found on a set with known actions."""

    n_states: int
    purity: float
    oracle: float


def oracle_merge(actions: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Return the action of every step after every state is given the one most of its steps have."""
    merged = states.copy()
    for k in np.unique(states):
        values, counts = np.unique(actions[states == k], return_counts=True)
        merged[states == k] = values[counts.argmax()]
    return merged


def oracle_merged_hamming(truth: list[np.ndarray], paths: list[np.ndarray]) -> float:
    """Share of steps that are wrong after every state is given the action most of its steps have."""
    actions, states = np.concatenate(truth), np.concatenate(paths)
    return float((oracle_merge(actions, states) != actions).mean())


def toy_rows(n_runs: int) -> list[str]:
    """Return table rows of the toy series: states found, and steps in a wrong one."""
    rows = [toy_row(f"made, {N_DRAWS} draws", [make_toy_2d(random_state=seed) for seed in range(N_DRAWS)])]
    for key in TOYS:
        try:
            rows.append(toy_row(key, [load_sequence_set(key, data_folder())] * n_runs))
        except InputError as missing:
            print(f"Left out: {key} ({missing})")
    return rows


def toy_row(name: str, sets: list) -> str:
    """Fit every set with a seed of its own and return a row of the table."""
    fits = [IBPHMM(random_state=seed, n_jobs=2).fit(one.sequences) for seed, one in enumerate(sets)]
    distances = [metrics.hamming(one.states, fit.paths_) for one, fit in zip(sets, fits, strict=True)]
    numbers = sorted({fit.n_states_ for fit in fits})
    line = (
        f"| {name} | {len(fits)} | {', '.join(map(str, numbers))} | {np.mean(distances):.4f} | {max(distances):.4f} |"
    )
    print(line, flush=True)
    return line


def agreement_of_starts() -> str:
    """Return the verdict on chains that start from one and from three states per series."""
    toy = make_toy_2d(random_state=0)
    kept = []
    for n_start in (1, 3):
        fit = IBPHMM(start="private", n_start=n_start, n_chains=2, random_state=n_start, n_jobs=2).fit(toy.sequences)
        kept.append(fit.result_.chains.kept(["log_joint"])["log_joint"])
    n_draws = min(draws.shape[1] for draws in kept)
    draws = {"log_joint": np.concatenate([draws[:, -n_draws:] for draws in kept])}
    verdict = judge(draws, max_r_hat=1.05, min_ess=25)
    line = f"Chains of 500 sweeps from one and from three states per series: {verdict.text}"
    print(line, flush=True)
    return line


def recording_row(key: str, n_runs: int) -> str | None:
    """Fit one set of recordings again and again, and hmmlearn's model beside it."""
    try:
        recordings = load_sequence_set(key, data_folder())
    except InputError as missing:
        print(f"Left out: {key} ({missing})")
        return None
    fits = [IBPHMM(random_state=seed, n_jobs=2).fit(recordings.sequences) for seed in range(n_runs)]
    scores = np.array([score(recordings.actions, fit.paths_) for fit in fits])
    n_states = int(np.median(scores[:, 0]))
    peer = score(recordings.actions, peer_paths(recordings.sequences, n_states))
    stride = fits[0].preprocessing_.settings.stride
    line = (
        f"| {key} | {stride} | {scores[:, 0].mean():.1f} | {scores[:, 1].mean():.3f} | {peer.purity:.3f} "
        f"| {scores[:, 2].mean():.3f} ({scores[:, 2].std():.3f}) | {peer.oracle:.3f} |"
    )
    print(line, flush=True)
    return line


def score(truth: list[np.ndarray], paths: list[np.ndarray]) -> Score:
    """Compare paths with known actions."""
    return Score(
        len(np.unique(np.concatenate(paths))), metrics.purity(truth, paths), oracle_merged_hamming(truth, paths)
    )


def peer_paths(sequences: list[np.ndarray], n_states: int) -> list[np.ndarray]:
    """Return the paths of the likeliest of ten Gaussian hidden Markov models of hmmlearn."""
    from hmmlearn.hmm import GaussianHMM

    logging.getLogger("hmmlearn").setLevel(logging.ERROR)
    steps, lengths = np.concatenate(sequences), [len(series) for series in sequences]
    best, best_score = None, -np.inf
    for seed in range(10):
        model = GaussianHMM(n_states, "full", n_iter=100, random_state=seed, implementation="scaling")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                likelihood = model.fit(steps, lengths).score(steps, lengths)
            except ValueError:  # a covariance that collapsed
                continue
        if likelihood > best_score:
            best, best_score = model, likelihood
    assert best is not None
    return np.split(best.predict(steps, lengths), np.cumsum(lengths)[:-1])


def main() -> None:
    """Run everything and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--sets", nargs="*", default=RECORDINGS)
    parser.add_argument("--no-toys", action="store_true")
    options = parser.parse_args()
    toys = [] if options.no_toys else toy_rows(options.runs)
    agreement = "" if options.no_toys else agreement_of_starts()
    rows = [line for key in options.sets if (line := recording_row(key, options.runs))]
    if not options.no_toys:
        write_result("segmentation_accuracy.md", page(toys, agreement, rows, options.runs))


def page(toys: list[str], agreement: str, rows: list[str], n_runs: int) -> str:
    """Return the page as Markdown."""
    return "\n".join(
        [
            "# Accuracy of segmentation",
            "",
            "Written by `make accuracy`: `IBPHMM` with its default settings.",
            "",
            "| toy series | runs | states found (true: 4) | mean share of wrong steps | largest |",
            "| --- | ---: | ---: | ---: | ---: |",
            *toys,
            "",
            agreement,
            "",
            f"Recordings, means (standard deviation) over {n_runs} seeds. *Oracle* is the share of wrong steps",
            "after every state is given the action most of its steps have. hmmlearn's model has the median number of",
            "states found here, and is the likeliest of ten starts.",
            "",
            "| recordings | stride | states | purity | hmmlearn | oracle | hmmlearn |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
            *rows,
            "",
            *missing_note(rows),
        ]
    )


def missing_note(rows: list[str]) -> list[str]:
    """Say which recordings are not in the table."""
    missing = [key for key in RECORDINGS if not any(line.startswith(f"| {key} |") for line in rows)]
    return [f"Not measured yet: {', '.join(missing)}.", ""] if missing else []


if __name__ == "__main__":
    main()
