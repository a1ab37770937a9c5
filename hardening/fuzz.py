"""`make fuzz`: thousands of attempts, each in a process that may crash, hang or run out of memory without harm.

A fault is a traceback, a crash, more than ten seconds of work, or more memory than allowed. Each is shown once, with as
few changes as still bring it about, and with the words that repeat it: ``python -m hardening fuzz --again "..."``.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hardening.attacks import ATTACKS, SHARES, Try, carry_out, goods_of
from hardening.goods import write_goods
from homothety.archives import memory_limit
from homothety.datasets.readers.apart import reading_apart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SECONDS_OF_WORK = 10.0  # of a processor; an attempt that takes three times as much is ended
SECONDS_OF_PATIENCE = 600.0  # on the clock, for an attempt that waits for something
MEMORY_OF_FILES, MEMORY_MORE = "300M", 4 * 10**9  # that a file may take, and that all else may take


class Outcome(NamedTuple):
    """What came of an attempt: nothing wrong, or what kind of fault, where, and its text."""

    fault: str = ""
    place: str = ""
    text: str = ""
    was_taken: bool = False

    @property
    def signature(self) -> str:
        """Faults with equal signatures are shown once."""
        return f"{self.fault} {self.place}"


def judge(one: Try, goods: Path, work: Path) -> Outcome:
    """Carry out an attempt and say what came of it."""
    began = time.process_time()
    try:
        was_taken = carry_out(one, goods, work)
    except Exception as error:
        return Outcome(type(error).__name__, _place(error), "".join(traceback.format_exception(error))[-3000:])
    seconds = time.process_time() - began
    return (
        Outcome("slow", one.attack, f"{seconds:.0f} s") if seconds > SECONDS_OF_WORK else Outcome(was_taken=was_taken)
    )


def _place(error: BaseException) -> str:
    """Return the last line of the library, or else of all, that an error went through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if f"homothety{os.sep}" in frame.filename] or frames
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}"


def _serve(connection: Any, goods: Path, work: Path) -> None:
    """Carry out attempts as they come, with limits."""
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    with suppress(ImportError):
        import resource

        statm = Path("/proc/self/statm")
        if statm.exists():
            taken = int(statm.read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY_MORE, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with reading_apart(), memory_limit(MEMORY_OF_FILES):
        while True:
            connection.send(judge(connection.recv(), goods, work))


class Worker:
    """A process that carries out attempts; another one takes its place when it dies or hangs."""

    def __init__(self, goods: Path, work: Path) -> None:
        self.goods, self.work = goods, work
        self.busy_with: Try | None = None
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, self.goods, self.work), daemon=True)
        self._process.start()
        other.close()

    def give(self, one: Try) -> None:
        """Begin an attempt."""
        self.busy_with, self._began, self._worked = one, time.monotonic(), self._work()
        with suppress(OSError):  # it has died already, which `outcome` finds out
            self.connection.send(one)

    def _work(self) -> float:
        """Return the seconds of a processor that the process has taken; 0 where that cannot be told."""
        stat = Path(f"/proc/{self._process.pid}/stat")
        try:
            told = stat.read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")

    def outcome(self) -> Outcome | None:
        """Return what came of the attempt, or None while it lasts."""
        if not self.connection.poll(0.02):
            worked, waited = self._work() - self._worked, time.monotonic() - self._began
            if worked < 3 * SECONDS_OF_WORK and waited < SECONDS_OF_PATIENCE:
                return None
            return self._replaced("hang", f"{worked:.0f} s of work in {waited:.0f} s")
        try:
            found: Outcome = self.connection.recv()
        except (EOFError, OSError):
            self._process.join()
            return self._replaced("crash", f"exit code {self._process.exitcode}")
        self.busy_with = None
        return found

    def _replaced(self, fault: str, text: str) -> Outcome:
        assert self.busy_with is not None
        outcome = Outcome(fault, f"{self.busy_with.attack} {self.busy_with.good}", text)
        self.close()
        self._start()
        self.busy_with = None
        return outcome

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def tries(seed: int, goods: Path, only: Iterable[str] = ()) -> Iterator[Try]:
    """Yield attempts for ever, the same ones for the same seed."""
    rng = np.random.default_rng(seed)
    attacks = [name for name in ATTACKS if name in (tuple(only) or ATTACKS)]
    shares = np.array([SHARES[name] for name in attacks])
    names = {attack: goods_of(attack, goods) for attack in attacks}
    while True:
        attack = attacks[rng.choice(len(attacks), p=shares / shares.sum())]
        good = names[attack][rng.integers(len(names[attack]))]
        n_changes = 1 + int(rng.geometric(0.6)) - 1
        yield Try(attack, good, tuple(rng.integers(2**31, size=n_changes).tolist()))


