"""`make soak`: very many sweeps of each kind of chain. Memory stays flat, and no state drifts from what it says.

States keep no sums that are carried along, so nothing can drift unseen but the state itself: every thousand sweeps it
is checked, written to bytes and read again, and the sweep that follows must be the same from both, to the last bit.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import homothety
from homothety.datasets import make_demonstrations, make_toy_2d, make_toy_6d
from homothety.sampling import iterate
from homothety.sampling.codec import from_bytes, to_bytes
from homothety.sampling.trace import capture, restore

EVERY = 1000  # sweeps between two looks
ALLOWED_MB = 64.0  # that memory may grow by once the first tenth is over


class CaughtError(Exception):
    """What an estimator was about to run."""

    def __init__(self, *parts: Any) -> None:
        super().__init__()
        self.model, self.state, self.sweep, self.recording = parts


class Soaked(NamedTuple):
    """What very many sweeps have shown."""

    name: str
    n_sweeps: int
    seconds: float
    mb_before: float
    mb_after: float
    n_checks: int


def chain_of(estimator: Any, data: Any) -> CaughtError:
    """Return model, start and sweep that an estimator makes of data."""

    def catch(model: Any, state: Any, sweep: Any, recording: Any, **_: Any) -> None:
        raise CaughtError(model, state, sweep, recording)

    with patch("homothety.estimators.sampled.run_chains", catch), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            estimator.fit(data)
        except CaughtError as caught:
            return caught
    raise AssertionError("the estimator has run no chains")


def chains() -> dict[str, CaughtError]:
    """Return the chains to run, by name."""
    demonstrations = [one[::4] for one in make_demonstrations(1, n_per_frame=1).sequences]
    toy = [one[:60] for one in make_toy_2d(0, n_steps=80).sequences[:3]]
    return {
        "clustering": chain_of(homothety.SPCMMixture(random_state=0), make_toy_6d(0, n_per_class=6).matrices),
        "clustering by links": chain_of(
            homothety.SPCMMixture(model="links", random_state=0), make_toy_6d(0, n_per_class=6).matrices
        ),
        "segmentation with frames": chain_of(homothety.ActionHMM(random_state=0), demonstrations),
        "actions of one frame": chain_of(homothety.ICSCHMM(random_state=0), toy),
    }


def soak(n_sweeps: int, only: str = "") -> int:
    """Run all chains, print what they have shown, and return how many have failed."""
    failures = 0
    for name, chain in chains().items():
        if only not in name:
            continue
        found = run(name, chain, n_sweeps)
        grown = found.mb_after - found.mb_before
        print(
            f"{name}: {found.n_sweeps} sweeps in {found.seconds:.0f} s, memory {found.mb_before:.0f} to "
            f"{found.mb_after:.0f} MB, {found.n_checks} states equal to themselves read from bytes",
            flush=True,
        )
        if grown > ALLOWED_MB:
            failures += 1
            print(f"FAULT {name}: memory has grown by {grown:.0f} MB")
    return failures


def run(name: str, chain: CaughtError, n_sweeps: int) -> Soaked:
    """Make the sweeps of one chain; raise AssertionError if a state is not what it says."""
    seed = np.random.SeedSequence(1)
    rng = np.random.default_rng(seed)
    state = chain.state(rng, chain.model) if callable(chain.state) else chain.state
    began, before, n_checks = time.monotonic(), 0.0, 0
    visits = iterate(rng, chain.model, state, chain.sweep)
    for number in range(1, n_sweeps + 1):
        state, infos = next(visits)
        if number == max(1, n_sweeps // 10):
            before = memory_in_mb()
        if number % EVERY == 0 or number == n_sweeps:
            check_state = getattr(chain.model, "check_state", None)
            if check_state is not None:
                check_state(state)
            scalars = chain.recording.scalars(chain.model, state, infos)
            assert all(np.isfinite(value) for value in scalars.values()), f"{name}, sweep {number}: {scalars}"
            twin = iterate(restore(seed, capture(rng)), chain.model, from_bytes(to_bytes(state)), chain.sweep)
            expected = to_bytes(next(twin)[0])
            state, _ = next(visits)
            assert to_bytes(state) == expected, f"{name}, sweep {number}: another sweep from the bytes of the state"
            n_checks += 1
    return Soaked(name, n_sweeps, time.monotonic() - began, before, memory_in_mb(), n_checks)


def memory_in_mb() -> float:
    """Return the memory of this process that is in use, in MB; 0 where that cannot be told."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * 4096 / 1e6 if statm.exists() else 0.0
