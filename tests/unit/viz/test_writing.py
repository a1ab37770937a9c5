from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.image import imread

from homothety.viz.writing import RESOLUTION, write_figure


def test_a_figure_is_written_whole_and_closed(tmp_path):
    figure = plt.figure(figsize=(2, 1))
    write_figure(tmp_path / "figure.png", figure)
    assert imread(tmp_path / "figure.png").shape[:2] == (RESOLUTION, 2 * RESOLUTION)
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]
    assert not plt.fignum_exists(figure.number)
