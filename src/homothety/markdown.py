"""Tables as Markdown, padded so that they are readable as plain text too; cells with mean and standard deviation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; the first column is aligned to the left, numbers in the others to the right.

    Examples
    --------
    >>> print(markdown_table(["cluster", "size"], [["a", 10], ["b", 5]]))
    | cluster | size |
    | :------ | ---: |
    | a       |   10 |
    | b       |    5 |
    """
    cells = [[_escape(cell) for cell in row] for row in [header, *rows]]
    widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(header))]
    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    padded = [[row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in cells]
    return "\n".join(f"| {' | '.join(row)} |" for row in [padded[0], rule, *padded[1:]])


def spread(values: Sequence[float]) -> float:
    """Return the standard deviation of the runs as the paper takes it, by one less than their number."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def format_cell(values: Sequence[float], *, decimals: int = 3) -> str:
    """Return "mean (standard deviation)" of some runs, without the bracket if all agree; a dash for no runs.

    Examples
    --------
    >>> format_cell([0.5, 0.6]), format_cell([1.0, 1.0]), format_cell([3.0, 3.0], decimals=0), format_cell([])
    ('0.550 (0.071)', '1.000', '3', '-')
    """
    if len(values) == 0:
        return "-"
    mean, deviation = float(np.mean(values)), spread(values)
    # Whole numbers stop being whole when they are averaged.
    decimals = max(decimals, 1) if deviation else decimals
    # A standard deviation that would be written as zero is left out, as in the paper.
    return f"{mean:.{decimals}f}" + f" ({deviation:.{decimals}f})" * (deviation >= 0.5 * 10**-decimals)


def bullet_list(lines: Iterable[str]) -> str:
    """Return lines as a Markdown list."""
    return "\n".join(f"- {line}" for line in lines)


def _escape(cell: object) -> str:
    """Return a cell's text; a bar in it would start another cell, and a new line another row."""
    return " ".join(str(cell).splitlines()).replace("|", "\\|")
