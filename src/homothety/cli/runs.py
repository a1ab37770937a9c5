"""Runs that can be resumed, and the fit of a model with messages about its progress.

Beside its results, a run leaves two things. ``run.json`` has the words of the command, the folder in which it was
given and a digest of the data. The folder ``checkpoint`` has the chains. Both are written when the first chain begins,
so that a command with bad input leaves nothing behind.
"""

from __future__ import annotations

import json
import os
import shlex
import warnings
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from numpy.linalg import LinAlgError

from homothety._version import __version__
from homothety.errors import CheckpointError, ConvergenceWarning, InputError, NearlySingularWarning
from homothety.estimators.sampled import SampledChains
from homothety.files import remove_unfinished, write_json
from homothety.sampling.checkpoint import HEADER, Checkpoints, Fingerprint, check_own, differences, remove_checkpoint

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

    from numpy.random import SeedSequence

    from homothety.cli.console import Console

FORMAT = 1
_RECORD, _CHECKPOINT = "run.json", "checkpoint"
EVERY_SECONDS = 30.0  # of work that a kill may cost
_PRINTING = ("--quiet", "--json")
_RESUMABLE = ("segment", "cluster")  # a file names no other command


@dataclass(frozen=True)
class Record:
    """Record of a run: command, folder, digest of the data and sweeps.

    Parameters
    ----------
    command : list of str
        The words of the command, without the name of the program.
    given_in : str
        The folder it was given in, where the names of files start.
    data : dict of str to str
        Digest of everything that was read, by name.
    n_sweeps : int or "auto"
        Sweeps of each chain, or as many as it takes.
    n_burn : int
        Sweeps of each chain of which nothing is written.
    n_made : int
        Sweeps that each chain has made, once everything has been sampled.
    finished : bool
        Whether everything has been sampled and written.
    version : str
        Of the homothety that began the run.
    format : int
        Of this record.
    """

    command: list[str]
    given_in: str
    data: Fingerprint
    n_sweeps: int | Literal["auto"] = 0
    n_burn: int = 0
    n_made: int = 0
    finished: bool = False
    version: str = __version__
    format: int = FORMAT


def read(folder: Path) -> Record:
    """Return the record of the run in a folder, or raise if there is none that this version can resume."""
    path = folder / _RECORD
    if not path.is_file():
        found = "is not there" if not folder.exists() else f"holds no run that could be resumed: there is no {_RECORD}"
        raise InputError(f"{folder} {found}. Name the folder that homothety segment or cluster wrote to (-o).")
    record = _record_of(path)
    if record.format != FORMAT:
        raise InputError(
            f"{path} has format {record.format}, this version of homothety ({__version__}) reads {FORMAT}. Resume it "
            f"with homothety {record.version}, or start it anew."
        )
    return record


def _record_of(path: Path) -> Record:
    """Return the record in a file of any format version, or raise if it is no record."""
    try:
        told = json.loads(path.read_bytes())
        record = Record(**told)
        known = _PARTS if record.format == FORMAT else {name: _PARTS[name] for name in ("version", "format")}
        wrong = [name for name, is_such in known.items() if not is_such(getattr(record, name))]
        if wrong:
            raise ValueError(f"{wrong[0]} is {told.get(wrong[0])!r}")
    except (OSError, ValueError, TypeError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"{path} is damaged or not of homothety ({reason}). Start the run anew, in another folder (-o)."
        ) from error
    return record


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


_PARTS: dict[str, Callable[[Any], bool]] = {
    "command": lambda value: _are_texts(value) and value[:1] != [] and value[0] in _RESUMABLE,
    "given_in": lambda value: isinstance(value, str) and "\0" not in value,
    "data": lambda value: isinstance(value, dict) and _are_texts([*value.values()]),
    "n_sweeps": lambda value: value == "auto" or _is_count(value),
    "n_burn": _is_count,
    "n_made": _is_count,
    "finished": lambda value: isinstance(value, bool),
    "version": lambda value: isinstance(value, str),
    "format": _is_count,
}
"""What the parts of a record may be: the file may come from anywhere."""


def _unfinished(folder: Path) -> Record | None:
    """Return the record of the unfinished run in a folder, if there is one that can be resumed."""
    try:
        found = read(folder)
    except InputError:
        return None
    return None if found.finished else found


def _asks_the_same(record: Record, other: Record) -> bool:
    """Return whether two runs have the same command and data, apart from options that only change output."""
    words, others = ([word for word in one.command if word not in _PRINTING] for one in (record, other))
    return (words, record.given_in, record.data) == (others, other.given_in, other.data)


def _is_longer(found: Record, n_sweeps: int | Literal["auto"]) -> bool:
    """Return whether `homothety resume --sweeps` has extended a run beyond a number of sweeps or "auto"."""
    return found.n_sweeps != "auto" and (n_sweeps == "auto" or found.n_sweeps > n_sweeps)


