"""Series from motion capture in .c3d files: the positions of the markers."""

from __future__ import annotations

from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

import numpy as np

from homothety.datasets.readers.checks import blame_file
from homothety.datasets.readers.columns import take_columns
from homothety.datasets.readers.options import require
from homothety.datasets.sets import SequenceSet
from homothety.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from homothety.datasets.readers.options import ReadingOptions

UNSEEN = -1  # what stands in the place of the error of a marker that no camera saw


def read_c3d_series(path: Path, options: ReadingOptions) -> SequenceSet:
    """Read the positions of the markers in every frame; where one was not seen they are NaN."""
    c3d = require("c3d", "mocap", f"Reading {path}")
    with blame_file(path, "Check that it is a complete C3D file."), path.open("rb") as file, catch_warnings():
        simplefilter("ignore")  # files without analogue channels are fine
        reader = c3d.Reader(file)
        labels = [str(label).strip() for label in reader.point_labels][: reader.point_used]
        frames = [points for _, points, _ in reader.read_frames()]
        rate = float(reader.point_rate)
    if not frames or not labels:
        raise InputError(f"{path} has {len(frames)} frames of {len(labels)} markers, needed at least one of each.")
    points = np.asarray(frames, dtype=np.float64)
    places = np.where(points[:, :, 3:4] == UNSEEN, np.nan, points[:, :, :3])
    names = tuple(f"{label}.{axis}" for label in labels for axis in "xyz")
    kept, channels = take_columns(places.reshape(len(frames), -1), options.columns, names, path)
    return SequenceSet([kept], None, None, (path.stem,), channels, path.stem, rate=rate if rate > 0 else None)
