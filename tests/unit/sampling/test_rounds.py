"""Chains that run until they agree: how many sweeps they make depends on the seed alone."""

from __future__ import annotations

from functools import partial

import pytest

from homothety.errors import CheckpointError, InputError
from homothety.sampling import Checkpoints, Recorder, Rounds, StopWhen
from homothety.sampling.driver import Schedule
from walks import SWEEP, contents, run_walks


class Comparison:
    """Says that chains differ until each has so many sweeps, and remembers what it was shown."""

    def __init__(self, n_needed):
        self.n_needed, self.shown = n_needed, []

    def __call__(self, traces):
        self.shown.append([(trace.n_sweeps, len(trace.kept)) for trace in traces])
        return "" if traces[0].n_sweeps >= self.n_needed else "the number of states (R-hat 1.40)"


def rounds(n_needed, first=8, most=40):
    return Rounds(first, most, Comparison(n_needed))


def run(n_needed=16, **options):
    return run_walks(**{"n_sweeps": rounds(n_needed), "n_burn": None} | options)


def interrupted_at(n_sweeps, chain_seed=None):
    """Moves that are interrupted in the sweep after this many, the first time."""
    left = [1]

    def stop(rng, model, state):
        if state.step == n_sweeps and left[0]:
            left[0] = 0
            raise KeyboardInterrupt
        return state, None

    return {**SWEEP, "stop": stop}


def never(rng, model, state):
    return state, None


UNINTERRUPTED = {**SWEEP, "stop": never}


