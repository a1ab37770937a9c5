"""Progress of compilation: functions that are called for every kernel that was compiled.

This module does not import Numba, so that the command line can watch compilation without loading it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    # From the seconds that a kernel took, without those that it calls.
    _Listener = Callable[[float], None]

_listeners: list[_Listener] = []


@contextmanager
def heard_by(listener: _Listener) -> Iterator[None]:
    """Call a function with the seconds of every kernel that this process compiles, while the context lasts."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def tell(seconds: float) -> None:
    """Call all listeners with the seconds that the compilation of a kernel took."""
    for listener in _listeners:
        listener(seconds)
