"""Checkpoints of running chains on disk, from which a stopped or killed run is resumed.

A folder holds ``run.json``, which says what the run is conditioned on, and a folder for each chain: pieces of its
trace, never written twice, and ``position.zip``, which says where the chain is and which pieces count. The position
is renamed into place last, so at every moment the folder holds a whole checkpoint, the last one or the one before.
The position before it stays, as ``position-before.zip``. If the last one, or a piece that only it counts, is damaged,
the chain goes on from there: one interval between two checkpoints is sampled again, to the same bits.

There are no locks, because a process that was killed would never release its own. A process that goes on with a chain
writes its mark into the folder. A process that had the chain before, such as a worker that a cluster has lost
contact with, sees the new mark before it writes, and ends.


What a run is conditioned on is kept as short texts by name, so that two runs can be compared and differences named.
"""

from __future__ import annotations

import errno
import json
import platform
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.random import SeedSequence

from homothety._version import __version__
from homothety.errors import CheckpointError, CheckpointWarning, InputError
from homothety.files import UNFINISHED, remove_unfinished, write_whole
from homothety.sampling.codec import from_bytes, seal_of, to_bytes
from homothety.sampling.recorders import Recorder, Visit
from homothety.sampling.trace import Trace

Fingerprint = dict[str, str]
FORMAT = 3
HEADER = "run.json"
POSITION, BEFORE = "position.zip", "position-before.zip"
_OWNER = "owner.txt"
_CHAIN, _PIECE = re.compile(r"chain-[0-9]+"), re.compile(r"sweeps-[0-9]{9,}\.zip")
_MAX_POOL = 1024  # numbers in the pool of a seed: NumPy's own seeds have 4
_POSITION_PARTS = {
    "state": object,
    "generator": dict,
    "pieces": dict,
    "n_sweeps": int,
    "n_kept": int,
    "stopped_by": str | None,
}
_PIECE_PARTS = {"scalars": dict, "kept": list}
_HEADER_PARTS = {"format": int, "version": str, "seed": dict, "fingerprint": dict}


def fingerprint(**parts: Any) -> Fingerprint:
    """Return one text for each leaf of the parts, by its dotted name.

    Dataclasses, mappings and partial functions are taken apart; fields that dataclasses do not compare are left out.
    Numbers and texts stand for themselves, arrays are represented by type, shape and digest, functions are left out: a
    function may move between versions and still be the same.

    Examples
    --------
    >>> fingerprint(settings={"n_burn": 10}, data=np.zeros((2, 3)))
    {'settings.n_burn': '10', 'data': 'float64 (2, 3) 17b0761f87b0'}
    """
    return {name: text for part, value in parts.items() for name, text in _leaves(part, value)}


