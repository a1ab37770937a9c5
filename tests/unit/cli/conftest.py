"""Small files to cluster, and the program run in this process."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
import pytest

from homothety.cli import main
from homothety.datasets import make_toy_6d
from homothety.models.ddcrp import moves
from homothety.sampling.diagnostics import require_arviz


class Answer(NamedTuple):
    """What the program left: exit status, and the text on both streams."""

    status: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line that says what was wrong."""
        (line,) = [line for line in self.err.splitlines() if line.startswith("homothety: ")]
        return line


@pytest.fixture
def run(capsys):
    """Return a function that runs the program with the given arguments."""

    def answer(*args) -> Answer:
        status = main([str(arg) for arg in args])
        return Answer(status, *capsys.readouterr())

    return answer


@pytest.fixture
def no_figures(monkeypatch):
    """Take matplotlib away: drawing is slow, and not what most tests are about."""
    require_arviz()  # which imports matplotlib itself, and has to be there before it is gone
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.fixture
def toy():
    return make_toy_6d(0, n_per_class=4)


@pytest.fixture
def toy_file(tmp_path, toy):
    path = tmp_path / "toy.npz"
    np.savez(path, matrices=toy.matrices, labels=toy.labels)
    return path


@pytest.fixture
def interrupt_after(monkeypatch):
    """Return a function that makes the given sweep, counted from 1 over all chains, end in Ctrl-C."""
    resample_links = moves.resample_links

    def arm(n_sweeps: int) -> None:
        calls = iter(range(1, 10**6))

        def interrupted(rng, model, state):
            if next(calls) > n_sweeps:
                raise KeyboardInterrupt
            return resample_links(rng, model, state)

        monkeypatch.setattr(moves, "resample_links", interrupted)

    return arm
