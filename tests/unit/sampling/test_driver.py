"""Chains are reproducible, keep what they promise, and lose no finished sweep."""

from __future__ import annotations

from dataclasses import dataclass

import joblib
import numpy as np
import pytest
from numpy.random import SeedSequence

from homothety.distributions import NIW
from homothety.errors import InputError
from homothety.models.ddcrp import RECORDING, Model, default_sweep, init_state
from homothety.sampling import Trace, iterate, run_chain, run_chains
from homothety.sampling.driver import Recording


@dataclass(frozen=True)
class Walk:
    """The simplest chain: a place on a line."""

    place: float = 0.0
    step: int = 0


def take_step(rng, model, state):
    moved = Walk(state.place + model * rng.standard_normal(), state.step)
    return moved, moved.place - state.place


def turn_round(rng, model, state):
    return Walk(-state.place, state.step), None


SWEEP = {"step": take_step}
WALK = Recording(scalars=lambda model, state, infos: {"place": state.place}, keep=lambda state: state.place)


def interrupted_at(n_sweeps):
    """A move that is interrupted in the sweep after this many."""

    def move(rng, model, state):
        if state.step == n_sweeps:
            raise KeyboardInterrupt
        return take_step(rng, model, state)

    return {"step": move}


def walk(sweep=SWEEP, seed=1, **options):
    settings = {"n_chains": 3, "n_sweeps": 12, "n_burn": 4} | options
    return run_chains(1.0, Walk(), sweep, WALK, seed=SeedSequence(seed), **settings)


def test_iterate_makes_every_move_in_order_and_counts_sweeps():
    rng, twin_rng, place = np.random.default_rng(0), np.random.default_rng(0), 0.0
    chain = iterate(rng, 2.0, Walk(), {"step": take_step, "turn": turn_round})
    for n_sweeps in range(1, 6):
        state, infos = next(chain)
        step = 2.0 * twin_rng.standard_normal()
        place = -(place + step)
        assert (state.place, state.step) == (pytest.approx(place), n_sweeps)
        assert infos == {"step": pytest.approx(step), "turn": None}


def test_chain_traces_every_sweep_and_keeps_those_after_burn_in():
    trace = run_chain(SeedSequence(1), 1.0, Walk(), SWEEP, WALK, n_sweeps=12, n_burn=4)
    assert trace.n_sweeps == len(trace.array("place")) == len(trace.array("seconds")) == 12
    assert trace.kept == trace.scalars["place"][4:]
    assert (trace.array("seconds") >= 0).all()
    assert not trace.interrupted


def test_chains_depend_on_the_seed_alone():
    places = [[trace.scalars["place"] for trace in walk(n_jobs=n_jobs)] for n_jobs in (None, 1, 2)]
    assert places[0] == places[1] == places[2]
    assert places[0] != [trace.scalars["place"] for trace in walk(seed=2)]


def test_chains_differ_from_each_other_and_do_not_depend_on_how_many_there_are():
    few, many = walk(n_chains=2), walk(n_chains=4)
    assert len({tuple(trace.kept) for trace in many}) == 4
    assert [trace.kept for trace in few] == [trace.kept for trace in many[:2]]


def test_chains_over_links_do_not_depend_on_the_number_of_jobs():
    rng = np.random.default_rng(2)
    points = rng.normal(size=(12, 2))
    similarity = np.exp(-((points[:, None] - points) ** 2).sum(axis=2))
    model = Model.from_similarity(points, similarity, NIW(np.zeros(2), 1.0, np.eye(2), 3.0))
    runs = [
        run_chains(
            model,
            init_state(model),
            default_sweep(sample_concentration=True),
            RECORDING,
            seed=SeedSequence(3),
            n_chains=3,
            n_sweeps=8,
            n_burn=2,
            n_jobs=n_jobs,
        )
        for n_jobs in (None, 2)
    ]
    for one, other in zip(*runs, strict=True):
        np.testing.assert_array_equal(one.kept, other.kept)
        assert np.shape(one.kept) == (6, 12)
        for name in ("log_joint", "n_clusters", "concentration"):
            assert one.scalars[name] == other.scalars[name]


def test_another_backend_gives_the_same_chains():
    with joblib.parallel_config(backend="sequential"):
        elsewhere = walk(n_jobs=2)
    assert [trace.kept for trace in elsewhere] == [trace.kept for trace in walk()]


