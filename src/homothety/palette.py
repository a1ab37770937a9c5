"""Colours, markers, hatches and lines of clusters, the same in all figures and pages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from homothety.errors import InputError

if TYPE_CHECKING:
    from matplotlib.typing import LineStyleType

    from homothety.arrays import FloatArray

Aspect: TypeAlias = Literal["equal", "auto"]
"""Whether all dimensions are drawn to one scale, or each fills the picture."""

# The first eight are the palette of Okabe and Ito (2008), made for colour-blind readers, with black moved from the
# first place to the last because axes and text are black too. The others were chosen one after the other, each as far
# as possible in Oklab from all before it, from white and from the grey below, as seen by normal, red-blind and
# green-blind eyes. No 40 colours can be told apart by all readers, which is what markers, hatches and styles are for.
_COLORS: Final = (
    *("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#000000"),
    *("#551111", "#000088", "#8800FF", "#AA0066", "#335500", "#00FFBB", "#553399", "#CC55FF"),
    *("#003344", "#33CC66", "#FFBBFF", "#0000DD", "#FF3366", "#DD00AA", "#330055", "#335566"),
    *("#995544", "#FF77DD", "#773344", "#775588", "#660066", "#AA0000", "#8877CC", "#FFAA88"),
    *("#8800BB", "#2288EE", "#88AA88", "#6655DD", "#888844", "#BBCC33", "#77DDDD", "#667788"),
)
_UNASSIGNED_COLOR: Final = "#BBBBBB"
N_SAFE_COLORS: Final = 8  # beyond these, colour alone does not tell clusters apart
_MOST_STRETCH: Final = (
    10  # of the longest to the shortest dimension: beyond, one scale for all would leave the shortest flat
)

# Eleven markers and forty colours have no common divisor: 440 clusters pass before a pair comes back.
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
HATCHES: Final = (None, "////", "....", "\\\\\\\\", "xxxx", "----", "++++")
LINESTYLES: Final[tuple[LineStyleType, ...]] = ("solid", "dashed", "dashdot", "dotted")

# Parts of a cluster are shades of its colour: the share of black (negative) or white that is mixed in, as the colour
# itself is neither near white nor near black, near white, or near black. The shares are those with which the shades of
# the first eight colours are farthest apart in Oklab: two of one cluster by 0.13 for all eyes, all 32 by 0.05 for most.
_SHADES: Final = (0.0, 0.55, -0.35, -0.65)
_SHADES_OF_LIGHT: Final = (0.0, -0.2, -0.4, -0.6)
_SHADES_OF_DARK: Final = (0.0, 0.2, 0.35, 0.5)


@dataclass(frozen=True)
class ClusterStyle:
    """What tells one cluster from the others; the hatch is None for the first eight."""

    color: str
    marker: str
    hatch: str | None
    linestyle: LineStyleType


_UNASSIGNED: Final = ClusterStyle(_UNASSIGNED_COLOR, ".", None, "solid")


def cluster_style(number: int) -> ClusterStyle:
    """Return how cluster `number` looks, however many clusters there are; -1 stands for items in none."""
    if number < 0:
        return _UNASSIGNED
    turn = number // N_SAFE_COLORS
    return ClusterStyle(
        _COLORS[number % len(_COLORS)],
        MARKERS[number % len(MARKERS)],
        HATCHES[turn % len(HATCHES)],
        LINESTYLES[turn % len(LINESTYLES)],
    )


def shade_style(style: ClusterStyle, rank: int) -> ClusterStyle:
    """Return how one part of a cluster looks, in a shade of its colour; part 0 looks like the cluster itself.

    After four parts the shades come again, with the next hatch and line style.
    """
    turn, place = divmod(rank, len(_SHADES))
    share = _shades_of(style.color)[place]
    red, green, blue = ((1 - abs(share)) * part + max(share, 0.0) for part in to_rgb(style.color))
    return replace(
        style,
        color=to_hex(red, green, blue),
        hatch=HATCHES[(HATCHES.index(style.hatch) + turn) % len(HATCHES)],
        linestyle=LINESTYLES[(LINESTYLES.index(style.linestyle) + turn) % len(LINESTYLES)],
    )


def _shades_of(color: str) -> tuple[float, ...]:
    lightness = _luma(*to_rgb(color))
    if lightness > 0.75:
        return _SHADES_OF_LIGHT
    return _SHADES_OF_DARK if lightness < 0.15 else _SHADES


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


def to_rgb(color: str) -> tuple[float, float, float]:
    """Return red, green and blue in [0, 1] of a colour written as ``#rrggbb``.

    Examples
    --------
    >>> to_rgb("#ff0033")
    (1.0, 0.0, 0.2)
    """
    red, green, blue = bytes.fromhex(color.removeprefix("#"))
    return red / 255, green / 255, blue / 255


def to_hex(red: float, green: float, blue: float) -> str:
    """Return a colour as ``#rrggbb``; the parts are in [0, 1]."""
    return f"#{bytes(round(255 * part) for part in (red, green, blue)).hex()}"


def darkened(color: str) -> tuple[float, float, float]:
    """Return a colour for the edge of something filled with the given one; it keeps yellow visible on white."""
    red, green, blue = to_rgb(color)
    return red / 2, green / 2, blue / 2


def contrasting(red: float, green: float, blue: float) -> str:
    """Return black or white, whichever is easier to read on a colour."""
    return "black" if _luma(red, green, blue) > 0.5 else "white"


def _luma(red: float, green: float, blue: float) -> float:
    """Return how light a colour looks, from 0 to 1."""
    return 0.299 * red + 0.587 * green + 0.114 * blue


def aspect_of(points: FloatArray) -> Aspect:
    """Return whether dimensions can be drawn to one scale, so that turned copies look like it."""
    extents = np.ptp(points, axis=0)
    return "equal" if extents.max() <= _MOST_STRETCH * extents.min() else "auto"
