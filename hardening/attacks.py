"""What is attacked and how: each attack takes a good thing, spoils it, and hands it to the library.

An attack returns whether the library took what it was given. An `InputError` in one line that names the file is an
answer too; every other error is let through.
"""

from __future__ import annotations

import re
import shutil
import warnings
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import homothety
from hardening.goods import data_for, models
from hardening.mutations import mutation_for
from homothety.cli import main
from homothety.datasets import read_matrices, read_sequences
from homothety.errors import InputError
from homothety.sampling.codec import N_SEALED, sealed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


class FaultError(Exception):
    """The library answered, but not as it should."""


class Try(NamedTuple):
    """One attempt: which attack, on which good thing, and the seeds of the changes made to it, one after the other."""

    attack: str
    good: str
    seeds: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.attack} {self.good} {','.join(map(str, self.seeds))}"


def parse_try(words: Sequence[str]) -> Try:
    """Return the attempt that `str` has told."""
    attack, good, seeds = words
    return Try(attack, good, tuple(map(int, seeds.split(","))))


def goods_of(attack: str, folder: Path) -> list[str]:
    """Return the good things that an attack begins with, by name."""
    if attack == "arrays":
        return sorted(models())
    return sorted(path.name for path in (folder / attack).iterdir())


def spoil(path: Path, seeds: Sequence[int]) -> None:
    """Change a file once for each seed."""
    content = path.read_bytes()
    for seed in seeds:
        content = mutation_for(path.name)(np.random.default_rng(seed), content)
    path.write_bytes(content)


