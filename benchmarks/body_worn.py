"""What an ordinary large set costs: ``python -m benchmarks.body_worn``.

Recordings like those of sensors worn on the body are made here: 52 of 2,560 steps in 9 channels, 12 activities that
last some hundred steps, and noise that is correlated in time. Segmenters with their default settings run against
Gaussian hidden Markov models of hmmlearn with 2 to 12 states, three restarts each, on the same steps. All in one run;
nothing is written.
"""

from __future__ import annotations

import argparse
from functools import partial
from time import perf_counter

import numpy as np
from scipy.signal import lfilter
from sklearn.metrics import adjusted_rand_score

from benchmarks.action_speed import fit_hmmlearn
from benchmarks.timing import seconds
from homothety import IBPHMM, ActionHMM

N_RECORDINGS, N_STEPS, N_CHANNELS, N_ACTIVITIES = 52, 2560, 9, 12
STAY = 250  # steps, on average
CORRELATION = 0.7  # of noise, from step to step
MODELS = {"ActionHMM": ActionHMM, "IBPHMM": IBPHMM}


def body_worn(seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return recordings and the activity of every step."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(N_ACTIVITIES, N_CHANNELS))
    mixing = rng.normal(size=(N_ACTIVITIES, N_CHANNELS, N_CHANNELS)) * rng.uniform(0.1, 0.4, (N_ACTIVITIES, 1, 1))
    recordings, activities = [], []
    for _ in range(N_RECORDINGS):
        changes = rng.random(N_STEPS) < 1 / STAY
        own = rng.choice(N_ACTIVITIES, size=N_ACTIVITIES // 2, replace=False)
        path = rng.choice(own, size=changes.sum() + 1)[np.cumsum(changes)]
        noise = rng.normal(size=(N_STEPS, N_CHANNELS)) * np.sqrt(1 - CORRELATION**2)
        noise = lfilter([1.0], [1.0, -CORRELATION], noise, axis=0)
        recordings.append(means[path] + np.einsum("tij,tj->ti", mixing[path], noise))
        activities.append(path)
    return recordings, activities


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--no-peer", action="store_true", help="leave out hmmlearn, which takes longest")
    options = parser.parse_args()
    recordings, activities = body_worn(0)
    for name in options.models:
        begin = perf_counter()
        model = MODELS[name](random_state=0, n_jobs=2).fit(recordings)
        paths = np.concatenate(getattr(model, "actions_", model.paths_))
        print(
            f"{name}: {perf_counter() - begin:.0f} s, {model.n_sweeps_} sweeps, {paths.max() + 1} found of "
            f"{N_ACTIVITIES}, ARI {adjusted_rand_score(np.concatenate(activities), paths):.3f}, "
            f"stride {model.preprocessing_.settings.stride}. {model.diagnose().text}",
            flush=True,
        )
    if not options.no_peer:
        looks = np.concatenate(recordings)
        print(f"hmmlearn: {seconds(partial(fit_hmmlearn, looks, np.full(N_RECORDINGS, N_STEPS))):.0f} s")


if __name__ == "__main__":
    main()
