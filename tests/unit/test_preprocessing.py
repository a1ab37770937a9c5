"""Preprocessing does what it says, in the order it says, and can be undone in what is reported."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from homothety.errors import InputError
from homothety.preprocessing import FittedPreprocessing, Preprocessing
from homothety.sequences import check_sequences


@pytest.fixture
def recordings(rng):
    scales = np.array([1.0, 2.0, 3.0, 50.0, 40.0])
    return [5 + i + scales * rng.normal(size=(n_steps, 5)).cumsum(axis=0) for i, n_steps in enumerate((40, 31, 55))]


def run(recordings, **settings):
    return Preprocessing(**settings).fit(recordings).transform(recordings)


def test_centring_over_all_is_the_default_and_all_it_does(recordings):
    steps = np.concatenate(recordings)
    np.testing.assert_allclose(run(recordings).steps, steps - steps.mean(axis=0))


def test_no_steps_at_all_change_nothing(recordings):
    np.testing.assert_array_equal(run(recordings, centre=None).steps, np.concatenate(recordings))


def test_centring_by_series(recordings):
    for one in run(recordings, centre="series"):
        np.testing.assert_allclose(one.mean(axis=0), 0, atol=1e-9)


def test_names_are_kept(recordings):
    sequences = check_sequences(recordings, names=["a", "b", "c"])
    assert run(sequences).names == ("a", "b", "c")


def test_dimensions_alone_get_unit_deviation_or_range(recordings):
    np.testing.assert_allclose(run(recordings, scale="std").steps.std(axis=0), 1)
    np.testing.assert_allclose(np.ptp(run(recordings, scale="range").steps, axis=0), 1)


def test_a_group_shares_one_factor(recordings):
    steps = run(recordings, scale="std", groups=[(0, 1, 2)]).steps
    raw = np.concatenate(recordings)
    np.testing.assert_allclose(steps[:, :3].std(axis=0) / raw[:, :3].std(axis=0), 1 / np.sqrt(raw[:, :3].var(0).mean()))
    np.testing.assert_allclose(steps[:, 3:].std(axis=0), 1)
    ranges = np.ptp(run(recordings, scale="range", groups=[(0, 1, 2), (3, 4)]).steps, axis=0)
    np.testing.assert_allclose([ranges[:3].max(), ranges[3:].max()], 1)


def test_scaling_a_group_commutes_with_rotation(recordings):
    turn = Rotation.from_euler("xyz", [0.3, 1.0, -0.4]).as_matrix()
    positions = [one[:, :3] for one in recordings]
    turned = [one @ turn.T for one in positions]
    grouped = {"scale": "std", "groups": [(0, 1, 2)]}
    np.testing.assert_allclose(run(turned, **grouped).steps, run(positions, **grouped).steps @ turn.T, atol=1e-9)
    alone = run(turned, scale="std").steps - run(positions, scale="std").steps @ turn.T
    assert np.abs(alone).max() > 0.1


def test_own_factors_multiply(recordings):
    factors = [3, 3, 3, 0.5, -0.1]
    raw = np.concatenate(recordings)
    np.testing.assert_allclose(run(recordings, centre=None, scale=factors).steps, raw * factors)


def test_subsampling_keeps_every_so_many_th_step(recordings):
    prepared = run(recordings, centre=None, subsample=4)
    for kept, one in zip(prepared, recordings, strict=True):
        np.testing.assert_array_equal(kept, one[::4])


def test_smoothing_keeps_cubics_and_lowers_noise(rng):
    times = np.linspace(-1, 1, 60)[:, None]
    cubic = times**3 - times
    np.testing.assert_allclose(run([cubic], centre=None, smooth=9).steps, cubic, atol=1e-12)
    noise = rng.normal(size=(300, 1))
    assert run([noise], smooth=15).steps.std() < 0.5 * noise.std()


@pytest.mark.parametrize("window", [5, 7])
def test_no_window_smooths_nothing(window, rng):
    noise = rng.normal(size=(50, 1))
    assert np.abs(run([noise], centre=None, smooth=window).steps - noise).max() > 0.1


@pytest.mark.parametrize("smooth", [None, 5, 9])
def test_velocities_of_straight_motion(smooth):
    line = np.arange(20.0)[:, None] * [1.0, -2.0, 0.5]
    steps = run([line], centre=None, velocities="append", smooth=smooth).steps
    np.testing.assert_allclose(steps, np.hstack([line, np.tile([1.0, -2.0, 0.5], (20, 1))]), atol=1e-9)


def test_velocities_replace_the_chosen_dimensions_before_subsampling():
    line = np.arange(20.0)[:, None] * [1.0, -2.0, 0.5]
    steps = run([line], centre=None, velocities="replace", velocity_dims=[0, 2], subsample=5).steps
    np.testing.assert_allclose(steps, np.column_stack([np.full(4, 1.0), line[::5, 1], np.full(4, 0.5)]))


def test_appended_velocities_are_grouped_as_their_positions(recordings):
    fitted = Preprocessing(scale="std", groups=[(0, 1, 2)], velocities="append", velocity_dims=[0, 1, 2, 4])
    factors = fitted.fit(recordings).factors
    assert factors.shape == (9,)
    assert factors[0] == factors[1] == factors[2]
    assert factors[5] == factors[6] == factors[7]
    assert len(set(factors[[0, 3, 4, 5, 8]])) == 5


def test_quaternions_lose_their_jumps(rng):
    angles = np.linspace(0, 1.5, 80)
    smooth = Rotation.from_rotvec(angles[:, None] * [0.2, 0.5, 0.8]).as_quat()
    signs = rng.choice([-1.0, 1.0], size=(2, 80, 1))
    extra = rng.normal(size=(80, 1))
    jumping = [np.hstack([extra, smooth * one]) for one in signs]
    prepared = run(jumping, centre=None, quaternions=[(1, 2, 3, 4)])
    np.testing.assert_allclose(prepared[0], prepared[1])
    np.testing.assert_array_equal(prepared[0][:, 0], extra[:, 0])
    assert np.abs(np.diff(prepared[0][:, 1:], axis=0)).max() < 0.05
    np.testing.assert_allclose(np.abs(prepared[0][:, 1:]), np.abs(smooth))


def test_new_series_lie_on_the_side_of_the_fitted_ones():
    quaternions = Rotation.from_rotvec(np.linspace(0, 1, 30)[:, None] * [0, 0, 1]).as_quat()
    quaternions[:, :2] = np.random.default_rng(0).normal(scale=1e-3, size=(30, 2))
    fitted = Preprocessing(centre=None, quaternions=[(0, 1, 2, 3)]).fit([quaternions])
    np.testing.assert_allclose(fitted.transform([-quaternions]).steps, fitted.transform([quaternions]).steps)


def test_a_quaternion_is_scaled_as_one(rng):
    factors = Preprocessing(scale="std", quaternions=[(1, 2, 3, 4)]).fit([rng.normal(size=(30, 5))]).factors
    assert len(set(factors[1:])) == 1
    assert factors[0] != factors[1]


def test_means_and_covariances_are_restored(recordings):
    fitted = Preprocessing(scale="std", groups=[(0, 1, 2)]).fit(recordings)
    steps, raw = fitted.transform(recordings).steps, np.concatenate(recordings)
    part = slice(10, 60)
    np.testing.assert_allclose(fitted.restore_mean(steps[part].mean(axis=0)), raw[part].mean(axis=0))
    np.testing.assert_allclose(fitted.restore_covariance(np.cov(steps[part].T)), np.cov(raw[part].T))
    stacked = fitted.restore_covariance(np.stack([np.cov(steps.T), np.eye(5)]))
    np.testing.assert_allclose(stacked[0], np.cov(raw.T))
    np.testing.assert_allclose(stacked[1], np.diag(fitted.factors**-2))
    assert not fitted.means_are_relative


def test_means_of_series_centred_alone_stay_relative(recordings):
    fitted = Preprocessing(scale="std", centre="series").fit(recordings)
    assert fitted.means_are_relative
    one = fitted.transform(recordings)[1]
    relative = recordings[1][5:9].mean(axis=0) - recordings[1].mean(axis=0)
    np.testing.assert_allclose(fitted.restore_mean(one[5:9].mean(axis=0)), relative)


@pytest.mark.parametrize("every", [1, 2, 3, 7])
@pytest.mark.parametrize("n_steps", [2, 20, 21, 22])
def test_labels_go_back_to_the_nearest_kept_step(every, n_steps):
    kept = np.arange(n_steps)[::every]
    fitted = Preprocessing(subsample=every).fit([np.arange(60.0)[:, None]])
    expanded = fitted.expand(kept, n_steps)
    gaps = np.abs(np.arange(n_steps)[:, None] - kept).min(axis=1)
    np.testing.assert_array_equal(np.abs(expanded - np.arange(n_steps)), gaps)
    np.testing.assert_array_equal(expanded[::every], kept)


def test_expand_takes_probabilities_too():
    fitted = Preprocessing(subsample=2).fit([np.arange(8.0)[:, None]])
    assert fitted.expand(np.eye(4), 8).shape == (8, 4)


def test_constant_new_series_pass_but_not_fitted_ones():
    fitted = Preprocessing(scale="std").fit([np.arange(8.0)[:, None]])
    assert np.ptp(fitted.transform([np.ones((4, 1))]).steps) == 0
    with pytest.raises(InputError, match="Channel 0"):
        Preprocessing().fit([np.ones((4, 1))])


def test_record_goes_through_json(rng):
    recordings = [rng.normal(size=(40, 5)) for _ in range(2)]
    fitted = Preprocessing(
        scale="std", subsample=2, smooth=5, velocities="append", velocity_dims=[0], quaternions=[(1, 2, 3, 4)]
    ).fit(recordings)
    again = FittedPreprocessing.from_record(json.loads(json.dumps(fitted.to_record())))
    assert again.settings == fitted.settings
    np.testing.assert_array_equal(again.transform(recordings).steps, fitted.transform(recordings).steps)


def test_names_of_dimensions():
    line = np.arange(6.0)[:, None] * [1, 2]
    replaced = Preprocessing(velocities="replace", velocity_dims=[1]).fit([line])
    assert replaced.name_dims(["x", "y"]) == ("x", "velocity of y")
    assert Preprocessing().fit([line]).name_dims(["x", "y"]) == ("x", "y")
    with pytest.raises(InputError, match="names has 1 entries"):
        replaced.name_dims(["x"])
    assert replaced.transform([line]).channels is None
    assert replaced.transform(check_sequences([line], channels=["x", "y"])).channels == ("x", "velocity of y")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"centre": "none"}, "centre is 'none', needed one of 'all', 'series', or None"),
        ({"scale": "max"}, "scale is 'max'"),
        ({"scale": [1, 0]}, "needed one finite number other than zero"),
        ({"velocities": True}, "velocities is True"),
        ({"subsample": 0}, "subsample is 0, needed a whole number of at least 1"),
        ({"subsample": 2.5}, "subsample is 2.5"),
        ({"smooth": 4}, "needed an odd number"),
        ({"smooth": 1}, "smooth is 1, needed an odd number of steps, at least 5"),
        ({"smooth": 3}, "smooth is 3, .* a shorter window smooths nothing"),
        ({"smooth": 5.0}, "smooth is 5.0, needed an odd number"),
        ({"subsample": "often"}, r"subsample is 'often', needed a whole number of at least 1 or 'auto'\."),
        ({"groups": [(0, 1)]}, "groups means nothing without scale='std' or scale='range'"),
        ({"groups": [(0, 1)], "scale": [1.0, 2.0]}, "groups means nothing without"),
        ({"groups": [(0, 1), (1, 2)]}, "groups names dimension 1 twice, needed each dimension once at most"),
        ({"groups": [()]}, "groups has an empty group"),
        ({"groups": [(-1, 0)]}, "A dimension in groups is -1"),
        ({"quaternions": [(0, 1, 2)]}, "four dimensions each"),
        ({"quaternions": [(0, 1, 2, 3)], "groups": [(3, 4)]}, "holds a part of quaternion"),
        ({"velocity_dims": [0]}, "means nothing without velocities"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        Preprocessing(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scale": "std", "groups": [(0, 1), (2, 3, 7)]}, "groups names dimension 7, but recordings have 5"),
        ({"quaternions": [(2, 3, 4, 5)]}, "quaternions names dimension 5"),
        ({"velocities": "append", "velocity_dims": [9]}, "velocity_dims names dimension 9"),
        ({"scale": [1, 2]}, "scale has 2 factors, needed one for each of 5"),
        ({"smooth": 33}, "series 1 has 31 steps, fewer than the smoothing window of 33"),
        ({"scale": "std", "velocities": "replace", "velocity_dims": [0], "groups": [(0, 1)]}, "share no scale"),
    ],
)
def test_settings_that_do_not_fit_the_recordings(recordings, settings, message):
    with pytest.raises(InputError, match=message):
        Preprocessing(**settings).fit(recordings)


def test_levels_lost_by_centring_cannot_be_scaled():
    levels = [np.column_stack([np.arange(4.0), np.full(4, level)]) for level in (0.1, 0.7)]
    with pytest.raises(InputError, match="After centring, channel 1 is constant"):
        Preprocessing(centre="series", scale="std").fit(levels)


def test_wrong_dimensions_later(recordings):
    fitted = Preprocessing(subsample=2).fit(recordings)
    with pytest.raises(InputError, match="Recordings have 2 dimensions, needed 5"):
        fitted.transform([np.ones((4, 2))])
    with pytest.raises(InputError, match=r"mean has shape \(4,\)"):
        fitted.restore_mean(np.ones(4))
    with pytest.raises(InputError, match=r"covariance has shape \(5,\)"):
        fitted.restore_covariance(np.ones(5))
    with pytest.raises(InputError, match="needed 4 entries, as one step in 2 of 8 was kept"):
        fitted.expand(np.ones(3), 8)


# Missing values


def gappy_swing():
    time = np.arange(200.0)
    swing = np.column_stack([np.sin(time / 9), np.cos(time / 7)])
    gappy = swing.copy()
    gappy[50:90, 0] = np.nan
    gappy[[20, 120, 123], 1] = np.nan
    return swing, gappy


def test_missing_values_stay_missing_and_do_not_count():
    rng = np.random.default_rng(0)
    whole = rng.normal([3.0, -2.0], [1.0, 5.0], size=(300, 2))
    gappy = np.where(rng.random(whole.shape) < 0.4, np.nan, whole)
    prepared = Preprocessing(scale="std").fit([gappy]).transform([gappy])
    assert (np.isnan(prepared[0]) == np.isnan(gappy)).all()
    np.testing.assert_allclose(np.nanmean(prepared[0], axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.nanstd(prepared[0], axis=0), 1.0)
    ranged = Preprocessing(scale="range", groups=[(0, 1)]).fit([gappy])
    np.testing.assert_allclose(1 / ranged.factors, (np.nanmax(gappy, axis=0) - np.nanmin(gappy, axis=0)).max())


def test_each_series_is_centred_by_what_is_known_of_it():
    gappy = [np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]]), np.array([[0.0, 1.0], [4.0, 3.0]])]
    prepared = Preprocessing(centre="series").fit(gappy).transform(gappy)
    np.testing.assert_array_equal(prepared[0], [[-1.0, np.nan], [1.0, np.nan], [np.nan, np.nan]])
    np.testing.assert_array_equal(prepared[1], [[-2.0, -1.0], [2.0, 1.0]])


def test_velocities_next_to_gaps_are_missing():
    _, gappy = gappy_swing()
    speed = Preprocessing(velocities="replace", centre=None).fit([gappy]).transform([gappy])[0]
    missing = np.isnan(speed[:, 0])
    assert missing[49:91].all()
    assert not missing[:49].any()
    assert not missing[91:].any()


def test_smoothing_reaches_over_short_gaps_only():
    swing, gappy = gappy_swing()
    settings = Preprocessing(smooth=11, velocities="append", centre=None)
    found, whole = (settings.fit([one]).transform([one])[0] for one in (gappy, swing))
    missing = np.isnan(found)
    assert (missing[:, :2] == missing[:, 2:]).all()
    # Beside the long gap nothing is known on one side; beside short ones all windows reach over them.
    np.testing.assert_array_equal(np.flatnonzero(missing[:, 0]), np.arange(49, 91))
    np.testing.assert_array_equal(np.flatnonzero(missing[:, 1]), [20, 120, 123])
    far = np.ones(200, dtype=bool)
    far[44:96] = False
    np.testing.assert_allclose(found[far, 0], whole[far, 0], atol=1e-12)
    np.testing.assert_allclose(found[~missing], whole[~missing], atol=0.01)


def test_polynomials_through_gaps_are_exact():
    time = np.arange(60.0)
    cubic = (1e-4 * time**3 - 0.01 * time**2 + 0.3 * time)[:, None]
    gappy = np.where(np.random.default_rng(0).random(cubic.shape) < 0.3, np.nan, cubic)
    found = Preprocessing(smooth=13, velocities="append", centre=None).fit([gappy]).transform([gappy])[0]
    known = ~np.isnan(found[:, 0])
    assert known.sum() > 30
    np.testing.assert_allclose(found[known, 0], cubic[known, 0], atol=1e-9)
    np.testing.assert_allclose(found[known, 1], (3e-4 * time**2 - 0.02 * time + 0.3)[known], atol=1e-9)


def test_signs_of_quaternions_do_not_jump_across_gaps():
    angle = np.linspace(0.0, 3.0, 40)
    whole = np.column_stack([np.cos(angle / 2), *(np.sin(angle / 2) * np.array([[0.6], [0.64], [0.48]]))])
    gappy = whole * np.where(np.arange(40) % 3 == 0, -1.0, 1.0)[:, None]
    gappy[10:20], gappy[5, 2] = np.nan, np.nan
    settings = Preprocessing(quaternions=[(0, 1, 2, 3)], centre=None)
    fitted = settings.fit([gappy])
    found = fitted.transform([gappy])[0]
    known = ~np.isnan(found).any(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(~known), [5, *range(10, 20)])
    np.testing.assert_allclose(found[known], whole[known])


def test_stride_is_measured_between_known_steps():
    swing = np.sin(2 * np.pi * np.arange(2000) / 80)[:, None]
    gappy = np.where(np.random.default_rng(0).random(swing.shape) < 0.3, np.nan, swing)
    strides = [Preprocessing(subsample="auto").fit([one]).settings.subsample for one in (swing, gappy)]
    assert abs(strides[0] - strides[1]) <= 2
