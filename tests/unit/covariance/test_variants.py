from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from homothety.covariance import SPCM_VARIANTS, SPCMVariant, resolve_variant, tolerance_factor
from homothety.errors import InputError

# docs/model.md, section 8.1: upsilon for 2, 3, 4, 6 and 9 dimensions
UPSILON = {1.0: [1.36564, 1.12147, 1.04308, 1.00572, 1.00028], 10.0: [22.5607, 3.14681, 1.5246, 1.05874, 1.00285]}


@pytest.mark.parametrize("tolerance", UPSILON)
def test_upsilon_has_the_values_of_equation_10(tolerance):
    found = [tolerance_factor(n_dims, tolerance) for n_dims in (2, 3, 4, 6, 9)]
    np.testing.assert_allclose(found, UPSILON[tolerance], rtol=5e-6)


def test_upsilon_stays_finite():
    assert tolerance_factor(2, 1e9) == np.finfo(float).max
    assert tolerance_factor(400, 1e9) == 1.0


@pytest.mark.parametrize("tolerance", [-1.0, np.nan, np.inf])
def test_an_impossible_tolerance_is_refused(tolerance):
    with pytest.raises(InputError, match=r"tolerance is .*at least 0"):
        tolerance_factor(3, tolerance)


def test_without_arguments_a_variant_is_the_papers():
    assert SPCMVariant() == SPCM_VARIANTS["paper"] == resolve_variant("paper")


def test_a_variant_resolves_to_itself():
    mine = SPCMVariant("eigenvalue", "cv", decay="exponential", rate=2.0)
    assert resolve_variant(mine) is mine


def test_an_unknown_variant_lists_the_known_ones():
    with pytest.raises(InputError, match=r"variant is 'papre', needed one of 'paper', 'published', .*'log'"):
        resolve_variant("papre")
    with pytest.raises(InputError, match=r"variant is \['paper'\]"):
        resolve_variant(["paper"])


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("length", "root", "length is 'root', needed 'sqrt' or 'eigenvalue'"),
        ("dispersion", "range", "dispersion is 'range', needed 'variance', 'std', 'cv' or 'log'"),
        ("ddof", 2, "ddof is 2, needed 0 or 1"),
        ("decay", "linear", "decay is 'linear', needed 'bounded', 'exponential' or 'exponential-root'"),
        ("rate", 0.0, "rate is 0.0, needed a positive"),
        ("rate", math.inf, "rate is inf, needed a positive finite"),
    ],
)
def test_a_wrong_choice_lists_the_right_ones(field, value, text):
    with pytest.raises(InputError, match=text):
        dataclasses.replace(SPCMVariant(), **{field: value})


def test_the_rate_of_an_exponential_decay_holds_at_tolerance_one():
    assert SPCM_VARIANTS["log"].strength(3, 1.0) == 3.0
    assert SPCM_VARIANTS["scale-free"].strength(2, 1.0) == 3.0
    assert SPCM_VARIANTS["paper"].strength(3, 1.0) == tolerance_factor(3, 1.0)


@pytest.mark.parametrize("name", SPCM_VARIANTS)
def test_the_strength_grows_with_the_tolerance(name):
    strengths = [SPCM_VARIANTS[name].strength(3, tolerance) for tolerance in (0.0, 1.0, 2.0, 10.0, 1e6)]
    assert np.all(np.diff(strengths) > 0)
    assert np.isfinite(strengths).all()


def test_named_variants_cannot_be_changed():
    with pytest.raises(TypeError):
        SPCM_VARIANTS["paper"] = SPCMVariant()
    with pytest.raises(dataclasses.FrozenInstanceError):
        SPCM_VARIANTS["paper"].ddof = 1
