from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import same_color

from fabricated import with_parts
from homothety import IBPHMM, ICSCHMM
from homothety.cli.figures import ALL_FIGURES, MAX_RECORDINGS, _some_of_each, figures_of, true_labels
from homothety.datasets import SequenceSet, make_toy_2d
from homothety.palette import aspect_of
from homothety.preprocessing import Preprocessing

QUICK = {"n_chains": 1, "n_sweeps": 6, "random_state": 0}


def segmented(items: SequenceSet, kind=ICSCHMM, **settings):
    return kind(**QUICK, **settings).fit(items)


def drawn(items: SequenceSet, kind=ICSCHMM, **settings):
    return figures_of(segmented(items, kind, **settings), items)


@pytest.fixture(scope="module")
def items() -> SequenceSet:
    return make_toy_2d(0, n_steps=100)


@pytest.fixture(scope="module")
def fitted(items):
    return segmented(items)


def names_beside(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def truth_colors(figure):
    return {
        handle.get_label(): handle.get_facecolor()
        for handle in figure.axes[0].get_legend().get_patches()
        if handle.get_label().startswith("truth")
    }


def test_a_series_has_bars_of_states_actions_and_the_truth(fitted, items):
    shown = figures_of(fitted, items)["series-1"].draw()
    assert names_beside(shown.axes[0]) == ["y1", "y2", "state", "action", "truth"]
    assert shown.axes[1].get_ylabel() == "probability\nof a change"
    plain = SequenceSet(items.sequences)
    without = figures_of(with_parts(fitted, channels=()), plain)
    assert names_beside(without["series-1"].draw().axes[0]) == ["0", "1", "state", "action"]
    assert "truth" in figures_of(fitted, items)["series-0"].caption
    assert "truth" not in without["series-0"].caption


def test_a_true_action_has_one_colour_in_all_series_and_no_other_has_it(fitted, items):
    labels = [np.full(len(one), name) for one, name in zip(items.sequences, "abba", strict=True)]
    known = SequenceSet(items.sequences, None, labels)
    # In all of these series but the second, action 0 has most steps: matched on its own, each would have its colour.
    first, second, third, fourth = (truth_colors(figures_of(fitted, known)[f"series-{i}"].draw()) for i in range(4))
    assert same_color(first["truth a"], fourth["truth a"])
    assert same_color(second["truth b"], third["truth b"])
    assert not same_color(first["truth a"], third["truth b"])


def test_labels_may_be_anything_and_missing(fitted, items):
    words = [np.where(one == 0, "reach", "grate").astype(object) for one in items.actions]
    words[0][:3] = None
    halves = [one - 0.5 for one in items.actions]
    for labels, name in ((words, "reach"), (halves, "-0.5")):
        strange = SequenceSet(items.sequences, None, labels)
        assert {name} <= set(np.concatenate(true_labels(strange)).tolist())
        assert f"truth {name}" in truth_colors(figures_of(fitted, strange)["series-1"].draw())


def test_figures_are_those_that_another_run_replaces(fitted, items):
    assert set(figures_of(fitted, items)) <= ALL_FIGURES
    assert {"trajectories", "ellipses", "features", "transitions", "coaction"} <= set(figures_of(fitted, items))


def test_pictures_with_nothing_to_show_are_left_out(items):
    assert set(drawn(items, IBPHMM)) == {"segments", "traces", *(f"series-{i}" for i in range(4))}
    moving = drawn(items, emission="autoregressive")
    assert "ellipses" not in moving


def test_a_single_state_is_not_compared_with_anything(rng):
    one = SequenceSet([rng.normal(size=(60, 2))])
    single = segmented(one, n_start=1, n_split_merge=0, gamma=1e-9)
    assert single.n_states_ == 1
    assert not {"features", "transitions", "coaction", "transforms"} & set(figures_of(single, one))


def test_captions_say_which_dimensions_are_drawn_and_how(fitted, items, rng):
    shown = figures_of(fitted, items)
    assert shown["trajectories"].caption.startswith(
        "All recordings in y1 and y2, coloured by true action, by state and by"
    )
    assert "All axes have one scale." in shown["ellipses"].caption
    uneven = SequenceSet([rng.normal(size=(40, 4)) * [1, 1, 100, 1] for _ in range(2)])
    shown = drawn(uneven)
    assert "the first 3 of 4 dimensions, dimension 0, dimension 1 and dimension 2" in shown["trajectories"].caption
    assert "every axis has its own scale" in shown["trajectories"].caption
    assert "the first 2 of 4 dimensions, dimension 0 and dimension 1" in shown["ellipses"].caption
    assert "All axes have one scale." in shown["ellipses"].caption
    assert shown["trajectories"].draw().axes[0].name == "3d"


def test_what_is_seen_of_series_is_said_once(rng, items):
    many = SequenceSet([rng.normal(size=(8, 2)) for _ in range(MAX_RECORDINGS + 3)])
    shown = drawn(many)
    captions = [shown[f"series-{i}"].caption for i in range(MAX_RECORDINGS)]
    assert captions[0].startswith("What was measured")
    assert captions[1:-1] == [""] * (MAX_RECORDINGS - 2)
    assert captions[-1] == "The other 3 recordings have no figure of their own."
    assert f"series-{MAX_RECORDINGS}" not in shown


def test_steps_lie_where_the_states_do(items):
    centred = segmented(items, preprocessing=Preprocessing(centre="series", scale="std", velocities="append"))
    steps = centred.steps_of_states(items)
    np.testing.assert_allclose(np.mean(steps[1], axis=0), np.zeros(4), atol=1e-9)
    np.testing.assert_allclose(np.ptp(steps[1], axis=0)[:2], np.ptp(items.sequences[1], axis=0))
    assert "relative to the middle of each recording" in figures_of(centred, items)["ellipses"].caption


def test_one_scale_for_all_unless_that_would_leave_one_flat():
    assert aspect_of(np.array([[0.0, 0.0], [1.0, 9.0]])) == "equal"
    assert aspect_of(np.array([[0.0, 0.0], [1.0, 11.0]])) == "auto"


def test_some_of_each_takes_from_all_clusters_in_turn():
    labels = np.array([0] * 10 + [1] * 2 + [2] * 10)
    chosen = _some_of_each(labels, 8)
    assert (np.diff(chosen) > 0).all()
    np.testing.assert_array_equal(np.bincount(labels[chosen]), [3, 2, 3])


def test_some_of_each_takes_all_if_there_are_few():
    np.testing.assert_array_equal(_some_of_each(np.array([1, 0, 1]), 8), [0, 1, 2])
