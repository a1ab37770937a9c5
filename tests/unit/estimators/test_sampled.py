"""Whether chains agree is told of every sampled model, and a fit warns if they do not."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fabricated import make_framed_segmentation, make_recordings, with_parts, with_trace
from homothety import IBPHMM, ActionHMM, CRPMixture, SimilarityMixture, SPCMMixture
from homothety.datasets import make_demonstrations, make_toy_2d, make_wishart_families
from homothety.errors import ConvergenceWarning, HomothetyWarning
from homothety.estimators import sampled
from homothety.sampling import Trace
from homothety.sampling.diagnostics import r_hat
from homothety.sampling.trace import RunPath
from homothety.summaries.chains import LEAST_KEPT, WARNED_R_HAT, Chains, weights_in_words

SHORT = {"n_chains": 2, "n_sweeps": 30, "random_state": 0}
MATRICES = make_wishart_families(random_state=0).matrices[::8]
POINTS = np.concatenate([np.random.default_rng(0).normal(place, 0.1, (8, 2)) for place in (0, 3)])

MIXTURES = [
    pytest.param(SPCMMixture(**SHORT), MATRICES, id="exact"),
    pytest.param(SPCMMixture(solver="ordered", **SHORT), MATRICES, id="ordered"),
    pytest.param(SimilarityMixture(**SHORT), POINTS, id="similarity"),
    pytest.param(CRPMixture(**SHORT), POINTS, id="crp"),
]
each_mixture = pytest.mark.parametrize(("estimator", "items"), MIXTURES)


# Diagnosis of mixtures


@each_mixture
def test_mixtures_are_diagnosed_and_exported(estimator, items):
    pytest.importorskip("arviz")
    model = clone(estimator).fit(items)
    verdict = model.diagnose()
    assert [row.name for row in verdict.table] == ["log_joint", "n_clusters", "size_entropy"]
    assert verdict.text.startswith("chains agree" if verdict.agree else "run longer")
    posterior = model.to_arviz()["posterior"]
    assert set(posterior.data_vars) == {"log_joint", "n_clusters", "concentration", "size_entropy"}
    np.testing.assert_array_equal(posterior["log_joint"], model.trace_["log_joint"][:, model.n_burn_ :])


@each_mixture
def test_unfitted_mixtures_have_no_diagnosis(estimator, items):
    for method in ("diagnose", "to_arviz"):
        with pytest.raises(NotFittedError):
            getattr(clone(estimator), method)()


@each_mixture
def test_the_entropy_of_cluster_sizes_is_traced_for_kept_sweeps(estimator, items):
    model = clone(estimator).fit(items)
    shares = [np.unique(draw, return_counts=True)[1] / len(items) for draw in model.draws_]
    expected = [-(share * np.log2(share)).sum() for share in shares]
    np.testing.assert_allclose(model.trace_["size_entropy"][:, model.n_burn_ :].ravel(), expected, atol=1e-12)
    assert np.isnan(model.trace_["size_entropy"][:, : model.n_burn_]).all()


@pytest.mark.parametrize("estimator", [SimilarityMixture(**SHORT), CRPMixture(**SHORT)])
def test_a_sampled_concentration_is_diagnosed(estimator):
    model = clone(estimator).set_params(sample_concentration=True).fit(POINTS)
    assert [row.name for row in model.diagnose().table][-1] == "concentration"


# Warning of chains that do not agree


def replaced_traces(monkeypatch, change):
    """Let chains run, and change their traced numbers afterwards: (n_chains, n_sweeps) of each, by name."""
    run_chains = sampled.run_chains

    def run(*args, **options):
        traces = run_chains(*args, **options)
        scalars = change({name: np.array([trace.scalars[name] for trace in traces]) for name in traces[0].scalars})
        return [
            Trace({name: values[chain].tolist() for name, values in scalars.items()}, trace.kept)
            for chain, trace in enumerate(traces)
        ]

    monkeypatch.setattr(sampled, "run_chains", run)


def agreeing(scalars):
    """Return what chains trace that draw from one distribution."""
    rng = np.random.default_rng(0)
    shape = scalars["log_joint"].shape
    counts = {name: rng.integers(2, 5, shape).astype(float) for name in ("n_clusters", "n_states") if name in scalars}
    return scalars | {"log_joint": rng.normal(size=shape)} | counts


def stuck(scalars):
    """Return what chains trace of which the second has one cluster or state more, most of the time."""
    scalars = agreeing(scalars)
    for name in {"n_clusters", "n_states"} & set(scalars):
        scalars[name][1] += 2
    return scalars


def fit_any(estimator, **options):
    data = make_toy_2d(random_state=0, n_steps=40).sequences if isinstance(estimator, IBPHMM) else POINTS
    return clone(estimator).set_params(**options).fit(data)


SAMPLED = [
    pytest.param(SimilarityMixture(**SHORT), "n_clusters", "number of clusters", id="similarity"),
    pytest.param(CRPMixture(**SHORT), "n_clusters", "number of clusters", id="crp"),
    pytest.param(IBPHMM(**SHORT), "n_states", "number of states", id="ibp"),
]
each_sampled = pytest.mark.parametrize(("estimator", "name", "words"), SAMPLED)


@each_sampled
def test_a_fit_warns_of_chains_that_are_stuck(estimator, name, words, monkeypatch):
    replaced_traces(monkeypatch, stuck)
    with pytest.warns(ConvergenceWarning) as told:
        model = fit_any(estimator, n_sweeps=LEAST_KEPT + 10, n_burn=10)
    (warning,) = told
    found = r_hat(model.trace_[name][:, 10:])
    assert found > WARNED_R_HAT
    told = ", ".join(f"{weight:.2f}" for weight in model.chain_weights_)
    weighted = f"Draws are weighted by how well each chain predicts left-out looks: {told}. " * (name == "n_states")
    assert str(warning.message) == (
        f"The chains do not agree: R-hat is {found:.2f} for the {words}, needed 1.1 or less. Another run may give "
        f"another answer. {weighted}Set n_sweeps to {2 * LEAST_KEPT + 20} or more; if chains still differ then, "
        "several answers are probable."
    )
    assert warning.filename == __file__
    assert issubclass(ConvergenceWarning, HomothetyWarning)


def test_all_numbers_that_differ_are_named(monkeypatch):
    def apart(scalars):
        chains = np.arange(2.0)[:, None]
        return scalars | {name: np.zeros_like(scalars[name]) + chains for name in ("n_clusters", "log_joint")}

    replaced_traces(monkeypatch, apart)
    message = "R-hat is inf for the number of clusters and inf for the log joint density, needed"
    with pytest.warns(ConvergenceWarning, match=message):
        fit_any(CRPMixture(**SHORT), n_sweeps=LEAST_KEPT, n_burn=0)


@each_sampled
def test_a_fit_does_not_warn_of_chains_that_agree(estimator, name, words, monkeypatch):
    replaced_traces(monkeypatch, agreeing)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_any(estimator, n_sweeps=LEAST_KEPT, n_burn=0)


@each_sampled
@pytest.mark.parametrize("options", [{"n_sweeps": LEAST_KEPT - 1}, {"n_sweeps": LEAST_KEPT, "n_chains": 1}])
def test_too_few_sweeps_or_chains_to_compare_do_not_warn(estimator, name, words, options, monkeypatch):
    replaced_traces(monkeypatch, agreeing if "n_chains" in options else stuck)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_any(estimator, n_burn=0, **options)


def test_where_actions_are_reported_chains_may_differ_in_states():
    model = make_framed_segmentation(make_recordings())
    rng = np.random.default_rng(0)
    traces = {name: rng.normal(size=(2, 100)) for name in model.trace_}
    traces["n_states"][1] += 9
    model = with_trace(model, **traces)
    model = with_parts(model, chains=replace(model.result_.chains, n_burn=0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model._warn_unless_chains_agree()
    model.trace_["n_actions"][1] += 9
    with pytest.warns(ConvergenceWarning, match=r"R-hat is [\d.]+ for the number of actions, needed"):
        model._warn_unless_chains_agree()


# Weights of chains that do not agree


def with_worse_chain(monkeypatch, worse):
    """Let one chain stay in an answer that predicts badly: all looks of one state."""
    run_chains = sampled.run_chains

    def run(*args, **options):
        traces = run_chains(*args, **options)
        trace = traces[worse]
        trace.kept[:] = [RunPath.of(np.zeros_like(one.expand())) for one in trace.kept]
        trace.scalars["n_states"] = [1.0] * trace.n_sweeps
        return traces

    monkeypatch.setattr(sampled, "run_chains", run)


LONG = {"n_chains": 3, "n_sweeps": 2 * LEAST_KEPT, "random_state": 0}


@pytest.mark.parametrize("worse", [0, 2])
def test_a_chain_in_a_worse_answer_contributes_nothing(worse, monkeypatch):
    data = make_toy_2d(random_state=0, n_steps=100).sequences
    with_worse_chain(monkeypatch, worse)
    with pytest.warns(ConvergenceWarning, match=r"predicts left-out looks: \d.\d\d, \d.\d\d, \d.\d\d. Set n_sweeps"):
        model = IBPHMM(**LONG).fit(data)
    assert model.chain_weights_[worse] < 0.01
    assert model.chain_weights_.sum() == pytest.approx(1.0)
    assert all(len(np.unique(draw)) > 1 for draw in model.draws_)
    assert LEAST_KEPT <= len(model.draws_) <= 2 * LEAST_KEPT
    assert model.trace_["n_states"].shape == (3, 2 * LEAST_KEPT)
    assert model.n_states_ == 4


def test_chains_that_agree_count_alike():
    model = fit_any(IBPHMM(**SHORT))
    np.testing.assert_array_equal(model.chain_weights_, [0.5, 0.5])
    assert len(model.draws_) == 30
    assert weights_in_words(model.result_.chains) == ""


def test_mixtures_count_alike_even_if_they_differ(monkeypatch):
    replaced_traces(monkeypatch, stuck)
    with pytest.warns(ConvergenceWarning):
        model = fit_any(CRPMixture(**SHORT), n_sweeps=LEAST_KEPT, n_burn=0)
    np.testing.assert_array_equal(model.chain_weights_, [0.5, 0.5])


def test_densities_of_framed_recordings_are_per_unit_of_the_recording(monkeypatch):
    made = make_demonstrations(0)
    monkeypatch.setattr(Chains, "differences", lambda *_: ["1.80 for the number of actions"])
    found = {}

    def remember(self, prepared, emission, trace):
        found["densities"] = densities(self, prepared, emission, trace)
        frames = trace.kept[0].frames
        larger = [one._replace(frames=replace(frames, log_sizes=frames.log_sizes + 1.0)) for one in trace.kept]
        smaller_states = densities(self, prepared, emission, Trace(trace.scalars, larger))
        found["larger"] = smaller_states
        return found["densities"]

    densities = ActionHMM._log_left_out
    monkeypatch.setattr(ActionHMM, "_log_left_out", remember)
    with pytest.warns(ConvergenceWarning):
        model = ActionHMM(n_chains=2, n_sweeps=8, subsample=10, random_state=0).fit(made)
    assert model.chain_weights_.sum() == pytest.approx(1.0)
    assert len(model.action_draws_) == len(model.draws_) <= 8
    # With frames e times as large everything is e times smaller, which the prior of states hardly notices.
    assert np.isfinite(found["densities"]).all()
    np.testing.assert_allclose(found["densities"].mean(), found["larger"].mean(), atol=2.0)
