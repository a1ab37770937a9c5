"""Driving chains. A model is known here only by its moves: functions ``(rng, model, state) -> (state, info)``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Generator as Steps
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.random import Generator, SeedSequence

from homothety.arrays import check_count, check_whole
from homothety.errors import CheckpointError, InputError, SweepError
from homothety.sampling.checkpoint import Checkpointer, Checkpoints
from homothety.sampling.fingerprint import Fingerprint, fingerprint
from homothety.sampling.generators import capture, restore
from homothety.sampling.recorders import Recorder, Visit, show_progress
from homothety.sampling.remote import run_on_workers
from homothety.sampling.shared import SharedRun
from homothety.sampling.trace import Trace
from homothety.workers import cluster_in_use, is_worker

Move = Callable[[Generator, Any, Any], tuple[Any, Any]]
Sweep = Mapping[str, Move]


@dataclass(frozen=True)
class Recording:
    """What to keep of a chain.

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
    """All that one chain needs; it can be sent to another process.

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
        How many sweeps to make, and after how many to begin to keep states.
    number : int
        Of this chain, from 0.
    recorders : sequence of Recorder
        Who is shown every sweep.
    checkpoints : Checkpoints, optional
        Where the chain is written, and read if it is there.
    run : SharedRun, optional
        What is shared with other chains.
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

    def to_end(self) -> Trace:
        """Run the chain and return its trace; an interrupt ends it early but loses no finished sweep."""
        with closing(self.steps()) as visits:
            trace = next(visits).trace
            for _ in visits:
                pass
        return trace

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
        """Return where the chain starts or goes on, and its recorders."""
        if self.checkpoints is None:
            return self._start(), self.recorders
        store = self.checkpoints.store(self.number)
        visit = store.read()
        if visit is None:
            visit = self._start()
            store.write(visit)  # a state that cannot be stored is refused here, not after an hour
        elif visit.n_sweeps > self.n_sweeps:
            raise CheckpointError(
                f"Chain {self.number} has made {visit.n_sweeps} sweeps already, n_sweeps is only {self.n_sweeps}. "
                "Ask for as many or more, or use another folder."
            )
        elif visit.n_sweeps < self.n_sweeps:
            with suppress(OSError):  # a disk that cannot be written to is warned of when it is time to write
                store.claim()
        return visit, (*self.recorders, Checkpointer(store, self.checkpoints))

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
        """Return who stopped the chain in the run that is resumed, if that recorder is still there."""
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
    return Chain(seed, model, state, sweep, recording, n_sweeps, n_burn, recorders=recorders).to_end()


def run_chains(
    model: Any,
    state: Any,
    sweep: Sweep,
    recording: Recording,
    *,
    seed: SeedSequence | None,
    n_chains: int,
    n_sweeps: int,
    n_burn: int,
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
    model, state, sweep, recording, n_sweeps, n_burn
        As in `homothety.sampling.driver.Chain`.
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
    """
    check_schedule(n_chains, n_sweeps, n_burn)
    if n_jobs == 0:
        raise InputError("n_jobs is 0, needed 1 or more; -1 for as many as there are cores.")
    checkpoints = Checkpoints(Path(checkpoint)) if isinstance(checkpoint, str | Path) else checkpoint
    if checkpoints is not None:
        seed = checkpoints.open(seed, _conditions(model, state, sweep, {"n_burn": n_burn, **(settings or {})}))
    if progress:
        recorders = (*recorders, show_progress(n_chains, n_sweeps))
    chain = partial(Chain, n_sweeps=n_sweeps, n_burn=n_burn, recorders=recorders, checkpoints=checkpoints)
    run, seeds = SharedRun(), (seed or SeedSequence()).spawn(n_chains)
    chains = [chain(s, model, state, sweep, recording, number=i, run=run) for i, s in enumerate(seeds)]
    with ExitStack() as stack:
        for recorder in recorders:
            stack.callback(recorder.close)
        return _run_until_interrupted(chains, n_jobs)


def check_schedule(n_chains: int, n_sweeps: int, n_burn: int) -> None:
    """Raise unless there is at least one chain and at least one sweep to keep."""
    check_count(n_chains, "n_chains")
    check_whole(n_sweeps, "n_sweeps")
    if not 0 <= check_whole(n_burn, "n_burn") < n_sweeps:
        raise InputError(f"n_burn is {n_burn} and n_sweeps is {n_sweeps}: needed 0 <= n_burn < n_sweeps.")


def _show(recorders: Sequence[Recorder], visit: Visit) -> str | None:
    """Show a sweep to all recorders; return the name of one that wants it to be the last, if anything was kept."""
    if visit.n_sweeps == 0:
        return None
    content = [type(recorder).__name__ for recorder in recorders if recorder.on_sweep(visit)]
    return content[0] if content and visit.n_kept else None


def _conditions(model: Any, state: Any, sweep: Sweep, settings: Mapping[str, Any]) -> Fingerprint:
    """Return what a run depends on besides its seed. Of a move, its name and the settings bound to it."""
    return fingerprint(settings=settings, model=model, start=state, sweep=dict(sweep))


def _run_until_interrupted(chains: list[Chain], n_jobs: int | None) -> list[Trace]:
    """Run all chains; at an interrupt stop them between two sweeps and return what they have."""
    run, checkpoints, n_sweeps = chains[0].run, chains[0].checkpoints, chains[0].n_sweeps
    try:
        return _run_all(chains, n_jobs)
    except KeyboardInterrupt:
        traces = run.collect()
        if not traces and checkpoints is not None:
            # The chains are in other processes, out of reach; what they wrote is not.
            traces = checkpoints.traces(len(chains))
        if not traces:
            raise
        return [replace(trace, interrupted=trace.interrupted or trace.n_sweeps < n_sweeps) for trace in traces]
    finally:
        run.stop()  # after an error in one chain the others would go on in vain


def _run_all(chains: list[Chain], n_jobs: int | None) -> list[Trace]:
    """Run chains on a cluster, side by side, in turn, or one after the other."""
    if cluster_in_use() is not None:
        return run_on_workers(chains)
    if n_jobs not in (None, 1) and len(chains) > 1 and not is_worker():
        return list(Parallel(n_jobs=n_jobs, prefer="threads")(delayed(Chain.to_end)(chain) for chain in chains))
    if any(recorder.compares_chains for recorder in chains[0].recorders):
        return _run_in_turn(chains)
    traces = []
    for chain in chains:
        traces.append(chain.to_end())
        if chain.run.is_stopped:
            break
    return traces


def _run_in_turn(chains: list[Chain]) -> list[Trace]:
    """Advance all chains on one thread, a sweep of each at a time."""
    with ExitStack() as stack:
        visits = [stack.enter_context(closing(chain.steps())) for chain in chains]
        traces = [next(visit).trace for visit in visits]
        for _ in zip_longest(*visits):
            pass
    return traces
