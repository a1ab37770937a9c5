"""What the estimators that segment series keep to: conventions, uncertainty, files, interrupts and clear refusals."""

from __future__ import annotations

import os
import signal
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import homothety
from homothety import IBPHMM, HMMSelection, StickyHDPHMM
from homothety.datasets import make_toy_2d
from homothety.errors import CheckpointError, InputError, ShortChainWarning
from homothety.metrics import hamming
from homothety.preprocessing import Preprocessing
from homothety.sampling.recorders import Recorder

SHORT = {"n_chains": 2, "n_sweeps": 12, "random_state": 0}
SAMPLED = [IBPHMM(**SHORT), StickyHDPHMM(max_states=6, **SHORT)]
ALL = [*SAMPLED, HMMSelection(max_states=5, n_init=2, random_state=0)]


def names(estimator):
    return type(estimator).__name__


each_estimator = pytest.mark.parametrize("estimator", ALL, ids=names)
each_sampler = pytest.mark.parametrize("estimator", SAMPLED, ids=names)


@pytest.fixture(scope="module")
def toy():
    return make_toy_2d(0, n_steps=60)


@pytest.fixture(scope="module")
def fitted(toy):
    """Each estimator fitted once; tests must not change them."""
    models = {names(estimator): clone(estimator).fit(toy.sequences) for estimator in ALL}
    return lambda estimator: models[names(estimator)]


@pytest.fixture(scope="module")
def swings():
    """Slow motions of two kinds, recorded so often that neighbouring steps are nearly copies."""
    time = np.arange(300)
    angle = 2 * np.pi * time / 60
    near = np.column_stack([np.cos(angle), np.sin(angle)])
    return [np.where((time < cut)[:, None], near, 0.3 * near[::-1] + [4, 4]) for cut in (110, 190)]


def same_partition(a, b):
    return hamming(a, b) == 0


# What is reported


@each_estimator
def test_fit_returns_self_and_changes_no_parameter(estimator, toy):
    model = clone(estimator).set_params(**({} if isinstance(estimator, HMMSelection) else {"n_sweeps": 2}))
    before = model.get_params()
    assert model.fit(toy.sequences) is model
    assert model.get_params() == before


@each_estimator
def test_clone_keeps_parameters_and_nothing_fitted(estimator, fitted):
    fresh = clone(fitted(estimator))
    assert fresh.get_params() == estimator.get_params()
    assert not any(name.endswith("_") for name in vars(fresh))


@each_estimator
def test_paths_and_states_fit_together(estimator, fitted, toy):
    model = fitted(estimator)
    assert [len(path) for path in model.paths_] == [len(one) for one in toy.sequences]
    flat = np.concatenate(model.paths_)
    assert set(flat.tolist()) == set(range(model.n_states_))
    assert (np.diff(np.bincount(flat)) <= 0).all()  # numbered by decreasing number of steps
    assert model.means_.shape == (model.n_states_, 2)
    assert model.covariances_.shape == (model.n_states_, 2, 2)
    np.testing.assert_allclose(model.transition_probs_.sum(axis=1), 1.0)
    expected = [[(path == k).any() for k in range(model.n_states_)] for path in model.paths_]
    np.testing.assert_array_equal(model.active_, expected)


@each_estimator
def test_segments_tile_every_series(estimator, fitted, toy):
    model = fitted(estimator)
    for i, path in enumerate(model.paths_):
        segments = [one for one in model.segments_ if one.series == i]
        assert (segments[0].start, segments[-1].end) == (0, len(path))
        assert all(a.end == b.start and a.label != b.label for a, b in pairwise(segments))
        assert all((path[one.start : one.end] == one.label).all() for one in segments)
        assert all((one.probability is None) == isinstance(model, HMMSelection) for one in segments)


@each_estimator
def test_clear_states_are_found(estimator, toy):
    effort = {} if isinstance(estimator, HMMSelection) else {"n_sweeps": 80}
    model = clone(estimator).set_params(**effort).fit(toy.sequences)
    assert hamming(toy.states, model.paths_) < 0.05
    by_size = np.argsort(-np.bincount(np.concatenate(toy.states)), kind="stable")
    true_means = np.stack(
        [np.concatenate(toy.sequences)[np.concatenate(toy.states) == k].mean(axis=0) for k in by_size]
    )
    distances = np.linalg.norm(model.means_[:, None] - true_means, axis=2)
    assert (distances.min(axis=0) < 0.3).all()


