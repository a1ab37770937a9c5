"""How states, actions and clusters look on a page: the palette of all pictures, as what JSON can hold."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from homothety.numbering import cluster_number
from homothety.palette import HATCHES, LINESTYLES, MARKERS, cluster_style, shade_style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.palette import ClusterStyle

LEGIBLE = (4, 5, 2, 6, 0, 1)  # places in the palette that are neither as light as paper nor as dark as ink


def cluster_looks(n_clusters: int) -> list[dict[str, Any]]:
    """Return how clusters look, in the order of their labels; their names count from 1."""
    return [look(str(cluster_number(label)), cluster_style(label)) for label in range(n_clusters)]


def action_looks(n_actions: int) -> list[dict[str, Any]]:
    """Return how actions look, or states without actions, by number."""
    return [look(str(number), cluster_style(number)) for number in range(n_actions)]


def state_looks(state_actions: Sequence[int]) -> list[dict[str, Any]]:
    """Return how states look, by number: as shades of the colour of their action."""
    ranks: Counter[int] = Counter()
    looks = []
    for state, action in enumerate(state_actions):
        looks.append(look(str(state), shade_style(cluster_style(action), ranks[action])) | {"of": action})
        ranks[action] += 1
    return looks


def chain_looks(n_chains: int) -> list[dict[str, Any]]:
    """Return how chains look, by number; their lines cross, so each has dashes of its own as well."""
    looks = [look(f"chain {number}", cluster_style(LEGIBLE[number % len(LEGIBLE)])) for number in range(n_chains)]
    return [one | {"dash": number % len(LINESTYLES)} for number, one in enumerate(looks)]


def look(name: str, style: ClusterStyle) -> dict[str, Any]:
    """Return a name and a style; hatches, lines and markers as places in their lists, which the script knows."""
    return {
        "name": name,
        "color": style.color,
        "hatch": HATCHES.index(style.hatch),
        "dash": LINESTYLES.index(style.linestyle),
        "marker": MARKERS.index(style.marker),
    }
