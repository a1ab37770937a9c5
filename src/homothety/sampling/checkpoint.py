"""Chains on disk: written while they run, so that a run that was stopped, or killed, goes on where it was.

A folder holds ``run.json``, which says what the run is conditioned on, and a folder for each chain: pieces of its
trace, never written twice, and ``position.zip``, which says where the chain is and which pieces count. The position
is renamed into place last, so at every moment the folder holds a whole checkpoint, the last one or the one before.

There are no locks: the dead would keep them. Whoever goes on with a chain puts its mark in the folder. Another
that is still at it, such as a worker that a cluster has lost sight of, finds that mark before it writes, and ends.
"""

from __future__ import annotations

import json
import platform
import warnings
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from numpy.random import SeedSequence

from homothety._version import __version__
from homothety.errors import CheckpointError, CheckpointWarning, InputError
from homothety.files import UNFINISHED, write_whole
from homothety.sampling.codec import from_bytes, to_bytes
from homothety.sampling.fingerprint import Fingerprint, differences, fingerprint
from homothety.sampling.recorders import Recorder, Visit
from homothety.sampling.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT = 1
HEADER = "run.json"
POSITION = "position.zip"
OWNER = "owner.txt"


@dataclass(frozen=True)
class Checkpoints:
    """Where chains write what they have, and how often.

    Parameters
    ----------
    path : Path
        Folder, of one run alone. If it holds a checkpoint of the same run, the run goes on from there.
    every_sweeps : int, optional
        Write after so many sweeps of a chain.
    every_seconds : float, optional
        Write when so much time has passed. Whatever comes first; and always when a chain ends.
    keep_from : int, optional
        Sweeps after which states are written, if that is before the end of burn-in. A run can go on with another
        burn-in as long as this number stays the same.
    """

    path: Path
    every_sweeps: int | None = None
    every_seconds: float | None = 60.0
    keep_from: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        if self.every_sweeps is not None and self.every_sweeps < 1:
            raise InputError(f"every_sweeps is {self.every_sweeps}, needed at least 1.")
        if self.every_seconds is not None and not self.every_seconds >= 0:
            raise InputError(f"every_seconds is {self.every_seconds}, needed 0 or more.")

    def open(self, seed: SeedSequence | None, prints: Fingerprint) -> SeedSequence:
        """Create the folder, or make sure that what it holds is of the same run; return the seed of that run.

        Without a seed, the one in the folder is taken.
        """
        header = _read_header(self.path)
        if header is None:
            return _create(self.path, seed or SeedSequence(), prints)
        stored = SeedSequence(**header["seed"])
        changed = differences(header["fingerprint"], _with_seed(prints, seed or stored))
        if changed:
            raise CheckpointError(
                f"{self.path} is the checkpoint of another run: {'; '.join(changed)}. "
                "Use the data and settings it was started with, or another folder."
            )
        return stored

    def check_shared(self) -> None:
        """Raise unless the folder that was opened elsewhere is seen here too."""
        if not (self.path / HEADER).exists():
            raise CheckpointError(
                f"{self.path} is not there on {platform.node()}, where a chain was to be run. Checkpoints of a cluster "
                "need a folder that all machines share, under the same name."
            )

    def store(self, chain: int) -> ChainStore:
        """Return where one chain is written."""
        return ChainStore(self.path / f"chain-{chain}", chain)

    def traces(self, n_chains: int) -> list[Trace]:
        """Return what is on disk of the traces of all chains that have begun."""
        found = (self.store(chain).read() for chain in range(n_chains))
        return [visit.trace for visit in found if visit is not None]


class ChainStore:
    """One chain on disk.

    Parameters
    ----------
    folder : Path
    chain : int
        Its number.
    """

    def __init__(self, folder: Path, chain: int) -> None:
        self.folder, self.chain = folder, chain
        self.pieces: list[str] = []
        self.n_sweeps = self.n_kept = 0
        self.stopped_by: str | None = None
        self._mark: str | None = None

    def claim(self) -> None:
        """Be the one that writes this chain from now on."""
        mark = uuid4().hex
        self.folder.mkdir(exist_ok=True)
        (self.folder / OWNER).write_text(mark)
        self._mark = mark

    def write(self, visit: Visit) -> None:
        """Write what the trace gained since the last time, then the position that counts it in."""
        self._check_owner()
        # Named by where it starts: one that no position came to count is written over, and nothing else is.
        name, pieces = f"sweeps-{self.n_sweeps:09}.zip", self.pieces
        if visit.n_sweeps > self.n_sweeps:
            write_whole(self.folder / name, to_bytes(self._gain(visit)))
            pieces = [*pieces, name]
        position = {
            "state": visit.state,
            "generator": visit.generator,
            "pieces": pieces,
            "n_sweeps": visit.n_sweeps,
            "n_kept": visit.n_kept,
            "stopped_by": visit.trace.stopped_by,
        }
        write_whole(self.folder / POSITION, to_bytes(position))
        self._remember(position)

    def has(self, visit: Visit) -> bool:
        """Return whether the position on disk is that of a visit."""
        return (self.n_sweeps, self.stopped_by) == (visit.n_sweeps, visit.trace.stopped_by)

    def read(self) -> Visit | None:
        """Return the last visit written, with its whole trace, or None if there is none."""
        if not (self.folder / POSITION).exists():
            return None
        position = _read(self.folder / POSITION)
        trace = _joined(_read(self.folder / name) for name in position["pieces"])
        if (trace.n_sweeps, len(trace.kept)) != (position["n_sweeps"], position["n_kept"]):
            raise CheckpointError(
                f"{self.folder} is damaged: a piece is too short. Delete it to start this chain anew."
            )
        trace.stopped_by = position["stopped_by"]
        self._remember(position)
        last = {name: values[-1] for name, values in trace.scalars.items()}
        return Visit(self.chain, position["state"], last, trace, self.n_sweeps, self.n_kept, position["generator"])

    def _check_owner(self) -> None:
        """Raise if somebody else has gone on with the chain: two that write would damage it."""
        if self._mark is None:
            self.claim()
        elif (self.folder / OWNER).read_text() != self._mark:
            raise CheckpointError(
                f"Another process has gone on with chain {self.chain} in {self.folder}. Leave it to that one."
            )

    def _remember(self, position: dict[str, Any]) -> None:
        """Know what is on disk without reading it."""
        self.pieces, self.stopped_by = position["pieces"], position["stopped_by"]
        self.n_sweeps, self.n_kept = position["n_sweeps"], position["n_kept"]

    def _gain(self, visit: Visit) -> dict[str, Any]:
        """Return the part of a trace that is not on disk yet."""
        new = slice(self.n_sweeps, visit.n_sweeps)
        return {
            "scalars": {name: np.array(values[new]) for name, values in visit.trace.scalars.items()},
            "kept": visit.trace.kept[self.n_kept : visit.n_kept],
        }