def spoil_one_of(folder: Path, seeds: Sequence[int], endings: tuple[str, ...] = (".json", ".zip", ".txt")) -> Path:
    """Change one file of a folder, the sum of the seeds says which; return it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in endings)
    chosen = files[np.random.default_rng(sum(seeds)).integers(len(files))]
    spoil(chosen, seeds)
    return chosen


# --- attacks ----------------------------------------------------------------------------------------------------------


def attack_series(good: Path, work: Path, seeds: Sequence[int]) -> bool:
    """Read a damaged file of recordings."""
    path = work / good.name
    shutil.copy(good, path)
    spoil(path, seeds)
    return _is_taken(lambda: read_sequences(path), path)


def attack_matrices(good: Path, work: Path, seeds: Sequence[int]) -> bool:
    """Read a damaged file of matrices."""
    path = work / good.name
    shutil.copy(good, path)
    spoil(path, seeds)
    return _is_taken(lambda: read_matrices(path, order="dipy" if ".nii" in path.name else None), path)


def attack_models(good: Path, work: Path, seeds: Sequence[int]) -> bool:
    """Load a damaged model; one that is taken has nothing replaced by values of the file."""
    path = work / good.name
    shutil.copy(good, path)
    spoil(path, seeds)

    def load() -> None:
        model = homothety.load(path)
        strange = [name for name in vars(model) if callable(getattr(type(model), name, None))]
        if strange or getattr(model, "checkpoint", None) is not None:
            raise FaultError(f"the file has set {strange or 'checkpoint'}")
        repr(model)

    return _is_taken(load, path)


def attack_checkpoints(good: Path, work: Path, seeds: Sequence[int]) -> bool:
    """Go on from a damaged checkpoint: to the very result of one that is not, or not at all."""
    folder = work / good.name
    shutil.copytree(good, folder)
    chosen = spoil_one_of(folder, seeds)
    model = models()[good.name]().set_params(checkpoint=str(folder), n_burn=2, n_sweeps=8)
    content = chosen.read_bytes()
    forged = content == sealed(content[N_SEALED:])  # whoever seals it again may make another chain of it

    def fit() -> None:
        model.fit(data_for(good.name))
        if not forged and not _same_traces(model.trace_, _whole(good.name)):
            raise FaultError(f"other results after damage to {chosen.relative_to(folder)}")

    return _is_taken(fit, folder)


_wholes: dict[str, Any] = {}


def _whole(name: str) -> Any:
    """Return the trace of a model whose checkpoint was not damaged."""
    if name not in _wholes:
        _wholes[name] = models()[name]().set_params(n_burn=2, n_sweeps=8).fit(data_for(name)).trace_
    return _wholes[name]


def _same_traces(one: Any, other: Any) -> bool:
    names = [name for name in other if name != "seconds"]
    return all(np.array_equal(one[name], other[name], equal_nan=True) for name in names)


def attack_runs(good: Path, work: Path, seeds: Sequence[int]) -> bool:
    """Resume a damaged run by the command line, or draw its report."""
    folder = work / good.name
    shutil.copytree(good, folder)
    command, endings = (("resume", (".json", ".zip", ".txt")), ("report", (".homothety", ".npz", ".json")))[
        sum(seeds) % 2
    ]
    if command == "report":
        shutil.rmtree(folder / "checkpoint")
    spoil_one_of(folder, seeds, endings)
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = main([command, str(folder), "--quiet"])
        except SystemExit as stopped:
            status = int(stopped.code or 0)
    lines = [line for line in err.getvalue().splitlines() if line]
    if status not in (0, 2) or len(lines) > (status == 2):
        raise FaultError(f"status {status}: {lines[:3]}")
    if CONTROLS.search(err.getvalue()):
        raise FaultError(f"control characters on the terminal: {err.getvalue()!r}")
    return status == 0


def attack_arrays(good: Path, work: Path, seeds: Sequence[int]) -> bool:
    """Fit a model to data that nobody should fit it to."""
    data = data_for(good.name)
    is_list = isinstance(data, list)
    parts = [np.array(one) for one in data] if is_list else [np.array(data)]
    for seed in seeds:
        rng = np.random.default_rng(seed)
        with suppress(Exception):  # what an earlier change has left may not be fit for another one
            parts = HOSTILE[rng.integers(len(HOSTILE))](rng, parts)
    model = models()[good.name]().set_params(**({} if good.name == "hmm" else {"n_sweeps": 3, "n_chains": 1}))
    try:
        model.fit(parts if is_list else parts[0] if parts else None)
    except InputError as error:
        if "\n" in str(error):
            raise FaultError(f"several lines: {error}") from error
        return False
    for name in ("labels_", "paths_"):
        if any(np.asarray(one).dtype.kind not in "iu" for one in getattr(model, name, ())):
            raise FaultError(f"{name} is no whole number")
    repr(model.result_)
    return True


ATTACKS: dict[str, Callable[[Path, Path, Sequence[int]], bool]] = {
    "series": attack_series,
    "matrices": attack_matrices,
    "models": attack_models,
    "checkpoints": attack_checkpoints,
    "runs": attack_runs,
    "arrays": attack_arrays,
}
SHARES = {"series": 0.3, "matrices": 0.15, "models": 0.2, "checkpoints": 0.1, "runs": 0.05, "arrays": 0.2}


def _is_taken(use: Callable[[], Any], path: Path) -> bool:
    """Use something and say whether that went well; an InputError must be one line that names it."""
    try:
        use()
    except (InputError, ImportError) as error:
        text = str(error)
        if "\n" in text.strip() or path.name not in text:
            raise FaultError(f"not one line that names {path.name}: {text[:300]!r}") from error
        return False
    return True


# --- hostile arrays ---------------------------------------------------------------------------------------------------

Parts = list[Any]
EXTREMES = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e200, 1e150, 1e100, 1e-320, 0.0, 1e16, 2.0**53)


def _some_entry(rng: np.random.Generator, parts: Parts) -> Parts:
    part = np.array(parts[rng.integers(len(parts))], dtype=object)
    if part.size:
        part.flat[rng.integers(part.size)] = EXTREMES[rng.integers(len(EXTREMES))]
    return _with_floats([*parts[1:], part])


def _with_floats(parts: Parts) -> Parts:
    return [np.array(part, dtype=np.float64) if np.asarray(part).dtype == object else part for part in parts]


def _some_column(rng: np.random.Generator, parts: Parts) -> Parts:
    """Make a column constant, tiny, huge, or a copy or sum of others: the same one in all parts."""
    kind, seed = int(rng.integers(6)), int(rng.integers(2**31))

    def change(part: Any) -> Any:
        part = np.array(part, dtype=np.float64)
        if part.ndim < 2 or not part.size:
            return part
        column = seed % part.shape[-1]
        match kind:
            case 0:
                part[..., column] = 1.0
            case 1:
                part[..., column] *= 1e-200
            case 2:
                part[..., column] *= 1e120
            case 3:
                part[..., column] = part[..., 0]
            case 4:
                part[..., column] = part.sum(axis=-1)
            case _:
                part[..., column] += 1e12
        return part

    return _all(change, parts)


def _all(change: Callable[[Any], Any], parts: Parts) -> Parts:
    return [change(part) for part in parts]


HOSTILE: tuple[Callable[[np.random.Generator, Parts], Parts], ...] = (
    _some_entry,
    _some_entry,
    _some_column,
    _some_column,
    lambda rng, parts: _all(lambda part: np.asarray(part, dtype=np.float64) * 10.0 ** rng.integers(-300, 300), parts),
    lambda rng, parts: _all(lambda part: part[: rng.integers(0, 4)], parts),
    lambda rng, parts: _all(lambda part: np.zeros_like(part), parts),
    lambda rng, parts: [parts[0]] * 4,
    lambda rng, parts: _all(lambda part: part[..., :1], parts),
    lambda rng, parts: _all(lambda part: part.astype(np.float16), parts),
    lambda rng, parts: _all(lambda part: np.asfortranarray(part)[::-1], parts),
    lambda rng, parts: _all(lambda part: part.astype(object), parts),
    lambda rng, parts: _all(lambda part: part.astype(str), parts),
    lambda rng, parts: _all(lambda part: part + 1j, parts),
    lambda rng, parts: _all(lambda part: part.ravel(), parts),
    lambda rng, parts: _all(lambda part: part[None], parts),
    lambda rng, parts: [*parts, np.empty((0, 2))],
    lambda rng, parts: [*parts, np.ones((5, 7))],
    lambda rng, parts: [],
    lambda rng, parts: [None],
    lambda rng, parts: _all(lambda part: np.round(part), parts),
    lambda rng, parts: _all(lambda part: part.astype(bool), parts),
    lambda rng, parts: _all(lambda part: np.repeat(part, 2, axis=0), parts),
    lambda rng, parts: _all(lambda part: rng.normal(size=(rng.integers(1, 30), 2)), parts),
)


def carry_out(one: Try, goods: Path, work: Path) -> bool:
    """Return whether the library took what an attempt gave it; whatever this raises is a fault of the library."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ATTACKS[one.attack](goods / one.attack / one.good, work, one.seeds)
