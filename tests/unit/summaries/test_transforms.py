"""Transformations of states: values, intervals, and what is not known is not claimed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import special_ortho_group

import homothety
from homothety import ICSCHMM
from homothety.covariance.rotation import axes_of, rotation_angle
from homothety.datasets import make_toy_2d
from homothety.errors import InputError
from homothety.models.emissions import Emission
from homothety.models.emissions.regression import statistics_of
from homothety.preprocessing import Preprocessing
from homothety.sampling.trace import RunPath
from homothety.sequences import check_sequences
from homothety.summaries.paths import PathDraws
from homothety.summaries.transforms import (
    Placement,
    _draw_placements,
    _matching_states,
    _place_states,
    _without_prior,
    similarity_between,
    transform_table,
)

SHORT = {"n_chains": 1, "n_sweeps": 30, "random_state": 0}
FITTED = {"n_chains": 2, "n_sweeps": 100, "random_state": 0}
LENGTHS = np.array([0.4, 1.0, 2.5])


def two_states(rng, n_steps=(300, 200), lengths=LENGTHS):
    """Series of one state and of the same state turned, resized and moved; their path, and the rotation."""
    frame, turn = special_ortho_group.rvs(3, 2, random_state=rng)
    first = rng.normal(size=(n_steps[0], 3)) * lengths @ frame.T
    second = 1.5 * rng.normal(size=(n_steps[1], 3)) * lengths @ frame.T @ turn.T + [4.0, 0.0, -3.0]
    return check_sequences([first, second]), np.repeat([0, 1], n_steps), turn


def gaussian(**options):
    return Emission.gaussian(np.zeros(3), 1.0, np.eye(3), 5.0, **options)


def table_of(rng, sequences, path, emission=None):
    draws = PathDraws.of([RunPath.of(path)] * 5)
    return transform_table(rng, emission or gaussian(), sequences, path, draws, np.zeros(path.max() + 1, dtype=int))


def rows_of(table):
    n = len(table.reference)
    return table.rows(np.zeros(n, dtype=int), np.full((n, n), 0.9))


def test_rotation_scale_and_translation_are_found(rng):
    sequences, path, turn = two_states(rng)
    reference, row = rows_of(table_of(rng, sequences, path))
    assert reference.is_reference
    assert (row.state, row.reference, row.orientation, row.n_equivalent) == (1, 0, "full", 4)
    assert row.scale_low < 1.5 < row.scale_high
    assert row.scale_low < row.scale < row.scale_high < 1.2 * row.scale_low
    assert (row.translation_low < [4.0, 0.0, -3.0]).all()
    assert (row.translation_high > [4.0, 0.0, -3.0]).all()
    angles = [float(rotation_angle(one.T @ turn)) for one in row.equivalents()]
    assert min(angles) < row.rotation_within < 15
    assert row.angle == min(float(rotation_angle(one)) for one in row.equivalents())
    assert row.mismatch < 0.1
    assert (row.agreement, row.support, row.observations) == (0.9, 1.0, 200.0)


def test_a_reference_is_compared_with_itself(rng):
    reference, _ = rows_of(table_of(rng, *two_states(rng)[:2]))
    assert (reference.scale, reference.scale_low, reference.scale_high) == (1.0, 1.0, 1.0)
    assert (reference.angle, reference.rotation_within, reference.mismatch, reference.agreement) == (0, 0, 0, 1)
    points = rng.normal(size=(4, 3))
    np.testing.assert_allclose(reference.apply(points), points)


def test_points_of_the_reference_are_moved_to_the_state(rng):
    sequences, path, _ = two_states(rng, n_steps=(2000, 1900))
    _, row = rows_of(table_of(rng, sequences, path))
    moved = row.apply(sequences[0])
    np.testing.assert_allclose(moved.mean(axis=0), sequences[1].mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(np.cov(moved.T), np.cov(sequences[1].T), rtol=0.3, atol=0.3)
    with pytest.raises(InputError, match=r"points has shape \(5, 2\), needed 3 dimensions"):
        row.apply(np.zeros((5, 2)))


@pytest.mark.parametrize(
    ("lengths", "orientation", "blocks"),
    [([1, 1, 1], "none", ((0, 1, 2),)), ([1, 1, 4], "partial", ((0, 1), (2,))), ([1, 4, 4], "partial", ((0,), (1, 2)))],
)
def test_axes_of_equal_length_have_no_direction(lengths, orientation, blocks, rng):
    _, row = rows_of(table_of(rng, *two_states(rng, lengths=np.array(lengths))[:2]))
    assert (row.orientation, row.blocks, row.n_equivalent) == (orientation, blocks, len(blocks))
    assert np.isnan(row.angle) == np.isnan(row.rotation_within) == (orientation == "none")
    np.testing.assert_allclose(np.linalg.det(row.rotation), 1.0)


def test_too_few_observations_say_nothing(rng):
    _, row = rows_of(table_of(rng, *two_states(rng, n_steps=(100, 3))[:2]))
    assert (row.scale_low, row.scale_high) == (0.0, np.inf)
    assert (row.translation_low == -np.inf).all()
    assert (row.mismatch_low, row.mismatch_high) == (0.0, np.inf)
    assert row.orientation == "none"
    assert np.isfinite([row.scale, row.mismatch]).all()


def test_steps_that_count_less_make_intervals_wider(rng):
    sequences, path, _ = two_states(rng)
    widths = []
    for weight in (1.0, 0.1):
        emission = Emission(np.zeros((3, 1)), np.eye(1), np.eye(3), 5.0, weight=weight)
        _, row = rows_of(table_of(np.random.default_rng(0), sequences, path, emission))
        widths.append([np.log(row.scale_high / row.scale_low), row.rotation_within])
    np.testing.assert_allclose(np.divide(*widths[::-1]), np.sqrt(10), rtol=0.3)


def test_the_prior_of_the_segmentation_has_no_say(rng):
    sequences, path, _ = two_states(rng, n_steps=(40, 40))
    rows = []
    for size in (0.1, 10.0):
        emission = Emission.gaussian(np.full(3, size), 10.0, size * np.eye(3), 9.0)
        rows.append(rows_of(table_of(np.random.default_rng(0), sequences, path, emission))[1])
    np.testing.assert_allclose(rows[0].scale, rows[1].scale, rtol=1e-5)
    np.testing.assert_allclose(rows[0].translation, rows[1].translation, rtol=1e-4, atol=1e-4)


def test_assumed_directions_are_not_reported_as_found(rng):
    _, row = rows_of(table_of(rng, *two_states(rng)[:2], gaussian(diagonal=True)))
    assert row.orientation == "none"
    assert np.isfinite([row.scale_low, row.scale_high]).all()


def test_autoregressive_states_have_no_place(rng):
    sequences, path, _ = two_states(rng)
    centred = check_sequences([series - series.mean(axis=0) for series in sequences])
    path = np.concatenate([path[:299], path[301:]])
    _, row = rows_of(table_of(rng, centred, path, Emission.autoregressive(1, 1.0, np.eye(3), 5.0)))
    assert row.scale_low < 1.5 < row.scale_high
    assert np.isnan([row.translation, row.translation_low, row.translation_high]).all()
    with pytest.raises(InputError, match="Autoregressive states have no mean"):
        row.apply(np.zeros(3))


def test_several_blocks_of_dimensions_are_refused(rng):
    sequences, path, _ = two_states(rng)
    blocks = Emission.gaussian_blocks(
        [2, 1], [np.zeros(2), np.zeros(1)], [1.0, 1.0], [np.eye(2), np.eye(1)], [5.0, 4.0]
    )
    with pytest.raises(InputError, match="worked out for one block of dimensions"):
        table_of(rng, sequences, path, blocks)


def test_states_that_no_sweep_has_have_no_interval(rng):
    sequences, path, _ = two_states(rng)
    draws = PathDraws.of([RunPath.of(np.zeros_like(path)), RunPath.of(path)])
    _, row = rows_of(transform_table(rng, gaussian(), sequences, path, draws, np.zeros(2, dtype=int)))
    assert row.support == 0.5
    draws = PathDraws.of([RunPath.of(np.zeros_like(path))])
    _, row = rows_of(transform_table(rng, gaussian(), sequences, path, draws, np.zeros(2, dtype=int)))
    assert row.support == 0.0
    assert np.isnan([row.scale_low, row.scale_high, row.rotation_within]).all()
    assert np.isfinite(row.scale)


def test_states_are_matched_by_the_steps_they_share():
    point = np.array([0, 0, 0, 0, 1, 1, 1, 2])
    np.testing.assert_array_equal(_matching_states(point, np.array([1, 1, 1, 1, 0, 0, 0, 2]), 3), [1, 0, 2])
    np.testing.assert_array_equal(_matching_states(point, np.array([0, 1, 1, 1, 0, 0, 0, 2]), 3), [1, 0, 2])
    # Of two states that are one there, neither has more than half of it.
    np.testing.assert_array_equal(_matching_states(np.array([0, 0, 1, 1]), np.zeros(4, dtype=int), 2), [-1, -1])


def test_reported_sizes_are_the_means_of_those_drawn(rng):
    # Two states of one size that rest on few and on many observations: neither may seem larger.
    sequences, path, _ = two_states(rng, n_steps=(12, 400))
    flat = _without_prior(gaussian())
    z, _ = flat.augment(sequences)
    point = _place_states(flat, statistics_of(flat, z, path, 2))
    drawn = _draw_placements(rng, flat, z, path, PathDraws.of([RunPath.of(path)]), 2)
    sizes = drawn.placement.axes.log_lengths.mean(axis=2)
    error = sizes.std(axis=0) / np.sqrt(len(sizes))
    assert (np.abs(sizes.mean(axis=0) - point.axes.log_lengths.mean(axis=1)) < 4 * error).all()
    means = drawn.placement.means
    assert (np.abs(means.mean(axis=0) - point.means) < 5 * means.std(axis=0) / np.sqrt(len(means))).all()


def test_one_dimension_has_no_rotation():
    start, end = (Placement(np.array([x]), axes_of(np.array([[variance]]))) for x, variance in ((0.0, 1.0), (2.0, 9.0)))
    found = similarity_between(start, end, blocks=np.array([0]))
    np.testing.assert_allclose(np.exp(found.log_scale), 3.0)
    assert (found.rotation, found.translation, found.mismatch) == (1.0, 2.0, 0.0)


# --- of a fitted model -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy():
    return make_toy_2d(0, n_steps=200)


@pytest.fixture(scope="module")
def model(toy):
    return ICSCHMM(**FITTED).fit(toy.sequences)


def other_of(model, orientation):
    """The state that is compared, of the action whose axes are known or are not."""
    (row,) = (row for row in model.transforms_ if not row.is_reference and row.orientation == orientation)
    return row


def test_every_state_of_the_toy_has_its_transformation(model):
    assert [row.state for row in model.transforms_] == [0, 1, 2, 3]
    ellipse, circle = other_of(model, "full"), other_of(model, "none")
    # The ellipses are at right angles and of one size; the circles differ in size by two, whichever comes first.
    assert abs(ellipse.angle - 90) < max(ellipse.rotation_within, 1)
    assert ellipse.scale_low < 1 < ellipse.scale_high
    assert circle.scale_low < (0.5 if circle.scale < 1 else 2) < circle.scale_high
    np.testing.assert_allclose(np.abs(circle.translation), [2, 2], atol=0.3)
    assert circle.agreement == model.coaction_[circle.state, circle.reference]
    assert circle.support > 0.9


def test_transformations_are_saved(model, tmp_path):
    model.save(tmp_path / "model.zip")
    for ours, theirs in zip(model.transforms_, homothety.load(tmp_path / "model.zip").transforms_, strict=True):
        for name, value in ours._asdict().items():
            np.testing.assert_equal(getattr(theirs, name), value, name)


@pytest.mark.parametrize("factor", [100.0, -0.01])
def test_units_are_those_of_the_recordings_if_all_dimensions_were_scaled_alike(model, toy, factor):
    preprocessing = Preprocessing(subsample="auto", scale=(factor, factor))
    again = ICSCHMM(preprocessing=preprocessing, **FITTED).fit(toy.sequences)
    for one, other in zip(again.transforms_, model.transforms_, strict=True):
        np.testing.assert_allclose(one.mean, again.means_[one.state], atol=0.1)
        np.testing.assert_allclose(one.translation, other.translation, atol=1e-6)
        assert (one.translation_low <= one.translation_high).all()


def test_units_are_those_of_the_prepared_series_otherwise(toy):
    uneven = ICSCHMM(preprocessing=Preprocessing(scale=(1.0, 10.0)), **FITTED).fit(toy.sequences)
    for row in uneven.transforms_:
        np.testing.assert_allclose(row.mean, uneven.states_.coefficients[row.state, :, 0], atol=0.5)
