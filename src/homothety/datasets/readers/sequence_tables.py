"""Series from tables with one row per time step: text, Parquet, and data frames in memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from homothety.datasets.readers.checks import (
    as_numbers,
    blame_file,
    cut_by_lengths,
    find_column,
    find_columns,
    is_missing,
    require,
    whole_labels,
)
from homothety.datasets.readers.tables import (
    LABEL_COLUMN,
    counts_columns,
    names_columns,
    parse_labels,
    parse_names,
    parse_numbers,
    read_table,
)
from homothety.datasets.sets import SequenceSet
from homothety.errors import InputError
from homothety.times import find_times, rate_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import FloatArray, IntArray
    from homothety.datasets.readers.checks import Column, Columns

STATE_COLUMN = "state"
NOT_MEASURED = ("", LABEL_COLUMN, STATE_COLUMN)
CALLED = Path("data frame")  # what data frames in memory are called in names and errors


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
        """Return what a column calls the series of each row, shape (n_rows,)."""
        return self.values(column)

    def place(self, row: int) -> str:
        """Return where in the file a row is, in words."""
        return f"row {row}, counted from 0,"


def read_table_series(path: Path, columns: Columns, **cut: Any) -> SequenceSet:
    """Read a text table or a Parquet table; `cut` are the other options of `cut_table`."""
    is_parquet = path.suffix.lower() == ".parquet"
    return cut_table(ParquetFrame(path, load_parquet(path)) if is_parquet else TextFrame(path), path, columns, **cut)


def sequences_from_frame(
    frame: Any,
    *,
    group: Column | None = None,
    columns: Column | Sequence[Column] | None = None,
    lengths: ArrayLike | None = None,
    labels: Column | None = None,
) -> SequenceSet:
    """Return the series in a data frame with one row per time step.

    Parameters
    ----------
    frame : pandas.DataFrame
    group, columns, lengths, labels
        As for `read_sequences`: the column that distinguishes the series, the columns to use, the numbers of rows of
        the series, and the column of true actions.

    Returns
    -------
    recordings : SequenceSet
        Estimators take it as it is.
    """
    return cut_table(DataFrameTable(frame), CALLED, columns, group, lengths, labels)


def cut_table(
    frame: Frame,
    path: Path,
    columns: Columns,
    group: Column | None = None,
    lengths: ArrayLike | None = None,
    labels: Column | None = None,
) -> SequenceSet:
    """Return the measurements in a table, cut into series by a column, by lengths or not at all."""
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
    states_at = _find_called(STATE_COLUMN, frame, chosen)
    labels_at = _find_called(LABEL_COLUMN, frame, chosen) if labels_at is None else labels_at
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
                "is no measurement then. Leave it out of one of them."
            )
    return chosen


def _find_measured(frame: Frame, path: Path, others: list[int | None]) -> list[int]:
    """Return the columns of measurements: all but `others` and those known to be something else by their names."""
    names = [name.lower() for name in frame.names] or ["column"] * frame.n_columns
    chosen = [at for at, name in enumerate(names) if name not in NOT_MEASURED and at not in others]
    if not chosen:
        raise InputError(f"{path} has no column of measurements. Name them with columns=.")
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
            "the name of a series. Fill it in, or take those rows out."
        )
    groups, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    by_group = np.split(np.argsort(inverse, kind="stable"), np.cumsum(np.bincount(inverse))[:-1])
    return [by_group[place] for place in order], tuple(str(groups[place]) for place in order)


class TextFrame(Frame):
    """A text file that was split into cells."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.table = read_table(path, "one time step per row", _has_header)
        self.names = list(self.table.header or [])
        self.n_columns, self.n_rows = self.table.width, len(self.table.rows)

    def numbers(self, columns: list[int]) -> tuple[FloatArray, list[str]]:
        """Return columns as numbers, shape (n_rows, n_dims), and their names."""
        remedy = "Choose the columns of measurements with columns=."
        numbers = parse_numbers(self.table, columns, self.path, remedy)
        return numbers, [self.names[column] for column in columns] if self.names else []

    def values(self, column: int) -> NDArray[Any]:
        """Return a column as whole numbers, numbers or text."""
        return parse_labels([row[column] for row in self.table.rows])

    def groups(self, column: int) -> NDArray[Any]:
        """Return a column as it is written: 007 and 7 are different series."""
        return parse_names([row[column] for row in self.table.rows])

    def place(self, row: int) -> str:
        """Return the line of a row."""
        return f"line {self.table.lines[row]}"


def _has_header(rows: list[list[str]]) -> bool:
    """Tell whether a first row names the columns."""
    if names_columns(rows[0]):
        return True
    # 0, 1, 2, ... could be data too, unless nothing stands before them or what follows are not whole numbers.
    has_fractions = any(not cell.lstrip("-").isdigit() for row in rows[1:] for cell in row)
    return counts_columns(rows[0]) and (rows[0][0] == "" or has_fractions)


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
            raise InputError(f"{item} is of type {kind}, needed numbers. Choose columns of numbers with columns=.")
        numbers = np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
        return numbers.reshape(self.n_rows, n_values)


class DataFrameTable(Frame):
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
