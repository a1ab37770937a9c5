"""Fixtures every test can use."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


def shared_data_folder() -> Path:
    """Folder of the paper's own data sets: HOMOTHETY_DATA, or beside the repository."""
    return Path(os.environ.get("HOMOTHETY_DATA", REPOSITORY.parent / "shared" / "data"))


@pytest.fixture
def rng():
    return np.random.default_rng(20260101)


@pytest.fixture
def shared_data():
    """Return a function that loads one of the paper's data files, or skips the test where it is absent."""

    def load(name: str):
        path = shared_data_folder() / name
        if not path.exists():
            pytest.skip(f"{name} is not here: set HOMOTHETY_DATA to the folder of the paper's data")
        with np.load(path, allow_pickle=False) as archive:
            return dict(archive)

    return load


@pytest.fixture
def interpret(monkeypatch):
    """Return a function that runs the kernels of a module as plain Python, also where they call each other.

    Compiled code would not see that a kernel or a constant is exchanged.
    """

    def patch(module, **constants):
        for name, kernel in list(vars(module).items()):
            if hasattr(kernel, "py_func"):
                monkeypatch.setattr(module, name, kernel.py_func)
        for name, value in constants.items():
            monkeypatch.setattr(module, name, value)

    return patch


@pytest.fixture(autouse=True, scope="session")
def _interrupts_are_heard():
    """Let Ctrl-C be heard in tests of it: shells start commands in the background with interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
