"""For the examples in docstrings, which pytest runs from here."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def no_figure_stays_open(request):
    """Close figures after every example: pyplot warns of too many."""
    yield
    if isinstance(request.node, pytest.DoctestItem) and "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
