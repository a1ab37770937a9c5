"""What a table or figure is made of: tasks to run one by one, and a report of their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from paper.sets import LabelledSet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AnySet = TypeVar("AnySet", bound=LabelledSet)

Key: TypeAlias = tuple[Any, ...]

# Results of the tasks by key, in the order of the tasks.
Outcomes: TypeAlias = Mapping[Key, list[Any]]


class Task(NamedTuple):
    """One computation of a table or figure.

    Parameters
    ----------
    name : str
        Written on the terminal when the task starts.
    key : tuple
        Key of the result in the outcomes. Several tasks may share a key, such as the runs of one method on one set.
    run : callable
        Computes the result.
    """

    name: str
    key: Key
    run: Callable[[], Any]


@dataclass(frozen=True)
class Report:
    """A table or figure with its explanations.

    Parameters
    ----------
    markdown : str
        Tables with their explanations, without figures.
    figures : mapping of str to callable
        Functions that draw, by the name of the figure.
    """

    markdown: str
    figures: Mapping[str, Callable[[], Figure]] = field(default_factory=dict)


@dataclass(frozen=True)
class Effort:
    """How much to compute.

    Parameters
    ----------
    runs : int
        Runs of every method, or chains.
    sweeps : int
        Sweeps of every chain.
    grid : int
        Settings per axis of a grid search.
    states : int
        Largest number of states that is tried where a criterion chooses.
    seed : int
        Run r uses ``seed + r``.
    """

    runs: int = 10
    sweeps: int = 200
    grid: int = 20
    states: int = 15
    seed: int = 0
