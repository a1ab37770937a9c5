from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import same_color
from matplotlib.figure import Figure

from homothety.errors import InputError
from homothety.palette import cluster_style
from homothety.summaries.transforms import StateTransform
from homothety.viz import plot_transforms
from homothety.viz.states import NO_DIRECTION

FULL, NONE = ((0,), (1,)), ((0, 1),)


def row_of(state, action, reference, *, n_dims=2, **values):
    """A row that says something different of every state."""
    place = np.arange(n_dims) + state
    defaults = {
        "scale": 1.0 + state,
        "scale_low": 0.8 + state,
        "scale_high": 1.3 + state,
        "rotation": np.eye(n_dims),
        "angle": 10.0 * state,
        "rotation_within": 5.0,
        "orientation": "full",
        "blocks": FULL,
        "n_equivalent": 2,
        "translation": place,
        "translation_low": place - 0.5,
        "translation_high": place + 0.5,
        "mismatch": 0.1,
        "mismatch_low": 0.05,
        "mismatch_high": 0.2,
        "mean": place,
        "axes": np.eye(n_dims),
        "observations": 50.0,
        "agreement": 0.9,
        "support": 1.0,
    }
    return StateTransform(state=state, action=action, reference=reference, **defaults | values)


@pytest.fixture
def rows():
    return [
        row_of(0, 1, 0),
        row_of(1, 0, 1),
        row_of(2, 0, 1),
        row_of(3, 1, 0, orientation="none", blocks=NONE, angle=np.nan, rotation_within=np.nan),
    ]


def intervals_at(ax, place):
    """Ends of the lines drawn along a row."""
    return [line.get_xdata() for line in ax.lines if len(set(line.get_ydata())) == 1 and line.get_ydata()[0] == place]


def test_rows_are_grouped_by_action_with_the_reference_first(rows):
    names = [text.get_text() for text in plot_transforms(rows)[0].get_yticklabels()]
    assert names == ["action 0, state 1", "state 2", "action 1, state 0", "state 3"]


def test_every_row_shows_its_value_and_its_interval(rows):
    scale, angle, _ = plot_transforms(rows)
    line, mark = intervals_at(scale, 1)[:2]
    np.testing.assert_allclose(line, [2.8, 3.3])
    np.testing.assert_allclose(mark, [3.0])
    line, mark = intervals_at(angle, 1)[:2]
    np.testing.assert_allclose(line, [15.0, 25.0])
    np.testing.assert_allclose(mark, [20.0])


def test_translations_are_lines_of_dimensions_from_top_to_bottom(rows):
    ax = plot_transforms(rows)[2]
    found = sorted(
        (line.get_ydata()[0], *line.get_xdata())
        for line in ax.lines
        if len(line.get_xdata()) == 2 and 0.5 < line.get_ydata()[0] < 1.5 and np.ptp(line.get_ydata()) == 0
    )
    np.testing.assert_allclose([ends for _, *ends in found], [[1.5, 2.5], [2.5, 3.5]])


def test_a_direction_that_is_not_known_is_not_drawn(rows):
    angle = plot_transforms(rows)[1]
    assert [(text.get_text(), text.get_position()[1]) for text in angle.texts] == [(NO_DIRECTION, 3)]
    assert intervals_at(angle, 3) == []


def test_partly_known_directions_are_hollow(rows):
    known = plot_transforms(rows)[1]
    assert known.get_title() == ""
    rows[2] = rows[2]._replace(orientation="partial")
    angle = plot_transforms(rows)[1]
    assert "hollow" in angle.get_title()
    (mark,) = (line for line in angle.lines if line.get_marker() == cluster_style(0).marker)
    assert same_color(mark.get_markerfacecolor(), "white")


def test_intervals_without_ends_go_from_edge_to_edge(rows):
    rows[2] = rows[2]._replace(scale=1e-7, scale_low=0.0, scale_high=np.inf)
    ax = plot_transforms(rows)[0]
    np.testing.assert_allclose(intervals_at(ax, 1)[0], ax.get_xlim())
    assert ax.get_xlim()[0] > 0.5  # a scale of which nothing is known makes no room for itself
    assert np.isnan(intervals_at(ax, 1)[1]).all()


def resized(row, size):
    names = ("translation", "translation_low", "translation_high")
    return row._replace(**{name: size * getattr(row, name) for name in names})


@pytest.mark.parametrize(("n_states", "n_dims", "size"), [(1, 2, 1.0), (8, 7, 1e-6), (30, 3, 1e4)])
def test_texts_do_not_overlap(n_states, n_dims, size, assert_legible):
    rows = [resized(row_of(k, k % 3, k % 3, n_dims=n_dims), size) for k in range(n_states)]
    assert_legible(plot_transforms(rows)[0].figure)


@pytest.mark.parametrize("most", [1.3, 8.0, 40.0, 1e3, 1e7])
def test_numbers_of_scales_do_not_overlap(most, rows, assert_legible):
    rows[2] = rows[2]._replace(scale=most / 1.1, scale_low=1 / most, scale_high=most)
    assert_legible(plot_transforms(rows)[0].figure)


def test_small_translations_fill_the_axis(rows):
    assert plot_transforms([resized(row, 1e-6) for row in rows])[2].get_xlim()[1] < 1e-5


def test_axes_of_ones_own_are_drawn_on(rows):
    axes = list(Figure(layout="compressed").subplots(1, 3))
    assert plot_transforms(rows, axes=axes) == axes


def test_bad_input_is_named(rows):
    with pytest.raises(InputError, match="transforms is empty, needed the transforms_"):
        plot_transforms([])
    with pytest.raises(InputError, match="axes has 1 Axes, needed 3"):
        plot_transforms(rows, axes=[Figure().add_subplot()])
