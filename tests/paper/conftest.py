"""Data sets small enough to cluster or segment in a moment, and chains that are interrupted."""

from __future__ import annotations

from functools import wraps

import numpy as np
import pytest

from homothety.datasets import make_toy_2d, make_toy_6d
from homothety.models import ddcrp
from paper.sequence_sets import SeriesSet
from paper.sets import PaperSet


@pytest.fixture
def small_set():
    toy = make_toy_6d(0, n_per_class=4)
    return PaperSet("toy-6d", "Toy 6D", np.asarray(toy.labels), toy.matrices)


@pytest.fixture
def small_series():
    toy = make_toy_2d(0, n_steps=40)
    return SeriesSet("toy-2d", "Toy 2D", np.concatenate(toy.actions), toy.sequences)


@pytest.fixture
def interrupt_links_after(monkeypatch):
    """Return a function that lets clustering by links end in Ctrl-C after so many sweeps of all chains."""
    resample_links = ddcrp.resample_links

    def arm(n_sweeps: int) -> None:
        calls = iter(range(10**6))

        @wraps(resample_links)
        def interrupted(*arguments):
            if next(calls) == n_sweeps:
                raise KeyboardInterrupt
            return resample_links(*arguments)

        monkeypatch.setattr(ddcrp, "resample_links", interrupted)

    return arm
