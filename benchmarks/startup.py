"""How long the first import, the first fit and the first commands take, each in a fresh interpreter.

What is compiled goes to a folder of its own, which is empty at first. Wall time and the processor time of all threads
differ: on a busy machine the first is longer, with several cores it can be shorter.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from homothety.datasets import make_demonstrations, make_dti

IMPORT = "import homothety"
FIT = """
from homothety import SPCMMixture
from homothety.datasets import make_toy_6d

SPCMMixture(n_sweeps=200, random_state=0).fit(make_toy_6d(random_state=0).matrices)
"""
COMMAND = "import sys; from homothety.cli import main; sys.exit(main(sys.argv[1:]))"


class Times(NamedTuple):
    """Seconds of one process."""

    wall: float
    processor: float


def run() -> dict[str, float]:
    """Return seconds by the clock by what was timed."""
    return {name: times.wall for name, times in run_all().items()}


def run_all() -> dict[str, Times]:
    """Return times by what was timed."""
    with tempfile.TemporaryDirectory() as folder:
        found = {"`import homothety`": in_fresh_interpreter(folder, "none", IMPORT)}
        for name, arguments in {"fit of `SPCMMixture`": [FIT], **commands(Path(folder))}.items():
            for kind in ("first", "second"):  # the first compiles
                found[f"{kind} {name}"] = in_fresh_interpreter(folder, name.split()[-1].strip("`"), *arguments)
        return found


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the commands to run, by name, on small sets that are written to a folder."""
    recordings = make_demonstrations(0, n_per_frame=1)
    np.savez(folder / "field.npz", matrices=make_dti((10, 10), random_state=0).matrices)
    (folder / "recordings").mkdir()
    for number, steps in enumerate(recordings.sequences):
        np.savetxt(folder / "recordings" / f"{number}.csv", steps, delimiter=",", header="x,y,z", comments="")
    inputs = {"segment": "recordings", "cluster": "field.npz"}
    return {
        f"`homothety {command}`": [COMMAND, command, str(folder / name), "-o", str(folder / f"{command}ed"), "--quiet"]
        for command, name in inputs.items()
    }


def in_fresh_interpreter(folder: str, cache: str, code: str, *arguments: str) -> Times:
    """Run code with compiled kernels cached in a folder of its own."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(Path(folder) / "cache" / cache)}
    before, started = processor_seconds(), perf_counter()
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, env=environment)
    return Times(perf_counter() - started, processor_seconds() - before)


def processor_seconds() -> float:
    """Return the processor time of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    print("  by the clock   processor")
    for name, times in run_all().items():
        print(f"{times.wall:12.1f} s {times.processor:9.1f} s  {name}")
