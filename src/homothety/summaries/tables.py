"""Results as tables and as JSON; missing values are None."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.metrics import ari, f_measure, nmi, purity
from homothety.phrases import AXES as VOXEL_AXES
from homothety.phrases import cluster_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from homothety.arrays import FloatArray, IntArray
    from homothety.datasets import MatrixSet
    from homothety.summaries.frames import FrameTable
    from homothety.summaries.paths import BoundaryInterval
    from homothety.summaries.result import Labels, Partition, Result, Segmentation
    from homothety.summaries.transforms import StateTransform

    Row: TypeAlias = Mapping[str, Any]

_DIGITS = 4  # of probabilities
_SIGNIFICANT = 6  # digits of numbers of transformations and frames
_ROUNDING = 1e-12  # numbers of frames below are rounding errors
_AXES = "xyz"
_NOT_DETERMINED = "rotation about its line"  # of a recording on a straight line
BOUNDARY_COLUMNS = ("series", "step", "low", "high", "share")


def segmentation_tables(result: Segmentation) -> dict[str, Iterable[Row]]:
    """Return the tables of a segmentation by name: segments, changes, labels, and those of actions and frames."""
    found: dict[str, Iterable[Row]] = {
        "segments": _segment_rows(result),
        "boundaries": _boundary_rows(result, result.states),
        "labels": _label_rows(result),
    }
    if result.actions is not None:
        found["action_segments"] = _action_segment_rows(result, result.actions)
        found["action_boundaries"] = _boundary_rows(result, result.actions)
    if result.transforms is not None:
        found["transforms"] = _transform_rows(result, result.transforms)
    if result.frame_table is not None:
        found["frames"] = [
            _flat_frame(row) | fits
            for row, fits in zip(_frame_records(result.frame_table), _fits_of(result), strict=True)
        ]
    return found


def _fits_of(result: Segmentation) -> list[dict[str, Any]]:
    """Return for each recording whether it fits a model that was applied to it, and its score."""
    if result.scores is None or result.fits is None:
        return [{} for _ in result.names]
    pairs = zip(result.fits.tolist(), result.scores.tolist(), strict=True)
    return [{"fits": fits, "score": number(score)} for fits, score in pairs]


def _segment_rows(result: Segmentation) -> list[Row]:
    """Return the segments of one state each: recording, start, end (not included), state and probability.

    Where actions are known, each segment also has the action that most of its steps have.
    """
    rows: list[Row] = []
    for one in result.states.segments:
        row: dict[str, Any] = {
            "series": result.names[one.series],
            "start": one.start,
            "end": one.end,
            "state": one.label,
            "probability": _rounded(one.probability),
        }
        row |= _in_seconds(result, start=one.start, end=one.end)
        if result.actions is not None and result.actions.probability is not None:
            steps = slice(one.start, one.end)
            actions = result.actions.paths[one.series][steps]
            action = int(np.bincount(actions).argmax())
            sure = result.actions.probability[one.series][steps][actions == action]
            row |= {"action": action, "action_probability": _rounded(float(sure.mean()))}
        rows.append(row)
    return rows


def _action_segment_rows(result: Segmentation, actions: Labels) -> list[Row]:
    """Return the segments of one action each: recording, start, end (not included), action and probability."""
    return [
        {
            "series": result.names[one.series],
            "start": one.start,
            "end": one.end,
            "action": one.label,
            **({"name": result.label_name(one.label)} if result.action_names else {}),
            "probability": _rounded(one.probability),
        }
        | _in_seconds(result, start=one.start, end=one.end)
        for one in actions.segments
    ]


def _boundary_rows(result: Segmentation, labels: Labels) -> list[Row]:
    """Return all changes with their intervals; there are no intervals without draws."""
    if labels.boundaries is None:
        inner = [one for one in labels.segments if one.start > 0]
        return [
            dict(zip(BOUNDARY_COLUMNS, (result.names[one.series], one.start, None, None, None), strict=True))
            for one in inner
        ]
    return [_boundary_row(result, one) for one in labels.boundaries]


def _boundary_row(result: Segmentation, one: BoundaryInterval) -> Row:
    row = {**one._asdict(), "series": result.names[one.series], "share": _rounded(one.share)}
    return row | _in_seconds(result, step=one.step, low=one.low, high=one.high)


def _label_rows(result: Segmentation) -> Iterator[Row]:
    """Yield label, probability and probability of a change of every step."""
    kinds = {"": result.states, "action_": result.actions}
    for i, (name, path) in enumerate(zip(result.names, result.states.paths, strict=True)):
        columns: dict[str, Any] = {"series": [name] * len(path), "step": range(len(path))}
        for prefix, labels in kinds.items():
            if labels is None:
                continue
            columns[prefix.rstrip("_") or "state"] = labels.paths[i].tolist()
            for column, known in (
                ("probability", labels.probability),
                ("change_probability", labels.change_probability),
            ):
                if known is not None:
                    columns[prefix + column] = np.round(known[i], _DIGITS).tolist()
        yield from (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


def _in_seconds(result: Segmentation, **steps: float | None) -> dict[str, float | None]:
    """Return times in seconds by the names of those in steps, from the first step of a recording; {} without a rate."""
    if result.rate is None:
        return {}
    return {f"{name}_s": None if step is None else round(step / result.rate, 6) for name, step in steps.items()}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


def number(value: float) -> float | None:
    """Return a number with as many digits as tables have, None for one that is not finite."""
    return float(f"{value:.{_SIGNIFICANT}g}") if np.isfinite(value) else None


# Transformations of states


def units_of_transforms(result: Segmentation) -> str:
    """Return the units of scales and translations: of the recordings, or of the prepared recordings."""
    factors = result.preparation.factors
    return "recordings" if (factors == factors[0]).all() else "prepared recordings"


def _transform_rows(result: Segmentation, transforms: list[StateTransform]) -> list[Row]:
    """Return one row for each state, with columns of its own for every dimension of the translation."""
    dims = result.dims("{}")
    names = dims if len(set(dims)) == len(dims) else [str(dim) for dim in range(len(dims))]
    rows: list[Row] = []
    for record in map(transform_record, transforms):
        ends = {end: record.pop(f"translation{end}") for end in ("", "_low", "_high")}
        moves = {f"translation_{name}{end}": ends[end][dim] for dim, name in enumerate(names) for end in ends}
        columns = list(record.items())
        place = list(record).index("orientation") + 1
        rows.append(dict(columns[:place]) | moves | dict(columns[place:]))
    return rows


def transform_record(one: StateTransform) -> dict[str, Any]:
    """Return the transformation of a state for JSON."""
    scale, mismatch = (one.scale, one.scale_low, one.scale_high), (one.mismatch, one.mismatch_low, one.mismatch_high)
    if np.isinf(one.scale_high):  # too few observations for a covariance: what one has is no size and no shape
        scale = mismatch = (np.nan,) * 3
    moves = np.stack([one.translation, one.translation_low, one.translation_high], axis=1).tolist()
    moves_by_end = zip(*(_with_interval(*move) for move in moves), strict=True)
    return {
        "state": one.state,
        "action": one.action,
        "reference": one.reference,
        **dict(zip(("scale", "scale_low", "scale_high"), _with_interval(*scale), strict=True)),
        "angle": number(one.angle),
        "rotation_within": number(one.rotation_within),
        "orientation": one.orientation,
        **dict(zip(("translation", "translation_low", "translation_high"), map(list, moves_by_end), strict=True)),
        **dict(zip(("mismatch", "mismatch_low", "mismatch_high"), _with_interval(*mismatch), strict=True)),
        "observations": number(one.observations),
        "agreement": number(one.agreement),
        "support": number(one.support),
    }


def _with_interval(value: float, low: float, high: float) -> list[float | None]:
    """Return a number and the ends of its interval, or None for both ends if one is infinite."""
    ends = (low, high) if np.isfinite([low, high]).all() else (np.nan, np.nan)
    return [number(one) for one in (value, *ends)]


# Frames of recordings


def _frame_records(table: FrameTable) -> list[dict[str, Any]]:
    """Return the frame of every recording for JSON; angles in degrees, intervals of 90 %."""
    sizes, places, zeros = _size_names(table), place_names(table), _zero_names(table)
    return [
        {
            "recording": one.name,
            "reference": one.is_reference,
            "shared_with": [table.names[other] for other in one.shared_with],
            "turned_by": _frame_number(one.angle),
            "turned_within": _frame_number(one.angle_error),
            "rotation": [[_frame_number(entry) for entry in row] for row in one.rotation.tolist()],
            "sizes": _named(sizes, one.sizes, one.size_intervals),
            "moved": _named(places, one.places, one.place_intervals),
            "zeros": _named(zeros, one.zeros, one.zero_intervals),
            "agreement": _frame_number(one.agreement),
            "not_determined": _NOT_DETERMINED if one.free_axis is not None else "",
        }
        for one in table.rows
    ]


def _flat_frame(record: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a table in which every number has a column of its own."""
    return {
        "recording": record["recording"],
        "reference": record["reference"],
        "shared_with": "; ".join(record["shared_with"]),
        "turned_by": record["turned_by"],
        "turned_within": record["turned_within"],
        **_columns("size", record["sizes"]),
        **_columns("moved", record["moved"]),
        **_columns("zero", record["zeros"]),
        "agreement": record["agreement"],
        "not_determined": record["not_determined"],
    }


