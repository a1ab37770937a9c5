"""Small pieces of text: counts, lists, ordinals, voxels, and the numbers of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.arrays import IntArray

Labels = TypeVar("Labels", int, "IntArray")

SURE = 0.9  # probability from which on something counts as sure: a segment, an item, two states being one action
AXES = "ijk"  # of an image
FIRST_CLUSTER = 1  # in files, figures and reports: 0 is the background of a label image


def cluster_number(label: Labels) -> Labels:
    """Return the number under which users see a cluster, or an array of labels.

    Parameters
    ----------
    label : int or ndarray of int
        As in `labels_`: from 0.

    Examples
    --------
    >>> cluster_number(0)
    1
    """
    return label + FIRST_CLUSTER


def voxel_in_words(position: IntArray) -> str:
    """Return the place of a voxel, counted from 0.

    Examples
    --------
    >>> voxel_in_words(np.array([12, 30, 7]))
    'voxel (12, 30, 7)'
    """
    return f"voxel ({', '.join(map(str, position.tolist()))})"


def enumerated(words: Sequence[str]) -> str:
    """Return words one after the other, with an "and" before the last.

    Examples
    --------
    >>> enumerated(["x", "y", "z"]), enumerated(["x"])
    ('x, y and z', 'x')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def number_of(count: int, thing: str) -> str:
    """Return a count and what is counted.

    Examples
    --------
    >>> number_of(1, "action"), number_of(3, "action")
    ('1 action', '3 actions')
    """
    return f"{count} {thing}{'s' * (count != 1)}"


def listed(labels: IntArray) -> str:
    """Return the different labels there are.

    Examples
    --------
    >>> listed(np.array([2, 0, 2, 2]))
    '0, 2'
    """
    return ", ".join(map(str, np.unique(labels)))


def ordinal(number: int) -> str:
    """Return a number as it is counted.

    Examples
    --------
    >>> [ordinal(number) for number in (2, 3, 11, 21)]
    ['2nd', '3rd', '11th', '21st']
    """
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
