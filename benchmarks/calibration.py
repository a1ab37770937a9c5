"""Whether reported probabilities and intervals are right as often as they say: ``python -m benchmarks.calibration``.

`ActionHMM` and `SPCMMixture` with their default settings, on data whose truth is known. A full run writes
results/calibration.md; a shorter one only prints, unless told to write.
"""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.action_accuracy import TASKS, find_actions
from benchmarks.pages import write_result
from homothety import SPCMMixture
from homothety.datasets import make_wishart_families
from homothety.errors import ConvergenceWarning, InputError
from homothety.phrases import markdown_table
from homothety.summaries.partitions import named_after

if TYPE_CHECKING:
    from homothety import ActionHMM
    from homothety.arrays import BoolArray, FloatArray
    from homothety.datasets import SequenceSet
    from homothety.estimators.spcm import Points

N_RUNS, N_RUNS_RECORDED = 30, 2
N_PAIRS = 20_000  # pairs of steps of each run
MADE_UP = "Demonstrations, 3 frames x 2"
RECORDED = ("Grating, 6 x 3", "Rolling", "Peeling, 13 channels")
EDGES = np.array([0.0, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1.0])
POINTS: tuple[Points, ...] = ("spectral", "shape")
N_DEGREES = (20, 100)  # of freedom of a sampled covariance matrix
HEADER = ("claimed", "mean claim", "number", "right")
BOUNDARY_HEADER = ("set", "true changes", "held by the interval", "mean width (steps)", "steps between looks")


class Claims(NamedTuple):
    """Probabilities that were reported, and whether what they were reported for was true."""

    claimed: FloatArray  # (n_claims,)
    is_true: BoolArray  # (n_claims,)


class Boundaries(NamedTuple):
    """The interval of the reported change nearest to each true one."""

    is_held: BoolArray  # (n_true_changes,)
    width: FloatArray  # (n_true_changes,) in steps; NaN where there is no interval
    stride: int


class Run(NamedTuple):
    """What one fit claims."""

    steps: Claims
    pairs: Claims
    boundaries: Boundaries


def claims_of_steps(fit: ActionHMM, recordings: SequenceSet) -> Claims:
    """Return how probable the reported action of each step is, and whether it is the true one.

    Reported actions are given true ones, one to one, such that most steps agree.
    """
    truth, found = np.concatenate(recordings.actions), np.concatenate(fit.actions_)
    truth = np.unique(truth, return_inverse=True)[1]
    return Claims(np.concatenate(fit.action_probability_), named_after(truth, found) == truth)


def claims_of_pairs(fit: ActionHMM, recordings: SequenceSet, seed: int) -> Claims:
    """Return how probable it is that two steps have one action, for some pairs, and whether they have."""
    truth, rng = np.concatenate(recordings.actions), np.random.default_rng(seed)
    side = int(np.sqrt(N_PAIRS))
    rows, columns = (rng.integers(len(truth), size=side) for _ in range(2))
    return Claims(fit.action_colabelling(rows, columns).ravel(), (truth[rows][:, None] == truth[columns]).ravel())


def boundaries(fit: ActionHMM, recordings: SequenceSet) -> Boundaries:
    """Return which true changes are in the interval of the nearest reported change; none if none is reported."""
    held, widths = [], []
    for i, actions in enumerate(recordings.actions):
        own = [one for one in fit.action_boundaries_ if one.series == i]
        for change in np.flatnonzero(np.diff(actions)) + 1:
            nearest = min(own, key=lambda one, change=change: abs(one.step - change), default=None)
            low, high = (nearest.low, nearest.high) if nearest else (None, None)
            held.append(low is not None and high is not None and low <= change <= high)
            widths.append(np.nan if low is None or high is None else high - low + 1)
    return Boundaries(np.array(held), np.array(widths, dtype=float), fit.preprocessing_.settings.stride)


def run_once(key: str, seed: int) -> Run:
    """Fit a set and compare what is claimed with the truth."""
    task = TASKS[key]
    recordings = task.load(seed)
    return claims(find_actions(recordings, task.blocks, seed), recordings, seed)


def claims(fit: ActionHMM, recordings: SequenceSet, seed: int) -> Run:
    """Return all that a fit claims."""
    return Run(claims_of_steps(fit, recordings), claims_of_pairs(fit, recordings, seed), boundaries(fit, recordings))


def claims_of_families(points: Points, n_degrees: int, seed: int) -> Claims:
    """Return how often two matrices share a cluster, for all pairs, and whether they are of one family."""
    families = make_wishart_families(dof=n_degrees, random_state=seed)
    fit = SPCMMixture(points=points, random_state=seed).fit(families.matrices)
    pairs = np.triu_indices(len(families.labels), 1)
    return Claims(fit.coclustering_[pairs], (families.labels[:, None] == families.labels)[pairs])


def measure_families(n_runs: int) -> dict[str, Claims]:
    """Return the claims of all fits of matrices, by what was fitted."""
    return {
        f'`points="{points}"`, {n} degrees of freedom': joined(
            [claims_of_families(points, n, i) for i in range(n_runs)]
        )
        for points in POINTS
        for n in N_DEGREES
    }


def joined(parts: list[Claims]) -> Claims:
    """Return the claims of several fits together."""
    claimed, is_true = zip(*parts, strict=True)
    return Claims(np.concatenate(claimed), np.concatenate(is_true))


