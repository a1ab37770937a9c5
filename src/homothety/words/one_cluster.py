"""Whether there is anything to find: the probability of one cluster in one sentence."""

from __future__ import annotations

from typing import Any

LIKELY, POSSIBLE = 0.5, 0.05


def one_cluster_in_words(model: Any) -> str:
    """Return how probable it is that all items are one cluster; nothing for models that do not say.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> one_cluster_in_words(SimpleNamespace(one_cluster_probability_=0.98))
    'There is nothing to separate: all matrices are one cluster with a probability of 0.98.'
    >>> one_cluster_in_words(SimpleNamespace(one_cluster_probability_=0.0))
    'There is more than one cluster: the probability of a single cluster is below 0.01.'
    """
    probability = getattr(model, "one_cluster_probability_", None)
    if probability is None:
        return ""
    told = f"{probability:.2f}" if probability >= 0.01 else "below 0.01"
    if probability >= LIKELY:
        return f"There is nothing to separate: all matrices are one cluster with a probability of {told}."
    if probability >= POSSIBLE:
        return f"All matrices may be one cluster: the probability of a single cluster is {told}."
    return f"There is more than one cluster: the probability of a single cluster is {told}."
