"""Matrices from text tables, one matrix per row."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

from homothety.datasets.readers.checks import check_stack
from homothety.datasets.readers.components import n_dims_of_triangle, unpack_symmetric
from homothety.datasets.readers.text_tables import (
    counts_columns,
    names_columns,
    parse_labels,
    parse_numbers,
    read_table,
)
from homothety.datasets.sets import MatrixSet
from homothety.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from homothety.arrays import FloatArray

LABEL_COLUMN = "label"


def read_csv(path: Path, order: str | None) -> MatrixSet:
    """Read a table whose rows hold all N x N entries of a matrix or, in a named order, the N(N+1)/2 distinct ones."""
    table = read_table(path, "one matrix per row", _has_header)
    label_at, ignored = _special_columns(table.header)
    columns = [column for column in range(table.width) if column != label_at and column not in ignored]
    remedy = f"Only a column that the header calls {LABEL_COLUMN!r} may hold anything else."
    numbers = parse_numbers(table, columns, path, remedy)
    matrices = check_stack(_as_matrices(numbers, order, path), str(path))
    labels = None if label_at is None else parse_labels([row[label_at] for row in table.rows])
    return MatrixSet(matrices, labels, path.stem)


def _has_header(rows: list[list[str]]) -> bool:
    """Tell whether a first row names the columns. Columns counted from 0 are no data: no variance is zero."""
    return names_columns(rows[0]) or counts_columns(rows[0])


def _special_columns(header: list[str] | None) -> tuple[int | None, set[int]]:
    """Return where the labels are, and which columns hold nothing of interest."""
    names = [name.lower() for name in header or []]
    label_at = names.index(LABEL_COLUMN) if LABEL_COLUMN in names else None
    unnamed_index = {0} if names and names[0] == "" else set()  # data frames write their row numbers so
    return label_at, unnamed_index


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
