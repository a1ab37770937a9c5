from __future__ import annotations

import csv
import json
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from homothety import ICSCHMM
from homothety.cli.segmentation import Segmentation, page, summarise, write_tables
from homothety.datasets import make_toy_2d
from homothety.preprocessing import Preprocessing
from homothety.summaries.transforms import StateTransform
from homothety.words.transforms import flat_rows, section, sentence


@pytest.fixture(scope="module")
def fitted() -> Segmentation:
    recordings = make_toy_2d(0, n_steps=200)
    model = ICSCHMM(n_chains=2, n_sweeps=30, random_state=0).fit(recordings.sequences)
    return Segmentation(recordings, model, "toy", 0.0)


def state_transform(**given) -> StateTransform:
    """State 3, turned, resized and moved from state 0, unless it is said otherwise."""
    usual = {
        "state": 3,
        "action": 0,
        "reference": 0,
        "scale": 1.9,
        "scale_low": 1.8,
        "scale_high": 2.0,
        "rotation": np.eye(2),
        "angle": 41.2,
        "rotation_within": 4.8,
        "orientation": "full",
        "blocks": ((0,), (1,)),
        "n_equivalent": 2,
        "translation": np.array([0.5, -3.1]),
        "translation_low": np.array([-0.1, -3.3]),
        "translation_high": np.array([0.9, -2.9]),
        "mismatch": 0.1,
        "mismatch_low": 0.05,
        "mismatch_high": 0.2,
        "mean": np.zeros(2),
        "axes": np.eye(2),
        "observations": 30.0,
        "probability": 0.97,
        "support": 1.0,
    }
    return StateTransform(**usual | given)


NOT_MOVED = {"translation_low": np.full(2, -9.0), "translation_high": np.full(2, 9.0)}
ENDLESS = {"scale_low": 0.0, "scale_high": np.inf, "orientation": "none", "angle": np.nan, "rotation_within": np.nan}
NO_DRAWS = {"scale_low": np.nan, "scale_high": np.nan, "rotation_within": np.nan}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {},
            "State 3 is state 0 turned by 41° (within 5°), 1.9 times as large (1.8 to 2.0) and moved by -3.1 along y "
            "(-3.3 to -2.9).",
        ),
        (
            {"orientation": "none", "angle": np.nan, "rotation_within": np.nan} | NOT_MOVED,
            "State 3 is state 0, 1.9 times as large (1.8 to 2.0) and not moved, as far as can be told. It has no "
            "direction that could be told.",
        ),
        ({"orientation": "partial"}, "turned by 41° (within 5°) as far as its directions can be told, 1.9 times"),
        ({"scale": 1.04, "scale_low": 0.91, "scale_high": 1.21}, ", about as large (0.9 to 1.2 times) and moved"),
        ({"probability": 0.73}, "That they are one action has probability 0.73."),
        ({"translation": np.full(2, np.nan)}, "turned by 41° (within 5°) and 1.9 times as large (1.8 to 2.0)."),
        (
            ENDLESS,
            "State 3 is grouped with state 0, but one of the two has too few observations to tell how they differ.",
        ),
        (NO_DRAWS, "turned by 41°, 1.9 times as large and moved"),
        (NO_DRAWS, "How sure this is cannot be told: no kept sweep has both states as they are reported."),
    ],
)
def test_a_transformation_is_put_in_words(given, said):
    assert said in sentence(state_transform(**given), ["x", "y"])


def test_only_the_farthest_moves_are_named():
    far = np.array([1.0, -4.0, 2.0, 3.0, 0.5])
    one = state_transform(translation=far, translation_low=far - 0.2, translation_high=far + 0.2)
    words = sentence(one, list("abcde"))
    places = [words.index(f" along {dim} (") for dim in "bdc"]
    assert all(before < after for before, after in pairwise(places))
    assert words.endswith("and less along 2 more dimensions.")


def test_independent_dimensions_have_no_word_of_directions():
    words = sentence(state_transform(orientation="none", angle=np.nan), ["x", "y"], directed=False)
    assert "direction" not in words
    assert "turned" not in words


