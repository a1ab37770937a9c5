"""Chains on a dask cluster of two real worker processes: the same numbers, also when one of them is killed."""

from __future__ import annotations

import os
import signal
import sys
import time
from concurrent.futures import CancelledError
from functools import partial

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config

from homothety import SPCMMixture, workers
from homothety.cli import compare, comparing, main
from homothety.cli.comparing import Task
from homothety.datasets import make_toy_3d
from homothety.errors import ClusterError, InputError
from homothety.sampling import Checkpoints, ProgressLines, Rounds
from homothety.workers import run_all, use_cluster
from walks import Deadly, Diary, Forgetful, Interrupting, Watched, contents, run_walks

distributed = pytest.importorskip("distributed")

N_SWEEPS = 30
PATIENCE = 60  # seconds until something that should happen is given up
needs_signals = pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")


@pytest.fixture(scope="module")
def client():
    # The port is any that is free: there may be another cluster, of a second process of pytest.
    options = {"processes": True, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**options, memory_limit=0) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def on_cluster(client):
    client.wait_for_workers(2, timeout=PATIENCE)
    with parallel_config(backend="dask", client=client):
        yield client


def here(**options):
    """Return what walks come to in this process."""
    with parallel_config(backend="sequential"):
        return contents(run_walks(n_sweeps=N_SWEEPS, **options))


def until(is_so):
    """Wait for something to be so, and return it."""
    for _ in range(50 * PATIENCE):
        if found := is_so():
            return found
        time.sleep(0.02)
    raise TimeoutError


def test_chains_are_those_run_here(on_cluster, tmp_path):
    diary = Diary(tmp_path / "diary.txt", seconds=0.002)
    assert contents(run_walks(n_chains=8, n_sweeps=N_SWEEPS, recorders=[diary])) == here(n_chains=8)
    processes = {pid for *_, pid in diary.lines()}
    assert len(processes) == 2
    assert os.getpid() not in processes


def test_chains_that_run_until_they_agree_are_those_run_here(on_cluster, tmp_path):
    rounds = Rounds(8, 32, lambda traces: "" if traces[0].n_sweeps >= 16 else "places")
    options = {"n_sweeps": rounds, "n_burn": None}
    with parallel_config(backend="sequential"):
        near = contents(run_walks(n_sweeps=16, n_burn=8))
    assert contents(run_walks(**options)) == near
    assert contents(run_walks(**options, checkpoint=tmp_path / "run")) == near


@needs_signals
def test_chain_of_a_killed_worker_goes_on_from_its_last_checkpoint(on_cluster, tmp_path):
    diary = Deadly(tmp_path / "diary.txt", chain=3, sweep=13)
    checkpoints = Checkpoints(tmp_path / "run", every_sweeps=5)
    found = run_walks(n_chains=8, n_sweeps=N_SWEEPS, recorders=[diary], checkpoint=checkpoints)
    assert contents(found) == here(n_chains=8)
    spells = diary.spells()
    # The sweep that a chain goes on from is shown once more; whatever ran beside it was in another process.
    assert spells.pop(3) == [list(range(1, 14)), list(range(10, N_SWEEPS + 1))]
    assert all(sweeps[0] == list(range(1, N_SWEEPS + 1)) for sweeps in spells.values())
    # What a finished chain had kept may have been in the memory of the worker: then it is read again from its file.
    assert all(again[-1] == N_SWEEPS for sweeps in spells.values() for again in sweeps[1:])


@needs_signals
def test_repeated_sweeps_would_be_noticed(on_cluster, tmp_path):
    diary = Deadly(tmp_path / "diary.txt", chain=0, sweep=13)
    checkpoints = Forgetful(tmp_path / "run", every_sweeps=5)
    found = run_walks(n_chains=1, n_sweeps=N_SWEEPS, recorders=[diary], checkpoint=checkpoints)
    assert contents(found) == here(n_chains=1)  # the same, but for the work
    assert diary.spells() == {0: [list(range(1, 14)), list(range(1, N_SWEEPS + 1))]}


def test_progress_is_shown_here(on_cluster, tmp_path, capfd):
    slow = Diary(tmp_path / "diary.txt", seconds=0.005)
    run_walks(n_chains=4, n_sweeps=N_SWEEPS, recorders=[slow, ProgressLines(4, N_SWEEPS, seconds=0.0)])
    shown = capfd.readouterr().err.splitlines()
    assert shown[-1].startswith(f"sampling {4 * N_SWEEPS}/{4 * N_SWEEPS} sweeps, 0:00 left, n_clusters ")
    assert len(shown) > 4  # the ends of chains, and what was heard of them under way


