"""What moves report of their proposals."""

from __future__ import annotations

from typing import NamedTuple


class Tried(NamedTuple):
    """How many proposals a move made, and how many were accepted."""

    n_tried: int
    n_accepted: int
