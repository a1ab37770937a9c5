from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import same_color
from matplotlib.figure import Figure

from homothety.errors import InputError
from homothety.palette import cluster_style, shade_style
from homothety.summaries.paths import BoundaryInterval
from homothety.viz import (
    match_truth,
    plot_actions,
    plot_change_probability,
    plot_paths,
    plot_segmentation,
    plot_segments,
)
from homothety.viz.segments import _BAR, _bar_bottoms

PATH = np.array([2, 2, 2, 0, 0, 2, 1, 1])
STATES = np.array([2, 2, 0, 0, 1, 1, 2, 3])
STATE_ACTIONS = np.array([0, 1, 1, 0])
ACTIONS = STATE_ACTIONS[STATES]
STATE_BAR, ACTION_BAR, TRUTH_BAR = _bar_bottoms(3)


@pytest.fixture
def series(rng):
    return rng.normal(size=(len(PATH), 3))


def boxes(ax, bottom):
    """The boxes that stand at a height: for each its ends and its colour, in the order of steps."""
    found = [
        (*polygon.vertices[:, 0][[0, 2]], tuple(collection.get_facecolor()[0]))
        for collection in ax.collections
        for polygon in collection.get_paths()
        if np.isclose(polygon.vertices[:, 1].min(), bottom)
    ]
    return sorted((min(a, b), max(a, b), color) for a, b, color in found)


def names_beside(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def assert_bar_shows(found, path):
    edges = np.concatenate([[0], np.flatnonzero(np.diff(path)) + 1, [len(path)]])
    np.testing.assert_allclose([box[:2] for box in found], np.column_stack([edges[:-1], edges[1:]]) - 0.5)
    for (_, _, color), first in zip(found, edges[:-1], strict=True):
        assert same_color(color, cluster_style(path[first]).color)


def test_segments_have_the_colours_of_their_states(series):
    ax = plot_segments(series, PATH)
    assert isinstance(ax, Axes)
    assert_bar_shows(boxes(ax, _BAR[0]), PATH)
    assert legend_names(ax) == ["0", "1", "2"]


def test_every_dimension_has_a_lane_of_its_own_from_top_to_bottom(series):
    ax = plot_segments(series, PATH, channels=["x", "y", "z"])
    assert names_beside(ax) == ["x", "y", "z", "state"]
    for dim, line in enumerate(ax.lines):
        lane = 2 - dim
        drawn, values = line.get_ydata(), series[:, dim]
        np.testing.assert_allclose([drawn.min(), drawn.max()], [lane - 0.4, lane + 0.4])
        np.testing.assert_allclose(np.corrcoef(drawn, values)[0, 1], 1.0)


def test_a_dimension_that_stands_still_is_a_line_in_the_middle_of_its_lane(series):
    series[:, 1] = 4.0
    np.testing.assert_array_equal(plot_segments(series, PATH).lines[1].get_ydata(), 1.0)


def test_numbers_of_states_are_written_where_they_fit(rng):
    path = np.array([0] * 200 + [1] + [2] * 200)
    ax = plot_segments(rng.normal(size=(401, 1)), path)
    assert [text.get_text() for text in ax.texts] == ["0", "2"]


def test_states_may_have_names_or_be_unknown(series):
    names = np.array(["reach", "reach", "reach", "grasp", "grasp", "reach", "lift", "lift"])
    assert legend_names(plot_segments(series, names)) == ["grasp", "lift", "reach"]
    assert legend_names(plot_segments(series, np.where(PATH == 0, -1, PATH))) == ["1", "2", "none"]


def test_changes_stand_between_two_steps(series):
    ax = plot_change_probability([0.0, 0.001, 0.25, 0.0, 1.0])
    lines = np.array(ax.collections[0].get_segments())
    np.testing.assert_allclose(lines[:, :, 0], [[1.5, 1.5], [3.5, 3.5]])
    np.testing.assert_allclose(lines[:, :, 1], [[0, 0.25], [0, 1.0]])
    assert ax.get_legend() is None


def test_reported_changes_are_marked_and_their_intervals_shaded():
    boundaries = [BoundaryInterval(0, 4, 3, 5, 0.9), BoundaryInterval(0, 8, None, None, 0.0)]
    ax = plot_change_probability(np.zeros(10), boundaries=boundaries)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [3.5, 7.5])
    (span,) = ax.patches
    # A change at step 3 is between 2 and 3, one at step 5 between 4 and 5.
    np.testing.assert_allclose([span.get_x(), span.get_x() + span.get_width()], [2.0, 5.0])
    assert legend_names(ax) == ["reported", "90 % interval"]


