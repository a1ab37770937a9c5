"""The one decorator that compiles: every kernel uses it, so the flags are chosen in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def jit(function: Kernel) -> Kernel:
    """Compile a kernel on first use and cache it on disk.

    No fastmath: minus infinity is a value here. No parallel loops: chains already run one per core. The lock is
    released, so threads can run kernels side by side.
    """
    return cast("Kernel", numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def inlined(function: Kernel) -> Kernel:
    """Compile a kernel as part of each kernel that calls it.

    For small functions called from one or two places: they are compiled once instead of twice, and hand over their
    arrays for nothing. That took a quarter off the time of the first fit, and a third off a sweep over links.
    """
    return cast("Kernel", numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")(function))
