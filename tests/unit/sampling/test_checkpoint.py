"""A run that was stopped goes on bit for bit; a run that is another one is refused; no write can spoil a checkpoint."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pytest
from numpy.random import SeedSequence

from homothety import files
from homothety.distributions import NIW
from homothety.errors import CheckpointError, CheckpointWarning, InputError
from homothety.models import crp, ddcrp
from homothety.models.crp import RECORDING as CRP_RECORDING
from homothety.models.ddcrp import RECORDING as DDCRP_RECORDING
from homothety.sampling import Checkpoints, Recorder, StopWhen, StopWhenStuck, run_chains
from homothety.sampling.checkpoint import BEFORE, HEADER, POSITION, remove_checkpoint
from homothety.sampling.codec import from_bytes, seal_of, to_bytes
from walks import GROUND, START, SWEEP, Ground, contents, run_walks

KILLED = Path(__file__).with_name("killed_walk.py")


def stopped_at(n_sweeps):
    """Sweeps that are interrupted half-way after so many: the generator has moved on by then."""

    def stop(rng, model, state):
        if state.step == n_sweeps:
            raise KeyboardInterrupt
        return state, None

    return {**SWEEP, "stop": stop}


def file_contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "run"


# --- going on --------------------------------------------------------------------------------------------------------


def never_stop(rng, model, state):
    return state, None


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("n_finished", [0, 1, 3, 4, 5, 9, 11])
def test_resumed_run_is_the_run_that_was_not_stopped(folder, n_finished, n_jobs):
    stopped = run_walks(sweep=stopped_at(n_finished), checkpoint=folder)
    assert stopped[0].interrupted
    resumed = run_walks(sweep={**SWEEP, "stop": never_stop}, checkpoint=folder, n_jobs=n_jobs)
    assert contents(resumed) == contents(run_walks())
    assert not any(trace.interrupted for trace in resumed)


@pytest.mark.parametrize("every_sweeps", [1, 2, 5, 100])
def test_run_may_be_stopped_again_and_again(folder, every_sweeps):
    checkpoint = Checkpoints(folder, every_sweeps=every_sweeps)
    for n_finished in (2, 3, 3, 8, 11):
        run_walks(sweep=stopped_at(n_finished), checkpoint=checkpoint)
    assert contents(run_walks(sweep={**SWEEP, "stop": never_stop}, checkpoint=checkpoint)) == contents(run_walks())


def test_finished_run_makes_no_further_sweep(folder):
    first = run_walks(checkpoint=folder)
    before = file_contents(folder)

    def fail(rng, model, state):
        raise AssertionError

    again = run_walks(sweep={"walk": fail, "shoes": fail}, checkpoint=folder)
    assert contents(again) == contents(first)
    assert again[0].scalars["seconds"] == first[0].scalars["seconds"]
    assert file_contents(folder) == before


def test_run_may_go_on_with_more_sweeps_and_more_chains(folder):
    run_walks(checkpoint=folder, n_chains=2)
    longer = run_walks(checkpoint=folder, n_chains=4, n_sweeps=20)
    assert contents(longer) == contents(run_walks(n_chains=4, n_sweeps=20))


def test_checkpoint_holds_the_seed_of_a_run_that_was_given_none(folder):
    first = run_walks(seed=None, checkpoint=folder, n_sweeps=8)
    longer = run_walks(seed=None, checkpoint=folder)
    for part, whole in zip(first, longer, strict=True):
        assert part.scalars["log_joint"] == whole.scalars["log_joint"][:8]
    assert contents(longer) != contents(run_walks(seed=None))


def test_chains_that_draw_their_start_go_on(folder):
    def start(rng, model):
        return replace(START, place=rng.standard_normal(2))

    run_walks(state=start, sweep=stopped_at(5), checkpoint=folder)
    resumed = run_walks(state=start, sweep={**SWEEP, "stop": never_stop}, checkpoint=folder)
    assert contents(resumed) == contents(run_walks(state=start))


@pytest.mark.parametrize("stop", [StopWhenStuck(2), StopWhen(lambda visit: visit.n_sweeps >= 7)])
def test_early_stop_comes_at_the_same_sweep_of_a_resumed_run(folder, stop):
    whole = run_walks(recorders=[stop])
    run_walks(recorders=[stop], sweep=stopped_at(6), checkpoint=folder)
    for _ in range(2):  # the second time it has stopped already
        resumed = run_walks(recorders=[stop], sweep={**SWEEP, "stop": never_stop}, checkpoint=folder)
        assert contents(resumed) == contents(whole)
        assert [trace.stopped_by for trace in resumed] == [trace.stopped_by for trace in whole]
    assert {trace.stopped_by for trace in whole} == {type(stop).__name__}


def test_progress_counts_what_was_there_already(folder, capsys):
    run_walks(sweep=stopped_at(5), checkpoint=folder)
    run_walks(sweep={**SWEEP, "stop": never_stop}, checkpoint=folder, progress=True)
    assert "sampling 36/36 sweeps" in capsys.readouterr().err


def test_sweep_of_an_error_is_the_only_one_lost(folder):
    def fail(rng, model, state):
        if state.step == 7:
            raise ZeroDivisionError
        return state, None

    with pytest.raises(ZeroDivisionError):
        run_walks(sweep={**SWEEP, "stop": fail}, checkpoint=folder)
    assert [trace.n_sweeps for trace in Checkpoints(folder).traces(3)] == [7]
    assert contents(run_walks(sweep={**SWEEP, "stop": never_stop}, checkpoint=folder)) == contents(run_walks())


@pytest.mark.parametrize("backend", ["loky", "threading", "sequential"])
def test_chains_in_other_processes_are_written_and_go_on(folder, backend):
    with joblib.parallel_config(backend=backend):
        run_walks(checkpoint=folder, n_jobs=2, n_sweeps=6)
        resumed = run_walks(checkpoint=folder, n_jobs=2)
    assert contents(resumed) == contents(run_walks())


@pytest.mark.parametrize(("model_kind", "recording"), [(ddcrp, DDCRP_RECORDING), (crp, CRP_RECORDING)])
def test_chains_of_the_library_go_on_bit_for_bit(folder, model_kind, recording):
    rng = np.random.default_rng(2)
    points, base = rng.normal(size=(12, 2)), NIW(np.zeros(2), 1.0, np.eye(2), 3.0)
    similarity = np.exp(-((points[:, None] - points) ** 2).sum(axis=2))
    model = ddcrp.Model.from_similarity(points, similarity, base) if model_kind is ddcrp else crp.Model(points, base)
    run = partial(run_chains, model, model_kind.init_state(model), model_kind.default_sweep(sample_concentration=True))
    run = partial(run, recording, n_chains=2, n_burn=2)
    run(seed=SeedSequence(3), n_sweeps=7, checkpoint=folder)
    resumed = run(seed=SeedSequence(3), n_sweeps=15, checkpoint=folder)
    whole = run(seed=SeedSequence(3), n_sweeps=15)
    for one, other in zip(resumed, whole, strict=True):
        np.testing.assert_array_equal(one.kept, other.kept)
        assert one.scalars["log_joint"] == other.scalars["log_joint"]


# --- cadence and size ------------------------------------------------------------------------------------------------


class WhatIsWritten(Recorder):
    """Looks, after each sweep, at which sweep is on disk."""

    def __init__(self, folder):
        self.folder, self.found = folder, []

    def on_sweep(self, visit):
        self.found.append(Checkpoints(self.folder).store(visit.chain).read().n_sweeps)


@pytest.mark.parametrize(
    ("cadence", "found"),
    [
        ({"every_sweeps": 5}, [0, 0, 0, 0, 0, 5, 5, 5, 5, 5, 10, 10]),
        ({"every_sweeps": 1}, list(range(12))),
        ({"every_sweeps": None, "every_seconds": None}, [0] * 12),
        ({"every_seconds": 0}, list(range(12))),
    ],
)
def test_chains_are_written_as_often_as_asked_for(folder, cadence, found):
    recorder = WhatIsWritten(folder)  # sees each sweep before the checkpoint does
    run_walks(checkpoint=Checkpoints(folder, **cadence), recorders=[recorder], n_chains=1)
    assert recorder.found == found
    assert Checkpoints(folder).traces(1)[0].n_sweeps == 12


@pytest.mark.parametrize("cadence", [{"every_sweeps": 0}, {"every_seconds": -1.0}, {"every_seconds": float("nan")}])
def test_impossible_cadences_are_refused(folder, cadence):
    with pytest.raises(InputError, match=r"every_\w+ is .*, needed"):
        Checkpoints(folder, **cadence)


def test_what_is_on_disk_is_not_written_again(folder, monkeypatch):
    names = []
    write = files.write_whole

    def written(path, content, **options):
        names.append(path.name)
        write(path, content, **options)

    monkeypatch.setattr("homothety.sampling.checkpoint.write_whole", written)
    run_walks(checkpoint=Checkpoints(folder, every_sweeps=3), n_chains=1)
    pieces = [name for name in names if name.startswith("sweeps")]
    assert pieces == ["sweeps-000000000.zip", "sweeps-000000003.zip", "sweeps-000000006.zip", "sweeps-000000009.zip"]
    assert names[-1] == POSITION


# --- what can go wrong with a disk -----------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
@pytest.mark.parametrize("n_steps", range(1, 25))
def test_a_kill_in_the_middle_of_a_write_spoils_nothing(folder, n_steps):
    paths = os.pathsep.join([str(KILLED.parents[2]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(KILLED), str(folder), str(n_steps), "1"]
    ended = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert contents(run_walks(checkpoint=folder, n_chains=1)) == contents(run_walks(n_chains=1))
    assert not list(folder.rglob(".part-*"))


class FullDisk:
    """Stands for a file of which only half can be written."""

    def __init__(self, file):
        self._file = file

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()

    def write(self, content):
        self._file.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def fill_disk(monkeypatch):
    """Return a function that fills the disk, and one that makes room again."""
    genuine = Path.open

    def fill():
        def open_full(self, mode="r", *arguments, **options):
            file = genuine(self, mode, *arguments, **options)
            return FullDisk(file) if mode == "xb" else file

        monkeypatch.setattr(Path, "open", open_full)

    return fill, lambda: monkeypatch.setattr(Path, "open", genuine)


class Plumber(Recorder):
    """Fills the disk after one sweep and makes room after another."""

    def __init__(self, fill, drain, since, until):
        self.at = {since: fill, until: drain}

    def on_sweep(self, visit):
        self.at.get(visit.n_sweeps, lambda: None)()


def test_a_full_disk_does_not_end_a_run_and_leaves_the_last_good_checkpoint(folder, fill_disk):
    fill, drain = fill_disk
    run = partial(run_walks, n_chains=1, checkpoint=Checkpoints(folder, every_sweeps=3))
    with pytest.warns(CheckpointWarning) as caught:
        traces = run(recorders=[Plumber(fill, drain, 7, 100)])
    first, *others = (str(warning.message) for warning in caught)
    assert first.startswith("Could not write chain 0 at sweep 9: [Errno 28] No space left on device: ")
    assert "sweeps-000000006.zip" in first
    assert first.endswith("The run goes on; the checkpoint of sweep 6 is untouched.")
    assert all("at sweep 12" in message for message in others)
    drain()
    assert contents(traces) == contents(run_walks(n_chains=1))
    (stored,) = Checkpoints(folder).traces(1)
    assert stored.n_sweeps == 6
    assert not list(folder.rglob(".part-*"))
    assert contents(run()) == contents(traces)


def test_writing_goes_on_once_there_is_room(folder, fill_disk):
    checkpoint = Checkpoints(folder, every_sweeps=2)
    with pytest.warns(CheckpointWarning, match="sweep 6"):
        run_walks(n_chains=1, checkpoint=checkpoint, recorders=[Plumber(*fill_disk, 5, 7)])
    assert contents(checkpoint.traces(1)) == contents(run_walks(n_chains=1))


def test_a_folder_that_cannot_be_written_is_refused_at_once(folder, fill_disk):
    fill_disk[0]()
    with pytest.raises(CheckpointError, match=r"Cannot make a checkpoint in .*run: .*No space left"):
        run_walks(checkpoint=folder)


def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    files.write_whole(path, b"old")

    def fail(source, target):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(files.os, "replace", fail)
    with pytest.raises(OSError, match="broken"):
        files.write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def inverted(content):
    """Change every bit of byte 140: of the compressed content, where zlib would give up."""
    return content[:140] + bytes([content[140] ^ 0xFF]) + content[141:]


SPOILS = {
    "cut": lambda content: content[:50],
    "nonsense": lambda content: b"nonsense",
    "inverted": inverted,
    "empty": lambda content: b"",
}


@pytest.mark.parametrize("name", [POSITION, "sweeps-000000010.zip"])
@pytest.mark.parametrize("spoil", SPOILS)
def test_a_damaged_file_costs_one_interval_and_is_named(folder, name, spoil):
    run = partial(run_walks, n_chains=1, checkpoint=Checkpoints(folder, every_sweeps=5))
    run()
    path = folder / "chain-0" / name
    path.write_bytes(SPOILS[spoil](path.read_bytes()))
    message = rf"{name} cannot be read: .*damaged.* Chain 0 goes on from the position before it, that of sweep 10;"
    with pytest.warns(CheckpointWarning, match=message):
        assert contents(run()) == contents(run_walks(n_chains=1))
    assert contents(run()) == contents(run_walks(n_chains=1))  # and is whole again


@pytest.mark.parametrize("names", [(POSITION, BEFORE), ("sweeps-000000000.zip",)])
def test_a_chain_without_a_whole_position_is_refused_by_the_name_of_a_file(folder, names):
    run = partial(run_walks, n_chains=1, checkpoint=Checkpoints(folder, every_sweeps=5))
    run()
    for name in names:
        (folder / "chain-0" / name).write_bytes(b"")
    with pytest.raises(CheckpointError, match=rf"{names[0]} cannot be read: .*Delete .*chain-0 to start this chain"):
        run()


@pytest.mark.parametrize("n_killed", [5, 9])
def test_a_damaged_position_never_takes_the_place_of_the_good_one(folder, n_killed):
    """A run that goes on from the position before may be stopped at once, and the last one damaged again."""
    run = partial(run_walks, n_chains=1, checkpoint=Checkpoints(folder, every_sweeps=3))
    run(sweep=stopped_at(n_killed))
    (folder / "chain-0" / POSITION).write_bytes(b"nonsense")
    with pytest.warns(CheckpointWarning, match="goes on from the position before it"):
        run(sweep=stopped_at(n_killed - 1))
    (folder / "chain-0" / POSITION).write_bytes(b"nonsense")
    with pytest.warns(CheckpointWarning, match="goes on from the position before it"):
        assert contents(run(sweep={**SWEEP, "stop": never_stop})) == contents(run_walks(n_chains=1))


def test_a_missing_piece_is_named(folder):
    run_walks(checkpoint=folder, n_chains=1)
    (folder / "chain-0" / "sweeps-000000000.zip").unlink()
    with pytest.warns(CheckpointWarning, match=r"sweeps-000000000\.zip cannot be read: .*No such file"):
        assert contents(run_walks(checkpoint=folder, n_chains=1)) == contents(run_walks(n_chains=1))


def test_a_piece_of_another_run_is_noticed(folder, tmp_path):
    run_walks(checkpoint=folder, n_chains=1)
    run_walks(checkpoint=tmp_path / "other", n_chains=1, seed=2)
    name = Path("chain-0") / "sweeps-000000000.zip"
    (folder / name).write_bytes((tmp_path / "other" / name).read_bytes())
    with pytest.warns(CheckpointWarning, match="it is not the piece that was written here"):
        assert contents(run_walks(checkpoint=folder, n_chains=1)) == contents(run_walks(n_chains=1))


def forge(path, **changes):
    """Change what a file of a checkpoint holds, and seal it again."""
    path.write_bytes(to_bytes(from_bytes(path.read_bytes()) | changes))


FORGERIES = {
    "state of no chain": {"state": 3},
    "no generator": {"generator": {"bits": {"bit_generator": "PCG64"}, "n_spawned": 0}},
    "another generator": {"generator": {"bits": {"bit_generator": "MT19937"}, "n_spawned": 0}},
    "pieces elsewhere": {"pieces": {"../../run.json": "0"}},
    "pieces of no name": {"pieces": {1: 2}},
    "texts for numbers": {"n_sweeps": "12"},
    "fewer parts": {"state": None, "generator": None},
    "other lengths": {"n_kept": 10**9},
}


@pytest.mark.parametrize("case", FORGERIES)
def test_forged_positions_are_refused(folder, case):
    base = NIW(np.zeros(2), 1.0, np.eye(2), 3.0)
    model = crp.Model(np.random.default_rng(2).normal(size=(12, 2)), base)
    run = partial(run_chains, model, crp.init_state(model), crp.default_sweep(), CRP_RECORDING, seed=None)
    run = partial(run, n_chains=1, n_sweeps=4, n_burn=2, checkpoint=folder)
    run()
    (folder / "chain-0" / BEFORE).unlink()
    forge(folder / "chain-0" / POSITION, **FORGERIES[case])
    with pytest.raises(CheckpointError, match="chain-0"):
        run()


def test_forged_draws_are_refused(folder):
    run = partial(run_walks, n_chains=1, checkpoint=folder)
    run()
    path = folder / "chain-0" / "sweeps-000000000.zip"
    forge(path, kept=["x"] * 8)
    forge(folder / "chain-0" / POSITION, pieces={path.name: seal_of(path.read_bytes())})
    with pytest.raises(CheckpointError, match="draws are not of the kind that this model keeps"):
        run()


def test_a_run_of_another_version_is_gone_on_with_and_said(folder):
    run_walks(checkpoint=folder)
    header = json.loads((folder / HEADER).read_text())
    (folder / HEADER).write_text(json.dumps(header | {"version": "0.0.7"}))
    with pytest.warns(CheckpointWarning, match=r"was begun by homothety 0\.0\.7, this is"):
        run_walks(checkpoint=folder)


# --- removing, and links ----------------------------------------------------------------------------------------------


def test_a_checkpoint_is_removed_whole(folder):
    run_walks(checkpoint=Checkpoints(folder, every_sweeps=5))
    (folder / f".part-{'0' * 16}-run.json").write_text("half")
    remove_checkpoint(folder)
    assert not folder.exists()


@pytest.mark.parametrize("stranger", ["weights.bin", "chain-0/notes.txt", "chain-0/sweeps-000000000.zip.bak", "more/x"])
def test_a_folder_that_holds_anything_else_is_left_as_it_is(folder, stranger):
    run_walks(checkpoint=folder)
    (folder / stranger).parent.mkdir(exist_ok=True)
    (folder / stranger).write_text("precious")
    before = file_contents(folder)
    with pytest.raises(CheckpointError, match="which is not of a checkpoint: nothing in the folder is removed"):
        remove_checkpoint(folder)
    assert file_contents(folder) == before


@pytest.mark.parametrize("text", ['{"mine": 1}', "[]", "", '{"format": "1"}'])
def test_a_folder_without_our_header_is_not_removed(folder, text):
    folder.mkdir()
    (folder / HEADER).write_text(text)
    with pytest.raises(CheckpointError, match=r"run\.json is damaged or not of homothety"):
        remove_checkpoint(folder)
    assert (folder / HEADER).read_text() == text


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_planted_links_are_not_followed(folder, tmp_path):
    run_walks(checkpoint=folder, n_sweeps=6)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in ("owner.txt", "sweeps-000000006.zip"):
        (folder / "chain-0" / name).unlink(missing_ok=True)
        (folder / "chain-0" / name).symlink_to(victim)
    assert contents(run_walks(checkpoint=folder)) == contents(run_walks())
    assert victim.read_text() == "precious"

    (folder / "chain-0").rename(tmp_path / "elsewhere")
    (folder / "chain-0").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match=r"chain-0 is a link\. Links are not followed"):
        run_walks(checkpoint=folder, n_sweeps=20)
    with pytest.raises(CheckpointError, match="nothing in the folder is removed"):
        remove_checkpoint(folder)


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_burn": 5}, r"settings\.n_burn was 4, is 5"),
        ({"settings": {"tolerance": 2.0}}, r"settings\.tolerance was 1\.0, is 2\.0"),
        ({"settings": {}}, r"settings\.tolerance was 1\.0, is absent"),
        ({"seed": 2}, r"seed\.entropy was 1, is 2"),
        ({"model": Ground(np.array([0.1, 0.2]))}, r"model\.slope was float64 \(2,\) \w{12}, is float64 \(2,\) \w{12}"),
        ({"model": replace(GROUND, friction=0.4)}, r"model\.friction was 0\.5, is 0\.4"),
        ({"state": replace(START, place=np.ones(2))}, r"start\.place was float64 \(2,\)"),
        ({"sweep": dict(list(SWEEP.items())[:1])}, r"sweep\.shoes was function, is absent"),
        ({"sweep": {**SWEEP, "walk": partial(SWEEP["walk"], pace=1)}}, r"sweep\.walk was function, is absent"),
    ],
)
def test_another_run_is_refused_by_what_differs(folder, change, message):
    run_walks(checkpoint=folder, settings={"tolerance": 1.0}, n_sweeps=6)
    before = file_contents(folder)
    with pytest.raises(CheckpointError, match=rf"checkpoint of another run: {message}.*Use the data and settings"):
        run_walks(checkpoint=folder, **({"settings": {"tolerance": 1.0}} | change))
    assert file_contents(folder) == before


def test_everything_that_differs_is_named(folder):
    run_walks(checkpoint=folder)
    with pytest.raises(CheckpointError, match=r"settings\.n_burn was 4, is 5; model\.friction was 0\.5, is 0\.4"):
        run_walks(checkpoint=folder, n_burn=5, model=replace(GROUND, friction=0.4))


def test_fewer_sweeps_than_were_made_are_refused(folder):
    run_walks(checkpoint=folder)
    with pytest.raises(CheckpointError, match="Chain 0 has made 12 sweeps already, n_sweeps is only 6"):
        run_walks(checkpoint=folder, n_sweeps=6)


def test_another_format_is_refused(folder):
    run_walks(checkpoint=folder)
    header = json.loads((folder / HEADER).read_text())
    (folder / HEADER).write_text(json.dumps(header | {"format": 99, "version": "7.0"}))
    with pytest.raises(CheckpointError, match=r"has checkpoint format 99, this version .* reads 3\..*homothety 7\.0"):
        run_walks(checkpoint=folder)


@pytest.mark.parametrize("text", ["", "{}", "[1]", "not json"])
def test_a_damaged_header_is_named(folder, text):
    folder.mkdir()
    (folder / HEADER).write_text(text)
    with pytest.raises(CheckpointError, match=r"run\.json is damaged"):
        run_walks(checkpoint=folder)


def test_a_folder_of_something_else_is_left_alone(folder):
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(CheckpointError, match=r"is no checkpoint, it holds 'thesis\.txt'"):
        run_walks(checkpoint=folder)
    assert file_contents(folder) == {"thesis.txt": b"years of work"}


def test_a_file_is_no_folder(folder):
    folder.write_text("")
    with pytest.raises(CheckpointError, match=r"is a file\. Checkpoints need a folder"):
        run_walks(checkpoint=folder)


def test_whoever_went_on_with_a_chain_last_is_the_only_one_to_write_it(folder):
    class Intruder(Recorder):
        def on_sweep(self, visit):
            if visit.n_sweeps == 5:
                run_walks(n_chains=1, checkpoint=folder)

    with pytest.raises(CheckpointError, match=r"Another process has gone on with chain 0 in .*chain-0"):
        run_walks(n_chains=1, recorders=[Intruder()], checkpoint=Checkpoints(folder, every_sweeps=2))
    assert contents(Checkpoints(folder).traces(1)) == contents(run_walks(n_chains=1))


def test_what_the_dead_leave_behind_is_in_nobodys_way(folder):
    run_walks(checkpoint=folder, n_sweeps=8)
    for name in (POSITION, "sweeps-000000008.zip", "owner.txt"):
        (folder / "chain-1" / f".part-{'0' * 16}-{name}").write_bytes(b"half")
    (folder / "chain-1" / "owner.txt").write_bytes(b"")
    assert contents(run_walks(checkpoint=folder)) == contents(run_walks())


def test_a_folder_that_is_not_shared_is_named(folder):
    run_walks(checkpoint=folder)
    Checkpoints(folder).check_shared()
    with pytest.raises(CheckpointError, match=r"elsewhere is not there on .* need a folder that all machines share"):
        Checkpoints(folder / "elsewhere").check_shared()


def test_a_state_that_cannot_be_stored_is_refused_before_the_first_sweep(folder):
    def fail(rng, model, state):
        raise AssertionError

    with pytest.raises(CheckpointError, match=r"Cannot store a walks\.Ground.*homothety\.sampling\.storable"):
        run_walks(state=replace(START, names={"ground": GROUND}), sweep={"fail": fail}, checkpoint=folder)
