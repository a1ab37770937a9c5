"""Many short recordings, each with states of its own: what is looked at, and what that costs."""

from __future__ import annotations

import numpy as np
import pytest

from homothety.arrays import _HUGE, sparse_zeros
from homothety.models import ibphmm
from homothety.models.emissions import Emission
from homothety.models.ibphmm import _kernels as kernels
from homothety.models.ibphmm._kernels import build_room
from homothety.models.ibphmm.moves import _carried_weights, _data_of
from homothety.sequences import check_sequences

N_TRIED = 10


def many_short(n_recordings):
    """Return a model of recordings of three steps, and a state in which each has two states of its own."""
    rng = np.random.default_rng(0)
    steps = check_sequences([rng.normal(size=(3, 2)) for _ in range(n_recordings)])
    model = ibphmm.Model.from_sequences(steps, Emission.gaussian(np.zeros(2), 1.0, np.eye(2), 4.0))
    return model, ibphmm.init_state(rng, model, n_unique=2)


def draws_of_flips(n_recordings):
    """Return how many random numbers are drawn while shared states of all series are switched."""
    model, state = many_short(n_recordings)
    rng = np.random.Generator(np.random.Philox(0))
    n_states, data = state.n_states, _data_of(model, state)
    orders = np.stack([np.random.default_rng(i).permutation(n_states)[:N_TRIED] for i in range(n_recordings)])
    active, weights = state.active.copy(), state.weights.copy()
    n_owners, room, odds = active.sum(axis=0).astype(float), build_room(data, n_states), np.empty(n_states)
    concentrations = (state.concentration, state.alpha, state.kappa)
    kernels.flip_in_turn(
        rng, np.arange(n_recordings), orders, n_owners, *concentrations, active, weights, data, room, odds
    )
    return int(rng.bit_generator.state["state"]["counter"][0])


def test_draws_grow_with_the_number_of_recordings_and_not_with_its_square():
    few, many = draws_of_flips(50), draws_of_flips(200)
    assert few > 50 * N_TRIED / 4  # the counter moves once for four numbers
    assert many < 6 * few  # all pairs of states would be 64 times as many


@pytest.mark.parametrize("seed", range(5))
def test_of_many_states_those_tried_are_switched_as_if_there_were_no_others(seed):
    model, state = many_short(40)
    data, n_states, i = _data_of(model, state), state.n_states, 7
    order = np.random.default_rng(seed).permutation(n_states)[:N_TRIED]
    order[3] = np.flatnonzero(state.active[i])[0]
    order = order[np.sort(np.unique(order, return_index=True)[1])]
    odds = np.where(order[:, None] == np.arange(n_states), 2.0, 0.0).sum(axis=0)
    own = np.flatnonzero(state.active[i])
    seen = np.concatenate([own, order[~np.isin(order, own)]])

    active, weights = state.active[i].copy(), state.weights[i].copy()
    rest = (0.8, 1.5)
    assert n_states > kernels._MOST_DRAWN
    found = kernels._flip_among_many(
        np.random.default_rng(seed), i, order, odds, *rest, active, weights, data, build_room(data, n_states)
    )
    place = np.full(n_states, -1)
    place[seen] = np.arange(len(seen))
    small = data._replace(whiteners=data.whiteners[seen])
    expected_active, expected_weights = state.active[i][seen].copy(), state.weights[i][np.ix_(seen, seen)].copy()
    room = build_room(small, len(seen))
    room.listed[:], room.columns[:] = np.arange(len(seen)), np.arange(len(seen))
    rng = np.random.default_rng(seed)
    kernels._draw_missing_weights(rng, expected_active, *rest, expected_weights)
    expected = flipped_slowly(rng, place[order], odds[seen], expected_active, expected_weights, small, i, room)
    kernels._clear_missing_weights(expected_active, expected_weights)
    assert found == expected
    np.testing.assert_array_equal(active[seen], expected_active)
    np.testing.assert_array_equal(np.delete(active, seen), False)
    np.testing.assert_array_equal(weights[np.ix_(seen, seen)], expected_weights)
    assert np.count_nonzero(weights) == np.count_nonzero(expected_weights)


def flipped_slowly(rng, order, odds, active, weights, data, i, room):
    """Switch states one after the other, in place; return how many were tried and accepted."""

    def log_likelihood():
        out = np.empty(1)
        actives, all_weights = (np.repeat(part[None], i + 1, axis=0) for part in (active, weights))
        kernels.write_log_likelihoods(np.array([i]), actives, all_weights, data, room, out)
        return out[0]

    n_tried, n_accepted, current = 0, 0, log_likelihood()
    for k in order:
        if active[k] and active.sum() == 1:
            continue
        n_tried += 1
        active[k] = not active[k]
        proposed = log_likelihood()
        if np.log(rng.random()) < proposed - current + (odds[k] if active[k] else -odds[k]):
            current, n_accepted = proposed, n_accepted + 1
        else:
            active[k] = not active[k]
    return n_tried, n_accepted


def test_weights_are_carried_to_new_places():
    rng = np.random.default_rng(0)
    active = rng.random((6, 5)) < 0.5
    weights = rng.random((6, 5, 5)) * (active[:, :, None] & active[:, None, :])
    kept = np.array([0, 2, 3])
    places = np.full(5, -1)
    places[kept] = np.arange(3)
    expected = np.zeros((6, 4, 4))
    expected[:, :3, :3] = weights[:, kept][:, :, kept]
    np.testing.assert_array_equal(_carried_weights(active, weights, places, 4), expected)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_a_weight_that_is_no_number_above_0_is_found(value):
    model, state = many_short(3)
    model.check_state(state)
    weights = np.array(state.weights)
    i, (_, last) = 2, np.flatnonzero(state.active[2])
    weights[i, last, last] = value
    object.__setattr__(state, "weights", weights)
    with pytest.raises(ValueError, match="weights between states of a recording must be finite and above 0"):
        model.check_state(state)


@pytest.mark.parametrize("shape", [(2, 3), (_HUGE // 8, 2)])
def test_sparse_zeros_are_zeros_that_can_be_written_to(shape):
    zeros = sparse_zeros(shape)
    assert zeros.shape == shape
    assert zeros.dtype == np.float64
    assert zeros.flags.c_contiguous
    zeros[-1, -1] = 1.0
    assert zeros.sum() == 1.0
