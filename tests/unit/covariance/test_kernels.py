"""Every kernel equals its twin, compiled and not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import naive_similarity as naive
from homothety.covariance import _kernels

DISPERSIONS = {"variance": _kernels.VARIANCE, "std": _kernels.STD, "cv": _kernels.CV}
DECAYS = {
    None: _kernels.NO_DECAY,
    "bounded": _kernels.BOUNDED,
    "exponential": _kernels.EXPONENTIAL,
    "exponential-root": _kernels.EXPONENTIAL_ROOT,
}


def both(kernel):
    return pytest.param(kernel, id="compiled"), pytest.param(getattr(kernel, "py_func", kernel), id="interpreted")


@pytest.fixture
def uncompiled(interpret):
    """Replace every kernel by its Python source, also where kernels call each other."""
    interpret(_kernels)


def random_lengths(rng, n_matrices, n_dims):
    return np.sort(np.exp(rng.normal(size=(n_matrices, n_dims))), axis=1)


def twin(lengths_a, lengths_b, dispersion, ddof, decay, strength):
    values = np.array([[naive.spcm_of_lengths(a, b, dispersion, ddof) for b in lengths_b] for a in lengths_a])
    decays = {
        None: lambda d: d,
        "bounded": lambda d: 1 / (1 + strength * d),
        "exponential": lambda d: math.exp(-strength * d),
        "exponential-root": lambda d: math.exp(-strength * math.sqrt(d)),
    }
    return np.vectorize(decays[decay])(values)


def check_against_twin(rng, n_rows, n_columns, n_dims, dispersion, decay, ddof=1, strength=1.7):
    lengths, others = random_lengths(rng, n_rows, n_dims), random_lengths(rng, n_columns, n_dims)
    settings = (ddof, DISPERSIONS[dispersion], DECAYS[decay], strength)
    within, between = np.full((n_rows, n_rows), np.nan), np.full((n_rows, n_columns), np.nan)
    _kernels.spcm_within(lengths, *settings, within)
    _kernels.spcm_between(lengths, others, *settings, between)
    expected = twin(lengths, lengths, dispersion, ddof, decay, strength)
    np.testing.assert_allclose(within, expected, rtol=1e-10, atol=1e-25)
    np.testing.assert_allclose(between, twin(lengths, others, dispersion, ddof, decay, strength), rtol=1e-10)
    np.testing.assert_array_equal(within, within.T)
    np.testing.assert_array_equal(np.diag(within), 0.0 if decay is None else 1.0)


@pytest.mark.parametrize("dispersion", DISPERSIONS)
@pytest.mark.parametrize("decay", DECAYS)
@pytest.mark.parametrize("n_dims", [2, 3, 7])
def test_all_pairs_equal_the_twin(rng, dispersion, decay, n_dims):
    check_against_twin(rng, 10, 6, n_dims, dispersion, decay)


@pytest.mark.parametrize("dispersion", DISPERSIONS)
@pytest.mark.parametrize("decay", DECAYS)
def test_all_pairs_equal_the_twin_without_compilation(rng, uncompiled, dispersion, decay):
    check_against_twin(rng, 7, 5, 3, dispersion, decay)


@pytest.mark.parametrize("n_rows", [1, _kernels._TILE - 1, _kernels._TILE, _kernels._TILE + 1, 2 * _kernels._TILE + 5])
def test_tiles_meet_without_gap(rng, n_rows):
    check_against_twin(rng, n_rows, _kernels._TILE + 3, 3, "variance", "bounded", ddof=0)


@pytest.mark.parametrize("kernel", both(_kernels._ratio_moments))
def test_moments_are_those_of_the_ratios(rng, kernel):
    scales, columns = np.exp(rng.normal(size=4)), np.exp(rng.normal(size=(4, 12)))
    means, variances = np.empty(9), np.empty(9)
    for ddof in (0, 1):
        kernel(scales, columns, 2, ddof, means, variances)
        ratios = scales[:, None] * columns[:, 2:11]
        np.testing.assert_allclose(means, ratios.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(variances, ratios.var(axis=0, ddof=ddof), rtol=1e-12)


@pytest.mark.parametrize("kernel", both(_kernels._variance_to_dispersion))
def test_dispersion_is_made_of_the_variance(kernel):
    means = np.array([2.0, 4.0, np.inf, np.inf])
    variances = np.array([9.0, 0.0, np.inf, np.nan])
    expected = {
        "variance": [9.0, 0.0, np.inf, np.inf],
        "std": [3.0, 0.0, np.inf, np.inf],
        "cv": [1.5, 0.0, np.inf, np.inf],
    }
    for dispersion, values in expected.items():
        spreads = variances.copy()
        with np.errstate(invalid="ignore"):
            kernel(DISPERSIONS[dispersion], means, spreads)
        np.testing.assert_array_equal(spreads, values)


@pytest.mark.parametrize("kernel", both(_kernels._choose_direction))
def test_direction_and_tie(kernel):
    mean_ab, mean_ba = np.array([2.0, 1.0, 3.0, np.inf]), np.array([1.0, 2.0, 3.0, np.inf])
    spread_ab, spread_ba = np.array([5.0, 5.0, 5.0, np.inf]), np.array([7.0, 7.0, 7.0, np.inf])
    row = np.empty(4)
    kernel(mean_ab, spread_ab, mean_ba, spread_ba, row)
    np.testing.assert_array_equal(row, [5.0, 7.0, 6.0, np.inf])


def test_a_tile_is_written_to_its_place_and_nowhere_else():
    tile = np.array([[1.0, 2.0, -1.0], [3.0, 4.0, -1.0], [-1.0, -1.0, -1.0]])
    expected = np.zeros((5, 5))
    expected[1:3, 3:] = tile[:2, :2]
    for copy in (_kernels._write_tile, _kernels._write_tile.py_func):
        out = np.zeros((5, 5))
        copy(tile, 1, 3, 3, 5, out)
        np.testing.assert_array_equal(out, expected)
    for copy in (_kernels._write_mirrored_tile, _kernels._write_mirrored_tile.py_func):
        out = np.zeros((5, 5))
        copy(tile, 1, 3, 3, 5, out)
        np.testing.assert_array_equal(out, expected.T)


@pytest.mark.parametrize("kernel", both(_kernels._apply_decay))
def test_decays_start_at_one_and_end_at_zero(kernel):
    expected = {
        None: [0.0, 4.0, np.inf],
        "bounded": [1.0, 1 / 3, 0.0],
        "exponential": [1.0, math.exp(-2), 0.0],
        "exponential-root": [1.0, math.exp(-1), 0.0],
    }
    for name, values in expected.items():
        row = np.array([0.0, 4.0, np.inf])
        kernel(DECAYS[name], 0.5, row)
        np.testing.assert_allclose(row, values, rtol=1e-15)


def test_an_exact_tie_with_unequal_variances_is_averaged():
    """Lengths chosen by search so that both mean ratios are one and the same float."""
    lengths_b = np.array([1.0, 4.0, 16.0])
    middle = 1.7
    constant = 2 + 1 / middle - 0.5 - middle
    root = (constant + math.sqrt(constant**2 + 4)) / 2
    reciprocals_b = 1 / lengths_b
    for k in range(-40, 41):
        lengths_a = np.array([0.5, 4 * middle, 16 * (root + k * np.spacing(root))])
        forward, backward = (np.add.accumulate(r)[-1] for r in (lengths_a * reciprocals_b, lengths_b * (1 / lengths_a)))
        if forward / 3 == backward / 3:
            break
    else:
        pytest.fail("no exact tie among the floats around the root")
    out = np.empty((1, 1))
    _kernels.spcm_between(lengths_a[None], lengths_b[None], 0, _kernels.VARIANCE, _kernels.NO_DECAY, 1.0, out)
    ratios = lengths_a / lengths_b
    assert out[0, 0] == pytest.approx((np.var(ratios) + np.var(1 / ratios)) / 2, rel=1e-12)
    assert out[0, 0] == pytest.approx(0.312002747, abs=5e-10)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_equal_shapes_are_at_zero_although_ratios_are_products(rng, scale):
    """Reciprocals are rounded once more than quotients; the dissimilarity of equal shapes must not show it."""
    lengths = random_lengths(rng, 200, 5)
    out = np.empty((200, 200))
    _kernels.spcm_between(lengths, scale * lengths, 0, _kernels.VARIANCE, _kernels.NO_DECAY, 1.0, out)
    assert np.diag(out).max() <= 1e-20 * (1 + scale**2 + 1 / scale**2)


def test_overflow_is_infinitely_different():
    lengths, others = np.array([[1e-200, 1e-200]]), np.array([[1e150, 1e200]])
    for dispersion in DISPERSIONS.values():
        out = np.empty((2, 1, 1))
        with np.errstate(over="ignore", invalid="ignore"):  # only heard where compilation is switched off
            _kernels.spcm_between(lengths, others, 0, dispersion, _kernels.NO_DECAY, 1.0, out[0])
            _kernels.spcm_between(lengths, others, 0, dispersion, _kernels.BOUNDED, 1.0, out[1])
        np.testing.assert_array_equal(out.ravel(), [np.inf, 0.0])
