"""Results in the forms other programs take: tables, change points, annotations, moments, colours of clusters."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from itertools import chain, count, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from homothety.arrays import check_count, check_positive, mean_of_known
from homothety.datasets.readers.checks import require
from homothety.errors import InputError
from homothety.files import write_text
from homothety.palette import cluster_colors
from homothety.phrases import cluster_number
from homothety.sampling.trace import RunPath
from homothety.sequences import check_sequences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from os import PathLike

    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray

    _Row = Mapping[str, Any]

__all__ = [
    "Moments",
    "pooled_moments",
    "to_aeon",
    "to_ruptures",
    "write_elan",
    "write_lookup_tables",
    "write_moments",
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


# Annotations for ELAN, a program in which recordings are labelled by hand

_VERSION = "3.0"
_SCHEMA = "http://www.mpi.nl/tools/elan/EAFv3.0.xsd"
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_TYPE = "default-lt"


def write_elan(
    path: str | PathLike[str], tiers: Mapping[str, ArrayLike], *, rate: float, date: datetime | None = None
) -> None:
    """Write the labels of one recording as an .eaf file of ELAN, one tier for each kind of label.

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
    document = ElementTree.Element(
        "ANNOTATION_DOCUMENT",
        {
            "AUTHOR": "",
            "DATE": (date or datetime.now(UTC)).isoformat(timespec="seconds"),
            "FORMAT": _VERSION,
            "VERSION": _VERSION,
            "xmlns:xsi": _XSI,
            "xsi:noNamespaceSchemaLocation": _SCHEMA,
        },
    )
    ElementTree.SubElement(document, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
    order = ElementTree.SubElement(document, "TIME_ORDER")
    numbers = count(1)
    for name, labels in tiers.items():
        _add_tier(document, order, name, np.asarray(labels), step, numbers)
    ElementTree.SubElement(
        document, "LINGUISTIC_TYPE", GRAPHIC_REFERENCES="false", LINGUISTIC_TYPE_ID=_TYPE, TIME_ALIGNABLE="true"
    )
    ElementTree.indent(document)
    ElementTree.ElementTree(document).write(path, encoding="UTF-8", xml_declaration=True)


def _add_tier(
    document: ElementTree.Element,
    order: ElementTree.Element,
    name: str,
    labels: np.ndarray,
    step: float,
    numbers: count[int],
) -> None:
    """Add a tier with one annotation for each run of equal labels; `step` is the time between steps in milliseconds."""
    tier = ElementTree.SubElement(document, "TIER", LINGUISTIC_TYPE_REF=_TYPE, TIER_ID=str(name))
    ends = to_ruptures(labels)
    times = _times(ends, step)
    for start, from_to in zip([0, *ends[:-1]], pairwise(times), strict=True):
        number = next(numbers)
        slots = [f"ts{2 * number - 1}", f"ts{2 * number}"]
        for slot, at in zip(slots, from_to, strict=True):
            ElementTree.SubElement(order, "TIME_SLOT", TIME_SLOT_ID=slot, TIME_VALUE=str(at))
        annotation = ElementTree.SubElement(
            ElementTree.SubElement(tier, "ANNOTATION"),
            "ALIGNABLE_ANNOTATION",
            ANNOTATION_ID=f"a{number}",
            TIME_SLOT_REF1=slots[0],
            TIME_SLOT_REF2=slots[1],
        )
        ElementTree.SubElement(annotation, "ANNOTATION_VALUE").text = f"{name} {labels[start]}"


def _times(ends: list[int], step: float) -> list[int]:
    """Return when runs of labels start and the last one ends, in whole milliseconds that differ: ELAN needs that."""
    times = [0]
    for end in ends:
        times.append(max(round(end * step), times[-1] + 1))
    return times


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


def _name(label: int) -> str:
    return f"cluster-{cluster_number(label)}"  # without a space, which would end the name