def _columns(quantity: str, numbers: dict[str, dict[str, float | None]]) -> dict[str, float | None]:
    """Return numbers with their intervals by the names of columns: moved_x, moved_x_low, moved_x_high."""
    return {
        "_".join([quantity, *name.split(), *([] if end == "value" else [end])]): value
        for name, ends in numbers.items()
        for end, value in ends.items()
    }


def _size_names(table: FrameTable) -> list[str]:
    """Return the names of blocks with a size: position, vector and velocity, numbered if there are several.

    Velocities that the model has computed come last.
    """
    kinds = table.blocks.kinds
    return _numbered(["velocity" if b >= table.n_recorded else _kind(kinds[b]) for b in table.blocks.sized])


def place_names(table: FrameTable) -> list[str]:
    """Return the names of coordinates of places: x, y and z, after the name of the block if there are several."""
    names = _numbered([_kind("point")] * len(table.blocks.points))
    axes = _AXES[: table.blocks.dim]
    return [f"{name} {axis}" if len(names) > 1 else axis for name in names for axis in axes]


def _zero_names(table: FrameTable) -> list[str]:
    """Return the names of coordinates of the zeros of recorded vectors: vector x, vector y and so on."""
    names = _numbered(["vector" for b in table.blocks.shifted if table.blocks.kinds[b] == "vector"])
    return [f"{name} {axis}" for name in names for axis in _AXES[: table.blocks.dim]]


