from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from homothety.errors import InputError
from homothety.viz import plot_trace, plot_traces


def legend_names(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_each_chain_is_a_line_and_sweeps_count_from_one(rng):
    traces = rng.normal(size=(3, 20))
    ax = plot_trace(traces, n_burn=5)
    assert isinstance(ax, Axes)
    for line, chain in zip(ax.lines, traces, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 21))
        np.testing.assert_array_equal(line.get_ydata(), chain)
    assert len({line.get_color() for line in ax.lines}) == 3
    assert legend_names(ax) == ["chain 0", "chain 1", "chain 2", "burn-in"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("sweep", "log joint")


def test_burn_in_is_shaded():
    (span,) = [patch for patch in plot_trace(np.zeros((2, 8)), n_burn=3).patches if isinstance(patch, Rectangle)]
    assert (span.get_x(), span.get_width()) == (0.5, 3.0)
    assert not plot_trace(np.zeros((2, 8))).patches


@pytest.mark.parametrize(("n_chains", "n_names"), [(1, 0), (2, 2), (7, 7), (20, 0)])
def test_chains_are_named_if_the_names_help(n_chains, n_names, rng):
    ax = plot_trace(rng.normal(size=(n_chains, 5)))
    assert len(ax.lines) == n_chains
    assert (0 if ax.get_legend() is None else len(legend_names(ax))) == n_names


@pytest.mark.parametrize("traces", [[1.5, 2.5], [[1.5, 2.5]], np.array([1.5, 2.5])])
def test_a_single_chain_may_come_plain(traces):
    (line,) = plot_trace(traces).lines
    np.testing.assert_array_equal(line.get_ydata(), [1.5, 2.5])


def test_chains_may_differ_in_length_and_have_gaps():
    ax = plot_trace([np.array([1.0, 2.0, 3.0]), np.array([-np.inf, 1.0])])
    assert [len(line.get_xdata()) for line in ax.lines] == [3, 2]
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), [np.nan, 1.0])
    assert ax.get_xlim() == (0.5, 3.5)


def test_counts_are_drawn_in_steps_with_whole_numbers_on_the_axis():
    counts, reals = plot_trace([[3, 4, 3]], quantity="clusters"), plot_trace([[3.1, 4.0, 3.0]])
    assert counts.lines[0].get_drawstyle() == "steps-mid"
    assert reals.lines[0].get_drawstyle() == "default"
    assert all(tick == int(tick) for tick in counts.get_yticks())


def test_quantities_are_stacked_in_a_fixed_order(rng, assert_legible):
    names = ("seconds", "concentration", "n_clusters", "log_joint")
    axes = plot_traces({name: rng.uniform(1, 2, size=(4, 30)) for name in names}, 10)
    assert [ax.get_ylabel() for ax in axes] == ["log joint", "clusters", "seconds per sweep"]
    assert [ax.get_yscale() for ax in axes] == ["linear", "linear", "log"]
    assert [ax.get_legend() is not None for ax in axes] == [True, False, False]
    assert [ax.get_xlabel() for ax in axes] == ["", "", "sweep"]
    assert_legible(axes[0].figure)


def test_traces_without_anything_to_draw_do_no_harm():
    axes = plot_traces({"log_joint": [np.nan, -np.inf], "seconds": [0.0, 0.0]})
    assert [ax.get_yscale() for ax in axes] == ["linear", "linear"]


def test_other_quantities_are_drawn_where_none_is_known():
    (ax,) = plot_traces({"acceptance_rate": [0.1, 0.2]})
    assert ax.get_ylabel() == "acceptance rate"


def test_they_draw_where_they_are_told():
    axes = Figure().subplots(1, 2)
    assert plot_trace([1.0], ax=axes[0]) is axes[0]
    assert plot_traces({"log_joint": [1.0], "seconds": [2.0]}, axes=axes) == list(axes)
    assert [ax.get_xlabel() for ax in axes] == ["sweep", "sweep"]


@pytest.mark.parametrize("n_sweeps", [1, 3000])
def test_short_and_long_chains(n_sweeps, rng, assert_legible):
    assert_legible(plot_trace(rng.normal(size=(4, n_sweeps)), n_burn=n_sweeps // 2).figure)


@pytest.mark.parametrize(
    ("traces", "n_burn", "message"),
    [
        (np.zeros((2, 3, 4)), 0, r"traces\[0\] has shape \(3, 4\), needed \(n_sweeps,\)"),
        ([], 0, r"traces\[0\] has shape \(0,\)"),
        ([[1.0, 2.0]], 3, "n_burn is 3, needed 0 to 2"),
        ([[1.0, 2.0]], -1, "n_burn is -1, needed 0 to 2"),
    ],
)
def test_what_is_no_trace_is_refused(traces, n_burn, message):
    with pytest.raises(InputError, match=message):
        plot_trace(traces, n_burn=n_burn)


def test_stacks_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="traces is empty"):
        plot_traces({})
    with pytest.raises(InputError, match="axes has 1 Axes, needed 2: log_joint, seconds"):
        plot_traces({"log_joint": [1.0], "seconds": [1.0]}, axes=[Figure().add_subplot()])
