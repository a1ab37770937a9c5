"""From labels, however they come, to groups of items that know how they look."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from homothety.errors import InputError
from homothety.palette import ClusterStyle, cluster_style

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import BoolArray, IntArray

NONE = -1  # number of items that belong to no cluster
BLANK = -2  # number of places where there is no item


@dataclass(frozen=True, eq=False)
class Cluster:
    """The items of one cluster, in their order, and how they are drawn; the name is empty if there were no labels."""

    name: str
    members: IntArray
    style: ClusterStyle


def group_items(labels: ArrayLike | None, n_items: int, name: str = "labels") -> list[Cluster]:
    """Return the clusters of `n_items` items in the order of their labels, items in none last.

    Parameters
    ----------
    labels : array-like of shape (n_items,) or None
        See `number_labels`. None makes one nameless cluster of all items.
    n_items : int
    name : str
        What the messages call the labels.
    """
    if labels is None:
        return [Cluster("", np.arange(n_items), cluster_style(0))]
    if np.shape(labels) != (n_items,):
        raise InputError(f"{name} has shape {np.shape(labels)}, needed ({n_items},): one label for each item.")
    return group_numbers(*number_labels(labels, name))


def number_labels(labels: Any, name: str = "labels") -> tuple[IntArray, dict[int, str]]:
    """Return the number that decides how each item looks, and the names of the numbers.

    Parameters
    ----------
    labels : array-like
        Whole numbers from 0, which stand for themselves, so that a cluster looks the same wherever it is drawn; or
        anything else, such as strings, numbered by sorted order; strings of digits are sorted as numbers. In no cluster
        is what is -1, NaN, None or masked.
    name : str
        What the messages call the labels.

    Returns
    -------
    numbers : ndarray of the shape of `labels`
        Items in no cluster have -1.
    names : dict of int to str
    """
    missing, values = np.ma.getmaskarray(labels).copy(), np.asarray(np.ma.getdata(labels))
    if values.dtype.kind in "biuf":
        numbers = _whole_numbers(values, missing, name)
        return numbers, {int(number): str(number) for number in np.unique(numbers)}
    if values.dtype.kind == "O":
        missing |= np.array([value is None for value in values.flat]).reshape(values.shape)
    found, inverse = np.unique(values[~missing].astype(str), return_inverse=True)
    order = _order_of_names(found.tolist())
    numbers = np.full(values.shape, NONE, dtype=np.int64)
    numbers[~missing] = np.argsort(order)[inverse]
    return numbers, {number: str(found[place]) for number, place in enumerate(order)}


def _order_of_names(names: list[str]) -> list[int]:
    """Return the places of sorted names in the order of clusters: as numbers if all are, so that 2 is before 10."""
    places = range(len(names))
    return sorted(places, key=lambda place: int(names[place])) if all(map(str.isdecimal, names)) else list(places)


def _whole_numbers(values: NDArray[Any], missing: BoolArray, name: str) -> IntArray:
    """Return numeric labels as integers with -1 where they are missing, or raise naming the first that is no label."""
    missing = missing | np.isnan(values)
    wrong = ~missing & ((values != np.floor(values)) | (values < NONE) | np.isinf(values))
    if wrong.any():
        where = ", ".join(map(str, np.argwhere(wrong)[0]))
        raise InputError(
            f"{name}[{where}] is {values[wrong][0]}, needed whole numbers from 0 up, or -1 for items in no cluster. "
            "Round them or pass strings."
        )
    numbers = np.where(missing, 0, values).astype(np.int64)  # first to a type that has negative numbers
    numbers[missing] = NONE
    return numbers


def group_numbers(numbers: IntArray, names: dict[int, str]) -> list[Cluster]:
    """Return the clusters of numbered items in ascending order, those in none last; blank places are in no group.

    `members` index the flattened array.
    """
    order = np.argsort(numbers, axis=None, kind="stable")
    found, starts = np.unique(numbers.ravel()[order], return_index=True)
    groups = {int(number): members for number, members in zip(found, np.split(order, starts[1:]), strict=True)}
    clusters = [Cluster(names[number], groups[number], cluster_style(number)) for number in groups if number >= 0]
    if NONE in groups:
        clusters.append(Cluster("none", groups[NONE], cluster_style(NONE)))
    return clusters


def sorted_items(clusters: list[Cluster]) -> IntArray:
    """Return the items cluster by cluster, each cluster in its items' own order."""
    return np.concatenate([cluster.members for cluster in clusters])


def match_numbers(truth: IntArray, truth_names: dict[int, str], estimate: IntArray) -> tuple[IntArray, dict[int, str]]:
    """Return the true classes under the numbers of the clusters they share most items with, and their names.

    Classes without a cluster of their own get numbers that no cluster has.
    """
    classes, clusters = np.unique(truth[truth >= 0]), np.unique(estimate[estimate >= 0])
    both = (truth >= 0) & (estimate >= 0)
    overlaps = np.zeros((len(classes), len(clusters)), dtype=np.int64)
    np.add.at(overlaps, (np.searchsorted(classes, truth[both]), np.searchsorted(clusters, estimate[both])), 1)
    pairs = {int(classes[i]): int(clusters[j]) for i, j in zip(*linear_sum_assignment(-overlaps), strict=True)}
    unused = (number for number in count() if number not in clusters)
    new_numbers = {old: pairs[old] if old in pairs else next(unused) for old in classes.tolist()}
    matched = truth.copy()
    for old, new in new_numbers.items():
        matched[truth == old] = new
    return matched, {new: truth_names[old] for old, new in new_numbers.items()}
