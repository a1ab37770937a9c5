"""Files that crash, hang or bloat their reader end in one line, and the process that reads them is replaced."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
from scipy.io import savemat

from homothety.archives import memory_limit
from homothety.datasets import read_matrices, read_sequences
from homothety.datasets.readers import apart
from homothety.datasets.readers.apart import Reader, reading_apart
from homothety.errors import InputError


@pytest.fixture
def cells(tmp_path, series):
    data = np.empty((1, len(series)), dtype=object)
    data[0, :] = series
    savemat(tmp_path / "good.mat", {"data": data})
    return tmp_path / "good.mat"


def spoil(path):
    """Change the byte with which SciPy 1.16 crashes: the type of the array in the first cell."""
    content = bytearray(path.read_bytes())
    content[224] = 128
    (path.parent / "bad.mat").write_bytes(content)
    return path.parent / "bad.mat"


def test_a_crash_is_one_line_and_the_next_file_is_read(cells, series, assert_series):
    with reading_apart():
        assert_series(read_sequences(cells), series)
        with pytest.raises(InputError, match=r"bad\.mat cannot be read"):
            read_sequences(spoil(cells))
        assert_series(read_sequences(cells), series)


def serving(monkeypatch, body):
    """Let the other process read by some lines of code, in which `arguments` are what the reader was given."""
    lines = "\n".join(f"    {line}" for line in ["import os, time", *body.splitlines()])
    code = f"def read(what, path, arguments):\n{lines}\nfrom homothety.datasets.readers import apart\napart.serve(read)"
    boot = "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); exec(" + repr(code) + ")"
    monkeypatch.setattr(apart, "_BOOT", boot)


GOOD = """
import numpy
from homothety.datasets.sets import MatrixSet
return MatrixSet(numpy.ones((1, 2, 2)), **arguments)
"""


def read(path, **arguments):
    reader = Reader()
    try:
        return reader.read("matrices", path, (), arguments)
    finally:
        reader.close()


@pytest.fixture
def file(tmp_path):
    (tmp_path / "set.x").write_bytes(b"0" * 100)
    return tmp_path / "set.x"


def test_parts_come_back_as_they_were(monkeypatch, file):
    serving(monkeypatch, GOOD)
    labels = np.array([None], dtype=object)
    grid, positions = (2, 3), np.array([[1, 2]])
    found = read(file, labels=labels, name="démo\udcff", grid=grid, positions=positions, affine=None)
    assert (found.labels.tolist(), found.name, found.grid) == ([None], "démo\udcff", grid)
    np.testing.assert_array_equal(found.positions, positions)


@pytest.mark.parametrize(
    "body",
    [
        "os.kill(os.getpid(), 11)",
        "os._exit(0)",
        "os.write(9, b'x')" if os.name == "nt" else "os.abort()",
        "raise ZeroDivisionError",
        "return 3",
    ],
)
def test_every_end_of_the_other_process_is_one_line(monkeypatch, file, body):
    serving(monkeypatch, body)
    with pytest.raises(InputError, match=r"set\.x cannot be read: the program for such files crashed"):
        read(file)


def test_a_reader_that_hangs_is_ended(monkeypatch, file):
    serving(monkeypatch, "time.sleep(1000)")
    monkeypatch.setattr(apart, "SECONDS", 0.5)
    with pytest.raises(InputError, match=r"set\.x cannot be read: the program for such files took more than 1 s|0 s"):
        read(file)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited on Linux alone")
def test_memory_is_limited(monkeypatch, file):
    serving(monkeypatch, "x = bytearray(10**9)\n" + GOOD)
    with memory_limit("200M"), pytest.raises(InputError, match=r"more than 200\.0 MB of memory"):
        read(file)
    with memory_limit("2G"):
        assert len(read(file)) == 1


def message(value):
    buffer = io.BytesIO()
    apart._send(buffer, value)
    return buffer.getvalue()


def test_an_answer_larger_than_the_limit_is_not_taken():
    content = message({"x": np.zeros(1000)})
    assert len(apart._receive(io.BytesIO(content), 8000)["x"]) == 1000
    with pytest.raises(ValueError, match="an array of float64"):
        apart._receive(io.BytesIO(content), 7999)


@pytest.mark.parametrize("n_bytes", [0, 7, 8, 20, 100])
def test_an_answer_that_is_cut_short_is_noticed(n_bytes):
    with pytest.raises(EOFError):
        apart._receive(io.BytesIO(message({"x": np.zeros(1000)})[:n_bytes]), 8000)


@pytest.mark.parametrize(
    "answer",
    [
        {"set": "Popen", "fields": {}, "warnings": []},
        {"set": "MatrixSet", "fields": {"matrices": "x"}, "warnings": []},
        {"error": "SystemExit", "text": "x", "warnings": []},
        {"error": "HomothetyWarning", "text": "x", "warnings": []},
        [],
        {},
    ],
)
def test_a_forged_answer_is_bad_input(answer, file):
    with pytest.raises(InputError):
        apart._outcome(answer, file, 10**9)


def test_an_interrupt_ends_the_other_process(monkeypatch, file):
    serving(monkeypatch, "time.sleep(1000)")
    reader = Reader()
    timer = threading.Timer(2.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        reader.read("matrices", file, (), {})
    assert reader._process is None
    assert time.monotonic() - began < 60
    timer.join()


def test_errors_of_readers_pass_as_they_are(cells):
    with pytest.raises(InputError, match=r"good\.mat has no variable 'other'\. It holds data \(1, 3\)"):
        read_sequences(cells, variable="other")
    with pytest.raises(InputError, match=r"good\.mat holds data \(1, 3\); needed exactly one variable"):
        read_matrices(cells)


def test_lengths_and_columns_of_all_kinds_are_understood(tmp_path, rng):
    savemat(tmp_path / "one.mat", {"X": rng.normal(size=(9, 3))})
    for lengths, columns in (([4, 5], (0, 2)), (np.array([4, 5]), np.array([0, 2]))):
        found = read_sequences(tmp_path / "one.mat", lengths=lengths, columns=columns)
        assert [one.shape for one in found.sequences] == [(4, 2), (5, 2)]


def test_files_are_found_from_the_folder_of_the_moment(cells, series, assert_series, monkeypatch, tmp_path):
    with reading_apart():
        read_sequences(cells)
        monkeypatch.chdir(tmp_path)
        assert_series(read_sequences("good.mat"), series)
