"""Many chains on several data sets, sweep by sweep: what both sampler tests have in common."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from matplotlib.figure import Figure

from homothety._version import __version__
from homothety.phrases import bullet_list, markdown_table
from homothety.viz import plot_trace
from paper.plan import AnySet, Effort, Outcomes, Report, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes

    from homothety.arrays import FloatArray
    from paper.sets import LabelledSet

Settings = TypeVar("Settings", bound=str)


class Timed(Protocol):
    """What a chain did, sweep by sweep."""

    @property
    def seconds(self) -> FloatArray:
        """Time of every sweep, (n_sweeps,)."""


def chain_tasks(
    sets: Sequence[AnySet],
    settings: Mapping[Settings, str],
    record: Callable[[AnySet, Settings, int, int], Any],
    effort: Effort,
) -> list[Task]:
    """Return every chain on every set under every settings; results are under the keys (set, settings).

    Parameters
    ----------
    sets : sequence of LabelledSet
    settings : mapping of str to str
        Titles of the settings by key.
    record : callable
        From set, settings, number of sweeps and seed to what is known of a chain.
    effort : Effort
    """
    return [
        Task(
            name=f"{one.title}, {title}",
            key=(one.key, key),
            run=partial(record, one, key, effort.sweeps, effort.seed + chain),
        )
        for one in sets
        for key, title in settings.items()
        for chain in range(effort.runs)
    ]


@dataclass(frozen=True)
class Layout:
    """How chains are reported.

    Parameters
    ----------
    name : str
        Of the figures.
    settings : mapping of str to str
        Titles of the settings by key.
    header : sequence of str
        Of the table.
    row : callable
        From a set, the title of the settings and the chains to a line of the table.
    quantities : mapping of str to str
        What is drawn: labels of the vertical axes by attribute of a chain.
    notes : sequence of str
    """

    name: str
    settings: Mapping[Any, str]
    header: Sequence[str]
    row: Callable[[Any, str, list[Any]], list[str]]
    quantities: Mapping[str, str]
    notes: Sequence[str]


def chains_report(layout: Layout, sets: Sequence[LabelledSet], effort: Effort, outcomes: Outcomes) -> Report:
    """Return a table with a line for each set and settings, and the traces as one figure per settings."""
    rows = [
        layout.row(one, title, outcomes[one.key, settings])
        for one in sets
        for settings, title in layout.settings.items()
    ]
    source = f"homothety {__version__}, {effort.runs} chains of {effort.sweeps} sweeps, seeds from {effort.seed}."
    return Report(
        markdown=f"{markdown_table(layout.header, rows)}\n\n{bullet_list([*layout.notes, source])}",
        figures={
            figure_name(layout.name, settings): partial(draw_chains, sets, settings, title, layout.quantities, outcomes)
            for settings, title in layout.settings.items()
        },
    )


def median_seconds(chains: Sequence[Timed]) -> tuple[float, float, float]:
    """Return the median time of a first sweep, of a later one, and of all sweeps of a chain."""
    seconds = np.stack([chain.seconds for chain in chains])
    later = seconds[:, 1:] if seconds.shape[1] > 1 else seconds
    return float(np.median(seconds[:, 0])), float(np.median(later)), float(np.median(seconds.sum(axis=1)))


def sweeps_to_settle(log_posterior: FloatArray) -> int:
    """Return after how many sweeps 99% of the rise to the level of the second half is done.

    Examples
    --------
    >>> sweeps_to_settle(np.array([-100.0, -50.0, 0.0, 0.0, 0.0, 0.0]))
    3
    """
    level = log_posterior[len(log_posterior) // 2 :].mean()
    reached = log_posterior >= level - 0.01 * abs(level - log_posterior[0])
    return int(reached.argmax()) + 1


def figure_name(name: str, settings: str) -> str:
    """Return the name of the figure of some settings: the default ones need no mention."""
    return name if settings == "default" else f"{name}-{settings}"


def draw_chains(
    sets: Sequence[LabelledSet], settings: str, title: str, quantities: Mapping[str, str], outcomes: Outcomes
) -> Figure:
    """Draw quantities of every sweep one above the other, one column per set.

    Parameters
    ----------
    sets, outcomes
        What was run.
    settings, title : str
        Key of the settings, and what to call them.
    quantities : mapping of str to str
        Labels of the vertical axes by attribute of a chain.
    """
    figure = Figure(figsize=(1 + 3.6 * len(sets), 2.5 * len(quantities)), layout="constrained")
    grid = figure.subplots(len(quantities), len(sets), sharex=True, squeeze=False)
    for one, column in zip(sets, grid.T, strict=True):
        column[0].set_title(one.heading)
        _draw_column(column, outcomes[one.key, settings], quantities)
    figure.suptitle(f"{len(outcomes[sets[0].key, settings])} chains, {title} settings")
    return figure


def _draw_column(axes: Sequence[Axes], chains: Sequence[Any], quantities: Mapping[str, str]) -> None:
    """Draw the traces of one set, one above the other."""
    for ax, (name, label) in zip(axes, quantities.items(), strict=True):
        traces = [getattr(chain, name) for chain in chains]
        plot_trace(traces, quantity=label, log=name == "seconds", legend=False, ax=ax)
        if name == "f_measure":
            lowest = min(float(trace.min()) for trace in traces)
            ax.set_ylim(np.floor(10 * min(lowest, 0.9)) / 10, 1.01)
        if ax is not axes[-1]:
            ax.set_xlabel("")
    axes[0].ticklabel_format(axis="y", useOffset=False)
    axes[-1].set_xscale("log")  # most happens in the first sweeps; the axes are shared