class Checkpointer(Recorder):
    """Writes one chain when it is time to.

    A full disk, or one that went away, does not end a chain that runs well: it warns, and tries again.

    Parameters
    ----------
    store : ChainStore
    checkpoints : Checkpoints
        How often.
    """

    def __init__(self, store: ChainStore, checkpoints: Checkpoints) -> None:
        self.store, self.checkpoints = store, checkpoints
        self._n_sweeps, self._last = store.n_sweeps, perf_counter()

    def on_sweep(self, visit: Visit) -> None:
        """Write if it is time to."""
        many, long = self.checkpoints.every_sweeps, self.checkpoints.every_seconds
        is_far = many is not None and visit.n_sweeps - self._n_sweeps >= many
        if is_far or (long is not None and perf_counter() - self._last >= long):
            self._write(visit)

    def on_end(self, visit: Visit) -> None:
        """Write what is not on disk yet."""
        self._write(visit)

    def _write(self, visit: Visit) -> None:
        if self.store.has(visit):
            return
        try:
            self.store.write(visit)
        except OSError as error:
            warnings.warn(
                f"Could not write chain {visit.chain} at sweep {visit.n_sweeps}: {error}. The run goes on; the "
                f"checkpoint of sweep {self.store.n_sweeps} is untouched.",
                CheckpointWarning,
                stacklevel=2,
            )
        self._n_sweeps, self._last = visit.n_sweeps, perf_counter()


def _joined(pieces: Iterator[dict[str, Any]]) -> Trace:
    trace = Trace()
    for piece in pieces:
        for name, values in piece["scalars"].items():
            trace.scalars.setdefault(name, []).extend(values.tolist())
        trace.kept.extend(piece["kept"])
    return trace


def _read(path: Path) -> Any:
    try:
        return from_bytes(path.read_bytes())
    except (OSError, CheckpointError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error


def _create(path: Path, seed: SeedSequence, prints: Fingerprint) -> SeedSequence:
    """Make a new folder and say in it what the run is conditioned on."""
    header = {
        "format": FORMAT,
        "version": __version__,
        "seed": _seed_parts(seed),
        "fingerprint": _with_seed(prints, seed),
    }
    try:
        path.mkdir(parents=True, exist_ok=True)
        write_whole(path / HEADER, json.dumps(header, indent=1).encode())
    except OSError as error:
        raise CheckpointError(f"Cannot make a checkpoint in {path}: {error}.") from error
    return seed


def _read_header(path: Path) -> dict[str, Any] | None:
    """Return what a folder says of its run, None if it is new or empty; raise if it is something else."""
    if not (path / HEADER).exists():
        _check_empty(path)
        return None
    try:
        header: dict[str, Any] = json.loads((path / HEADER).read_bytes())
        found, version = header["format"], header["version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path / HEADER} is damaged or not of homothety: {error!r}.") from error
    if found != FORMAT:
        raise CheckpointError(
            f"{path} has checkpoint format {found}, this version of homothety ({__version__}) reads {FORMAT}. "
            f"It was written by homothety {version}: go on with that version, or start anew in another folder."
        )
    return header


def _check_empty(path: Path) -> None:
    """Raise if there is anything in a folder, or in its place, but a file that was never finished."""
    if path.exists() and not path.is_dir():
        raise CheckpointError(f"{path} is a file. Checkpoints need a folder.")
    others = [] if not path.exists() else [p.name for p in path.iterdir() if p.name != HEADER + UNFINISHED]
    if others:
        raise CheckpointError(
            f"{path} is no checkpoint, it holds {sorted(others)[0]!r}. Give a new or an empty folder."
        )


def _with_seed(prints: Fingerprint, seed: SeedSequence) -> Fingerprint:
    return prints | fingerprint(seed=_seed_parts(seed))


def _seed_parts(seed: SeedSequence) -> dict[str, Any]:
    """Return all that the chains' seeds depend on, as arguments of SeedSequence."""
    entropy = seed.entropy if seed.entropy is None or isinstance(seed.entropy, int) else list(map(int, seed.entropy))
    return {
        "entropy": entropy,
        "spawn_key": list(map(int, seed.spawn_key)),
        "pool_size": seed.pool_size,
        "n_children_spawned": seed.n_children_spawned,
    }
