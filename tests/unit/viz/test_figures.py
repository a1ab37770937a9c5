from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.patches import Patch

from fabricated import make_framed_segmentation, make_recordings
from homothety import viz
from homothety.viz._figures import RESOLUTION, legend_beside, spaced_out, write_figure

COVARIANCES = np.stack([np.diag([1.0, 2.0, 3.0]), np.diag([1.0, 1.0, 9.0])])
# Of a state that is compared with itself.
IDENTITY = SimpleNamespace(
    **{name: np.zeros(2) for name in ("mean", "translation", "translation_low", "translation_high")},
    **dict.fromkeys(("scale", "scale_low", "scale_high"), 1.0),
    **dict.fromkeys(("state", "action", "angle", "rotation_within"), 0),
    orientation="full",
    is_reference=True,
)
RECORDINGS = make_recordings(n_dims=2)
# Every public function, with the least it needs.
DRAW = {
    "plot_actions": lambda: viz.plot_actions(np.eye(2), [0, 1], [0, 1]),
    "plot_aligned": lambda: viz.plot_aligned(make_framed_segmentation(RECORDINGS), RECORDINGS)[0],
    "plot_change_probability": lambda: viz.plot_change_probability([0.0, 0.5]),
    "plot_coaction": lambda: viz.plot_coaction(np.eye(2), [0, 1]),
    "plot_coclustering": lambda: viz.plot_coclustering(np.eye(2), [0, 1]),
    "plot_ellipses": lambda: viz.plot_ellipses(COVARIANCES[:, :2, :2], [0, 1]),
    "plot_ellipsoids": lambda: viz.plot_ellipsoids(COVARIANCES, [0, 1]),
    "plot_embedding": lambda: viz.plot_embedding(np.eye(2), [0, 1]),
    "plot_features": lambda: viz.plot_features(np.eye(2), [0, 1]),
    "plot_heatmap": lambda: viz.plot_heatmap(np.eye(2), [1, 2], [3, 4]),
    "plot_label_comparison": lambda: viz.plot_label_comparison(np.eye(2), np.eye(2))[0],
    "plot_label_image": lambda: viz.plot_label_image(np.eye(2)),
    "plot_paths": lambda: viz.plot_paths([[0, 1], [1, 1]]),
    "plot_segmentation": lambda: viz.plot_segmentation(np.eye(2), [0, 1], [0.0, 0.5])[0],
    "plot_segments": lambda: viz.plot_segments(np.eye(2), [0, 1]),
    "plot_similarity": lambda: viz.plot_similarity(np.eye(2), [0, 1]),
    "plot_spectra": lambda: viz.plot_spectra(COVARIANCES, [0, 1]),
    "plot_state_ellipses": lambda: viz.plot_state_ellipses(np.eye(3)[:2], COVARIANCES, [0, 1]),
    "plot_trace": lambda: viz.plot_trace(np.eye(2)),
    "plot_traces": lambda: viz.plot_traces({"log_joint": np.eye(2)})[0],
    "plot_trajectories": lambda: viz.plot_trajectories(np.eye(2), [0, 1], [0, 0])[0],
    "plot_trajectory": lambda: viz.plot_trajectory(np.eye(3), [0, 1, 1]),
    "plot_transforms": lambda: viz.plot_transforms([IDENTITY])[0],
    "plot_transitions": lambda: viz.plot_transitions(np.eye(2), [0, 1]),
}


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout


def test_every_public_function_is_drawn_here():
    assert set(DRAW) == {name for name in viz.__all__ if name.startswith("plot_")}


@pytest.mark.parametrize("name", DRAW)
def test_drawing_leaves_matplotlibs_settings_alone(name, tmp_path):
    before = dict(mpl.rcParams)
    DRAW[name]().figure.savefig(tmp_path / "figure.png")
    assert dict(mpl.rcParams) == before
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_figures_are_no_business_of_pyplots_until_it_is_loaded():
    program = """
import sys
import numpy as np
from homothety import viz
first = viz.plot_similarity(np.eye(3)).figure
print("matplotlib.pyplot" in sys.modules)
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
second = viz.plot_similarity(np.eye(3)).figure
print([plt.figure(number) is second for number in plt.get_fignums()])
"""
    assert run(program).split("\n")[:2] == ["False", "[True]"]


def test_without_matplotlib_the_error_says_what_to_install():
    program = """
import sys
sys.modules["matplotlib"] = None
try:
    import homothety.viz
except ImportError as error:
    print(error)
"""
    assert "pip install homothety[plot]" in run(program)


def test_positions_to_label_keep_their_distance():
    positions, priorities = np.array([0.0, 1.0, 2.0, 10.0]), np.array([1.0, 3.0, 2.0, 1.0])
    assert spaced_out(positions, priorities, gap=1.5).tolist() == [1, 3]
    assert spaced_out(positions, priorities, gap=1.0).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("n_entries", "n_columns"), [(3, 1), (40, 3), (500, 4)])
def test_a_legend_takes_the_columns_it_needs_and_counts_the_rest(n_entries, n_columns):
    ax = Figure(figsize=(6.4, 4.8), layout="compressed").add_subplot()
    legend_beside(ax, [Patch(label=f"name {entry}") for entry in range(n_entries)], "title")
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert ax.get_legend()._ncols == n_columns
    listed = [text for text in texts if text.startswith("name")]
    assert texts[len(listed) :] == ([f"{n_entries - len(listed)} more"] if n_entries == 500 else [])
    assert listed == [f"name {entry}" for entry in range(len(listed))]


def test_no_entries_make_no_legend():
    ax = Figure().add_subplot()
    legend_beside(ax, [])
    assert ax.get_legend() is None


def test_a_figure_is_written_whole_and_closed(tmp_path):
    figure = plt.figure(figsize=(2, 1))
    write_figure(tmp_path / "figure.png", figure)
    assert imread(tmp_path / "figure.png").shape[:2] == (RESOLUTION, 2 * RESOLUTION)
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]
    assert not plt.fignum_exists(figure.number)