@each_estimator
def test_fit_predict_and_lengths(estimator, fitted, toy):
    model = clone(estimator)
    lengths = [len(one) for one in toy.sequences]
    paths = model.fit_predict(np.concatenate(toy.sequences), lengths=lengths)
    assert paths is model.paths_
    np.testing.assert_array_equal(np.concatenate(paths), np.concatenate(fitted(estimator).paths_))


@each_sampler
def test_uncertainty_has_the_shapes_and_ranges_it_should(estimator, fitted, toy):
    model = fitted(estimator)
    assert len(model.draws_) == 12  # half of 12 sweeps, two chains
    for i, one in enumerate(toy.sequences):
        for values in (model.state_probability_[i], model.change_probability_[i]):
            assert values.shape == (len(one),)
            assert ((values >= 0) & (values <= 1)).all()
        assert model.change_probability_[i][0] == 0


@each_sampler
def test_change_probability_is_the_share_of_draws_with_a_change(estimator, fitted):
    model = fitted(estimator)
    draws = np.stack(list(model.draws_))
    changes = np.diff(draws, axis=1, prepend=draws[:, :1]) != 0
    changes[:, model.starts_[:-1]] = False
    np.testing.assert_allclose(np.concatenate(model.change_probability_), changes.mean(axis=0))


@each_sampler
def test_colabelling_is_the_share_of_draws_with_one_state(estimator, fitted):
    model = fitted(estimator)
    draws = np.stack(list(model.draws_))
    rows, columns = [0, 5, 100], [3, 100]
    expected = [[np.mean(draws[:, a] == draws[:, b]) for b in columns] for a in rows]
    np.testing.assert_allclose(model.colabelling(rows, columns), expected)


@each_sampler
def test_boundaries_are_the_changes_of_the_paths(estimator, fitted):
    model = fitted(estimator)
    found = [(one.series, one.step) for one in model.boundaries_]
    assert found == [(one.series, one.start) for one in model.segments_ if one.start]
    for one in model.boundaries_:
        assert (one.low is None) == (one.share == 0)
        assert one.low is None or (isinstance(one.low, int) and one.low <= one.high)


@each_sampler
def test_trace_and_acceptance(estimator, fitted):
    model = fitted(estimator)
    assert all(values.shape == (2, 12) for values in model.trace_.values())
    assert {"log_joint", "n_states", "n_segments", "occupancy_entropy", "seconds"} <= set(model.trace_)
    drawn = [len(np.unique(path)) for path in model.draws_]
    np.testing.assert_array_equal(model.trace_["n_states"][:, model.n_burn_ :].ravel(), drawn)
    assert bool(model.acceptance_) == isinstance(model, IBPHMM)
    assert all(0 <= share <= 1 or np.isnan(share) for share in model.acceptance_.values())


@each_sampler
def test_the_most_probable_path_is_a_draw(estimator, toy):
    model = clone(estimator).set_params(point_estimate="map", n_sweeps=6).fit(toy.sequences)
    best = model.draws_[int(np.argmax(model.trace_["log_joint"][:, model.n_burn_ :].ravel()))]
    assert same_partition(best, np.concatenate(model.paths_))


@each_sampler
def test_verdict_and_arviz(estimator, fitted):
    pytest.importorskip("arviz")
    model = fitted(estimator)
    verdict = model.diagnose()
    assert {row.name for row in verdict.table} == {"log_joint", "n_states", "n_segments", "occupancy_entropy"}
    assert verdict.text.startswith("chains agree" if verdict.agree else "run longer")
    posterior = model.to_arviz()["posterior"]
    np.testing.assert_array_equal(posterior["log_joint"], model.trace_["log_joint"][:, model.n_burn_ :])
    assert "seconds" not in posterior


# Chains