def reliability_rows(found: Claims) -> list[list[str]]:
    """Return a line for every range of claimed probabilities that has claims."""
    bins = np.clip(np.searchsorted(EDGES, found.claimed, side="right") - 1, 0, len(EDGES) - 2)
    rows = []
    for b in np.unique(bins):
        claimed, is_true = found.claimed[bins == b], found.is_true[bins == b]
        ends = f"{EDGES[b]:.2f} to {EDGES[b + 1]:.2f}"
        rows.append([ends, f"{claimed.mean():.3f}", str(len(claimed)), f"{is_true.mean():.3f}"])
    return rows


def boundary_row(title: str, runs: list[Run]) -> list[str]:
    """Return how many of the true changes are held by their intervals."""
    held, width = (np.concatenate([getattr(run.boundaries, name) for run in runs]) for name in ("is_held", "width"))
    strides = sorted({run.boundaries.stride for run in runs})
    return [title, str(len(held)), f"{held.mean():.3f}", f"{np.nanmean(width):.1f}", ", ".join(map(str, strides))]


def measure(key: str, n_runs: int) -> list[Run]:
    """Return the runs of a set; none if its file is missing."""
    try:
        return [run_once(key, seed) for seed in range(n_runs)]
    except InputError as missing:
        print(f"Left out: {key} ({missing})")
        return []


def main() -> None:
    """Run what is asked for; write the page if that is everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=N_RUNS, help="draws of demonstrations and of matrices")
    parser.add_argument("--recorded", type=int, default=N_RUNS_RECORDED, help="seeds for each recorded set")
    parser.add_argument("--write", action="store_true", help="write the page however few the runs")
    options = parser.parse_args()
    is_full = options.write or vars(options) == vars(parser.parse_args([]))
    warnings.simplefilter("ignore", ConvergenceWarning)
    counts = {MADE_UP: options.runs} | dict.fromkeys(RECORDED, options.recorded)
    found = {key: runs for key, n_runs in counts.items() if (runs := measure(key, n_runs))}
    text = page(found, measure_families(options.runs), options.runs)
    print(text)
    write_result("calibration.md", text, complete=is_full and len(found) == len(counts))


def page(found: dict[str, list[Run]], families: dict[str, Claims], n_runs: int) -> str:
    """Return the page as Markdown."""
    parts = [INTRODUCTION.format(n_runs=n_runs)]
    parts += ["## Intervals of changes\n", INTERVALS]
    parts.append(markdown_table(BOUNDARY_HEADER, [boundary_row(key, runs) for key, runs in found.items()]) + "\n")
    for title, text, name in (("Actions of steps", STEPS, "steps"), ("Pairs of steps", PAIRS, "pairs")):
        parts += [f"## {title}\n", text]
        for key, runs in found.items():
            table = markdown_table(HEADER, reliability_rows(joined([getattr(run, name) for run in runs])))
            parts.append(f"{key}, {len(runs)} runs:\n\n{table}\n")
    parts += ["## Pairs of matrices\n", MATRICES]
    parts += [f"{title}:\n\n{markdown_table(HEADER, reliability_rows(all_))}\n" for title, all_ in families.items()]
    return "\n".join(parts)


INTRODUCTION = """# Are probabilities and intervals right?

Written by `python -m benchmarks.calibration`: default settings, {n_runs} draws of demonstrations and of matrices. A
claim is calibrated if 80 % of all things that are claimed with a probability of 0.8 are true. Tables have the claims by
range: their mean, their number, and the share of them that is true.

Reported probabilities take the model for true. On series drawn from the model itself they are calibrated
(`tests/calibration/test_boundaries.py`). Demonstrations are made up of smooth motions, which no Gaussian state
describes exactly. Grating, rolling and peeling are recordings of people with actions labelled by hand: a person may set
a change elsewhere, or call two motions one action, and no probability includes that.
"""
INTERVALS = """A true change of action is held if it is in the 90 % interval of the reported change nearest to it
(`action_boundaries_`). A change between two looks may be at any step between them, so no interval is shorter than the
distance of looks. Intervals of whole steps hold a little more than 90 %. On grating, the first change of every
recording is reported 60 to 160 steps before the one labelled by hand.
"""
STEPS = """`action_probability_`: whether the reported action of a step is the true one. Reported actions are given true
ones, one to one, such that most steps agree.
"""
PAIRS = """`action_colabelling`: whether two steps, drawn at random, have one action. Claims between 0.1 and 0.7 on
demonstrations are 0.1 to 0.3 too high. The state of the stroke takes in the slow end of the reach before it (2.5
steps on average) and the slow beginning of the return after it (1 step). Most of these pairs have a step of a stroke.
"""
MATRICES = """`coclustering_` of the SPCM-CRP mixture (`model="links"`): whether two matrices are of one family. Three
families of 20 sample covariance matrices each (`make_wishart_families`), turned and resized at random. The mixture of
shapes, which is the default, is measured on [the page of clusters](clusters.md#calibration).

Shares of draws are no calibrated probabilities with `points="spectral"`. The embedding is computed
from the similarities of all matrices and then taken for data without noise: matrices that are alike by chance become a
tight cluster. Neither chains that differ, nor the prior of the links, nor a fixed concentration is the reason: with
equal similarities for all links, or a sampled concentration, 8 to 9 % of the pairs below 0.01 are of one family at 20
degrees of freedom. With `points="shape"`, where the coordinates of a matrix depend on that matrix alone, shares are
nearly calibrated.
"""

if __name__ == "__main__":
    main()
