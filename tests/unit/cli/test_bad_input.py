"""Bad input of every kind: one clear line, status 2 (130 after Ctrl-C), no traceback, and nothing half-written.

A message names what is wrong, says what was found and what is needed, and says what to do.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from homothety.errors import InputError

QUICK = ("--chains", "1", "--sweeps", "4")


@pytest.fixture
def folder(tmp_path, recordings, toy, monkeypatch):
    """Work in a folder with good files and bad ones."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOMOTHETY_DATA", raising=False)
    write_series(recordings.sequences[0], recordings.actions[0])
    write_matrices(toy.matrices)
    return tmp_path


def write_series(one, actions):
    """Write recordings that are good, and some of each kind that are not."""
    table = {"good.csv": one, "nan.csv": with_entry(one, np.nan), "inf.csv": with_entry(one, np.inf)}
    table |= {"one.csv": one[:1], "still.csv": one * [1, 0] + [0, 2], "wide.csv": np.column_stack([one, one[:, 0]])}
    table |= {"spike.csv": with_entry(one, 1e200), "tiny.csv": one * 1e-200, "faint.csv": one * [1, 1e-200]}
    for name, steps in table.items():
        header = ",".join("xyz"[: steps.shape[1]])
        np.savetxt(name, steps, delimiter=",", header=header, comments="")
    np.savez("labelled.npz", X=one, labels=actions)
    np.savez("broken.npz", X=one)
    cut_short("broken.npz")
    np.save("pickled.npy", np.array([{"a": 1}]), allow_pickle=True)
    text = "x,y\n1,2\n3,four\n5,6\n"
    for name, content in {
        "text.csv": text,
        "ragged.csv": "x,y\n1,2\n3\n",
        "empty.csv": "",
        "few.txt": "a\nb\n",
    }.items():
        with open(name, "w") as file:
            file.write(content)
    for name in ("garbage.csv", "report.pdf"):
        with open(name, "wb") as file:
            file.write(bytes(range(256)) * 8)
    os.mkdir("pictures")
    with open("pictures/photo.png", "wb") as file:
        file.write(b"\x89PNG")


def write_matrices(matrices):
    """Write matrices that are good, and some of each kind that are not."""
    skewed = matrices.copy()
    skewed[4, 0, 1] += 1
    sets = {"good": matrices, "indefinite": matrices - 3 * np.eye(6) * np.trace(matrices[0]), "skewed": skewed}
    sets |= {"nan": with_entry(matrices, np.nan), "flat": matrices[0], "oblong": matrices[:, :, :5]}
    sets |= {"complex": matrices * 1j}
    for name, values in sets.items():
        np.save(f"{name}.npy", values)


def with_entry(values, entry):
    changed = values.copy()
    changed.flat[3] = entry
    return changed


