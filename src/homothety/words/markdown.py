"""Tables as Markdown, padded so that they are readable as plain text too."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


def bullet_list(lines: Iterable[str]) -> str:
    """Return lines as a Markdown list."""
    return "\n".join(f"- {line}" for line in lines)


def _escape(cell: object) -> str:
    """Return a cell's text; a bar in it would start another cell, and a new line another row."""
    return " ".join(str(cell).splitlines()).replace("|", "\\|")
