"""Series from LeRobot data sets: a folder with a description and tables of episodes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from homothety.datasets.readers.checks import blame_file
from homothety.datasets.readers.columns import find_columns
from homothety.datasets.readers.options import natural_order, require
from homothety.datasets.readers.sequence_tables import ParquetFrame, cut_table, load_parquet
from homothety.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from homothety.datasets.readers.options import ReadingOptions
    from homothety.datasets.sets import SequenceSet

DESCRIPTION = "meta/info.json"  # what makes a folder a data set
TABLES = "data/chunk-*/*.parquet"  # one episode per file up to version 2.1, many per file since version 3.0
EPISODE, STATE = "episode_index", "observation.state"


def is_lerobot_folder(folder: Path) -> bool:
    """Tell whether a folder is a LeRobot data set."""
    return (folder / DESCRIPTION).is_file()


def read_lerobot_series(path: Path, options: ReadingOptions) -> SequenceSet:
    """Read one series per episode."""
    files = sorted(path.glob(TABLES), key=lambda file: natural_order(str(file)))
    if not files:
        raise InputError(f"{path} has no {TABLES}, needed the tables of the episodes. Download the whole data set.")
    there = _column_names(files[0])
    columns, labels = (
        [there[at] for at in find_columns(wanted, there, len(there), path)] if wanted is not None else []
        for wanted in (STATE if options.columns is None else options.columns, options.labels)
    )
    frame = ParquetFrame(path, _joined(files, [*columns, EPISODE, *labels]))
    chosen = options._replace(group=EPISODE, columns=columns, labels=labels[0] if labels else None)
    episodes = cut_table(frame, path, chosen)
    features = _features(path)
    channels = [name for column in columns for name in _channel_names(column, features, episodes.channels)]
    return replace(
        episodes,
        names=tuple(f"episode {name}" for name in episodes.names),
        channels=tuple(channels) if len(channels) == episodes.n_dims else episodes.channels,
        rate=_rate(path),
    )


def _column_names(file: Path) -> list[str]:
    """Return the names of the columns of a table without reading it."""
    parquet = require("pyarrow.parquet", "parquet", f"Reading {file}")
    with blame_file(file, "Download it again."):
        return [str(name) for name in parquet.read_schema(file).names]


def _joined(files: list[Path], columns: list[str]) -> Any:
    """Return the wanted columns of all files as one table."""
    pyarrow = require("pyarrow", "parquet", f"Reading {files[0]}")
    tables = [load_parquet(file, columns) for file in files]
    with blame_file(files[0].parent, "All tables must have the same columns."):
        return pyarrow.concat_tables([table.select(columns) for table in tables])


def _described(path: Path) -> dict[str, Any]:
    """Return what the data set says of itself."""
    with blame_file(path / DESCRIPTION, "Download the data set again."):
        described = json.loads((path / DESCRIPTION).read_text(encoding="utf-8"))
    return described if isinstance(described, dict) else {}


def _features(path: Path) -> dict[str, Any]:
    """Return what the data set says of its columns, by their names; nothing if it says nothing."""
    features = _described(path).get("features")
    return features if isinstance(features, dict) else {}


def _rate(path: Path) -> float | None:
    """Return the steps per second of the episodes, if the data set tells them."""
    rate = _described(path).get("fps")
    return rate if isinstance(rate, int | float) and rate > 0 else None


def _channel_names(column: str, features: dict[str, Any], usual: tuple[str, ...]) -> list[str]:
    """Return what the dimensions of a column are called: as the data set says, in a list or in one inside a mapping."""
    feature = features.get(column)
    names = feature.get("names") if isinstance(feature, dict) else None
    if isinstance(names, dict):
        names = next((one for one in names.values() if isinstance(one, list)), None)
    plain = [name for name in usual if name == column or name.startswith(f"{column}[")]
    if not isinstance(names, list) or len(names) != len(plain):
        return plain
    return [f"{column}.{name}" for name in names] if len(names) > 1 else plain
