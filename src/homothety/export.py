"""Results in the forms other programs take: tables, change points, annotations, moments, colours of clusters."""

from __future__ import annotations

import csv
import json
import re
import shutil
from datetime import UTC, datetime
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from homothety.arrays import check_count, check_positive, mean_of_known
from homothety.datasets.readers.checks import require
from homothety.errors import InputError
from homothety.files import write_json, write_text
from homothety.palette import cluster_colors
from homothety.phrases import cluster_number
from homothety.sampling.trace import RunPath
from homothety.sequences import check_sequences
from homothety.summaries.positions import aligned_places, first_position, position_dims

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from os import PathLike

    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray
    from homothety.datasets import SequenceSet
    from homothety.summaries.result import Segmentation

    _Row = Mapping[str, Any]

__all__ = [
    "Moments",
    "pooled_moments",
    "to_aeon",
    "to_napari",
    "to_ruptures",
    "write_elan",
    "write_lerobot",
    "write_lookup_tables",
    "write_moments",
    "write_rerun",
    "write_robomimic",
    "write_rows",
]


# Tables as CSV, JSON or Parquet


def write_rows(path: str | PathLike[str], rows: Iterable[_Row], header: Iterable[str] | None = None) -> None:
    """Write rows as a table of the kind the name ends in: .csv, .json or .parquet.

    Parameters
    ----------
    path : str or Path
    rows : iterable of mappings
        All with the same keys. None is an empty cell.
    header : iterable of str, optional
        What the columns are called if there is no row to tell.
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise InputError(f"{path} ends in {kind or 'nothing'!r}, needed one of {', '.join(KINDS)}.")
    rows = iter(rows)
    first = list(islice(rows, 1))
    KINDS[kind](Path(path), chain(first, rows), list(first[0]) if first else list(header or ()))


def check_table_kind(kind: str) -> None:
    """Raise if tables of this kind cannot be written here: better before the work than after it."""
    if kind == "parquet":
        require("pyarrow.parquet", "parquet", "Writing .parquet")


def _write_csv(path: Path, rows: Iterator[_Row], names: list[str]) -> None:
    with path.open("w", newline="", encoding="utf-8", errors="replace") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)


def _write_json(path: Path, rows: Iterator[_Row], names: list[str]) -> None:  # noqa: ARG001
    known = [{name: value if _is_known(value) else None for name, value in row.items()} for row in rows]
    path.write_text(json.dumps(known, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _write_parquet(path: Path, rows: Iterator[_Row], names: list[str]) -> None:
    pyarrow = require("pyarrow", "parquet", f"Writing {path}")
    listed = [dict(row) for row in rows]
    table = pyarrow.table({name: [row[name] for row in listed] for name in names})
    require("pyarrow.parquet", "parquet", f"Writing {path}").write_table(table, path)


KINDS: dict[str, Callable[[Path, Iterator[_Row], list[str]], None]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "json": _write_json,
}
"""How tables are written, by what names of files end in."""


def _is_known(value: Any) -> bool:
    """Tell whether JSON has a word for a value: it has none for NaN and infinity."""
    return not isinstance(value, float) or bool(np.isfinite(value))


# Change points, counted as ruptures and aeon count them


def to_ruptures(path: ArrayLike) -> list[int]:
    """Return where each segment ends, the end of the recording included, as ruptures has it.

    Parameters
    ----------
    path : array_like of shape (n_steps,)
        Label of every step of one recording.

    Examples
    --------
    >>> to_ruptures([3, 3, 3, 1, 1])
    [3, 5]
    """
    ends: list[int] = _ends(path).tolist()
    return ends


def to_aeon(path: ArrayLike) -> list[int]:
    """Return where each segment but the first starts, as aeon's segmenters have it.

    Parameters
    ----------
    path : array_like of shape (n_steps,)
        Label of every step of one recording.

    Examples
    --------
    >>> to_aeon([3, 3, 3, 1, 1])
    [3]
    """
    starts: list[int] = _ends(path)[:-1].tolist()
    return starts


def _ends(path: ArrayLike) -> IntArray:
    """Return where each run of equal labels ends, or raise if there is no label."""
    labels = np.asarray(path)
    if labels.ndim != 1 or labels.size == 0:
        raise InputError(f"path has shape {labels.shape}, needed one label for each step of a series.")
    # By numbers, because text has no difference.
    return np.cumsum(RunPath.of(np.unique(labels, return_inverse=True)[1]).lengths)


def _segments(path: ArrayLike) -> list[tuple[int, int, Any]]:
    """Return start, end (not included) and label of each segment."""
    labels = np.asarray(path)
    return [(start, end, labels[start].item()) for start, end in pairwise([0, *to_ruptures(labels)])]


# Annotations for ELAN, a program in which recordings are labelled by hand


def write_elan(
    path: str | PathLike[str], tiers: Mapping[str, ArrayLike], *, rate: float, date: datetime | None = None
) -> None:
    """Write the labels of one recording as an .eaf file of ELAN, one tier for each kind of label; needs pympi-ling.

    Parameters
    ----------
    path : str or Path
        Ends in .eaf.
    tiers : mapping from str to array_like of shape (n_steps,)
        Label of every step by the name of the tier, such as ``{"action": model.actions_[0]}``.
    rate : float
        Steps per second of the recording. Times in ELAN are whole milliseconds, of which every annotation gets at
        least one.
    date : datetime, optional
        Written into the file; now by default.
    """
    if Path(path).suffix.lower() != ".eaf":
        raise InputError(f"{path} does not end in .eaf, needed the name of an annotation file of ELAN.")
    step = 1000 / check_positive(rate, "rate")
    elan = require("pympi.Elan", "elan", f"Writing {path}")
    file = elan.Eaf(author="")
    file.adocument["DATE"] = (date or datetime.now(UTC)).isoformat(timespec="seconds")
    file.remove_tier("default")
    for name, labels in tiers.items():
        file.add_tier(name)
        segments = _segments(labels)
        times = _times([end for _, end, _ in segments], step)
        for (start, end), (*_, label) in zip(pairwise(times), segments, strict=True):
            file.add_annotation(name, start, end, f"{name} {label}")
    Path(path).write_bytes(elan.to_string(file, encoding="UTF-8"))


def _times(ends: list[int], step: float) -> list[int]:
    """Return when runs of labels start and the last one ends, in whole milliseconds that differ: ELAN needs that."""
    times = [0]
    for end in ends:
        times.append(max(round(end * step), times[-1] + 1))
    return times


# Subtasks of robot demonstrations: LeRobot data sets, and HDF5 files of robomimic and MimicGen

_PERSISTENT, _EVENTS = "language_persistent", "language_events"
_SUBTASK = "subtask"  # style of a row of language
LEROBOT_INFO, LEROBOT_TABLES = "meta/info.json", "data/chunk-*/*.parquet"


def write_lerobot(
    folder: str | PathLike[str],
    dataset: str | PathLike[str],
    paths: Mapping[int, ArrayLike],
    names: Sequence[str] = (),
) -> list[str]:
    """Write the tables of a LeRobot data set with actions as subtasks to another folder, and return their names.

    Copied over the data set, they annotate it. The data set itself is only read.

    Parameters
    ----------
    folder : str or Path
        Where to write ``meta/info.json`` and ``data/chunk-*/*.parquet``.
    dataset : str or Path
        LeRobot data set of version 3.
    paths : mapping from int to array_like of shape (n_steps,)
        Label of every step, by the number of the episode: ``{0: model.actions_[0]}``.
    names : sequence of str
        What the labels 0, 1, ... are called, which is the text that policies read; "action 0" and so on by default.

    Notes
    -----
    LeRobot keeps subtasks as rows of style "subtask" in the column ``language_persistent``: each begins at the time
    stamp of a step and lasts until the next one. All rows of an episode stand at each of its steps. Rows of other
    styles stay.
    """
    require("pyarrow", "parquet", f"Reading {dataset}")
    source, target = Path(dataset), Path(folder)
    if source.resolve() == target.resolve():
        raise InputError(f"{target} is the data set itself, which is only read. Name another folder to write to.")
    info = lerobot_info(source)
    files = sorted(source.glob(LEROBOT_TABLES))
    for file in files:
        to = target / file.relative_to(source)
        to.parent.mkdir(parents=True, exist_ok=True)
        _write_subtasks(file, to, paths, names)
    for column in (_PERSISTENT, _EVENTS):
        info["features"].setdefault(column, {"dtype": "language", "shape": [1], "names": None})
    (target / LEROBOT_INFO).parent.mkdir(parents=True, exist_ok=True)
    write_json(target / LEROBOT_INFO, info)
    return [LEROBOT_INFO, *(file.relative_to(source).as_posix() for file in files)]


def lerobot_info(source: Path) -> dict[str, Any]:
    """Return the description of a LeRobot data set, or raise if its version has no subtasks."""
    path = source / LEROBOT_INFO
    if not path.is_file():
        raise InputError(f"{source} has no {LEROBOT_INFO}, needed a LeRobot data set. Name the folder of one.")
    info: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    version = str(info.get("codebase_version"))
    if not re.fullmatch(r"v3(\.\d+)*", version) or not isinstance(info.get("features"), dict):
        raise InputError(
            f"{path}: the data set has version {version}, needed version 3, which has columns for subtasks. Convert it "
            "with LeRobot."
        )
    return info


def _write_subtasks(source: Path, target: Path, paths: Mapping[int, ArrayLike], names: Sequence[str]) -> None:
    """Write one table of a LeRobot data set with the subtasks of its episodes."""
    import pyarrow
    from pyarrow import parquet

    table = parquet.read_table(source)
    episodes, of_episode = np.unique(table["episode_index"].to_numpy(), return_inverse=True)
    rows = []
    for place, episode in enumerate(episodes.tolist()):
        steps = table.take(np.flatnonzero(of_episode == place))
        kept = steps[_PERSISTENT][0].as_py() or [] if _PERSISTENT in table.column_names else []
        if episode in paths:
            kept = [row for row in kept if row["style"] != _SUBTASK]
            kept += _subtask_rows(steps["timestamp"].to_pylist(), paths[episode], names, f"{source}, episode {episode}")
        rows.append(sorted(kept, key=lambda row: row["timestamp"]))
    columns = {name: table[name] for name in table.column_names}
    columns[_PERSISTENT] = pyarrow.array(rows).take(pyarrow.array(of_episode))
    columns.setdefault(_EVENTS, pyarrow.array([[]] * len(table)))
    parquet.write_table(pyarrow.table(columns), target)


def _subtask_rows(times: list[float], path: ArrayLike, names: Sequence[str], item: str) -> list[dict[str, Any]]:
    """Return one row for each segment, as LeRobot has rows of language."""
    _check_n_steps(path, len(times), item)
    rest = {"role": "assistant", "style": _SUBTASK, "camera": None, "tool_calls": None}
    return [
        {**rest, "content": _called(label, names), "timestamp": float(times[start])}
        for start, _, label in _segments(path)
    ]


def _check_n_steps(path: ArrayLike, n_steps: int, item: str) -> None:
    """Raise unless there is a label for every step."""
    if len(np.asarray(path)) != n_steps:
        raise InputError(
            f"{item} has {n_steps} steps, but there are {len(np.asarray(path))} labels, needed one each. Export to the "
            "files that the recordings were read from."
        )


def _called(label: Any, names: Sequence[str]) -> str:
    return str(names[label]) if len(names) else f"action {label}"


def write_robomimic(
    path: str | PathLike[str],
    source: str | PathLike[str],
    paths: Mapping[str, ArrayLike],
    names: Sequence[str] = (),
) -> bool:
    """Write a copy of an HDF5 file of robomimic with actions as subtasks.

    Parameters
    ----------
    path : str or Path
        File to write, as large as the source.
    source : str or Path
        File of robomimic or MimicGen, with demonstrations in ``data``.
    paths : mapping from str to array_like of shape (n_steps,)
        Label of every step, by the name of the demonstration: ``{"demo_0": model.actions_[0]}``.
    names : sequence of str
        What the labels 0, 1, ... are called; "action 0" and so on by default.

    Returns
    -------
    has_signals : bool
        Whether there are signals for MimicGen. They need the same actions in the same order in all demonstrations, a
        first segment of two steps or more, and more than one segment.

    Notes
    -----
    ``data/demo_0/subtask_index`` has the label of every step. robomimic reads it with "subtask_index" among its
    ``dataset_keys``. ``data/demo_0/datagen_info/subtask_term_signals/reach_1`` is the signal of the first segment of
    an action called reach: 0, and 1 from its last step on. The last segment ends with its demonstration and has no
    signal. The attribute ``subtasks`` of ``data`` lists the names of the signals in the order of segments if there are
    any, and ``subtask_names`` the names of the labels.
    """
    h5py = require("h5py", "hdf5", f"Writing {path}")
    segments = {demo: _segments(labels) for demo, labels in paths.items()}
    signals = _signal_names(segments, names)
    shutil.copyfile(source, path)
    with h5py.File(path, "r+") as file:
        for demo, labels in paths.items():
            if demo not in file.get("data", ()):
                raise InputError(f"{source} has no group data/{demo}, needed one for each recording.")
            group = file["data"][demo]
            _check_no_links(group, h5py)
            _check_n_steps(labels, len(group["actions"]), f"{source}, data/{demo}")
            _replace(group, "subtask_index", np.asarray(labels, dtype=np.int64))
            for name, (_, end, _) in zip(signals, segments[demo], strict=False):
                signal = (np.arange(len(group["actions"])) >= end - 1).astype(np.int64)
                _replace(group.require_group("datagen_info/subtask_term_signals"), name, signal)
        n_labels = 1 + max(int(np.max(np.asarray(labels))) for labels in paths.values())
        file["data"].attrs["subtask_names"] = [_called(label, names) for label in range(n_labels)]
        file["data"].attrs["subtasks"] = signals
    return bool(signals)


def _check_no_links(group: Any, h5py: Any) -> None:
    """Raise if what is written to may be in another file."""
    for name in ("datagen_info", "datagen_info/subtask_term_signals"):
        link = group.get(name, getlink=True)
        if link is not None and not isinstance(link, h5py.HardLink):
            raise InputError(f"{group.name}/{name} is a link, needed a group. Links are not followed.")


def _replace(group: Any, name: str, values: IntArray) -> None:
    if name in group:
        del group[name]
    group[name] = values


def _signal_names(segments: Mapping[str, list[tuple[int, int, Any]]], names: Sequence[str]) -> list[str]:
    """Return the names of the signals that end all segments but the last; none if demonstrations differ in order."""
    orders = {tuple(label for *_, label in one) for one in segments.values()}
    # MimicGen looks for the first change from 0 to 1, so that a signal cannot begin with 1.
    if len(orders) != 1 or any(one[0][1] < 2 for one in segments.values()):
        return []
    (order,) = orders
    called = [re.sub(r"\W+", "_", _called(label, names)) for label in order]
    return [f"{name}_{called[: i + 1].count(name)}" for i, name in enumerate(called[:-1])]


# Recordings and states on a timeline, for the viewer of rerun


def write_rerun(path: str | PathLike[str], result: Segmentation, data: SequenceSet) -> None:
    """Write recordings, their segments and the ellipsoids of states as an .rrd file of rerun.

    Parameters
    ----------
    path : str or Path
        Ends in .rrd. ``rerun FILE`` opens it.
    result : Segmentation
        ``model.result_``.
    data : SequenceSet
        The recordings it is about.

    Notes
    -----
    ``recorded`` has the path of each recording in the colours of its actions (or states, without actions) and where
    it is at each step; ``segments`` has lanes of actions over time. Timelines are ``step`` and, where the steps per
    second are known, ``time``. Where recordings have frames of their own, ``aligned`` has the paths in the frame of the
    reference. Ellipsoids of the states, of two standard deviations, stand beside the paths that they are in one frame
    with. Paths are the first position, channels called x, y and z, or else the first channels.
    """
    rerun = require("rerun", "rerun", f"Writing {path}")
    dims = position_dims(result)
    is_aligned = result.frame_table is not None and first_position(result) is not None
    recorded = [_in_space(one[:, dims]) for one in data.sequences]
    aligned = [_in_space(one) for one in aligned_places(result, data, dims)]
    with rerun.RecordingStream("homothety") as stream:
        stream.save(path)
        for i, name in enumerate(map(rerun.escape_entity_path_part, result.names)):
            stream.log(f"recorded/{name}", _strips(rerun, recorded[i], result, i), static=True)
            steps = _timelines(rerun, range(len(recorded[i])), result.rate)
            stream.send_columns(f"recorded/{name}/now", steps, rerun.Points3D.columns(positions=recorded[i]))
            if is_aligned:
                stream.log(f"aligned/{name}", _strips(rerun, aligned[i], result, i), static=True)
            _send_lanes(rerun, stream, f"segments/{name}", result, i)
        ellipsoids = _ellipsoids(rerun, result, dims)
        if ellipsoids is not None:
            stream.log("aligned/states" if is_aligned else "recorded/states", ellipsoids, static=True)


def _in_space(places: FloatArray) -> FloatArray:
    """Return places with three coordinates: those that are not there are 0."""
    return np.pad(places, ((0, 0), (0, 3 - places.shape[1])))


def _timelines(rerun: Any, steps: Sequence[int], rate: float | None) -> list[Any]:
    """Return at which steps something is, and at which times where that is known."""
    found = [rerun.TimeColumn("step", sequence=steps)]
    return found if rate is None else [*found, rerun.TimeColumn("time", duration=np.asarray(steps) / rate)]


def _strips(rerun: Any, places: FloatArray, result: Segmentation, i: int) -> Any:
    """Return the path of a recording as one line for each segment, each up to where the next one begins."""
    segments = _segments(result.labels.paths[i])
    colors = cluster_colors(result.labels.number)
    lines = [places[start : end + 1] for start, end, _ in segments]
    return rerun.LineStrips3D(lines, colors=colors[[label for *_, label in segments]])


def _send_lanes(rerun: Any, stream: Any, entity: str, result: Segmentation, i: int) -> None:
    """Send a lane of the segments of a recording, in the colours of their labels."""
    names = [f"{result.called} {label}" for label in range(result.labels.number)]
    looks = rerun.StateConfiguration(
        values=names,
        labels=[result.label_name(label) for label in range(len(names))],
        colors=cluster_colors(len(names)),
    )
    stream.log(entity, looks, static=True)
    segments = _segments(result.labels.paths[i])
    starts = [start for start, *_ in segments]
    texts = [names[label] for *_, label in segments]
    # An empty text ends the last segment.
    indexes = _timelines(rerun, [*starts, segments[-1][1]], result.rate)
    stream.send_columns(entity, indexes, rerun.StateChange.columns(state=[*texts, ""]))


def _ellipsoids(rerun: Any, result: Segmentation, dims: list[int]) -> Any:
    """Return the states as ellipsoids of two standard deviations; None if they have no one place."""
    known, names = list(result.dims()), result.channel_names()
    if result.means is None or result.preparation.means_are_relative or not {names[dim] for dim in dims} <= {*known}:
        return None
    columns = [known.index(names[dim]) for dim in dims]
    n_missing = 3 - len(columns)
    covariances = np.pad(result.covariances[:, columns][:, :, columns], ((0, 0), (0, n_missing), (0, n_missing)))
    values, vectors = np.linalg.eigh(covariances)
    vectors[:, :, 0] *= np.sign(np.linalg.det(vectors))[:, None]
    groups = np.arange(len(values)) if result.state_actions is None else result.state_actions
    return rerun.Ellipsoids3D(
        centers=_in_space(result.means[:, columns]),
        half_sizes=2 * np.sqrt(np.maximum(values, 0.0)),
        quaternions=Rotation.from_matrix(vectors).as_quat(),  # x, y, z, w, as rerun has it
        colors=cluster_colors(int(groups.max()) + 1)[groups],
        labels=[f"state {k}" for k in range(len(values))],
    )


# Means and covariances, for programs that generate or recognise motions


class Moments(NamedTuple):
    """What the steps of each label have in common; row k is that of label k."""

    steps: IntArray  # (n_labels,)
    means: FloatArray  # (n_labels, n_dims), NaN where there is no step
    covariances: FloatArray  # (n_labels, n_dims, n_dims), by the number of steps; NaN where there is no step


def pooled_moments(X: Any, paths: Sequence[ArrayLike], n_labels: int | None = None) -> Moments:
    """Return mean and covariance of all steps of each label, over all recordings.

    Parameters
    ----------
    X : recordings
        As estimators take them, in units of their own.
    paths : sequence of array_like of shape (n_steps_i,)
        Label of every step of each recording, from 0: ``model.actions_`` or ``model.paths_``.
    n_labels : int, optional
        How many labels there are; by default up to the largest in `paths`.

    Notes
    -----
    Steps are pooled wherever and in whatever direction they are. Where an action is done in several places its pooled
    covariance is that of the places too; that of each of its states is not. Where values are missing, each entry is
    that of the steps at which both dimensions are known.
    """
    sequences = check_sequences(X, min_steps=1, allow_constant=True, allow_missing=True)
    labels = [np.asarray(path, dtype=np.int64) for path in paths]
    if [len(path) for path in labels] != sequences.lengths.tolist():
        raise InputError(
            f"paths have {[len(path) for path in labels]} labels but the series {sequences.lengths.tolist()} steps, "
            "needed one label for each step of each series."
        )
    flat = np.concatenate(labels)
    count = int(flat.max()) + 1 if n_labels is None else check_count(n_labels, "n_labels")
    parts = [sequences.steps[flat == label] for label in range(count)]
    n_dims = sequences.n_dims
    means = [mean_of_known(part) if len(part) else np.full(n_dims, np.nan) for part in parts]
    spreads = [
        _covariance_of_known(part - mean) if len(part) else np.full((n_dims, n_dims), np.nan)
        for part, mean in zip(parts, means, strict=True)
    ]
    return Moments(np.array([len(part) for part in parts]), np.array(means), np.array(spreads))


def _covariance_of_known(centred: FloatArray) -> FloatArray:
    """Return mean products of dimensions about their means over steps at which both are known; NaN without such."""
    known = ~np.isnan(centred)
    filled, counts = np.where(known, centred, 0.0), known.T.astype(float) @ known
    return np.asarray(np.divide(filled.T @ filled, counts, out=np.full(counts.shape, np.nan), where=counts > 0))


def write_moments(path: str | PathLike[str], found: Mapping[str, Moments], channels: Sequence[str] = ()) -> None:
    """Write moments as an archive of NumPy.

    Parameters
    ----------
    path : str or Path
        Ends in .npz.
    found : mapping from str to Moments
        By what they are of: ``{"action": ...}`` gives arrays ``action_steps``, ``action_means`` and
        ``action_covariances``.
    channels : sequence of str
        What the dimensions are called.
    """
    arrays = {f"{kind}_{name}": values for kind, moments in found.items() for name, values in moments._asdict().items()}
    with open(path, "wb") as file:  # by name NumPy would add an ending of its own
        np.savez(file, channels=np.array(channels, dtype=np.str_), **arrays)


# Lookup tables: colours and names of clusters, for viewers of brain images

FSLEYES_TABLE, FREESURFER_TABLE = "labels.lut", "labels_lut.txt"


def write_lookup_tables(folder: Path, n_clusters: int) -> list[str]:
    """Write the lookup tables of a label image into a folder, and return the names of the files.

    Parameters
    ----------
    folder : Path
    n_clusters : int
        Clusters have the colours of the report.

    Returns
    -------
    names : list of str
        ``labels.lut`` for FSLeyes, ``labels_lut.txt`` for FreeSurfer and MRtrix.
    """
    write_text(folder / FSLEYES_TABLE, _fsleyes_table(n_clusters))
    write_text(folder / FREESURFER_TABLE, _freesurfer_table(n_clusters))
    return [FSLEYES_TABLE, FREESURFER_TABLE]


def _fsleyes_table(n_clusters: int) -> str:
    """Return a lookup table of FSLeyes: value, red, green and blue from 0 to 1, name.

    Examples
    --------
    >>> print(_fsleyes_table(2), end="")
    1 0.90196 0.62353 0.00000 cluster-1
    2 0.33725 0.70588 0.91373 cluster-2
    """
    return "".join(
        f"{cluster_number(label)} {red:.5f} {green:.5f} {blue:.5f} {_name(label)}\n"
        for label, (red, green, blue) in enumerate(cluster_colors(n_clusters).tolist())
    )


def _freesurfer_table(n_clusters: int) -> str:
    """Return a colour table of FreeSurfer: value, name, red, green, blue and transparency from 0 to 255.

    The last column is 0 (not transparent) in all rows, as in FreeSurfer's own table.

    Examples
    --------
    >>> print(_freesurfer_table(2), end="")
    0 background 0 0 0 0
    1 cluster-1 230 159 0 0
    2 cluster-2 86 180 233 0
    """
    rows = [
        f"{cluster_number(label)} {_name(label)} {red:.0f} {green:.0f} {blue:.0f} 0\n"
        for label, (red, green, blue) in enumerate((255 * cluster_colors(n_clusters)).tolist())
    ]
    return "".join(["0 background 0 0 0 0\n", *rows])


def to_napari(n_clusters: int) -> dict[str, Any]:
    """Return how napari shows a label image: colours and names of clusters.

    Parameters
    ----------
    n_clusters : int
        Clusters have the colours of the report.

    Returns
    -------
    arguments : dict of str to object
        Of ``viewer.add_labels``: ``colormap`` has a colour for each number in the image, and ``features`` the name that
        napari shows under the pointer.

    Examples
    --------
    >>> to_napari(2)["features"]
    {'index': [0, 1, 2], 'cluster': ['background', 'cluster-1', 'cluster-2']}
    """
    colors = {cluster_number(label): [*color, 1.0] for label, color in enumerate(cluster_colors(n_clusters).tolist())}
    clear = [0.0, 0.0, 0.0, 0.0]
    names = ["background", *map(_name, range(n_clusters))]
    return {
        "colormap": {None: clear, 0: clear, **colors},
        "features": {"index": list(range(len(names))), "cluster": names},
    }


def _name(label: int) -> str:
    return f"cluster-{cluster_number(label)}"  # without a space, which would end the name
