"""Tables of what was found, as rows; and rows as CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import json
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.datasets.readers.checks import require
from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from os import PathLike

    from homothety.summaries.paths import Segment

    Row = Mapping[str, Any]

DIGITS = 4  # of probabilities


def segments_table(model: Any, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return the segments of a fitted model, one row each, which ``pandas.DataFrame`` takes as they are.

    Parameters
    ----------
    model : estimator
        Fitted, such as `ICSCHMM`.
    names : sequence of str, optional
        What the series are called; as at the fit by default.

    Returns
    -------
    rows : list of dict
        Series by name, start, end (not included), state and its probability; the action that most steps have and its
        probability, where the model knows actions; ``start_s`` and ``end_s``, in seconds, where the model knows the
        rate of the recordings.
    """
    named = model.names_ if names is None else names
    return [
        {**one._asdict(), "series": named[one.series], "probability": rounded(one.probability)}
        | in_seconds(model, start=one.start, end=one.end)
        | (columns_of_segment(model, one) if hasattr(model, "action_probability_") else {})
        for one in model.segments_
    ]


def action_segments_table(model: Any, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return segments of one action each: series by name, start, end (not included), action and probability.

    Parameters are those of `segments_table`.
    """
    named = model.names_ if names is None else names
    return [
        {
            "series": named[one.series],
            "start": one.start,
            "end": one.end,
            "action": one.state,
            "probability": rounded(one.probability),
        }
        | in_seconds(model, start=one.start, end=one.end)
        for one in model.action_segments_
    ]


def in_seconds(model: Any, **steps: float | None) -> dict[str, float | None]:
    """Return columns of times in seconds by the names of those in steps; none where the rate is not known.

    The first step of a recording is at 0 s.
    """
    rate = getattr(model, "rate_", None)
    if rate is None:
        return {}
    return {f"{name}_s": None if step is None else round(step / rate, 6) for name, step in steps.items()}


def columns_of_segment(model: Any, segment: Segment) -> dict[str, Any]:
    """Return the action that most steps of a segment have, and how sure it is over these."""
    steps = slice(segment.start, segment.end)
    actions, sure = model.actions_[segment.series][steps], model.action_probability_[segment.series][steps]
    action = int(np.bincount(actions).argmax())
    return {"action": action, "action_probability": rounded(float(sure[actions == action].mean()))}


def write_rows(path: str | PathLike[str], rows: Iterable[Row], header: Iterable[str] | None = None) -> None:
    """Write rows as a table of the kind the name ends in: .csv, .json or .parquet.

    Parameters
    ----------
    path : str or Path
    rows : iterable of mappings
        All with the same keys. None is an empty cell.
    header : iterable of str, optional
        What the columns are called if there is no row to tell.
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise InputError(f"{path} ends in {kind or 'nothing'!r}, needed one of {', '.join(KINDS)}.")
    rows = iter(rows)
    first = list(islice(rows, 1))
    KINDS[kind](Path(path), chain(first, rows), list(first[0]) if first else list(header or ()))


def check_table_kind(kind: str) -> None:
    """Raise if tables of this kind cannot be written here: better before the work than after it."""
    if kind == "parquet":
        require("pyarrow.parquet", "parquet", "Writing .parquet")


def _write_csv(path: Path, rows: Iterator[Row], names: list[str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)


def _write_json(path: Path, rows: Iterator[Row], names: list[str]) -> None:  # noqa: ARG001
    known = [{name: value if _is_known(value) else None for name, value in row.items()} for row in rows]
    path.write_text(json.dumps(known, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _write_parquet(path: Path, rows: Iterator[Row], names: list[str]) -> None:
    pyarrow = require("pyarrow", "parquet", f"Writing {path}")
    listed = [dict(row) for row in rows]
    table = pyarrow.table({name: [row[name] for row in listed] for name in names})
    require("pyarrow.parquet", "parquet", f"Writing {path}").write_table(table, path)


KINDS: dict[str, Callable[[Path, Iterator[Row], list[str]], None]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "json": _write_json,
}
"""How tables are written, by what names of files end in."""


def _is_known(value: Any) -> bool:
    """Tell whether JSON has a word for a value: it has none for NaN and infinity."""
    return not isinstance(value, float) or bool(np.isfinite(value))


def rounded(value: float | None) -> float | None:
    """Return a probability as tables have it."""
    return None if value is None else round(value, DIGITS)