def minimised(one: Try, fault: Outcome, worker: Worker) -> Try:
    """Return an attempt with as few of the changes as still bring about the fault."""
    at = 0
    while at < len(one.seeds) and len(one.seeds) > 1:
        fewer = one._replace(seeds=one.seeds[:at] + one.seeds[at + 1 :])
        worker.give(fewer)
        while (found := worker.outcome()) is None:
            pass
        if found.signature == fault.signature:
            one = fewer
        else:
            at += 1
    return one


def fuzz(n_tries: int, seconds: float, seed: int, n_jobs: int, only: Iterable[str] = ()) -> int:
    """Make attempts until there are enough or time is over; print what was found and return how many were faults."""
    began, done, taken = time.monotonic(), Counter[str](), Counter[str]()
    faults: dict[str, tuple[Try, Outcome]] = {}
    counts = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        goods = Path(folder) / "goods"
        write_goods(goods)
        coming = tries(seed, goods, only)
        workers = [Worker(goods, Path(folder) / f"work-{i}") for i in range(n_jobs)]
        print(f"Good files written in {time.monotonic() - began:.0f} s", flush=True)
        n_given, began = 0, time.monotonic()
        try:
            while True:
                is_over = n_given >= n_tries or time.monotonic() - began > seconds
                for worker in workers:
                    if worker.busy_with is None and not is_over:
                        worker.give(next(coming))
                        n_given += 1
                    if worker.busy_with is None:
                        continue
                    one, outcome = worker.busy_with, worker.outcome()
                    if outcome is None:
                        continue
                    done[one.attack] += 1
                    taken[one.attack] += outcome.was_taken
                    if sum(done.values()) % 500 == 0:
                        print(f"{sum(done.values())} attempts in {time.monotonic() - began:.0f} s", flush=True)
                    if outcome.fault:
                        counts[outcome.signature] += 1
                        if outcome.signature not in faults:
                            faults[outcome.signature] = (minimised(one, outcome, worker), outcome)
                            print(f"FAULT {faults[outcome.signature][0]}\n{outcome.text}", flush=True)
                if is_over and all(worker.busy_with is None for worker in workers):
                    break
        finally:
            for worker in workers:
                worker.close()
    took = time.monotonic() - began
    told = "; ".join(f"{name} {done[name]}, {taken[name]} taken" for name in ATTACKS if done[name])
    print(f"seed {seed}: {sum(done.values())} attempts in {took:.0f} s ({told}), {sum(counts.values())} faults")
    for signature, number in counts.most_common():
        print(f'  {number:4d}  {signature}   python -m hardening fuzz --again "{faults[signature][0]}"')
    return sum(counts.values())


def again(words: str) -> Outcome:
    """Carry out one attempt in this process, and return what came of it."""
    from hardening.attacks import parse_try

    with tempfile.TemporaryDirectory() as folder, memory_limit(MEMORY_OF_FILES):
        write_goods(Path(folder) / "goods")
        return judge(parse_try(words.rsplit(" ", 2)), Path(folder) / "goods", Path(folder) / "work")
