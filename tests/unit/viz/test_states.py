from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import same_color
from matplotlib.figure import Figure

from homothety.errors import InputError
from homothety.palette import cluster_style, shade_style
from homothety.viz import cluster_colors, plot_coaction, plot_features, plot_state_ellipses, plot_transitions
from homothety.viz.states import _ABSENT_COLOR, _first_free

STATE_ACTIONS = np.array([1, 0, 1, 0])
ORDER = [1, 3, 0, 2]  # of the states, sorted by action
ACTIVE = np.array([[1, 0, 0, 1], [0, 1, 1, 1], [1, 1, 0, 0]], dtype=bool)
TRANSITIONS = np.array([[0.9, 0.1, 0, 0], [0, 0.7, 0.2, 0.1], [0.004, 0, 0.996, 0], [0.25, 0.25, 0.25, 0.25]])
COACTION = np.array([[1, 0.1, 0.8, 0], [0.1, 1, 0.2, 0.9], [0.8, 0.2, 1, 0.3], [0, 0.9, 0.3, 1]])


@pytest.fixture
def states(rng):
    factors = rng.normal(size=(4, 3, 3))
    return 20 * np.eye(4)[:, :3], factors @ factors.swapaxes(1, 2)


def tick_names(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def strips(ax):
    """The colours beside and above a matrix: collections that are not drawn inside."""
    return [one for one in ax.collections if isinstance(one, PolyCollection) and not one.get_clip_on()]


def names_above(ax):
    (above,) = [child for child in ax.child_axes if child.get_xlabel() == "action"]
    return tick_names(above.xaxis)


def test_ellipses_are_cut_out_of_their_states_in_the_colours_of_the_actions(states):
    means, covariances = states
    ax = plot_state_ellipses(means, covariances, STATE_ACTIONS, dims=(2, 0), channels=["x", "y", "z"])
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_aspect()) == ("z", "x", 1.0)
    for artist in ax.collections:
        (action,) = (n for n in (0, 1) if np.allclose(artist.get_facecolor()[0, :3], cluster_colors(2)[n]))
        members = np.flatnonzero(action == STATE_ACTIONS)
        for outline, state in zip(artist.get_paths(), members, strict=True):
            offsets = outline.vertices[:-1] - means[state, [2, 0]]
            inverse = np.linalg.inv(covariances[state][np.ix_([2, 0], [2, 0])])
            np.testing.assert_allclose(np.einsum("ni,ij,nj->n", offsets, inverse, offsets), 1.0)
    assert ax.get_legend().get_title().get_text() == "action"


def test_every_state_is_numbered_at_its_centre_if_it_is_free(states):
    means, covariances = states
    ax = plot_state_ellipses(means, covariances, STATE_ACTIONS)
    assert [text.get_text() for text in ax.texts] == ["0", "1", "2", "3"]
    np.testing.assert_allclose(ax.texts[0].get_position(), means[0, :2])
    np.testing.assert_allclose(ax.texts[2].get_position(), means[2, :2])
    assert not np.allclose(ax.texts[3].get_position(), means[3, :2])  # states 2 and 3 lie on one another


def test_numbers_take_the_first_free_place_or_the_farthest():
    candidates = np.array([[[0, 0], [9, 9]], [[1, 0], [5, 0]], [[0, 1], [0, 2]]], dtype=float)
    assert _first_free(candidates, gap=3.0) == [0, 1, 1]


def test_small_ellipses_lie_on_large_ones():
    covariances = np.array([np.eye(2), 9 * np.eye(2), 4 * np.eye(2)])
    ax = plot_state_ellipses(np.zeros((3, 2)), covariances, [0, 1, 2])
    drawn = [artist.get_facecolor()[0, :3] for artist in ax.collections]
    np.testing.assert_allclose(drawn, cluster_colors(3)[[1, 2, 0]])


def test_steps_are_drawn_behind(states, rng):
    sequences = [rng.normal(size=(7, 3)), rng.normal(size=(4, 3))]
    ax = plot_state_ellipses(*states, STATE_ACTIONS, dims=(1, 2), sequences=sequences)
    (steps,) = ax.lines
    np.testing.assert_allclose(np.stack(steps.get_data(), axis=1), np.concatenate(sequences)[:, 1:])
    assert steps.get_zorder() < min(artist.get_zorder() for artist in ax.collections)


def test_features_are_sorted_and_filled_with_the_shades_of_their_states():
    ax = plot_features(ACTIVE, STATE_ACTIONS, names=["a", "b", "c"])
    assert tick_names(ax.xaxis) == [str(state) for state in ORDER]
    assert tick_names(ax.yaxis) == ["a", "b", "c"]
    assert names_above(ax) == ["0", "1"]
    empty, *columns = [artist for artist in ax.collections if artist.get_clip_on()]
    assert same_color(empty.get_facecolor()[0], _ABSENT_COLOR)
    assert len(empty.get_paths()) == (~ACTIVE).sum()
    expected = [shade_style(cluster_style(action), rank) for action in (0, 1) for rank in (0, 1)]
    for place, (column, style) in enumerate(zip(columns, expected, strict=True)):
        assert same_color(column.get_facecolor()[0], style.color)
        centres = [path.vertices[:4].mean(axis=0) for path in column.get_paths()]
        np.testing.assert_allclose(
            centres, [(place, row) for row in np.flatnonzero(ACTIVE[:, ORDER[place]])], atol=1e-9
        )


