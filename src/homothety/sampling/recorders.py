"""Observers of running chains: each sees every finished sweep and may stop the chain.

A recorder changes nothing a chain computes. One object watches all chains of a process, from several threads if there
are any; where chains run in other processes, each process has its own copy, or gets glimpses if those are enough.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from homothety.sampling.trace import Trace

_SHOWN = ("n_clusters", "n_states", "n_actions", "log_joint")  # of what is traced, what a progress bar shows


@dataclass(frozen=True, eq=False, slots=True)
class Visit:
    """A chain after a finished sweep: what recorders see, and all that is needed to resume the chain.

    Parameters
    ----------
    chain : int
        Number of the chain, from 0.
    state : object
        Where the chain is.
    scalars : mapping of str to float
        Numbers traced of this sweep; empty before the first.
    trace : Trace
        Of this chain, up to this sweep. It grows with the next one: copy what must stay as it is.
    n_sweeps, n_kept : int
        Length of the trace at this sweep, and number of states kept.
    generator : mapping
        State of the generator behind this sweep, see `homothety.sampling.trace`.
    """

    chain: int
    state: Any
    scalars: Mapping[str, float]
    trace: Trace
    n_sweeps: int
    n_kept: int
    generator: Mapping[str, Any]


class Recorder:
    """Base of all recorders, which does nothing. Subclasses override the methods they need."""

    needs_glimpses_only: ClassVar[bool] = False
    """Whether the numbers of a sweep now and then are enough: a cluster sends those instead of taking a copy."""

    def on_sweep(self, visit: Visit) -> bool | None:  # noqa: ARG002
        """Look at a finished sweep; return True to make it the last of this chain.

        A resumed chain shows the sweep it starts from once more. No chain ends before it has kept something.
        """
        return None

    def on_end(self, visit: Visit) -> None:
        """Look at the last finished sweep of a chain, or of a round of it, however it came to its end."""

    def on_round(self, verdict: str, n_sweeps: int) -> None:
        """Receive the verdict of a comparison of all chains, and the planned number of sweeps of each chain."""

    def close(self) -> None:
        """Release resources after all chains have ended."""


class StopWhen(Recorder):
    """Stop a chain as soon as a given function returns True.

    Parameters
    ----------
    is_enough : callable
        From a `Visit` to whether the chain may stop.

    Examples
    --------
    >>> hundred_seconds = StopWhen(lambda visit: sum(visit.trace.scalars["seconds"]) > 100)
    """

    def __init__(self, is_enough: Callable[[Visit], bool]) -> None:
        self.is_enough = is_enough

    def on_sweep(self, visit: Visit) -> bool:
        """Ask the function."""
        return bool(self.is_enough(visit))


class StopWhenStuck(Recorder):
    """Stop a chain whose best value has not improved for long.

    Good for finding one best answer; a chain that is to represent a posterior should not be stopped by this.

    Parameters
    ----------
    patience : int
        Number of sweeps without improvement.
    name : str
        Which of the traced numbers, larger meaning better.
    tolerance : float
        Smallest gain that counts.
    """

    def __init__(self, patience: int = 100, *, name: str = "log_joint", tolerance: float = 0.0) -> None:
        if patience < 1:
            raise InputError(f"patience is {patience}, needed at least 1 sweep.")
        self.patience, self.name, self.tolerance = patience, name, tolerance

    def on_sweep(self, visit: Visit) -> bool:
        """Compare the best of the last sweeps with the best of those before; the trace itself is the memory."""
        values = visit.trace.scalars[self.name]
        earlier, recent = values[: -self.patience], values[-self.patience :]
        return bool(earlier) and max(recent) <= max(earlier) + self.tolerance


class _Progress(Recorder):
    """Counts the sweeps of all chains and knows the last numbers of each."""

    needs_glimpses_only = True

    def __init__(self, n_chains: int, n_sweeps: int) -> None:
        self.n_chains, self.n_sweeps = n_chains, n_sweeps
        self._lock = threading.Lock()
        self._done: dict[int, int] = {}
        self._latest: dict[int, Mapping[str, float]] = {}

    @property
    def total(self) -> int:
        return self.n_chains * self.n_sweeps

    def on_sweep(self, visit: Visit) -> None:
        with self._lock:
            self._done[visit.chain] = visit.n_sweeps
            self._latest[visit.chain] = visit.scalars
            self._show(sum(self._done.values()))

    def on_round(self, verdict: str, n_sweeps: int) -> None:
        with self._lock:
            self.n_sweeps = n_sweeps
            self._say(verdict)

    def _show(self, n_done: int) -> None:
        raise NotImplementedError

    def _say(self, verdict: str) -> None:
        raise NotImplementedError

    def _numbers(self) -> str:
        """Return the last numbers of all chains, as ranges: the narrower, the more the chains agree."""
        columns = {name: [row[name] for row in self._latest.values() if name in row] for name in _SHOWN}
        return ", ".join(f"{name} {_range(name, values)}" for name, values in columns.items() if values)


class ProgressBar(_Progress):
    """A bar over all sweeps of all chains, with the time left and the last numbers of the chains.

    Parameters
    ----------
    n_chains, n_sweeps : int
        How many sweeps there will be at most.

    Notes
    -----
    A copy sent to another process has no bar to draw on: it becomes `ProgressLines`.
    """

    def __init__(self, n_chains: int, n_sweeps: int) -> None:
        super().__init__(n_chains, n_sweeps)
        from tqdm.auto import tqdm

        self._bar = tqdm(total=self.total, unit="sweep", desc="sampling")

    def __reduce__(self) -> tuple[type[ProgressLines], tuple[int, int]]:
        return ProgressLines, (self.n_chains, self.n_sweeps)

    def _show(self, n_done: int) -> None:
        if self._bar.n == 0:
            self._bar.unpause()  # the first sweep compiles, and says nothing about how long the others take
        self._bar.set_postfix_str(self._numbers(), refresh=False)
        # Of a resumed chain many sweeps are there at once, and two threads may come in either order.
        self._bar.update(n_done - self._bar.n)

    def _say(self, verdict: str) -> None:
        self._bar.write(verdict, file=sys.stderr)
        self._bar.total = self.total
        self._bar.refresh()

    def close(self) -> None:
        """Leave the bar as it is on the screen."""
        self._bar.close()


class ProgressLines(_Progress):
    """Progress as plain lines for log files: one every few seconds, and one at the end.

    Parameters
    ----------
    n_chains, n_sweeps : int
        How many sweeps there will be at most.
    seconds : float
        Least time between two lines.
    """

    def __init__(self, n_chains: int, n_sweeps: int, *, seconds: float = 10.0) -> None:
        super().__init__(n_chains, n_sweeps)
        self.seconds = seconds
        self._started = self._last = perf_counter()
        self._n_at_start: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # Clocks and locks mean nothing elsewhere.
        return _lines, (self.n_chains, self.n_sweeps, self.seconds)

    def _show(self, n_done: int) -> None:
        now = perf_counter()
        if self._n_at_start is None:
            # What a resumed chain brings along took no time, and the first sweep compiles: neither says how fast it is.
            self._started, self._n_at_start = now, n_done
        if n_done == self.total or now - self._last >= self.seconds:
            self._last = now
            text = f"sampling {n_done}/{self.total} sweeps, {self._left(now, n_done)}, {self._numbers()}"
            print(text.removesuffix(", "), file=sys.stderr, flush=True)

    def _say(self, verdict: str) -> None:
        print(verdict, file=sys.stderr, flush=True)

    def _left(self, now: float, n_done: int) -> str:
        """Return the estimated time left as text."""
        n_timed = n_done - (self._n_at_start or 0)
        if n_timed == 0 and n_done < self.total:
            return "time left not known yet"
        return f"{_clock((now - self._started) / max(n_timed, 1) * (self.total - n_done))} left"


def _lines(n_chains: int, n_sweeps: int, seconds: float) -> ProgressLines:
    return ProgressLines(n_chains, n_sweeps, seconds=seconds)


def show_progress(n_chains: int, n_sweeps: int) -> Recorder:
    """Return a bar where there is a screen to draw it on, lines elsewhere."""
    on_screen = sys.stderr.isatty() or "ipykernel" in sys.modules
    return ProgressBar(n_chains, n_sweeps) if on_screen else ProgressLines(n_chains, n_sweeps)


def _range(name: str, values: Iterable[float]) -> str:
    """Return smallest and largest of some numbers, counts without decimals."""
    form = "{:.0f}" if name.startswith("n_") else "{:.1f}"
    ends = dict.fromkeys(form.format(value) for value in (min(values), max(values)))
    return " to ".join(ends)


def _clock(seconds: float) -> str:
    """Return a span of time as h:mm:ss or m:ss."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
