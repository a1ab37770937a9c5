"""`homothety check` on recordings with and without a fault."""

from __future__ import annotations

import json

import numpy as np
import pytest

from homothety.cli import main
from homothety.datasets import make_demonstrations


@pytest.fixture
def write(tmp_path):
    """Return a function that writes recordings as tables, one with an outlier if so asked, and returns their paths."""

    def write(outlier=None):
        parts = [one.copy() for one in make_demonstrations(0).sequences]
        if outlier is not None:
            parts[1][30, 2] = outlier
        paths = [tmp_path / f"demo_{i}.csv" for i in range(len(parts))]
        for path, one in zip(paths, parts, strict=True):
            np.savetxt(path, one, delimiter=",", header="x,y,z", comments="")
        return [str(path) for path in paths]

    return write


def test_clean_recordings_have_status_0(write, capsys):
    assert main(["check", *write()]) == 0
    assert capsys.readouterr().out.startswith("Nothing was found.\n\nLooked at 6 recordings, ")


def test_a_fault_is_printed_and_has_status_1(write, capsys):
    assert main(["check", *write(1000.0)]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("Recording 1 (demo_1): 1 outlier in channel z; the largest is 1000 at step 30, ")


def test_a_fault_as_json(write, capsys):
    assert main(["check", *write(1000.0), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    (finding,) = found["findings"]
    assert (finding["kind"], finding["recordings"], finding["channels"]) == ("outliers", ["demo_1"], ["z"])
    assert (found["recordings"], found["channels"]) == (6, 3)


def test_no_file_has_status_2(capsys):
    assert main(["check", "nothing.csv"]) == 2
    assert "nothing.csv" in capsys.readouterr().err