def _kind(kind: str) -> str:
    return {"point": "position"}.get(kind, kind)


def _numbered(words: list[str]) -> list[str]:
    """Return words, with numbers added to those that occur several times.

    Examples
    --------
    >>> _numbered(["position", "velocity", "position"])
    ['position', 'velocity', 'position 2']
    """
    seen: Counter[str] = Counter()
    numbered = []
    for word in words:
        seen[word] += 1
        numbered.append(word if seen[word] == 1 else f"{word} {seen[word]}")
    return numbered


def _named(names: list[str], values: FloatArray, intervals: FloatArray) -> dict[str, dict[str, float | None]]:
    rows = np.column_stack([values.ravel(), intervals.reshape(-1, 2)])
    return {
        name: dict(zip(("value", "low", "high"), map(_frame_number, row), strict=True))
        for name, row in zip(names, rows, strict=True)
    }


def _frame_number(value: float) -> float | None:
    return 0.0 if abs(value) < _ROUNDING else number(value)


# Partitions


def partition_rows(result: Partition, data: MatrixSet | None = None) -> Iterator[Row]:
    """Yield one row for each item: number, cluster, how sure, and true class and voxel where `data` has them.

    How sure is called agreement where it is a share of kept sweeps, and probability where it is one given the clusters.
    """
    n_items = len(result.labels)
    sure = "agreement" if result.placed_probability is None else "probability"
    columns: dict[str, Sequence[Any] | IntArray] = {
        "index": np.arange(n_items).tolist() if result.numbers is None else result.numbers.tolist(),
        "label": cluster_number(result.labels).tolist(),
        sure: [""] * n_items if result.probability is None else [f"{one:.4f}" for one in result.probability],
    }
    if data is not None and data.labels is not None:
        columns["truth"] = data.labels.tolist()
    if data is not None and data.positions is not None:
        columns.update(zip(VOXEL_AXES, data.positions.T.tolist(), strict=False))
    return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


# Summaries


def _summarise(result: Result) -> dict[str, Any]:
    """Return provenance and agreement of the chains of a result, for JSON."""
    chains, made = result.chains, result.provenance
    settings = {name: value for name, value in made.settings.items() if name != "random_state"}
    return {
        "source": made.source,
        "model": made.model,
        "chains_agree": None if chains is None else chains.verdict.agree,
        "interrupted": result.interrupted,
        "sweeps_kept": None if chains is None else chains.n_kept,
        "seconds": None if made.seconds is None else round(made.seconds, 3),
        "seed": made.seed,
        "settings": settings,
        "versions": made.versions,
    }


