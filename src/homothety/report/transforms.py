"""Text about the transformations between the states of an action, and numbers with their intervals."""

from __future__ import annotations

from math import floor, log10
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.phrases import SURE, enumerated
from homothety.summaries.tables import units_of_transforms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.summaries.result import Segmentation
    from homothety.summaries.transforms import StateTransform

MAX_MOVES = 3  # dimensions named in a sentence


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


def _scale(one: StateTransform) -> Estimate:
    return Estimate(one.scale, one.scale_low, one.scale_high)


def _moves(one: StateTransform) -> list[Estimate]:
    """Return the translation, dimension by dimension."""
    ends = np.stack([one.translation, one.translation_low, one.translation_high], axis=1)
    return [Estimate(*move) for move in ends.tolist()]


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
    undirected = " Its orientation cannot be determined." * (directed and one.orientation == "none")
    if np.isfinite(one.scale_high):
        return undirected
    return f"{undirected} How sure this is cannot be told: no kept sweep has both states as they are reported."


def _turned(one: StateTransform) -> str:
    if one.orientation == "none":
        return ""
    within = f" (within {_degrees(one.rotation_within)}°)" * bool(np.isfinite(one.rotation_within))
    partly = " as far as its orientation can be determined" * (one.orientation == "partial")
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


def introduction(result: Segmentation, transforms: Sequence[StateTransform]) -> str:
    """Return what the transformations compare, and what their numbers are of."""
    counts = np.bincount([one.action for one in transforms])
    alone = [str(one.state) for one in transforms if counts[one.action] == 1]
    parts = [
        "Every state is compared with the one of its action that has most steps. In brackets are 95 % intervals.",
        _remarks(result),
    ]
    if alone:
        whose = "its action" if len(alone) == 1 else "their actions"
        states = f"state{'s' if len(alone) > 1 else ''} {enumerated(alone)}"
        parts.insert(1, f"Alone in {whose}, and so not compared: {states}.")
    return " ".join(parts)


def _remarks(result: Segmentation) -> str:
    """Return what holds for all transformations."""
    units = units_of_transforms(result)
    prepared = ", in which shapes were compared" if units != "recordings" else ""
    where = " and relative to the middle of each recording" if result.preparation.means_are_relative else ""
    places = f"Translations are in the units of the {units}{prepared}{where}."
    if result.parameters.order:
        places = "Autoregressive states have no place, and no translation."
    if not has_directions(result):
        return f"{places} No rotation is told, because independent dimensions were assumed (--emission diagonal)."
    return f"{places} An axis has no front and back, so several rotations fit: the smallest is told."


def has_directions(result: Segmentation) -> bool:
    """Say whether states could have been found to lie in different directions."""
    return result.provenance.settings.get("emission") != "diagonal"
