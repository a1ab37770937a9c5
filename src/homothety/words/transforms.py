"""What is told of the transformations of states: rows of a table, and words."""

from __future__ import annotations

from math import floor, log10
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.words import SURE, enumerated
from homothety.words.markdown import bullet_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.estimators.actions import ICSCHMM
    from homothety.summaries.transforms import StateTransform

FILE = "transforms.csv"
TITLE = "How the states of an action differ"

MAX_SENTENCES = 20
MAX_MOVES = 3  # dimensions named in a sentence

NO_PLACES = "autoregressive states have no place, and no translation."


class Estimate(NamedTuple):
    """A number and the ends of its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def has_interval(self) -> bool:
        """Whether anything is known of how sure it is."""
        return bool(np.isfinite([self.low, self.high]).all())

    def holds(self, value: float) -> bool:
        """Say whether a value is inside the interval."""
        return self.low <= value <= self.high

    def as_texts(self) -> list[str]:
        """Return the value and its interval with as many digits as are known, but never as if nothing were left.

        Examples
        --------
        >>> Estimate(1.9234, 1.82, 2.04).as_texts(), Estimate(0.0231, 0.0123, 0.31).as_texts()
        (['1.9', '1.8', '2.0'], ['0.02', '0.01', '0.31'])
        """
        shown = list(self) if self.has_interval else [self.value]
        doubt = (self.high - self.low) / 2 if self.has_interval else abs(self.value) / 10
        smallest = min((size for size in (doubt, *map(abs, shown)) if size > 0), default=1.0)
        decimals = min(max(-floor(log10(smallest)), 0), 12)
        return [f"{number:.{decimals}f}" for number in shown]


def rows(model: ICSCHMM) -> list[dict[str, Any]]:
    """Return the transformation of every state as what JSON can hold: None is what is not known."""
    return [_row(one) for one in model.transforms_]


def _row(one: StateTransform) -> dict[str, Any]:
    scale, mismatch = _scale(one), Estimate(one.mismatch, one.mismatch_low, one.mismatch_high)
    if np.isinf(one.scale_high):  # too few observations for a covariance: what one has is no size and no shape
        scale = mismatch = Estimate(np.nan, np.nan, np.nan)
    moves = zip(*map(_numbers, _moves(one)), strict=True)
    return {
        "state": one.state,
        "action": one.action,
        "reference": one.reference,
        **dict(zip(("scale", "scale_low", "scale_high"), _numbers(scale), strict=True)),
        "angle": _number(one.angle),
        "rotation_within": _number(one.rotation_within),
        "orientation": one.orientation,
        **dict(zip(("translation", "translation_low", "translation_high"), map(list, moves), strict=True)),
        **dict(zip(("mismatch", "mismatch_low", "mismatch_high"), _numbers(mismatch), strict=True)),
        "observations": _number(one.observations),
        "probability": _number(one.probability),
        "support": _number(one.support),
    }


def _scale(one: StateTransform) -> Estimate:
    return Estimate(one.scale, one.scale_low, one.scale_high)


def _moves(one: StateTransform) -> list[Estimate]:
    """Return the translation, dimension by dimension."""
    ends = np.stack([one.translation, one.translation_low, one.translation_high], axis=1)
    return [Estimate(*move) for move in ends.tolist()]


def _numbers(estimate: Estimate) -> list[float | None]:
    """Return a number and its interval, which has no ends if it is infinite."""
    ends = estimate[1:] if estimate.has_interval else (np.nan, np.nan)
    return [_number(number) for number in (estimate.value, *ends)]


def _number(number: float) -> float | None:
    return float(f"{number:.6g}") if np.isfinite(number) else None


def describe(model: ICSCHMM, channels: Sequence[str]) -> dict[str, Any]:
    """Return the transformations of all states with what their numbers are of, as what JSON can hold."""
    dims = list(model.preprocessing_.name_dims(channels))
    return {"dimensions": dims, "units_of": units(model), "states": rows(model)}


def flat_rows(model: ICSCHMM, channels: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of a table, in which every dimension of the translation has columns of its own."""
    dims = model.preprocessing_.name_dims(channels)
    columns = dims if len(set(dims)) == len(dims) else [str(dim) for dim in range(len(dims))]
    return [_flat(row, columns) for row in rows(model)]


