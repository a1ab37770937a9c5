"""Estimators sample until their chains agree, unless the number of sweeps is given."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from homothety import IBPHMM, ActionHMM, CRPMixture, SimilarityMixture, SPCMMixture, StickyHDPHMM, load
from homothety.datasets import make_demonstrations, make_toy_2d
from homothety.errors import ConvergenceWarning, InputError, ShortChainWarning
from homothety.estimators.hmm import ICSCHMM
from homothety.estimators.sampled import AutoSweeps, SampledChains
from homothety.sampling import Checkpoints
from homothety.sampling.diagnostics import r_hat
from homothety.sampling.trace import Trace

POINTS = np.concatenate([np.random.default_rng(0).normal(place, 0.1, (8, 2)) for place in (0, 3)])
SERIES = make_toy_2d(random_state=0, n_steps=40).sequences
FEW = AutoSweeps(first=12, most=48, alone=10)
CASES = {
    "mixture": (CRPMixture(n_chains=2, random_state=0), POINTS),
    "segmenter": (IBPHMM(n_chains=2, random_state=0, start="clusters", step_weight=1.0), SERIES),
    "coupled": (ICSCHMM(n_chains=2, random_state=0, start="clusters", step_weight=1.0, coupling="burnin"), SERIES),
}
each = pytest.mark.parametrize("case", CASES)


@pytest.fixture(autouse=True)
def few_sweeps(monkeypatch):
    for cls in (CRPMixture, IBPHMM, ICSCHMM, ActionHMM):
        monkeypatch.setattr(cls, "auto_sweeps", FEW)


def differing_until(monkeypatch, n_sweeps):
    """Let chains differ until each has so many sweeps."""

    def differences(self, traces):
        return "" if traces[0].n_sweeps >= n_sweeps else "the number of states (R-hat 1.40)"

    monkeypatch.setattr(SampledChains, "_differences", differences)


def fit(case, **options):
    estimator, data = CASES[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(estimator).set_params(**options).fit(data)


def assert_same(first, second):
    assert (first.n_sweeps_, first.n_burn_) == (second.n_sweeps_, second.n_burn_)
    for name in {*first.trace_} - {"seconds"}:
        np.testing.assert_array_equal(first.trace_[name], second.trace_[name])
    np.testing.assert_array_equal(np.array(list(first.draws_)), np.array(list(second.draws_)))


@pytest.mark.parametrize(
    ("cls", "expected"),
    [
        (StickyHDPHMM, AutoSweeps(200, 1600, 500)),
        (SPCMMixture, AutoSweeps(200, 800, 200)),
        (SimilarityMixture, AutoSweeps(200, 800, 200)),
    ],
)
def test_auto_is_the_default(cls, expected):
    assert cls().n_sweeps == "auto"
    assert cls.auto_sweeps == expected


@each
def test_a_fit_is_that_of_the_number_of_sweeps_it_made(case, monkeypatch):
    differing_until(monkeypatch, 24)
    auto = fit(case)
    assert (auto.n_sweeps_, auto.n_burn_, len(auto.draws_)) == (24, 12, 24)
    options = {"n_sweeps": 24, "n_burn": 12}
    if case != "coupled":  # whose hyper-priors follow the actions until the end of the first burn-in
        assert_same(auto, fit(case, **options))
    assert_same(auto, fit(case, n_jobs=2))


def test_chains_that_agree_stop_after_the_first_round(monkeypatch):
    monkeypatch.setattr(CRPMixture, "auto_sweeps", AutoSweeps(100, 400, 10))
    found = CRPMixture(n_chains=2, random_state=0).fit(POINTS)
    assert found.n_sweeps_ == 100
    assert found.n_clusters_ == 2


def stuck(trace):
    """Return a trace that stays at a value of its own."""
    return Trace({**trace.scalars, "n_clusters": [trace.scalars["log_joint"][0]] * trace.n_sweeps}, trace.kept)


def test_chains_that_never_agree_stop_at_the_limit_and_the_warning_says_so(monkeypatch):
    monkeypatch.setattr(CRPMixture, "auto_sweeps", AutoSweeps(100, 200, 10))
    monkeypatch.setattr("homothety.estimators.sampled._with_entropy", stuck)
    message = (
        "200 sweeps are the limit of n_sweeps='auto'. Several answers are probable; to make sure, set n_sweeps=400."
    )
    with pytest.warns(ConvergenceWarning, match=message):
        found = CRPMixture(n_chains=2, random_state=1).fit(POINTS)
    assert found.n_sweeps_ == 200


@pytest.mark.parametrize(
    ("shift", "told"),
    [
        ({}, ""),
        ({"n_states": 5.0}, "the number of states"),
        ({"log_joint": 0.6}, "the log joint density"),
        ({"occupancy_entropy": 0.6}, ""),
        ({"n_states": 5.0, "log_joint": 0.7}, "the number of states"),
    ],
)
def test_chains_are_told_apart_by_the_number_that_differs_most(shift, told):
    rng = np.random.default_rng(0)
    names = ("log_joint", "n_states", "occupancy_entropy")
    values = {name: rng.normal(np.array([[0.0], [shift.get(name, 0.0)]]), size=(2, 1000)) for name in names}
    values["n_segments"] = np.full((2, 1000), 3.0)  # always the same is fine
    traces = [Trace({name: list(v[chain]) for name, v in values.items()}, list(range(1000))) for chain in range(2)]
    found = IBPHMM()._differences(traces)
    if told:
        largest = max(r_hat(values[name]) for name in shift)
        assert found.startswith(f"{told} differs between chains (R-hat {largest:.2f}, needed ")
    else:
        assert found == ""


@each
def test_one_chain_makes_the_sweeps_of_one_round(case):
    assert fit(case, n_chains=1).n_sweeps_ == FEW.alone


@each
def test_a_resumed_fit_is_the_same(case, tmp_path, monkeypatch):
    differing_until(monkeypatch, 48)
    whole, kept = fit(case), Checkpoints(tmp_path / "run", every_sweeps=5)
    with monkeypatch.context() as context:
        differing_until(context, 24)  # as a run that was killed in its third round has left it
        fit(case, checkpoint=kept)
    assert_same(fit(case, checkpoint=kept), whole)
    assert_same(fit(case, checkpoint=kept), whole)


def test_a_given_burn_in_stays(monkeypatch):
    differing_until(monkeypatch, 24)
    found = fit("segmenter", n_burn=3)
    assert (found.n_sweeps_, found.n_burn_, len(found.draws_)) == (24, 3, 42)
    with pytest.raises(InputError, match="n_burn is 12, and the first round has 12 sweeps: needed 0 <= n_burn < 12"):
        fit("segmenter", n_burn=12)


@each
def test_other_words_are_refused(case):
    with pytest.raises(InputError, match="n_sweeps is 'foo', needed a whole number, or 'auto'"):
        fit(case, n_sweeps="foo")


def test_an_interrupt_in_a_later_round_keeps_what_is_there(monkeypatch):
    differing_until(monkeypatch, 48)
    from homothety.models import crp

    sweep, n_left = crp.default_sweep, [12 + 12 + 5]

    def interrupting(**options):
        def count(rng, model, state):
            n_left[0] -= 1
            if n_left[0] < 0:
                raise KeyboardInterrupt
            return state, None

        return {**sweep(**options), "count": count}

    monkeypatch.setattr(crp, "default_sweep", interrupting)
    with pytest.warns(ShortChainWarning, match="the answer rests on the 17 sweeps kept until then"):
        found = fit("mixture")
    assert found.interrupted_
    assert (found.n_sweeps_, found.n_burn_, len(found.draws_)) == (17, 6, 11 + 6)


def test_actions_are_what_chains_of_actions_are_compared_by(monkeypatch):
    seen = []

    def differences(self, traces):
        seen.append([{name: len(values) for name, values in trace.scalars.items()} for trace in traces])
        return ""

    monkeypatch.setattr(SampledChains, "_differences", differences)
    monkeypatch.setattr(ActionHMM, "auto_sweeps", AutoSweeps(4, 8, 4))
    found = ActionHMM(n_chains=2, subsample=10, random_state=0).fit(make_demonstrations(0))
    assert found.n_sweeps_ == 4
    assert seen == [[{"log_joint": 2, "n_actions": 2, "n_action_segments": 2, "action_entropy": 2}] * 2]


def test_a_saved_model_knows_its_sweeps(tmp_path):
    fit("mixture").save(tmp_path / "model.homothety")
    loaded = load(tmp_path / "model.homothety")
    assert loaded.n_sweeps == "auto"
    assert loaded.n_sweeps_ in (12, 24, 48)
