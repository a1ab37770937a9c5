"""Segmented series as the script of a page draws them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.palette import aspect_of, cluster_style
from homothety.report.downsampling import as_bytes, as_codes, bin_size, extremes, packed, runs_of
from homothety.report.looks import action_looks, look, state_looks

if TYPE_CHECKING:
    from homothety.arrays import FloatArray
    from homothety.report.segmented import Segmented

MAX_SERIES = 60  # drawn; a page of more would be too long to look through
MAX_CHANNELS = 12  # curves of one series

# What is known of every step, by the name the reader sees; of several steps drawn as one, the worst counts.
CHANCES = {
    "state": "state_probability_",
    "action": "action_probability_",
    "change of state": "change_probability_",
    "change of action": "action_change_probability_",
}


def series_data(seen: Segmented) -> dict[str, Any]:
    """Return curves, bars and probabilities of all series that are drawn, and how everything looks."""
    data: dict[str, Any] = {"looks": looks_of(seen), "series": [_bars(seen, i) for i in range(n_drawn(seen))]}
    if seen.sequences is None:
        return data | {"channels": []}
    ranges = _ranges(seen.sequences)
    size = steps_per_bin(seen)
    data["channels"] = [
        {"name": name, "low": low, "high": high}
        for name, low, high in zip(seen.channels, *(end.tolist() for end in ranges), strict=True)
    ]
    data["shown"] = list(range(min(len(seen.channels), MAX_CHANNELS)))
    for one, values in zip(data["series"], seen.sequences, strict=False):
        one |= _curves(values, ranges, size)
    if len(seen.channels) > 1:
        data["space"] = space_of(seen)
    return data


def n_drawn(seen: Segmented) -> int:
    """Return how many series have charts."""
    return min(len(seen.paths), MAX_SERIES)


def steps_per_bin(seen: Segmented) -> int:
    """Return how many steps are drawn as one."""
    return bin_size(sum(len(path) for path in seen.paths[: n_drawn(seen)]), len(seen.channels))


def looks_of(seen: Segmented) -> dict[str, Any]:
    """Return how states, actions and true labels look."""
    if seen.actions is None:
        looks = {"state": action_looks(seen.n_labels)}
    else:
        looks = {"action": action_looks(seen.n_labels), "state": state_looks(seen.state_actions.tolist())}
    if seen.truth is not None:
        pairs = zip(seen.truth.names, seen.truth.likely, strict=True)
        looks["truth"] = [look(name, cluster_style(number)) for name, number in pairs]
    return looks


def _bars(seen: Segmented, i: int) -> dict[str, Any]:
    """Return what is known of the steps of one series."""
    lanes = {"state": runs_of(seen.paths[i])}
    if seen.actions is not None:
        lanes = {"action": runs_of(seen.actions[i])} | lanes
    if seen.truth is not None:
        lanes["truth"] = runs_of(seen.truth.paths[i])
    size = steps_per_bin(seen)
    return {
        "name": seen.names[i],
        "steps": len(seen.paths[i]),
        "every": size,
        "lanes": lanes,
        "chances": {title: _chances(values[i], title, size) for title, values in _known_chances(seen).items()},
    }


def _known_chances(seen: Segmented) -> dict[str, list[FloatArray]]:
    return {
        title: getattr(seen.model, attribute) for title, attribute in CHANCES.items() if hasattr(seen.model, attribute)
    }


def _chances(values: FloatArray, title: str, size: int) -> str:
    least, most = extremes(values, size)
    return packed(as_bytes(most if title.startswith("change") else least))


def _ranges(sequences: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    steps = np.concatenate(sequences)
    return np.nanmin(steps, axis=0), np.nanmax(steps, axis=0)


def _curves(values: FloatArray, ranges: tuple[FloatArray, FloatArray], size: int) -> dict[str, list[str]]:
    """Return the least of every bin, dimension by dimension, and the largest if bins have more than one step."""
    least, most = (as_codes(end, *ranges) for end in extremes(values, size))
    curves = {"low": [packed(codes) for codes in least.T]}
    return curves | {"high": [packed(codes) for codes in most.T]} if size > 1 else curves


def space_of(seen: Segmented) -> dict[str, Any]:
    """Return which dimensions are drawn as places, and whether to one scale."""
    dims = seen.position_dims
    steps = np.concatenate(seen.sequences or [])[:, dims]
    return {"dims": dims, "equal": aspect_of(steps) == "equal"}
