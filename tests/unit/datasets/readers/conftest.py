"""A small set of matrices that every format is written from and read back to."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def matrices(rng):
    factors = rng.standard_normal((5, 3, 3))
    return factors @ factors.swapaxes(1, 2) + np.eye(3)
