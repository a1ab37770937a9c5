"""`make chaos`: runs that are killed at any moment, or whose disk is full, go on to the very results of a whole run.

Each attempt begins a command, does it harm, and lets `homothety resume` end it. What it leaves is compared with a run
that nobody harmed, bit by bit.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import homothety
from homothety.datasets import make_demonstrations, make_toy_2d, make_toy_6d

if TYPE_CHECKING:
    from collections.abc import Callable

TABLES = ("labels.csv", "segments.csv", "action_segments.csv", "transforms.csv", "frames.csv")
PATIENCE = 600.0  # seconds until a command counts as hanging
# As the command line does it, but with a checkpoint whenever a twentieth of a second has passed.
PROGRAM = (
    "import sys; from homothety.cli import runs, main; runs.EVERY_SECONDS = 0.05; {limits}sys.exit(main(sys.argv[1:]))"
)
SMALL_DISK = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({n_bytes}, {n_bytes})); "


class HarmError(Exception):
    """Results are lost, or others than those of a run that nobody harmed."""


def write_data(folder: Path) -> dict[str, list[str]]:
    """Write data, and return the commands to harm, by name."""
    np.save(folder / "set.npy", make_toy_6d(0, n_per_class=6).matrices)
    toy = make_toy_2d(0, n_steps=60).sequences[:3]
    np.savez(folder / "toy.npz", **{f"r{i}": one for i, one in enumerate(toy)})
    turned = [one[::4] for one in make_demonstrations(1, n_per_frame=1).sequences]
    np.savez(folder / "turned.npz", **{f"r{i}": one for i, one in enumerate(turned)})
    return {
        "clusters": ["cluster", "set.npy", "--chains", "2", "--sweeps", "60"],
        "segments": ["segment", "toy.npz", "--model", "icsc", "--chains", "2", "--sweeps", "30"],
        "frames": ["segment", "turned.npz", "--chains", "2", "--sweeps", "12"],
    }


def begin(words: list[str], folder: Path, limits: str = "") -> subprocess.Popen[str]:
    """Begin a command in a folder."""
    command = [sys.executable, "-c", PROGRAM.format(limits=limits), *words]
    here = {"PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path if path)}  # this very library
    return subprocess.Popen(
        command, cwd=folder, env=os.environ | here, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def finish(words: list[str], folder: Path, output: str) -> None:
    """Bring a run to its end: go on with it, or begin if it has not come so far that it can be gone on with."""
    started = (folder / output / "run.json").exists()
    process = begin(["resume", output] if started else [*words, "-o", output], folder)
    _, err = process.communicate(timeout=PATIENCE)
    if process.returncode:
        raise HarmError(f"cannot be brought to an end: {err.strip()[-300:]}")


def digest(output: Path) -> str:
    """Return what tells the results of a run from others; times are left out."""
    found = hashlib.sha256()
    for name in TABLES:
        if (output / name).exists():
            found.update(name.encode() + (output / name).read_bytes())
    model = homothety.load(output / "model.homothety")
    for name in sorted(model.trace_):
        if name != "seconds":
            found.update(name.encode() + model.trace_[name].tobytes())
    return found.hexdigest()


def unfinished_in(output: Path) -> list[str]:
    """Return files that were left half-written."""
    return [path.name for path in output.rglob(".part-*")]


# --- kinds of harm ----------------------------------------------------------------------------------------------------


def kill(words: list[str], folder: Path, rng: np.random.Generator, seconds: float) -> str:
    """Kill the command up to three times, at random moments from its start to after its end."""
    told = []
    for _ in range(int(rng.integers(1, 4))):
        number = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[rng.integers(4)]
        started = (folder / "out" / "run.json").exists()
        process = begin(["resume", "out"] if started else [*words, "-o", "out"], folder)
        after = float(rng.uniform(0, 1.1 * seconds))
        time.sleep(after)
        process.send_signal(number)
        process.communicate(timeout=PATIENCE)
        told.append(f"{number.name} after {after:.2f} s")
    return ", ".join(told)


def fill_disk(words: list[str], folder: Path, rng: np.random.Generator, seconds: float) -> str:
    """Let no file be longer than a few bytes or kilobytes, which a full disk looks like to whoever writes."""
    n_bytes = int(10 ** rng.uniform(0, 5.5))
    process = begin([*words, "-o", "out"], folder, SMALL_DISK.format(n_bytes=n_bytes))
    _, err = process.communicate(timeout=PATIENCE)
    _check_answer(process.returncode, err, (0, 2))
    return f"files of {n_bytes} bytes at most"


def lock_folder(words: list[str], folder: Path, rng: np.random.Generator, seconds: float) -> str:
    """Let nothing be written to the folder of the results."""
    locked = folder / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    output = "/proc/nowhere" if os.geteuid() == 0 else "locked/out"  # nothing is locked for root
    process = begin([*words, "-o", output], folder)
    _, err = process.communicate(timeout=PATIENCE)
    _check_answer(process.returncode, err, (2,))
    return "read-only folder"


def run_twice(words: list[str], folder: Path, rng: np.random.Generator, seconds: float) -> str:
    """Begin the command twice, the second time while the first is at work, in one folder."""
    first = begin([*words, "-o", "out"], folder)
    after = float(rng.uniform(0, seconds))
    time.sleep(after)
    second = begin([*words, "-o", "out"], folder)
    for process in (first, second):
        _, err = process.communicate(timeout=PATIENCE)
        _check_answer(process.returncode, err, (0, 2))
    return f"a second process after {after:.2f} s"


HARMS: dict[str, Callable[[list[str], Path, np.random.Generator, float], str]] = {
    "kill": kill,
    "full disk": fill_disk,
    "read-only folder": lock_folder,
    "two processes": run_twice,
}
SHARES = (0.7, 0.12, 0.03, 0.15)


def _check_answer(status: int, err: str, expected: tuple[int, ...]) -> None:
    """Raise unless a command has answered in one line of its own, besides notes."""
    if status not in expected or "Traceback" in err:
        raise HarmError(f"exit status {status}: {err.strip()[-600:]}")
    if status and sum(line.startswith("homothety: ") for line in err.splitlines()) != 1:
        raise HarmError(f"not one line: {err.strip()[-300:]}")


def chaos(n_attempts: int, seed: int, only: str = "") -> int:
    """Do harm many times, print what came of it, and return how often results were lost or changed."""
    rng, failures = np.random.default_rng(seed), 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        commands = write_data(folder)
        wholes: dict[str, tuple[str, float]] = {}
        for name, words in commands.items():
            finish(words, folder, f"whole-{name}")  # compiles what is to be compiled
            began = time.monotonic()
            finish(words, folder, f"again-{name}")
            wholes[name] = digest(folder / f"again-{name}"), time.monotonic() - began
            if digest(folder / f"whole-{name}") != wholes[name][0]:
                raise HarmError(f"two whole runs of {name} differ")
            print(f"{name}: {wholes[name][1]:.1f} s", flush=True)
        kinds = [kind for kind in HARMS if only in kind]
        shares = np.array([share for kind, share in zip(HARMS, SHARES, strict=True) if kind in kinds])
        for number in range(n_attempts):
            name = list(commands)[rng.integers(len(commands))]
            harm = kinds[rng.choice(len(kinds), p=shares / shares.sum())]
            shutil.rmtree(folder / "out", ignore_errors=True)
            shutil.rmtree(folder / "locked", ignore_errors=True)
            told = harm
            try:
                told = HARMS[harm](commands[name], folder, rng, wholes[name][1])
                finish(commands[name], folder, "out")
                if digest(folder / "out") != wholes[name][0]:
                    raise HarmError("other results")
                if left := unfinished_in(folder / "out"):
                    raise HarmError(f"left behind: {left}")
            except (HarmError, subprocess.TimeoutExpired) as error:
                failures += 1
                print(f"FAULT {number} {name}, {told}: {error}", flush=True)
    print(f"seed {seed}: {n_attempts - failures} of {n_attempts} harmed runs came to the same bits")
    return failures
