"""Many paths as runs: small, and the same paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homothety.sampling.trace import RunPath
from homothety.summaries.paths import PathDraws


@given(st.lists(st.lists(st.integers(0, 3), min_size=8, max_size=8), min_size=1, max_size=5))
def test_draws_are_the_paths_they_were_made_of(paths):
    draws = PathDraws.of([RunPath.of(np.array(path)) for path in paths])
    assert len(draws) == len(paths)
    assert [path.tolist() for path in draws] == paths
    assert [draws[place].tolist() for place in range(len(paths))] == paths
    assert draws[-1].tolist() == paths[-1]


def test_a_draw_that_is_not_there_is_refused():
    draws = PathDraws.of([RunPath.of(np.array([0, 1]))])
    with pytest.raises(IndexError):
        draws[1]


def test_many_steps_in_few_runs_take_little_room():
    path = np.repeat(np.arange(5), 20_000)
    draws = PathDraws.of([RunPath.of(path)] * 10)
    assert draws.labels.nbytes + draws.lengths.nbytes + draws.ends.nbytes < path.nbytes / 500