def cut_short(name):
    with open(name, "rb+") as file:
        file.truncate(os.path.getsize(name) // 2)


def snapshot(folder):
    """Return the names of all files, and what is in them."""
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


# Arguments, and what the one line has to say.
CASES = {
    "file that is not there": ("segment missing.csv", "missing.csv is not there"),
    "file of another kind": ("segment report.pdf", "report.pdf ends in '.pdf', needed one of .csv"),
    "empty file": ("segment empty.csv", "empty.csv is empty"),
    "binary file called csv": ("segment garbage.csv", "garbage.csv cannot be read"),
    "text among numbers": ("segment text.csv", "text.csv, line 3, column 2 is 'four', needed a number"),
    "rows of different lengths": ("segment ragged.csv", "ragged.csv, line 3 has 1 columns where 2 were expected"),
    "NaN": ("segment nan.csv --model hmm", "Recording 0 (nan) holds nan at step 1, channel y"),
    "infinity": ("segment inf.csv", "Recording 0 (inf) holds inf at step 1, channel y"),
    "a single step": ("segment one.csv", "has 1 steps, needed at least 2"),
    "column that stands still": ("segment still.csv --model icsc", "Channel y is 2 at every step"),
    "files with other columns": ("segment good.csv wide.csv", "wide.csv has 3 dimensions but good.csv has 2"),
    "folder without recordings": ("segment pictures", "pictures holds no file ending in .csv"),
    "broken archive": ("segment broken.npz", "broken.npz cannot be read"),
    "pickled array": ("segment pickled.npy", "pickled.npy cannot be read"),
    "unknown column": ("segment good.csv --columns x,up", "has no column 'up'; it has columns x, y"),
    "unknown group": ("segment good.csv --group episode", "has no column 'episode'; it has columns x, y"),
    "no sweeps": ("segment good.csv --sweeps 0", "--sweeps: '0' is neither a whole number of at least 1 nor auto"),
    "negative seed": ("cluster good.npy --seed -1", "--seed: '-1' is not a whole number of at least 0"),
    "unknown command": ("frobnicate", "invalid choice: 'frobnicate'"),
    "unknown option": ("segment good.csv --sweep-count 3", "--sweep-count 3. See homothety segment --help"),
    "output is a file": ("segment good.csv -o good.npy", "good.npy is a file, needed a folder for the results"),
    "output inside a file": ("cluster good.npy -o good.csv/out", "good.csv/out cannot be written to"),
    "matrix that is no covariance": ("cluster indefinite.npy", "matrix 0, counted from 0, is not positive definite"),
    "asymmetric matrix": ("cluster skewed.npy", "matrix 4, counted from 0, is not symmetric"),
    "matrix with NaN": ("cluster nan.npy", "matrix 0, counted from 0, holds NaN"),
    "one matrix, not several": ("cluster flat.npy", "has shape (6, 6)"),
    "matrices that are not square": ("cluster oblong.npy", "has shape (12, 6, 5), needed"),
    "complex matrices": ("cluster complex.npy", "holds values of type complex128, needed real numbers"),
    "recordings in place of matrices": ("cluster good.csv", "good.csv has 2 columns of numbers, needed N*N"),
    "matrices in place of recordings": ("segment good.npy", "has shape (12, 6, 6), needed (n_steps, n_dims)"),
    "labels of other steps": ("compare good.csv --truth few.txt", "few.txt has 2 labels for"),
    "no labels": ("compare good.csv", "good.csv has no label for every step"),
    "unknown method": ("compare labelled.npz --methods ibp,lda", "--methods has 'lda', needed some of hmm, hdp"),
    "spike": (
        "segment spike.csv --model icsc",
        "Recording 0 (spike) holds 1e+200 at step 1, channel y: too large to be",
    ),
    "recordings that hardly move": (
        "segment tiny.csv --model icsc --scale std",
        "Give all recordings in a smaller unit",
    ),
    "a column that hardly moves": (
        "segment faint.csv --model icsc --scale std",
        "too little to be squared, and --scale",
    ),
    "steps that take for ever": (
        "segment good.csv --rate 1e-320",
        "--rate is 9.99989e-321, needed steps per second from",
    ),
    "steps that take no time": (
        "segment good.csv --rate 1e300",
        "--rate is 1e+300, needed steps per second from 1e-06",
    ),
    "more states than fit": (
        "segment good.csv --model hmm --max-states 100000",
        "--max-states is 100000, needed at most",
    ),
    "more states than fit in chains": ("segment good.csv --model hdp --max-states 100000", "needed at most 1000"),
    "more memory than allowed": ("cluster good.npy --max-memory 1k", "good.npy would take 3.5 kB in memory"),
    "memory of no size": (
        "segment good.csv --max-memory lots",
        "--max-memory: 'lots' is not a size such as 500M or 8G",
    ),
    "resume of a folder that is not there": ("resume nowhere", "nowhere is not there"),
    "resume of a folder that is no run": ("resume pictures", "pictures holds no run that could be resumed"),
}


def check_refused(run, command, message, *, status=2):
    """Make sure that a command is refused by one line that says so."""
    answer = run(*command.split(), "--quiet")
    assert answer.status == status
    assert answer.err.count("\n") == 1
    assert message in answer.error
    assert answer.out == ""


@pytest.mark.parametrize("case", CASES)
def test_bad_input_gets_one_line_and_leaves_nothing(case, run, folder):
    before = snapshot(folder)
    check_refused(run, *CASES[case])
    assert snapshot(folder) == before


@pytest.mark.parametrize(("content", "message"), [("whole", "homothety[parquet]"), ("half", "cannot be read")])
def test_parquet_without_its_reader_or_its_end(content, message, run, folder, monkeypatch):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"x": [0.0, 1.0, 3.0], "y": [1.0, 0.0, 2.0]}), "log.parquet")
    if content == "half":
        cut_short("log.parquet")
    else:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    check_refused(run, "segment log.parquet", message)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="whoever runs the tests may read and write anything")
