from __future__ import annotations

import numpy as np
import pytest

from fabricated import make_framed_segmentation, make_recordings, make_segmentation
from homothety.report import describe, render_html
from homothety.report.charts import _aligned_data, _cuts_data


@pytest.fixture(scope="module", params=[2, 3])
def recordings(request):
    return make_recordings(n_dims=request.param)


@pytest.fixture(scope="module")
def model(recordings):
    return make_framed_segmentation(recordings)


def test_the_page_brings_places_where_the_model_does(model, recordings):
    data = _aligned_data(model.result_, recordings)
    for recorded, aligned, one in zip(recordings.sequences, model.aligned(recordings), data["maps"], strict=True):
        drawn = (recorded[:, data["dims"]] - one["place"]) @ np.transpose(one["matrix"])
        np.testing.assert_allclose(drawn, aligned, atol=1e-4)
    together = np.concatenate(model.aligned(recordings))
    np.testing.assert_allclose([axis["low"] for axis in data["ranges"]], together.min(axis=0), atol=1e-9)


def test_cuts_keep_the_numbers_of_the_inferred_actions(model):
    data = _cuts_data(model.result_)
    assert data["inferred"] == 3
    assert [len(set(cut)) for cut in data["actions"]] == [1, 2, 3, 4]
    assert data["actions"][2] == [0, 0, 1, 2]  # the inferred ones
    assert len(data["looks"]) == 4
    two = data["actions"][1]
    assert two[0] == two[1] == two[2] != two[3]


def test_frames_have_a_section_and_an_answer(model, recordings):
    report = describe(model, recordings)
    names = [section.name for section in report.sections]
    assert names[:3] == ["aligned", "series", "frames"]
    assert "trajectories" not in names
    assert "transforms" not in names
    (differs,) = [answer for answer in report.answers if answer.question == "How do the recordings differ?"]
    assert differs.short == "They have 2 frames."
    assert "turned by 90 degrees" in differs.points[0]
    (labels,) = [section for section in report.sections if section.name == "labels"]
    assert [row[0] for row in labels.blocks[-1].rows] == ["3 (inferred)", "2", "1"]
    assert [row[1] for row in labels.blocks[-1].rows] == ["9.0", "-12.0", "-30.0"]
    assert 'data-chart="aligned"' in render_html(report)


def test_without_recordings_there_is_nothing_to_align(model):
    report = describe(model)
    assert "aligned" not in report.data
    assert [section.name for section in report.sections][:2] == ["series", "frames"]


def test_one_frame_for_all_is_said_once(recordings):
    report = describe(make_framed_segmentation(recordings, shared=True), recordings)
    (frames,) = [section for section in report.sections if section.name == "frames"]
    assert [type(block).__name__ for block in frames.blocks] == ["Text"]
    assert report.answers[2].short == "All recordings share one frame."


def test_models_without_frames_have_none_of_it(recordings):
    result = make_segmentation(recordings).result_
    assert _aligned_data(result, recordings) is None
    assert _cuts_data(result) is None
