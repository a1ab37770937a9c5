"""What the last line of a cell of a notebook shows."""

from __future__ import annotations

import numpy as np
import pytest

from fabricated import make_clustering, make_framed_segmentation, make_recordings
from homothety.datasets import MatrixSet
from homothety.report import describe, write_report


@pytest.fixture(scope="module")
def segmented():
    recordings = make_recordings()
    return make_framed_segmentation(recordings), recordings


def test_a_report_shows_its_answers_and_no_data(segmented, tmp_path):
    model, recordings = segmented
    document = write_report(model, tmp_path / "report.html", data=recordings)
    shown = document._repr_html_()
    assert all(one.question in shown for one in document.answers)
    assert len(shown) < 10_000
    assert len(repr(document)) < 200


def test_a_result_shows_its_first_table(segmented):
    result = segmented[0].result_
    shown = result._repr_html_()
    n_rows = min(10, len(result.tables()["segments"]))
    assert shown.startswith(f"<p>{result.headline}.")
    assert (shown.count("<tr>"), shown.count("<th>")) == (1 + n_rows, len(result.tables()["segments"][0]))
    assert "to_frame('segments')" in shown


def test_a_verdict_shows_its_numbers(segmented):
    verdict = segmented[0].diagnose()
    assert verdict.text in repr(verdict)
    assert "Diagnosis(" not in repr(verdict)
    assert verdict._repr_html_().count("<tr>") == 1 + len(verdict.table)


def test_more_clusters_than_classes_raise_a_doubt_about_shape():
    model = make_clustering()
    two = MatrixSet(model.result_.matrices, labels=np.minimum(model.labels_, 1))
    assert "(3) than classes (2). Either classes hold several kinds of shape" in describe(model, two).answers[0].text
    three = MatrixSet(model.result_.matrices, labels=model.labels_)
    assert "than classes" not in describe(model, three).answers[0].text
