"""What is told of results, in tables and sentences: the same on a terminal, in a file and on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def enumerated(words: Sequence[str]) -> str:
    """Return words one after the other, with an "and" before the last.

    Examples
    --------
    >>> enumerated(["x", "y", "z"]), enumerated(["x"])
    ('x, y and z', 'x')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
