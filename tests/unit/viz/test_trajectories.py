from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import same_color
from matplotlib.figure import Figure

from fabricated import make_framed_segmentation, make_recordings
from homothety.errors import InputError
from homothety.palette import cluster_style, shade_style
from homothety.viz import plot_aligned, plot_trajectories, plot_trajectory

LENGTHS = (6, 4)
PATHS = [np.array([0, 0, 2, 2, 0, 0]), np.array([1, 1, 1, 2])]
STATE_ACTIONS = np.array([0, 0, 1])
ACTIONS = [STATE_ACTIONS[path] for path in PATHS]


@pytest.fixture
def sequences(rng):
    return [rng.normal(size=(n_steps, 5)) for n_steps in LENGTHS]


def curves(ax):
    """The lines of an Axes but the dots in the end, each as an array with NaN where it is broken."""
    return [np.stack(line.get_data_3d() if ax.name == "3d" else line.get_data(), axis=1) for line in ax.lines[:-1]]


def legend_names(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("dims", [(0, 1), (4, 2), (3, 0, 1)])
def test_a_label_is_a_line_that_goes_on_to_the_next(dims, sequences):
    ax = plot_trajectory(sequences, PATHS, dims=dims)
    first, second = (one[:, dims] for one in sequences)
    gap = np.full((1, len(dims)), np.nan)
    expected = [[first[:3], gap, first[4:], gap], [second, gap], [first[2:5], gap, second[3:], gap]]
    for curve, pieces in zip(curves(ax), expected, strict=True):
        np.testing.assert_allclose(curve, np.concatenate(pieces))
    for number, line in enumerate(ax.lines[:-1]):
        assert same_color(line.get_color(), cluster_style(number).color)
    assert legend_names(ax) == ["0", "1", "2"]


def test_a_dot_marks_where_each_series_begins(sequences):
    dots = plot_trajectory(sequences, PATHS, dims=(1, 3)).lines[-1]
    np.testing.assert_allclose(np.stack(dots.get_data(), axis=1), [one[0, [1, 3]] for one in sequences])


def test_there_are_three_dimensions_if_the_series_have_them(sequences):
    assert plot_trajectory(sequences[0]).name == "3d"
    assert plot_trajectory(sequences[0][:, :2]).name == "rectilinear"


def test_axes_are_named_after_the_channels(sequences):
    ax = plot_trajectory(sequences, dims=(4, 0), channels=list("abcde"))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("e", "a")
    assert plot_trajectory(sequences, dims=(4, 0)).get_xlabel() == "dimension 4"


def test_one_series_needs_no_list_and_no_labels(sequences):
    ax = plot_trajectory(sequences[0], PATHS[0], legend="state")
    assert len(curves(ax)) == 2
    assert ax.get_legend().get_title().get_text() == "state"
    ax = plot_trajectory(sequences[0])
    assert len(curves(ax)) == 1
    assert ax.get_legend() is None


def test_turned_copies_look_like_it_unless_told(sequences):
    assert plot_trajectory(sequences, dims=(0, 1)).get_aspect() == 1.0
    assert plot_trajectory(sequences, dims=(0, 1), aspect="auto").get_aspect() == "auto"


def test_truth_state_and_action_stand_side_by_side_in_colours_that_agree(sequences):
    truth = [1 - one for one in ACTIONS]
    axes = plot_trajectories(sequences, PATHS, ACTIONS, truth=truth)
    assert [ax.get_title() for ax in axes] == ["truth", "state", "action"]
    found = [[line.get_color() for line in ax.lines[:-1]] for ax in axes]
    own = [cluster_style(0).color, cluster_style(1).color]
    shades = [own[0], shade_style(cluster_style(0), 1).color, own[1]]
    for colors, expected in zip(found, [own, shades, own], strict=True):
        assert all(same_color(color, other) for color, other in zip(colors, expected, strict=True))
    assert [legend_names(ax) for ax in axes] == [["0", "1"], ["0", "1", "2"], ["0", "1"]]


def test_without_truth_there_are_two_pictures(sequences):
    axes = plot_trajectories(sequences, PATHS, ACTIONS, state_actions=STATE_ACTIONS, dims=(0, 1))
    assert [ax.get_title() for ax in axes] == ["state", "action"]


def test_axes_of_ones_own_are_drawn_on(sequences):
    axes = list(Figure(layout="compressed").subplots(1, 2))
    assert plot_trajectories(sequences, PATHS, ACTIONS, dims=(0, 1), axes=axes) == axes


@pytest.mark.parametrize("dims", [(0, 1), (0, 1, 2)])
def test_the_layout_has_room_for_all_panels(dims, rng):
    sequences = [[0.1, 0.2, 0.3] * rng.normal(size=(60, 3)) for _ in range(3)]
    paths = [np.repeat(np.arange(12), 5) for _ in range(3)]
    actions = [path % 4 for path in paths]
    # A layout that collapses is a warning, and that an error here.
    axes = plot_trajectories(sequences, paths, actions, truth=actions, dims=dims)
    axes[0].figure.draw_without_rendering()
    assert all(ax.get_window_extent().width > 200 for ax in axes)
    for ax in axes:
        assert all(axis.label.get_window_extent().y0 > 0 for axis in (ax.xaxis, ax.yaxis))
    for ax, following in pairwise(axes):
        assert ax.get_legend().get_window_extent().x1 <= following.get_window_extent().x0


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            lambda x: plot_trajectory(x, dims=(0, 5)),
            r"dims is \(0, 5\), needed 2 or 3 different dimensions out of 0 to 4",
        ),
        (lambda x: plot_trajectory(x, dims=(1, 1)), "needed 2 or 3 different dimensions"),
        (lambda x: plot_trajectory(x, PATHS[:1]), "labels has 1 arrays, needed 2: one for each series"),
        (lambda x: plot_trajectory(x, PATHS[::-1]), r"labels\[0\] has shape \(4,\), needed \(6,\)"),
        (lambda x: plot_trajectory(x[0][:, :1]), "The series have 1 dimension, .* Use plot_segments"),
        (lambda x: plot_trajectory(x, aspect="wide"), "aspect is 'wide', needed 'equal' or 'auto'"),
        (lambda x: plot_trajectory(x, ax=Figure().add_subplot()), "make it with projection='3d'"),
        (lambda x: plot_trajectory(x, channels=["x"]), "channels has 1 entries"),
        (lambda x: plot_trajectories(x, PATHS, ACTIONS, axes=[]), "axes has 0 Axes, needed 2: state, action"),
        (lambda x: plot_trajectories(x, PATHS, ACTIONS, truth=[[0]]), "truth has 1 arrays"),
    ],
)
def test_bad_input_is_named(draw, message, sequences):
    with pytest.raises(InputError, match=message):
        draw(sequences)