@pytest.mark.parametrize(("n_needed", "n_made"), [(8, 8), (9, 16), (32, 32), (33, 40), (99, 40)])
def test_chains_go_on_to_twice_as_many_until_they_agree_or_reach_the_limit(n_needed, n_made):
    found = run(n_needed)
    assert contents(found) == contents(run_walks(n_sweeps=n_made, n_burn=n_made // 2))
    assert not any(trace.interrupted for trace in found)


def test_the_last_half_of_all_chains_is_compared():
    compare = Comparison(99)
    run(n_sweeps=Rounds(8, 20, compare))
    assert compare.shown == [[(8, 4)] * 3, [(16, 8)] * 3, [(20, 10)] * 3]


def test_what_is_compared_are_the_sweeps_of_the_round():
    seen = []

    def compare(traces):
        seen.append(contents(traces))
        return "places"

    run(n_sweeps=Rounds(8, 16, compare))
    assert seen == [contents(run_walks(n_sweeps=n, n_burn=n // 2)) for n in (8, 16)]


def test_the_number_of_sweeps_does_not_depend_on_jobs():
    assert contents(run(n_jobs=3)) == contents(run(n_jobs=1)) == contents(run())


def test_a_given_burn_in_is_what_is_forgotten():
    compare = Comparison(32)
    found = run(n_sweeps=Rounds(8, 40, compare), n_burn=3)
    assert contents(found) == contents(run_walks(n_sweeps=32, n_burn=3))
    assert [shown[0] for shown in compare.shown] == [(8, 4), (16, 8), (32, 16)]


def test_chains_with_too_few_sweeps_after_burn_in_are_not_compared():
    compare = Comparison(0)
    found = run(n_sweeps=Rounds(8, 40, compare), n_burn=7)
    assert [trace.n_sweeps for trace in found] == [16, 16, 16]
    assert [shown[0] for shown in compare.shown] == [(16, 8)]


@pytest.mark.parametrize("n_burn", [-1, 8])
def test_a_burn_in_beyond_the_first_round_is_refused(n_burn):
    message = (
        f"n_burn is {n_burn}, and the first round has 8 sweeps: needed 0 <= n_burn < 8. For a longer burn-in, give"
    )
    with pytest.raises(InputError, match=message):
        run(n_burn=n_burn)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n_stop", [6, 11, 20, 33])
def test_a_resumed_run_comes_to_the_same_end(tmp_path, n_stop, n_jobs):
    checkpoint = Checkpoints(tmp_path / "run", every_sweeps=2)
    part = run(32, sweep=interrupted_at(n_stop), checkpoint=checkpoint, n_jobs=n_jobs)
    assert any(trace.interrupted for trace in part) == (n_stop < 32)
    for _ in range(2):  # the second time nothing is left to do
        again = run(32, sweep=UNINTERRUPTED, checkpoint=checkpoint, n_jobs=n_jobs)
        assert contents(again) == contents(run_walks(n_sweeps=32, n_burn=16))


def test_chains_that_are_ahead_on_disk_count_as_far_as_the_round(tmp_path):
    checkpoint = Checkpoints(tmp_path / "run")
    run(32, checkpoint=checkpoint)
    assert contents(run(8, checkpoint=checkpoint)) == contents(run_walks(n_sweeps=8, n_burn=4))
    assert contents(run(40, checkpoint=checkpoint)) == contents(run_walks(n_sweeps=40, n_burn=20))


def test_a_run_in_rounds_is_made_longer_by_a_number_of_sweeps(tmp_path):
    run(99, checkpoint=tmp_path / "run")
    longer = partial(run_walks, n_sweeps=50, n_burn=25)
    kept = Checkpoints(tmp_path / "run", keep_from=4)
    assert contents(longer(checkpoint=kept)) == contents(longer())
    with pytest.raises(CheckpointError, match=r"settings.n_burn was 4, is 25"):
        longer(checkpoint=tmp_path / "run")


@pytest.mark.parametrize(("n_stop", "lengths", "n_kept"), [(6, [6], [2]), (11, [11, 8, 8], [7, 4, 4])])
def test_an_interrupt_keeps_what_is_there(n_stop, lengths, n_kept):
    found = run(32, sweep=interrupted_at(n_stop))
    assert [trace.n_sweeps for trace in found] == lengths
    assert [len(trace.kept) for trace in found] == n_kept
    assert all(trace.interrupted for trace in found)
    whole = run_walks(n_sweeps=32, n_burn=4)
    for trace, other in zip(found, whole, strict=False):
        assert trace.scalars["log_joint"] == other.scalars["log_joint"][: trace.n_sweeps]


def test_an_interrupt_in_a_comparison_keeps_the_round():
    def compare(traces):
        raise KeyboardInterrupt

    found = run(n_sweeps=Rounds(8, 40, compare))
    assert [(trace.n_sweeps, len(trace.kept), trace.interrupted) for trace in found] == [(8, 4, True)] * 3


def test_a_recorder_that_ends_a_chain_ends_the_run():
    stop = StopWhen(lambda visit: visit.chain == 1 and visit.n_sweeps == 10)
    found = run(32, recorders=[stop])
    assert [trace.n_sweeps for trace in found] == [16, 10, 16]


def test_recorders_hear_of_every_comparison(capsys):
    class Listener(Recorder):
        def __init__(self):
            self.heard = []

        def on_round(self, verdict, n_sweeps):
            self.heard.append((verdict, n_sweeps))

    listener = Listener()
    run(16, recorders=[listener], progress=True)
    differ = "the number of states (R-hat 1.40), going on to 16 sweeps"
    assert listener.heard == [(differ, 16), ("chains agree after 16 sweeps", 16)]
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if not line.startswith("sampling")] == [verdict for verdict, _ in listener.heard]
    assert lines[-2].startswith("sampling 48/48 sweeps")
    run(99, recorders=[listener])
    assert listener.heard[-1] == ("the number of states (R-hat 1.40); 40 sweeps are the limit", 40)


def test_lengths_double_up_to_the_limit():
    assert Schedule(rounds(0, 200, 1600)).lengths() == [200, 400, 800, 1600]
    assert Schedule(rounds(0, 200, 500)).lengths() == [200, 400, 500]
    assert Schedule(12).lengths() == [12]
