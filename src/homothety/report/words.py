"""Words and limits that all pages share."""

from __future__ import annotations

MAX_POINTS = 4  # in an answer; the rest is further down
NOT_KNOWN = ("This is not known.", "The model does not say how sure it is.")


def listing(things: str, count: int, most: int, *, by_doubt: bool) -> str:
    """Return what a table that has at most so many rows lists.

    Examples
    --------
    >>> listing("segments", 30, 1000, by_doubt=True), listing("segments", 3000, 1000, by_doubt=True)
    ('All segments, the least sure first', 'The 1000 least sure segments')
    >>> listing("segments", 3000, 1000, by_doubt=False)
    'The first 1000 segments'
    """
    if count <= most:
        return f"All {things}{', the least sure first' * by_doubt}"
    return f"The {most} least sure {things}" if by_doubt else f"The first {most} {things}"
