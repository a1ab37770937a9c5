"""One page about one run: a single HTML file that needs no network.

`write_report` is all most need. What goes on the page is decided in `segmentation` and `clustering`, which turn a run
into a `Report` of plain texts, tables and numbers; `rendering` makes HTML of any `Report`. The page draws with a script
of our own of 50 kB: a plotting library would weigh several megabytes, and do worse on phones.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from homothety.files import write_text
from homothety.report.contents import describe_run
from homothety.report.rendering import render
from homothety.report.runs import run_of

if TYPE_CHECKING:
    from homothety.report.document import Report

__all__ = ["describe_run", "render", "write_report"]


def write_report(result: Any, path: str | Path, *, data: Any = None) -> Report:
    """Write a page about a fitted model: one HTML file that opens anywhere and asks the network for nothing.

    Parameters
    ----------
    result : estimator, Segmentation or Clustering
        A fitted segmenter (`ActionHMM`, `ICSCHMM`, `IBPHMM`, `TwoStageHMM`, `StickyHDPHMM`, `HMMSelection`) or
        clustering (`SPCMMixture`, `SimilarityMixture`, `CRPMixture`, `GMMSelection`); or what a command has of one.
    path : str or Path
        Of the file, best one ending in ``.html``.
    data : SequenceSet, MatrixSet, or whatever was given to `fit`, optional
        What the model was fitted to. Segmenters do not keep it: without it the page has no curves and trajectories.

    Returns
    -------
    report : Report
        What the page says, as plain texts, tables and numbers.

    Examples
    --------
    >>> from homothety import SPCMMixture
    >>> from homothety.datasets import make_toy_6d
    >>> toy = make_toy_6d(random_state=0, n_per_class=4)
    >>> model = SPCMMixture(n_chains=2, n_sweeps=40, random_state=0).fit(toy.matrices)
    >>> folder = getfixture("tmp_path")
    >>> report = write_report(model, folder / "report.html", data=toy)
    >>> report.answers[0].question
    'How many clusters are there?'
    """
    report = describe_run(run_of(result, data))
    write_text(Path(path), render(report))
    return report