@each_sampler
def test_equal_seeds_give_equal_results_whatever_the_number_of_jobs(estimator, fitted, toy):
    one, two = fitted(estimator), clone(estimator).set_params(n_jobs=2).fit(toy.sequences)
    np.testing.assert_array_equal(np.stack(list(one.draws_)), np.stack(list(two.draws_)))
    np.testing.assert_array_equal(one.trace_["log_joint"], two.trace_["log_joint"])
    other = clone(estimator).set_params(random_state=1).fit(toy.sequences)
    assert not np.array_equal(one.trace_["log_joint"], other.trace_["log_joint"])


def test_equal_seeds_give_equal_models_by_em(fitted, toy):
    again = clone(ALL[-1]).fit(toy.sequences)
    assert again.criteria_ == fitted(ALL[-1]).criteria_
    np.testing.assert_array_equal(np.concatenate(again.paths_), np.concatenate(fitted(ALL[-1]).paths_))


class InterruptAt(Recorder):
    """Ctrl-C for this very process, at one sweep of one chain."""

    def __init__(self, chain, n_sweeps):
        self.chain, self.n_sweeps = chain, n_sweeps

    def on_sweep(self, visit):
        if (visit.chain, visit.n_sweeps) == (self.chain, self.n_sweeps):
            os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def interrupted_at(monkeypatch):
    """Return a function that makes all runs of chains be interrupted at a sweep of a chain."""
    from homothety.estimators import sampled

    run_chains = sampled.run_chains

    def arm(chain, n_sweeps):
        def interrupted(*args, **options):
            return run_chains(*args, **options, recorders=[InterruptAt(chain, n_sweeps)])

        monkeypatch.setattr(sampled, "run_chains", interrupted)

    return arm


pytest_posix = pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")


