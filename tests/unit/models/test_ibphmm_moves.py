"""States and moves of the IBP-HMM: what they keep, what they leave alone, and what they find."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace

import numpy as np
import pytest

import naive_ibphmm as naive
import naive_splits
from homothety.errors import InputError
from homothety.metrics import hamming
from homothety.models.emissions import Emission
from homothety.models.hmm.messages import has_short_stay
from homothety.models.ibphmm import (
    Hyperpriors,
    Model,
    Proposals,
    _blocks,
    _kernels,
    default_sweep,
    init_state,
    log_joint,
    moves,
)
from homothety.models.ibphmm._kernels import NOTHING, Newborns
from homothety.models.ibphmm.model import _log_hyperprior
from homothety.models.ibphmm.starts import init_from_clusters
from homothety.sequences import check_sequences
from naive_crp import mean_and_error

SWEEP = default_sweep()
LEAVES_NONE = {  # parts that are out of date after each move of a sweep
    "shared features": {"path"},
    "births and deaths": {"path"},
    "paths": set(),
    "halves and joins": {"weights", "whiteners"},
    "splits and merges": {"weights", "whiteners"},
    "swaps": {"weights", "whiteners"},
    "labels": {"weights", "whiteners"},
    "emissions": {"weights"},
    "buffet": {"weights"},
    "concentrations": {"weights"},
    "leaving": {"weights"},
    "weights": set(),
}


def make_world(seed=0, n_states=3):
    """A model and a state from the prior, with at least so many features."""
    rng = np.random.default_rng(seed)
    while True:
        model, state = naive.draw_world(rng, naive.GAUSSIAN)
        if state.n_states >= n_states:
            return model, state


def make_series(rng, paths, means, noise=0.15):
    return check_sequences([means[path] + noise * rng.standard_normal((len(path), means.shape[1])) for path in paths])


def check_features(model, state):
    """What holds after every move."""
    assert state.active.shape == (model.n_recordings, state.n_states)
    assert state.active.any(axis=0).all()
    assert state.active.any(axis=1).all()
    assert len(set(state.ids.tolist())) == state.n_states
    assert state.ids.max() < state.next_id
    if state.whiteners is not None:
        assert state.whiteners.shape == (state.n_states, *state.whiteners.shape[1:])
    if state.weights is not None:
        assert state.weights.shape == (model.n_recordings, state.n_states, state.n_states)
    assert min(state.mass, state.concentration, state.alpha, state.kappa) > 0
    for item in fields(state):
        value = getattr(state, item.name)
        assert not (isinstance(value, np.ndarray) and value.flags.writeable), item.name


def check_weights(state):
    pairs = state.active[:, :, None] & state.active[:, None, :]
    assert (state.weights[pairs] > 0).all()
    assert (state.weights[~pairs] == 0).all()


def check_paths(model, state):
    series_of = np.repeat(np.arange(model.n_recordings), np.diff(model.starts))
    assert state.active[series_of, state.path].all()


# --- states ----------------------------------------------------------------------------------------------------------


def make_model(lengths=(7, 5, 6), seed=0, **settings):
    rng = np.random.default_rng(seed)
    sequences = check_sequences([rng.normal(size=(length, 2)) for length in lengths])
    return Model.from_sequences(sequences, Emission.gaussian(np.zeros(2), 1.0, np.eye(2), 5.0), **settings)


@pytest.mark.parametrize(("n_shared", "n_unique"), [(0, 2), (3, 0), (1, 1), (0, 1)])
def test_first_state_has_its_features_in_equal_blocks(n_shared, n_unique):
    model = make_model()
    state = init_state(np.random.default_rng(0), model, n_shared=n_shared, n_unique=n_unique)
    check_features(model, state)
    check_weights(state)
    check_paths(model, state)
    assert (state.active.sum(axis=0) == [3] * n_shared + [1] * 3 * n_unique).all()
    assert state.mass == model.n_recordings
    for start, stop in model.bounds:
        sizes = list(Counter(state.path[start:stop].tolist()).values())
        assert len(sizes) == n_shared + n_unique
        assert max(sizes) - min(sizes) <= 1
        assert (np.diff(state.path[start:stop]) >= 0).all()


def test_first_state_from_given_labels():
    model, labels = make_model(), np.array([9] * 7 + [4] * 3 + [9] * 2 + [5] * 6)
    state = init_state(np.random.default_rng(0), model, path=labels, mass=2.0, concentration=0.5, alpha=3.0, kappa=4.0)
    check_paths(model, state)
    assert state.path.tolist() == [2] * 7 + [0] * 3 + [2] * 2 + [1] * 6
    assert state.active.tolist() == [[False, False, True], [True, False, True], [False, True, False]]
    assert (state.mass, state.concentration, state.alpha, state.kappa) == (2.0, 0.5, 3.0, 4.0)


def test_wrong_starts_are_refused():
    rng, model = np.random.default_rng(0), make_model()
    with pytest.raises(InputError, match="The path to start from has 4 steps, needed 18"):
        init_state(rng, model, path=np.zeros(4))
    with pytest.raises(InputError, match="A recording needs at least one state"):
        init_state(rng, model, n_shared=0, n_unique=0)


@pytest.mark.parametrize("most", [10_000, 20])
def test_clusters_to_start_from_ignore_time(most, monkeypatch):
    monkeypatch.setattr("homothety.models.ibphmm.starts.MANY_STEPS", most)
    rng, means = np.random.default_rng(1), np.array([[0.0, 0.0], [9.0, 9.0]])
    paths = [np.tile([0, 1], 15), np.zeros(20, dtype=int)]
    model = Model.from_sequences(make_series(rng, paths, means), Emission.gaussian(np.zeros(2), 1.0, np.eye(2), 5.0))
    state = init_from_clusters(rng, model, n_clusters=2)
    check_paths(model, state)
    assert hamming(np.concatenate(paths), state.path) == 0
    assert sorted(state.active.sum(axis=0).tolist()) == [1, 2]


@pytest.mark.parametrize("world", naive.WORLDS)
def test_log_joint_is_the_density_of_features_without_names(world):
    rng = np.random.default_rng(3)
    for _ in range(5):
        model, state = naive.draw_world(rng, naive.WORLDS[world])
        at = (state.mass, state.concentration, state.alpha, state.kappa)
        expected = naive.log_density(model, state.active, state.path, *at) + _log_hyperprior(model.hyperpriors, state)
        unused = np.setdiff1d(np.arange(state.n_states), state.path)
        for count in Counter(state.active[:, k].tobytes() for k in unused).values():
            expected -= np.log(np.arange(1, count + 1)).sum()
        assert log_joint(model, state) == pytest.approx(expected, abs=1e-9)
        order = rng.permutation(state.n_states)
        assert log_joint(model, naive.relabelled(state, order)) == pytest.approx(expected, abs=1e-9)


# --- moves -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("birth", ["prior", "data-driven"])
def test_every_move_leaves_a_state_that_makes_sense(birth):
    model, state = make_world(4)
    model, rng = replace(model, proposals=replace(model.proposals, birth=birth)), np.random.default_rng(4)
    numbers = set()
    for _ in range(60):
        for name, move in SWEEP.items():
            state, _ = move(rng, model, state)
            check_features(model, state)
            absent = {item.name for item in fields(state) if getattr(state, item.name) is None}
            assert absent - {"tags"} == LEAVES_NONE[name]  # without labels there are no tags
            if state.path is not None:
                check_paths(model, state)
            if state.weights is not None:
                check_weights(state)
            model.check_state(state)
        numbers.add(state.n_states)
    assert len(numbers) > 2


def snapshot(state):
    return {item.name: np.array(getattr(state, item.name)) for item in fields(state)}


@pytest.mark.parametrize("name", SWEEP)
def test_moves_leave_their_input_alone_and_repeat_themselves(name):
    model, state = make_world(5)
    before, results = snapshot(state), []
    for _ in range(2):
        moved, info = SWEEP[name](np.random.default_rng(6), model, state)
        results.append((snapshot(moved), info))
    for key, value in before.items():
        np.testing.assert_array_equal(snapshot(state)[key], value)
        np.testing.assert_array_equal(results[0][0][key], results[1][0][key])
    assert results[0][1] == results[1][1]


def test_one_series_is_enough():
    model = make_model((8,), proposals=Proposals(window=(1, 4)))
    rng = np.random.default_rng(7)
    state = init_state(rng, model)
    for _ in range(30):
        for name, move in SWEEP.items():
            state, info = move(rng, model, state)
            if name in {"shared features", "splits and merges"}:
                assert info.n_tried == 0
        check_features(model, state)
        check_paths(model, state)


def test_order_of_the_sweep():
    names = list(SWEEP)
    assert names.index("births and deaths") < names.index("paths") < names.index("splits and merges")
    assert names.index("splits and merges") < names.index("emissions") < names.index("buffet")
    assert names.index("concentrations") < names.index("weights") == len(names) - 1


def test_c_stays_where_it_is_unless_it_has_a_prior():
    model, state = make_world(8)
    model = replace(model, hyperpriors=replace(model.hyperpriors, concentration=None))
    moved, info = moves.resample_buffet(np.random.default_rng(8), model, state)
    assert moved.concentration == state.concentration
    assert info.n_tried == 0
    assert moved.mass != state.mass


# --- births and deaths -----------------------------------------------------------------------------------------------


def test_jumps_are_applied_together():
    _, state = make_world(9)
    active = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]], dtype=bool)
    rng = np.random.default_rng(9)
    weights = rng.gamma(1.0, size=(3, 4, 4)) * (active[:, :, None] & active[:, None, :])
    whiteners = rng.normal(size=(4, 1, 2))
    state = replace(
        state, active=active, ids=np.array([5, 2, 7, 3]), weights=weights, whiteners=whiteners, next_id=9,
        path=np.zeros_like(state.path),
    )  # fmt: skip
    newborns = Newborns(np.ones((3, 5), dtype=bool), rng.gamma(1.0, size=(3, 5, 5)), rng.normal(size=(3, 1, 2)))
    newborns.active[:, :-1] = active
    moved = moves._apply_jumps(state, np.array([4, 2, 4]), newborns)
    assert moved.ids.tolist() == [5, 2, 3, 9, 10]
    assert moved.next_id == 11
    expected = [[1, 1, 0, 1, 0], [1, 0, 0, 0, 0], [1, 0, 1, 0, 1]]
    np.testing.assert_array_equal(moved.active, np.array(expected, dtype=bool))
    np.testing.assert_array_equal(moved.whiteners, np.concatenate([whiteners[[0, 1, 3]], newborns.whiteners[[0, 2]]]))
    kept = np.array([0, 1, 3])
    for i, place in ((0, 3), (2, 4)):
        drawn, own = newborns.weights[i], active[i][kept]
        np.testing.assert_array_equal(moved.weights[i][:3, :3], weights[i][np.ix_(kept, kept)])
        np.testing.assert_array_equal(moved.weights[i][:3, place], drawn[kept, -1] * own)
        np.testing.assert_array_equal(moved.weights[i][place, :3], drawn[-1, kept] * own)
        assert moved.weights[i][place, place] == drawn[-1, -1]
    np.testing.assert_array_equal(moved.weights[1][:3, :3], weights[1][np.ix_(kept, kept)])
    assert (moved.weights[1][3:] == 0).all()


def test_no_jump_changes_nothing_but_the_path():
    model, state = make_world(10)
    moved = moves._apply_jumps(state, np.full(model.n_recordings, NOTHING), moves._expect_newborns(model, state))
    assert moved.path is None
    assert all(getattr(moved, item.name) is getattr(state, item.name) for item in fields(state) if item.name != "path")


# --- series side by side ---------------------------------------------------------------------------------------------


def test_blocks_have_all_series_in_order():
    starts = np.array([0, 6_000, 9_000, 250_000, 250_001, 260_000])
    assert [block.tolist() for block in _blocks.blocks_of(starts)] == [[0, 1, 2], [3, 4]]
    assert [block.tolist() for block in _blocks.blocks_of(starts // 2)] == [[0, 1, 2, 3, 4]]  # too few for two


def test_number_of_threads_does_not_matter(monkeypatch):
    monkeypatch.setattr(_blocks, "MANY_STEPS", 1)
    monkeypatch.setattr(_blocks, "_STEPS_TOGETHER", 1)
    states = []
    for n_threads in (1, 3):
        monkeypatch.setattr("numba.get_num_threads", lambda n_threads=n_threads: n_threads)
        model, state = make_world(11)
        assert len(model.blocks) == model.n_recordings
        rng = np.random.default_rng(11)
        for _ in range(10):
            for move in SWEEP.values():
                state, _ = move(rng, model, state)
        states.append(snapshot(state))
    for key, value in states[0].items():
        np.testing.assert_array_equal(value, states[1][key])


# --- the law of the next state does not depend on the order of features ----------------------------------------------


def statistics_by_id(model, state, ids):
    """Numbers by persistent number: who still has the feature, and how many steps are in it."""
    values = list(naive.statistics(model, state))
    for number in ids:
        place = np.flatnonzero(state.ids == number)
        owners = state.active[:, place[0]] if len(place) else np.zeros(model.n_recordings)
        values += [*owners, (state.id_path == number).sum()]
    return values


def largest_difference(sweep, n_draws):
    """Largest difference by the order of features of the mean of a statistic after a sweep, in standard errors."""
    model, state = make_world(12, n_states=4)
    draws = []
    for turned in (state, naive.relabelled(state, np.roll(np.arange(state.n_states), 1)[::-1])):
        rng, values = np.random.default_rng(13), []
        for _ in range(n_draws):
            moved = turned
            for move in sweep.values():
                moved, _ = move(rng, model, moved)
            values.append(statistics_by_id(model, moved, state.ids))
        draws.append(mean_and_error(values))
    (mean, error), (other_mean, other_error) = draws
    errors = np.hypot(error, other_error)
    differ = errors > 0
    assert differ.sum() > 30
    np.testing.assert_allclose(mean[~differ], other_mean[~differ])
    return (np.abs(mean - other_mean)[differ] / errors[differ]).max()


def test_order_of_features_does_not_matter():
    assert largest_difference(SWEEP, n_draws=500) < 4.5


def test_order_that_matters_is_caught(monkeypatch):
    flip = _kernels.flip_in_turn
    others = lambda orders: np.stack([row[row != 0][:1] for row in orders])  # noqa: E731
    skip_first = lambda rng, series, orders, *args: flip(rng, series, others(orders), *args)  # noqa: E731
    monkeypatch.setattr(_kernels, "flip_in_turn", skip_first)
    assert largest_difference({name: SWEEP[name] for name in ("shared features", "paths")}, n_draws=500) > 9


# --- finding what is there -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["shared", "unique"])
def test_well_separated_states_and_their_owners_are_found(start):
    rng, means = np.random.default_rng(14), np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    paths = [np.repeat([0, 1, 0], 20), np.repeat([1, 2], 30), np.repeat([2, 0, 2], 20)]
    emission = Emission.gaussian(np.zeros(2), 0.1, 0.1 * np.eye(2), 4.0)
    model = Model.from_sequences(make_series(rng, paths, means), emission, Hyperpriors(), Proposals(window=(5, 20)))
    counts = {"n_shared": 2, "n_unique": 0} if start == "shared" else {"n_unique": 2}
    state, distances = init_state(rng, model, **counts), []
    for sweep in range(150):
        for move in default_sweep().values():
            state, _ = move(rng, model, state)
        if sweep >= 100:
            distances.append(hamming(np.concatenate(paths), state.path))
    assert np.mean(distances) < 0.02
    used = [set(state.id_path[a:b].tolist()) for a, b in model.bounds]
    assert len(set.union(*used)) == 3
    assert [len(used[i] & used[j]) for i, j in ((0, 1), (0, 2), (1, 2))] == [1, 1, 1]


# --- a least stay ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [init_from_clusters, init_state])
def test_with_a_least_stay_no_stay_is_shorter(start):
    rng, model = np.random.default_rng(0), make_model((30, 22, 9), least_stay=4)
    state = start(rng, model)
    check_paths(model, state)
    assert not has_short_stay(state.path, model.starts, 4)
    for _ in range(10):
        for move in SWEEP.values():
            state, _ = move(rng, model, state)
            check_features(model, state)
            if state.path is not None:
                check_paths(model, state)
                assert not has_short_stay(state.path, model.starts, 4)
        assert np.isfinite(log_joint(model, state))


def test_paths_to_start_from_are_mended():
    model, labels = make_model((7, 5), least_stay=3), np.array([3, 3, 3, 8, 3, 3, 3, 8, 8, 3, 3, 3])
    state = init_state(np.random.default_rng(0), model, path=labels)
    assert state.path.tolist() == [0] * 7 + [1, 1, 0, 0, 0]
    assert state.active.tolist() == [[True, False], [True, True]]


def test_a_path_with_a_short_stay_has_no_density():
    model = make_model((7, 5), least_stay=3)
    state = init_state(np.random.default_rng(0), model, path=np.repeat([0, 1], [7, 5]))
    assert np.isfinite(log_joint(model, state))
    both = replace(state, active=np.ones((2, 2), dtype=bool))
    short = replace(both, path=np.array([0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1]))
    assert log_joint(model, short) == -np.inf
    at = naive_splits.concentrations_of(state)
    assert naive_splits.Allocation(model, short.active, short.path).log_density(at) == -np.inf
    assert np.isfinite(log_joint(replace(model, least_stay=2), short))


def test_density_with_a_least_stay_equals_its_twin():
    rng, world = np.random.default_rng(0), replace(naive.GAUSSIAN, n_steps=7, least_stay=3)
    for _ in range(20):
        model, state = naive.draw_world(rng, world)
        at = naive_splits.concentrations_of(state)
        found = naive_splits.Allocation(model, state.active, state.path).log_density(at)
        assert found == pytest.approx(naive.log_density(model, state.active, state.path, *at), abs=1e-9)


def test_bad_least_stay_is_named():
    with pytest.raises(InputError, match="least_stay is 0, needed at least 1"):
        make_model(least_stay=0)