def summarise_segmentation(result: Segmentation) -> dict[str, Any]:
    """Return a short summary of a segmentation, for JSON."""
    found: dict[str, Any] = {
        "series": len(result.names),
        "steps": len(result.states.flat),
        "dimensions": result.n_channels,
        "rate": result.rate,
        "states": result.states.number,
        "actions": None if result.actions is None else result.actions.number,
        "segments_found": len(result.states.segments),
        "stride": result.stride,
        "least_stay": result.least_stay,
        "step_weights": result.step_weights,
        "findings": list(result.findings),
        **_summarise(result),
    }
    found["settings"] |= {"preprocessing": result.preparation.to_record()["settings"]}
    if result.transforms is not None:
        found["transforms"] = {
            "dimensions": list(result.dims("{}")),
            "units_of": units_of_transforms(result),
            "states": [transform_record(one) for one in result.transforms],
        }
    if result.blocks is not None:
        found["blocks"] = {"kinds": list(result.blocks.kinds), "text": result.blocks.sentence}
    if result.frame_table is not None:
        found["frames"] = _frame_records(result.frame_table)
    if result.scores is not None and result.fits is not None:
        found["fits"] = [{"recording": name, **fits} for name, fits in zip(result.names, _fits_of(result), strict=True)]
    if result.merges is not None and result.merge_gains is not None:
        found["merges"] = [
            {"states": pair, "gain": round(float(gain), _DIGITS)}
            for pair, gain in zip(result.merges.tolist(), result.merge_gains, strict=True)
        ]
    return found


def describe_states(result: Segmentation) -> dict[str, Any]:
    """Return means and covariances of the states in the units of the recordings, and how they follow each other."""
    # An autoregressive state is a motion and has no place.
    order, means = result.parameters.order, result.means
    kind, centres = ("mean", means) if means is not None else ("coefficients", result.parameters.coefficients)
    states: list[dict[str, Any]] = [
        {
            "state": k,
            "steps": int(steps),
            "series": [name for name, visits in zip(result.names, result.states.active[:, k], strict=True) if visits],
            kind: centres[k].tolist(),
            "covariance": result.covariances[k].tolist(),
        }
        for k, steps in enumerate(result.states.counts)
    ]
    found = {
        "dimensions": list(result.dims("{}")),
        "means_are_relative_to_each_series": result.preparation.means_are_relative,
        "order": order,
        "states": states,
        "transition_probs": result.parameters.transition.tolist(),
    }
    if result.actions is None or result.state_actions is None:
        return found
    for state, action in zip(states, result.state_actions.tolist(), strict=True):
        state["action"] = action
    found["actions"] = _describe_actions(result)
    if result.coaction is not None:
        found["coaction_probs"] = np.round(result.coaction, _DIGITS).tolist()
    return found


def _describe_actions(result: Segmentation) -> list[dict[str, Any]]:
    """Return the actions: their states with the share of their steps, recordings, steps and mean probability."""
    actions, steps = result.actions, result.steps_by_action
    if actions is None or steps is None:
        return []
    shares = steps / np.maximum(steps.sum(axis=1, keepdims=True), 1)
    found = []
    for action in range(actions.number):
        own = actions.flat == action
        sure = float(actions.sure[own].mean()) if actions.sure is not None and own.any() else None
        states = np.flatnonzero(steps[:, action])
        found.append(
            {
                "action": action,
                **({"name": result.label_name(action)} if result.action_names else {}),
                "states": states.tolist(),
                "shares_of_states": shares[states, action].round(_DIGITS).tolist(),
                "steps": int(steps[:, action].sum()),
                "series": [name for name, has in zip(result.names, actions.active[:, action], strict=True) if has],
                "probability": _rounded(sure),
            }
        )
    return found


_METRICS = {"NMI": nmi, "purity": purity, "F": f_measure, "ARI": ari}


def agreement_with_labels(result: Partition, data: MatrixSet | None) -> dict[str, float] | None:
    """Return how well clusters agree with the labels of a set, by name of the measure; None without labels."""
    if data is None or data.labels is None:
        return None
    return {name: metric(data.labels, result.labels) for name, metric in _METRICS.items()}


def summarise_partition(result: Partition, data: MatrixSet | None = None) -> dict[str, Any]:
    """Return what a partition found, in short, for JSON."""
    numbers = np.arange(len(result.labels)) if result.numbers is None else result.numbers
    image = None
    if data is not None and data.grid is not None:
        image = {"grid": list(data.grid), "affine": None if data.affine is None else data.affine.tolist()}
    return {
        result.items: len(result.labels),
        "dimensions": result.n_dims,
        "image": image,
        "spatial": result.spatial,
        "clusters": result.n_clusters,
        "sizes": np.bincount(result.labels).tolist(),
        "one_cluster_probability": result.one_cluster_probability,
        "nearly_singular": [] if result.nearly_singular is None else numbers[result.nearly_singular].tolist(),
        "metrics": agreement_with_labels(result, data),
        **_summarise(result),
    }
