"""Text files of rows and columns, whatever parts them: what all readers of such files share."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.datasets.readers.checks import blame_file
from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from homothety.arrays import FloatArray

DELIMITERS = "\t;|,"


@dataclass(frozen=True, slots=True)
class Table:
    """Cells of a text table, without blank lines; `lines` says where in the file each row stands."""

    header: list[str] | None
    rows: list[list[str]]
    lines: list[int]
    decimal_comma: bool = False

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.header or self.rows[0])


def read_table(path: Path, needed: str, has_header: Callable[[list[list[str]]], bool]) -> Table:
    """Split a file into cells, and its header from the rest.

    Parameters
    ----------
    path : Path
    needed : str
        What errors say the file should hold, such as "one matrix per row".
    has_header : callable
        From all rows of cells to whether the first one names the columns.
    """
    with blame_file(path, f"Save it as plain text in UTF-8, {needed}."):
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets put a byte-order mark in front
        delimiter = _delimiter(text.lstrip("\n").split("\n", 1)[0])
        reader = csv.reader(StringIO(text), delimiter=delimiter, skipinitialspace=delimiter == " ")
        numbered = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(map(str.strip, row))]
    if not numbered:
        raise InputError(f"{path} is empty, needed {needed}.")
    lines, rows = [line for line, _ in numbered], [row for _, row in numbered]
    if not has_header(rows):
        return Table(None, rows, lines, delimiter != ",")
    if len(rows) == 1:
        raise InputError(f"{path} has a header and no rows, needed {needed}.")
    return Table(rows[0], rows[1:], lines[1:], delimiter != ",")


def parse_numbers(table: Table, columns: Sequence[int], path: Path, remedy: str) -> FloatArray:
    """Return the chosen columns as numbers, or raise naming line and column and giving the remedy."""
    numbers = np.empty((len(table.rows), len(columns)))
    for index, (line, row) in enumerate(zip(table.lines, table.rows, strict=True)):
        if len(row) != table.width:
            raise InputError(
                f"{path}, line {line} has {len(row)} columns where {table.width} were expected. Give every row as many "
                "cells, and put quotes around one that holds what parts them."
            )
        try:
            numbers[index] = [_number(row[column], table.decimal_comma) for column in columns]
        except ValueError:
            bad = next(column for column in columns if not is_number(row[column], table.decimal_comma))
            raise InputError(
                f"{path}, line {line}, column {bad + 1} is {row[bad]!r}, needed a number. {remedy}"
            ) from None
    return numbers


def parse_labels(cells: list[str]) -> NDArray[Any]:
    """Return labels as integers where all are whole numbers, as numbers where all are such, otherwise as text."""
    if not all(is_number(cell) for cell in cells):
        return np.array(cells)
    numbers = np.array(cells, dtype=np.float64)
    return numbers.astype(np.int64) if (numbers == np.round(numbers)).all() else numbers


def names_columns(row: list[str], decimal_comma: bool = True) -> bool:
    """Tell whether a row holds anything but numbers."""
    return any(cell != "" and not is_number(cell, decimal_comma) for cell in row)


def counts_columns(row: list[str]) -> bool:
    """Tell whether a row reads 0, 1, 2, ...: data frames number unnamed columns, with nothing above row numbers."""
    names = row[1:] if row[0] == "" else row
    return len(names) > 1 and names == [str(column) for column in range(len(names))]


def is_number(cell: str, decimal_comma: bool = False) -> bool:
    """Tell whether a cell is a number."""
    try:
        _number(cell, decimal_comma)
    except ValueError:
        return False
    return True


def _number(cell: str, decimal_comma: bool) -> float:
    """Return the number in a cell; a comma is a decimal point where it does not part the cells."""
    return float(cell.replace(",", ".") if decimal_comma else cell)


def _delimiter(line: str) -> str:
    """Return what parts the cells of a line. A comma does so only if nothing else does: it may be a decimal comma."""
    words = line.split()
    if len(words) > 1 and all(is_number(word, decimal_comma=True) and not word.endswith(",") for word in words):
        return "\t" if "\t" in line else " "
    return next((delimiter for delimiter in DELIMITERS if delimiter in line), " ")
