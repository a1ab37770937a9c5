from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import same_color
from matplotlib.figure import Figure

from homothety.errors import InputError
from homothety.palette import cluster_style, shade_style
from homothety.viz import match_truth, plot_actions
from homothety.viz._lanes import bar_bottoms
from homothety.viz._looks import actions_of_states, shaded_looks

PATH = np.array([2, 2, 0, 0, 1, 1, 2, 3])
STATE_ACTIONS = np.array([0, 1, 1, 0])
ACTIONS = STATE_ACTIONS[PATH]
STATE, ACTION, TRUTH = bar_bottoms(3)


@pytest.fixture
def series(rng):
    return rng.normal(size=(len(PATH), 3))


def colors_at(ax, bottom):
    """The colour of every step in the bar at a height."""
    colors = [None] * len(PATH)
    for collection in ax.collections:
        for box in collection.get_paths():
            if np.isclose(box.vertices[:, 1].min(), bottom):
                start, end = np.round(box.vertices[:, 0].min() + 0.5), np.round(box.vertices[:, 0].max() + 0.5)
                colors[int(start) : int(end)] = [tuple(collection.get_facecolor()[0])] * int(end - start)
    return colors


def names_beside(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def legend_names(ax):
    return [text.get_text().strip() for text in ax.get_legend().get_texts()]


def assert_colors(found, styles):
    assert all(same_color(color, style.color) for color, style in zip(found, styles, strict=True))


def test_states_are_shades_of_the_colours_of_their_actions(series):
    ax = plot_actions(series, PATH, ACTIONS, channels=["x", "y", "z"])
    assert isinstance(ax, Axes)
    assert names_beside(ax) == ["x", "y", "z", "state", "action"]
    ranks = np.array([0, 0, 1, 1])  # of each state among those of its action
    assert_colors(colors_at(ax, STATE), [shade_style(cluster_style(STATE_ACTIONS[k]), ranks[k]) for k in PATH])
    assert_colors(colors_at(ax, ACTION), [cluster_style(action) for action in ACTIONS])
    assert legend_names(ax) == ["action 0", "state 0", "state 3", "action 1", "state 1", "state 2"]


def test_a_state_keeps_its_shade_where_others_are_missing(series):
    only = np.full(len(PATH), 2)
    alone = plot_actions(series, only, STATE_ACTIONS[only])
    told = plot_actions(series, only, STATE_ACTIONS[only], state_actions=STATE_ACTIONS)
    assert_colors(colors_at(alone, STATE), [cluster_style(1)] * len(only))
    assert_colors(colors_at(told, STATE), [shade_style(cluster_style(1), 1)] * len(only))
    assert legend_names(told) == ["action 1", "state 2"]


def test_truth_has_the_colours_of_the_actions_it_agrees_with(series):
    truth = np.where(ACTIONS == 0, "wait", np.where(np.arange(len(PATH)) == 0, "start", "move"))
    ax = plot_actions(series, PATH, ACTIONS, truth=truth)
    assert names_beside(ax)[-3:] == ["state", "action", "truth"]
    expected = {"wait": cluster_style(0), "move": cluster_style(1), "start": cluster_style(2)}
    assert_colors(colors_at(ax, TRUTH), [expected[one] for one in truth])
    assert legend_names(ax)[-3:] == ["truth move", "truth start", "truth wait"]


def test_a_state_belongs_to_the_action_of_most_of_its_steps():
    states, actions = np.array([0, 0, 0, 1, 1, -1, 2]), np.array([3, 1, 3, 1, 1, 0, -1])
    assert actions_of_states(None, states, actions) == {0: 3, 1: 1, 2: -1}
    assert actions_of_states([4, 5, 6, 7], states, actions) == {0: 4, 1: 5, 2: 6, 3: 7}


def test_looks_come_action_by_action_and_none_last():
    looks = shaded_looks({1: "reach"}, {0: -1, 1: 2, 2: 0, 3: 2})
    assert list(looks) == [2, 1, 3, 0, -1]
    assert [look.name for look in looks.values()] == ["2", "reach", "3", "0", "none"]


def test_steps_without_a_state_or_an_action_are_grey(series):
    ax = plot_actions(series, np.where(PATH == 3, -1, PATH), np.where(PATH == 3, -1, ACTIONS))
    assert_colors(colors_at(ax, STATE)[-1:] + colors_at(ax, ACTION)[-1:], [cluster_style(-1)] * 2)
    assert legend_names(ax)[-2:] == ["action none", "state none"]


def test_it_draws_where_it_is_told_and_without_a_legend(series):
    ax = Figure(layout="compressed").add_subplot()
    assert plot_actions(series, PATH, ACTIONS, legend=False, ax=ax) is ax
    assert ax.get_legend() is None


@pytest.mark.parametrize(("n_dims", "n_states", "n_actions"), [(1, 1, 1), (13, 12, 4)])
def test_texts_do_not_overlap(n_dims, n_states, n_actions, rng, assert_legible):
    path = np.repeat(rng.integers(n_states, size=30), 12)
    actions = path % n_actions
    ax = plot_actions(rng.normal(size=(len(path), n_dims)), path, actions, truth=actions // 2)
    assert_legible(ax.figure)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda x: plot_actions(x[:, 0], PATH, ACTIONS), r"series has shape \(8,\)"),
        (lambda x: plot_actions(x, PATH[1:], ACTIONS), r"path has shape \(7,\), needed \(8,\): the state of every"),
        (lambda x: plot_actions(x, PATH, ACTIONS[1:]), r"actions has shape \(7,\), needed \(8,\): the action of every"),
        (lambda x: plot_actions(x, PATH, ACTIONS, truth=[0]), r"truth has shape \(1,\), needed \(8,\)"),
        (lambda x: plot_actions(x, PATH, ACTIONS - 3), r"actions\[0\] is -2, needed whole numbers"),
        (lambda x: plot_actions(x, PATH, ACTIONS, state_actions=[0, 1]), "has 2 entries, .* there is a state 3"),
        (lambda x: plot_actions(x, PATH, ACTIONS, state_actions=np.eye(4)), r"needed \(n_states,\)"),
        (lambda x: plot_actions(x, PATH, ACTIONS, channels=["x"]), "channels has 1 names"),
    ],
)
def test_bad_input_is_named(draw, message, series):
    with pytest.raises(InputError, match=message):
        draw(series)


