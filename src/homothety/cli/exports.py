"""Options of `homothety segment` for what other programs read, and the files these options write."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from homothety.cli.files import make_folder, write_json
from homothety.errors import InputError
from homothety.files import written_aside

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable
    from pathlib import Path

    from homothety.arrays import IntArray
    from homothety.cli.segmentation import Segmentation

KINDS = ("ruptures", "aeon", "elan", "moments")
FORMATS = ("csv", "parquet", "json")
ELAN_FOLDER = "elan"


def add_export_options(parser: ArgumentParser) -> None:
    """Add in which form results are written."""
    group = parser.add_argument_group("files for other programs")
    group.add_argument("--format", choices=FORMATS, default="csv", help="of all tables (default: csv)")
    group.add_argument(
        "--export",
        metavar="A,B,...",
        help="also write: ruptures and aeon (change points as these count), elan (annotations), moments (means and "
        "covariances of states and actions)",
    )
    group.add_argument("--rate", metavar="HZ", type=float, help="steps per second of the recordings, for elan")


def check_exports(args: Namespace) -> list[str]:
    """Return the kinds asked for, or raise for what cannot be written: better before the work than after it."""
    from homothety.arrays import check_positive
    from homothety.export.tables import check_table_kind

    check_table_kind(args.format)
    chosen = [kind.strip() for kind in args.export.split(",")] if args.export is not None else []
    for kind in chosen:
        if kind not in KINDS:
            raise InputError(f"--export names {kind!r}, needed some of {', '.join(KINDS)}, with commas between.")
    if args.rate is None and "elan" in chosen:
        raise InputError("--export elan needs the steps per second of the recordings, to tell times. Add --rate HZ.")
    if args.rate is not None:
        if "elan" not in chosen:
            raise InputError("--rate means nothing without --export elan. Leave it out.")
        check_positive(args.rate, "--rate")
    return chosen


def write(result: Segmentation, folder: Path, kinds: list[str], rate: float | None) -> list[str]:
    """Write what was asked for, and return the names of the files; `rate` is needed for annotations."""
    writers: dict[str, Callable[[Segmentation, Path], list[str]]] = {
        "ruptures": partial(_write_changes, kind="ruptures"),
        "aeon": partial(_write_changes, kind="aeon"),
        "elan": partial(_write_elan, rate=rate or 0.0),
        "moments": _write_moments,
    }
    return [name for kind in KINDS if kind in kinds for name in writers[kind](result, folder)]


def label_kinds(result: Segmentation) -> dict[str, list[IntArray]]:
    """Return the label of every step of each series: states, and actions where they are known."""
    model: Any = result.model
    return {"state": model.paths_} | ({"action": model.actions_} if hasattr(model, "actions_") else {})


def file_names(names: tuple[str, ...], suffix: str) -> list[str]:
    """Return names of files for series, with nothing in them that a file system might mind, all different.

    Examples
    --------
    >>> file_names(("demo 1", "a/b: c", "a b c"), ".eaf")
    ['demo_1.eaf', 'a_b_c.eaf', 'a_b_c_2.eaf']
    """
    plain = [re.sub(r"[^\w.-]+", "_", name).strip("._") or "series" for name in names]
    lowered = [one.lower() for one in plain]
    return [f"{one}_{i}{suffix}" if lowered[i] in lowered[:i] else f"{one}{suffix}" for i, one in enumerate(plain)]


def _write_changes(result: Segmentation, folder: Path, kind: str) -> list[str]:
    """Write the change points of every series as lists in one JSON file."""
    from homothety import export

    convert = {"ruptures": export.to_ruptures, "aeon": export.to_aeon}[kind]
    name = f"changes_{kind}.json"
    changes = {
        series: {label: convert(paths[i]) for label, paths in label_kinds(result).items()}
        for i, series in enumerate(result.items.names)
    }
    write_json(folder / name, changes)
    return [name]


def _write_elan(result: Segmentation, folder: Path, rate: float) -> list[str]:
    """Write one file of annotations per series, into a folder of their own."""
    from homothety.export import write_elan

    names = [f"{ELAN_FOLDER}/{name}" for name in file_names(result.items.names, ".eaf")]
    make_folder(folder / ELAN_FOLDER)
    for i, name in enumerate(names):
        with written_aside(folder / name) as aside:
            write_elan(aside, {label: paths[i] for label, paths in label_kinds(result).items()}, rate=rate)
    return names


def _write_moments(result: Segmentation, folder: Path) -> list[str]:
    """Write means and covariances of the steps of all states and actions, in the units of the recordings."""
    from homothety.export import pooled_moments, write_moments

    counts = {"state": result.model.n_states_, "action": getattr(result.model, "n_actions_", None)}
    found = {label: pooled_moments(result.items, paths, counts[label]) for label, paths in label_kinds(result).items()}
    with written_aside(folder / "moments.npz") as aside:
        write_moments(aside, found, result.channels)
    return ["moments.npz"]
