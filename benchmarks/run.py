"""Measure everything and write results/speed.md and results/figures/sweep_scaling.png: ``python -m benchmarks.run``."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING

import numba
import numpy as np

import homothety
from benchmarks import sampler, similarity, startup
from benchmarks.pages import RESULTS, write_result
from benchmarks.timing import Row, print_rows

if TYPE_CHECKING:
    from pathlib import Path


def main() -> None:
    """Run all benchmarks, print them and write the page."""
    started = startup.run()
    rows = similarity.run() + sampler.run()
    times = sampler.scaling()
    plot_scaling(times, RESULTS / "figures" / "sweep_scaling.png")
    write_result("speed.md", page(rows, started, times))
    print_rows(rows)
    print(f"Sweep time grows as M^{sampler.exponent(times):.2f}. Wrote results/speed.md.")


def page(rows: list[Row], started: dict[str, float], times: dict[int, float]) -> str:
    """Return the page as Markdown."""
    return "\n".join(
        [
            "# Benchmarks",
            "",
            "Written by `make bench`. Both sides of a ratio are measured in the same run, so the machine cancels.",
            f"Measured with homothety {homothety.__version__}, Python {platform.python_version()}, "
            f"NumPy {np.__version__}, Numba {numba.__version__} on {os.cpu_count()} cores.",
            "",
            "| ours | reference | ratio | at least | reference is |",
            "| ---: | ---: | ---: | ---: | --- |",
            *(comparison(line) for line in rows),
            "",
            "| seconds | what |",
            "| ---: | --- |",
            *(f"| {value:.2f} | {name} |" for name, value in started.items()),
            "",
            "## A sweep against the number of matrices",
            "",
            "| matrices | milliseconds per steady sweep |",
            "| ---: | ---: |",
            *(f"| {n:,} | {value * 1e3:.2f} |" for n, value in times.items()),
            "",
            f"Time grows as M^{sampler.exponent(times):.2f}; reading every weight once would be M^2.",
            "",
            "![Time of a sweep against the number of matrices](figures/sweep_scaling.png)",
            "",
        ]
    )


def comparison(line: Row) -> str:
    """Return one line of the table of ratios."""
    times = f"{line['ours'] * 1e3:,.2f} ms | {line['reference'] * 1e3:,.1f} ms"
    return f"| {times} | {line['ratio']:,.1f} | {line['floor']:,.0f} | {line['name']} |"


def plot_scaling(times: dict[int, float], path: Path) -> None:
    """Draw measured times and a line of slope two."""
    from matplotlib.figure import Figure

    sizes, milliseconds = np.array(list(times)), 1e3 * np.array(list(times.values()))
    figure = Figure(figsize=(5.5, 3.6), layout="constrained")
    axes = figure.add_subplot(xlabel="matrices", ylabel="milliseconds per steady sweep")
    axes.loglog(sizes, milliseconds, "o-", color="#0072B2", label=f"measured, M^{sampler.exponent(times):.2f}")
    axes.loglog(sizes, milliseconds[0] * (sizes / sizes[0]) ** 2, "--", color="#999999", label="M^2")
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.minorticks_off()
    axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
