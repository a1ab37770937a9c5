"""Frames and coarser or finer actions as the script of a page draws them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.palette import cluster_style
from homothety.report.looks import look
from homothety.summaries.partitions import named_after
from homothety.words.blocks import first_position

if TYPE_CHECKING:
    from homothety.report.segmented import Segmented

DIGITS = 6  # of numbers that are only drawn


def aligned_data(seen: Segmented) -> dict[str, Any] | None:
    """Return how the first positions of every recording are brought into one frame; None if there are none.

    A recorded place x is ``matrix @ (x - place)`` in the frame of the reference: a few numbers for each recording,
    instead of all its steps a second time.
    """
    model = seen.model
    dims = first_position(model, recorded=True)
    if seen.sequences is None or dims is None:
        return None
    blocks = model.prepared_blocks_
    size = blocks.sized.index(blocks.points[0])
    maps = [(one.rotation.T / one.sizes[size], one.places[0]) for one in model.frames_]
    steps = [(one[:, dims] - place) @ matrix.T for one, (matrix, place) in zip(seen.sequences, maps, strict=True)]
    together = np.concatenate(steps)
    low, high = np.nanmin(together, axis=0), np.nanmax(together, axis=0)
    return {
        "dims": dims,
        "ranges": [{"low": float(a), "high": float(b)} for a, b in zip(low, high, strict=True)],
        "maps": [{"matrix": _rounded(matrix), "place": _rounded(place)} for matrix, place in maps],
    }


def _rounded(values: Any) -> Any:
    return [_rounded(value) if np.ndim(value) else float(f"{value:.{DIGITS}g}") for value in values]


def cuts_data(seen: Segmented) -> dict[str, Any] | None:
    """Return the action of every state for each number of actions, and how actions look; None without a choice.

    Actions are numbered after those that were inferred, as far as they have steps in common, so that colours stay.
    """
    model = seen.model
    if not hasattr(model, "actions_at") or model.n_states_ < 2:
        return None
    inferred, states = np.concatenate(seen.labels), np.concatenate(seen.paths)
    _, firsts = np.unique(states, return_index=True)
    cuts = [
        named_after(inferred, np.concatenate(model.actions_at(k)))[firsts].tolist()
        for k in range(1, model.n_states_ + 1)
    ]
    n_looks = max(seen.n_labels, *(max(cut) + 1 for cut in cuts))
    looks = [look(str(number), cluster_style(number)) for number in range(n_looks)]
    return {"inferred": seen.n_labels, "actions": cuts, "looks": looks}
