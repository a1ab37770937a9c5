"""Who hears of kernels that are compiled. It knows nothing of the compiler, so that listening loads nothing."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    # From the seconds that a kernel took, without those that it calls.
    Listener = Callable[[float], None]

_listeners: list[Listener] = []


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Have a function called with the seconds of every kernel that this process compiles."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def tell(seconds: float) -> None:
    """Tell whoever listens of a kernel that has been compiled."""
    for listener in _listeners:
        listener(seconds)