@pytest_posix
@each_sampler
def test_an_interrupt_keeps_the_sweeps_made(estimator, fitted, toy, interrupted_at):
    interrupted_at(1, 9)
    with pytest.warns(ShortChainWarning, match=r"rests on the (9|10) sweeps"):
        model = clone(estimator).fit(toy.sequences)
    whole, n_draws = fitted(estimator), len(model.draws_)
    assert model.interrupted_
    assert not whole.interrupted_
    for mine, theirs in zip(model.draws_, list(whole.draws_)[:n_draws], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert np.isnan(model.trace_["log_joint"][1, -1])
    assert [len(path) for path in model.paths_] == [len(one) for one in toy.sequences]


@pytest_posix
@each_sampler
def test_an_interrupt_before_anything_was_kept_is_passed_on(estimator, toy, interrupted_at):
    interrupted_at(0, 2)
    with pytest.raises(KeyboardInterrupt, match="nothing to report"):
        clone(estimator).fit(toy.sequences)


@pytest_posix
@each_sampler
def test_a_resumed_run_is_the_run_that_was_not_stopped(estimator, fitted, toy, tmp_path, interrupted_at, monkeypatch):
    model = clone(estimator).set_params(checkpoint=tmp_path / "run")
    interrupted_at(0, 4)
    with pytest.raises(KeyboardInterrupt):
        model.fit(toy.sequences)
    monkeypatch.undo()
    model.fit(toy.sequences)
    whole = fitted(estimator)
    np.testing.assert_array_equal(np.stack(list(model.draws_)), np.stack(list(whole.draws_)))
    np.testing.assert_array_equal(model.trace_["log_joint"], whole.trace_["log_joint"])
    np.testing.assert_array_equal(np.concatenate(model.paths_), np.concatenate(whole.paths_))


@each_sampler
def test_a_checkpoint_goes_on_with_more_sweeps_and_refuses_other_data(estimator, toy, tmp_path):
    model = clone(estimator).set_params(n_chains=1, n_burn=2, n_sweeps=4, checkpoint=tmp_path / "run")
    first = clone(model).fit(toy.sequences)
    longer = clone(model).set_params(n_sweeps=6).fit(toy.sequences)
    np.testing.assert_array_equal(longer.trace_["log_joint"][:, :4], first.trace_["log_joint"])
    with pytest.raises(CheckpointError, match="model"):
        clone(model).set_params(n_sweeps=6).fit(toy.sequences[:3])


# New series


@each_estimator
def test_fitted_series_are_found_again(estimator, fitted, toy):
    model = fitted(estimator)
    paths = model.predict(toy.sequences)
    assert hamming(model.paths_, paths) < 0.1
    probability = model.predict_proba(toy.sequences)
    for path, probs in zip(paths, probability, strict=True):
        assert probs.shape == (len(path), model.n_states_)
        np.testing.assert_allclose(probs.sum(axis=1), 1.0)
    agreement = np.mean(np.concatenate(paths) == np.concatenate(probability).argmax(axis=1))
    assert agreement > 0.95


@each_estimator
def test_score_is_the_log_likelihood_per_step(estimator, fitted, toy):
    model = fitted(estimator)
    total = sum(model.score([one]) * len(one) for one in toy.sequences)
    np.testing.assert_allclose(model.score(toy.sequences), total / toy.n_steps)
    assert model.score(toy.sequences) > model.score([one + 5 for one in toy.sequences])


@each_estimator
def test_new_series_may_be_short_or_stand_still(estimator, fitted, toy):
    model = fitted(estimator)
    assert [len(path) for path in model.predict([toy.sequences[0][:1], np.ones((4, 2))])] == [1, 4]
    assert np.isfinite(model.score([np.ones((3, 2))]))


@each_estimator
def test_predict_before_fit_is_refused(estimator, toy):
    for call in (lambda model: model.predict(toy.sequences), lambda model: model.n_states_, lambda model: model.means_):
        with pytest.raises(NotFittedError):
            call(clone(estimator))


@each_estimator
def test_new_series_of_other_dimensions_are_refused(estimator, fitted, rng):
    with pytest.raises(InputError, match="Recordings have 3 dimensions, needed 2"):
        fitted(estimator).predict([rng.normal(size=(9, 3))])


# Files


@each_estimator
def test_a_saved_model_comes_back_equal(estimator, fitted, toy, tmp_path):
    model = fitted(estimator)
    model.save(tmp_path / "model.homothety")
    loaded = homothety.load(tmp_path / "model.homothety")
    assert type(loaded) is type(model)
    assert loaded.get_params(deep=False) == model.get_params(deep=False)
    np.testing.assert_array_equal(np.concatenate(loaded.paths_), np.concatenate(model.paths_))
    np.testing.assert_array_equal(loaded.means_, model.means_)
    np.testing.assert_array_equal(loaded.predict(toy.sequences)[0], model.predict(toy.sequences)[0])
    assert loaded.score(toy.sequences) == model.score(toy.sequences)
    assert loaded.segments_ == model.segments_
    if not isinstance(model, HMMSelection):
        assert loaded.boundaries_ == model.boundaries_
        np.testing.assert_array_equal(loaded.colabelling([0], [1, 2]), model.colabelling([0], [1, 2]))


def test_a_model_that_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        IBPHMM().save(tmp_path / "model.homothety")


# Steps that are left out


@each_estimator
def test_states_are_those_of_every_step_though_not_all_are_looked_at(estimator, swings, tmp_path):
    model = clone(estimator).fit(swings)
    stride = model.preprocessing_.settings.stride
    assert stride > 1
    assert [len(path) for path in model.paths_] == [300, 300]
    for path in model.paths_:
        changes = np.flatnonzero(np.diff(path)) + 1
        # Each step has the state of the nearest that was looked at, so a change is half-way between two of those.
        assert ((changes + stride // 2) % stride == 0).all()
    if not isinstance(model, HMMSelection):
        assert [len(values) for values in model.change_probability_] == [300, 300]
        assert all(len(path) == 600 for path in model.draws_)
    model.save(tmp_path / "model.homothety")
    loaded = homothety.load(tmp_path / "model.homothety")
    assert [len(path) for path in loaded.predict([swings[0][:7], swings[1]])] == [7, 300]
    # The two kinds of motion are far apart: no state has steps of both.
    steps, kinds = np.concatenate(model.paths_), np.concatenate([np.arange(300) >= cut for cut in (110, 190)])
    inside = np.concatenate([np.abs(np.arange(300) - cut) > stride for cut in (110, 190)])
    for k in range(model.n_states_):
        assert len(set(kinds[inside & (steps == k)])) <= 1


def test_subsampling_can_be_switched_off_and_set(swings):
    every = IBPHMM(**SHORT, preprocessing=Preprocessing(subsample=1)).fit(swings)
    some = IBPHMM(**SHORT, preprocessing=Preprocessing(subsample=7)).fit(swings)
    assert (every.preprocessing_.settings.stride, some.preprocessing_.settings.stride) == (1, 7)
    with pytest.raises(InputError, match="has 1 steps, needed at least 2"):
        IBPHMM(**SHORT, preprocessing=Preprocessing(subsample=300)).fit(swings)


def test_means_and_covariances_are_in_the_units_of_the_recordings(toy):
    plain = HMMSelection(max_states=4, random_state=0, preprocessing=Preprocessing(scale=[4.0, 0.5]))
    model = plain.fit(toy.sequences)
    steps, path = np.concatenate(toy.sequences), np.concatenate(model.paths_)
    for k in range(model.n_states_):
        np.testing.assert_allclose(model.means_[k], steps[path == k].mean(axis=0), atol=0.05)
        np.testing.assert_allclose(model.covariances_[k], np.cov(steps[path == k].T), atol=0.06)


@pytest.mark.parametrize(
    "estimator", [*ALL, *(IBPHMM(emission=e, **SHORT) for e in ("diagonal", "autoregressive"))], ids=str
)
def test_units_of_a_dimension_do_not_matter(estimator, toy):
    factors = np.array([2.0**12, 2.0**-7])  # powers of two are exact, so nothing but their meaning can differ
    plain = clone(estimator).fit(toy.sequences)
    scaled = clone(estimator).fit([one * factors for one in toy.sequences])
    np.testing.assert_array_equal(np.concatenate(plain.paths_), np.concatenate(scaled.paths_))
    if not isinstance(estimator, HMMSelection):
        np.testing.assert_array_equal(np.stack(list(plain.draws_)), np.stack(list(scaled.draws_)))
    np.testing.assert_allclose(scaled.covariances_, plain.covariances_ * np.outer(factors, factors))


# Emissions and starts of the IBP-HMM


def test_diagonal_states_have_diagonal_covariances(toy):
    model = IBPHMM(emission="diagonal", **SHORT).fit(toy.sequences)
    assert np.count_nonzero(model.covariances_ - np.einsum("kii->ki", model.covariances_)[:, None] * np.eye(2)) == 0


@pytest.mark.parametrize("order", [1, 3])
def test_autoregressive_states(order, rng):
    turn = np.array([[0.9, -0.4], [0.4, 0.9]]) * 0.98
    series = []
    for _ in range(2):
        steps = [rng.normal(size=2)]
        for t in range(150):
            steps.append((turn if t < 75 else turn.T) @ steps[-1] + 0.1 * rng.normal(size=2))
        series.append(np.array(steps))
    model = IBPHMM(emission="autoregressive", order=order, preprocessing=Preprocessing(), **SHORT).fit(series)
    assert model.coefficients_.shape == (model.n_states_, 2, 2 * order)
    assert [len(path) for path in model.paths_] == [151, 151]
    assert all((path[:order] == path[order]).all() for path in model.paths_)
    with pytest.raises(AttributeError, match="has no mean; see coefficients_"):
        _ = model.means_
    assert [len(path) for path in model.predict([series[0][: order + 1]])] == [order + 1]
    with pytest.raises(InputError, match=f"has {order} steps, needed at least {order + 1}"):
        model.predict([series[0][:order]])
    assert model.score(series) > model.score([one[::-1] for one in series]) - 5


def test_turns_of_known_sense_are_told_apart(rng):
    turn = np.array([[0.9, -0.4], [0.4, 0.9]]) * 0.99
    steps, truth = [np.ones(2)], np.repeat([0, 1, 0], 100)
    for sense in truth[1:]:
        steps.append((turn if sense == 0 else turn.T) @ steps[-1] + 0.05 * rng.normal(size=2))
    options = {"n_chains": 1, "n_sweeps": 60, "random_state": 0}
    model = IBPHMM(emission="autoregressive", preprocessing=Preprocessing(), **options).fit([np.array(steps)])
    assert hamming([truth], model.paths_) < 0.1


@pytest.mark.parametrize("start", ["clusters", "private", "shared"])
@pytest.mark.parametrize("n_start", [None, 3])
def test_starts(start, n_start, toy):
    model = IBPHMM(start=start, n_start=n_start, n_chains=1, n_sweeps=2, random_state=0).fit(toy.sequences)
    assert np.isfinite(model.trace_["log_joint"]).all()


@pytest.mark.parametrize("emission", ["gaussian", "autoregressive"])
def test_a_start_may_be_the_paths_of_another_model(emission, swings):
    first = HMMSelection(max_states=3, n_init=1, random_state=0).fit(swings)
    assert first.preprocessing_.settings.stride > 1
    model = IBPHMM(start=first.paths_, emission=emission, n_chains=1, n_sweeps=2, random_state=0)
    assert np.isfinite(model.fit(swings).trace_["log_joint"]).all()


def test_a_start_of_the_wrong_length_is_refused(toy):
    with pytest.raises(InputError, match="start has 1 paths, needed one for each of the 4 series"):
        IBPHMM(start=[[0, 0, 1]], **SHORT).fit(toy.sequences)
    exchanged = [toy.states[1], toy.states[0], *toy.states[2:]]
    with pytest.raises(InputError, match=r"start\[0\] has shape .* whole numbers, one per step of the series"):
        IBPHMM(start=exchanged, **SHORT).fit(toy.sequences)


# Refusals


@each_estimator
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([], "X holds no series"),
        ([np.zeros((0, 2))], "Recording 0 has 0 steps, needed at least 2"),
        ([np.zeros((1, 2))], "Recording 0 has 1 steps, needed at least 2"),
        ([np.eye(4), np.eye(3)], "Recording 1 has 3 dimensions but recording 0 has 4"),
        ([np.ones((9, 2))], "Channel 0 is 1 at every step"),
        ([np.full((9, 2), np.nan)], "Recording 0 holds nan at step 0|Channel 0 is NaN at every step of all recordings"),
        ([np.array([[1.0, np.inf], [0.0, 1.0]])], "Recording 0 holds inf at step 0, channel 1"),
        ([np.arange(5.0)], r"Recording 0 has shape \(5,\)"),
        ("series.csv", "X is str, needed a list of arrays"),
    ],
)
def test_bad_input_is_named(estimator, bad, message):
    with pytest.raises(InputError, match=message):
        clone(estimator).fit(bad)


@each_sampler
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_chains": 0}, "n_chains is 0, needed at least 1"),
        ({"n_sweeps": 5, "n_burn": 5}, "n_burn is 5 and n_sweeps is 5"),
        ({"point_estimate": "mean"}, "point_estimate is 'mean', needed 'vi' or 'map'"),
        ({"dof": 2.0}, "dof is 2.0, needed more than 3"),
        ({"mean_strength": -1.0}, "mean_strength is -1.0, needed a finite number above 0"),
        ({"scale": np.nan}, "scale is nan, needed a finite number above 0"),
    ],
)
def test_bad_parameters_are_named(estimator, parameters, message, toy):
    with pytest.raises(InputError, match=message):
        clone(estimator).set_params(**parameters).fit(toy.sequences)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"emission": "poisson"}, "emission is 'poisson', needed 'gaussian', 'diagonal' or 'autoregressive'"),
        ({"emission": "autoregressive", "order": 0}, "order is 0, needed at least 1"),
        ({"emission": "autoregressive", "order": 500}, "needed at least 501 for autoregressive states of order 500"),
        ({"start": "warm"}, "start is 'warm'"),
        ({"start": "shared", "n_start": 0}, "n_start is 0, needed at least 1"),
        ({"alpha": 0.0}, "alpha is 0.0, needed a finite number above 0"),
        ({"alpha": "1"}, "alpha is '1', needed a finite number above 0"),
        ({"kappa": -1}, "kappa is -1, needed a finite number above 0"),
        ({"gamma": np.inf}, "gamma is inf"),
        ({"dof": "x"}, "dof is 'x', needed a finite number above 0"),
        ({"n_split_merge": 1.5}, "n_split_merge is 1.5, needed a whole number"),
        ({"n_sweeps": "10"}, "n_sweeps is '10', needed a whole number"),
        ({"step_weight": 2.0}, "step_weight is 2.0, needed at most 1, or 'auto'"),
        ({"step_weight": "all"}, "step_weight is 'all', needed a finite number above 0"),
        ({"preprocessing": "std"}, "preprocessing is 'std', needed a Preprocessing, or None"),
    ],
)
def test_bad_parameters_of_the_ibphmm_are_named(parameters, message, toy):
    with pytest.raises(InputError, match=message):
        IBPHMM(**SHORT).set_params(**parameters).fit(toy.sequences)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"criterion": "dic"}, "criterion is 'dic'"), ({"max_states": 0}, "states"), ({"n_init": 0}, "n_init is 0")],
)
def test_bad_parameters_of_the_selection_are_named(parameters, message, toy):
    with pytest.raises(InputError, match=message):
        HMMSelection(max_states=2, random_state=0).set_params(**parameters).fit(toy.sequences)


