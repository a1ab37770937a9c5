"""Traces of chains, paths as runs of equal labels, and states of random generators."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence

from homothety.errors import CheckpointError, InputError
from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homothety.arrays import FloatArray, IntArray


@dataclass(eq=False)
class Trace:
    """Numbers of every sweep and states of the kept ones.

    Parameters
    ----------
    scalars : dict of str to list of float
        One number per sweep, by name.
    kept : list
        What was kept of each sweep after burn-in.
    interrupted : bool
        Whether an interrupt ended the chain before its last sweep.
    stopped_by : str, optional
        Name of the recorder that ended the chain before its last sweep.
    """

    scalars: dict[str, list[float]] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    interrupted: bool = False
    stopped_by: str | None = None

    @property
    def n_sweeps(self) -> int:
        """Number of sweeps made."""
        return max((len(values) for values in self.scalars.values()), default=0)

    def add(self, scalars: dict[str, float]) -> None:
        """Append the numbers of one sweep."""
        for name, value in scalars.items():
            self.scalars.setdefault(name, []).append(float(value))

    def array(self, name: str) -> FloatArray:
        """Return one of the traces as an array of shape (n_sweeps,)."""
        return np.asarray(self.scalars[name])

    def taken(self, chosen: IntArray) -> Trace:
        """Return the kept draws with the given indices, with traced numbers of these only."""
        n_before = self.n_sweeps - len(self.kept)
        scalars = {name: [values[n_before + number] for number in chosen] for name, values in self.scalars.items()}
        return replace(self, scalars=scalars, kept=[self.kept[number] for number in chosen])

    def truncate(self, n_sweeps: int, n_kept: int) -> None:
        """Remove everything after the first `n_sweeps` sweeps, since an interrupt may leave an incomplete record."""
        for values in self.scalars.values():
            del values[n_sweeps:]
        del self.kept[n_kept:]


@storable
class RunPath(NamedTuple):
    """A path over all steps of all recordings, one after the other.

    Examples
    --------
    >>> RunPath.of(np.array([3, 3, 3, 1, 1]))
    RunPath(labels=array([3, 1]), lengths=array([3, 2]))
    >>> RunPath.of(np.array([3, 3, 3, 1, 1])).expand()
    array([3, 3, 3, 1, 1])
    """

    labels: IntArray  # (n_runs,)
    lengths: IntArray  # (n_runs,)

    @classmethod
    def of(cls, path: IntArray) -> RunPath:
        """Return the runs of a path."""
        edges = np.concatenate([[0], np.flatnonzero(np.diff(path)) + 1, [len(path)]])
        return cls(path[edges[:-1]], np.diff(edges))

    def expand(self) -> IntArray:
        """Return the path, step by step."""
        return np.repeat(self.labels, self.lengths)


def count_segments(path: IntArray, starts: IntArray) -> int:
    """Return the number of segments of a path, every recording beginning one."""
    return len(np.union1d(np.flatnonzero(np.diff(path)) + 1, starts[:-1]))


def occupancy_entropy(path: IntArray) -> float:
    """Return the entropy, in bits, of the shares of steps that states have."""
    shares = np.unique(path, return_counts=True)[1] / len(path)
    return float(-(shares * np.log2(shares)).sum())


def capture(rng: Generator) -> dict[str, Any]:
    """Return the state of a random generator as numbers, texts and arrays."""
    return {"bits": rng.bit_generator.state, "n_spawned": _seed_of(rng).n_children_spawned}


def restore(seed: SeedSequence, captured: Mapping[str, Any]) -> Generator:
    """Return the generator of a seed in the state that `capture` returned."""
    try:
        # Generators spawned from this one are numbered, and its seed does the counting.
        counted = SeedSequence(
            seed.entropy,
            spawn_key=seed.spawn_key,
            pool_size=seed.pool_size,
            n_children_spawned=captured["n_spawned"],
        )
        rng = np.random.default_rng(counted)
        found, needed = captured["bits"]["bit_generator"], type(rng.bit_generator).__name__
        if found != needed:
            raise CheckpointError(f"The checkpoint holds the state of a {found} generator, this NumPy uses {needed}.")
        rng.bit_generator.state = captured["bits"]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"The checkpoint holds no state of a generator: {error!r}.") from error
    return rng


def revive(bits: Mapping[str, Any]) -> Generator:
    """Return a new generator with a given state, ``rng.bit_generator.state`` of another one."""
    rng = np.random.default_rng(0)
    try:
        rng.bit_generator.state = bits
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"generator is no state of the bits of a generator: {error!r}.") from error
    return rng


def _seed_of(rng: Generator) -> SeedSequence:
    seed = rng.bit_generator.seed_seq
    assert isinstance(seed, SeedSequence)  # chains are always seeded by one
    return seed
