"""What a reproduction is made of: tasks to run one by one, and a report of whatever has been run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from homothety.reproduce.sets import LabelledSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

AnySet = TypeVar("AnySet", bound=LabelledSet)

Key: TypeAlias = tuple[Any, ...]

# Results of the finished tasks by key, in the order they were finished.
Outcomes: TypeAlias = Mapping[Key, list[Any]]


@dataclass(frozen=True)
class Task:
    """One computation of a reproduction.

    Parameters
    ----------
    name : str
        What progress messages call it; tasks of one name follow each other.
    key : tuple
        Where its result goes, beginning with the key of the set. Several tasks may share a key, such as the runs of
        one method on one set.
    run : callable
        Computes the result. A KeyboardInterrupt out of it means there is none.
    cost : float
        About how long it takes, relative to the other tasks.
    """

    name: str
    key: Key
    run: Callable[[], Any]
    cost: float = 1.0


@dataclass(frozen=True)
class Report:
    """A finished reproduction.

    Parameters
    ----------
    markdown : str
        Tables with their explanations, without figures.
    figures : mapping of str to callable
        Functions that draw, by the name of the figure: matplotlib is needed only when they are called.
    results : object
        The same numbers for scripts, as what JSON can hold.
    """

    markdown: str
    figures: Mapping[str, Callable[[], Figure]] = field(default_factory=dict)
    results: Any = None


@dataclass(frozen=True)
class Plan:
    """Everything to compute for a table or figure, and how to report what was computed of it.

    Parameters
    ----------
    name : str
        Used for files.
    title : str
    tasks : list of Task
    report : callable
        From outcomes, which may be incomplete, to the report.
    """

    name: str
    title: str
    tasks: list[Task]
    report: Callable[[Outcomes], Report]


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


def tried(sets: Sequence[AnySet], outcomes: Outcomes) -> list[AnySet]:
    """Return the sets of which there is any outcome; keys begin with that of the set."""
    keys = {key[0] for key in outcomes}
    return [paper_set for paper_set in sets if paper_set.key in keys]
