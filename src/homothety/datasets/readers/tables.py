"""Text tables with any separator between their cells, and covariance matrices in such tables, one in each row."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from decimal import Decimal
from io import StringIO
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.datasets.readers.checks import (
    blame_file,
    check_stack,
    n_dims_of_triangle,
    unpack_symmetric,
    whole_labels,
)
from homothety.datasets.sets import MatrixSet
from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from homothety.arrays import FloatArray

DELIMITERS = "\t;|,"
COMMENT = "#"
NOT_KNOWN = "nan"
LABEL_COLUMN = "label"
# Neither 007 nor 1e5 is a number where labels are meant: they are names, and others than 7 and 100000. With a point and
# a sign, as in 1.000e+00, it is how NumPy writes numbers.
WHOLE_LABEL = re.compile(r"0|-?[1-9][0-9]*")
DECIMAL_LABEL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+(e[+-][0-9]{2,3})?)?")


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
        comments, rest = _split_comments(StringIO(text).readlines())
        delimiter = _delimiter(next(filter(str.strip, rest), ""))
        numbered = [(line + len(comments), row) for line, row in _cells(rest, delimiter) if any(row)]
    if not numbered:
        raise InputError(f"{path} is empty, needed {needed}.")
    lines, rows = [line for line, _ in numbered], [row for _, row in numbered]
    if not has_header(rows):
        table = Table(_names_in_comments(comments, delimiter, len(rows[0])), rows, lines, delimiter != ",")
    elif len(rows) == 1:
        raise InputError(f"{path} has a header and no rows, needed {needed}.")
    else:
        table = Table(rows[0], rows[1:], lines[1:], delimiter != ",")
    _check_widths(table, path)
    return table


def _check_widths(table: Table, path: Path) -> None:
    """Raise naming a line with more or fewer cells than there are columns."""
    for line, row in zip(table.lines, table.rows, strict=True):
        if len(row) != table.width:
            raise InputError(
                f"{path}, line {line} has {len(row)} columns where {table.width} were expected. Give every row as many "
                "cells, and put quotes around one that holds what parts them."
            )


def _split_comments(lines: list[str]) -> tuple[list[str], list[str]]:
    """Split the lines of a file into the comments at its beginning, with blank lines among them, and the rest."""
    is_comment = [not line.strip() or line.lstrip().startswith(COMMENT) for line in lines]
    n_comments = is_comment.index(False) if False in is_comment else len(lines)
    return lines[:n_comments], lines[n_comments:]


def _cells(lines: list[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of every row, and the number of the line it ends in."""
    if delimiter == " ":
        lines = [line.strip() + "\n" for line in lines]  # a blank at the end is no separator
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == " ")
    for row in reader:
        yield reader.line_num, [cell.strip() for cell in row]


def _names_in_comments(comments: list[str], delimiter: str, n_columns: int) -> list[str] | None:
    """Return the names of the columns if the last comment is such a header, as NumPy writes it, else None."""
    last = next((line for line in reversed(comments) if line.strip()), "").strip().lstrip(COMMENT).strip(" ")
    for names in (next(iter(_cells([last], delimiter)), (0, []))[1], last.split()):
        if len(names) == n_columns and names_columns(names):
            return names
    return None


def parse_numbers(table: Table, columns: Sequence[int], path: Path, remedy: str) -> FloatArray:
    """Return the chosen columns as numbers, or raise naming line and column and giving the remedy."""
    numbers = np.empty((len(table.rows), len(columns)))
    for index, (line, row) in enumerate(zip(table.lines, table.rows, strict=True)):
        values = [_number(row[column], table.decimal_comma) for column in columns]
        if None in values:
            bad = columns[values.index(None)]
            raise InputError(f"{path}, line {line}, column {bad + 1} is {row[bad]!r}, needed a number. {remedy}")
        numbers[index] = values
    return numbers


