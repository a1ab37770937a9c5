"""A run that kills itself at the n-th step of writing to disk. Usage: killed_walk.py FOLDER N N_CHAINS."""

from __future__ import annotations

import os
import signal
import sys

from homothety import files
from homothety.sampling import Checkpoints
from walks import run_walks

STEPS = iter(range(1, 10**6))


class Mine:
    """The functions of `os` that writing a file goes through, each of which counts as a step before it is done."""

    name, O_RDONLY, open, close = os.name, os.O_RDONLY, staticmethod(os.open), staticmethod(os.close)

    @staticmethod
    def fsync(handle):
        blow_up()
        os.fsync(handle)

    @staticmethod
    def replace(source, target):
        blow_up()
        os.replace(source, target)


def blow_up():
    if next(STEPS) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    files.os = Mine
    run_walks(n_chains=int(sys.argv[3]), checkpoint=Checkpoints(sys.argv[1], every_sweeps=5))
