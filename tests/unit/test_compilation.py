"""What is told of kernels that are compiled."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import homothety._jit  # noqa: F401 - it tells
from homothety.compilation import heard_by


def add_one(x):
    return x + 1.0


def own(function):
    """A function compiled as if it were a kernel, and not kept on disk."""
    function.__module__ = "homothety.models.made_up"
    return numba.njit(function)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_each_kernel_is_told_of_once_without_what_it_calls():
    inner = own(lambda x: x + 1.0)
    outer = own(lambda x: inner(x) * 2.0)
    told = []
    with heard_by(told.append):
        assert outer(1.0) == 4.0
        outer(2.0)
    assert len(told) == 2
    assert min(told) > 0.0
    with heard_by(told.append):
        outer(np.float32(1.0))  # other kinds of numbers are compiled for anew
    assert len(told) == 4


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_functions_of_others_are_not_told_of():
    told = []
    with heard_by(told.append):
        assert numba.njit(add_one)(1.0) == 2.0
    assert told == []
