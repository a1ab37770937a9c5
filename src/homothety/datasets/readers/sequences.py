"""Series of measurements in files: choosing the reader by the name of the file, and putting files together."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from homothety.datasets.readers.bvh import read_bvh_series
from homothety.datasets.readers.c3d_files import read_c3d_series
from homothety.datasets.readers.checks import once
from homothety.datasets.readers.lerobot import is_lerobot_folder, read_lerobot_series
from homothety.datasets.readers.mne_files import read_epochs_series
from homothety.datasets.readers.options import ReadingOptions, natural_order
from homothety.datasets.readers.ros import is_ros2_folder, read_bag_series
from homothety.datasets.readers.sequence_arrays import (
    read_hdf5_series,
    read_mat_series,
    read_npy_series,
    read_npz_series,
)
from homothety.datasets.readers.sequence_tables import read_csv_series, read_parquet_series
from homothety.datasets.sets import join_sets
from homothety.errors import InputError, UnevenTimesWarning
from homothety.files import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from homothety.datasets.readers.columns import Column
    from homothety.datasets.sets import SequenceSet

    PathName = str | PathLike[str]


class Kind(NamedTuple):
    """A kind of file: how it is read, and which options mean something for it besides the columns."""

    read: Callable[[Path, ReadingOptions], SequenceSet]
    options: tuple[str, ...] = ()


_TEXT = Kind(read_csv_series, ("group", "lengths", "labels"))
_HDF5 = Kind(read_hdf5_series, ("lengths", "variable", "labels"))
_BAG = Kind(read_bag_series, ("topic",))
_FIF = Kind(read_epochs_series, ("variable",))

KINDS = {
    ".csv": _TEXT,
    ".tsv": _TEXT,
    ".txt": _TEXT,
    ".parquet": Kind(read_parquet_series, _TEXT.options),
    ".npz": Kind(read_npz_series, _HDF5.options),
    ".h5": _HDF5,
    ".hdf5": _HDF5,
    ".npy": Kind(read_npy_series, ("lengths",)),
    ".mat": Kind(read_mat_series, ("lengths", "variable")),
    ".bag": _BAG,
    ".db3": _BAG,
    ".mcap": _BAG,
    ".bvh": Kind(read_bvh_series, ("variable",)),
    ".c3d": Kind(read_c3d_series),
    ".fif": _FIF,
    ".fif.gz": _FIF,
}
"""By what the names of files end in."""

FOLDERS = {
    "ROS 2 recordings": (is_ros2_folder, _BAG),
    "LeRobot data sets": (is_lerobot_folder, Kind(read_lerobot_series, ("labels",))),
}
"""Folders that are read as one, and how to tell them."""


def read_sequences(
    paths: PathName | Sequence[PathName],
    *,
    group: Column | None = None,
    columns: Column | Sequence[Column] | None = None,
    lengths: ArrayLike | None = None,
    variable: str | None = None,
    labels: Column | None = None,
    topic: str | None = None,
) -> SequenceSet:
    """Read series of measurements, such as demonstrations, from files.

    Parameters
    ----------
    paths : str, Path or sequence of them
        Files, or folders of files of one kind, which are read in the order of their names ("demo_2" before
        "demo_10"). What a name ends in decides how a file is read:

        - ``.csv``, ``.tsv``, ``.txt``: one row per time step, with or without a header; cells parted by tabs,
          semicolons, bars, commas or blanks; decimal commas are fine unless commas part the cells;
        - ``.parquet``: one row per time step; a column of lists of numbers counts as several. Needs
          ``homothety[parquet]``;
        - ``.npy``: an array of shape (n_steps, n_dims);
        - ``.npz``: such an array and the ``lengths`` of the series in it; or one array per series;
        - ``.h5``, ``.hdf5``: the same, arrays inside groups by their paths. Needs ``homothety[hdf5]``;
        - ``.mat`` (version 7.3 needs ``homothety[hdf5]``): a cell array of n_steps x n_dims or n_dims x n_steps
          matrices, or one matrix. The axis along which the matrices differ is that of time; if none does, the longer
          one;
        - ``.bag``, ``.db3``, ``.mcap``, and folders recorded by ROS 2: the numbers in the messages of one topic in
          order of time, headers left out. Needs ``homothety[ros]``;
        - a folder with a LeRobot data set: the column ``observation.state``, one series per episode. Needs
          ``homothety[parquet]``;
        - ``.bvh``: the channels of the joints, angles in degrees;
        - ``.c3d``: positions of the markers, NaN where one was not seen. Needs ``homothety[mocap]``;
        - ``.fif``, ``.fif.gz``: epochs of MNE, one series each. Needs ``homothety[mne]``.
    group : str or int, optional
        Column of a table whose values tell the series apart, such as ``"episode_index"``. By default a file is one
        series.
    columns : str, int or sequence of them, optional
        Dimensions to keep, by name or by number from 0; ``"position"`` stands for ``"position.x"``, ``"position.y"``
        and so on where there is no dimension of just that name. By default all of them; of a table all columns except
        the group, a nameless first column, headers of ROS messages, and those called ``time``, ``timestamp``, ``label``
        or ``state``. A column of times (also ``t``, ``t_ms``, ``seconds`` and the like, if it increases) tells the
        steps per second.
    lengths : array_like of int, optional
        Numbers of steps of the series a single file holds one after the other.
    variable : str, optional
        Name of the array in ``.npz``, ``.h5`` and ``.mat`` files, where the above leaves a choice; with stars, as in
        ``"data/*/actions"``, every array so named in ``.npz`` and ``.h5`` is a series. ``"positions"`` for where the
        joints of a ``.bvh`` file are. The kind of channel in a ``.fif`` file, such as ``"eeg"``, if there are several.
    labels : str or int, optional
        Column of a table, or array of a ``.npz`` file, that holds the true actions under a name of its own. It is then
        no measurement.
    topic : str, optional
        Which messages of a recording of ROS to read; needed unless there is only one topic.

    Returns
    -------
    recordings : SequenceSet
        Its `actions` are what `labels` names; else the column ``label`` of a table, the array ``labels`` of an
        archive, or the only cell array of whole numbers beside the series in a ``.mat`` file; its `states` the column
        ``state`` or the array ``states``. Its `rate` is known where times, or stamps of ROS messages, are even within
        half a step, or where the file tells the rate (LeRobot, ``.bvh``, ``.c3d``, ``.fif``).

    Warns
    -----
    UnevenTimesWarning
        When times are uneven or do not increase, or rates differ; `rate` is then None.

    Raises
    ------
    InputError
        When a file is missing, broken, or holds something else. NaN is read as it is: whether it can be dealt with is
        for the model to say.
    ImportError
        When the library for a format is not installed; the message says which extra of homothety brings it.
    """
    files = _expand(paths)
    if lengths is not None and len(files) > 1:
        raise InputError(f"lengths cut up a single file, but there are {len(files)}. Leave lengths out.")
    options = ReadingOptions(group, columns, lengths, variable, labels, topic)
    with once(UnevenTimesWarning):
        sets = [_read_file(path, options) for path in files]
    _check_same_dims(sets, files)
    return _with_distinct_names(sets, files)


def _read_file(path: Path, options: ReadingOptions) -> SequenceSet:
    """Read one file, or a folder that counts as one, by the reader of its kind."""
    if not path.exists():
        raise InputError(f"{path} is not there. Check the name and the folder.")
    kind = _kind_of(path)
    if path.is_file() and path.stat().st_size == 0:
        raise InputError(f"{path} is empty, needed a series of measurements. Export it again.")
    _check_options(path, kind, options)
    return kind.read(path, options)


def _kind_of(path: Path) -> Kind:
    """Return what kind of file or folder this is, or raise listing those there are."""
    for is_such, kind in FOLDERS.values():
        if is_such(path):
            return kind
    suffix = _suffix(path)
    if suffix is None:
        raise InputError(
            f"{path} ends in {path.suffix or 'nothing'!r}, needed one of {', '.join(KINDS)}. Convert it first."
        )
    return KINDS[suffix]


def _suffix(path: Path) -> str | None:
    """Return which of the known endings a name has, if any."""
    return next((suffix for suffix in KINDS if path.name.lower().endswith(suffix)), None)


def _check_options(path: Path, kind: Kind, options: ReadingOptions) -> None:
    """Raise for an option that would be ignored."""
    for option, value in options._asdict().items():
        if value is not None and option != "columns" and option not in kind.options:
            kinds = [suffix for suffix, one in KINDS.items() if option in one.options]
            kinds += [name for name, (_, one) in FOLDERS.items() if option in one.options]
            raise InputError(f"{option} means nothing for {path}: it applies to {', '.join(kinds)}. Leave it out.")


def _expand(paths: PathName | Sequence[PathName]) -> list[Path]:
    """Return all files, those of folders in the order of their names."""
    given = [paths] if isinstance(paths, str | PathLike) else list(paths)
    files = [file for one in given for file in (_files_in(Path(one)) if Path(one).is_dir() else [Path(one)])]
    if not files:
        raise InputError("paths names no file, needed at least one.")
    return files


def _files_in(folder: Path) -> list[Path]:
    """Return the files of a folder that can be read, or raise if they are of several kinds or there are none."""
    if _counts_as_file(folder):
        return [folder]
    found = [path for path in folder.iterdir() if _can_be_read(path)]
    kinds = sorted({_suffix(path) or "folders" for path in found})
    if len(kinds) != 1:
        held = f"files of several kinds ({', '.join(kinds)})" if kinds else f"no file ending in {', '.join(KINDS)}"
        raise InputError(f"The folder {folder} holds {held}. Name the files to read.")
    return sorted(found, key=lambda path: natural_order(path.name))


def _can_be_read(path: Path) -> bool:
    """Tell whether something in a folder is a recording: a file by its name, or a folder that counts as one."""
    is_shown = not path.name.startswith(".")
    return is_shown and ((_suffix(path) is not None and path.is_file()) or _counts_as_file(path))


def _counts_as_file(folder: Path) -> bool:
    return any(is_such(folder) for is_such, _ in FOLDERS.values())


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
    joined = join_sets(sets, printable(files[0].stem if len(files) == 1 else files[0].parent.name or "sequences"))
    counts = Counter(joined.names)
    origins = [path for path, one in zip(files, sets, strict=True) for _ in one.names]
    names = [
        printable(name if counts[name] == 1 else f"{path.parent.name}/{path.name}: {name}")
        for path, name in zip(origins, joined.names, strict=True)
    ]
    if len(set(names)) < len(names):
        names = [f"{name} ({place})" for place, name in enumerate(names)]
    return replace(joined, names=tuple(names), frames=None)
