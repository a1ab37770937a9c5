"""Data of the charts of the HTML page, in the form that its script expects, and styles of labels and chains."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.datasets.readers.checks import is_missing
from homothety.palette import HATCHES, LINESTYLES, MARKERS, aspect_of, cluster_style, shade_style
from homothety.phrases import cluster_number, number_of
from homothety.summaries.chains import LABEL_FREE
from homothety.summaries.partitions import named_after
from homothety.summaries.positions import aligned_places, first_position, position_dims, position_maps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from homothety.arrays import FloatArray, IntArray
    from homothety.datasets import SequenceSet
    from homothety.palette import ClusterStyle
    from homothety.summaries.chains import Chains
    from homothety.summaries.paths import Segment
    from homothety.summaries.result import Partition, Segmentation


MAX_RECORDINGS = 60  # drawn; a page of more would be too long to look through
MAX_CHANNELS = 12  # curves of one recording
MAX_DOTS = 10_000  # of a scatter plot
MAX_SIDE = 240  # cells along a side of a drawn matrix
_MAX_BINS = 600  # of a trace
_EDGE = 1e-3  # of the range of a trace, to either side, for what is outside of it
_MAX_OVERLAID, _N_POINTS = 40, 80  # segments of an action that are laid over each other, and points of each
_DIGITS = 6  # of numbers that are only drawn
_LEGIBLE = (4, 5, 2, 6, 0, 1)  # places in the palette that are neither as light as paper nor as dark as ink


# How labels look: the palette of all pictures, as what JSON can hold


def _look(name: str, style: ClusterStyle) -> dict[str, Any]:
    """Return a name and a style for the script, with indices of hatch, line style and marker."""
    return {
        "name": name,
        "color": style.color,
        "hatch": HATCHES.index(style.hatch),
        "dash": LINESTYLES.index(style.linestyle),
        "marker": MARKERS.index(style.marker),
    }


def _label_looks(n_labels: int) -> list[dict[str, Any]]:
    """Return the styles of actions, or of states if there are no actions, by number."""
    return [_look(str(number), cluster_style(number)) for number in range(n_labels)]


def _action_looks(result: Segmentation, number: int = 0) -> list[dict[str, Any]]:
    """Return the styles of at least `number` actions, with the names that users gave them."""
    looks = _label_looks(max(number, result.labels.number))
    return [one | {"name": name} for one, name in zip(looks, result.action_names, strict=False)] + looks[
        len(result.action_names) :
    ]


def _state_looks(state_actions: Sequence[int]) -> list[dict[str, Any]]:
    """Return the styles of states, by number: shades of the colour of their action."""
    ranks: Counter[int] = Counter()
    looks = []
    for state, action in enumerate(state_actions):
        looks.append(_look(str(state), shade_style(cluster_style(action), ranks[action])) | {"of": action})
        ranks[action] += 1
    return looks


def _chain_looks(n_chains: int) -> list[dict[str, Any]]:
    """Return the styles of chains, by number. Lines of chains cross, so each chain has its own dash pattern too."""
    looks = [_look(f"chain {number}", cluster_style(_LEGIBLE[number % len(_LEGIBLE)])) for number in range(n_chains)]
    return [one | {"dash": number % len(LINESTYLES)} for number, one in enumerate(looks)]


# Recordings


class Truth(NamedTuple):
    """True labels as numbers (-1 for none), with their names and the inferred label that most of their steps have."""

    paths: list[IntArray]
    names: list[str]
    likely: list[int]

    @classmethod
    def of(cls, known: list[NDArray[Any]], found: IntArray) -> Truth:
        """Return labels of any kind, one array for each recording, as numbers."""
        is_known = ~np.concatenate([is_missing(one) for one in known])
        texts = np.concatenate([one.astype(str) for one in known])[is_known]
        names, numbers = np.unique(texts, return_inverse=True)
        flat = found[is_known]
        likely = [int(np.bincount(flat[numbers == k]).argmax()) for k in range(len(names))]
        labels = np.full(len(is_known), -1)
        labels[is_known] = numbers
        return cls(np.split(labels, np.cumsum([len(one) for one in known])[:-1]), names.tolist(), likely)


def recording_data(result: Segmentation, data: SequenceSet | None) -> dict[str, Any]:
    """Return the data of all charts of a segmentation. Without recordings there are bars of labels but no curves."""
    truth = None if data is None or data.actions is None else Truth.of(data.actions, result.labels.flat)
    found: dict[str, Any] = {"looks": _looks(result, truth), "channels": []}
    found["series"] = [_bars(result, i, truth) for i in range(n_drawn(result))]
    if data is not None:
        found |= _curves_data(result, data.sequences, found["series"])
    if result.rate is not None:
        found["rate"] = result.rate
    parts = {"aligned": _aligned_data(result, data), "cuts": _cuts_data(result), "gallery": _gallery_data(result, data)}
    return _add_traces(found | {name: part for name, part in parts.items() if part}, result.chains)


def n_drawn(result: Segmentation) -> int:
    """Return the number of recordings that have charts."""
    return min(len(result.names), MAX_RECORDINGS)


def steps_per_bin(result: Segmentation) -> int:
    """Return the number of steps that are drawn as one."""
    return _bin_size(int(result.states.starts[n_drawn(result)]), result.n_channels)


def _looks(result: Segmentation, truth: Truth | None) -> dict[str, Any]:
    """Return the styles of states, actions and true labels."""
    if result.actions is None or result.state_actions is None:
        looks = {"state": _label_looks(result.states.number)}
    else:
        looks = {"action": _action_looks(result), "state": _state_looks(result.state_actions.tolist())}
    if truth is not None:
        pairs = zip(truth.names, truth.likely, strict=True)
        looks["truth"] = [_look(name, cluster_style(number)) for name, number in pairs]
    return looks


def _bars(result: Segmentation, i: int, truth: Truth | None) -> dict[str, Any]:
    """Return labels and probabilities of one recording; steps drawn as one get the lowest of their probabilities."""
    kinds = {"action": result.actions, "state": result.states}
    known = {name: labels for name, labels in kinds.items() if labels is not None}
    lanes = {name: _runs_of(labels.paths[i]) for name, labels in known.items()}
    if truth is not None:
        lanes["truth"] = _runs_of(truth.paths[i])
    size = steps_per_bin(result)
    chances: dict[str, str] = {}
    for name in ("state", "action"):
        if name in known and (sure := known[name].probability) is not None:
            chances[name] = packed(_as_bytes(extremes(sure[i], size)[0]))
    for name in ("state", "action"):
        if name in known and (changes := known[name].change_probability) is not None:
            chances[f"change of {name}"] = packed(_as_bytes(extremes(changes[i], size)[1]))
    n_steps = len(result.states.paths[i])
    return {"name": result.names[i], "steps": n_steps, "every": size, "lanes": lanes, "chances": chances}


def _curves_data(result: Segmentation, sequences: list[FloatArray], records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the channels and their ranges, and add the curves to the records of recordings."""
    together, size, names = np.concatenate(sequences), steps_per_bin(result), result.channel_names()
    low, high = np.nanmin(together, axis=0), np.nanmax(together, axis=0)
    for record, values in zip(records, sequences, strict=False):
        least, most = (_as_codes(end, low, high) for end in extremes(values, size))
        record["low"] = [packed(codes) for codes in least.T]
        if size > 1:
            record["high"] = [packed(codes) for codes in most.T]
    ends = zip(names, low.tolist(), high.tolist(), strict=True)
    found: dict[str, Any] = {
        "channels": [{"name": name, "low": least, "high": most} for name, least, most in ends],
        "shown": list(range(min(len(names), MAX_CHANNELS))),
    }
    if len(names) > 1:
        dims = position_dims(result)
        found["space"] = {"dims": dims, "equal": aspect_of(together[:, dims]) == "equal"}
    return found


