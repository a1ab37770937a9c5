"""A generator goes on where it was."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import SeedSequence

from homothety.errors import CheckpointError, InputError
from homothety.sampling.trace import capture, restore, revive


@pytest.mark.parametrize("n_draws", [0, 1, 7])
def test_restored_generator_draws_the_same_and_spawns_the_same(n_draws):
    (seed,) = SeedSequence(5).spawn(1)
    rng = np.random.default_rng(seed)
    rng.random(n_draws, dtype=np.float32)  # an odd number leaves half a word behind
    rng.spawn(n_draws)
    captured = capture(rng)
    for _ in range(2):  # what was captured does not wear out
        again = restore(SeedSequence(5).spawn(1)[0], captured)
        assert capture(again) == captured
    assert (again.random(5) == rng.random(5)).all()
    assert (again.integers(10, size=5, dtype=np.int32) == rng.integers(10, size=5, dtype=np.int32)).all()
    assert again.spawn(1)[0].random() == rng.spawn(1)[0].random()


def test_the_seed_is_left_alone():
    seed = SeedSequence(5)
    restore(seed, {**capture(np.random.default_rng(5)), "n_spawned": 3}).spawn(2)
    assert seed.n_children_spawned == 0


def test_the_state_of_another_kind_of_generator_is_refused():
    captured = capture(np.random.Generator(np.random.MT19937(SeedSequence(1))))
    with pytest.raises(CheckpointError, match="state of a MT19937 generator, this NumPy uses PCG64"):
        restore(SeedSequence(1), captured)


@pytest.mark.parametrize("bits", [None, 3, {}, {"bit_generator": "PCG64", "state": "x"}])
def test_what_is_no_state_of_a_generator_is_refused(bits):
    with pytest.raises(InputError, match="generator is no state"):
        revive(bits)
    with pytest.raises(CheckpointError, match=r"no state of a generator|this NumPy uses"):
        restore(SeedSequence(1), {"bits": bits, "n_spawned": 0})
