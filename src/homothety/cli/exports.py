"""Options of `homothety segment` for what other programs read, and the files these options write."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING

from homothety.cli.files import make_folder, write_json
from homothety.errors import InputError
from homothety.files import written_aside

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable
    from pathlib import Path

    from homothety.datasets import SequenceSet
    from homothety.summaries.result import Labels, Segmentation

KINDS = ("ruptures", "aeon", "elan", "moments")
FORMATS = ("csv", "parquet", "json")
ELAN_FOLDER, CHANGES, MOMENTS = "elan", "changes_{}.json", "moments.npz"


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
    group.add_argument(
        "--rate", metavar="HZ", type=float, help="steps per second of the recordings, if the files do not tell"
    )


def check_exports(args: Namespace) -> list[str]:
    """Return the kinds asked for, or raise for what cannot be written: better before the work than after it."""
    from homothety.arrays import check_positive
    from homothety.export.tables import check_table_kind
    from homothety.times import FASTEST, SLOWEST

    check_table_kind(args.format)
    chosen = [kind.strip() for kind in args.export.split(",")] if args.export is not None else []
    for kind in chosen:
        if kind not in KINDS:
            raise InputError(f"--export names {kind!r}, needed some of {', '.join(KINDS)}, with commas between.")
    if args.rate is not None and not SLOWEST <= check_positive(args.rate, "--rate") <= FASTEST:
        raise InputError(
            f"--rate is {args.rate:g}, needed steps per second from {SLOWEST:g} to {FASTEST:g}. Leave it out if it is "
            "not known."
        )
    return chosen


def with_rate(items: SequenceSet, args: Namespace, kinds: list[str]) -> SequenceSet:
    """Return recordings with the rate that was given, or raise if annotations need one and there is none."""
    if args.rate is not None:
        items = replace(items, rate=args.rate)
    if items.rate is None and "elan" in kinds:
        raise InputError("--export elan needs the steps per second of the recordings, to tell times. Add --rate HZ.")
    return items


def write(result: Segmentation, items: SequenceSet, folder: Path, kinds: list[str]) -> list[str]:
    """Write what was asked for, and return the names of the files."""
    writers: dict[str, Callable[[], list[str]]] = {
        "ruptures": partial(_write_changes, result, folder, "ruptures"),
        "aeon": partial(_write_changes, result, folder, "aeon"),
        "elan": partial(_write_elan, result, folder),
        "moments": partial(_write_moments, result, items, folder),
    }
    written = [name for kind in KINDS if kind in kinds for name in writers[kind]()]
    _remove_earlier(folder, {*known_names(result.names)}.difference(written))
    return written


def known_names(series: tuple[str, ...]) -> list[str]:
    """Return the names of all files that exports of these series are written to."""
    return [CHANGES.format("ruptures"), CHANGES.format("aeon"), MOMENTS, *_elan_names(series)]


def _remove_earlier(folder: Path, names: set[str]) -> None:
    """Remove what an earlier run has exported: it does not belong to the results beside it."""
    for name in names:
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):  # it is not there, or holds something else
        (folder / ELAN_FOLDER).rmdir()


def label_kinds(result: Segmentation) -> dict[str, Labels]:
    """Return the labels of all steps: states, and actions where they are known."""
    return {"state": result.states} | ({} if result.actions is None else {"action": result.actions})


def file_names(names: tuple[str, ...], suffix: str) -> list[str]:
    """Return names of files for series, with nothing in them that a file system might mind, all different.

    Examples
    --------
    >>> file_names(("demo 1", "a/b: c", "a b c"), ".eaf")
    ['demo_1.eaf', 'a_b_c.eaf', 'a_b_c_2.eaf']
    >>> file_names(("a_b_2", "a/b", "a b"), "")
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
    """Write the change points of every series as lists in one JSON file."""
    from homothety import export

    convert = {"ruptures": export.to_ruptures, "aeon": export.to_aeon}[kind]
    name = CHANGES.format(kind)
    changes = {
        series: {label: convert(labels.paths[i]) for label, labels in label_kinds(result).items()}
        for i, series in enumerate(result.names)
    }
    write_json(folder / name, changes)
    return [name]


def _write_elan(result: Segmentation, folder: Path) -> list[str]:
    """Write one file of annotations per series, into a folder of their own."""
    from homothety.export import write_elan

    if (folder / ELAN_FOLDER).is_symlink():
        raise InputError(
            f"{folder / ELAN_FOLDER} is a link. Links are not followed: remove it, or name another folder."
        )
    names, rate = _elan_names(result.names), result.rate or 0.0  # with_rate has seen to it
    make_folder(folder / ELAN_FOLDER)
    for i, name in enumerate(names):
        with written_aside(folder / name) as aside:
            write_elan(aside, {label: labels.paths[i] for label, labels in label_kinds(result).items()}, rate=rate)
    return names


def _elan_names(series: tuple[str, ...]) -> list[str]:
    return [f"{ELAN_FOLDER}/{name}" for name in file_names(series, ".eaf")]


def _write_moments(result: Segmentation, items: SequenceSet, folder: Path) -> list[str]:
    """Write means and covariances of the steps of all states and actions, in the units of the recordings."""
    from homothety.export import pooled_moments, write_moments

    kinds = label_kinds(result)
    found = {name: pooled_moments(items, labels.paths, labels.number) for name, labels in kinds.items()}
    with written_aside(folder / MOMENTS) as aside:
        write_moments(aside, found, result.channel_names("{}"))
    return [MOMENTS]