def test_the_table_has_a_row_for_every_state(fitted, tmp_path):
    model = fitted.model
    write_tables(fitted, tmp_path)
    with (tmp_path / "transforms.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == model.n_states_
    for row, one in zip(rows, model.transforms_, strict=True):
        assert [int(row[name]) for name in ("state", "action", "reference")] == [one.state, one.action, one.reference]
        names = [f"{name}{end}" for name in ("scale", "mismatch") for end in ("", "_low", "_high")]
        names += ["observations", "probability", "support"]
        np.testing.assert_allclose([float(row[name]) for name in names], [getattr(one, name) for name in names], 1e-5)
        assert row["orientation"] == one.orientation
        assert (row["angle"] == "") == np.isnan(one.angle)
        for end in ("", "_low", "_high"):
            moves = [float(row[f"translation_{dim}{end}"]) for dim in ("y1", "y2")]
            np.testing.assert_allclose(moves, getattr(one, f"translation{end}"), 1e-5)


def test_what_is_not_known_is_empty_in_tables_and_none_in_json(fitted):
    preprocessing = fitted.model.preprocessing_
    unknown = state_transform(**ENDLESS, translation_low=np.full(2, -np.inf), translation_high=np.full(2, np.inf))
    (row,) = flat_rows(SimpleNamespace(transforms_=[unknown], preprocessing_=preprocessing), ["x", "y"])
    json.dumps(row, allow_nan=False)
    empty = {name for name, value in row.items() if value is None}
    ends = {f"translation_{dim}_{end}" for dim in "xy" for end in ("low", "high")}
    sizes = {f"{name}{end}" for name in ("scale", "mismatch") for end in ("", "_low", "_high")}
    assert empty == {"angle", "rotation_within"} | sizes | ends


def test_columns_of_one_name_are_told_apart_by_number(fitted):
    row = flat_rows(fitted.model, ["x", "x"])[1]
    assert row["translation_0"] != row["translation_1"]


def test_summary_and_page_tell_them_too(fitted):
    told = summarise(fitted)["transforms"]
    assert (told["dimensions"], told["units_of"]) == (["y1", "y2"], "recordings")
    assert [one["reference"] for one in told["states"]] == [one.reference for one in fitted.model.transforms_]
    assert np.shape([one["translation"] for one in told["states"]]) == (fitted.model.n_states_, 2)
    text = page(fitted, {})
    others = [one for one in fitted.model.transforms_ if not one.is_reference]
    assert others
    assert all(f"- {sentence(one, ['y1', 'y2'])}\n" in text for one in others)
    assert "Translations are in the units of the recordings." in text


def stand_in(transforms, **given) -> SimpleNamespace:
    """What the words need of a model."""
    preprocessing = Preprocessing(**given.pop("preparation", {})).fit([np.eye(2) * [1, 3]])
    usual = {"emission": "gaussian", "states_": SimpleNamespace(order=0), "preprocessing_": preprocessing}
    return SimpleNamespace(transforms_=transforms, **usual | given)


REFERENCE = state_transform(state=0)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "Translations are in the units of the recordings. An axis has no front and back"),
        ({"preparation": {"scale": "std"}}, "units of the prepared recordings, in which shapes were compared."),
        (
            {"preparation": {"centre": "series"}},
            "units of the recordings and relative to the middle of each recording.",
        ),
        ({"states_": SimpleNamespace(order=1)}, "Autoregressive states have no place, and no translation."),
        ({"emission": "diagonal"}, "No rotation is told, because independent dimensions were assumed"),
    ],
)
def test_what_the_numbers_are_of_is_said(given, said):
    assert said in section(stand_in([REFERENCE, state_transform()], **given), ["x", "y"])[-1]


def test_states_alone_in_their_actions_are_not_compared():
    alone = state_transform(state=5, reference=5, action=1)
    parts = section(stand_in([REFERENCE, state_transform(), alone]), ["x", "y"])
    assert "Alone in its action, and so not compared: state 5." in parts[1]
    assert parts[2].count("\n") == 0
    assert section(stand_in([REFERENCE, alone]), ["x", "y"]) == []


def test_very_many_states_are_left_to_the_table():
    many = [REFERENCE, *(state_transform(state=k) for k in range(1, 24))]
    listed = section(stand_in(many), ["x", "y"])[2].splitlines()
    assert len(listed) == 21
    assert listed[-1] == "- 3 more are in `transforms.csv`."
    other = "\n".join(section(stand_in(many), ["x", "y"], "transforms.json"))
    assert (other.count("`transforms.json`"), "transforms.csv" in other) == (2, False)