def _aligned_data(result: Segmentation, data: SequenceSet | None) -> dict[str, Any] | None:
    """Return the maps of the first positions of all recordings into one frame; None if there are no positions.

    A recorded place x is ``matrix @ (x - place)`` in the frame of the reference: a few numbers for each recording,
    instead of all its steps a second time.
    """
    dims, table = first_position(result), result.frame_table
    if data is None or dims is None or table is None:
        return None
    maps, steps = position_maps(table), aligned_places(result, data, dims)
    together = np.concatenate(steps)
    low, high = np.nanmin(together, axis=0), np.nanmax(together, axis=0)
    return {
        "dims": dims,
        "ranges": [{"low": float(a), "high": float(b)} for a, b in zip(low, high, strict=True)],
        "maps": [{"matrix": _rounded(matrix), "place": _rounded(place)} for matrix, place in maps],
    }


def _gallery_data(result: Segmentation, data: SequenceSet | None) -> list[dict[str, Any]] | None:
    """Return for each action the paths of its segments, in one frame where frames are known, and the most typical one.

    Paths begin at one place, have as many points each, and are seen from where they are widest.
    """
    actions, dims = result.actions, position_dims(result)
    if data is None or actions is None or len(dims) < 2:
        return None
    aligned, found = aligned_places(result, data, dims), []
    for action in range(actions.number):
        segments = [one for one in actions.segments if one.label == action and one.end - one.start > 1]
        if not segments:
            continue
        chosen = [segments[i] for i in np.unique(np.linspace(0, len(segments) - 1, _MAX_OVERLAID).astype(int))]
        paths = np.stack([_resampled(aligned[one.series][one.start : one.end]) for one in chosen])
        paths = paths - paths[:, :1]
        _, _, axes = np.linalg.svd(paths.reshape(-1, paths.shape[2]), full_matrices=False)
        flat = paths @ axes[:2].T
        flat = flat - flat.min(axis=(0, 1))
        width, height = flat.max(axis=(0, 1)).tolist()
        found.append(
            {
                "action": action,
                "paths": [_rounded(path) for path in flat],
                "typical": _rounded(flat[_most_typical(flat)]),
                "width": float(f"{width:.{_DIGITS}g}"),
                "height": float(f"{height:.{_DIGITS}g}"),
                "words": _lengths_in_words(result, segments),
            }
        )
    return found