def test_both_together_share_the_axis_of_steps(series):
    above, below = plot_segmentation(series, PATH, np.full(len(PATH), 0.5), title="demo 1")
    assert above.figure is below.figure
    assert above.get_xlim() == below.get_xlim() == (-0.5, 7.5)
    assert above.get_title() == "demo 1"


def test_paths_are_bars_from_top_to_bottom():
    ax = plot_paths([PATH, PATH[:5]], ["whole", "part"])
    assert names_beside(ax) == ["whole", "part"]
    for place, path in enumerate((PATH, PATH[:5])):
        assert_bar_shows(boxes(ax, -place - 0.36), path)


def test_axes_of_ones_own_are_drawn_on(series):
    figure = Figure(layout="compressed")
    axes = list(figure.subplots(2))
    assert plot_segmentation(series, PATH, np.zeros(len(PATH)), axes=axes) == axes
    ax = Figure(layout="compressed").add_subplot()
    assert plot_paths([PATH], ax=ax) is ax


@pytest.mark.parametrize(("n_dims", "n_states", "n_steps"), [(1, 2, 30), (2, 7, 400), (26, 20, 600), (50, 45, 500)])
def test_texts_do_not_overlap(n_dims, n_states, n_steps, rng, assert_legible):
    path = np.repeat(rng.integers(n_states, size=n_steps // 10), 10)
    change = np.where(np.diff(path, prepend=path[:1]) != 0, 0.7, 0.0)
    boundaries = [BoundaryInterval(0, int(step), int(step), int(step) + 2, 0.9) for step in np.flatnonzero(change)]
    series = rng.normal(size=(n_steps, n_dims))
    above, _ = plot_segmentation(series, path, change, boundaries=boundaries, title="a series")
    assert_legible(above.figure)


@pytest.mark.parametrize("n_recordings", [1, 9, 70])
def test_bars_of_many_series_are_legible(n_recordings, rng, assert_legible):
    paths = [np.repeat(rng.integers(5, size=20), 20) for _ in range(n_recordings)]
    assert_legible(plot_paths(paths, [f"demonstration {i}" for i in range(n_recordings)]).figure)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda x: plot_segments(x[:, 0], PATH), r"series has shape \(8,\), needed \(n_steps, n_dims\)"),
        (lambda x: plot_segments(x, PATH[:-1]), r"path has shape \(7,\), needed \(8,\)"),
        (lambda x: plot_segments(x, PATH, channels=["x"]), "channels has 1 entries, needed one for each of 3"),
        (lambda x: plot_segments(x, PATH - 5), r"path\[0\] is -3, needed whole numbers"),
        (lambda x: plot_change_probability([0.5, 1.5]), "values from 0 to 1"),
        (lambda x: plot_change_probability(x), r"probability has shape \(8, 3\)"),
        (lambda x: plot_paths([]), "paths is empty"),
        (lambda x: plot_paths([PATH], ["a", "b"]), "names has 2 entries, needed one for each of 1"),
    ],
)
def test_bad_input_is_named(draw, message, series):
    with pytest.raises(InputError, match=message):
        draw(series)


