"""Tables as CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import json
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.datasets.readers.checks import require
from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from os import PathLike

    Row = Mapping[str, Any]


def write_rows(path: str | PathLike[str], rows: Iterable[Row], header: Iterable[str] | None = None) -> None:
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


def _write_csv(path: Path, rows: Iterator[Row], names: list[str]) -> None:
    with path.open("w", newline="", encoding="utf-8", errors="replace") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)


def _write_json(path: Path, rows: Iterator[Row], names: list[str]) -> None:  # noqa: ARG001
    known = [{name: value if _is_known(value) else None for name, value in row.items()} for row in rows]
    path.write_text(json.dumps(known, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _write_parquet(path: Path, rows: Iterator[Row], names: list[str]) -> None:
    pyarrow = require("pyarrow", "parquet", f"Writing {path}")
    listed = [dict(row) for row in rows]
    table = pyarrow.table({name: [row[name] for row in listed] for name in names})
    require("pyarrow.parquet", "parquet", f"Writing {path}").write_table(table, path)


KINDS: dict[str, Callable[[Path, Iterator[Row], list[str]], None]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "json": _write_json,
}
"""How tables are written, by what names of files end in."""


def _is_known(value: Any) -> bool:
    """Tell whether JSON has a word for a value: it has none for NaN and infinity."""
    return not isinstance(value, float) or bool(np.isfinite(value))
