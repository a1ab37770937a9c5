"""The number of a cluster in files, figures and reports: from 1, because 0 is the background of a label image."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from homothety.arrays import IntArray

Labels = TypeVar("Labels", int, "IntArray")

FIRST_CLUSTER = 1


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
