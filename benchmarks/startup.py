"""How long the first import and the first fit take, each in a fresh interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

IMPORT = "import time; start = time.perf_counter(); import homothety; print(time.perf_counter() - start)"
FIT = """
import time
from homothety import SPCMMixture
from homothety.datasets import make_toy_6d

matrices = make_toy_6d(random_state=0).matrices
start = time.perf_counter()
SPCMMixture(n_sweeps=200, random_state=0).fit(matrices)
print(time.perf_counter() - start)
"""


def run() -> dict[str, float]:
    """Return seconds by what was timed."""
    with tempfile.TemporaryDirectory() as cache:
        return {
            "`import homothety`": in_fresh_interpreter(IMPORT, cache),
            "first fit after install, compiling": in_fresh_interpreter(FIT, cache),
            "first fit in a new process, compiled code from the cache": in_fresh_interpreter(FIT, cache),
        }


def in_fresh_interpreter(code: str, cache: str) -> float:
    """Run code that prints seconds, with compiled kernels cached in a folder of its own."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout)


if __name__ == "__main__":
    for name, value in run().items():
        print(f"{value:8.3f} s  {name}")
