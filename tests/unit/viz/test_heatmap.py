from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from homothety.errors import InputError
from homothety.viz import plot_heatmap
from homothety.viz.heatmap import setting_text


def tick_names(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_cells_hold_the_values_with_the_first_row_at_the_bottom(rng):
    values = rng.random((3, 4))
    ax = plot_heatmap(values, [0.1, 1, 10], [1, 2, 3, 4], row_label="rows", column_label="columns", value_label="NMI")
    assert isinstance(ax, Axes)
    np.testing.assert_array_equal(ax.images[0].get_array(), values)
    low, high = ax.get_ylim()
    assert low < high
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.child_axes[0].get_ylabel()) == ("columns", "rows", "NMI")


def test_settings_are_named():
    ax = plot_heatmap(np.eye(3), [0.01, 1.0, 100.0], ["toy", "DTI", "all"])
    assert tick_names(ax.yaxis) == ["0.01", "1", "100"]
    assert tick_names(ax.xaxis) == ["toy", "DTI", "all"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1.0, "1"),
        (0.0001, "0.0001"),
        (1e-5, "$10^{-5}$"),
        (2.5e-7, r"$2.5 \times 10^{-7}$"),
        (10_000, "10000"),
        (1e6, "$10^{6}$"),
        (-3e8, r"$-3 \times 10^{8}$"),
        (1 / 3, "0.333"),
        ("auto", "auto"),
    ],
)
def test_numbers_as_text(value, text):
    assert setting_text(value) == text


def test_few_cells_are_annotated_light_on_dark():
    ax = plot_heatmap([[0.0, 1.0]], [1], [1, 2], cmap="gray")
    assert [(text.get_text(), text.get_color()) for text in ax.texts] == [("0.00", "white"), ("1.00", "black")]
    assert [text.get_position() for text in ax.texts] == [(0, 0), (1, 0)]


def test_annotation_follows_the_order_of_the_table(rng):
    values = rng.random((2, 3))
    ax = plot_heatmap(values, [1, 2], [1, 2, 3], number_format=".3f")
    written = {text.get_position(): float(text.get_text()) for text in ax.texts}
    assert written == {(column, row): round(values[row, column], 3) for row in range(2) for column in range(3)}


def test_many_cells_are_not_annotated_unless_asked(rng):
    values = rng.random((20, 20))
    assert not plot_heatmap(values, range(20), range(20)).texts
    assert len(plot_heatmap(values, range(20), range(20), annotate=True).texts) == 400
    assert not plot_heatmap(np.eye(2), [1, 2], [1, 2], annotate=False).texts


def test_what_is_missing_stays_empty():
    ax = plot_heatmap([[np.nan, 1.0, 2.0]], [1], [1, 2, 3])
    assert [text.get_position()[0] for text in ax.texts] == [1, 2]
    assert ax.images[0].get_clim() == (1.0, 2.0)


def test_limits_of_the_colours():
    assert plot_heatmap([[0.5, 0.6]], [1], [1, 2], limits=(0, 1)).images[0].get_clim() == (0, 1)


@pytest.mark.parametrize(("n_rows", "n_columns"), [(1, 1), (5, 7), (30, 4)])
def test_texts_do_not_overlap(n_rows, n_columns, rng, assert_legible):
    values, rows, columns = rng.random((n_rows, n_columns)), np.logspace(-3, 3, n_rows), np.logspace(-5, 1, n_columns)
    ax = plot_heatmap(values, rows, columns, row_label="concentration", column_label="tolerance", value_label="NMI")
    assert_legible(ax.figure)


def test_long_names_of_columns_slant_and_stay_all():
    names = [f"a data set with a long name {number}" for number in range(5)]
    ax = plot_heatmap(np.eye(5), range(5), names)
    ax.figure.draw_without_rendering()
    assert tick_names(ax.xaxis) == names
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {45.0}


def test_too_many_settings_are_named_in_part(rng):
    ax = plot_heatmap(rng.random((2, 200)), [1, 2], range(200))
    assert 2 < len(ax.get_xticks()) < 60
    assert np.ptp(np.diff(ax.get_xticks())) == 0
    assert tick_names(ax.xaxis) == [str(int(tick)) for tick in ax.get_xticks()]


def test_it_draws_where_it_is_told():
    ax = Figure().add_subplot()
    assert plot_heatmap(np.eye(2), [1, 2], [1, 2], ax=ax) is ax


@pytest.mark.parametrize("values", [np.ones((3, 2)), np.ones(6), np.ones((2, 3, 1))])
def test_tables_that_do_not_fit_the_settings_are_refused(values):
    with pytest.raises(InputError, match=r"values has shape .*, needed \(2, 3\): one value for each"):
        plot_heatmap(values, [1, 2], [1, 2, 3])


def test_empty_tables_are_refused():
    with pytest.raises(InputError, match="at least one of each"):
        plot_heatmap(np.ones((0, 2)), [], [1, 2])
