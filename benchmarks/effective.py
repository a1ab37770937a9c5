"""Effective samples of the log joint per second, here and in an earlier state of the code, measured in turns.

``git worktree add ../earlier COMMIT``, then ``python -m benchmarks.effective ../earlier``: prints the table and writes
results/effective.md. It needs the paper's recordings and tensors (HOMOTHETY_DATA).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pages import write_result

ROOT = Path(__file__).resolve().parents[1]
N_SEEDS, N_CHAINS, N_SWEEPS = 5, 2, 600
SETS = {
    "grating": "actions in the grating recordings, `ICSCHMM()`",
    "dti": "synthetic diffusion tensors, SPCM-CRP mixture",
}


def sample(name: str, seed: int) -> dict[str, float]:
    """Return sweeps, effective samples and seconds of some chains after burn-in, all chains added up.

    The effective sizes are those of single chains: how fast a chain forgets, not whether chains have found the same.
    """
    from arviz import ess

    trace = fitted(name, seed).trace_
    kept = slice(N_SWEEPS // 2, None)
    sizes = [float(ess(chain[kept])) for chain in trace["log_joint"]]
    return {
        "sweeps": N_CHAINS * N_SWEEPS / 2,
        "ess": sum(sizes),
        "seconds": float(trace["seconds"][:, kept].sum()),
        "log_joint": float(trace["log_joint"][:, kept].mean()),
    }


def fitted(name: str, seed: int) -> Any:
    """Return a model of one of the sets: for the tensors the SPCM-CRP mixture, which earlier code has by default."""
    from homothety import ICSCHMM, SPCMMixture

    folder = Path(os.environ.get("HOMOTHETY_DATA", ROOT.parent / "shared" / "data"))
    settings = {"n_chains": N_CHAINS, "n_sweeps": N_SWEEPS, "n_burn": N_SWEEPS // 2, "random_state": seed}
    if name == "dti":
        return SPCMMixture(variant="published", **settings).fit(np.load(folder / "dti_synthetic.npz")["matrices"])
    archive = np.load(folder / "grating_7d.npz")
    return ICSCHMM(**settings).fit(archive["x"], lengths=archive["lengths"])


def sample_with(checkout: Path, name: str, seed: int) -> dict[str, float]:
    """Return what `sample` returns with the library as it is in a checkout, in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, name, str(seed)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(checkout.name, name, seed, result, flush=True)
    return result


def row(name: str, earlier: Path) -> list[str]:
    """Return the line of one set: sweeps and effective samples, before and now."""
    runs = [[sample_with(checkout, name, seed) for checkout in (earlier, ROOT)] for seed in range(N_SEEDS)]
    before, now = ({key: sum(run[side][key] for run in runs) for key in runs[0][0]} for side in (0, 1))
    rates = [side["ess"] / side["seconds"] for side in (before, now)]
    cells = [f"{1e3 * side['seconds'] / side['sweeps']:.2f}" for side in (before, now)]
    cells += [f"{side['ess'] / side['sweeps']:.3f}" for side in (before, now)]
    return [SETS[name], *cells, *(f"{rate:.2f}" for rate in rates), f"{rates[1] / rates[0]:.2f}"]


def page(rows: list[list[str]], commit: str) -> str:
    """Return the page as Markdown."""
    from homothety.phrases import markdown_table

    head = ("what", "ms a sweep, before", "now", "effective a sweep, before", "now", "a second, before", "now", "ratio")
    return "\n".join(
        [
            "# Effective samples per second",
            "",
            f"Written by `python -m benchmarks.effective EARLIER`, EARLIER being commit {commit} of this repository.",
            f"Of the log joint, {N_SEEDS} seeds of {N_CHAINS} chains of {N_SWEEPS} sweeps, the second half; both",
            "states of the code ran in turns. Effective sizes are those of single chains, added up. Tensors are",
            'clustered by the SPCM-CRP mixture, `SPCMMixture(variant="published")`.',
            "",
            markdown_table(head, rows),
            "",
        ]
    )


def main() -> None:
    """Measure both sets, print the table and write the page."""
    if sys.argv[1] in SETS:
        print(json.dumps(sample(sys.argv[1], int(sys.argv[2]))))
        return
    earlier = Path(sys.argv[1]).resolve()
    commit = subprocess.run(
        ["git", "-C", earlier, "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    text = page([row(name, earlier) for name in SETS], commit)
    print(text)
    write_result("effective.md", text)


if __name__ == "__main__":
    main()
