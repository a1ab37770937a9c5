"""Text about blocks of channels: what they were taken for, their order, and their weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homothety.channels import check_blocks, guess_blocks
from homothety.words import enumerated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.datasets import SequenceSet

KINDS = {"point": "positions", "vector": "vectors", "orientation": "orientations", "plain": "plain channels"}


def are_known_by(model: Any) -> bool:
    """Say whether a model, fitted or not, has channels in blocks."""
    return "blocks" in model.get_params(deep=False)


def of_recordings(model: Any, items: SequenceSet) -> str:
    """Return what a model that is not fitted yet will take the channels for, in one line."""
    names = items.channels or None
    if model.blocks == "auto":
        return guess_blocks(names, items.n_dims).sentence
    return check_blocks(model.blocks, items.n_dims, names).sentence


def in_order_of(model: Any, channels: Sequence[str]) -> list[str]:
    """Return names of channels in the order in which a fitted model has them."""
    return [channels[channel] for channel in model.blocks_.order] if are_known_by(model) else list(channels)


def first_position(model: Any, *, recorded: bool = False) -> list[int] | None:
    """Return the dimensions of the first position, of the model or of the recordings; None if none is known."""
    if not are_known_by(model) or "point" not in model.blocks_.kinds:
        return None
    if recorded:
        return list(model.blocks_.channels[model.blocks_.kinds.index("point")])
    dims = model.prepared_blocks_.slices[model.prepared_blocks_.points[0]]
    return list(range(dims.start, dims.stop))


def n_recorded(model: Any) -> int:
    """Return the number of blocks of a fitted model without the velocities it has computed, which come last."""
    known = model.prepared_blocks_
    return len(known.kinds) - (len(known.points) if model.preprocessing_.settings.velocities else 0)


def left_as_recorded(model: Any) -> str:
    """Return which kinds of channels frames leave alone although they could turn them; nothing if there are none."""
    blocks = model.prepared_blocks_
    kinds = sorted({KINDS[blocks.kinds[b]] for b in blocks.still})
    named = enumerated(kinds)
    return f"{named[0].upper()}{named[1:]} fit better as recorded, and are not turned." if kinds else ""


def weight_note(model: Any) -> str:
    """Return the weights of the blocks of a fitted model, the mean of each kind, and why they are not one."""
    n_first = n_recorded(model)
    weights: dict[str, list[float]] = {}
    for b, (kind, weight) in enumerate(zip(model.prepared_blocks_.kinds, model.block_weights_, strict=True)):
        weights.setdefault(KINDS[kind] if b < n_first else "velocities", []).append(float(weight))
    named = [f"{sum(values) / len(values):.2g} ({kind})" for kind, values in weights.items()]
    return f"Remaining autocorrelation is corrected for by weighting each sample {enumerated(named)}."