def _most_typical(paths: FloatArray) -> int:
    """Return which of several paths, (n_paths, n_points, n_dims), is nearest to all others.

    Their mean would do for a reach, but of a motion that goes back and forth it is a point.
    """
    distances = np.sqrt(((paths[:, None] - paths) ** 2).sum(axis=(2, 3)))
    return int(distances.sum(axis=1).argmin())


def _resampled(path: FloatArray) -> FloatArray:
    """Return a path resampled to `_N_POINTS` points evenly spaced in time, with missing values interpolated."""
    times = np.linspace(0, len(path) - 1, _N_POINTS)
    columns = []
    for values in path.T:
        known = np.flatnonzero(np.isfinite(values))
        columns.append(np.interp(times, known, values[known]) if len(known) else np.zeros(_N_POINTS))
    return np.stack(columns, axis=1)


def _lengths_in_words(result: Segmentation, segments: list[Segment]) -> str:
    """Return a sentence on the number of segments, the number of recordings they are in, and their lengths."""
    lengths = np.array([one.end - one.start for one in segments]) / (result.rate or 1.0)
    least, median, most = (f"{value:.3g}" for value in (lengths.min(), np.median(lengths), lengths.max()))
    unit = "steps" if result.rate is None else "s"
    where = len({one.series for one in segments})
    return (
        f"{number_of(len(segments), 'segment')} in {number_of(where, 'recording')}; median length {median} {unit} "
        f"({least} to {most})."
    )


def _rounded(values: Any) -> Any:
    return [_rounded(value) if np.ndim(value) else float(f"{value:.{_DIGITS}g}") for value in values]


