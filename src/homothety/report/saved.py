"""Runs as commands leave them in a folder: enough to report on them again, and nothing that could be executed."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.datasets import MatrixSet, read_sequences
from homothety.datasets.readers.arrays import load_archive
from homothety.datasets.readers.checks import is_missing
from homothety.errors import InputError
from homothety.files import written_aside
from homothety.persistence import load
from homothety.report.runs import Run, run_of
from homothety.words import AXES

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from homothety.datasets import SequenceSet

MODEL, SUMMARY, LABELS, RECORDINGS = "model.homothety", "summary.json", "labels.csv", "recordings.npz"
MATRICES = "matrices.npz"
NAMES = "names"


def write_recordings(path: Path, items: SequenceSet) -> None:
    """Write series, their names and what is known of their steps as a file that `read_sequences` reads too."""
    arrays: dict[str, Any] = {
        "X": np.concatenate(items.sequences),
        "lengths": [len(one) for one in items.sequences],
        NAMES: np.array(items.names, dtype=str),
    }
    if items.channels:
        arrays["channels"] = np.array(items.channels, dtype=str)
    for name, known in (("states", items.states), ("labels", items.actions)):
        if known is not None:
            arrays[name] = _plain(np.concatenate(known))
    with written_aside(path) as aside:
        np.savez_compressed(aside, **arrays)


def write_matrices(folder: Path, model: Any, items: MatrixSet) -> list[str]:
    """Write the matrices beside a model that does not keep them, and return the names of the files.

    Those of an earlier run are removed where the model does keep them.
    """
    if hasattr(model, "matrices_"):
        (folder / MATRICES).unlink(missing_ok=True)
        return []
    with written_aside(folder / MATRICES) as aside:
        np.savez(aside, matrices=items.matrices)
    return [MATRICES]


def _plain(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels as numbers or texts, which files without pickle can hold; what is missing as an empty text."""
    return labels if labels.dtype.kind != "O" else np.where(is_missing(labels), "", labels.astype(str))


def read_recordings(path: Path) -> SequenceSet:
    """Return what `write_recordings` has written."""
    return replace(read_sequences(path), names=tuple(load_archive(path)[NAMES].tolist()))


def read_run(folder: Path) -> Run:
    """Return the run that `homothety segment` or `homothety cluster` has written to a folder.

    Raises
    ------
    InputError
        If there is none.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder, needed one that homothety segment or cluster has written to.")
    if not (folder / MODEL).is_file():
        raise InputError(f"{folder} holds no {MODEL}, needed what homothety segment or cluster writes. Check the name.")
    model, told = load(folder / MODEL), _read_summary(folder / SUMMARY)
    known = {name: told[name] for name in ("source", "seconds", "versions") if name in told}
    if not hasattr(model, "paths_"):
        return replace(_clustering(model, folder / LABELS, told.get("image")), **known)
    recordings = folder / RECORDINGS
    return replace(run_of(model, read_recordings(recordings) if recordings.is_file() else None), **known)


def _read_summary(path: Path) -> dict[str, Any]:
    """Return what is told of a run; nothing if the file is gone."""
    try:
        told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}). Remove it to do without, or run the command again.") from error
    return told


def _clustering(model: Any, labels: Path, image: dict[str, Any] | None) -> Run:
    """Return a clustering with the numbers, the true classes and the voxels of its items, where they are known."""
    columns: dict[str, list[str]] = {}
    if labels.is_file():
        with labels.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    truth = np.array(columns["truth"]) if "truth" in columns else None
    matrices = getattr(model, "matrices_", None)
    if matrices is None and (kept := labels.with_name(MATRICES)).is_file():
        matrices = load_archive(kept)["matrices"]
    items = None if matrices is None else MatrixSet(matrices, truth, **_image(image, columns))
    index = np.array(columns["index"], dtype=np.int64) if "index" in columns else None
    return replace(run_of(model, items), index=index)


def _image(image: dict[str, Any] | None, columns: dict[str, list[str]]) -> dict[str, Any]:
    """Return grid, voxels and affine of the image that matrices are of, or nothing if they are of none."""
    if image is None or not set(AXES[: len(image["grid"])]) <= set(columns):
        return {}
    axes = AXES[: len(image["grid"])]
    affine = None if image["affine"] is None else np.array(image["affine"], dtype=np.float64)
    positions = np.array([columns[axis] for axis in axes], dtype=np.int64).T
    return {"grid": tuple(image["grid"]), "positions": positions, "affine": affine}
