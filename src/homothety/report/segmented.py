"""Segmented series as the page sees them, whichever model segmented them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.datasets import SequenceSet
from homothety.datasets.readers.checks import is_missing
from homothety.summaries.paths import segments_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from homothety.arrays import FloatArray, IntArray
    from homothety.report.runs import Run
    from homothety.summaries.paths import Segment

AXES = "xyz"


class Truth(NamedTuple):
    """Known labels as numbers, -1 for none, with their names and the labels found that most of their steps have."""

    paths: list[IntArray]
    names: list[str]
    likely: list[int]

    @classmethod
    def of(cls, known: list[NDArray[Any]], found: list[IntArray]) -> Truth:
        """Return labels of any kind, one array for each series, as numbers."""
        is_known = ~np.concatenate([is_missing(one) for one in known])
        texts = np.concatenate([one.astype(str) for one in known])[is_known]
        names, numbers = np.unique(texts, return_inverse=True)
        flat = np.concatenate(found)[is_known]
        likely = [int(np.bincount(flat[numbers == k]).argmax()) for k in range(len(names))]
        labels = np.full(len(is_known), -1)
        labels[is_known] = numbers
        return cls(np.split(labels, np.cumsum([len(one) for one in known])[:-1]), names.tolist(), likely)


@dataclass(frozen=True, eq=False)
class Segmented:
    """Series, their states and actions, and how sure these are; None for what the model does not know."""

    run: Run

    @property
    def model(self) -> Any:
        """What was fitted."""
        return self.run.model

    @property
    def segmenter(self) -> Any:
        """What knows about the states: the model, or its first stage."""
        return getattr(self.model, "segmenter_", self.model)

    @property
    def sequences(self) -> list[FloatArray] | None:
        """The recordings, if they are at hand."""
        return self.run.items.sequences if isinstance(self.run.items, SequenceSet) else None

    @property
    def names(self) -> tuple[str, ...]:
        """What the series are called."""
        return self.run.items.names if isinstance(self.run.items, SequenceSet) else tuple(self.segmenter.names_)

    @property
    def channels(self) -> list[str]:
        """What the dimensions of the recordings are called."""
        known = self.run.items.channels if isinstance(self.run.items, SequenceSet) else ()
        return list(known) or [f"dimension {dim}" for dim in range(self.segmenter.preprocessing_.n_input_dims)]

    @property
    def paths(self) -> list[IntArray]:
        """State of every step of each series."""
        paths: list[IntArray] = self.model.paths_
        return paths

    @property
    def actions(self) -> list[IntArray] | None:
        """Action of every step of each series."""
        return getattr(self.model, "actions_", None)

    @property
    def called(self) -> str:
        """What is reported in the first place."""
        return "state" if self.actions is None else "action"

    @property
    def labels(self) -> list[IntArray]:
        """That, at every step of each series."""
        return self.paths if self.actions is None else self.actions

    @property
    def n_labels(self) -> int:
        """How many of that there are."""
        return int(self.model.n_states_ if self.actions is None else self.model.n_actions_)

    @property
    def state_actions(self) -> IntArray:
        """Action of each state; without actions, every state is one of its own."""
        known: IntArray = getattr(self.model, "state_actions_", np.arange(self.model.n_states_))
        return known

    @property
    def probability(self) -> list[FloatArray] | None:
        """How sure the label of every step is."""
        return getattr(self.model, f"{self.called}_probability_", None)

    @cached_property
    def truth(self) -> Truth | None:
        """The labels of the input, which the model was not told."""
        known = self.run.items.actions if isinstance(self.run.items, SequenceSet) else None
        return None if known is None else Truth.of(known, self.labels)

    @cached_property
    def segments(self) -> list[Segment]:
        """Segments of one label each."""
        sure = None if self.probability is None else np.concatenate(self.probability)
        return segments_table(np.concatenate(self.labels), self.segmenter.starts_, sure)

    @property
    def position_dims(self) -> list[int]:
        """Three dimensions to draw as a place: those called x, y and z, or the first; fewer if there are no more."""
        found = [_ending_in(axis, self.channels) for axis in AXES]
        return found if None not in found else list(range(min(len(self.channels), 3)))  # type: ignore[return-value]


def _ending_in(axis: str, channels: list[str]) -> int | None:
    """Return the first dimension called by the name of an axis, alone or after something else."""
    pattern = re.compile(rf"(?:^|[^a-z]){axis}$", flags=re.IGNORECASE)
    return next((dim for dim, name in enumerate(channels) if pattern.search(name)), None)
