"""A data set small enough to cluster in a moment."""

from __future__ import annotations

import numpy as np
import pytest

from homothety.datasets import make_toy_6d
from homothety.reproduce.sets import PaperSet


@pytest.fixture
def small_set():
    toy = make_toy_6d(0, n_per_class=4)
    return PaperSet("toy-6d", "Toy 6D", toy.matrices, np.asarray(toy.labels))
