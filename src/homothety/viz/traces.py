"""Traces of chains: a number for every sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from homothety.errors import InputError
from homothety.viz._figures import axes_or_new, legend_beside, panels_or_new

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray

_FIGSIZE = (7.0, 2.8)
_PANEL_HEIGHT = 1.7
# Chains are no clusters, so theirs are not the clusters' colours in order; yellow is left out, a line has no edge.
_CHAIN_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_BURN_COLOR = "#E4E4E4"

# What `plot_traces` draws by itself, in this order, and what the vertical axes say.
_QUANTITIES = {
    "log_joint": "log joint",
    "n_clusters": "clusters",
    "n_states": "states",
    "n_actions": "actions",
    "seconds": "seconds per sweep",
}


def plot_trace(
    traces: Iterable[ArrayLike],
    *,
    n_burn: int = 0,
    quantity: str = "log joint",
    log: bool = False,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw a quantity that was traced once per sweep, of one or several chains.

    Parameters
    ----------
    traces : array-like of shape (n_chains, n_sweeps) or (n_sweeps,), or list of arrays
        Chains may differ in length. NaN and infinite values are left out.
    n_burn : int, default=0
        Length of the burn-in, which is shaded.
    quantity : str, default="log joint"
        What the numbers are, along the vertical axis.
    log : bool, default=False
        Whether the vertical axis is logarithmic, if there is any number above zero to put on it.
    legend : bool, default=True
        Whether to name chains and burn-in, beside the Axes.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes
        Sweeps count from 1.

    Examples
    --------
    >>> ax = plot_trace([[3, 2, 2], [4, 3, 2]], n_burn=1, quantity="clusters")
    >>> len(ax.lines)
    2
    """
    chains = _check_chains(traces)
    n_sweeps = max(map(len, chains))
    if not 0 <= n_burn <= n_sweeps:
        raise InputError(f"n_burn is {n_burn}, needed 0 to {n_sweeps}, the number of sweeps.")
    ax = axes_or_new(ax, _FIGSIZE)
    # Counts are drawn in steps, because there is nothing between them.
    whole = all(np.array_equal(chain, np.round(chain), equal_nan=True) for chain in chains)
    handles: list[Artist] = []
    for number, chain in enumerate(chains):
        (line,) = ax.plot(np.arange(1, len(chain) + 1), chain, linewidth=1.0, label=f"chain {number}")
        line.set(color=_CHAIN_COLORS[number % len(_CHAIN_COLORS)], drawstyle="steps-mid" if whole else "default")
        line.set_marker("o" if len(chain) == 1 else "none")
        handles.append(line)
    if not 1 < len(chains) <= len(_CHAIN_COLORS):
        handles.clear()  # one chain needs no name, and many cannot be distinguished
    if n_burn:
        ax.axvspan(0.5, n_burn + 0.5, color=_BURN_COLOR, zorder=0, linewidth=0)
        handles.append(Patch(color=_BURN_COLOR, label="burn-in"))
    if log and any((chain > 0).any() for chain in chains):
        ax.set_yscale("log")
    elif whole:
        ax.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    ax.set(xlabel="sweep", ylabel=quantity, xlim=(0.5, n_sweeps + 0.5))
    legend_beside(ax, handles if legend else [])
    return ax


def plot_traces(
    traces: Mapping[str, Iterable[ArrayLike]],
    n_burn: int = 0,
    *,
    axes: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw the log joint, the numbers of clusters, states and actions, and the time of each sweep, in one panel each.

    Parameters
    ----------
    traces : mapping of str to array-like of shape (n_chains, n_sweeps)
        Traced quantities by name, such as `trace_` of a fitted estimator. Those called "log_joint", "n_clusters",
        "n_states", "n_actions" and "seconds" are drawn; if there are none of them, all are.
    n_burn : int, default=0
        Length of the burn-in, which is shaded.
    axes : sequence of Axes, optional
        Where to draw, one for each quantity; by default on a new figure.

    Returns
    -------
    axes : list of Axes
    """
    labels = {name: label for name, label in _QUANTITIES.items() if name in traces}
    labels = labels or {name: name.replace("_", " ") for name in traces}
    if not labels:
        raise InputError("traces is empty, needed at least one traced quantity, such as 'log_joint'.")
    is_new, figsize = axes is None, (_FIGSIZE[0], _PANEL_HEIGHT * len(labels) + 0.5)
    axes = panels_or_new(axes, labels, figsize, stacked=True, sharex=True)
    if is_new:
        axes[0].figure.align_ylabels(axes)
    for ax, (name, label) in zip(axes, labels.items(), strict=True):
        # A first sweep that had to compile takes a thousand times as long as the others.
        plot_trace(traces[name], n_burn=n_burn, quantity=label, log=name == "seconds", legend=ax is axes[0], ax=ax)
        if is_new and ax is not axes[-1]:
            ax.set_xlabel("")
    return axes


def _check_chains(traces: Iterable[ArrayLike]) -> list[FloatArray]:
    """Return one array of finite numbers and NaN per chain, or raise."""
    chains = [np.array(chain, dtype=np.float64) for chain in traces]
    if all(chain.ndim == 0 for chain in chains):
        chains = [np.array(chains)]  # a single chain
    for number, chain in enumerate(chains):
        if chain.ndim != 1 or chain.size == 0:
            raise InputError(f"traces[{number}] has shape {chain.shape}, needed (n_sweeps,) with at least one sweep.")
        chain[~np.isfinite(chain)] = np.nan
    return chains
