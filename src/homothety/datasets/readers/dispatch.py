"""Reading covariance matrices and recordings: the name of a file decides on the reader, and files are put together."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.covariance.embedding import blocks_of
from homothety.datasets.readers.apart import reading_apart
from homothety.datasets.readers.arrays import (
    read_archive,
    read_archive_series,
    read_mat,
    read_mat_series,
    read_npy,
    read_npy_series,
)
from homothety.datasets.readers.brain import read_epochs, read_epochs_series, read_nifti
from homothety.datasets.readers.checks import check_order, natural_order, once
from homothety.datasets.readers.motion_capture import read_bvh_series, read_c3d_series
from homothety.datasets.readers.robots import (
    is_lerobot_folder,
    is_ros2_folder,
    read_bag_series,
    read_lerobot_series,
)
from homothety.datasets.readers.tables import read_csv, read_table_series
from homothety.datasets.sets import join_sets
from homothety.errors import InputError, UnevenTimesWarning
from homothety.files import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.datasets.readers.checks import Column, Columns, ComponentOrder
    from homothety.datasets.sets import MatrixSet, SequenceSet

    _PathName = str | PathLike[str]

# Matrices whose smallest eigenvalue is a smaller fraction of the largest do not count as positive definite.
_MIN_RECIPROCAL_CONDITION = 1e-12


class _Kind(NamedTuple):
    """A kind of file: how it is read, and which options mean something for it. Only those are handed to the reader."""

    read: Callable[..., Any]
    options: tuple[str, ...] = ()
    apart: tuple[str, ...] | None = None
    """What a reader imports that is not safe from hostile files, so that it works in a process of its own."""


_ARCHIVE = _Kind(read_archive, ("variable",))
_HDF5 = _ARCHIVE._replace(apart=("h5py",))
_BAG = _Kind(read_bag_series, ("topic",), ("rosbags.rosbag1", "rosbags.rosbag2", "rosbags.typesys"))
_EPOCHS = ("mne", "mne.epochs")
_TABLE = _Kind(read_table_series, ("group", "lengths", "labels"))
_ARRAYS = _Kind(read_archive_series, ("lengths", "variable", "labels"))

_MATRICES = {
    ".npy": _Kind(read_npy),
    ".npz": _ARCHIVE,
    ".mat": _Kind(read_mat, ("variable",), ("scipy.io",)),
    ".h5": _HDF5,
    ".hdf5": _HDF5,
    ".csv": _Kind(read_csv, ("order",)),
    **dict.fromkeys((".nii", ".nii.gz"), _Kind(read_nifti, ("order", "mask"))),
    **dict.fromkeys((".fif", ".fif.gz"), _Kind(read_epochs, ("variable",), _EPOCHS)),
}
"""Files of matrices, by what their names end in."""

_SERIES = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), _TABLE),
    ".parquet": _TABLE._replace(apart=("pyarrow.parquet",)),
    ".npz": _ARRAYS,
    **dict.fromkeys((".h5", ".hdf5"), _ARRAYS._replace(apart=("h5py",))),
    ".npy": _Kind(read_npy_series, ("lengths",)),
    ".mat": _Kind(read_mat_series, ("lengths", "variable"), ("scipy.io",)),
    **dict.fromkeys((".bag", ".db3", ".mcap"), _BAG),
    ".bvh": _Kind(read_bvh_series, ("variable",)),
    ".c3d": _Kind(read_c3d_series, apart=("c3d",)),
    **dict.fromkeys((".fif", ".fif.gz"), _Kind(read_epochs_series, ("variable",), _EPOCHS)),
}
"""Files of recordings, by what their names end in; all readers take the chosen columns too."""

_FOLDERS = {
    "ROS 2 recordings": (is_ros2_folder, _BAG),
    "LeRobot data sets": (is_lerobot_folder, _Kind(read_lerobot_series, ("labels",), ("pyarrow.parquet",))),
}
"""Folders that are read like one file of recordings, each with the function that recognises it."""


# --- matrices ---------------------------------------------------------------------------------------------------------


def read_matrices(
    path: str | Path,
    *,
    variable: str | None = None,
    order: ComponentOrder | None = None,
    mask: str | Path | ArrayLike | None = None,
    only_spd: bool = False,
) -> MatrixSet:
    """Read covariance matrices from a file.

    Parameters
    ----------
    path : str or Path
        What it ends in decides how it is read:

        - ``.npy``: an array of shape (n_matrices, n_dims, n_dims);
        - ``.npz``: such an array called ``matrices``, or the only 3-D one; ``labels``, ``grid``, ``positions`` and
          ``affine`` too if they are there. A grid without positions is taken voxel by voxel in row-major order;
        - ``.h5``, ``.hdf5``: the same, arrays inside groups by their paths. Needs ``homothety[hdf5]``;
        - ``.mat`` (version 7.3 needs ``homothety[hdf5]``): an N x N x M or M x N x N array, a cell array of matrices,
          or a cell or struct array with a field of them, taken row by row; the variable called ``matrices``, or the
          only such one; ``labels`` too if there are any;
        - ``.csv``: one matrix per row, all N*N entries or the N*(N+1)/2 distinct ones, with or without a header, and a
          column of labels if the header calls it ``label``; cells are separated by commas, semicolons or tabs;
        - ``.nii``, ``.nii.gz``: diffusion tensors of shape (x, y, z, 6) or (x, y, z, 1, 6). Needs ``homothety[dti]``;
        - ``.fif``, ``.fif.gz``: epochs of MNE, as the covariances of the channels in each, shrunk a little so that they
          are positive definite, and labelled by event. Needs ``homothety[mne]``.
    variable : str, optional
        Name of the array in an ``.npz``, ``.h5`` or ``.mat`` file; ``"name.field"`` for a field of MATLAB structs; the
        kind of channel in a ``.fif`` file, such as ``"eeg"``, where there are several.
    order : {"upper", "lower", "diagonal", "fsl", "nifti", "dipy", "mrtrix"}, optional
        In which order the distinct entries are listed: by rows of the upper triangle ("upper", "fsl"), by rows of the
        lower triangle ("lower", "nifti", "dipy"), or diagonal first, then the upper triangle ("diagonal", "mrtrix").
        By default "upper" for ``.csv``, and "nifti" for images of 5 dimensions whose intent is a symmetric matrix;
        other images say nothing of it, so for them it must be given.
    mask : str, Path or array_like of shape (x, y, z), optional
        Which voxels of a NIfTI image to read: those where the mask is not 0. By default those whose tensor is neither
        all zeros nor all NaN.
    only_spd : bool, default False
        Leave out matrices that are not positive definite, of which tensor fits usually leave a few.

    Returns
    -------
    matrices : MatrixSet
        Labels are None where the file has none; images have their grid, positions and affine.

    Raises
    ------
    InputError
        When the file is missing, broken, of another kind or shape, or holds NaN or asymmetric matrices.
    ImportError
        When the library for a format is not installed; the message says which extra of homothety brings it.
    """
    path = Path(path)
    kind = _kind_by_name(path, _MATRICES)
    given = {"variable": variable, "order": order, "mask": mask}
    _check_options(path, kind, given, _MATRICES)
    if order is not None:
        check_order(order)
    if not path.is_file():
        raise InputError(f"{path} is not there or not a file. Check the name and the folder.")
    _check_not_empty(path, "covariance matrices")
    options = {option: given[option] for option in kind.options}
    matrices = kind.read(path, **options) if kind.apart is None else _read_apart("matrices", kind, path, options)
    matrices = replace(matrices, name=printable(matrices.name))
    return keep_spd(matrices, path)[0] if only_spd else matrices


def _positive_definite(matrices: FloatArray, least: float = _MIN_RECIPROCAL_CONDITION) -> BoolArray:
    """Say which of `matrices` (n_matrices, n_dims, n_dims) have no eigenvalue below a share of their largest."""
    is_spd = np.empty(len(matrices), dtype=bool)
    for rows in blocks_of(len(matrices)):
        eigenvalues = np.linalg.eigvalsh(matrices[rows])
        is_spd[rows] = eigenvalues[:, 0] > least * np.abs(eigenvalues[:, -1])
    return is_spd


def keep_spd(items: MatrixSet, path: Path, least: float = _MIN_RECIPROCAL_CONDITION) -> tuple[MatrixSet, IntArray]:
    """Return the positive definite matrices of a set that was just read, and their indices, or raise if there is none.

    A matrix counts as positive definite if no eigenvalue is below the share `least` of its largest one. The array of
    the set is overwritten: the matrices that are kept move to its front, because a copy would double the memory.
    """
    kept, matrices = np.flatnonzero(_positive_definite(items.matrices, least)), items.matrices
    if len(kept) == 0:
        raise InputError(f"{path}: none of {len(items)} matrices is positive definite. Check what the file holds.")
    for rows in blocks_of(len(kept)):
        matrices[rows] = matrices[kept[rows]]
    labels, positions = (None if one is None else one[kept] for one in (items.labels, items.positions))
    return replace(items, matrices=matrices[: len(kept)], labels=labels, positions=positions), kept


# --- recordings -------------------------------------------------------------------------------------------------------


def read_sequences(
    paths: _PathName | Sequence[_PathName],
    *,
    group: Column | None = None,
    columns: Column | Sequence[Column] | None = None,
    lengths: ArrayLike | None = None,
    variable: str | None = None,
    labels: Column | None = None,
    topic: str | None = None,
) -> SequenceSet:
    """Read recordings of measurements, such as demonstrations, from files.

    Parameters
    ----------
    paths : str, Path or sequence of them
        Files, or folders of files of one kind, which are read in the order of their names ("demo_2" before
        "demo_10"). What a name ends in decides how a file is read:

        - ``.csv``, ``.tsv``, ``.txt``: one row per time step, with or without a header; cells separated by tabs,
          semicolons, bars, commas or blanks; decimal commas are fine unless commas separate the cells;
        - ``.parquet``: one row per time step; a column of lists of numbers counts as several. Needs
          ``homothety[parquet]``;
        - ``.npy``: an array of shape (n_steps, n_dims);
        - ``.npz``: such an array and the ``lengths`` of the recordings in it; or one array per recording;
        - ``.h5``, ``.hdf5``: the same, arrays inside groups by their paths. Needs ``homothety[hdf5]``;
        - ``.mat`` (version 7.3 needs ``homothety[hdf5]``): a cell array of n_steps x n_dims or n_dims x n_steps
          matrices, or one matrix. The axis along which the matrices differ is that of time; if none does, the longer
          one;
        - ``.bag``, ``.db3``, ``.mcap``, and folders recorded by ROS 2: the numbers in the messages of one topic in
          order of time, headers left out. Needs ``homothety[ros]``;
        - a folder with a LeRobot data set: the column ``observation.state``, one recording per episode. Needs
          ``homothety[parquet]``;
        - ``.bvh``: the channels of the joints, angles in degrees;
        - ``.c3d``: positions of the markers, NaN where one was not seen. Needs ``homothety[mocap]``;
        - ``.fif``, ``.fif.gz``: epochs of MNE, one recording each. Needs ``homothety[mne]``.
    group : str or int, optional
        Column of a table whose values distinguish the recordings, such as ``"episode_index"``. By default a file is one
        recording.
    columns : str, int or sequence of them, optional
        Dimensions to keep, by name or by number from 0; ``"position"`` stands for ``"position.x"``, ``"position.y"``
        and so on where there is no dimension of just that name. By default all of them; of a table all columns except
        the group, a nameless first column, headers of ROS messages, and those called ``time``, ``timestamp``, ``label``
        or ``state``. A column of times (also ``t``, ``t_ms``, ``seconds`` and the like, if it increases) gives the
        steps per second.
    lengths : array_like of int, optional
        Numbers of steps of the recordings a single file holds one after the other.
    variable : str, optional
        Name of the array in ``.npz``, ``.h5`` and ``.mat`` files, where the above leaves a choice; with stars, as in
        ``"data/*/actions"``, every array so named in ``.npz`` and ``.h5`` is a recording. ``"positions"`` for where the
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
        archive, or the only cell array of whole numbers beside the recordings in a ``.mat`` file; its `states` the
        column ``state`` or the array ``states``. Its `rate` is known where times, or stamps of ROS messages, are even
        within half a step, or where the file states the rate (LeRobot, ``.bvh``, ``.c3d``, ``.fif``).

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
    given = {"group": group, "lengths": lengths, "variable": variable, "labels": labels, "topic": topic}
    with once(UnevenTimesWarning), reading_apart():
        sets = [_read_series(path, columns, given) for path in files]
    _check_same_dims(sets, files)
    return _with_distinct_names(sets, files)


