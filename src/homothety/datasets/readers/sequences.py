"""Series of measurements in files: choosing the reader by the name of the file, and putting files together."""

from __future__ import annotations

import re
from collections import Counter
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from homothety.datasets.readers.sequence_arrays import read_mat_series, read_npy_series, read_npz_series
from homothety.datasets.readers.sequence_tables import read_csv_series, read_parquet_series
from homothety.datasets.sequence_set import SequenceSet, join_sets
from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from homothety.datasets.readers.columns import Column

    PathName = str | PathLike[str]

TABLES = {".csv": read_csv_series, ".tsv": read_csv_series, ".txt": read_csv_series, ".parquet": read_parquet_series}
ARRAYS = {".npy": read_npy_series, ".mat": read_mat_series}
SUFFIXES = (*TABLES, ".npz", *ARRAYS)


def read_sequences(
    paths: PathName | Sequence[PathName],
    *,
    group: Column | None = None,
    columns: Column | Sequence[Column] | None = None,
    lengths: ArrayLike | None = None,
    variable: str | None = None,
    labels: Column | None = None,
) -> SequenceSet:
    """Read series of measurements, such as demonstrations, from files.

    Parameters
    ----------
    paths : str, Path or sequence of them
        Files, or folders of files of one kind, which are read in the order of their names ("demo_2" before
        "demo_10"). What a name ends in decides how a file is read:

        - ``.csv``, ``.tsv``, ``.txt``: one row per time step, with or without a header; cells parted by tabs,
          semicolons, commas or blanks; decimal commas are fine where tabs or semicolons part the cells;
        - ``.parquet``: one row per time step; a column of lists of numbers counts as several. Needs
          ``homothety[parquet]``;
        - ``.npy``: an array of shape (n_steps, n_dims);
        - ``.npz``: such an array and the ``lengths`` of the series in it; or one array per series;
        - ``.mat``, up to MATLAB's version 7: a cell array of n_steps x n_dims or n_dims x n_steps matrices, or one
          matrix. The axis along which the matrices differ is that of time; if none does, the longer one.
    group : str or int, optional
        Column of a table whose values tell the series apart, such as ``"episode_index"``. By default a file is one
        series.
    columns : str, int or sequence of them, optional
        Dimensions to keep, by name or by number from 0. By default all of them; of a table all columns except the
        group, a nameless first column, and those called ``time``, ``timestamp``, ``label`` or ``state``.
    lengths : array_like of int, optional
        Numbers of steps of the series a single file holds one after the other.
    variable : str, optional
        Name of the array in ``.npz`` and ``.mat`` files, where the above leaves a choice.
    labels : str or int, optional
        Column of a table, or array of a ``.npz`` file, that holds the true actions under a name of its own. It is then
        no measurement.

    Returns
    -------
    recordings : SequenceSet
        Its `actions` are what `labels` names; else the column ``label`` of a table, the array ``labels`` of an
        archive, or the only cell array of whole numbers beside the series in a ``.mat`` file; its `states` the column
        ``state`` or the array ``states``.

    Raises
    ------
    InputError
        When a file is missing, broken, or holds something else. NaN is read as it is: whether it can be dealt with is
        for the model to say.
    ImportError
        When a ``.parquet`` file is read without pyarrow.
    """
    files = _expand(paths)
    if lengths is not None and len(files) > 1:
        raise InputError(f"lengths cut up a single file, but there are {len(files)}. Leave lengths out.")
    sets = [_read_file(path, group, columns, lengths, variable, labels) for path in files]
    _check_same_dims(sets, files)
    return _with_distinct_names(sets, files)


def _read_file(
    path: Path,
    group: Column | None,
    columns: Column | Sequence[Column] | None,
    lengths: ArrayLike | None,
    variable: str | None,
    labels: Column | None,
) -> SequenceSet:
    """Read one file by the reader of its kind."""
    suffix = path.suffix.lower()
    if not path.is_file():
        raise InputError(f"{path} is not there or not a file. Check the name and the folder.")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty, needed a series of measurements. Export it again.")
    if suffix in TABLES:
        if variable is not None:
            raise InputError(f"variable means nothing for {path}: it applies to .npz and .mat. Leave it out.")
        return TABLES[suffix](path, group, columns, lengths, labels)
    if suffix not in SUFFIXES:
        raise InputError(
            f"{path} ends in {path.suffix or 'nothing'!r}, needed one of {', '.join(SUFFIXES)}. Convert it first."
        )
    if group is not None:
        raise InputError(f"group means nothing for {path}: it applies to {', '.join(TABLES)}. Leave it out.")
    if suffix == ".npz":
        return read_npz_series(path, variable, columns, lengths, labels)
    if labels is not None:
        raise InputError(f"labels means nothing for {path}: it applies to {', '.join(TABLES)} and .npz. Leave it out.")
    return ARRAYS[suffix](path, variable, columns, lengths)


def _expand(paths: PathName | Sequence[PathName]) -> list[Path]:
    """Return all files, those of folders in the order of their names."""
    given = [paths] if isinstance(paths, str | PathLike) else list(paths)
    files = [file for one in given for file in (_files_in(Path(one)) if Path(one).is_dir() else [Path(one)])]
    if not files:
        raise InputError("paths names no file, needed at least one.")
    return files


def _files_in(folder: Path) -> list[Path]:
    """Return the files of a folder that can be read, or raise if they are of several kinds or there are none."""
    files = [path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")]
    kinds = sorted({path.suffix.lower() for path in files})
    if len(kinds) != 1:
        found = f"files of several kinds ({', '.join(kinds)})" if kinds else f"no file ending in {', '.join(SUFFIXES)}"
        raise InputError(f"The folder {folder} holds {found}. Name the files to read.")
    return sorted(files, key=_natural_order)


def _natural_order(path: Path) -> list[tuple[int, str]]:
    """Sort key by which numbers inside names are compared as numbers."""
    parts = re.split(r"(\d+)", path.name.lower())
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _check_same_dims(sets: list[SequenceSet], files: list[Path]) -> None:
    """Raise naming a file whose series have other dimensions than those of the first."""
    for one, path in zip(sets, files, strict=True):
        if one.n_dims != sets[0].n_dims:
            raise InputError(
                f"{path} has {one.n_dims} dimensions but {files[0]} has {sets[0].n_dims}. "
                "All files must measure the same ones; choose them with columns=."
            )
        if one.channels and sets[0].channels and one.channels != sets[0].channels:
            raise InputError(
                f"{path} has columns {', '.join(one.channels)} but {files[0]} has {', '.join(sets[0].channels)}. "
                "Choose those to read, in one order, with columns=."
            )


def _with_distinct_names(sets: list[SequenceSet], files: list[Path]) -> SequenceSet:
    """Join the sets; series with the same name in several files are called by their file too."""
    joined = join_sets(sets, files[0].stem if len(files) == 1 else files[0].parent.name or "sequences")
    counts = Counter(joined.names)
    origins = [path for path, one in zip(files, sets, strict=True) for _ in one.names]
    names = [
        name if counts[name] == 1 else f"{path.parent.name}/{path.name}: {name}"
        for path, name in zip(origins, joined.names, strict=True)
    ]
    if len(set(names)) < len(names):
        names = [f"{name} ({place})" for place, name in enumerate(names)]
    return SequenceSet(joined.sequences, joined.states, joined.actions, tuple(names), joined.channels, joined.name)
