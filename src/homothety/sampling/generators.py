"""Where a random generator stands, and bringing another one there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator, SeedSequence

from homothety.errors import CheckpointError, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping


def capture(rng: Generator) -> dict[str, Any]:
    """Return all that future draws of a generator depend on, as numbers, texts and arrays."""
    return {"bits": rng.bit_generator.state, "n_spawned": _seed_of(rng).n_children_spawned}


def restore(seed: SeedSequence, captured: Mapping[str, Any]) -> Generator:
    """Return the generator of a seed, at the place where `capture` met it."""
    try:
        # Generators spawned from this one are numbered, and its seed does the counting.
        counted = SeedSequence(
            seed.entropy,
            spawn_key=seed.spawn_key,
            pool_size=seed.pool_size,
            n_children_spawned=captured["n_spawned"],
        )
        rng = np.random.default_rng(counted)
        found, needed = captured["bits"]["bit_generator"], type(rng.bit_generator).__name__
        if found != needed:
            raise CheckpointError(f"The checkpoint holds the state of a {found} generator, this NumPy uses {needed}.")
        rng.bit_generator.state = captured["bits"]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"The checkpoint holds no state of a generator: {error!r}.") from error
    return rng


def revive(bits: Mapping[str, Any]) -> Generator:
    """Return a generator of its own from the state of its bits alone, as ``rng.bit_generator.state`` tells it."""
    rng = np.random.default_rng(0)
    try:
        rng.bit_generator.state = bits
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"generator is no state of the bits of a generator: {error!r}.") from error
    return rng


def _seed_of(rng: Generator) -> SeedSequence:
    seed = rng.bit_generator.seed_seq
    assert isinstance(seed, SeedSequence)  # chains are always seeded by one
    return seed
