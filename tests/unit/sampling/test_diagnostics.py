"""Chains that agree are told from chains that do not, whatever they hold."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from homothety.errors import InputError
from homothety.sampling import Trace
from homothety.sampling.diagnostics import _effective_size, judge, kept_draws, r_hat, require_arviz, to_arviz

try:
    arviz = require_arviz()
except ImportError:
    pytest.skip("ArviZ is not installed", allow_module_level=True)


def draws_of(n_burn=10, **values):
    """Kept draws of such traces."""
    return kept_draws(traces_of(n_burn, **values))


def traces_of(n_burn=10, **values):
    """Traces from arrays (n_chains, n_draws), each after a burn-in that is far away from everything."""
    n_chains, n_draws = next(iter(values.values())).shape
    far = np.full(n_burn, 1e6)
    return [
        Trace({name: [*far, *array[chain]] for name, array in values.items()}, kept=list(range(n_draws)))
        for chain in range(n_chains)
    ]


@pytest.fixture
def good(rng):
    return rng.normal(size=(4, 300))


def test_chains_of_one_distribution_agree(good):
    verdict = judge(draws_of(place=good, n_clusters=np.round(good)))
    assert verdict.agree
    assert verdict.text.startswith("chains agree: over 4 chains of 300 draws, R-hat is at most 1.0")
    assert [row.name for row in verdict.table] == ["place", "n_clusters"]
    assert all(row.trouble == "" for row in verdict.table)


def test_numbers_are_those_of_arviz_without_burn_in(good):
    (row,) = judge(draws_of(place=good)).table
    assert row.r_hat == pytest.approx(float(arviz.rhat(good)), rel=1e-12)
    assert row.ess == pytest.approx(float(arviz.ess(good, method="bulk")), rel=1e-12)


@pytest.mark.parametrize("n_draws", [4, 51, 300])
@pytest.mark.parametrize(
    "changed",
    [
        lambda draws: draws,
        lambda draws: draws * np.arange(1, 5)[:, None],  # other spreads, which only distances from the median tell
        lambda draws: draws + np.arange(4)[:, None],
        lambda draws: draws.cumsum(axis=1),
        np.round,  # ties
        lambda draws: np.exp(5 * draws),  # long tails
    ],
)
def test_r_hat_is_that_of_arviz(good, changed, n_draws):
    draws = changed(good)[:, :n_draws]
    assert r_hat(draws) == pytest.approx(float(arviz.rhat(draws)), rel=1e-12)


def test_r_hat_where_it_is_undefined(good):
    assert math.isnan(r_hat(good[:1]))
    assert math.isnan(r_hat(good[:, :3]))
    assert math.isnan(r_hat(np.full((2, 50), 0.1)))
    assert math.isnan(r_hat(np.where(good > 2, np.nan, good)))
    assert r_hat(np.repeat([[0.1], [0.3], [0.1]], 50, axis=1)) == math.inf


def test_a_chain_elsewhere_is_noticed(good):
    good[2] += 3
    verdict = judge(draws_of(place=good, other=good - good))
    assert not verdict.agree
    assert verdict.text.startswith("run longer: place differs between chains (R-hat 1.")
    assert "other" not in verdict.text


def test_r_hat_is_compared_as_it_is_printed(good, monkeypatch):
    for ratio, agree in [(1.0149, True), (1.0151, False)]:
        monkeypatch.setattr("homothety.sampling.diagnostics.r_hat", lambda _, ratio=ratio: ratio)
        assert judge(draws_of(place=good), max_r_hat=1.01).agree is agree


def test_a_slow_walk_is_noticed(rng):
    walk = rng.normal(size=(2, 300)).cumsum(axis=1)
    assert not judge(draws_of(place=walk)).agree


def test_too_few_independent_draws_are_noticed(good):
    verdict = judge(draws_of(place=good), max_r_hat=2.0, min_ess=1000)
    assert not verdict.agree
    assert (
        verdict.text == f"run longer: place has an effective sample size of {verdict.table[0].ess:.0f} (needed 4000)."
    )


def test_one_chain_has_nothing_to_compare(good):
    verdict = judge(draws_of(place=good[:1]))
    assert not verdict.agree
    assert verdict.text == "one chain only: nothing to compare. Run several."
    (row,) = verdict.table
    assert math.isnan(row.r_hat)
    assert row.ess > 100


def test_equal_constants_agree(good):
    verdict = judge(draws_of(n_clusters=np.full((3, 50), 4.0)))
    assert verdict.agree
    assert verdict.text == "chains agree: in all 3 chains everything traced stays at the same value."
    assert math.isnan(verdict.table[0].r_hat)
    assert judge(draws_of(place=good, n_clusters=np.full((4, 300), 2.0))).agree


def test_different_constants_disagree():
    constants = np.repeat([[3.0], [4.0], [3.0]], 50, axis=1)
    verdict = judge(draws_of(n_clusters=constants))
    assert not verdict.agree
    assert verdict.text == "run longer: n_clusters stays at 3 in one chain and at 4 in another."
    assert verdict.table[0].r_hat == math.inf


def test_one_constant_chain_among_moving_ones_disagrees(good):
    good[0] = 5.0
    assert not judge(draws_of(place=good)).agree


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_two_values_alone_can_agree(rng, share):
    verdict = judge(draws_of(n_clusters=3.0 + (rng.random((4, 400)) < share)))
    assert verdict.agree, verdict.text


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_never_agree(good, bad):
    good[1, 7] = bad
    verdict = judge(draws_of(place=good))
    assert not verdict.agree
    assert verdict.text == "run longer: place is not finite in every sweep."


def test_few_sweeps_are_said_to_be_few(good):
    assert judge(draws_of(place=good[:, :3])).text == "run longer: 3 kept sweeps in each chain, needed at least 4."


def test_chains_are_cut_to_the_shortest(good):
    traces = traces_of(place=good)
    traces[1].truncate(110, 100)
    traces[3].truncate(5, 0)
    np.testing.assert_array_equal(kept_draws(traces)["place"], good[:3, :100])


def test_seconds_are_not_judged_unless_asked_for(good):
    traces = traces_of(place=good, seconds=np.abs(good))
    assert list(kept_draws(traces)) == ["place"]
    assert list(kept_draws(traces, ["seconds"])) == ["seconds"]


def test_unknown_names_and_empty_chains_are_refused(good):
    with pytest.raises(InputError, match=r"\['plaice'\] is not traced; traced are place"):
        kept_draws(traces_of(place=good), ["plaice"])
    with pytest.raises(InputError, match="No chain has kept a sweep"):
        kept_draws([Trace({"place": [1.0]}), Trace()])


def test_export_holds_what_was_kept(good):
    tree = to_arviz(draws_of(place=good, n_clusters=np.round(good)), {"seconds": np.abs(good)})
    assert type(tree).__name__ == "DataTree"
    assert set(tree["posterior"].data_vars) == {"place", "n_clusters"}
    np.testing.assert_array_equal(tree["posterior"]["place"].transpose("chain", "draw"), good)
    np.testing.assert_array_equal(tree["sample_stats"]["seconds"].transpose("chain", "draw"), np.abs(good))


def test_numbers_that_need_not_agree_are_in_the_table_alone(good):
    verdict = judge(draws_of(place=good, other=good + 5 * np.arange(4)[:, None]), compared=["place"])
    assert verdict.agree
    place, other = verdict.table
    assert other.r_hat > 1.5 > place.r_hat
    assert other.trouble == ""


def test_a_verdict_needs_no_arviz_but_its_data_tree_does(monkeypatch, good):
    monkeypatch.setitem(sys.modules, "arviz", None)
    assert judge(draws_of(place=good)).agree
    with pytest.raises(ImportError, match=r"pip install 'homothety\[diagnostics\]'"):
        to_arviz(draws_of(place=good))


@pytest.mark.parametrize("n_draws", [4, 5, 6, 7, 40, 301])
@pytest.mark.parametrize("step", [0.0, 0.3, 1.0])
def test_effective_size_is_that_of_arviz(n_draws, step):
    noise = np.random.default_rng(n_draws).normal(size=(3, n_draws))
    for draws in (noise + step * noise.cumsum(axis=1), np.round(noise), -noise + step * np.roll(noise, 1, axis=1)):
        assert _effective_size(draws) == pytest.approx(float(arviz.ess(draws, method="bulk")), rel=1e-9)


def test_effective_size_of_two_values_and_of_what_it_is_not_defined_for(good):
    two = np.where(good > 0, 1.0, 0.0)
    assert _effective_size(two) == pytest.approx(float(arviz.ess(two, method="bulk")), rel=1e-9)
    for draws in (np.ones((4, 100)), good[:, :3], np.where(good > 2, np.inf, good)):
        assert math.isnan(_effective_size(draws))


def test_limits_of_each_number(good):
    walk = good.cumsum(axis=1)
    draws, max_r_hat = draws_of(place=good, walk=walk), {"place": 1.01, "walk": 99.0}
    assert judge(draws, max_r_hat=max_r_hat, min_ess={"place": 100.0, "walk": 0.0}).agree
    assert "effective sample size" in judge(draws, max_r_hat=max_r_hat).table[1].trouble