def parse_labels(cells: list[str]) -> NDArray[Any]:
    """Return labels as integers where all are whole numbers, as numbers where all are such, otherwise as text.

    Different labels stay different: those that numbers cannot tell apart are text.
    """
    different = set(cells)
    if all(WHOLE_LABEL.fullmatch(cell) for cell in different):
        try:
            return np.array([int(cell) for cell in cells], dtype=np.int64)
        except (OverflowError, ValueError):  # Python itself refuses those of thousands of digits
            return np.array(cells)
    known = {cell for cell in different if cell.lower() != NOT_KNOWN}
    are_numbers = bool(known) and all(DECIMAL_LABEL.fullmatch(cell) for cell in known)
    if not are_numbers or len({Decimal(cell) for cell in known}) > len({float(cell) for cell in known}):
        return np.array(cells)
    return whole_labels(np.array(cells, dtype=np.float64))


def parse_names(cells: list[str]) -> NDArray[np.str_]:
    """Return names as they are written, nothing for those that are not known."""
    return np.array(["" if cell.lower() == NOT_KNOWN else cell for cell in cells])


def names_columns(row: list[str], decimal_comma: bool = True) -> bool:
    """Tell whether a row holds anything but numbers."""
    return any(cell != "" and _number(cell, decimal_comma) is None for cell in row)


def counts_columns(row: list[str]) -> bool:
    """Tell whether a row reads 0, 1, 2, ...: data frames number unnamed columns, with nothing above row numbers."""
    names = row[1:] if row[0] == "" else row
    return len(row) > 1 and names == [str(column) for column in range(len(names))]


def _number(cell: str, decimal_comma: bool) -> float | None:
    """Return the number in a cell, or None; with `decimal_comma`, a comma is a decimal point."""
    if "_" in cell:  # Python reads 1_12 as 112; in data it is a name
        return None
    try:
        return float(cell.replace(",", ".") if decimal_comma else cell)
    except ValueError:
        return None


def _delimiter(line: str) -> str:
    """Return the separator of the cells of a line. It is a comma only without any other: commas may be decimal ones."""
    words = line.split()
    if len(words) > 1 and all(_number(word, True) is not None and not word.endswith(",") for word in words):
        return "\t" if "\t" in line else " "
    return next((delimiter for delimiter in DELIMITERS if delimiter in line), " ")


# --- matrices ---------------------------------------------------------------------------------------------------------


def read_csv(path: Path, order: str | None) -> MatrixSet:
    """Read a table whose rows hold all N x N entries of a matrix or, in a named order, the N(N+1)/2 distinct ones."""
    table = read_table(path, "one matrix per row", _names_entries)
    names = [name.lower() for name in table.header or []]
    label_at = names.index(LABEL_COLUMN) if LABEL_COLUMN in names else None
    # Data frames write their row numbers into a first column without a name.
    columns = [at for at in range(table.width) if at != label_at and (at > 0 or names[:1] != [""])]
    remedy = f"Only a column that the header calls {LABEL_COLUMN!r} may hold anything else."
    numbers = parse_numbers(table, columns, path, remedy)
    matrices = check_stack(_as_matrices(numbers, order, path), str(path))
    labels = None if label_at is None else parse_labels([row[label_at] for row in table.rows])
    return MatrixSet(matrices, labels, path.stem)


def _names_entries(rows: list[list[str]]) -> bool:
    """Tell whether a first row names the columns. Columns counted from 0 are no data: no variance is zero."""
    return names_columns(rows[0]) or counts_columns(rows[0])


def _as_matrices(numbers: FloatArray, order: str | None, path: Path) -> FloatArray:
    """Return rows as square matrices, by the number of columns."""
    n_columns = numbers.shape[1]
    n_dims = isqrt(n_columns)
    # 1, 36 and 1225 columns could be either: all entries, unless an order is given.
    if order is None and n_dims**2 == n_columns > 0:
        return numbers.reshape(-1, n_dims, n_dims)
    if n_dims_of_triangle(n_columns) == 0:
        raise InputError(
            f"{path} has {n_columns} columns of numbers, needed N*N for whole matrices or N*(N+1)/2 for the distinct "
            f"entries of symmetric ones. A column of labels needs a header that calls it {LABEL_COLUMN!r}."
        )
    return unpack_symmetric(numbers, order or "upper")
