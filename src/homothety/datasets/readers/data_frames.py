"""Series from data frames in memory, by the rules for tables in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.datasets.readers.columns import as_numbers, whole_labels
from homothety.datasets.readers.options import ReadingOptions
from homothety.datasets.readers.sequence_tables import cut_table
from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import FloatArray
    from homothety.datasets.readers.columns import Column
    from homothety.datasets.sets import SequenceSet

CALLED = Path("data frame")  # in names and errors


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
        As for `read_sequences`: the column that tells series apart, those to use, or the numbers of rows of each, and
        the column of true actions.

    Returns
    -------
    recordings : SequenceSet
        Estimators take it as it is.
    """
    return cut_table(DataFrameTable(frame), CALLED, ReadingOptions(group, columns, lengths, None, labels))


class DataFrameTable:
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

    def groups(self, column: int) -> NDArray[Any]:
        """Return a column as it is."""
        return self.values(column)

    def place(self, row: int) -> str:
        """Return the number of a row."""
        return f"row {row}, counted from 0,"
