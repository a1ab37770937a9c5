"""Small files to cluster, and the program run in this process."""

from __future__ import annotations

from functools import wraps
from typing import NamedTuple

import numpy as np
import pytest

from homothety.cli import main
from homothety.datasets import SequenceSet, make_demonstrations, make_toy_2d, make_toy_6d
from homothety.models import ordered
from homothety.models.shapes import moves as shapes_moves
from homothety.sampling.trace import Trace


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
        try:
            status = main([str(arg) for arg in args])
        except SystemExit as stopped:  # as argparse ends a program
            status = stopped.code
        return Answer(status, *capsys.readouterr())

    return answer


@pytest.fixture
def toy():
    return make_toy_6d(0, n_per_class=4)


@pytest.fixture
def toy_file(tmp_path, toy):
    path = tmp_path / "toy.npz"
    np.savez(path, matrices=toy.matrices, labels=toy.labels)
    return path


def interrupting(monkeypatch, module, name):
    """Return a function that lets a move end in Ctrl-C once, after so many sweeps of all chains."""
    move = getattr(module, name)

    def arm(n_sweeps: int) -> None:
        calls = iter(range(10**6))

        @wraps(move)  # a checkpoint knows moves by name
        def interrupted(*arguments):
            if next(calls) == n_sweeps:
                raise KeyboardInterrupt
            return move(*arguments)

        monkeypatch.setattr(module, name, interrupted)

    return arm


@pytest.fixture
def interrupt_after(monkeypatch):
    """Return a function that interrupts a clustering after so many sweeps of all chains."""
    return interrupting(monkeypatch, shapes_moves, "resample_labels")


@pytest.fixture
def interrupt_ordered_after(monkeypatch):
    """Return a function that interrupts a clustering of many matrices, or of an image with its neighbours."""
    return interrupting(monkeypatch, ordered, "resample_links")


@pytest.fixture
def interrupt_segmentation_after(monkeypatch):
    """Return a function that interrupts a segmentation after so many sweeps of all chains, without short runs."""
    return interrupting(monkeypatch, Trace, "add")


@pytest.fixture(scope="session")
def recordings() -> SequenceSet:
    return make_toy_2d(0, n_steps=40)


@pytest.fixture(scope="session")
def demonstrations() -> SequenceSet:
    """Return three short demonstrations of three actions, each in a frame of its own."""
    made = make_demonstrations(1, n_per_frame=1)
    thinned = [one[::4] for one in made.sequences]
    return SequenceSet(thinned, names=("a", "b", "c"), channels=made.channels)


@pytest.fixture
def series_file(tmp_path, recordings):
    path = tmp_path / "demos.npz"
    lengths = [len(one) for one in recordings.sequences]
    np.savez(path, X=np.concatenate(recordings.sequences), lengths=lengths, channels=["left", "right"])
    return path
