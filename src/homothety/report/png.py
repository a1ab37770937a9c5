"""Small pictures inside a page: PNG files of our own making, which need no library."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIGNATURE = b"\x89PNG\r\n\x1a\n"
RGBA = 6  # kind of colour: red, green, blue and opacity, of eight bits each


def png_of(pixels: NDArray[np.uint8]) -> bytes:
    """Return a picture as a PNG file.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (n_rows, n_columns, 4)
        Red, green, blue and opacity; the first row is the top one.
    """
    n_rows, n_columns, _ = pixels.shape
    rows = np.ascontiguousarray(pixels).reshape(n_rows, -1)
    unfiltered = np.zeros((n_rows, 1), dtype=np.uint8)  # each row begins with how it is filtered: not at all
    header = struct.pack(">IIBBBBB", n_columns, n_rows, 8, RGBA, 0, 0, 0)
    data = zlib.compress(np.hstack([unfiltered, rows]).tobytes(), 9)
    return SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def data_uri(pixels: NDArray[Any]) -> str:
    """Return a picture as an address that holds it, for the `src` of an image in a page."""
    return f"data:image/png;base64,{b64encode(png_of(pixels)).decode()}"
