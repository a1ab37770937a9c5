"""Chains on the workers of a cluster, with messages on their progress.

A chain whose worker dies is given to another one by the scheduler, and goes on from its last checkpoint. Recorders have
a copy in each worker, but for those to which a glimpse now and then is enough: they stay where they are, and get it.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from threading import RLock
from time import perf_counter
from typing import TYPE_CHECKING, Any

from homothety import workers
from homothety.sampling.recorders import Recorder, Visit
from homothety.sampling.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from homothety.sampling.driver import Chain

_SECONDS = 1.0  # at least, between two messages of a chain


class SharedRun:
    """Lets the thread that started the chains stop them between two sweeps and collect what they have.

    Threads cannot be interrupted; they check between two sweeps whether they are to stop. A copy that is sent to
    another process is a run of its own, which is never stopped from here.
    """

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._traces: dict[int, Trace] = {}
        self._ended: dict[int, threading.Event] = {}

    def __reduce__(self) -> tuple[type[SharedRun], tuple[()]]:
        return SharedRun, ()

    @property
    def is_stopped(self) -> bool:
        """Whether all chains are to end after the sweep they are in."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask all chains to end after the sweep they are in."""
        self._stop.set()

    @contextmanager
    def taking_part(self, chain: int, trace: Trace) -> Iterator[None]:
        """Register a chain as running, and in the end as finished."""
        self._ended[chain], self._traces[chain] = threading.Event(), trace
        try:
            yield
        finally:
            self._ended[chain].set()

    def collect(self) -> list[Trace]:
        """Stop all chains, wait until each has finished its sweep, and return their traces in order."""
        self.stop()
        chains = sorted(self._traces.copy())
        for chain in chains:
            self._ended[chain].wait()
        return [self._traces[chain] for chain in chains]


def run_on_workers(chains: Sequence[Chain]) -> list[Visit]:
    """Run chains on the cluster in use and return where they end, in order."""
    watching = [recorder for recorder in chains[0].recorders if recorder.needs_glimpses_only]
    ends: dict[int, Visit] = {}
    lock = RLock()  # news come in a thread of their own, and must not be shown behind the end of their chain

    def show(glimpse: Sequence[Any]) -> None:
        with lock:
            if glimpse[0] not in ends:
                for recorder in watching:
                    recorder.on_sweep(_seen(*glimpse))

    with workers.listening(show) if watching else nullcontext() as topic:
        jobs = [partial(_to_end, _sendable(chain), topic) for chain in chains]
        for number, end in workers.run_as_completed(jobs):
            with lock:
                show(_glimpse(number, end.trace))
                ends[number] = end
    return [ends[number] for number in sorted(ends)]


def _sendable(chain: Chain) -> Chain:
    """Return a chain without its local recorders, and with the absolute path of its checkpoint folder."""
    checkpoints = chain.checkpoints
    if checkpoints is not None:
        checkpoints = replace(checkpoints, path=checkpoints.path.absolute())
    recorders = [recorder for recorder in chain.recorders if not recorder.needs_glimpses_only]
    return replace(chain, recorders=recorders, checkpoints=checkpoints, run=SharedRun())


class _Messenger(Recorder):
    """Recorder that reports the progress of a chain to the client, and ends the chain if no client waits for it.

    Parameters
    ----------
    topic : str or None
        Under which the client listens, if it does.
    run : SharedRun
        Of this chain alone.
    """

    def __init__(self, topic: str | None, run: SharedRun) -> None:
        self.topic, self.run = topic, run
        self._last = -_SECONDS

    def on_sweep(self, visit: Visit) -> None:
        """Send a message if the last one is long enough ago."""
        now = perf_counter()
        if now - self._last >= _SECONDS:
            self._last = now
            if self.topic is not None:
                workers.tell(self.topic, _glimpse(visit.chain, visit.trace))
            if not workers.is_wanted():
                self.run.stop()


def _to_end(chain: Chain, topic: str | None) -> Visit:
    """Run a chain on a worker."""
    if chain.checkpoints is not None:
        chain.checkpoints.check_shared()
    run = SharedRun()
    return replace(chain, recorders=[*chain.recorders, _Messenger(topic, run)], run=run).to_end()


def _glimpse(chain: int, trace: Trace) -> tuple[int, int, int, dict[str, float]]:
    """Return the progress of a chain as plain numbers for a message."""
    last = {name: values[-1] for name, values in trace.scalars.items() if values}
    return chain, trace.n_sweeps, len(trace.kept), last


def _seen(chain: int, n_sweeps: int, n_kept: int, scalars: dict[str, float]) -> Visit:
    """Return a visit that has only numbers and no state."""
    return Visit(chain, None, scalars, Trace(), n_sweeps, n_kept, {})
