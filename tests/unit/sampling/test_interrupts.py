"""A real Ctrl-C, and a real kill, in the middle of a run: no finished sweep is lost that could be kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from homothety.sampling import Checkpoints
from walks import contents, run_walks

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")

SCRIPT = Path(__file__).with_name("interrupted_walk.py")
PATIENCE = 120  # seconds until a run that hangs is given up


def start(*arguments, n_bells):
    """Start a run in another process, and return it when so many of its chains are under way."""
    command = [sys.executable, "-W", "error", str(SCRIPT), *map(str, arguments)]
    paths = os.pathsep.join([str(SCRIPT.parents[2]), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for _ in range(n_bells):
        if process.stdout.readline() != "under way\n":
            process.kill()
            pytest.fail(process.communicate()[1])
    return process


def interrupted(*arguments, n_bells):
    """Interrupt a run once it is under way, and return what it printed."""
    process = start(*arguments, n_bells=n_bells)
    process.send_signal(signal.SIGINT)
    try:
        output, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    return json.loads(output.splitlines()[-1])


def beginnings(lengths):
    """What chains of these lengths hold that nobody interrupted."""
    traces = run_walks(n_sweeps=max(lengths), n_chains=len(lengths))
    for trace, length in zip(traces, lengths, strict=True):
        trace.truncate(length, max(length - 4, 0))
    return contents(traces)


@pytest.mark.parametrize(("n_jobs", "n_begun"), [(1, 1), (2, 2), (3, 3)])
def test_interrupt_keeps_every_finished_sweep_of_every_chain(n_jobs, n_begun):
    found = interrupted("none", n_jobs, n_bells=n_begun)
    assert not found["raised"]
    assert len(found["traces"]) == n_begun
    for n_sweeps, n_kept, was_interrupted in found["traces"]:
        assert n_sweeps >= 20
        assert n_kept == n_sweeps - 4
        assert was_interrupted
    assert found["contents"] == beginnings([trace[0] for trace in found["traces"]])


def test_interrupted_run_goes_on_from_its_last_sweep(tmp_path):
    found = interrupted("none", 3, tmp_path / "run", n_bells=3)
    lengths = [trace[0] for trace in found["traces"]]
    assert contents(Checkpoints(tmp_path / "run").traces(3)) == found["contents"] == beginnings(lengths)


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_interrupt_keeps_what_other_processes_wrote(tmp_path, backend):
    found = interrupted(backend, 2, tmp_path / "run", n_bells=2)
    assert not found["raised"]
    assert len(found["traces"]) == 2
    assert all(n_sweeps >= 14 and was_interrupted for n_sweeps, _, was_interrupted in found["traces"])
    assert found["contents"] == beginnings([trace[0] for trace in found["traces"]])


def test_interrupt_is_passed_on_if_nothing_can_be_kept():
    assert interrupted("loky", 2, n_bells=2) == {"raised": True, "traces": []}


def test_a_killed_run_leaves_its_last_checkpoint(tmp_path):
    process = start("none", 3, tmp_path / "run", n_bells=3)
    process.kill()
    process.communicate(timeout=PATIENCE)
    traces = Checkpoints(tmp_path / "run").traces(3)
    lengths = [trace.n_sweeps for trace in traces]
    assert all(length >= 14 and length % 7 == 0 for length in lengths)
    assert contents(traces) == beginnings(lengths)
