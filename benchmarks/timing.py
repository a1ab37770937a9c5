"""Timing, and the rows of the table of benchmarks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable


class Row(TypedDict):
    """One comparison; the ratio of reference to ours has to stay above the floor."""

    name: str
    ours: float
    reference: float
    ratio: float
    floor: float


def row(name: str, ours: float, reference: float, floor: float) -> Row:
    """Return one comparison, times in seconds."""
    return Row(name=name, ours=ours, reference=reference, ratio=reference / ours, floor=floor)


def best_of(function: Callable[[], object], repeats: int) -> float:
    """Return the shortest of several timings, in seconds, after one call that may compile."""
    function()
    return min(seconds(function) for _ in range(repeats))


def seconds(function: Callable[[], object]) -> float:
    """Return how long one call takes."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def print_rows(rows: list[Row]) -> None:
    """Print comparisons as a table."""
    print(f"{'ours':>12} {'reference':>12} {'ratio':>8} {'floor':>7}  reference")
    for line in rows:
        times = f"{line['ours'] * 1e3:9.2f} ms {line['reference'] * 1e3:9.1f} ms"
        print(f"{times} {line['ratio']:7.1f}x {line['floor']:6.0f}x  {line['name']}")