def test_estimator_is_the_one_fitted_here(on_cluster, tmp_path):
    X = make_toy_3d(random_state=0).matrices
    settings = {"n_chains": 2, "n_sweeps": 20, "random_state": 0}
    one_worker = [next(iter(on_cluster.nthreads()))]  # options of the context count; the other need not load everything
    with parallel_config(backend="dask", client=on_cluster, workers=one_worker):
        far = SPCMMixture(**settings, checkpoint=tmp_path / "run").fit(X)
    with parallel_config(backend="sequential"):
        near = SPCMMixture(**settings).fit(X)
    np.testing.assert_array_equal(far.draws_, near.draws_)
    np.testing.assert_array_equal(far.trace_["log_joint"], near.trace_["log_joint"])


def test_data_are_opened_once_in_each_process(on_cluster, tmp_path):
    ground = Watched(tmp_path / "opened.txt")
    run_walks(n_chains=6, n_sweeps=N_SWEEPS, model=ground)
    opened = ground.path.read_text().split()
    assert len(opened) == len(set(opened))
    assert set(opened) <= {str(pid) for pid in on_cluster.run(os.getpid).values()}


def test_work_within_work_stays_with_its_worker(on_cluster, tmp_path):
    def work():
        run_walks(n_chains=2, n_jobs=2, recorders=[diary])
        return os.getpid()

    diary = Diary(tmp_path / "diary.txt")
    processes = run_all([work]) + Parallel()([delayed(work)()])
    assert {pid for *_, pid in diary.lines()} == set(processes)
    assert os.getpid() not in processes


def test_errors_come_back_as_they_are(on_cluster):
    def fail():
        raise InputError("This cannot be used.")

    with pytest.raises(InputError, match=r"^This cannot be used\.$"):
        run_all([os.getpid, fail])


def test_work_of_another_version_is_refused(on_cluster, monkeypatch):
    monkeypatch.setattr(workers, "__version__", "0.0.1")  # here, not where the workers are
    with pytest.raises(ClusterError, match=r"has homothety .*, the work is of homothety 0\.0\.1\. Install the same"):
        run_all([os.getpid])


@needs_signals
def test_interrupt_here_ends_chains_there(on_cluster, tmp_path):
    diary = Diary(tmp_path / "diary.txt", seconds=0.005)
    checkpoints = Checkpoints(tmp_path / "run", every_sweeps=5)
    traces = run_walks(n_chains=2, n_sweeps=10**5, recorders=[diary, Interrupting(2)], checkpoint=checkpoints)
    assert [trace.interrupted for trace in traces] == [True, True]
    assert min(trace.n_sweeps for trace in traces) >= 5
    until(lambda: not any(on_cluster.run(lambda dask_worker: dask_worker.active_threads).values()))
    after = checkpoints.traces(2)
    assert [trace.n_sweeps for trace in after] == [spells[0][-1] for _, spells in sorted(diary.spells().items())]


def test_command_hands_its_tasks_to_the_cluster(client, monkeypatch):
    def run(args, console):
        keys = ["even", "odd"] * 3
        tasks = [Task("a task", key, partial(slowest_first, number)) for number, key in enumerate(keys)]
        outcomes.update(comparing.run_tasks(tasks, console)[0])
        return True

    def slowest_first(number):
        time.sleep(0.05 * (number == 0))
        return number, os.getpid()

    outcomes = {}
    monkeypatch.setattr(compare, "run", run)
    assert main(["compare", "demos.npz", "--quiet", "--cluster", client.scheduler.address]) == 0
    assert {key: [number for number, _ in found] for key, found in outcomes.items()} == {
        "even": [0, 2, 4],
        "odd": [1, 3, 5],
    }
    assert os.getpid() not in {pid for found in outcomes.values() for _, pid in found}


@needs_signals
def test_work_that_kills_its_workers_is_given_up(on_cluster, monkeypatch):
    monkeypatch.setattr(on_cluster.cluster.scheduler, "allowed_failures", 0)
    with pytest.raises(ClusterError, match="Workers died one after the other over the same piece of work"):
        run_all([lambda: os.kill(os.getpid(), signal.SIGKILL)])


def test_work_that_is_lost_is_explained_in_one_line():
    with pytest.raises(ClusterError) as told, workers._losses_explained():
        raise CancelledError("scheduler-connection-lost.\nPlease check your connection.")
    assert str(told.value).startswith("The cluster has lost the work: scheduler-connection-lost. Please check your")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense", "other://127.0.0.1:9"])
def test_scheduler_that_is_not_there(address):
    with (
        pytest.raises(InputError, match=f"No dask scheduler answers at '{address}'"),
        use_cluster(address, patience=0.2),
    ):
        pass


def test_cluster_that_cannot_be_used_ends_a_command_with_2(monkeypatch, capsys):
    assert main(["cluster", "matrices.npy", "--cluster", "nonsense"]) == 2
    assert "homothety: No dask scheduler answers at 'nonsense'" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["segment", "series.csv", "--cluster", "tcp://127.0.0.1:9"]) == 2
    assert "Install homothety[dask]" in capsys.readouterr().err
