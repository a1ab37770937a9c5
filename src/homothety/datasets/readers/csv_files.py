"""Matrices from text tables, one matrix per row."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from io import StringIO
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.datasets.matrix_set import MatrixSet
from homothety.datasets.readers.checks import blame_file, check_labels, check_stack
from homothety.datasets.readers.components import n_dims_of_triangle, unpack_symmetric
from homothety.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from homothety.arrays import FloatArray

LABEL_COLUMN = "label"


@dataclass(frozen=True, slots=True)
class _Table:
    """Cells of a text table, without blank lines; `lines` says where in the file each row stands."""

    header: list[str] | None
    rows: list[list[str]]
    lines: list[int]


def read_csv(path: Path, order: str | None) -> MatrixSet:
    """Read a table whose rows hold all N x N entries of a matrix or, in a named order, the N(N+1)/2 distinct ones."""
    table = _read_table(path)
    label_at, ignored = _special_columns(table.header)
    width = len(table.header or table.rows[0])
    columns = [column for column in range(width) if column != label_at and column not in ignored]
    numbers = _parse_numbers(table, columns, width, path)
    matrices = check_stack(_as_matrices(numbers, order, path), str(path))
    labels = None if label_at is None else _parse_labels([row[label_at] for row in table.rows], path)
    return MatrixSet(matrices, labels, path.stem)


def _read_table(path: Path) -> _Table:
    """Split a file into cells, and its header from the rest."""
    with blame_file(path, "Save it as plain text in UTF-8, one matrix per row."):
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets put a byte-order mark in front
        first_line = text.lstrip("\n").split("\n", 1)[0]
        reader = csv.reader(StringIO(text), delimiter=max(",;\t", key=first_line.count))
        numbered = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(map(str.strip, row))]
    if not numbered:
        raise InputError(f"{path} is empty, needed one matrix per row.")
    lines, rows = [line for line, _ in numbered], [row for _, row in numbered]
    if not _is_header(rows[0]):
        return _Table(None, rows, lines)
    if len(rows) == 1:
        raise InputError(f"{path} has a header and no rows, needed one matrix per row.")
    return _Table(rows[0], rows[1:], lines[1:])


def _is_header(row: list[str]) -> bool:
    """Tell whether a first row names the columns."""
    if any(cell and not _is_number(cell) for cell in row):
        return True
    # Data frames number unnamed columns from 0, with nothing above the row numbers. It cannot be data: no covariance
    # matrix starts with a variance of zero.
    names = row[1:] if row[0] == "" else row
    return len(names) > 1 and names == [str(column) for column in range(len(names))]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _special_columns(header: list[str] | None) -> tuple[int | None, set[int]]:
    """Return where the labels are, and which columns hold nothing of interest."""
    names = [name.lower() for name in header or []]
    label_at = names.index(LABEL_COLUMN) if LABEL_COLUMN in names else None
    unnamed_index = {0} if names and names[0] == "" else set()  # data frames write their row numbers so
    return label_at, unnamed_index


def _parse_numbers(table: _Table, columns: list[int], width: int, path: Path) -> FloatArray:
    """Return the chosen columns as numbers, or raise naming line and column."""
    numbers = np.empty((len(table.rows), len(columns)))
    for index, (line, row) in enumerate(zip(table.lines, table.rows, strict=True)):
        if len(row) != width:
            raise InputError(f"{path}, line {line} has {len(row)} columns where {width} were expected.")
        for place, column in enumerate(columns):
            try:
                numbers[index, place] = float(row[column])
            except ValueError:
                raise InputError(
                    f"{path}, line {line}, column {column + 1} is {row[column]!r}, needed a number. "
                    f"Only a column that the header calls {LABEL_COLUMN!r} may hold anything else."
                ) from None
    return numbers


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


def _parse_labels(cells: list[str], path: Path) -> NDArray[Any]:
    """Return labels as integers where all are whole numbers, otherwise as text."""
    if all(_is_number(cell) for cell in cells):
        return check_labels(np.array(cells, dtype=np.float64), len(cells), str(path))
    return np.array(cells)