def _cuts_data(result: Segmentation) -> dict[str, Any] | None:
    """Return the action of every state for each number of actions, with styles; None if there is only one number.

    Actions are numbered after those that were inferred, as far as they have steps in common, so that colours stay.
    """
    n_states, actions = result.states.number, result.actions
    if result.merges is None or actions is None or n_states < 2:
        return None
    _, firsts = np.unique(result.states.flat, return_index=True)
    cuts = [
        named_after(actions.flat, np.concatenate(result.actions_at(k)))[firsts].tolist() for k in range(1, n_states + 1)
    ]
    n_looks = max(actions.number, *(max(cut) + 1 for cut in cuts))
    return {"inferred": actions.number, "actions": cuts, "looks": _action_looks(result, n_looks)}


# Items


def partition_data(result: Partition, name_of: Callable[[int], str]) -> dict[str, Any]:
    """Return the data of all charts of a partition; `name_of` returns the name of an item."""
    looks = [_look(str(cluster_number(label)), cluster_style(label)) for label in range(result.n_clusters)]
    found: dict[str, Any] = {"looks": {"cluster": looks}}
    found |= {name: _matrix_data(result, matrix, name_of) for name, matrix in pair_matrices(result).items()}
    if result.embedding is not None:
        found["space"] = _points_data(result, result.embedding, name_of)
    return _add_traces(found, result.chains)


def pair_matrices(result: Partition) -> dict[str, FloatArray]:
    """Return the matrices of all pairs that are known."""
    known = {"similarity": result.similarity, "coclustering": result.coclustering}
    return {name: matrix for name, matrix in known.items() if matrix is not None}


