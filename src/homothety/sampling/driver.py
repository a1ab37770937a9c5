"""Driving chains. A model is known here only by its moves: functions ``(rng, model, state) -> (state, info)``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.random import Generator, SeedSequence

from homothety.errors import InputError
from homothety.sampling.trace import Trace

Move = Callable[[Generator, Any, Any], tuple[Any, Any]]
Sweep = Mapping[str, Move]


@dataclass(frozen=True)
class Recording:
    """What to keep of a chain.

    Parameters
    ----------
    scalars : callable
        From model, state and the infos of the moves to the numbers to trace, by name.
    keep : callable
        From a state to what is kept of it after burn-in.
    """

    scalars: Callable[[Any, Any, dict[str, Any]], dict[str, float]]
    keep: Callable[[Any], Any]


def iterate(rng: Generator, model: Any, state: Any, sweep: Sweep) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Advance the chain for ever, yielding the state and what each move reported."""
    while True:
        infos: dict[str, Any] = {}
        for name, move in sweep.items():
            state, infos[name] = move(rng, model, state)
        state = replace(state, step=state.step + 1)
        yield state, infos


def run_chain(
    seed: SeedSequence,
    model: Any,
    state: Any,
    sweep: Sweep,
    recording: Recording,
    *,
    n_sweeps: int,
    n_burn: int,
    on_sweep: Callable[[], None] | None = None,
) -> Trace:
    """Run one chain and return its trace; an interrupt ends it early but loses no finished sweep."""
    rng, trace = np.random.default_rng(seed), Trace()
    try:
        started = perf_counter()
        for visited, infos in islice(iterate(rng, model, state, sweep), n_sweeps):
            trace.add(recording.scalars(model, visited, infos) | {"seconds": perf_counter() - started})
            if visited.step > n_burn:
                trace.kept.append(recording.keep(visited))
            if on_sweep is not None:
                on_sweep()
            started = perf_counter()
    except KeyboardInterrupt:
        trace.interrupted = True
    return trace


def run_chains(
    model: Any,
    state: Any,
    sweep: Sweep,
    recording: Recording,
    *,
    seed: SeedSequence,
    n_chains: int,
    n_sweeps: int,
    n_burn: int,
    n_jobs: int | None = None,
    progress: bool = False,
) -> list[Trace]:
    """Run several chains from independent spawned seeds and return their traces, in the order of the seeds.

    The compiled sweeps release the interpreter's lock, so threads are preferred; `joblib.parallel_config` chooses
    another backend. The result does not depend on `n_jobs`.
    """
    check_schedule(n_chains, n_sweeps, n_burn)
    seeds = seed.spawn(n_chains)
    with _progress_bar(progress, n_chains * n_sweeps) as bar:
        on_sweep = None if bar is None else _Ticker(bar)
        chain = partial(run_chain, n_sweeps=n_sweeps, n_burn=n_burn, on_sweep=on_sweep)
        if n_jobs in (None, 1) or n_chains == 1:
            return list(_until_interrupted(chain(s, model, state, sweep, recording) for s in seeds))
        jobs = (delayed(chain)(s, model, state, sweep, recording) for s in seeds)
        return list(Parallel(n_jobs=n_jobs, prefer="threads")(jobs))


def check_schedule(n_chains: int, n_sweeps: int, n_burn: int) -> None:
    """Raise unless there is at least one chain and at least one sweep to keep."""
    if n_chains < 1:
        raise InputError(f"n_chains is {n_chains}, needed at least 1.")
    if not 0 <= n_burn < n_sweeps:
        raise InputError(f"n_burn is {n_burn} and n_sweeps is {n_sweeps}: needed 0 <= n_burn < n_sweeps.")


def _until_interrupted(traces: Iterator[Trace]) -> Iterator[Trace]:
    """Pass traces on; after an interrupted one start no further chain."""
    for trace in traces:
        yield trace
        if trace.interrupted:
            return


def _progress_bar(progress: bool, total: int) -> Any:
    """Return a progress bar over all sweeps of all chains, or a context that yields None."""
    if not progress:
        return nullcontext()
    from tqdm.auto import tqdm

    return tqdm(total=total, unit="sweep", desc="sampling")


class _Ticker:
    """Advance a progress bar from any thread."""

    def __init__(self, bar: Any) -> None:
        self._bar, self._lock = bar, threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            self._bar.update()
