"""All pairs of two lists in blocks of rows, for those who can work on several at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from homothety import workers
from homothety.arrays import FloatArray

if TYPE_CHECKING:
    from collections.abc import Sequence

# From a list and another one, or None for the first against itself, to a table with a row for each of the first.
Engine: TypeAlias = Callable[[FloatArray, FloatArray | None], FloatArray]

LEAST_PAIRS = 2**16  # fewer are worked out sooner than they are handed out
BLOCKS_EACH = 4  # so that nobody waits long for the one who is last


def shared_out(engine: Engine, items: FloatArray, others: FloatArray | None) -> FloatArray:
    """Return the table of an engine, in one call unless there are several to share the work.

    Only worth it where a pair costs far more than to send its number: not for SPCM, of which a core works out tens of
    millions in a second.
    """
    n_pairs = len(items) * len(items if others is None else others)
    n_workers = workers.n_workers() if n_pairs >= LEAST_PAIRS else 1
    if n_workers == 1:
        return engine(items, others)
    bounds = np.linspace(0, len(items), min(BLOCKS_EACH * n_workers, len(items)) + 1).astype(int).tolist()
    blocks = [slice(*ends) for ends in pairwise(bounds)]
    rows = workers.run_all([partial(_rows_of, engine, items, others, block) for block in blocks])
    return np.concatenate(rows) if others is not None else _mirrored(rows, blocks)


def _rows_of(engine: Engine, items: FloatArray, others: FloatArray | None, block: slice) -> FloatArray:
    """Return some rows of the table; of a list against itself, from the diagonal block on."""
    if others is not None or block.stop == len(items):
        return engine(items[block], others)
    return np.hstack([engine(items[block], None), engine(items[block], items[block.stop :])])


def _mirrored(rows: Sequence[FloatArray], blocks: Sequence[slice]) -> FloatArray:
    """Return the symmetric table of which the blocks on and above the diagonal are given."""
    table = np.empty((blocks[-1].stop, blocks[-1].stop))
    for row, block in zip(rows, blocks, strict=True):
        table[block, block.start :] = row
        table[block.start :, block] = row.T
    return table