def _read_series(path: Path, columns: Columns, given: Mapping[str, Any]) -> SequenceSet:
    """Read one file, or a folder that counts as one, by the reader of its kind."""
    if not path.exists():
        raise InputError(f"{path} is not there. Check the name and the folder.")
    kind = _kind_of_series(path)
    if path.is_file():
        _check_not_empty(path, "a series of measurements")
    _check_options(path, kind, given, _SERIES | {name: folder for name, (_, folder) in _FOLDERS.items()})
    options = {option: given[option] for option in kind.options}
    if kind.apart is None:
        return kind.read(path, columns, **options)
    return _read_apart("series", kind, path, options | {"columns": columns})


def _expand(paths: _PathName | Sequence[_PathName]) -> list[Path]:
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
    shown = [path for path in folder.iterdir() if not path.name.startswith(".")]
    found = [path for path in shown if (_suffix(path, _SERIES) and path.is_file()) or _counts_as_file(path)]
    kinds = sorted({_suffix(path, _SERIES) or "folders" for path in found})
    if len(kinds) != 1:
        held = f"files of several kinds ({', '.join(kinds)})" if kinds else f"no file ending in {', '.join(_SERIES)}"
        raise InputError(f"The folder {folder} holds {held}. Name the files to read.")
    return sorted(found, key=lambda path: natural_order(path.name))


