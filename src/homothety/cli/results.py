"""Writing and reading the folder of results."""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.cli.figures import ALL_FIGURES, figures_of, write_figures
from homothety.cli.options import REPORT
from homothety.cli.recordings import EXPORTS, numbered_in_source
from homothety.datasets import MatrixSet, SequenceSet, read_sequences, write_label_image
from homothety.datasets.readers.arrays import load_archive
from homothety.datasets.readers.brain import NIFTI_SUFFIXES
from homothety.datasets.readers.checks import blame_file, is_missing
from homothety.errors import HomothetyWarning, InputError
from homothety.export import (
    FREESURFER_TABLE,
    FSLEYES_TABLE,
    KINDS,
    LEROBOT_INFO,
    LEROBOT_TABLES,
    pooled_moments,
    to_aeon,
    to_ruptures,
    write_elan,
    write_lerobot,
    write_lookup_tables,
    write_moments,
    write_rerun,
    write_robomimic,
    write_rows,
)
from homothety.files import write_json, write_text, written_aside
from homothety.persistence import load
from homothety.report import describe, render_html, render_markdown, render_text
from homothety.report.document import chains_answer
from homothety.summaries.result import Labels, Partition, Result, Segmentation
from homothety.summaries.tables import (
    BOUNDARY_COLUMNS,
    describe_states,
    partition_rows,
    summarise_partition,
    summarise_segmentation,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from homothety.cli.console import Console
    from homothety.report.document import Document

_REMEDY = "Remove it to do without, or run the command again."
MODEL, _SUMMARY, _PAGE, _STATES = "model.homothety", "summary.json", "summary.md", "states.json"
_RESULT = "result.homothety"  # of a model that was applied to other data
_RECORDINGS, _MATRICES, _LABEL_IMAGE = "recordings.npz", "matrices.npz", "labels.nii.gz"
_TABLES = {
    "segments": "segments of one state each",
    "boundaries": "changes of state with 90 % intervals",
    "labels": "labels of every step, or of every matrix",
    "action_segments": "segments of one action each",
    "action_boundaries": "changes of action with 90 % intervals",
    "transforms": "how the states of an action differ",
    "frames": "how recordings are turned, resized and moved",
}


class Written(NamedTuple):
    """What was written: the names of the files, the document, and its summary."""

    files: list[str]
    document: Document
    summary: dict[str, Any]


def write(model: Any, data: Any, folder: Path, *, kind: str = "csv", with_figures: bool = False) -> Written:
    """Write all files of a fitted model or a result into a folder, replacing those of an earlier run.

    Parameters
    ----------
    model : estimator or Result
        Figures need a fitted estimator.
    data : SequenceSet or MatrixSet
        What it was fitted to.
    folder : Path
    kind : {"csv", "json", "parquet"}
        Of the tables.
    with_figures : bool
        Whether figures are drawn as PNG files too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    result: Result = getattr(model, "result_", model)
    summary = _summarise(result, data)
    kept, other = (_RESULT, MODEL) if result is model else (MODEL, _RESULT)
    model.save(folder / kept)
    _remove(folder, other)
    files = [REPORT, _PAGE, _SUMMARY, kept, *_write_tables(result, data, folder, kind)]
    write_json(folder / _SUMMARY, summary)
    if isinstance(result, Segmentation):
        write_json(folder / _STATES, describe_states(result))
        _write_recordings(folder / _RECORDINGS, data)
        files += [_STATES, _RECORDINGS]
        _remove(folder, _MATRICES, _LABEL_IMAGE, FSLEYES_TABLE, FREESURFER_TABLE)
    else:
        _write_matrices(folder / _MATRICES, result, data)
        files += [_MATRICES, *_write_image(result, data, folder)]
        _remove(folder, _STATES, _RECORDINGS)
    document = describe(result, data)
    figures = figures_of(model, data) if with_figures else {}
    drawn = write_figures(folder, {name: figure.draw for name, figure in figures.items()}, ALL_FIGURES)
    page = [render_markdown(document, kind), _files_section([*files, *drawn])]
    page += [f"## {one.title}\n\n![{one.title}]({name}.png)\n\n{one.caption}\n" for name, one in figures.items()]
    write_text(folder / _PAGE, "\n".join(page))
    write_text(folder / REPORT, render_html(document))
    return Written([*files, *drawn], document, summary)


def show(console: Console, written: Written, folder: Path, more: Mapping[str, Any] | None = None) -> None:
    """Print a document and the names of its files; for scripts its summary, with what `more` adds."""
    found = written.summary | dict(more or {}) | {"output": str(folder), "files": written.files}
    console.show(f"{render_text(written.document)}\n\nWritten to {folder}: {', '.join(written.files)}.", found)


def _summarise(result: Result, data: Any) -> dict[str, Any]:
    """Return a summary of a result for JSON, with whether its chains agree in words."""
    answer = chains_answer(result.chains)
    verdict = {} if result.provenance.applied else {"verdict": " ".join([answer.short, answer.text, *answer.points])}
    if isinstance(result, Segmentation):
        return summarise_segmentation(result) | verdict
    return summarise_partition(result, data) | verdict


def _write_tables(result: Result, data: Any, folder: Path, kind: str) -> list[str]:
    """Write the tables, and return the names of the files; those of an earlier run that are not written are removed."""
    tables = result.tables()
    if isinstance(result, Partition):
        tables["labels"] = partition_rows(result, data)
    for name, rows in tables.items():
        with written_aside(folder / f"{name}.{kind}") as aside:
            write_rows(aside, rows, BOUNDARY_COLUMNS if name.endswith("boundaries") else None)
    written = [f"{name}.{kind}" for name in tables]
    _remove(folder, *{f"{name}.{other}" for name in _TABLES for other in KINDS}.difference(written))
    return written


def _remove(folder: Path, *names: str) -> None:
    """Remove files of an earlier run, which do not belong to the new results."""
    for name in names:
        (folder / name).unlink(missing_ok=True)


def _files_section(names: list[str]) -> str:
    """Return a list of the files and their contents, in Markdown."""
    known = {
        REPORT: "interactive report",
        _SUMMARY: "settings, versions and what was found in short",
        _STATES: "means and covariances of states",
        MODEL: "`homothety.load` gives the model back; `homothety apply` finds the same in new data",
        _RESULT: "`homothety.load` gives the result back",
        _RECORDINGS: "the recordings",
        _MATRICES: "the matrices, and what is known of them",
        _LABEL_IMAGE: "the cluster of every voxel",
    }
    lines = []
    for name in names:
        what = known.get(name) or _TABLES.get(Path(name).stem)
        lines += [f"- `{name}`: {what}"] * (what is not None)
    return "\n".join(["## Files", "", *lines, ""])


def _write_image(result: Partition, data: MatrixSet, folder: Path) -> list[str]:
    """Write the label image of a NIfTI image with its lookup tables, and return the names of the files.

    Of other sources nothing is written.
    """
    if not result.provenance.source.lower().endswith(NIFTI_SUFFIXES):
        _remove(folder, _LABEL_IMAGE, FSLEYES_TABLE, FREESURFER_TABLE)
        return []
    with written_aside(folder / _LABEL_IMAGE) as aside:
        write_label_image(aside, result.labels, data)
    return [_LABEL_IMAGE, *write_lookup_tables(folder, result.n_clusters)]


def _write_recordings(path: Path, items: SequenceSet) -> None:
    """Write recordings with their names and labels as a file that `read_sequences` can read."""
    arrays: dict[str, Any] = {
        "X": np.concatenate(items.sequences),
        "lengths": [len(one) for one in items.sequences],
        "names": np.array(items.names, dtype=str),
    }
    if items.channels:
        arrays["channels"] = np.array(items.channels, dtype=str)
    for name, known in (("states", items.states), ("labels", items.actions)):
        if known is not None:
            arrays[name] = _plain(np.concatenate(known))
    with written_aside(path) as aside:
        np.savez_compressed(aside, **arrays)


def _write_matrices(path: Path, result: Partition, items: MatrixSet) -> None:
    """Write true classes and voxels of matrices, and the matrices themselves unless the model has them."""
    known = {
        "matrices": items.matrices if result.matrices is None else None,
        "labels": None if items.labels is None else _plain(np.asarray(items.labels)),
        "grid": items.grid,
        "positions": items.positions,
        "affine": items.affine,
    }
    with written_aside(path) as aside:
        arrays: dict[str, Any] = {name: np.asarray(values) for name, values in known.items() if values is not None}
        np.savez(aside, **arrays)


def _plain(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels as numbers or texts, which need no pickle; missing labels are empty texts."""
    return labels if labels.dtype.kind != "O" else np.where(is_missing(labels), "", labels.astype(str))


def read(folder: Path) -> tuple[Result, SequenceSet | MatrixSet | None]:
    """Return the result that a command has written to a folder, and the data it is about where they are there.

    Raises
    ------
    InputError
        If there is no result.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder, needed one that homothety segment or cluster has written to.")
    found = load(_kept(folder))
    result: Any = getattr(found, "result_", found)
    if isinstance(result, Segmentation):
        recordings = folder / _RECORDINGS
        return result, _read_recordings(recordings) if recordings.is_file() else None
    if not isinstance(result, Partition):
        raise InputError(
            f"{_kept(folder)} holds a {type(found).__name__}, needed a fitted model or a result. Run it again."
        )
    return result, _read_matrices(folder / _MATRICES, result)


def _kept(folder: Path) -> Path:
    """Return the file with the result, or with the model that has it."""
    kept = next((folder / name for name in (MODEL, _RESULT) if (folder / name).is_file()), None)
    if kept is None:
        raise InputError(f"{folder} holds no {MODEL}, needed what homothety segment or cluster writes. Check the name.")
    return kept


def rename(folder: Path, names: Sequence[str]) -> tuple[Result, SequenceSet | MatrixSet | None]:
    """Set the names of actions in a folder of results, and return the result and its data."""
    result, data = read(folder)
    if not isinstance(result, Segmentation):
        raise InputError(f"{folder} has clusters of matrices, needed actions to give names to. Leave --names out.")
    result, kept = result.with_names(names), _kept(folder)
    found = load(kept)
    if found is not None and hasattr(found, "result_"):
        found.result_ = result
    else:
        found = result
    found.save(kept)
    kind = next((kind for kind in KINDS if (folder / f"segments.{kind}").is_file()), "csv")
    _write_tables(result, data, folder, kind)
    return result, data


def _read_recordings(path: Path) -> SequenceSet:
    """Return the recordings that `_write_recordings` has written."""
    with blame_file(path, _REMEDY):
        return replace(read_sequences(path), names=tuple(map(str, load_archive(path)["names"].tolist())))


def _read_matrices(path: Path, result: Partition) -> MatrixSet | None:
    """Return the matrices that `_write_matrices` has written; None if there are none."""
    with blame_file(path, _REMEDY):
        known: dict[str, Any] = dict(load_archive(path)) if path.is_file() else {}
        matrices = known.pop("matrices", result.matrices)
        if matrices is None:
            return None
        if "grid" in known:
            known["grid"] = tuple(known["grid"].tolist())
        return MatrixSet(matrices, **known)


# Files for other programs

_ELAN_FOLDER, _CHANGES, _MOMENTS = "elan", "changes_{}.json", "moments.npz"
_LEROBOT_FOLDER, _ROBOMIMIC, _RERUN = "lerobot-subtasks", "robomimic.hdf5", "segments.rrd"


def write_exports(result: Segmentation, items: SequenceSet, folder: Path, kinds: list[str], source: Path) -> list[str]:
    """Write what was asked for, and return the names of the files; `source` is what the recordings were read from."""
    writers: dict[str, Callable[[], list[str]]] = {
        "ruptures": partial(_write_changes, result, folder, "ruptures"),
        "aeon": partial(_write_changes, result, folder, "aeon"),
        "elan": partial(_write_elan, result, folder),
        "lerobot": partial(_write_lerobot, result, folder, source),
        "robomimic": partial(_write_robomimic, result, folder, source),
        "rerun": partial(_write_rerun, result, items, folder),
        "moments": partial(_write_moments, result, items, folder),
    }
    written = [name for kind in EXPORTS if kind in kinds for name in writers[kind]()]
    _remove_earlier(folder, {*_known_names(result.names, folder)}.difference(written))
    return written


def _known_names(series: tuple[str, ...], folder: Path) -> list[str]:
    """Return the names of all files that exports of these recordings are written to."""
    subtasks = [folder / _LEROBOT_FOLDER / LEROBOT_INFO, *(folder / _LEROBOT_FOLDER).glob(LEROBOT_TABLES)]
    changes = [_CHANGES.format(kind) for kind in ("ruptures", "aeon")]
    known = [*changes, _MOMENTS, _ROBOMIMIC, _RERUN, *_elan_names(series)]
    return known + [path.relative_to(folder).as_posix() for path in subtasks]


def _remove_earlier(folder: Path, names: set[str]) -> None:
    """Remove what an earlier run has exported: it does not belong to the results beside it."""
    inside = {name for name in names if not (folder / Path(name).parts[0]).is_symlink()}
    for name in inside:
        (folder / name).unlink(missing_ok=True)
    for parent in sorted({parent for name in inside for parent in Path(name).parents[:-1]}, reverse=True):
        with suppress(OSError):  # it is not there, or holds something else
            (folder / parent).rmdir()


def _label_kinds(result: Segmentation) -> dict[str, Labels]:
    """Return the labels of all steps: states, and actions where they are known."""
    return {"state": result.states} | ({} if result.actions is None else {"action": result.actions})


def _file_names(names: tuple[str, ...], suffix: str) -> list[str]:
    """Return distinct file names for recordings, without characters that file systems do not allow.

    Examples
    --------
    >>> _file_names(("demo 1", "a/b: c", "a b c"), ".eaf")
    ['demo_1.eaf', 'a_b_c.eaf', 'a_b_c_2.eaf']
    >>> _file_names(("a_b_2", "a/b", "a b"), "")
    ['a_b_2', 'a_b', 'a_b_3']
    """
    plain = [re.sub(r"[^\w.-]+", "_", name).strip("._") or "series" for name in names]
    used: set[str] = set()
    free: list[str] = []
    for one in plain:
        numbered = (f"{one}_{i}" for i in count(2))
        free.append(next(name for name in chain([one], numbered) if name.lower() not in used))
        used.add(free[-1].lower())
    return [name + suffix for name in free]


def _write_changes(result: Segmentation, folder: Path, kind: str) -> list[str]:
    """Write the change points of every recording as lists in one JSON file."""
    convert = {"ruptures": to_ruptures, "aeon": to_aeon}[kind]
    name = _CHANGES.format(kind)
    changes = {
        series: {label: convert(labels.paths[i]) for label, labels in _label_kinds(result).items()}
        for i, series in enumerate(result.names)
    }
    write_json(folder / name, changes)
    return [name]


def _write_elan(result: Segmentation, folder: Path) -> list[str]:
    """Write one file of annotations per recording, into a folder of their own."""
    _check_no_link(folder / _ELAN_FOLDER)
    names, rate = _elan_names(result.names), result.rate or 0.0  # with_rate has seen to it
    (folder / _ELAN_FOLDER).mkdir(exist_ok=True)
    for i, name in enumerate(names):
        with written_aside(folder / name) as aside:
            write_elan(aside, {label: labels.paths[i] for label, labels in _label_kinds(result).items()}, rate=rate)
    return names


def _check_no_link(folder: Path) -> None:
    """Raise if a folder to write to is a link."""
    if folder.is_symlink():
        raise InputError(f"{folder} is a link. Links are not followed: remove it, or name another folder.")


def _elan_names(series: tuple[str, ...]) -> list[str]:
    return [f"{_ELAN_FOLDER}/{name}" for name in _file_names(series, ".eaf")]


def _write_lerobot(result: Segmentation, folder: Path, source: Path) -> list[str]:
    """Write the tables of a LeRobot data set with subtasks, into a folder of their own."""
    target = folder / _LEROBOT_FOLDER
    _check_no_link(target)
    episodes = map(int, numbered_in_source(result.names, "lerobot", source))
    paths = dict(zip(episodes, result.labels.paths, strict=True))
    return [f"{_LEROBOT_FOLDER}/{name}" for name in write_lerobot(target, source, paths, _label_names(result))]


def _write_robomimic(result: Segmentation, folder: Path, source: Path) -> list[str]:
    """Write a copy of a file of robomimic with subtasks."""
    demos = numbered_in_source(result.names, "robomimic", source)
    with written_aside(folder / _ROBOMIMIC) as aside:
        paths = dict(zip(demos, result.labels.paths, strict=True))
        has_signals = write_robomimic(aside, source, paths, _label_names(result))
    if not has_signals:
        warnings.warn(
            f"{_ROBOMIMIC} has no signals for MimicGen, only subtask_index: these need the same {result.called}s in "
            "the same order in all recordings.",
            HomothetyWarning,
            stacklevel=2,
        )
    return [_ROBOMIMIC]


def _label_names(result: Segmentation) -> list[str]:
    """Return what actions are called, or states without actions."""
    names = [result.label_name(label) for label in range(result.labels.number)]
    return names if result.action_names else [f"{result.called} {name}" for name in names]


def _write_rerun(result: Segmentation, items: SequenceSet, folder: Path) -> list[str]:
    """Write paths, segments and states for the viewer of rerun."""
    with written_aside(folder / _RERUN) as aside:
        write_rerun(aside, result, items)
    return [_RERUN]


def _write_moments(result: Segmentation, items: SequenceSet, folder: Path) -> list[str]:
    """Write means and covariances of the steps of all states and actions, in the units of the recordings."""
    kinds = _label_kinds(result)
    found = {name: pooled_moments(items, labels.paths, labels.number) for name, labels in kinds.items()}
    with written_aside(folder / _MOMENTS) as aside:
        write_moments(aside, found, result.channel_names("{}"))
    return [_MOMENTS]
