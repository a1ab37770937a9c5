"""How much faster chains are with two workers of a dask cluster than with one: ``python -m benchmarks.dask_speedup``.

Both are workers of one cluster on this machine, with a core each, so it needs two cores that nobody else uses. What is
sent, scheduled and gathered counts; what is compiled does not. Options: ``--sweeps`` of each chain, ``--steps`` of each
of eight series.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import TYPE_CHECKING

from distributed import Client, LocalCluster
from joblib import parallel_config
from numpy.random import SeedSequence

from benchmarks.segmentation import N_STATES, clustered, made
from benchmarks.timing import Row, print_rows, row, seconds
from homothety.models import ibphmm
from homothety.sampling import run_chains

if TYPE_CHECKING:
    from collections.abc import Sequence

N_CHAINS = 8
FLOOR = 1.7


def run(n_sweeps: int = 100, n_steps: int = 2000) -> list[Row]:
    """Return the one comparison of this file."""
    model, state = clustered(made(n_steps=n_steps), N_STATES)

    def sample(client: Client, workers: Sequence[str], n_chains: int, n_sweeps: int) -> None:
        with parallel_config(backend="dask", client=client, workers=list(workers)):
            run_chains(
                model,
                state,
                ibphmm.default_sweep(),
                ibphmm.RECORDING,
                seed=SeedSequence(0),
                n_chains=n_chains,
                n_sweeps=n_sweeps,
                n_burn=n_sweeps - 1,
            )

    options = {"processes": True, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        both = sorted(client.nthreads())
        for worker in both:
            sample(client, [worker], n_chains=1, n_sweeps=2)
        one = seconds(lambda: sample(client, both[:1], N_CHAINS, n_sweeps))
        two = seconds(lambda: sample(client, both, N_CHAINS, n_sweeps))
    return [row(f"{N_CHAINS} chains of {n_sweeps} sweeps by two workers: by one worker", two, one, FLOOR)]


def main() -> None:
    """Measure, print, and fail if two workers are not worth it."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--sweeps", type=int, default=100)
    parser.add_argument("--steps", type=int, default=2000)
    args = parser.parse_args()
    rows = run(args.sweeps, args.steps)
    print_rows(rows)
    sys.exit(any(line["ratio"] < line["floor"] for line in rows))


if __name__ == "__main__":
    main()