def differences(before: Fingerprint, now: Fingerprint) -> list[str]:
    """Return one text for each name whose leaf differs, or is only on one side."""
    names = [*before, *(name for name in now if name not in before)]
    return [
        f"{name} was {before.get(name, 'absent')}, is {now.get(name, 'absent')}"
        for name in names
        if before.get(name) != now.get(name)
    ]


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    children = dict(_children(value))
    if not children:
        yield name, _describe(name, value)
    for child, item in children.items():
        yield from _leaves(f"{name}.{child}", item)


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a value that have names."""
    if is_dataclass(value) and not isinstance(value, type):
        yield from ((field.name, getattr(value, field.name)) for field in fields(value) if field.compare)
    elif isinstance(value, Mapping):
        yield from ((str(key), item) for key, item in value.items())
    elif isinstance(value, partial):
        yield from _children({**{str(i): item for i, item in enumerate(value.args)}, **value.keywords})


def _describe(name: str, value: Any) -> str:
    if isinstance(value, np.ndarray) and value.dtype != object:
        digest = sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:12]
        return f"{value.dtype} {value.shape} {digest}"
    if isinstance(value, list | tuple):
        return _describe_items(name, value)
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    if callable(value):
        return "function"
    if isinstance(value, Mapping) or is_dataclass(value):
        return "empty"
    raise CheckpointError(
        f"{name} is a {type(value).__name__}: a checkpoint cannot tell whether two of them are the same. "
        "Use numbers, texts, arrays and dataclasses."
    )


def _describe_items(name: str, items: list[Any] | tuple[Any, ...]) -> str:
    """Describe a sequence: short ones by their items, long ones by length and digest."""
    text = ", ".join("; ".join(map(" ".join, _leaves(name, item))).removeprefix(f"{name} ") for item in items)
    return f"[{text}]" if len(text) <= 60 else f"{len(items)} items {sha256(text.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Checkpoints:
    """Folder of the checkpoints of chains, and how often they are written.

    Parameters
    ----------
    path : Path
        Folder, of one run alone. If it holds a checkpoint of the same run, the run goes on from there.
    every_sweeps : int, optional
        Number of sweeps of a chain between two writes.
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
        stored = _stored_seed(self.path, header)
        if header["version"] != __version__:
            warnings.warn(
                f"{self.path} was begun by homothety {header['version']}, this is {__version__}. The chains go on, but "
                "another version may draw other numbers: for results that can be repeated, use one version throughout.",
                CheckpointWarning,
                stacklevel=2,
            )
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
        """Return the traces on disk of all chains that have begun."""
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
        self.pieces: dict[str, str] = {}
        self.n_sweeps = self.n_kept = 0
        self.stopped_by: str | None = None
        self._mark: str | None = None
        self._last_is_whole = False

    def claim(self) -> None:
        """Become the owner that writes this chain from now on."""
        mark = uuid4().hex
        _check_no_link(self.folder)
        self.folder.mkdir(exist_ok=True)
        remove_unfinished(self.folder)
        write_whole(self.folder / _OWNER, mark.encode())
        self._mark = mark

    def write(self, visit: Visit) -> None:
        """Write the new part of the trace, then the position of the chain, which makes that part valid."""
        self._check_owner()
        # Named by where it starts: one that no position came to count is written over, and nothing else is.
        name, pieces = f"sweeps-{self.n_sweeps:09}.zip", self.pieces
        if visit.n_sweeps > self.n_sweeps:
            content = to_bytes(self._gain(visit))
            write_whole(self.folder / name, content)
            pieces = pieces | {name: seal_of(content)}
        position = {
            "state": visit.state,
            "generator": visit.generator,
            "pieces": pieces,
            "n_sweeps": visit.n_sweeps,
            "n_kept": visit.n_kept,
            "stopped_by": visit.trace.stopped_by,
        }
        # A damaged position must not take the place of the good one before it.
        kept = self.folder / BEFORE if self._last_is_whole else None
        write_whole(self.folder / POSITION, to_bytes(position), keep_as=kept)
        self._remember(position)
        self._last_is_whole = True

    def has(self, visit: Visit) -> bool:
        """Return whether the position on disk is that of a visit."""
        return (self.n_sweeps, self.stopped_by) == (visit.n_sweeps, visit.trace.stopped_by)

    def read(self) -> Visit | None:
        """Return the last visit written, with its whole trace, or None if there is none.

        If that is damaged, return the one before it, with a warning.
        """
        _check_no_link(self.folder)
        there = [name for name in (POSITION, BEFORE) if (self.folder / name).exists()]
        errors: list[CheckpointError] = []
        for name in there:
            try:
                visit = self._visit_at(name)
            except CheckpointError as error:
                errors.append(error)
                continue
            self._last_is_whole = name == POSITION
            if errors:
                warnings.warn(
                    f"{errors[0]} Chain {self.chain} goes on from the position before it, that of sweep "
                    f"{visit.n_sweeps}; what came after is sampled again.",
                    CheckpointWarning,
                    stacklevel=2,
                )
            return visit
        if errors:
            raise CheckpointError(f"{errors[0]} Delete {self.folder} to start this chain anew.")
        return None

    def _visit_at(self, name: str) -> Visit:
        """Return the visit of a position, with its whole trace, or raise if anything of it is damaged."""
        position, _ = _read(self.folder / name, _POSITION_PARTS)
        trace = self._trace_of(position["pieces"])
        if (trace.n_sweeps, len(trace.kept)) != (position["n_sweeps"], position["n_kept"]):
            raise CheckpointError(f"{self.folder / name} cannot be read: its pieces have other lengths.")
        trace.stopped_by = position["stopped_by"]
        self._remember(position)
        last = {name: values[-1] for name, values in trace.scalars.items()}
        return Visit(self.chain, position["state"], last, trace, self.n_sweeps, self.n_kept, position["generator"])

    def _trace_of(self, pieces: dict[str, str]) -> Trace:
        """Return the trace from its pieces, or raise if they are not those that were written."""
        trace = Trace()
        for name, seal in pieces.items():
            path = self.folder / name
            if not _PIECE.fullmatch(name):
                raise CheckpointError(
                    f"{self.folder} cannot be read: it counts {name!r}, which is no piece of a trace."
                )
            piece, found = _read(path, _PIECE_PARTS)
            if found != seal:
                raise CheckpointError(f"{path} cannot be read: it is not the piece that was written here.")
            for scalar, values in piece["scalars"].items():
                trace.scalars.setdefault(scalar, []).extend(values.tolist())
            trace.kept.extend(piece["kept"])
        if len({len(values) for values in trace.scalars.values()}) > 1:
            raise CheckpointError(f"{self.folder} cannot be read: its scalars have different lengths.")
        return trace

    def _check_owner(self) -> None:
        """Raise if another process continues the chain, because two writers would damage it."""
        if self._mark is None:
            self.claim()
        elif (self.folder / _OWNER).read_bytes() != self._mark.encode():
            raise CheckpointError(
                f"Another process has gone on with chain {self.chain} in {self.folder}. Leave it to that one."
            )

    def _remember(self, position: dict[str, Any]) -> None:
        """Remember what is on disk, so that it need not be read again."""
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
    """Recorder that writes a checkpoint of one chain at intervals.

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
        """Write if the last checkpoint is long enough ago."""
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


def remove_checkpoint(path: Path) -> None:
    """Remove the folder of a checkpoint file by file; if it holds anything else, raise and remove nothing."""
    files, folders = _own_contents(path)
    for file in files:  # the header last: what is left of a removal that was stopped is still known for ours
        file.unlink(missing_ok=True)
    for folder in folders:
        folder.rmdir()


def check_own(path: Path) -> None:
    """Raise if a folder is not a checkpoint, or holds anything else besides."""
    _own_contents(path)


def _own_contents(path: Path) -> tuple[list[Path], list[Path]]:
    """Return the files and the folders of a checkpoint, in the order in which they can be removed."""
    _check_no_link(path)
    _header_of(path / HEADER)
    chains = [one for one in path.iterdir() if _CHAIN.fullmatch(one.name) and one.is_dir() and not one.is_symlink()]
    files = [one for chain in chains for one in chain.iterdir()]
    others = [one for one in path.iterdir() if one not in chains and one.name != HEADER]
    known = [one for one in files if _PIECE.fullmatch(one.name) or one.name in (POSITION, BEFORE, _OWNER)]
    strangers = {one for one in (*files, *others) if one not in known and not UNFINISHED.fullmatch(one.name)}
    strangers |= {one for one in (*files, *others, path / HEADER) if one.is_symlink() or not one.is_file()}
    if strangers:
        raise CheckpointError(
            f"{path} holds {str(min(strangers).relative_to(path))!r}, which is not of a checkpoint: nothing in the "
            "folder is removed. Move it away, or name another folder for the results."
        )
    return [*files, *others, path / HEADER], [*chains, path]


def _check_no_link(folder: Path) -> None:
    """Raise if a folder of the checkpoint is a symbolic link."""
    if folder.is_symlink():
        raise CheckpointError(f"{folder} is a link. Links are not followed here: remove it, or name another folder.")


def _read(path: Path, parts: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the content of a file and its seal, or raise if parts are missing."""
    try:
        if not path.is_file():  # a pipe in its place would never end
            raise FileNotFoundError(errno.ENOENT, "No such file", str(path))
        content = path.read_bytes()
        found = from_bytes(content)
    except (OSError, InputError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error
    is_such = isinstance(found, dict) and set(found) == set(parts)
    if not is_such or not all(isinstance(found[name], kind) for name, kind in parts.items()):
        raise CheckpointError(f"{path} cannot be read: it does not hold {', '.join(parts)}.")
    numbers = found.get("scalars", {})
    if not all(isinstance(name, str) and _is_row(values) for name, values in numbers.items()):
        raise CheckpointError(f"{path} cannot be read: its scalars are not numbers.")
    if not all(isinstance(name, str) and isinstance(seal, str) for name, seal in found.get("pieces", {}).items()):
        raise CheckpointError(f"{path} cannot be read: its pieces have no names.")
    return found, seal_of(content)


def _is_row(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biuf"


def _create(path: Path, seed: SeedSequence, prints: Fingerprint) -> SeedSequence:
    """Make a new folder with a header that describes data, model and settings of the run."""
    header = {
        "format": FORMAT,
        "version": __version__,
        "seed": _seed_parts(seed),
        "fingerprint": _with_seed(prints, seed),
    }
    try:
        path.mkdir(parents=True, exist_ok=True)
        remove_unfinished(path)
        write_whole(path / HEADER, json.dumps(header, indent=1).encode())
    except OSError as error:
        raise CheckpointError(f"Cannot make a checkpoint in {path}: {error}.") from error
    return seed


def _read_header(path: Path) -> dict[str, Any] | None:
    """Return the header of a folder, None if the folder is new or empty; raise if it is no checkpoint."""
    if not (path / HEADER).exists():
        _check_empty(path)
        return None
    header = _header_of(path / HEADER)
    found, version = header["format"], header["version"]
    if found != FORMAT:
        raise CheckpointError(
            f"{path} has checkpoint format {found}, this version of homothety ({__version__}) reads {FORMAT}. "
            f"It was written by homothety {version}: go on with that version, or start anew in another folder."
        )
    return header


def _header_of(path: Path) -> dict[str, Any]:
    """Return the content of a header of any format version, or raise if it is no header."""
    try:
        header: dict[str, Any] = json.loads(path.read_bytes())
        is_ours = isinstance(header, dict) and set(header) == set(_HEADER_PARTS)
        wrong = [name for name, kind in _HEADER_PARTS.items() if not is_ours or not isinstance(header[name], kind)]
        texts = [] if wrong else [*header["fingerprint"].values()]
        if wrong or not all(isinstance(text, str) for text in texts):
            raise ValueError(f"needed {', '.join(_HEADER_PARTS)}")
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged or not of homothety: {error}.") from error
    return header


def _stored_seed(path: Path, header: dict[str, Any]) -> SeedSequence:
    """Return the seed in a header, or raise if it is invalid."""
    try:
        if not 1 <= header["seed"]["pool_size"] <= _MAX_POOL:
            raise ValueError(f"pool_size is {header['seed']['pool_size']}")
        return SeedSequence(**header["seed"])
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise CheckpointError(f"{path / HEADER} is damaged or not of homothety: {error!r}.") from error


def _check_empty(path: Path) -> None:
    """Raise unless a folder is missing, empty, or has only a file that was never finished."""
    if path.exists() and not path.is_dir():
        raise CheckpointError(f"{path} is a file. Checkpoints need a folder.")
    others = [] if not path.exists() else [p.name for p in path.iterdir() if not UNFINISHED.fullmatch(p.name)]
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