def _counts_as_file(folder: Path) -> bool:
    return any(is_such(folder) for is_such, _ in _FOLDERS.values())


def _check_same_dims(sets: list[SequenceSet], files: list[Path]) -> None:
    """Raise naming a file whose recordings have other dimensions than those of the first."""
    for one, path in zip(sets, files, strict=True):
        if one.n_dims != sets[0].n_dims:
            raise InputError(
                f"{path} has {one.n_dims} dimensions but {files[0]} has {sets[0].n_dims}. "
                "All files must measure the same ones; choose them with columns=.",
                "columns",
            )
        if one.channels and sets[0].channels and one.channels != sets[0].channels:
            raise InputError(
                f"{path} has columns {', '.join(one.channels)} but {files[0]} has {', '.join(sets[0].channels)}. "
                "Choose those to read, in one order, with columns=.",
                "columns",
            )


def _with_distinct_names(sets: list[SequenceSet], files: list[Path]) -> SequenceSet:
    """Join the sets; recordings with the same name in several files are called by their file too."""
    joined = join_sets(sets, printable(files[0].stem if len(files) == 1 else files[0].parent.name or "sequences"))
    counts = Counter(joined.names)
    origins = [path for path, one in zip(files, sets, strict=True) for _ in one.names]
    names = [
        printable(name if counts[name] == 1 else f"{path.parent.name}/{path.name}: {name}")
        for path, name in zip(origins, joined.names, strict=True)
    ]
    if len(set(names)) < len(names):
        names = [f"{name} ({place})" for place, name in enumerate(names)]
    channels = tuple(map(printable, joined.channels))
    return replace(joined, names=tuple(names), channels=channels, frames=None)