@pytest.mark.parametrize("command", ["segment good.csv", "cluster good.npy", "cluster good.npy -o locked/results"])
def test_files_that_may_not_be_read_and_folders_that_may_not_be_written_to(command, run, folder):
    os.mkdir("locked")
    for name in ("good.csv", *["good.npy"] * (command == "cluster good.npy"), "locked"):
        os.chmod(name, 0)
    check_refused(run, command, "Permission denied")
    os.chmod("locked", 0o700)


def test_a_disk_that_is_full_is_named_and_leaves_no_half_files(run, folder, monkeypatch):
    replace = os.replace

    def full(aside, path):
        if str(path).endswith("labels.csv"):
            raise OSError(28, "No space left on device", str(path))
        replace(aside, path)

    monkeypatch.setattr(os, "replace", full)
    hint = "labels.csv: No space left on device. What was sampled is kept: when this is put right, homothety resume"
    check_refused(run, " ".join(["cluster good.npy -o results", *QUICK]), hint)
    assert sorted(os.listdir("results")) == ["checkpoint", "model.homothety", "run.json"]


@pytest.mark.parametrize("error", [MemoryError(), InputError("Matrices are odd. Drop them.")])
def test_a_run_that_fails_in_its_first_sweep_leaves_nothing(error, run, folder, monkeypatch):
    def fail(rng, model, state):
        raise error

    before = snapshot(folder)
    monkeypatch.setattr("homothety.models.shapes.moves.resample_labels", fail)
    check_refused(run, " ".join(["cluster good.npy -o results", *QUICK]), str(error) or "Not enough memory")
    assert snapshot(folder) == before


@pytest.mark.skipif(os.name == "nt", reason="file names there are text without control characters")
def test_names_cannot_steer_the_terminal(run, folder):
    name = "\x1b]0;owned\x07\x1b[2J.csv"
    os.rename("good.csv", name)
    check_refused(run, "segment missing.csv", "missing.csv is not there")
    for words in (("segment", name, "--columns", "x,\x1b[2J"), ("segment", name, "--frob\x9bnicate")):
        answer = run(*words)
        assert answer.status == 2
        assert not set("\x1b\x07\x9b") & set(answer.err)


def test_an_interrupt_is_one_line_too(run, folder, interrupt_segmentation_after):
    interrupt_segmentation_after(1)
    command = " ".join(["segment good.csv -o results", *QUICK])
    check_refused(run, command, "To go on from there: homothety resume results", status=130)
    assert sorted(os.listdir("results")) == ["checkpoint", "run.json"]


@pytest.fixture
def interrupted(run, folder, interrupt_after):
    """Leave an interrupted clustering in the folder ``results``."""
    interrupt_after(1)
    assert run("cluster", "good.npy", "-o", "results", *QUICK).status == 130


def test_other_data_are_not_gone_on_with(run, toy, interrupted, folder):
    np.save("good.npy", toy.matrices[:-1])
    before = snapshot(folder)
    check_refused(run, "resume results", "results began with: matrices was float64 (12, 6, 6)")
    assert snapshot(folder) == before
    os.remove("good.npy")
    check_refused(run, "resume results", "good.npy is not there")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "run.json is damaged or not of homothety"),
        ('{"name": "mine"}', "run.json is damaged or not of homothety"),
        ('{"command": [], "given_in": "", "data": {}, "format": 9}', "has format 9, this version of homothety"),
    ],
)
def test_a_record_that_cannot_be_read_is_named(text, message, run, interrupted):
    with open("results/run.json", "w") as file:
        file.write(text)
    check_refused(run, "resume results", message)


def test_chains_that_are_damaged_are_named(run, interrupted):
    for name in ("position.zip", "position-before.zip"):
        if os.path.exists(f"results/checkpoint/chain-0/{name}"):
            cut_short(f"results/checkpoint/chain-0/{name}")
    check_refused(run, "resume results", "position.zip cannot be read")