def test_the_sticky_hdphmm_needs_a_state(toy):
    with pytest.raises(InputError, match="max_states is 0, needed at least 1"):
        StickyHDPHMM(max_states=0, **SHORT).fit(toy.sequences)


# One fit after another


@each_estimator
def test_a_fit_that_fails_leaves_nothing_of_the_one_before(estimator, toy):
    model = clone(estimator).set_params(**({} if isinstance(estimator, HMMSelection) else {"n_sweeps": 4}))
    model.fit(toy.sequences)
    with pytest.raises(InputError):
        model.fit([np.full((30, 2), np.nan)])
    with pytest.raises(NotFittedError):
        model.predict(toy.sequences)


def test_a_seed_sequence_serves_any_number_of_fits(toy, tmp_path):
    model = IBPHMM(n_chains=2, n_sweeps=6, random_state=np.random.SeedSequence(5), checkpoint=tmp_path / "run")
    first, again = model.fit(toy.sequences).draws_, model.fit(toy.sequences).draws_
    np.testing.assert_array_equal(first.labels, again.labels)
    model.set_params(random_state=None).save(tmp_path / "model.zip")
    assert homothety.load(tmp_path / "model.zip").checkpoint is None  # a folder of this machine


# How much a step counts


def test_steps_that_count_less_support_fewer_states(swings):
    every_step = Preprocessing(subsample=1)
    states = [
        IBPHMM(step_weight=weight, preprocessing=every_step, **SHORT | {"n_sweeps": 60}).fit(swings).n_states_
        for weight in (1.0, 0.05)
    ]
    assert states[1] < states[0]


