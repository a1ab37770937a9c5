"""Running chains until they agree: rounds of sweeps, each twice as long as all before, with a comparison in between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from homothety.arrays import check_count, check_whole
from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from homothety.sampling.trace import Trace


@dataclass(frozen=True)
class Rounds:
    """How many sweeps to make where that depends on whether chains agree.

    All chains run to the same length and are compared; if they differ, all of them go on to twice the length. The
    number of sweeps depends on the seed alone.

    Parameters
    ----------
    first, most : int
        Sweeps of each chain in the first round, and at most.
    differences : callable
        From the traces of all chains to what differs between them, in words; an empty text if they agree. A trace has
        the sweeps up to the end of the round, and what was kept of the last half of them, after burn-in.
    """

    first: int
    most: int
    differences: Callable[[list[Trace]], str]

    def lengths(self) -> Iterator[int]:
        """Yield the sweeps that each chain has made at the end of every round."""
        length = self.first
        while length < self.most:
            yield length
            length *= 2
        yield self.most

    def verdict(self, traces: list[Trace], schedule: Schedule, n_sweeps: int) -> tuple[bool, str]:
        """Return whether chains need no further round after `n_sweeps` sweeps, and why."""
        first = max(n_sweeps // 2, schedule.n_burn or 0)
        if n_sweeps - first < self.first // 2:
            differ = f"there are fewer than {self.first // 2} sweeps to compare"
        else:
            differ = self.differences([schedule.cut(trace, n_sweeps, first) for trace in traces])
            differ = differ and f"chains differ in {differ}"
        if not differ:
            return True, f"chains agree after {n_sweeps} sweeps"
        if n_sweeps == self.most:
            return True, f"{differ}; {n_sweeps} sweeps are the limit"
        return False, f"{differ}, going on to {min(2 * n_sweeps, self.most)} sweeps"


@dataclass(frozen=True)
class Schedule:
    """Which sweeps are made, and which of them are kept.

    Parameters
    ----------
    n_sweeps : int or Rounds
    n_burn : int, optional
        Sweeps to forget; half of those made if not given.
    keep_from : int, optional
        Sweeps after which chains keep states, if before the end of burn-in.
    """

    n_sweeps: int | Rounds
    n_burn: int | None = None
    keep_from: int | None = None

    @property
    def first(self) -> int:
        """Sweeps of each chain in the first round."""
        return self.n_sweeps.first if isinstance(self.n_sweeps, Rounds) else self.n_sweeps

    @property
    def most(self) -> int:
        """Sweeps of each chain at most."""
        return self.n_sweeps.most if isinstance(self.n_sweeps, Rounds) else self.n_sweeps

    @property
    def least_burn(self) -> int:
        """Sweeps to forget if no chain goes beyond the first round."""
        return self.first // 2 if self.n_burn is None else self.n_burn

    @property
    def kept_from(self) -> int:
        """Sweeps after which chains keep states."""
        return self.least_burn if self.keep_from is None else min(self.keep_from, self.least_burn)

    def lengths(self) -> list[int]:
        """Return the sweeps that each chain has made at the end of every round."""
        return list(self.n_sweeps.lengths()) if isinstance(self.n_sweeps, Rounds) else [self.n_sweeps]

    def check(self, n_chains: int) -> None:
        """Raise unless there is at least one chain and at least one sweep to keep."""
        check_count(n_chains, "n_chains")
        check_whole(self.first, "n_sweeps")
        if self.n_burn is not None:
            check_whole(self.n_burn, "n_burn")
        if 0 <= self.least_burn < self.first:
            return
        if isinstance(self.n_sweeps, Rounds):
            raise InputError(
                f"n_burn is {self.n_burn}, and the first round has {self.first} sweeps: needed 0 <= n_burn < "
                f"{self.first}. For a longer burn-in, give n_sweeps as a number."
            )
        raise InputError(f"n_burn is {self.n_burn} and n_sweeps is {self.n_sweeps}: needed 0 <= n_burn < n_sweeps.")

    def cut(self, trace: Trace, n_sweeps: int, n_burn: int) -> Trace:
        """Return the first sweeps of a trace, with the states after a burn-in that is no shorter than `kept_from`."""
        if (n_sweeps, n_burn) == (trace.n_sweeps, self.kept_from):
            return trace
        scalars = {name: values[:n_sweeps] for name, values in trace.scalars.items()}
        kept = trace.kept[n_burn - self.kept_from : max(n_sweeps - self.kept_from, 0)]
        return replace(trace, scalars=scalars, kept=kept)

    def finished(self, traces: list[Trace], n_sweeps: int) -> list[Trace]:
        """Return what counts of all traces, of which none is to have more than `n_sweeps` sweeps."""
        made = [min(trace.n_sweeps, n_sweeps) for trace in traces]
        # An interrupt leaves chains of different lengths, and the shortest one must keep something too.
        n_burn = max(self.least_burn, min(made) // 2) if self.n_burn is None else self.n_burn
        return [self.cut(trace, length, n_burn) for trace, length in zip(traces, made, strict=True)]
