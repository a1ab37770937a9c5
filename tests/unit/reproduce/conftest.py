"""Data sets small enough to cluster or segment in a moment."""

from __future__ import annotations

import numpy as np
import pytest

from homothety.datasets import make_toy_2d, make_toy_6d
from homothety.reproduce.sequence_sets import SeriesSet
from homothety.reproduce.sets import PaperSet


@pytest.fixture
def small_set():
    toy = make_toy_6d(0, n_per_class=4)
    return PaperSet("toy-6d", "Toy 6D", np.asarray(toy.labels), toy.matrices)


@pytest.fixture
def small_series():
    toy = make_toy_2d(0, n_steps=40)
    return SeriesSet("toy-2d", "Toy 2D", np.concatenate(toy.actions), toy.sequences)
