"""What actions cost: ``python -m benchmarks.action_speed``.

On twelve recordings of grating (HOMOTHETY_DATA), or on demonstrations where they are missing: a sweep with frames
against the same sweep without, the search for starts against a hundred sweeps, and a whole fit against Gaussian hidden
Markov models of hmmlearn with 2 to 12 states, three restarts each, on the same looks. All in one run; nothing is
written.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from unittest import mock

import numpy as np

from benchmarks.action_accuracy import POINT, POSE, demonstrations, recorded
from benchmarks.timing import best_of, print_rows, row, seconds
from homothety import ActionHMM
from homothety.errors import InputError
from homothety.estimators import action_hmm
from homothety.models import frames, ibphmm
from homothety.models.frames.defaults import model_and_starts

if TYPE_CHECKING:
    from homothety.models.frames.defaults import Task
    from homothety.models.frames.search import Start
    from homothety.sequences import Sequences

N_SWEEPS = 100
MOST_SWEEP, MOST_SEARCH = 1.3, 100  # times a sweep without frames, and sweeps that the search for starts may take
N_STATES, N_RESTARTS, N_ITERATIONS = range(2, 13), 3, 100  # of hmmlearn


def load() -> tuple[list[np.ndarray], list[str]]:
    """Return recordings and what their channels are."""
    try:
        return list(recorded("grating-full")(0).sequences), POSE
    except InputError as missing:
        print(f"Demonstrations instead of grating ({missing})")
        return list(demonstrations(3, 4)(0).sequences), POINT


class Searched(NamedTuple):
    """What chains are conditioned on and start from, and how long that took to find."""

    model: frames.Model
    starts: list[Start]
    looks: Sequences
    seconds: float


def searched(recordings: list[np.ndarray], blocks: list[str]) -> Searched:
    """Search for starts twice, and time the second: the first may compile."""
    found = []

    def timed(rng: np.random.Generator, task: Task) -> tuple[frames.Model, list[Start]]:
        started = time.perf_counter()
        model, starts = model_and_starts(rng, task)
        found.append(Searched(model, starts, task.recordings, time.perf_counter() - started))
        return model, starts

    with mock.patch.object(action_hmm, "model_and_starts", timed):
        for _ in range(2):
            ActionHMM(blocks=blocks, n_chains=1, n_sweeps=2, random_state=0).fit(recordings)
    return found[-1]


def sweeps(moves: dict, model: object, state: object, n_sweeps: int = N_SWEEPS) -> None:
    """Make some sweeps from a state."""
    rng = np.random.default_rng(0)
    for _ in range(n_sweeps):
        for move in moves.values():
            state, _ = move(rng, model, state)


def fit_hmmlearn(steps: np.ndarray, lengths: np.ndarray) -> None:
    """Fit all numbers of states."""
    from hmmlearn.hmm import GaussianHMM

    logging.getLogger("hmmlearn").setLevel(logging.ERROR)
    for n_states in N_STATES:
        for seed in range(N_RESTARTS):
            model = GaussianHMM(n_states, covariance_type="full", n_iter=N_ITERATIONS, random_state=seed)
            with suppress(ValueError):  # a covariance that became singular
                model.fit(steps, lengths)


def main() -> None:
    """Measure and print."""
    recordings, blocks = load()
    found = searched(recordings, blocks)
    model, looks = found.model, found.looks
    state = action_hmm.start_from(found.starts, np.random.default_rng(0), model)
    with_frames = best_of(partial(sweeps, frames.default_sweep(), model, state), 3)
    aligned = model.aligned(state.frames)
    without = best_of(partial(sweeps, ibphmm.default_sweep(), aligned, state.segmentation), 3)
    whole = seconds(partial(ActionHMM(blocks=blocks, random_state=0, n_jobs=2).fit, recordings))
    peer = seconds(partial(fit_hmmlearn, looks.steps, looks.lengths))
    print_rows(
        [
            row(f"{N_SWEEPS} sweeps without frames, of which {MOST_SWEEP} may be taken", with_frames, without, 0),
            row(f"search for starts: {MOST_SEARCH} sweeps", found.seconds, with_frames, 1),
            row("a fit: hmmlearn, 2 to 12 states, three restarts", whole, peer, 1),
        ]
    )
    print(f"A sweep with frames takes {with_frames / without:.2f} times one without.")


if __name__ == "__main__":
    main()