def test_a_segmentation_shows_actions_and_truth_where_they_are_given(series):
    actions = np.where(PATH == 2, 1, 0)
    above, below = plot_segmentation(
        series, PATH, np.full(len(PATH), 0.5), actions=actions, truth=actions, state_actions=[0, 0, 1]
    )
    assert names_beside(above) == ["0", "1", "2", "state", "action", "truth"]
    assert below.get_ylabel() == "probability\nof a change"
    with pytest.raises(InputError, match="truth is given without actions"):
        plot_segmentation(series, PATH, np.zeros(len(PATH)), truth=actions)
    with pytest.raises(InputError, match=r"actions has shape \(7,\), needed \(8,\)"):
        plot_segmentation(series, PATH, np.zeros(len(PATH)), actions=actions[1:])


def test_states_of_many_series_can_be_shades_of_their_actions():
    ax = plot_paths([[0, 1, 2], [2, 2]], state_actions=[0, 1, 0])
    colors = [color for *_, color in boxes(ax, -0.36)]
    styles = [cluster_style(0), cluster_style(1), shade_style(cluster_style(0), 1)]
    assert all(same_color(color, style.color) for color, style in zip(colors, styles, strict=True))
    assert legend_names(ax) == ["0", "2", "1"]


# --- actions ----------------------------------------------------------------------------------------------------------


def colors_at(ax, bottom):
    """The colour of every step in the bar at a height."""
    colors = [None] * len(STATES)
    for collection in ax.collections:
        for box in collection.get_paths():
            if np.isclose(box.vertices[:, 1].min(), bottom):
                start, end = np.round(box.vertices[:, 0].min() + 0.5), np.round(box.vertices[:, 0].max() + 0.5)
                colors[int(start) : int(end)] = [tuple(collection.get_facecolor()[0])] * int(end - start)
    return colors


def legend_names(ax):
    return [text.get_text().strip() for text in ax.get_legend().get_texts()]


def assert_colors(found, styles):
    assert all(same_color(color, style.color) for color, style in zip(found, styles, strict=True))


def test_states_are_shades_of_the_colours_of_their_actions(series):
    ax = plot_actions(series, STATES, ACTIONS, channels=["x", "y", "z"])
    assert isinstance(ax, Axes)
    assert names_beside(ax) == ["x", "y", "z", "state", "action"]
    ranks = np.array([0, 0, 1, 1])  # of each state among those of its action
    assert_colors(colors_at(ax, STATE_BAR), [shade_style(cluster_style(STATE_ACTIONS[k]), ranks[k]) for k in STATES])
    assert_colors(colors_at(ax, ACTION_BAR), [cluster_style(action) for action in ACTIONS])
    assert legend_names(ax) == ["action 0", "state 0", "state 3", "action 1", "state 1", "state 2"]


def test_a_state_keeps_its_shade_where_others_are_missing(series):
    only = np.full(len(STATES), 2)
    alone = plot_actions(series, only, STATE_ACTIONS[only])
    told = plot_actions(series, only, STATE_ACTIONS[only], state_actions=STATE_ACTIONS)
    assert_colors(colors_at(alone, STATE_BAR), [cluster_style(1)] * len(only))
    assert_colors(colors_at(told, STATE_BAR), [shade_style(cluster_style(1), 1)] * len(only))
    assert legend_names(told) == ["action 1", "state 2"]


def test_truth_has_the_colours_of_the_actions_it_agrees_with(series):
    truth = np.where(ACTIONS == 0, "wait", np.where(np.arange(len(STATES)) == 0, "start", "move"))
    ax = plot_actions(series, STATES, ACTIONS, truth=truth)
    assert names_beside(ax)[-3:] == ["state", "action", "truth"]
    expected = {"wait": cluster_style(0), "move": cluster_style(1), "start": cluster_style(2)}
    assert_colors(colors_at(ax, TRUTH_BAR), [expected[one] for one in truth])
    assert legend_names(ax)[-3:] == ["truth move", "truth start", "truth wait"]


