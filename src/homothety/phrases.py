"""Small pieces of text: counts, lists, ordinals, voxels, numbers of clusters, and tables."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from homothety.arrays import IntArray


Labels = TypeVar("Labels", int, "IntArray")

SURE = 0.9  # probability from which on something counts as sure: a segment, an item, two states being one action
AXES = "ijk"  # of an image
_FIRST_CLUSTER = 1  # in files, figures and reports: 0 is the background of a label image


def cluster_number(label: Labels) -> Labels:
    """Return the number under which users see a cluster, or an array of labels.

    Parameters
    ----------
    label : int or ndarray of int
        As in `labels_`: from 0.

    Examples
    --------
    >>> cluster_number(0)
    1
    """
    return label + _FIRST_CLUSTER


def voxel_in_words(position: IntArray) -> str:
    """Return the place of a voxel, counted from 0.

    Examples
    --------
    >>> voxel_in_words(np.array([12, 30, 7]))
    'voxel (12, 30, 7)'
    """
    return f"voxel ({', '.join(map(str, position.tolist()))})"


def enumerated(words: Sequence[str]) -> str:
    """Return words one after the other, with an "and" before the last.

    Examples
    --------
    >>> enumerated(["x", "y", "z"]), enumerated(["x"])
    ('x, y and z', 'x')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def number_of(count: int, thing: str) -> str:
    """Return a count and what is counted.

    Examples
    --------
    >>> number_of(1, "action"), number_of(3, "action")
    ('1 action', '3 actions')
    """
    return f"{count} {thing}{'s' * (count != 1)}"


def listed(labels: IntArray) -> str:
    """Return the different labels there are.

    Examples
    --------
    >>> listed(np.array([2, 0, 2, 2]))
    '0, 2'
    """
    return ", ".join(map(str, np.unique(labels)))


def ordinal(number: int) -> str:
    """Return a number as it is counted.

    Examples
    --------
    >>> [ordinal(number) for number in (2, 3, 11, 21)]
    ['2nd', '3rd', '11th', '21st']
    """
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


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


def html_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table as HTML, for notebooks.

    Examples
    --------
    >>> html_table(["state", "steps"], [["a<b", None]])
    '<table><tr><th>state</th><th>steps</th></tr><tr><td>a&lt;b</td><td></td></tr></table>'
    """
    texts = [["" if cell is None else escape(str(cell)) for cell in row] for row in rows]
    lines = ["".join(f"<th>{escape(name)}</th>" for name in header)]
    lines += ["".join(f"<td>{text}</td>" for text in row) for row in texts]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


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
