"""Tables as text or Parquet: covariance matrices, one in each row, and recordings, one step in each row."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from decimal import Decimal
from io import StringIO
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from homothety.datasets.readers.checks import (
    as_numbers,
    blame_file,
    check_stack,
    cut_by_lengths,
    find_column,
    find_columns,
    is_missing,
    n_dims_of_triangle,
    require,
    unpack_symmetric,
    whole_labels,
)
from homothety.datasets.sets import MatrixSet, SequenceSet
from homothety.errors import InputError
from homothety.times import find_times, rate_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import FloatArray, IntArray
    from homothety.datasets.readers.checks import Column, Columns


_DELIMITERS = "\t;|,"
_COMMENT = "#"
_NOT_KNOWN = "nan"
_LABEL_COLUMN = "label"
# Neither 007 nor 1e5 is a number where labels are meant: they are names, and others than 7 and 100000. With a point and
# a sign, as in 1.000e+00, it is how NumPy writes numbers.
_WHOLE_LABEL = re.compile(r"0|-?[1-9][0-9]*")
_DECIMAL_LABEL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+(e[+-][0-9]{2,3})?)?")


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


def _read_table(path: Path, needed: str, has_header: Callable[[list[list[str]]], bool]) -> Table:
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
    is_comment = [not line.strip() or line.lstrip().startswith(_COMMENT) for line in lines]
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
    last = next((line for line in reversed(comments) if line.strip()), "").strip().lstrip(_COMMENT).strip(" ")
    for names in (next(iter(_cells([last], delimiter)), (0, []))[1], last.split()):
        if len(names) == n_columns and _names_columns(names):
            return names
    return None


def _parse_numbers(table: Table, columns: Sequence[int], path: Path, remedy: str) -> FloatArray:
    """Return the chosen columns as numbers, or raise naming line and column and giving the remedy."""
    numbers = np.empty((len(table.rows), len(columns)))
    for index, (line, row) in enumerate(zip(table.lines, table.rows, strict=True)):
        values = [_number(row[column], table.decimal_comma) for column in columns]
        if None in values:
            bad = columns[values.index(None)]
            raise InputError(
                f"{path}, line {line}, column {bad + 1} is {row[bad]!r}, needed a number. {remedy}", "columns"
            )
        numbers[index] = values
    return numbers


def _parse_labels(cells: list[str]) -> NDArray[Any]:
    """Return labels as integers where all are whole numbers, as numbers where all are such, otherwise as text.

    Different labels stay different: those that numbers cannot tell apart are text.
    """
    different = set(cells)
    if all(_WHOLE_LABEL.fullmatch(cell) for cell in different):
        try:
            return np.array([int(cell) for cell in cells], dtype=np.int64)
        except (OverflowError, ValueError):  # Python itself refuses those of thousands of digits
            return np.array(cells)
    known = {cell for cell in different if cell.lower() != _NOT_KNOWN}
    are_numbers = bool(known) and all(_DECIMAL_LABEL.fullmatch(cell) for cell in known)
    if not are_numbers or len({Decimal(cell) for cell in known}) > len({float(cell) for cell in known}):
        return np.array(cells)
    return whole_labels(np.array(cells, dtype=np.float64))


def _names_columns(row: list[str]) -> bool:
    """Tell whether a row holds anything but numbers."""
    return any(cell != "" and _number(cell, decimal_comma=True) is None for cell in row)


def _counts_columns(row: list[str]) -> bool:
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
    return next((delimiter for delimiter in _DELIMITERS if delimiter in line), " ")


# --- matrices ---------------------------------------------------------------------------------------------------------


def read_csv(path: Path, order: str | None) -> MatrixSet:
    """Read a table whose rows hold all N x N entries of a matrix or, in a named order, the N(N+1)/2 distinct ones."""
    table = _read_table(path, "one matrix per row", _names_entries)
    names = [name.lower() for name in table.header or []]
    label_at = names.index(_LABEL_COLUMN) if _LABEL_COLUMN in names else None
    # Data frames write their row numbers into a first column without a name.
    columns = [at for at in range(table.width) if at != label_at and (at > 0 or names[:1] != [""])]
    remedy = f"Only a column that the header calls {_LABEL_COLUMN!r} may hold anything else."
    numbers = _parse_numbers(table, columns, path, remedy)
    matrices = check_stack(_as_matrices(numbers, order, path), str(path))
    labels = None if label_at is None else _parse_labels([row[label_at] for row in table.rows])
    return MatrixSet(matrices, labels, path.stem)


def _names_entries(rows: list[list[str]]) -> bool:
    """Tell whether a first row names the columns. Columns counted from 0 are no data: no variance is zero."""
    return _names_columns(rows[0]) or _counts_columns(rows[0])


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
            f"entries of symmetric ones. A column of labels needs a header that calls it {_LABEL_COLUMN!r}."
        )
    return unpack_symmetric(numbers, order or "upper")


# --- recordings in tables ---------------------------------------------------------------------------------------------


_STATE_COLUMN = "state"
_NOT_MEASURED = ("", _LABEL_COLUMN, _STATE_COLUMN)
_CALLED = Path("data frame")  # what data frames in memory are called in names and errors


class Frame(Protocol):
    """What `cut_table` needs of a table; there is one class for each source of tables."""

    names: list[str]  # empty without a header
    n_columns: int
    n_rows: int

    def numbers(self, columns: list[int]) -> tuple[FloatArray, list[str]]:
        """Return columns as numbers, shape (n_rows, n_dims), and what the dimensions are called."""

    def values(self, column: int) -> NDArray[Any]:
        """Return a column as whole numbers, numbers or whatever it holds, shape (n_rows,)."""

    def groups(self, column: int) -> NDArray[Any]:
        """Return what a column calls the recordings of each row, shape (n_rows,)."""
        return self.values(column)

    def place(self, row: int) -> str:
        """Return where in the file a row is, in words."""
        return f"row {row}, counted from 0,"


def read_table_series(path: Path, columns: Columns, **cut: Any) -> SequenceSet:
    """Read a text table or a Parquet table; `cut` are the other options of `cut_table`."""
    is_parquet = path.suffix.lower() == ".parquet"
    return cut_table(ParquetFrame(path, load_parquet(path)) if is_parquet else _TextFrame(path), path, columns, **cut)


def sequences_from_frame(
    frame: Any,
    *,
    group: Column | None = None,
    columns: Column | Sequence[Column] | None = None,
    lengths: ArrayLike | None = None,
    labels: Column | None = None,
) -> SequenceSet:
    """Return the recordings in a data frame with one row per time step.

    Parameters
    ----------
    frame : pandas.DataFrame
    group, columns, lengths, labels
        As for `read_sequences`: the column that distinguishes the recordings, the columns to use, the numbers of rows
        of the recordings, and the column of true actions.

    Returns
    -------
    recordings : SequenceSet
        Estimators take it as it is.
    """
    return cut_table(_DataFrameTable(frame), _CALLED, columns, group, lengths, labels)


def cut_table(
    frame: Frame,
    path: Path,
    columns: Columns,
    group: Column | None = None,
    lengths: ArrayLike | None = None,
    labels: Column | None = None,
) -> SequenceSet:
    """Return the measurements in a table, cut into recordings by a column, by lengths or not at all."""
    if group is not None and lengths is not None:
        raise InputError("group and lengths both say how to cut the series apart, needed one of them.")
    group_at = None if group is None else find_column(group, frame.names, frame.n_columns, path)
    labels_at = None if labels is None else find_column(labels, frame.names, frame.n_columns, path)
    by_group = None if group_at is None else _rows_by_group(frame, group_at, path)
    rows, names = by_group or cut_by_lengths(frame.n_rows, lengths, path)

    def by_series(column: int) -> list[NDArray[Any]]:
        values = frame.values(column)
        return [values[one] for one in rows]

    taken = {"group": group_at, "labels": labels_at}
    asked = [] if columns is None else _find_asked(frame, path, columns, taken)
    others = [*taken.values(), *asked]
    times_at, times = find_times(frame.names, by_series, others)
    chosen = asked or _find_measured(frame, path, [*others, *times_at])
    steps, channels = frame.numbers(chosen)
    states_at = _find_called(_STATE_COLUMN, frame, chosen)
    labels_at = _find_called(_LABEL_COLUMN, frame, chosen) if labels_at is None else labels_at
    return SequenceSet(
        [steps[one] for one in rows],
        None if states_at is None else by_series(states_at),
        None if labels_at is None else by_series(labels_at),
        names,
        tuple(channels),
        path.stem,
        rate=rate_of(times, names) if times else None,
    )


def _find_asked(
    frame: Frame, path: Path, columns: Column | Sequence[Column], taken: dict[str, int | None]
) -> list[int]:
    """Return the columns that are named as measurements, or raise if one of them is `taken` for something else."""
    chosen = find_columns(columns, frame.names, frame.n_columns, path)
    for option, at in taken.items():
        # A model that sees labels among its measurements finds them, and no score would show that it was given them.
        if at is not None and at in chosen:
            raise InputError(
                f"{path}, column {frame.names[at] if frame.names else at!r} is named by {option}= and by columns=, but "
                "is no measurement then. Leave it out of one of them.",
                option,
                "columns",
            )
    return chosen


def _find_measured(frame: Frame, path: Path, others: list[int | None]) -> list[int]:
    """Return the columns of measurements: all but `others` and those known to be something else by their names."""
    names = [name.lower() for name in frame.names] or ["column"] * frame.n_columns
    chosen = [at for at, name in enumerate(names) if name not in _NOT_MEASURED and at not in others]
    if not chosen:
        raise InputError(f"{path} has no column of measurements. Name them with columns=.", "columns")
    return chosen


def _find_called(name: str, frame: Frame, chosen: list[int]) -> int | None:
    """Return the first column of this name, in whatever case, unless it is one of the measurements."""
    lower = [one.lower() for one in frame.names]
    at = lower.index(name) if name in lower else None
    return None if at in chosen else at


def _rows_by_group(frame: Frame, group_at: int, path: Path) -> tuple[list[IntArray], tuple[str, ...]]:
    """Return the rows of each group in the order of the file, and its name; groups by first appearance."""
    values = frame.groups(group_at)
    gaps = np.flatnonzero(is_missing(values))
    if gaps.size:
        raise InputError(
            f"{path}, {frame.place(int(gaps[0]))} has nothing in the column of group= ({gaps.size} such rows), needed "
            "the name of a series. Fill it in, or take those rows out.",
            "group",
        )
    groups, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    by_group = np.split(np.argsort(inverse, kind="stable"), np.cumsum(np.bincount(inverse))[:-1])
    return [by_group[place] for place in order], tuple(str(groups[place]) for place in order)


class _TextFrame(Frame):
    """A text file that was split into cells."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.table = _read_table(path, "one time step per row", _has_header)
        self.names = list(self.table.header or [])
        self.n_columns, self.n_rows = self.table.width, len(self.table.rows)

    def numbers(self, columns: list[int]) -> tuple[FloatArray, list[str]]:
        """Return columns as numbers, shape (n_rows, n_dims), and their names."""
        remedy = "Choose the columns of measurements with columns=."
        numbers = _parse_numbers(self.table, columns, self.path, remedy)
        return numbers, [self.names[column] for column in columns] if self.names else []

    def values(self, column: int) -> NDArray[Any]:
        """Return a column as whole numbers, numbers or text."""
        return _parse_labels([row[column] for row in self.table.rows])

    def groups(self, column: int) -> NDArray[Any]:
        """Return a column as it is written, without what is not known: 007 and 7 are different recordings."""
        cells = [row[column] for row in self.table.rows]
        return np.array(["" if cell.lower() == _NOT_KNOWN else cell for cell in cells])

    def place(self, row: int) -> str:
        """Return the line of a row."""
        return f"line {self.table.lines[row]}"


