"""A run that says when it is under way, so that a test can interrupt or kill it; what came of it is printed as JSON.

Usage: interrupted_walk.py BACKEND N_JOBS [CHECKPOINT]. Backend "none" leaves the choice to the library.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import nullcontext

import joblib

from homothety.sampling import Checkpoints, Recorder
from walks import SWEEP, contents, run_walks

N_SWEEPS = 100_000  # nobody waits for these


class Bell(Recorder):
    """Rings when its chain is well past burn-in."""

    def on_sweep(self, visit):
        if visit.n_sweeps == 20:
            os.write(1, b"under way\n")  # in one piece: print writes the end of a line apart


def pause(rng, model, state):
    time.sleep(0.002)
    return state, None


def main(backend: str, n_jobs: int, folder: str | None = None) -> None:
    place = nullcontext() if backend == "none" else joblib.parallel_config(backend=backend)
    checkpoint = None if folder is None else Checkpoints(folder, every_sweeps=7)
    sweep, found = {**SWEEP, "pause": pause}, {"raised": False, "traces": []}
    with place:
        try:
            options = {"n_sweeps": N_SWEEPS, "n_chains": 3, "recorders": [Bell()], "checkpoint": checkpoint}
            traces = run_walks(n_jobs=n_jobs, sweep=sweep, **options)
            found["traces"] = [[t.n_sweeps, len(t.kept), t.interrupted] for t in traces]
            found["contents"] = contents(traces)
        except KeyboardInterrupt:
            found["raised"] = True
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
