"""Running chains of any model, given its moves: functions ``(rng, model, state) -> (state, info)``.

Chains make a given number of sweeps, or rounds of sweeps until they agree: each round is as long as all before it
together, and chains are compared after each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Generator as Steps
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.random import Generator, SeedSequence

from homothety.arrays import check_count, check_whole
from homothety.errors import CheckpointError, InputError, SweepError
from homothety.sampling._remote import SharedRun, run_on_workers
from homothety.sampling.checkpoint import Checkpointer, Checkpoints, fingerprint
from homothety.sampling.codec import has_form
from homothety.sampling.recorders import Recorder, Visit, show_progress
from homothety.sampling.trace import Trace, capture, restore
from homothety.workers import cluster_in_use, is_worker


@dataclass(frozen=True)
class Rounds:
    """Numbers of sweeps for ``n_sweeps="auto"``, which depend on whether chains agree.

    All chains run to the same length and are compared; if they differ, all of them go on to twice the length. The
    number of sweeps depends on the seed alone.

    Parameters
    ----------
    first, most : int
        Sweeps of each chain in the first round, and at most.
    differences : callable
        From the traces of all chains to what speaks against their agreement, in words; an empty text if they agree. A
        trace has the sweeps up to the end of the round, and what was kept of the last half of them, after burn-in.
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
        if not differ:
            return True, f"chains agree after {n_sweeps} sweeps"
        if n_sweeps == self.most:
            return True, f"{differ}; {n_sweeps} sweeps are the limit"
        return False, f"{differ}, going on to {min(2 * n_sweeps, self.most)} sweeps"


@dataclass(frozen=True)
class Schedule:
    """Number of sweeps, and which of them are kept.

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
                f"{self.first}. For a longer burn-in, give n_sweeps as a number.",
                "n_burn",
                "n_sweeps",
            )
        raise InputError(
            f"n_burn is {self.n_burn} and n_sweeps is {self.n_sweeps}: needed 0 <= n_burn < n_sweeps.",
            "n_burn",
            "n_sweeps",
        )

    def cut(self, trace: Trace, n_sweeps: int, n_burn: int) -> Trace:
        """Return the first sweeps of a trace, with the states after a burn-in that is no shorter than `kept_from`."""
        if (n_sweeps, n_burn) == (trace.n_sweeps, self.kept_from):
            return trace
        scalars = {name: values[:n_sweeps] for name, values in trace.scalars.items()}
        kept = trace.kept[n_burn - self.kept_from : max(n_sweeps - self.kept_from, 0)]
        return replace(trace, scalars=scalars, kept=kept)

    def finished(self, traces: list[Trace], n_sweeps: int) -> list[Trace]:
        """Return all traces cut to at most `n_sweeps` sweeps, with the states kept after burn-in."""
        made = [min(trace.n_sweeps, n_sweeps) for trace in traces]
        # An interrupt leaves chains of different lengths, and the shortest one must keep something too.
        n_burn = max(self.least_burn, min(made) // 2) if self.n_burn is None else self.n_burn
        return [self.cut(trace, length, n_burn) for trace, length in zip(traces, made, strict=True)]


Move = Callable[[Generator, Any, Any], tuple[Any, Any]]
Sweep = Mapping[str, Move]


@dataclass(frozen=True)
class Recording:
    """Functions that extract what is kept of a chain.

    Parameters
    ----------
    scalars : callable
        From model, state and the infos of the moves to the numbers to trace, by name; the same names in every sweep.
    keep : callable
        From a state to what is kept of it after burn-in.
    """

    scalars: Callable[[Any, Any, dict[str, Any]], dict[str, float]]
    keep: Callable[[Any], Any]


def iterate(rng: Generator, model: Any, state: Any, sweep: Sweep) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Advance the chain for ever, yielding the state and what each move reported.

    The state is checked once, before the first sweep, if the model has a method `check_state`.

    Parameters
    ----------
    rng : Generator
    model : object
        What the chain is conditioned on.
    state : object
        Where to start.
    sweep : mapping of str to move
        What one sweep does, in order. That of `default_sweep` may be changed: moves left out, put in another order,
        or added.

    Raises
    ------
    SweepError
        If a move needs a part of the state that an earlier one has left out of date. The message names both the move
        that needs it and the one to put before it.
    """
    check_state = getattr(model, "check_state", None)
    if check_state is not None:
        check_state(state)
    return _sweeps(rng, model, state, sweep)