def _has_header(rows: list[list[str]]) -> bool:
    """Tell whether a first row names the columns."""
    if _names_columns(rows[0]):
        return True
    # 0, 1, 2, ... could be data too, unless nothing stands before them or what follows are not whole numbers.
    has_fractions = any(not cell.lstrip("-").isdigit() for row in rows[1:] for cell in row)
    return _counts_columns(rows[0]) and (rows[0][0] == "" or has_fractions)


def load_parquet(path: Path, columns: list[str] | None = None) -> Any:
    """Load a Parquet file, or only some of its columns, as a table of pyarrow."""
    parquet = require("pyarrow.parquet", "parquet", f"Reading {path}")
    with blame_file(path, "Write it again as a Parquet file with one row per time step."):
        return parquet.read_table(path, columns=columns, partitioning=None)


class ParquetFrame(Frame):
    """A table of pyarrow, as Parquet files hold them."""

    def __init__(self, path: Path, table: Any) -> None:
        self.path, self.table = path, table
        self.names = [str(name) for name in self.table.column_names]
        self.n_columns, self.n_rows = self.table.num_columns, self.table.num_rows
        if self.n_rows == 0:
            raise InputError(f"{path} has no rows, needed one time step per row.")

    def numbers(self, columns: list[int]) -> tuple[FloatArray, list[str]]:
        """Return columns as numbers, shape (n_rows, n_dims); a column of lists makes several dimensions."""
        blocks = [self._block(column) for column in columns]
        names = [
            self.names[column] if block.shape[1] == 1 else f"{self.names[column]}[{place}]"
            for column, block in zip(columns, blocks, strict=True)
            for place in range(block.shape[1])
        ]
        return np.hstack(blocks), names

    def values(self, column: int) -> NDArray[Any]:
        """Return a column as whole numbers, numbers or text."""
        return whole_labels(np.array(self.table.column(column).to_pylist()))

    def _block(self, column: int) -> FloatArray:
        """Return one column as numbers of shape (n_rows, n_values)."""
        from pyarrow import types

        values = self.table.column(column).combine_chunks()
        item = f"{self.path}, column {self.names[column]!r}"
        n_values = 1
        if types.is_list(values.type) or types.is_large_list(values.type) or types.is_fixed_size_list(values.type):
            sizes = set(values.value_lengths().to_pylist())
            if len(sizes) != 1 or None in sizes:
                raise InputError(f"{item} has lists of different lengths, needed one length. Leave it out.")
            n_values, values = sizes.pop(), values.flatten()
        kind = values.type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise InputError(
                f"{item} is of type {kind}, needed numbers. Choose columns of numbers with columns=.", "columns"
            )
        numbers = np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
        return numbers.reshape(self.n_rows, n_values)


class _DataFrameTable(Frame):
    """A data frame as the readers of tables see it."""

    def __init__(self, frame: Any) -> None:
        if not (hasattr(frame, "iloc") and hasattr(frame, "columns")):
            raise InputError(f"frame is {type(frame).__name__}, needed a data frame with one row per time step.")
        if len(frame) == 0:
            raise InputError("The data frame has no rows, needed one time step per row.")
        self.frame = frame
        self.names = [str(name) for name in frame.columns]
        self.n_rows, self.n_columns = frame.shape

    def numbers(self, columns: list[int]) -> tuple[FloatArray, list[str]]:
        """Return columns as numbers, shape (n_rows, n_dims), and their names."""
        names = [self.names[column] for column in columns]
        blocks = [np.asarray(self.frame.iloc[:, column]) for column in columns]
        checked = [
            as_numbers(block[:, None], f"The data frame, column {name!r}")
            for block, name in zip(blocks, names, strict=True)
        ]
        return np.hstack(checked), names

    def values(self, column: int) -> NDArray[Any]:
        """Return a column as whole numbers, numbers or whatever it holds."""
        return whole_labels(np.asarray(self.frame.iloc[:, column]))
