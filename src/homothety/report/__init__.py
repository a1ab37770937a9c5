"""Documents about results, and their rendering as an interactive HTML page, as Markdown and as terminal text.

`segmentation` and `clustering` turn a result into a `Document` of plain texts, tables and numbers. `rendering` turns
any `Document` into HTML, Markdown or text. A page draws with a script of its own of 50 kB: a plotting library would
weigh several megabytes, and do worse on phones.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from homothety.datasets import MatrixSet, SequenceSet
from homothety.errors import InputError
from homothety.files import write_text
from homothety.phrases import number_of
from homothety.report.clustering import describe_clustering
from homothety.report.rendering import render_html, render_markdown, render_text
from homothety.report.segmentation import describe_segmentation
from homothety.sequences import check_sequences
from homothety.summaries.result import Partition, Segmentation

if TYPE_CHECKING:
    from homothety.report.document import Document

__all__ = ["describe", "render_html", "render_markdown", "render_text", "write_report"]


def write_report(result: Any, path: str | Path, *, data: Any = None) -> Document:
    """Write an interactive report about a result: one HTML file that works in any browser without a network.

    Parameters
    ----------
    result : Segmentation, Partition or estimator
        A result, or the fitted estimator that has it.
    path : str or Path
        Of the file, best one ending in ``.html``.
    data : SequenceSet, MatrixSet, or whatever was given to `fit`, optional
        What the model was fitted to. Segmenters do not keep it: without it the page has no curves and trajectories.

    Returns
    -------
    document : Document
        What the page says, as plain texts, tables and numbers.

    Examples
    --------
    >>> from homothety import SPCMMixture
    >>> from homothety.datasets import make_toy_6d
    >>> toy = make_toy_6d(random_state=0, n_per_class=4)
    >>> model = SPCMMixture(n_chains=2, n_sweeps=40, random_state=0).fit(toy.matrices)
    >>> folder = getfixture("tmp_path")
    >>> document = write_report(model, folder / "report.html", data=toy)
    >>> document.answers[0].question
    'How many clusters are there?'
    """
    document = describe(result, data)
    write_text(Path(path), render_html(document))
    return document


def describe(result: Any, data: Any = None) -> Document:
    """Return the document about a result; parameters are those of `write_report`."""
    if hasattr(result, "get_params"):
        check_is_fitted(result)
        result = getattr(result, "result_", result)
    if isinstance(result, Segmentation):
        return describe_segmentation(result, _recordings(result, data))
    if isinstance(result, Partition):
        return describe_clustering(result, _matrices(result, data))
    raise InputError(
        f"result is a {type(result).__name__}, needed a Segmentation, a Partition or a fitted estimator that has one."
    )


def _recordings(result: Segmentation, data: Any) -> SequenceSet | None:
    """Return the recordings of a result, or raise if the given ones are not those of the fit."""
    if data is None:
        return None
    lengths = [len(path) for path in result.states.paths]
    if not isinstance(data, SequenceSet):
        checked = check_sequences(data, allow_constant=True, min_steps=1)
        if len(checked) == 1 < len(lengths) and checked.lengths[0] == sum(lengths):
            # One array of all steps, as `fit` takes it with the lengths of the recordings in it.
            checked = check_sequences(checked[0], lengths=lengths, allow_constant=True, min_steps=1)
        data = SequenceSet([checked[i] for i in range(len(checked.lengths))], names=checked.names)
    given = [len(one) for one in data.sequences]
    if given != lengths:
        raise InputError(
            f"data has {_size(given)}, but the model was fitted to {_size(lengths)}. Pass what it was fitted to."
        )
    return data


def _size(lengths: list[int]) -> str:
    return f"{number_of(len(lengths), 'recording')} of {sum(lengths)} steps"


def _matrices(result: Partition, data: Any) -> MatrixSet | None:
    """Return the matrices of a result, or raise if the given ones are not those of the fit."""
    if not isinstance(data, MatrixSet):
        return None  # results keep what they need of other data
    if len(data) != len(result.labels):
        raise InputError(
            f"data has {len(data)} items, but the model was fitted to {len(result.labels)}. Pass what it was fitted to."
        )
    return data