def _clear(folder: Path) -> None:
    """Remove an earlier run from a folder, or raise and remove nothing; its results stay until written over."""
    _check_ours(folder)
    if _holds_chains(folder):
        remove_checkpoint(folder / _CHECKPOINT)
    (folder / _RECORD).unlink(missing_ok=True)


def _check_ours(folder: Path) -> None:
    """Raise if a new run would overwrite something in a folder that no run has written."""
    record = folder / _RECORD
    if os.path.lexists(record):
        try:
            _record_of(record)
        except InputError as error:
            raise InputError(
                f"{record} was not written by homothety, or is damaged, and a new run would replace it. Move it away, "
                "or name another folder with -o."
            ) from error
    if _holds_chains(folder):
        check_own(folder / _CHECKPOINT)


def _holds_chains(folder: Path) -> bool:
    """Return whether there is a checkpoint; a folder of that name without a header is not touched."""
    return (folder / _CHECKPOINT).is_symlink() or os.path.lexists(folder / _CHECKPOINT / HEADER)


class Run:
    """A run in the folder of its results.

    Parameters
    ----------
    folder : Path
    record : Record
        Not finished.
    resumed : bool
        Whether the run in the folder has to be resumed; else a run of other data or settings is replaced.
    console : Console
    """

    def __init__(self, folder: Path, record: Record, *, resumed: bool, console: Console) -> None:
        self.folder, self.record, self.resumed, self.console = folder, record, resumed, console
        self.has_begun = self._goes_on = False
        self._made_folder = not folder.exists()

    @property
    def way_on(self) -> str:
        """Sentence on how to resume after an interrupt."""
        return f"To go on from there: {self._resuming}"

    @property
    def _resuming(self) -> str:
        return f"homothety resume {shlex.quote(str(self.folder))}"

    @contextmanager
    def sampling(self, model: Any) -> Iterator[None]:
        """Let a model write its chains into the folder while it is fitted; one without chains is left as it is."""
        if "checkpoint" not in model.get_params(deep=False):
            yield
            return
        if not self.resumed:
            self.record = self._scheduled(model)
        self._lengthen(model)
        checkpoints = _RunCheckpoints(
            self.folder / _CHECKPOINT, every_seconds=EVERY_SECONDS, keep_from=self.record.n_burn, run=self
        )
        model.set_params(checkpoint=checkpoints)
        try:
            yield
            self.record = replace(self.record, n_made=model.n_sweeps_)
        except (InputError, MemoryError, LinAlgError) as error:
            if not isinstance(error, CheckpointError):
                self._undo(checkpoints, model.n_chains)
            raise
        finally:
            model.set_params(checkpoint=None)  # whoever loads the model may fit it to something else

    def _undo(self, checkpoints: Checkpoints, n_chains: int) -> None:
        """Remove the files of a new run that failed before any chain has made a sweep."""
        is_new = self.has_begun and not (self.resumed or self._goes_on)
        if is_new and not any(trace.n_sweeps for trace in checkpoints.traces(n_chains)):
            _clear(self.folder)
            self.has_begun = False
            if self._made_folder:
                with suppress(OSError):  # unless something else is in it by now
                    self.folder.rmdir()

    def _lengthen(self, model: Any) -> None:
        """Set the number of sweeps of a model to that of the record, if it is larger than that of the command."""
        n_sweeps, n_burn = self.record.n_sweeps, self.record.n_burn
        if n_sweeps == model.n_sweeps:
            return
        if model.n_sweeps == "auto" and model.n_burn is None:
            n_burn = max(n_burn, int(n_sweeps) // 2)  # what was kept before is dropped
        # Otherwise, half of more sweeps would be another burn-in, and what a checkpoint has kept depends on it.
        model.set_params(n_sweeps=n_sweeps, n_burn=n_burn)

    def _scheduled(self, model: Any) -> Record:
        """Return the record with the requested sweeps, or with those to which the same run was extended."""
        found = _unfinished(self.folder)
        if found is not None and _is_longer(found, model.n_sweeps) and _asks_the_same(found, self.record):
            return replace(self.record, n_sweeps=found.n_sweeps, n_burn=found.n_burn)
        return replace(self.record, n_sweeps=model.n_sweeps, n_burn=model.least_burn())

    def begin(self, open_chains: Callable[[], SeedSequence]) -> SeedSequence:
        """Open the chains, those of the run in the folder if it can be resumed, and write the record."""
        found = None if self.resumed else _unfinished(self.folder)
        self._goes_on = found is not None
        if not (self.resumed or found):
            _clear(self.folder)
        if self.folder.is_dir():
            remove_unfinished(self.folder)
        try:
            seed = open_chains()
            if found:
                self._go_on(found)
        except CheckpointError:
            if not found:
                raise
            self.console.say(f"Replacing a run in {self.folder} that was not finished, of other data or settings")
            _clear(self.folder)
            seed = open_chains()
        self._write(self.record)
        self.has_begun = True
        return seed

    def _go_on(self, found: Record) -> None:
        """Print that the run is resumed, or raise if it may have more sweeps than requested."""
        n_sweeps = self.record.n_sweeps
        if _is_longer(found, n_sweeps):
            raise InputError(
                f"--sweeps is {n_sweeps}, but the same run in {self.folder} has been made longer, to {found.n_sweeps}. "
                f"Go on with {self._resuming}, to which --sweeps N adds still more, or name another folder with -o."
            )
        end = "until the chains agree" if n_sweeps == "auto" else f"to sweep {n_sweeps}"
        self.console.say(f"Going on with the same run in {self.folder}, which was not finished, {end}")

    @contextmanager
    def explaining_interrupts(self) -> Iterator[None]:
        """Print how to resume after an interrupt without results, or after the disk was full."""
        try:
            yield
        except OSError as error:
            if not self.has_begun or not error.strerror:
                raise
            remedy = f"What was sampled is kept: when this is put right, {self._resuming} goes on"
            raise OSError(error.errno, f"{error.strerror}. {remedy}", error.filename) from error
        except KeyboardInterrupt as interrupt:
            if not self.has_begun:
                raise
            raise KeyboardInterrupt(f"{str(interrupt) or 'Interrupted.'} {self.way_on}") from None

    def end(self, *, interrupted: bool) -> None:
        """Record that the run is finished, or print how to resume. A model without chains removes an earlier run."""
        if not self.has_begun:
            _clear(self.folder)
        elif interrupted:
            self.console.say(self.way_on)
        else:
            self._write(replace(self.record, finished=True))

    def _write(self, record: Record) -> None:
        write_json(self.folder / _RECORD, asdict(record))


@dataclass(frozen=True, kw_only=True)
class _RunCheckpoints(Checkpoints):
    """Checkpoints in the folder of a run, which begins with them.

    Parameters
    ----------
    run : Run
    """

    run: Run

    def __reduce__(self) -> tuple[type[Checkpoints], tuple[Any, ...]]:
        # Chains in other processes only write: the run was begun here.
        return Checkpoints, (self.path, self.every_sweeps, self.every_seconds)

    def open(self, seed: SeedSequence | None, prints: Fingerprint) -> SeedSequence:
        """Begin the run: the input has proved to be good."""
        return self.run.begin(lambda: super(_RunCheckpoints, self).open(seed, prints))


def of(args: Namespace, folder: Path, data: Fingerprint, console: Console) -> Run:
    """Return the requested run: a new one, or one to resume, which refuses other data."""
    found: Record | None = args.resumed
    if found is None:
        _check_ours(folder)
        return Run(folder, Record(args.words, str(Path.cwd()), data), resumed=False, console=console)
    if changed := differences(found.data, data):
        more = f" (and {len(changed) - 1} more)" * (len(changed) > 1)
        raise InputError(
            f"The data are not those that the run in {folder} began with: {changed[0]}{more}. Put them back, or start "
            f"anew with homothety {found.command[0]}."
        )
    return Run(folder, replace(found, finished=False), resumed=True, console=console)


# Fitting


def fit(model: Any, data: Any, console: Console, *, size: str, source: str, **options: Any) -> None:
    """Fit a model with messages; an interrupt ends the fit with what was sampled until then.

    Parameters
    ----------
    model : estimator
    data : object
        What `fit` takes.
    console : Console
    size : str
        How much data there is, in words.
    source : str
        Where the data came from.
    **options
        Of `fit`.
    """
    is_sampled = isinstance(model, SampledChains)
    if is_sampled:
        console.say(f"Sampling {_planned(model)} over {size}")
        model.set_params(progress=console.shows_progress)
    else:
        console.say(f"Fitting {type(model).__name__} to {size}")
    with _told_with_the_outcome():
        model.fit(data, **options)
    if is_sampled:
        model.set_params(progress=False)
    model.result_ = replace(model.result_, provenance=replace(model.result_.provenance, source=source))


@contextmanager
def _told_with_the_outcome() -> Iterator[None]:
    """Suppress warnings that the document repeats: chains that differ, matrices that are nearly singular."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", NearlySingularWarning)
        yield


def _planned(model: SampledChains) -> str:
    """Return how many sweeps will be made, in words."""
    if model.n_sweeps != "auto":
        return f"{model.n_chains} chains of {model.n_sweeps} sweeps"
    if model.n_chains == 1:
        return f"1 chain of {model.auto_sweeps.alone} sweeps"
    first, most, _ = model.auto_sweeps
    return f"{model.n_chains} chains of {first} sweeps, up to {most} until they agree,"