def test_the_weight_of_a_step_is_measured_and_kept(swings, tmp_path):
    model = IBPHMM(step_weight="auto", preprocessing=Preprocessing(subsample=2), **SHORT).fit(swings)
    assert 0 < model.step_weight_ < 1
    side_by_side = IBPHMM(step_weight="auto", preprocessing=Preprocessing(subsample=2), **SHORT | {"n_jobs": 2})
    assert side_by_side.fit(swings).step_weight_ == model.step_weight_
    assert model.states_.weight == model.step_weight_
    model.save(tmp_path / "model.zip")
    again = homothety.load(tmp_path / "model.zip")
    assert all(map(np.array_equal, again.predict(swings), model.predict(swings)))


# Units and ranges


@each_estimator
def test_score_is_in_the_units_of_the_recordings(estimator, toy):
    short = {} if isinstance(estimator, HMMSelection) else {"n_sweeps": 6}
    scores = [
        clone(estimator).set_params(preprocessing=Preprocessing(scale=scale, subsample=1), **short).fit(toy.sequences)
        for scale in (None, (10.0, 0.1))
    ]
    assert scores[0].score(toy.sequences) == pytest.approx(scores[1].score(toy.sequences), abs=0.15)


@pytest.mark.parametrize(
    ("series", "preprocessing", "message"),
    [
        (np.column_stack([np.arange(40.0), np.sin(np.arange(40))]), {"velocities": "replace"}, "Channel 0 of the"),
        (1e9 + np.random.default_rng(0).normal(size=(40, 2)), {"centre": None}, "Channel 0 varies by .* about 1e"),
    ],
)
def test_dimensions_that_cannot_be_computed_with_are_named(series, preprocessing, message):
    with pytest.raises(InputError, match=message):
        IBPHMM(preprocessing=Preprocessing(subsample=1, **preprocessing), **SHORT).fit([series])