def test_steps_without_a_state_or_an_action_are_grey(series):
    ax = plot_actions(series, np.where(STATES == 3, -1, STATES), np.where(STATES == 3, -1, ACTIONS))
    assert_colors(colors_at(ax, STATE_BAR)[-1:] + colors_at(ax, ACTION_BAR)[-1:], [cluster_style(-1)] * 2)
    assert legend_names(ax)[-2:] == ["action none", "state none"]


def test_actions_are_drawn_where_told_and_without_a_legend(series):
    ax = Figure(layout="compressed").add_subplot()
    assert plot_actions(series, STATES, ACTIONS, legend=False, ax=ax) is ax
    assert ax.get_legend() is None


@pytest.mark.parametrize(("n_dims", "n_states", "n_actions"), [(1, 1, 1), (13, 12, 4)])
def test_texts_of_actions_do_not_overlap(n_dims, n_states, n_actions, rng, assert_legible):
    path = np.repeat(rng.integers(n_states, size=30), 12)
    actions = path % n_actions
    ax = plot_actions(rng.normal(size=(len(path), n_dims)), path, actions, truth=actions // 2)
    assert_legible(ax.figure)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda x: plot_actions(x[:, 0], STATES, ACTIONS), r"series has shape \(8,\)"),
        (lambda x: plot_actions(x, STATES[1:], ACTIONS), r"path has shape \(7,\), needed \(8,\): the state of every"),
        (
            lambda x: plot_actions(x, STATES, ACTIONS[1:]),
            r"actions has shape \(7,\), needed \(8,\): the action of every",
        ),
        (lambda x: plot_actions(x, STATES, ACTIONS, truth=[0]), r"truth has shape \(1,\), needed \(8,\)"),
        (lambda x: plot_actions(x, STATES, ACTIONS - 3), r"actions\[0\] is -2, needed whole numbers"),
        (lambda x: plot_actions(x, STATES, ACTIONS, state_actions=[0, 1]), "has 2 entries, .* there is a state 3"),
        (lambda x: plot_actions(x, STATES, ACTIONS, state_actions=np.eye(4)), r"needed \(n_states,\)"),
        (lambda x: plot_actions(x, STATES, ACTIONS, channels=["x"]), "channels has 1 entries"),
    ],
)
def test_bad_input_of_actions_is_named(draw, message, series):
    with pytest.raises(InputError, match=message):
        draw(series)


def test_truth_is_matched_over_all_series_where_that_is_wanted(series):
    # Over both series "cut" is mostly action 1, and "lift" what is left, though in the first it is action 0.
    truth, actions = [["cut"] * 8, ["cut"] * 9 + ["lift"]], [[0] * 8, [1] * 9 + [0]]
    matched = match_truth(truth, actions)
    assert matched == {"cut": 1, "lift": 0}
    alone, together = (
        plot_actions(series, STATES, actions[0], truth=truth[0], truth_actions=m) for m in (None, matched)
    )
    assert_colors(colors_at(alone, TRUTH_BAR), [cluster_style(0)] * 8)
    assert_colors(colors_at(together, TRUTH_BAR), [cluster_style(1)] * 8)


def test_truth_without_a_match_is_refused(series):
    with pytest.raises(InputError, match=r"truth_actions has no 'lift', needed an action for each true one"):
        plot_actions(series, STATES, ACTIONS, truth=["lift"] * 8, truth_actions={"cut": 0})


def test_steps_without_truth_stay_without(series):
    truth = np.array([None, "cut", "cut", "cut", "cut", "cut", "cut", None], dtype=object)
    ax = plot_actions(series, STATES, ACTIONS, truth=truth, truth_actions={"cut": 1, "lift": 0})
    assert_colors(colors_at(ax, TRUTH_BAR), [cluster_style(-1), *[cluster_style(1)] * 6, cluster_style(-1)])