def _matrix_data(result: Partition, matrix: FloatArray, name_of: Callable[[int], str]) -> dict[str, Any]:
    """Return a matrix of all pairs, sorted by cluster."""
    order = np.argsort(result.labels, kind="stable")
    cells = _block_means(matrix[np.ix_(order, order)], MAX_SIDE)
    return {
        "side": len(cells),
        "every": -(-len(matrix) // MAX_SIDE),
        "cells": packed(_as_bytes(cells)),
        "items": [name_of(i) for i in order],
        "clusters": _runs_of(cluster_number(result.labels[order])),
    }


def _points_data(result: Partition, embedding: FloatArray, name_of: Callable[[int], str]) -> dict[str, Any]:
    """Return the first three coordinates of the items, or of an even selection of very many items."""
    some = np.unique(np.linspace(0, len(result.labels) - 1, MAX_DOTS).astype(int))
    points = embedding[some, :3]
    low, high = points.min(axis=0), points.max(axis=0)
    return {
        "names": [f"coordinate {dim + 1}" for dim in range(points.shape[1])],
        "low": low.tolist(),
        "high": high.tolist(),
        "places": [packed(codes) for codes in _as_codes(points, low, high).T],
        "labels": result.labels[some].tolist(),
        "items": [name_of(i) for i in some],
    }


# Chains


def _add_traces(data: dict[str, Any], chains: Chains | None) -> dict[str, Any]:
    """Return the data of charts with the traces of chains, if there are any."""
    if chains is None:
        return data
    traces = [
        _trace(title, chains.trace[name], chains.n_burn) for name, title in LABEL_FREE.items() if name in chains.trace
    ]
    return data | {"looks": data["looks"] | {"chain": _chain_looks(chains.n_chains)}, "traces": traces}


def _trace(title: str, values: FloatArray, n_burn: int) -> dict[str, Any]:
    """Return one traced number, (n_chains, n_sweeps), with its range over all but the first few sweeps.

    Chains start anywhere: drawn over the whole range, all that matters would be a flat line. Numbers outside of it have
    the first or the last code, and all others have none of these two.
    """
    n_sweeps = values.shape[1]
    settled = values[:, min(max(n_burn // 4, 1), n_sweeps - 1) :]
    drawn = float(np.nanmin(settled)), float(np.nanmax(settled))
    edge = _EDGE * ((drawn[1] - drawn[0]) or 1.0)
    low, high = drawn[0] - edge, drawn[1] + edge
    size = -(-n_sweeps // _MAX_BINS)
    lows, highs = extremes(values.T, size)
    return {
        "title": title,
        "low": low,
        "high": high,
        "drawn": {"low": drawn[0], "high": drawn[1]},
        "sweeps": n_sweeps,
        "burn": n_burn,
        "every": size,
        "chains": [
            {"low": packed(_as_codes(least, low, high)), "high": packed(_as_codes(most, low, high))}
            for least, most in zip(lows.T, highs.T, strict=True)
        ],
    }


# Encoding of numbers: thinned out to what can be seen, and written with 8 or 16 bits each


_MAX_VALUES = 1_000_000  # of curves, in one page: 2.7 MB as text
_MISSING = 65_535  # the code of what was not measured; the codes below are numbers


def _bin_size(n_steps: int, n_dims: int, most: int = _MAX_VALUES) -> int:
    """Return the number of steps to draw as one such that at most `most` numbers are drawn.

    Examples
    --------
    >>> _bin_size(35_000, 7), _bin_size(1_000_000, 7)
    (1, 14)
    """
    return 1 if n_steps * n_dims <= most else -(-2 * n_steps * n_dims // most)


def extremes(values: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
    """Return minimum and maximum of every `size` values along the first axis, without missing values.

    Examples
    --------
    >>> extremes(np.array([3.0, 1.0, 2.0, 5.0, 4.0]), 2)
    (array([1., 2., 4.]), array([3., 5., 4.]))
    """
    firsts = np.arange(0, len(values), size)
    return np.fmin.reduceat(values, firsts, axis=0), np.fmax.reduceat(values, firsts, axis=0)


def _runs_of(labels: IntArray) -> dict[str, list[int]]:
    """Return the first step and the label of every run of equal labels.

    Examples
    --------
    >>> _runs_of(np.array([4, 4, 0, 0, 0]))
    {'starts': [0, 2], 'labels': [4, 0]}
    """
    starts = np.flatnonzero(np.diff(labels, prepend=labels[0] - 1))
    return {"starts": starts.tolist(), "labels": labels[starts].tolist()}


def _as_codes(values: FloatArray, low: FloatArray | float, high: FloatArray | float) -> NDArray[np.uint16]:
    """Return numbers scaled to integers from 0 (`low`) to 65,534 (`high`); missing ones are 65,535."""
    width = np.where(np.equal(high, low), 1.0, np.subtract(high, low))
    known = np.isfinite(values)
    codes = np.round((np.where(known, values, low) - low) / width * (_MISSING - 1))
    return np.where(known, np.clip(codes, 0, _MISSING - 1), _MISSING).astype(np.uint16)


def _as_bytes(probabilities: FloatArray) -> NDArray[np.uint8]:
    """Return numbers from 0 to 1 scaled to integers from 0 to 255."""
    return np.round(255 * np.clip(probabilities, 0.0, 1.0)).astype(np.uint8)


def packed(codes: NDArray[Any]) -> str:
    """Return integers as base64 text, little-endian."""
    return b64encode(codes.astype(codes.dtype.newbyteorder("<")).tobytes()).decode("ascii")


def _block_means(matrix: FloatArray, most: int) -> FloatArray:
    """Return the means of blocks of a square matrix, at most `most` along each side.

    Examples
    --------
    >>> _block_means(np.arange(9.0).reshape(3, 3), 2)
    array([[2. , 3.5],
           [6.5, 8. ]])
    """
    size = -(-len(matrix) // most)
    firsts = np.arange(0, len(matrix), size)
    counts = np.diff(firsts, append=len(matrix))
    sums = np.add.reduceat(np.add.reduceat(matrix, firsts, axis=0), firsts, axis=1)
    return np.asarray(sums / np.outer(counts, counts))
