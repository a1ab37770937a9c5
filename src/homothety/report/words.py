"""Words and limits that all pages share."""

from __future__ import annotations

SURE = 0.9  # probability from which on a segment or an item counts as sure
MAX_POINTS = 4  # in an answer; the rest is further down
NOT_KNOWN = ("This is not known.", "The model does not say how sure it is.")


def number_of(count: int, thing: str) -> str:
    """Return a count and what is counted.

    Examples
    --------
    >>> number_of(1, "action"), number_of(3, "action")
    ('1 action', '3 actions')
    """
    return f"{count} {thing}{'s' * (count != 1)}"
