"""Recorders see every sweep, change nothing, and may end a chain."""

from __future__ import annotations

import io
import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest

from homothety.errors import InputError
from homothety.sampling import (
    ProgressBar,
    ProgressLines,
    Recorder,
    StopWhen,
    StopWhenStuck,
    recorders,
)
from walks import SWEEP, content, contents, run_walks


class Diary(Recorder):
    """Writes down everything it is shown."""

    def __init__(self):
        self.visits, self.ends, self.n_closed = [], [], 0

    def on_sweep(self, visit):
        self.visits.append(visit)

    def on_end(self, visit):
        self.ends.append(visit)

    def close(self):
        self.n_closed += 1

    def of(self, chain):
        return [visit for visit in self.visits if visit.chain == chain]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_recorders_see_every_sweep_and_change_nothing(n_jobs):
    diary = Diary()
    traces = run_walks(recorders=[diary], n_jobs=n_jobs)
    assert contents(traces) == contents(run_walks())
    for chain, trace in enumerate(traces):
        visits = diary.of(chain)
        assert [visit.state.step for visit in visits] == [visit.n_sweeps for visit in visits] == list(range(1, 13))
        assert [visit.n_kept for visit in visits] == [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]
        assert [visit.scalars["log_joint"] for visit in visits] == trace.scalars["log_joint"]
        assert all(visit.trace is trace for visit in visits)
    assert sorted(visit.chain for visit in diary.ends) == [0, 1, 2]
    assert {visit.n_sweeps for visit in diary.ends} == {12}
    assert diary.n_closed == 1


def test_recorders_are_closed_after_an_error():
    def fail(rng, model, state):
        raise ZeroDivisionError

    diary = Diary()
    with pytest.raises(ZeroDivisionError):
        run_walks(sweep={"fail": fail}, recorders=[diary])
    assert diary.n_closed == 1
    assert [visit.n_sweeps for visit in diary.ends] == [0]


@pytest.mark.parametrize(("wanted", "found"), [(9, 9), (5, 5), (2, 5), (12, 12)])
def test_a_function_stops_its_chain_once_something_is_kept(wanted, found):
    stop = StopWhen(lambda visit: visit.chain == 1 and visit.n_sweeps >= wanted)
    diary = Diary()
    traces = run_walks(recorders=[stop, diary])
    assert [trace.n_sweeps for trace in traces] == [12, found, 12]
    assert [trace.stopped_by for trace in traces] == [None, "StopWhen", None]
    assert not any(trace.interrupted for trace in traces)
    assert len(diary.of(1)) == found
    whole = run_walks()[1]
    whole.truncate(found, found - 4)
    assert content(traces[1]) == content(whole)


def climb_until(n_sweeps):
    """A move that climbs for so many sweeps, and then stays."""

    def move(rng, model, state):
        return replace(state, place=np.array([0.0, 100.0 - min(state.step + 1, n_sweeps)])), None

    return {"climb": move, "shoes": SWEEP["shoes"]}


@pytest.mark.parametrize(("top", "patience", "found"), [(6, 3, 9), (1, 3, 5), (6, 100, 12), (8, 1, 9)])
def test_a_chain_that_climbs_no_further_is_stopped(top, patience, found):
    (trace,) = run_walks(sweep=climb_until(top), recorders=[StopWhenStuck(patience)], n_chains=1)
    assert trace.n_sweeps == found
    assert trace.stopped_by == (None if found == 12 else "StopWhenStuck")


def test_small_gains_do_not_count():
    gains = StopWhenStuck(3, tolerance=1e6)
    assert [trace.n_sweeps for trace in run_walks(sweep=climb_until(12), recorders=[gains])] == [5, 5, 5]


def test_patience_must_be_positive():
    with pytest.raises(InputError, match="patience is 0, needed at least 1 sweep"):
        StopWhenStuck(0)


# --- progress --------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_without_a_terminal_progress_is_lines(capsys, n_jobs):
    run_walks(progress=True, n_jobs=n_jobs)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("sampling 36/36 sweeps, 0:00 left, n_clusters ")
    assert ", log_joint -" in lines[-1]
    assert "\r" not in "".join(lines)


def test_lines_come_no_more_often_than_asked_for(capsys):
    run_walks(recorders=[ProgressLines(3, 12, seconds=0)])
    assert len(capsys.readouterr().err.splitlines()) == 36
    run_walks(recorders=[ProgressLines(3, 12, seconds=1e6)])
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_on_a_terminal_progress_is_a_bar(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    run_walks(progress=True)
    last = terminal.getvalue().split("\r")[-1]
    assert "36/36" in last
    assert "n_clusters" in last
    assert "log_joint" in last


def test_time_left_follows_the_pace_and_not_the_first_sweep(monkeypatch, capsys):
    clock = iter([0, *range(1000, 2000, 10)])  # the first sweep compiles
    monkeypatch.setattr(recorders, "perf_counter", lambda: next(clock))
    lines = ProgressLines(1, 12, seconds=10)
    run_walks(n_chains=1, recorders=[lines])
    seconds = [line.split(", ")[1] for line in capsys.readouterr().err.splitlines()]
    assert seconds[:3] == ["time left not known yet", "1:40 left", "1:30 left"]
    assert seconds[-1] == "0:00 left"


def test_the_bar_does_not_count_the_first_sweep_either(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    bar = ProgressBar(1, 100)
    bar._bar.start_t -= 1000.0
    bar._bar.last_print_t -= 1000.0
    bar.on_sweep(recorders.Visit(0, None, {}, None, 1, 0, {}))
    assert bar._bar.format_dict["elapsed"] < 10
    bar.close()


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (61, "1:01"), (3599.7, "1:00:00"), (90061, "25:01:01")])
def test_times_are_readable(seconds, text):
    assert recorders._clock(seconds) == text


@pytest.mark.parametrize(
    ("name", "values", "text"),
    [("n_clusters", [3, 3], "3"), ("n_states", [5, 3, 4], "3 to 5"), ("log_joint", [-1.25, -10.0], "-10.0 to -1.2")],
)
def test_numbers_of_several_chains_are_shown_as_a_range(name, values, text):
    assert recorders._range(name, values) == text


def test_what_has_no_number_to_show_shows_the_count(capsys):
    lines = ProgressLines(1, 1)
    lines.on_sweep(recorders.Visit(0, None, {"other": 1.0}, None, 1, 0, {}))
    assert capsys.readouterr().err == "sampling 1/1 sweeps, 0:00 left\n"


def test_in_another_process_a_bar_becomes_lines(capsys):
    bar = ProgressBar(2, 5)
    copy = pickle.loads(pickle.dumps(bar))
    bar.close()
    assert type(copy) is ProgressLines
    assert (copy.n_chains, copy.n_sweeps) == (2, 5)
    again = pickle.loads(pickle.dumps(ProgressLines(2, 5, seconds=3.0)))
    assert again.seconds == 3.0


@pytest.mark.parametrize("make", [lambda: StopWhenStuck(5), lambda: StopWhen(len)])
def test_recorders_can_be_sent_to_other_processes(make):
    recorder = make()
    assert type(pickle.loads(pickle.dumps(recorder))) is type(recorder)