def _flat(row: dict[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    ends = {end: row.pop(f"translation{end}") for end in ("", "_low", "_high")}
    moves = {f"translation_{name}{end}": ends[end][dim] for dim, name in enumerate(columns) for end in ends}
    names = list(row)
    place = names.index("orientation") + 1
    return {name: row[name] for name in names[:place]} | moves | {name: row[name] for name in names[place:]}


def units(model: ICSCHMM) -> str:
    """Return the units of scales and translations: of the recordings, or of the prepared series."""
    factors = model.preprocessing_.factors
    return "recordings" if (factors == factors[0]).all() else "prepared recordings"


def section(model: ICSCHMM, channels: Sequence[str], file: str = FILE) -> list[str]:
    """Return a part of a page that says how the states of each action differ; nothing if no action has two.

    `file` is the name of the table with all numbers.
    """
    turned = [one for one in model.transforms_ if not one.is_reference]
    if not turned:
        return []
    dims, directed = model.preprocessing_.name_dims(channels), model.emission != "diagonal"
    said = [sentence(one, dims, directed=directed) for one in turned[:MAX_SENTENCES]]
    n_left = len(turned) - len(said)
    more = [f"{n_left} more are in `{file}`."] * (n_left > 0)
    return [f"## {TITLE}", _introduction(model), bullet_list([*said, *more]), _remarks(model, file)]


def sentence(one: StateTransform, dims: Sequence[str], *, directed: bool = True) -> str:
    """Return in plain words what takes the reference of its action to a state.

    Parameters
    ----------
    one : StateTransform
    dims : sequence of str
        What the dimensions are called.
    directed : bool
        Whether states could have been found to lie in different directions.
    """
    doubt = f" That they are one action has probability {one.probability:.2f}." * (one.probability < SURE)
    if np.isinf(one.scale_high):
        grouped = f"State {one.state} is grouped with state {one.reference}"
        return f"{grouped}, but one of the two has too few observations to tell how they differ.{doubt}"
    parts = [part for part in (_turned(one) * directed, _resized(one), _moved(one, dims)) if part]
    comma = "," * (not parts[0].startswith("turned"))
    same = f"State {one.state} is state {one.reference}{comma} {enumerated(parts)}."
    return f"{same}{_what_is_unknown(one, directed=directed)}{doubt}"


def _what_is_unknown(one: StateTransform, *, directed: bool) -> str:
    undirected = " It has no direction that could be told." * (directed and one.orientation == "none")
    if np.isfinite(one.scale_high):
        return undirected
    return f"{undirected} How sure this is cannot be told: no kept sweep has both states as they are reported."


def _turned(one: StateTransform) -> str:
    if one.orientation == "none":
        return ""
    within = f" (within {_degrees(one.rotation_within)}°)" * bool(np.isfinite(one.rotation_within))
    partly = " as far as its directions can be told" * (one.orientation == "partial")
    return f"turned by {_degrees(one.angle)}°{within}{partly}"


def _degrees(angle: float) -> str:
    return f"{angle:.0f}" if angle >= 1 else f"{angle:.1g}"


def _resized(one: StateTransform) -> str:
    scale = _scale(one)
    value, *ends = scale.as_texts()
    if not scale.has_interval:
        return f"{value} times as large"
    if scale.holds(1.0):
        return f"about as large ({ends[0]} to {ends[1]} times)"
    return f"{value} times as large ({ends[0]} to {ends[1]})"


def _moved(one: StateTransform, dims: Sequence[str]) -> str:
    """Return where the mean has moved for sure, the farthest first; autoregressive states have no mean."""
    if np.isnan(one.translation).any():
        return ""
    moves = sorted(zip(_moves(one), dims, strict=True), key=lambda pair: -abs(pair[0].value))
    sure = [(move, dim) for move, dim in moves if not (move.has_interval and move.holds(0.0))]
    if not sure:
        return "not moved, as far as can be told"
    named = [_along(dim, move) for move, dim in sure[:MAX_MOVES]]
    n_left = len(sure) - len(named)
    if n_left == 0:
        return f"moved by {enumerated(named)}"
    return f"moved by {', '.join(named)} and less along {n_left} more dimension{'s' * (n_left > 1)}"


def _along(dim: str, move: Estimate) -> str:
    value, *ends = move.as_texts()
    return f"{value} along {dim}" + f" ({' to '.join(ends)})" * move.has_interval


def _introduction(model: ICSCHMM) -> str:
    counts = np.bincount([one.action for one in model.transforms_])
    alone = [str(one.state) for one in model.transforms_ if counts[one.action] == 1]
    single = f" Alone in {'its action' if len(alone) == 1 else 'their actions'}, and so not compared: {_states(alone)}."
    return (
        "Every state is compared with the one of its action that has most steps. In brackets are 95 % intervals."
        f"{single * bool(alone)}"
    )


def _states(numbers: list[str]) -> str:
    return f"state{'s' * (len(numbers) > 1)} {enumerated(numbers)}"


def _remarks(model: ICSCHMM, file: str) -> str:
    """Return what holds for all sentences."""
    where = " and relative to the middle of each recording" * model.preprocessing_.means_are_relative
    prepared = ", in which shapes were compared" * (units(model) != "recordings")
    parts = [f"Translations are in the units of the {units(model)}{prepared}{where}."]
    if model.states_.order:
        parts = [NO_PLACES.capitalize()]
    if model.emission == "diagonal":
        parts.append("No rotation is told, because independent dimensions were assumed (--emission diagonal).")
    else:
        parts.append("An axis has no front and back, so several rotations fit: the smallest is told.")
    return " ".join([*parts, f"`{file}` has all numbers, angles in degrees; what is not known is left empty."])
