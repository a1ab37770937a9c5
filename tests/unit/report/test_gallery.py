"""Names of actions, the gallery of their segments, and the banner over a doubtful result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fabricated import make_framed_segmentation, make_recordings, make_segmentation, with_trace
from homothety.cli import main
from homothety.cli.results import read, write
from homothety.errors import InputError
from homothety.report import describe, render_html
from homothety.report.charts import _gallery_data

NAMES = ("reach", "grate", "return")


@pytest.fixture(scope="module")
def recordings():
    return make_recordings()


def test_paths_of_a_gallery_are_those_of_the_segments_in_one_frame(recordings):
    model = make_framed_segmentation(recordings)
    gallery = _gallery_data(model.result_, recordings)
    assert [one["action"] for one in gallery] == [0, 1, 2]
    assert gallery[1]["words"] == "6 segments in 3 recordings; median length 30 steps (30 to 30)."
    aligned = model.aligned(recordings)
    for one in gallery:
        segments = [segment for segment in model.action_segments_ if segment.label == one["action"]]
        assert len(one["paths"]) == len(segments)
        for path, segment in zip(np.array(one["paths"]), segments, strict=True):
            places = aligned[segment.series][segment.start : segment.end]
            # Seen from one side, nothing is farther apart than it is; from where it is widest, nearly as far.
            far, drawn = np.linalg.norm(places[-1] - places[0]), np.linalg.norm(path[-1] - path[0])
            assert drawn <= far * (1 + 1e-4)
        ends = np.array(one["paths"]).reshape(-1, 2)
        np.testing.assert_allclose(ends.max(axis=0), [one["width"], one["height"]], rtol=1e-4)
        assert one["typical"] in one["paths"]


def test_a_gallery_needs_recordings_and_actions(recordings):
    result = make_segmentation(recordings).result_
    assert _gallery_data(result, None) is None
    assert _gallery_data(replace(result, actions=None), recordings) is None


def test_names_of_actions_are_wherever_actions_are(recordings):
    result = make_segmentation(recordings).result_.with_names(NAMES)
    document = describe(result, recordings)
    page = render_html(document)
    assert [one["name"] for one in document.data["looks"]["action"]] == list(NAMES)
    assert "demo 2, steps 90 to 119: action grate, with probability 0.55" in page
    assert '<th scope="col">action reach</th>' in page
    assert result.tables()["action_segments"][0]["name"] == "reach"
    assert "name" not in make_segmentation(recordings).result_.tables()["action_segments"][0]


@pytest.mark.parametrize("names", [("a", "b"), ("a", "b", "b"), ("a", "b", " ")])
def test_names_have_to_be_different_and_as_many_as_actions(names, recordings):
    with pytest.raises(InputError, match="needed 3 different names: one for each action"):
        make_segmentation(recordings).result_.with_names(names)


def test_names_are_kept_in_the_folder(recordings, tmp_path, capsys):
    write(make_segmentation(recordings), recordings, tmp_path)
    assert main(["report", str(tmp_path), "--names", ",".join(NAMES), "--quiet"]) == 0
    assert read(tmp_path)[0].action_names == NAMES
    assert "reach" in (tmp_path / "action_segments.csv").read_text()
    assert main(["report", str(tmp_path), "--names", "a"]) == 2
    assert "needed 3 different names" in capsys.readouterr().err


def test_a_banner_says_that_chains_do_not_agree(recordings):
    counts = np.full((2, 400), 4.0)
    traces = dict.fromkeys(("n_states", "n_actions", "n_segments"), counts)
    traces["log_joint"] = np.random.default_rng(0).normal(size=counts.shape)
    model = with_trace(make_segmentation(recordings), **traces)
    assert describe(model).banner == ""
    document = describe(with_trace(model, n_actions=counts + np.array([[0], [5]])))
    assert document.banner.startswith("The chains do not agree")
    assert '<p class="banner" role="alert">The chains do not agree' in render_html(document)
    assert "The chains do not agree" in document._repr_html_()
    assert repr(document) == f"<Document: {document.title}>"