def test_features_without_actions_are_drawn_as_they_come():
    ax = plot_features(ACTIVE)
    assert tick_names(ax.xaxis) == ["0", "1", "2", "3"]
    assert tick_names(ax.yaxis) == ["0", "1", "2"]
    assert not strips(ax)
    low, high = ax.get_ylim()
    assert low > high  # the first series is on top


@pytest.mark.parametrize(("plot", "matrix"), [(plot_transitions, TRANSITIONS), (plot_coaction, COACTION)])
def test_matrices_of_states_are_sorted_by_action_with_colours_on_two_sides(plot, matrix):
    ax = plot(matrix, STATE_ACTIONS)
    np.testing.assert_allclose(ax.images[0].get_array(), matrix[np.ix_(ORDER, ORDER)])
    assert tick_names(ax.xaxis) == tick_names(ax.yaxis) == [str(state) for state in ORDER]
    assert names_above(ax) == ["0", "1"]
    left, top = strips(ax)
    for strip, along in ((left, 1), (top, 0)):
        np.testing.assert_allclose(strip.get_facecolor()[:, :3], cluster_colors(2))
        edges = [path.vertices[:, along] for path in strip.get_paths()]
        assert [(edge.min(), edge.max()) for edge in edges] == [(-0.5, 1.5), (1.5, 3.5)]


def test_without_actions_matrices_are_drawn_as_they_are():
    ax = plot_coaction(COACTION)
    np.testing.assert_allclose(ax.images[0].get_array(), COACTION)
    assert not strips(ax)


def test_what_is_written_into_the_cells_is_more_than_zero():
    ax = plot_transitions(TRANSITIONS, STATE_ACTIONS)
    written = {text.get_position()[::-1]: text.get_text() for text in ax.texts}
    drawn = TRANSITIONS[np.ix_(ORDER, ORDER)]
    assert written == {(i, j): f"{drawn[i, j]:.2f}" for i, j in np.argwhere(drawn >= 0.005)}


def test_rows_go_to_columns_and_the_colour_bar_is_in_plain_numbers():
    ax = plot_transitions(TRANSITIONS)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("to state", "from state")
    (bar,) = [child for child in ax.child_axes if child.get_ylabel() == "probability"]
    ax.figure.draw_without_rendering()
    named = {
        tick: name for tick, name in zip(bar.get_yticks(), tick_names(bar.yaxis), strict=True) if 1e-3 <= tick <= 1
    }
    assert list(named.values()) == ["0.001", "0.01", "0.1", "1"]


def test_they_draw_where_they_are_told(states):
    for draw in (
        lambda ax: plot_state_ellipses(*states, ax=ax),
        lambda ax: plot_features(ACTIVE, ax=ax),
        lambda ax: plot_coaction(COACTION, ax=ax),
    ):
        ax = Figure(layout="compressed").add_subplot()
        assert draw(ax) is ax


@pytest.mark.parametrize(("n_states", "n_recordings"), [(1, 1), (12, 12), (30, 50)])
def test_names_of_many_states_and_series_do_not_overlap(n_states, n_recordings, rng, assert_legible):
    names = [f"demonstration {i}" for i in range(n_recordings)]
    active = rng.random((n_recordings, n_states)) < 0.4
    assert_legible(plot_features(active, np.arange(n_states) % 7, names=names).figure)


def test_probabilities_do_not_overlap(assert_legible):
    ax = plot_transitions(np.full((5, 5), 0.2), np.arange(5) % 3)
    assert len(ax.texts) == 25
    assert_legible(ax.figure)


def test_numbers_of_twelve_states_do_not_overlap(rng, assert_legible):
    covariances = np.broadcast_to(np.eye(2), (12, 2, 2))
    ax = plot_state_ellipses(rng.normal(size=(12, 2)), covariances, np.arange(12) % 4)
    assert_legible(ax.figure)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda m, c: plot_state_ellipses(m[:3], c), r"covariances has shape \(4, 3, 3\), needed \(3, 3, 3\)"),
        (lambda m, c: plot_state_ellipses(m, c, dims=(0, 3)), r"dims is \(0, 3\), needed 2 different dimensions"),
        (lambda m, c: plot_state_ellipses(m, c, dims=(0, 1, 2)), "needed 2 different dimensions out of 0 to 2"),
        (lambda m, c: plot_state_ellipses(m, c, [0, 1]), r"state_actions has shape \(2,\), needed \(4,\)"),
        (lambda m, c: plot_state_ellipses(m, c, sequences=np.eye(2)), "sequences have 2 dimensions and means 3"),
        (lambda m, c: plot_state_ellipses(m, c, aspect="wide"), "aspect is 'wide'"),
        (lambda m, c: plot_features(ACTIVE[0]), r"active has shape \(4,\), needed \(n_recordings, n_states\)"),
        (lambda m, c: plot_features(2 * ACTIVE), "values true or false"),
        (lambda m, c: plot_features(ACTIVE, names=["a"]), "names has 1 entries, needed one for each of 3 series"),
        (lambda m, c: plot_features(ACTIVE, [0.5, 0, 1, 1]), r"state_actions\[0\] is 0.5, needed whole numbers"),
        (lambda m, c: plot_transitions(TRANSITIONS[:2]), r"transition_probs has shape \(2, 4\), needed"),
        (lambda m, c: plot_transitions(2 * TRANSITIONS), r"transition_probs\[0\] sums to 2 .* Divide counts"),
        (lambda m, c: plot_coaction(COACTION[:2]), r"coaction has shape \(2, 4\), needed a square matrix"),
    ],
)
def test_bad_input_is_named(draw, message, states):
    with pytest.raises(InputError, match=message):
        draw(*states)
