"""What the chains of one run share in one process: a flag that stops them all, and their traces while they grow."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homothety.sampling.trace import Trace


class SharedRun:
    """Lets the thread that started the chains stop them between two sweeps and collect what they have.

    Threads cannot be interrupted, only asked. A copy sent to another process is a run of its own, that nobody stops.
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
        """Announce a chain, and that it has ended."""
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