# --- readers that work in a process of their own ----------------------------------------------------------------------


def _read_apart(what: str, kind: _Kind, path: Path, arguments: dict[str, Any]) -> Any:
    """Return what the reader of a kind of file finds in a process of its own, limited in time and memory."""
    lengths, columns = arguments.get("lengths"), arguments.get("columns")
    plain: dict[str, Any] = {} if lengths is None else {"lengths": np.asarray(lengths)}
    if columns is not None and not isinstance(columns, str | int):
        plain["columns"] = list(columns)
    with reading_apart() as reader:
        return reader.read(what, path, kind.apart or (), arguments | plain)


def read_here(what: str, path: Path, arguments: Mapping[str, Any]) -> Any:
    """Return what the reader of a kind of file finds, in the process that was started for it."""
    if what == "matrices":
        return _kind_by_name(path, _MATRICES).read(path, **arguments)
    return _kind_of_series(path).read(path, **arguments)


# --- kinds of files ---------------------------------------------------------------------------------------------------


def _suffix(path: Path, kinds: Mapping[str, _Kind]) -> str | None:
    """Return which of the known endings a name has, if any."""
    return next((suffix for suffix in kinds if path.name.lower().endswith(suffix)), None)


def _kind_by_name(path: Path, kinds: Mapping[str, _Kind]) -> _Kind:
    """Return what kind of file this is by its name, or raise listing the kinds there are."""
    suffix = _suffix(path, kinds)
    if suffix is None:
        found = repr(path.suffix or "nothing")
        raise InputError(f"{path} ends in {found}, needed one of {', '.join(kinds)}. Convert it first.")
    return kinds[suffix]


def _kind_of_series(path: Path) -> _Kind:
    """Return what kind of file, or of folder that counts as one, this is."""
    return next((kind for is_such, kind in _FOLDERS.values() if is_such(path)), None) or _kind_by_name(path, _SERIES)


def _check_options(path: Path, kind: _Kind, given: Mapping[str, Any], kinds: Mapping[str, _Kind]) -> None:
    """Raise for an option that would be ignored."""
    for option, value in given.items():
        if value is not None and option not in kind.options:
            fitting = ", ".join(name for name, one in kinds.items() if option in one.options)
            raise InputError(f"{option} means nothing for {path}: it applies to {fitting}. Leave it out.", option)


def _check_not_empty(path: Path, needed: str) -> None:
    """Raise for a file of no bytes."""
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty, needed {needed}. Export it again.")
