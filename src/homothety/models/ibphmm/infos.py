"""What several moves report of what they did."""

from __future__ import annotations

from typing import NamedTuple


class Tried(NamedTuple):
    """How many proposals a move made, and how many were accepted."""

    n_tried: int
    n_accepted: int


class JumpInfo(NamedTuple):
    """How many births and deaths were accepted, of one attempt per series."""

    n_tried: int
    n_accepted: int
    n_born: int
    n_died: int
