from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fabricated import make_framed_segmentation, make_recordings, with_parts
from homothety.channels import guess_blocks
from homothety.datasets import SequenceSet
from homothety.models.frames.frames import Blocks
from homothety.report import describe
from homothety.report.segmentation import _weight_note
from homothety.report.sentences import _frame_sentence, frame_sentences, frames_introduction, frames_table
from homothety.summaries.frames import PreparedBlocks, weights_by_kind
from homothety.summaries.positions import first_position
from homothety.summaries.tables import _frame_records, _size_names, place_names


@pytest.fixture(scope="module")
def recordings():
    return make_recordings(n_recordings=4)


@pytest.fixture(scope="module")
def result(recordings):
    return make_framed_segmentation(recordings).result_


@pytest.fixture
def table(result):
    return replace(result.frame_table)  # anew, so that its rows are worked out anew


def test_sentences_say_how_recordings_differ_and_who_shares_a_frame(table):
    first, second = frame_sentences(table)
    assert first == "Recording demo 0 is turned by 90 degrees (90 % within 4) and 2.0 times as large (1.9 to 2.1)."
    assert second == "Recording demo 3 shares its frame with demo 1 and demo 2."
    assert frames_introduction(table).startswith("4 recordings in 2 frames. Each is compared with demo 3")


def test_recordings_that_share_a_frame_that_is_not_the_reference(table):
    found = [
        one._replace(shared_with=(1,) if i == 0 else (0,), is_reference=i == 3) for i, one in enumerate(table.rows)
    ]
    assert _frame_sentence(found[0], found).endswith(
        "2.0 times as large (1.9 to 2.1), and shares its frame with demo 1."
    )
    assert "about as large (0.95 to 1.05 times), and shares its frame with demo 0." in _frame_sentence(found[1], found)
    assert "not turned by more than 4 degrees" in _frame_sentence(found[1], found)
    assert "turned" not in _frame_sentence(found[0], found, may_turn=False)


def test_draws_that_disagree_on_a_rotation_are_told(table):
    doubtful = [one._replace(agreement=0.7) for one in table.rows]
    assert "30 % of the draws turn it by more than 90 degrees from this." in _frame_sentence(doubtful[0], doubtful)


def test_one_frame_for_all_is_one_sentence(recordings):
    table = make_framed_segmentation(recordings, shared=True).frame_table_
    assert frames_introduction(table) == "All recordings share one frame: none is turned, resized or moved."
    assert frame_sentences(table) == []


def test_one_recording_has_nothing_to_compare():
    model = make_framed_segmentation(make_recordings(n_recordings=1), shared=True)
    assert frames_introduction(model.frame_table_) == ""
    assert frame_sentences(model.frame_table_) == []


def test_rows_have_every_number_with_its_interval(result, table):
    row = result.tables()["frames"][0]
    expected = {
        "recording": "demo 0",
        "reference": False,
        "shared_with": "",
        "turned_by": 90.0,
        "turned_within": 4.0,
        "size_position": 2.0,
    }
    assert {name: row[name] for name in expected} == expected
    assert row["size_position_low"] == pytest.approx(2 * np.exp(-0.05), rel=1e-4)
    assert row["moved_x_high"] - row["moved_x_low"] == pytest.approx(0.1, rel=1e-3)
    assert list(row)[-5:] == ["moved_z", "moved_z_low", "moved_z_high", "agreement", "not_determined"]
    assert row["not_determined"] == ""
    header, rows = frames_table(table)
    assert header[:4] == ["recording", "shares its frame with", "turned by (degrees)", "times as large"]
    assert rows[0][2] == "90.0 (± 4.0)"
    assert rows[3][0] == "demo 3 (reference)"


def test_what_cannot_be_determined_is_said(table):
    table = replace(table, free_axes=np.eye(4)[:, :3] * [[1.0], [0.0], [0.0], [0.0]])
    said = _frame_sentence(table.rows[0], table.rows)
    assert said.endswith("It lies on a straight line, so its rotation about that line cannot be determined.")
    assert [row["not_determined"] for row in _frame_records(table)] == ["rotation about its line", "", "", ""]


def test_plain_channels_have_no_frames(table):
    nothing = {"log_sizes": (4, 0), "size_intervals": (4, 0, 2), "places": (4, 0, 3), "place_intervals": (4, 0, 3, 2)}
    blocks = Blocks(("plain",), 3, n_plain=(3,))
    table = replace(table, blocks=blocks, **{name: np.zeros(shape) for name, shape in nothing.items()})
    assert (
        frames_introduction(table) == "No channel turns or moves with a recording, so there are no frames to compare."
    )
    assert frame_sentences(table) == []
    record = _frame_records(table)[0]
    assert (record["sizes"], record["moved"], record["zeros"]) == ({}, {}, {})


def test_names_with_commas_are_told_apart():
    recordings = make_recordings(n_recordings=4, names=[f"frame 1, take {i}" for i in range(4)])
    table = make_framed_segmentation(recordings).frame_table_
    assert frame_sentences(table)[1].endswith("shares its frame with frame 1, take 1; frame 1, take 2.")


def test_positions_in_the_plane():
    flat = make_recordings(n_dims=2)
    model = make_framed_segmentation(SequenceSet(flat.sequences, names=flat.names, channels=("x", "y")))
    assert "turned by 90 degrees" in frame_sentences(model.frame_table_)[0]
    assert place_names(model.frame_table_) == ["x", "y"]


def test_blocks_are_named_whatever_comes_before_them(recordings):
    items = [np.column_stack([one[:, [0, 0]] ** 2, one]) for one in recordings.sequences]
    model = make_framed_segmentation(SequenceSet(items, names=recordings.names, channels=("a", "b", "x", "y", "z")))
    # As the model prepares them: plain channels beside each other are one block, and velocities come last.
    blocks = Blocks(("plain", "point", "vector"), 3, n_plain=(2,))
    prepared = PreparedBlocks(blocks, 2, np.zeros(8), np.ones(8))
    assert _size_names(replace(model.frame_table_, blocks=blocks, n_recorded=2)) == ["position", "velocity"]
    weights = weights_by_kind(prepared, np.array([0.5, 0.1, 0.2]))
    said = "each sample 0.5 (plain channels), 0.1 (positions) and 0.2 (velocities)."
    assert _weight_note(with_parts(model, step_weights=weights).result_).endswith(said)
    assert first_position(model.result_) == [2, 3, 4]


def test_quaternions_have_three_dimensions_in_states():
    channels = ("qw", "qx", "qy", "qz", "x", "y", "z")
    flat = make_recordings(n_dims=6)
    items = SequenceSet(flat.sequences, names=flat.names, channels=flat.channels)
    result = make_framed_segmentation(items).result_
    result = replace(result, channels=channels, blocks=guess_blocks(channels, 7))
    names = ("orientation x", "orientation y", "orientation z", "x", "y", "z")
    assert result.dims() == names
    assert result.n_channels == 7
    assert describe(result).title == result.headline
