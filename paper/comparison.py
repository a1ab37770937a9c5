"""Several methods on several data sets, several times: what Tables 2, 3 and 4 have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from homothety._version import __version__
from paper.plan import AnySet, Effort, Task
from paper.printed import cell_value, is_impossible
from paper.scores import score
from paper.sets import RESTRICTED_NOTE, LabelledSet

if TYPE_CHECKING:
    from homothety.arrays import IntArray
    from paper.printed import Cells

Answer = TypeVar("Answer")

# Numbers of one run by metric.
Scores: TypeAlias = Mapping[str, float]

TOY_NOTE = (
    "Toy 6D is drawn twice: by the paper's text, with one scale per shape, and *scaled*, by the authors' program, with "
    "one per matrix and slightly other axes. The paper has one row for both."
)
IMPOSSIBLE_NOTE = "† As printed in the paper; no such value exists, since scores are at most 1."


@dataclass(frozen=True)
class Method(Generic[AnySet, Answer]):
    """A way of clustering a data set.

    Parameters
    ----------
    key, title : str
        What results and tables call it.
    cluster : callable
        From a data set, how much to compute and a seed to an answer, such as the cluster of every item.
    paper_key : str, optional
        Column of the paper it answers to, if not `key`.
    """

    key: str
    title: str
    cluster: Callable[[AnySet, Effort, int], Answer]
    paper_key: str | None = None

    @property
    def printed_as(self) -> str:
        """Key of the paper's column."""
        return self.paper_key or self.key


def comparison_tasks(
    sets: Sequence[AnySet],
    methods: Sequence[Method[AnySet, Answer]],
    effort: Effort,
    score_answer: Callable[[AnySet, Answer], Scores],
) -> list[Task]:
    """Return every run of every method on every set; results are scores of the answers under the keys (set, method)."""
    return [
        Task(
            name=f"{paper_set.title}: {method.title}",
            key=(paper_set.key, method.key),
            run=partial(score_run, paper_set, method, effort, effort.seed + run, score_answer),
        )
        for paper_set in sets
        for method in methods
        for run in range(effort.runs)
    ]


def score_run(
    paper_set: AnySet,
    method: Method[AnySet, Answer],
    effort: Effort,
    seed: int,
    score_answer: Callable[[AnySet, Answer], Scores],
) -> Scores:
    """Cluster once and return the scores."""
    return score_answer(paper_set, method.cluster(paper_set, effort, seed))


def score_labels(paper_set: LabelledSet, labels: IntArray) -> Scores:
    """Return the scores of the cluster of every item."""
    return score(paper_set.labels, labels)


def printed_cell(cells: Cells, paper_set: LabelledSet, method: str, metric: str) -> str:
    """Return what the paper printed, marked if it cannot be; a dash if it printed nothing."""
    text = cells.get((paper_set.paper_key, method, metric), "-")
    return f"{text} †" if text != "-" and is_impossible(metric, text) else text


def comparison_notes(sets: Sequence[LabelledSet], cells: Cells) -> list[str]:
    """Return the explanations of the marks that occur in a table of these sets."""
    keys = {paper_set.paper_key for paper_set in sets}
    occurring = {
        TOY_NOTE: any(paper_set.printed_as == "toy-6d" for paper_set in sets),
        RESTRICTED_NOTE: any(paper_set.restricted for paper_set in sets),
        IMPOSSIBLE_NOTE: any(key in keys and is_impossible(metric, cells[key, m, metric]) for key, m, metric in cells),
    }
    return [note for note, occurs in occurring.items() if occurs]


def printed_mean(cells: Cells, paper_set: LabelledSet, method: Method[Any, Any], metric: str) -> float:
    """Return the mean the paper printed, NaN if it printed none or an impossible one."""
    text = cells.get((paper_set.paper_key, method.printed_as, metric))
    return float("nan") if text is None or is_impossible(metric, text) else cell_value(text)


def provenance(effort: Effort) -> str:
    """Return how the numbers came about, in one sentence."""
    return f"homothety {__version__}, {effort.runs} runs with seeds {effort.seed} to {effort.seed + effort.runs - 1}."