def test_truth_is_matched_over_all_series_where_that_is_wanted(series):
    # Over both series "cut" is mostly action 1, and "lift" what is left, though in the first it is action 0.
    truth, actions = [["cut"] * 8, ["cut"] * 9 + ["lift"]], [[0] * 8, [1] * 9 + [0]]
    matched = match_truth(truth, actions)
    assert matched == {"cut": 1, "lift": 0}
    alone, together = (plot_actions(series, PATH, actions[0], truth=truth[0], truth_actions=m) for m in (None, matched))
    assert_colors(colors_at(alone, TRUTH), [cluster_style(0)] * 8)
    assert_colors(colors_at(together, TRUTH), [cluster_style(1)] * 8)


def test_truth_without_a_match_is_refused(series):
    with pytest.raises(InputError, match=r"truth_actions has no 'lift', needed an action for each true one"):
        plot_actions(series, PATH, ACTIONS, truth=["lift"] * 8, truth_actions={"cut": 0})


def test_steps_without_truth_stay_without(series):
    truth = np.array([None, "cut", "cut", "cut", "cut", "cut", "cut", None], dtype=object)
    ax = plot_actions(series, PATH, ACTIONS, truth=truth, truth_actions={"cut": 1, "lift": 0})
    assert_colors(colors_at(ax, TRUTH), [cluster_style(-1), *[cluster_style(1)] * 6, cluster_style(-1)])
