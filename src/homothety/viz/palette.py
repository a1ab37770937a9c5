"""How a cluster looks: one colour, marker, hatch and line style for each cluster number, the same in every picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.colors import to_rgb

from homothety.errors import InputError

if TYPE_CHECKING:
    from matplotlib.typing import LineStyleType

    from homothety.arrays import FloatArray

# The first eight are the palette of Okabe and Ito (2008), made for colour-blind readers, with black moved from the
# first place to the last because axes and text are black too. The others were chosen one after the other, each as far
# as possible in Oklab from all before it, from white and from the grey below, as seen by normal, red-blind and
# green-blind eyes. No 40 colours can be told apart by all readers, which is what markers, hatches and styles are for.
COLORS: Final = (
    *("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#000000"),
    *("#551111", "#000088", "#8800FF", "#AA0066", "#335500", "#00FFBB", "#553399", "#CC55FF"),
    *("#003344", "#33CC66", "#FFBBFF", "#0000DD", "#FF3366", "#DD00AA", "#330055", "#335566"),
    *("#995544", "#FF77DD", "#773344", "#775588", "#660066", "#AA0000", "#8877CC", "#FFAA88"),
    *("#8800BB", "#2288EE", "#88AA88", "#6655DD", "#888844", "#BBCC33", "#77DDDD", "#667788"),
)
UNASSIGNED_COLOR: Final = "#BBBBBB"
N_SAFE_COLORS: Final = 8  # beyond these, colour alone does not tell clusters apart

# Eleven markers and forty colours have no common divisor: 440 clusters pass before a pair comes back.
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
HATCHES: Final = (None, "////", "....", "\\\\\\\\", "xxxx", "----", "++++")
LINESTYLES: Final[tuple[LineStyleType, ...]] = ("solid", "dashed", "dashdot", "dotted")


@dataclass(frozen=True)
class ClusterStyle:
    """What tells one cluster from the others; the hatch is None for the first eight."""

    color: str
    marker: str
    hatch: str | None
    linestyle: LineStyleType


UNASSIGNED: Final = ClusterStyle(UNASSIGNED_COLOR, ".", None, "solid")


def cluster_style(number: int) -> ClusterStyle:
    """Return how cluster `number` looks, however many clusters there are; -1 stands for items in none."""
    if number < 0:
        return UNASSIGNED
    turn = number // N_SAFE_COLORS
    return ClusterStyle(
        COLORS[number % len(COLORS)],
        MARKERS[number % len(MARKERS)],
        HATCHES[turn % len(HATCHES)],
        LINESTYLES[turn % len(LINESTYLES)],
    )


def cluster_colors(n_clusters: int) -> FloatArray:
    """Return the colours of clusters 0, 1, ..., as red, green and blue in [0, 1].

    Parameters
    ----------
    n_clusters : int

    Returns
    -------
    colors : ndarray of shape (n_clusters, 3)
        A cluster's colour does not depend on how many there are. The first eight suit colour-blind readers; after 40
        they repeat.

    Examples
    --------
    >>> cluster_colors(2).round(2)
    array([[0.9 , 0.62, 0.  ],
           [0.34, 0.71, 0.91]])
    """
    if n_clusters < 0:
        raise InputError(f"n_clusters is {n_clusters}, needed 0 or more.")
    return np.array([to_rgb(cluster_style(number).color) for number in range(n_clusters)]).reshape(n_clusters, 3)


def darkened(color: str) -> tuple[float, float, float]:
    """Return a colour for the edge of something filled with the given one; it keeps yellow visible on white."""
    red, green, blue = to_rgb(color)
    return red / 2, green / 2, blue / 2


def contrasting(red: float, green: float, blue: float) -> str:
    """Return black or white, whichever is easier to read on a colour."""
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
