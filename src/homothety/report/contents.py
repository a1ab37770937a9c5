"""What goes on the page of a run, whatever was run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homothety.report.clustering import describe_clustering
from homothety.report.segmentation import describe_segmentation

if TYPE_CHECKING:
    from homothety.report.document import Report
    from homothety.report.runs import Run


def describe_run(run: Run) -> Report:
    """Return what there is to say of a run."""
    return describe_segmentation(run) if run.segments_series else describe_clustering(run)