def _sweeps(rng: Generator, model: Any, state: Any, sweep: Sweep) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Advance the chain for ever."""
    while True:
        infos: dict[str, Any] = {}
        for name, move in sweep.items():
            try:
                state, infos[name] = move(rng, model, state)
            except SweepError as error:
                raise SweepError(error.part, error.remedy, f"The move {name!r}") from None
        state = replace(state, step=state.step + 1)
        yield state, infos


@dataclass(frozen=True, eq=False)
class Chain:
    """One chain with all that it needs; it can be sent to another process.

    Parameters
    ----------
    seed : SeedSequence
    model : object
        What the chain is conditioned on.
    state : object or callable
        Where to start; or a function ``(rng, model) -> state``, so that chains start from different places.
    sweep : mapping of str to move
        What one sweep does, in order.
    recording : Recording
        What to trace and keep.
    n_sweeps, n_burn : int
        How many sweeps to make in all, and after how many to begin to keep states.
    number : int
        Of this chain, from 0.
    recorders : sequence of Recorder
        Who is shown every sweep.
    checkpoints : Checkpoints, optional
        Where the chain is written, and read if it is there.
    run : SharedRun, optional
        What is shared with other chains.
    begun : Visit, optional
        Where to go on from, where no checkpoint says it.
    n_most : int, optional
        Sweeps that a chain found in a checkpoint may have at most; `n_sweeps` if not given.
    """

    seed: SeedSequence
    model: Any
    state: Any
    sweep: Sweep
    recording: Recording
    n_sweeps: int
    n_burn: int
    number: int = 0
    recorders: Sequence[Recorder] = ()
    checkpoints: Checkpoints | None = None
    run: SharedRun = field(default_factory=SharedRun)
    begun: Visit | None = None
    n_most: int | None = None

    def to_end(self) -> Visit:
        """Run the chain and return where it ends; an interrupt ends it early but loses no finished sweep."""
        with closing(self.steps()) as visits:
            last = next(visits)
            for visit in visits:
                last = visit
        return last

    def steps(self) -> Steps[Visit, None, None]:
        """Yield where the chain starts, and where it is after each sweep, until its last one or until it is stopped."""
        visit, recorders = self._begin()
        trace, visits = visit.trace, self._visits(visit)
        with self.run.taking_part(self.number, trace):
            try:
                while True:
                    trace.stopped_by = _show(recorders, visit) or self._stopped_before(trace)
                    yield visit
                    if self._is_over(visit):
                        break
                    visit = next(visits)
            except KeyboardInterrupt:
                self.run.stop()
            finally:
                # The interrupt may have come in the middle of a record; the last visit is whole.
                trace.truncate(visit.n_sweeps, visit.n_kept)
                trace.interrupted = self.run.is_stopped and trace.stopped_by is None and visit.n_sweeps < self.n_sweeps
                for recorder in recorders:
                    recorder.on_end(visit)

    def _begin(self) -> tuple[Visit, Sequence[Recorder]]:
        """Return the visit at which the chain starts or is resumed, and its recorders."""
        if self.checkpoints is None:
            return self.begun or self._start(), self.recorders
        store = self.checkpoints.store(self.number)
        visit = store.read()
        if visit is None:
            visit = self._start()
            store.write(visit)  # a state that cannot be stored is refused here, not after an hour
            return visit, (*self.recorders, Checkpointer(store, self.checkpoints))
        self._check_found(visit, store.folder)
        if visit.n_sweeps > (self.n_most or self.n_sweeps):
            raise CheckpointError(
                f"Chain {self.number} has made {visit.n_sweeps} sweeps already, n_sweeps is only {self.n_sweeps}. "
                "Ask for as many or more, or use another folder.",
                "n_sweeps",
            )
        if visit.n_sweeps < self.n_sweeps:
            with suppress(OSError):  # a disk that cannot be written to is warned of when it is time to write
                store.claim()
        return visit, (*self.recorders, Checkpointer(store, self.checkpoints))

    def _check_found(self, visit: Visit, folder: Path) -> None:
        """Raise unless the state on disk fits the model, because compiled loops do not check their arguments."""
        check_state = getattr(self.model, "check_state", None)
        try:
            restore(self.seed, visit.generator)
            if check_state is not None:
                check_state(visit.state)
            if visit.trace.kept and not has_form(visit.trace.kept, self.recording.keep(visit.state)):
                raise InputError("draws are not of the kind that this model keeps")
        except Exception as error:  # a state that was forged can make a check raise nearly anything
            raise CheckpointError(
                f"{folder} holds a chain that does not fit the model: {error} Delete it to start this chain anew."
            ) from error

    def _start(self) -> Visit:
        """Return the chain before its first sweep."""
        rng = np.random.default_rng(self.seed)
        state = self.state(rng, self.model) if callable(self.state) else self.state
        return Visit(self.number, state, {}, Trace(), 0, 0, capture(rng))

    def _visits(self, visit: Visit) -> Iterator[Visit]:
        """Advance the chain for ever, tracing every sweep and keeping those after burn-in."""
        rng, trace = restore(self.seed, visit.generator), visit.trace
        started = perf_counter()
        for state, infos in iterate(rng, self.model, visit.state, self.sweep):
            scalars = self.recording.scalars(self.model, state, infos) | {"seconds": perf_counter() - started}
            trace.add(scalars)
            if state.step > self.n_burn:
                trace.kept.append(self.recording.keep(state))
            yield Visit(self.number, state, scalars, trace, trace.n_sweeps, len(trace.kept), capture(rng))
            started = perf_counter()

    def _stopped_before(self, trace: Trace) -> str | None:
        """Return the name of the recorder that stopped the resumed chain, if there is still such a recorder."""
        return trace.stopped_by if trace.stopped_by in {type(r).__name__ for r in self.recorders} else None

    def _is_over(self, visit: Visit) -> bool:
        return visit.n_sweeps >= self.n_sweeps or visit.trace.stopped_by is not None or self.run.is_stopped


def run_chain(
    seed: SeedSequence,
    model: Any,
    state: Any,
    sweep: Sweep,
    recording: Recording,
    *,
    n_sweeps: int,
    n_burn: int,
    recorders: Sequence[Recorder] = (),
) -> Trace:
    """Run one chain and return its trace; an interrupt ends it early but loses no finished sweep.

    The parameters are those of `homothety.sampling.driver.Chain`.
    """
    return Chain(seed, model, state, sweep, recording, n_sweeps, n_burn, recorders=recorders).to_end().trace


def run_chains(
    model: Any,
    state: Any,
    sweep: Sweep,
    recording: Recording,
    *,
    seed: SeedSequence | None,
    n_chains: int,
    n_sweeps: int | Rounds,
    n_burn: int | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    recorders: Sequence[Recorder] = (),
    checkpoint: str | Path | Checkpoints | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Trace]:
    """Run several chains from independent spawned seeds and return their traces, in the order of the seeds.

    The compiled sweeps release the interpreter's lock, so threads are preferred; `joblib.parallel_config` chooses
    another backend. With ``backend="dask"`` the workers of that cluster share all chains, whatever `n_jobs` is. The
    result depends on neither.

    Parameters
    ----------
    model, state, sweep, recording
        As in `homothety.sampling.driver.Chain`.
    n_sweeps : int or Rounds
        How many sweeps each chain makes; or rounds, after which chains are compared.
    n_burn : int, optional
        After how many sweeps states are kept; half of those made if not given.
    seed : SeedSequence or None
        Of the whole run. None takes fresh entropy, or the seed of the checkpoint if there is one.
    n_chains : int
    n_jobs : int, optional
        How many chains run side by side.
    progress : bool
        Whether to show a progress bar, or lines where there is no terminal.
    recorders : sequence of Recorder
        Who is shown every sweep of every chain.
    checkpoint : str, Path or Checkpoints, optional
        Folder in which chains are written while they run; a run that is found there goes on where it was.
    settings : mapping, optional
        What else the run depends on; resuming with other settings is refused.

    Returns
    -------
    traces : list of Trace
        After an interrupt, every finished sweep of the chains that had begun.

    Raises
    ------
    KeyboardInterrupt
        After an interrupt, if chains run in other processes and nothing was written.

    Notes
    -----
    A checkpoint may be resumed with more chains, or with more sweeps if `n_burn` stays: the sweeps made are the same.
    In rounds, chains keep states from the burn-in of the first round on, and the early ones are dropped at the end.
    """
    if n_jobs == 0:
        raise InputError("n_jobs is 0, needed 1 or more; -1 for as many as there are cores.", "n_jobs")
    checkpoints = Checkpoints(Path(checkpoint)) if isinstance(checkpoint, str | Path) else checkpoint
    schedule = Schedule(n_sweeps, n_burn, None if checkpoints is None else checkpoints.keep_from)
    schedule.check(n_chains)
    first, kept_from = schedule.first, schedule.kept_from
    if checkpoints is not None:
        # What a run depends on besides its seed. Of a move, its name and the settings bound to it.
        given = {"n_burn": kept_from, **(settings or {})}
        seed = checkpoints.open(seed, fingerprint(settings=given, model=model, start=state, sweep=dict(sweep)))
    if progress:
        recorders = (*recorders, show_progress(n_chains, first))
    chain = partial(Chain, n_sweeps=first, n_burn=kept_from, recorders=recorders, checkpoints=checkpoints)
    run, seeds = SharedRun(), (seed or SeedSequence()).spawn(n_chains)
    chains = [chain(s, model, state, sweep, recording, number=i, run=run) for i, s in enumerate(seeds)]
    with ExitStack() as stack:
        for recorder in recorders:
            stack.callback(recorder.close)
        stack.callback(run.stop)  # after an error in one chain the others would go on in vain
        return _run_rounds(chains, schedule, n_jobs)


def _show(recorders: Sequence[Recorder], visit: Visit) -> str | None:
    """Show a sweep to all recorders; return the name of a recorder that stops the chain, if draws were kept."""
    if visit.n_sweeps == 0:
        return None
    content = [type(recorder).__name__ for recorder in recorders if recorder.on_sweep(visit)]
    return content[0] if content and visit.n_kept else None


def _run_rounds(chains: list[Chain], schedule: Schedule, n_jobs: int | None) -> list[Trace]:
    """Run all chains round by round until no more sweeps are needed, or until an interrupt; return what they have."""
    run, traces, n_sweeps = chains[0].run, list[Trace](), schedule.first
    for n_sweeps in schedule.lengths():
        chains = [replace(chain, n_sweeps=n_sweeps, n_most=schedule.most) for chain in chains]
        try:
            ends = _run_all(chains, n_jobs)
            traces = [end.trace for end in ends]
            if run.is_stopped or _is_enough(chains, traces, schedule, n_sweeps):
                break
        except KeyboardInterrupt:
            run.stop()
            break
        chains = [replace(chain, begun=end) for chain, end in zip(chains, ends, strict=True)]
    if not run.is_stopped:
        return schedule.finished(traces, n_sweeps)
    traces = [_marked_if_short(trace, schedule.most) for trace in _rescued(chains, traces)]
    return schedule.finished(traces, schedule.most)


def _is_enough(chains: list[Chain], traces: list[Trace], schedule: Schedule, n_sweeps: int) -> bool:
    """Return whether chains need no further round, and inform the recorders."""
    if not isinstance(schedule.n_sweeps, Rounds) or any(one.stopped_by or one.interrupted for one in traces):
        return True
    is_over, verdict = schedule.n_sweeps.verdict(traces, schedule, n_sweeps)
    n_next = n_sweeps if is_over else min(2 * n_sweeps, schedule.most)
    for recorder in chains[0].recorders:
        recorder.on_round(verdict, n_next)
    return is_over


def _rescued(chains: list[Chain], traces: list[Trace]) -> list[Trace]:
    """Return the traces after an interrupt; `traces` are those of the last complete round."""
    checkpoints = chains[0].checkpoints
    found = chains[0].run.collect()
    if not found and checkpoints is not None:
        # The chains are in other processes, out of reach; what they wrote is not.
        found = checkpoints.traces(len(chains))
    if not (found or traces):
        raise KeyboardInterrupt
    return found or traces


def _marked_if_short(trace: Trace, n_sweeps: int) -> Trace:
    """Return a trace, marked as interrupted if it has fewer sweeps than planned."""
    is_short = trace.stopped_by is None and trace.n_sweeps < n_sweeps
    return replace(trace, interrupted=trace.interrupted or is_short)


def _run_all(chains: list[Chain], n_jobs: int | None) -> list[Visit]:
    """Run chains on a cluster, side by side, or one after the other, and return where they end."""
    if cluster_in_use() is not None:
        return run_on_workers(chains)
    if n_jobs not in (None, 1) and len(chains) > 1 and not is_worker():
        return list(Parallel(n_jobs=n_jobs, prefer="threads")(delayed(Chain.to_end)(chain) for chain in chains))
    ends = []
    for chain in chains:
        ends.append(chain.to_end())
        if chain.run.is_stopped:
            break
    return ends
