"""Recordings shared out among threads, where moves do not let one depend on another."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from homothety.workers import run_in_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from homothety.arrays import IntArray
    from homothety.models.ibphmm.model import Model

_Result = TypeVar("_Result")

MANY_STEPS = 200_000  # of all recordings: fewer are one block, in which each recording sees the draws of those before
_STEPS_TOGETHER = 20_000  # of a block, about: for fewer, starting a thread takes longer than the work


def blocks_of(starts: IntArray) -> list[IntArray]:
    """Return all recordings in blocks of neighbours.

    Examples
    --------
    >>> blocks_of(np.array([0, 12_000, 24_000, 250_000, 260_000]))
    [array([0, 1]), array([2]), array([3])]
    """
    places = starts[:-1] // (_STEPS_TOGETHER if starts[-1] >= MANY_STEPS else MANY_STEPS)
    return np.split(np.arange(len(places)), np.flatnonzero(np.diff(places)) + 1)


def in_blocks(model: Model, series: IntArray) -> list[IntArray]:
    """Return some recordings of a model in blocks of about the same size; in one block if the model has one."""
    n_blocks = int(model.lengths[series].sum() // _STEPS_TOGETHER) if len(model.blocks) > 1 else 1
    return np.array_split(series, np.clip(n_blocks, 1, max(len(series), 1)))


def over_blocks(
    rng: Generator, blocks: list[IntArray], work: Callable[[Generator, IntArray], _Result]
) -> list[_Result]:
    """Return what work on each block returns. The result does not depend on the number of threads.

    Parameters
    ----------
    rng : Generator
        Used as it is by a single block; several get a generator each, seeded by it.
    blocks : list of ndarray of int
        Numbers of recordings.
    work : callable
        From a generator and recordings to a result.
    """
    if len(blocks) == 1:
        return [work(rng, blocks[0])]
    generators = map(np.random.default_rng, rng.integers(2**63, size=len(blocks)))
    return run_in_threads([partial(work, *pair) for pair in zip(generators, blocks, strict=True)])


def sum_over_blocks(
    rng: Generator, blocks: list[IntArray], work: Callable[[Generator, IntArray, float], float], least: float
) -> float:
    """Return the sum of logarithms of probabilities that work on blocks returns.

    Parameters
    ----------
    work : callable
        From a generator, recordings and `least` to a number that is not positive; minus infinity if below `least`.
    least : float
        Once the sum is below this number, minus infinity is returned, and the remaining blocks are left out.
    """
    known = [0.0]  # of blocks that are done, in any order: good enough to decide when to stop

    def work_on(rng: Generator, series: IntArray) -> float:
        left = least - sum(known)
        result = work(rng, series, left) if left <= 0.0 else -np.inf
        known.append(result)
        return result

    return sum(over_blocks(rng, blocks, work_on))
