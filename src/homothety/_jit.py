"""The decorators that compile: every kernel uses one of them, so that compiler flags are chosen in one place."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event

from homothety.compilation import tell

Kernel = TypeVar("Kernel", bound=Callable[..., object])

# A plain 0 that a kernel hands to another one would have that compiled for 0 alone, besides all other numbers.
ZERO = cast("int", np.int64(0))


def jit(function: Kernel) -> Kernel:
    """Compile a kernel on first use and cache it on disk.

    No fastmath: minus infinity is a value here. No parallel loops: chains already run one per core. The lock is
    released, so threads can run kernels side by side. No entry for calls from C, which nobody makes: without it,
    compilation takes a twentieth less.
    """
    options: dict[str, Any] = {"no_cfunc_wrapper": True}  # which the types of Numba do not know
    return cast("Kernel", numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function))


def inlined(function: Kernel) -> Kernel:
    """Compile a kernel as part of each kernel that calls it.

    For small functions called from one or two places: they are compiled once instead of twice, and hand over their
    arrays for nothing. That took a quarter off the time of the first fit, and a third off a sweep over links.
    """
    return cast("Kernel", numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")(function))


class _Watch(event.Listener):
    """Tells of each kernel that is compiled; one that calls others is begun before these and ends after them."""

    def __init__(self) -> None:
        self.begun = threading.local()

    def on_start(self, _: Any) -> None:
        """Note the time, and that no others have taken any of it."""
        self.begun.__dict__.setdefault("stack", []).append([perf_counter(), 0.0])

    def on_end(self, compiled: Any) -> None:
        """Tell what the kernel took; functions of Numba that it calls are part of it."""
        started, inside = self.begun.stack.pop()
        total = perf_counter() - started
        is_own = compiled.data["dispatcher"].py_func.__module__.startswith("homothety.")
        if self.begun.stack:
            self.begun.stack[-1][1] += total if is_own else inside
        if is_own:
            tell(total - inside)


_register: Any = event.register  # some versions of Numba have no types for it
_register("numba:compile", _Watch())