# --- aligned recordings -----------------------------------------------------------------------------------------------


def drawn(ax):
    """All points of all curves, without the dots at the beginnings."""
    curves = [line.get_data_3d() if ax.name == "3d" else line.get_data() for line in ax.lines[:-1]]
    points = np.concatenate([np.stack(curve, axis=1) for curve in curves])
    return points[~np.isnan(points).any(axis=1)]


@pytest.mark.parametrize("n_dims", [2, 3])
def test_recordings_are_drawn_as_recorded_and_in_one_frame(n_dims):
    recordings = make_recordings(n_dims=n_dims)
    model = make_framed_segmentation(recordings)
    recorded, aligned = plot_aligned(model, recordings)
    assert (recorded.get_title(), aligned.get_title()) == ("as recorded", "aligned in one frame")
    assert recorded.name == ("3d" if n_dims == 3 else "rectilinear")
    for ax, steps in ((recorded, recordings.sequences), (aligned, model.aligned(recordings))):
        together = np.concatenate(steps)
        np.testing.assert_allclose(drawn(ax).max(axis=0), together.max(axis=0))
        np.testing.assert_allclose(drawn(ax).min(axis=0), together.min(axis=0))
        assert ax.get_xlabel() == "x"


def test_actions_of_another_number_can_be_drawn():
    recordings = make_recordings()
    model = make_framed_segmentation(recordings)
    _, aligned = plot_aligned(model, recordings, labels=model.actions_at(2))
    assert [text.get_text() for text in aligned.get_legend().get_texts()] == ["0", "1"]


def test_positions_are_found_among_other_channels():
    recordings = make_recordings(n_dims=5)
    model = make_framed_segmentation(recordings)
    assert model.blocks_.kinds == ("point", "plain", "plain")
    recorded, _ = plot_aligned(model, recordings)
    assert recorded.get_zlabel() == "z"
    with pytest.raises(InputError, match="block is 1, but the recordings have 1 position"):
        plot_aligned(model, recordings, block=1)
    with pytest.raises(InputError, match="axes has 1 Axes, needed 2"):
        plot_aligned(model, recordings, axes=[recorded])


def test_curves_stop_where_values_are_missing():
    series = np.column_stack([np.arange(6.0), np.arange(6.0) ** 2])
    series[2, 1] = np.nan
    ax = plot_trajectory(series, [0, 0, 0, 0, 1, 1])
    drawn = np.vstack([line.get_xydata() for line in ax.lines[:2]])
    assert np.isnan(drawn[2, 1])
    assert np.isfinite(ax.get_xlim()).all()
    assert np.isfinite(ax.get_ylim()).all()
