from __future__ import annotations

import io
from base64 import b64decode

import numpy as np
import pytest

from homothety.report.png import data_uri, png_of


def test_pixels_come_back(rng):
    image = pytest.importorskip("matplotlib.image")
    pixels = rng.integers(256, size=(5, 7, 4)).astype(np.uint8)
    read = image.imread(io.BytesIO(png_of(pixels[::-1].swapaxes(0, 1))), format="png")  # not in the order of memory
    np.testing.assert_array_equal(np.rint(255 * read), pixels[::-1].swapaxes(0, 1))


def test_an_address_holds_the_file():
    pixels = np.zeros((2, 3, 4), dtype=np.uint8)
    kind, _, content = data_uri(pixels).partition(",")
    assert kind == "data:image/png;base64"
    assert b64decode(content) == png_of(pixels)