@pytest.mark.parametrize("n_finished", [0, 3, 4, 7])
def test_interrupt_loses_no_finished_sweep(n_finished):
    whole = run_chain(SeedSequence(1), 1.0, Walk(), SWEEP, WALK, n_sweeps=12, n_burn=4)
    part = run_chain(SeedSequence(1), 1.0, Walk(), interrupted_at(n_finished), WALK, n_sweeps=12, n_burn=4)
    assert part.interrupted
    assert part.n_sweeps == n_finished
    assert part.scalars.get("place", []) == whole.scalars["place"][:n_finished]
    assert part.kept == whole.kept[: max(n_finished - 4, 0)]


def test_no_chain_is_started_after_an_interrupt():
    traces = walk(interrupted_at(5))
    assert [(trace.n_sweeps, trace.interrupted) for trace in traces] == [(5, True)]


def test_an_interrupt_in_one_thread_stops_the_others():
    traces = walk(interrupted_at(5), n_jobs=2)
    whole = walk()
    assert all(trace.interrupted and trace.n_sweeps <= 5 for trace in traces)
    assert max(trace.n_sweeps for trace in traces) == 5
    for part, trace in zip(traces, whole, strict=True):
        assert part.scalars.get("place", []) == trace.scalars["place"][: part.n_sweeps]
        assert len(part.kept) == max(part.n_sweeps - 4, 0)


def test_an_interrupt_in_the_middle_of_a_record_leaves_no_half_of_it():
    def scalars(model, state, infos):
        return {"place": state.place, "torn": Torn() if state.step == 7 else 0.0}

    class Torn:
        def __float__(self):
            raise KeyboardInterrupt

    trace = run_chain(SeedSequence(1), 1.0, Walk(), SWEEP, Recording(scalars, WALK.keep), n_sweeps=12, n_burn=4)
    assert trace.interrupted
    assert {name: len(values) for name, values in trace.scalars.items()} == {"place": 6, "torn": 6, "seconds": 6}
    assert trace.kept == trace.scalars["place"][4:]


def test_chains_may_start_from_places_drawn_by_their_own_generator():
    def start(rng, model):
        return Walk(model * rng.standard_normal())

    settings = {"seed": SeedSequence(1), "n_chains": 2, "n_sweeps": 3, "n_burn": 0}
    traces = run_chains(1.0, start, SWEEP, WALK, **settings)
    for trace, seed in zip(traces, SeedSequence(1).spawn(2), strict=True):
        np.testing.assert_allclose(trace.array("place"), np.random.default_rng(seed).standard_normal(4).cumsum()[1:])


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_other_errors_are_not_swallowed(n_jobs):
    def fail(rng, model, state):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        walk({"step": fail}, n_jobs=n_jobs)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ({"n_chains": 0}, "n_chains is 0, needed at least 1"),
        ({"n_burn": 12}, "n_burn is 12 and n_sweeps is 12: needed 0 <= n_burn < n_sweeps"),
        ({"n_burn": -1}, "n_burn is -1 and n_sweeps is 12"),
        ({"n_sweeps": 0, "n_burn": 0}, "n_burn is 0 and n_sweeps is 0"),
    ],
)
def test_schedules_without_a_sweep_to_keep_are_refused(schedule, message):
    with pytest.raises(InputError, match=message):
        walk(**schedule)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_progress_counts_every_sweep_of_every_chain(capsys, n_jobs):
    walk(n_jobs=n_jobs, progress=True)
    assert "36/36" in capsys.readouterr().err


def test_trace_collects_numbers_by_name():
    trace = Trace()
    assert trace.n_sweeps == 0
    trace.add({"a": 1, "b": 2.5})
    trace.add({"a": 3, "b": np.float64(4)})
    assert trace.scalars == {"a": [1.0, 3.0], "b": [2.5, 4.0]}
    assert trace.n_sweeps == 2
    np.testing.assert_array_equal(trace.array("a"), [1.0, 3.0])
    with pytest.raises(KeyError):
        trace.array("c")


def test_trace_forgets_what_was_not_finished():
    trace = Trace({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0]}, kept=[1, 2])
    trace.truncate(2, 1)
    assert trace.scalars == {"a": [1.0, 2.0], "b": [1.0, 2.0]}
    assert trace.kept == [1]
