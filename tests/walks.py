"""The simplest chains: a walker in the plane, with a state of every kind that a checkpoint has to hold."""

from __future__ import annotations

import os
import signal
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence

from homothety.sampling import Checkpoints, Recorder, Recording, run_chains, storable
from homothety.sampling.checkpoint import ChainStore


@storable
class Shoes(NamedTuple):
    size: float
    worn: np.ndarray


@storable
@dataclass(frozen=True, eq=False, slots=True)
class Walker:
    place: np.ndarray  # (2,)
    visited: tuple[np.ndarray, ...]
    shoes: Shoes | None
    names: dict[str, int]
    step: int = 0

    @property
    def n_clusters(self) -> int:
        return len(self.visited)


@dataclass(frozen=True, eq=False)
class Ground:
    slope: np.ndarray  # (2,)
    friction: float = 0.5


def walk(rng, model, state):
    """Step at random; forget the shoes, remember up to five places: shapes change from sweep to sweep."""
    place = model.friction * state.place + model.slope + rng.standard_normal(2)
    visited = (*state.visited, place)[-rng.integers(1, 6) :]
    return replace(state, place=place, visited=visited, shoes=None), place


def put_on_shoes(rng, model, state):
    child = rng.spawn(1)[0]  # the count of children is part of where a generator stands
    shoes = Shoes(np.float64(child.random()), np.asfortranarray(child.random((2, 3))))
    return replace(state, shoes=shoes, names={**state.names, f"pair {state.step % 3}": state.step}), shoes


def trace_scalars(model, state, infos):
    return {"log_joint": -float(state.place @ state.place), "n_clusters": state.n_clusters, "size": state.shoes.size}


def keep_places(state):
    return state.visited


SWEEP = {"walk": walk, "shoes": put_on_shoes}
RECORDING = Recording(scalars=trace_scalars, keep=keep_places)
GROUND = Ground(np.array([0.1, -0.2]))
START = Walker(np.zeros(2), (), None, {})


def run_walks(seed=1, sweep=SWEEP, model=GROUND, state=START, **options):
    settings = {"n_chains": 3, "n_sweeps": 12, "n_burn": 4} | options
    seed = seed if seed is None else SeedSequence(seed)
    return run_chains(model, state, sweep, RECORDING, seed=seed, **settings)


def content(trace):
    """Everything of a trace that must not depend on how it came about, as text: equal texts mean equal bits."""
    scalars = {name: [value.hex() for value in values] for name, values in trace.scalars.items() if name != "seconds"}
    return repr((scalars, [[place.tobytes() for place in places] for places in trace.kept]))


def contents(traces):
    return [content(trace) for trace in traces]


class Diary(Recorder):
    """Writes a line for every sweep it is shown: chain, sweep and process. Takes its time."""

    def __init__(self, path, seconds=0.0):
        self.path, self.seconds = path, seconds

    def on_sweep(self, visit):
        time.sleep(self.seconds)
        with self.path.open("a") as file:
            file.write(f"{visit.chain} {visit.n_sweeps} {os.getpid()}\n")

    def lines(self):
        text = self.path.read_text() if self.path.exists() else ""
        return [tuple(map(int, line.split())) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def spells(self):
        """Return by chain the sweeps that each process made, in the order the processes came."""
        found = defaultdict(lambda: defaultdict(list))
        for chain, sweep, process in self.lines():
            found[chain][process].append(sweep)
        return {chain: list(by_process.values()) for chain, by_process in found.items()}


class Deadly(Diary):
    """Kills the process in which a chain comes to some sweep for the first time."""

    def __init__(self, path, chain, sweep):
        super().__init__(path)
        self.chain, self.sweep = chain, sweep

    def on_sweep(self, visit):
        super().on_sweep(visit)
        times = [line[:2] for line in self.lines()].count((self.chain, self.sweep))
        if (visit.chain, visit.n_sweeps, times) == (self.chain, self.sweep, 1):
            os.kill(os.getpid(), signal.SIGKILL)


class Interrupting(Recorder):
    """Does what Ctrl-C does, as soon as it has heard of so many sweeps of every one of two chains."""

    needs_glimpses_only = True

    def __init__(self, n_sweeps):
        self.n_sweeps, self.seen = n_sweeps, {}

    def on_sweep(self, visit):
        self.seen[visit.chain] = visit.n_sweeps
        if len(self.seen) == 2 and min(self.seen.values()) >= self.n_sweeps:
            os.kill(os.getpid(), signal.SIGINT)
            self.n_sweeps = float("inf")


class Forgetful(Checkpoints):
    """Checkpoints that are written, and never read."""

    def store(self, chain):
        return Unread(self.path / f"chain-{chain}", chain)


class Unread(ChainStore):
    def read(self):
        return None


class Watched(Ground):
    """A ground that writes down each process that it comes to."""

    def __init__(self, path):
        super().__init__(GROUND.slope)
        object.__setattr__(self, "path", path)

    def __setstate__(self, values):
        for name, value in values.items():
            object.__setattr__(self, name, value)
        with self.path.open("a") as file:
            file.write(f"{os.getpid()}\n")
