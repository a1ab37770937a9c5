from __future__ import annotations

import numpy as np
import pytest

from homothety.phrases import format_cell, markdown_table, spread


def test_tables_are_aligned_and_bars_in_cells_are_escaped():
    table = markdown_table(["a", "b"], [["x|y", 1], ["long\ncell", np.int64(22)]])
    lines = table.splitlines()
    assert len({len(line) for line in lines}) == 1
    assert r"x\|y" in lines[2]
    assert lines[1].startswith("| :-")
    assert lines[1].endswith("-: |")


def test_spread_is_the_papers():
    assert round(spread([3.0] * 9 + [2.0]), 3) == 0.316  # "2.900 (0.316)" of ten runs
    assert spread([1.0]) == 0.0


@pytest.mark.parametrize(
    ("values", "decimals", "text"),
    [
        ([0.5], 3, "0.500"),
        ([0.98, 0.988], 2, "0.98 (0.01)"),
        ([0.98, 0.981], 2, "0.98"),
        ([3.0] * 9 + [2.0], 0, "2.9 (0.3)"),
        ([3.0, 3.0], 0, "3"),
        ([], 3, "-"),
    ],
)
def test_cells(values, decimals, text):
    assert format_cell(values, decimals=decimals) == text
