from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from homothety import ICSCHMM
from homothety.datasets import make_toy_2d
from homothety.preprocessing import Preprocessing
from homothety.report import describe, render_markdown
from homothety.report.sentences import transform_sentence, transforms_introduction
from homothety.summaries.tables import summarise_segmentation
from homothety.summaries.transforms import StateTransform

if TYPE_CHECKING:
    from homothety.summaries.result import Segmentation


@pytest.fixture(scope="module")
def fitted() -> Segmentation:
    recordings = make_toy_2d(0, n_steps=200)
    return ICSCHMM(n_chains=2, n_sweeps=30, random_state=0).fit(recordings).result_


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
        "agreement": 0.97,
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
            "State 3 is state 0, 1.9 times as large (1.8 to 2.0) and not moved, as far as can be told. Its "
            "orientation cannot be determined.",
        ),
        (
            {"orientation": "partial"},
            "turned by 41° (within 5°) as far as its orientation can be determined, 1.9 times",
        ),
        ({"scale": 1.04, "scale_low": 0.91, "scale_high": 1.21}, ", about as large (0.9 to 1.2 times) and moved"),
        ({"agreement": 0.73}, "The agreement that they are one action is 0.73."),
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
    assert said in transform_sentence(state_transform(**given), ["x", "y"])


def test_only_the_farthest_moves_are_named():
    far = np.array([1.0, -4.0, 2.0, 3.0, 0.5])
    one = state_transform(translation=far, translation_low=far - 0.2, translation_high=far + 0.2)
    words = transform_sentence(one, list("abcde"))
    places = [words.index(f" along {dim} (") for dim in "bdc"]
    assert all(before < after for before, after in pairwise(places))
    assert words.endswith("and less along 2 more dimensions.")


def test_independent_dimensions_have_no_word_of_directions():
    words = transform_sentence(state_transform(orientation="none", angle=np.nan), ["x", "y"], directed=False)
    assert "orientation" not in words
    assert "turned" not in words


def test_the_table_has_a_row_for_every_state(fitted):
    rows = fitted.tables()["transforms"]
    assert len(rows) == fitted.states.number
    for row, one in zip(rows, fitted.transforms, strict=True):
        assert [row[name] for name in ("state", "action", "reference")] == [one.state, one.action, one.reference]
        names = [f"{name}{end}" for name in ("scale", "mismatch") for end in ("", "_low", "_high")]
        names += ["observations", "agreement", "support"]
        np.testing.assert_allclose([row[name] for name in names], [getattr(one, name) for name in names], 1e-5)
        assert row["orientation"] == one.orientation
        assert (row["angle"] is None) == np.isnan(one.angle)
        for end in ("", "_low", "_high"):
            moves = [row[f"translation_{dim}{end}"] for dim in ("y1", "y2")]
            np.testing.assert_allclose(moves, getattr(one, f"translation{end}"), 1e-5)


def with_transforms(result, transforms, **parts):
    """Return a result whose states differ as given."""
    changed = replace(result, **parts)
    vars(changed)["transforms"] = transforms  # instead of what its table says
    return changed


def test_what_is_not_known_is_empty_in_tables_and_none_in_json(fitted):
    unknown = state_transform(**ENDLESS, translation_low=np.full(2, -np.inf), translation_high=np.full(2, np.inf))
    (row,) = with_transforms(fitted, [unknown]).tables()["transforms"]
    json.dumps(row, allow_nan=False)
    empty = {name for name, value in row.items() if value is None}
    ends = {f"translation_{dim}_{end}" for dim in ("y1", "y2") for end in ("low", "high")}
    sizes = {f"{name}{end}" for name in ("scale", "mismatch") for end in ("", "_low", "_high")}
    assert empty == {"angle", "rotation_within"} | sizes | ends


def test_columns_of_one_name_are_told_apart_by_number(fitted):
    row = replace(fitted, channels=("x", "x")).tables()["transforms"][1]
    assert row["translation_0"] != row["translation_1"]


def test_summary_and_page_tell_them_too(fitted):
    told = summarise_segmentation(fitted)["transforms"]
    assert (told["dimensions"], told["units_of"]) == (["y1", "y2"], "recordings")
    assert [one["reference"] for one in told["states"]] == [one.reference for one in fitted.transforms]
    assert np.shape([one["translation"] for one in told["states"]]) == (fitted.states.number, 2)
    text = render_markdown(describe(fitted))
    others = [one for one in fitted.transforms if not one.is_reference]
    assert others
    assert all(transform_sentence(one, ["y1", "y2"]) in text for one in others)
    assert "Translations are in the units of the recordings." in text


REFERENCE = state_transform(state=0)


@pytest.mark.parametrize(
    ("preparation", "emission", "order", "said"),
    [
        ({}, "gaussian", 0, "Translations are in the units of the recordings. An axis has no front and back"),
        ({"scale": "std"}, "gaussian", 0, "units of the prepared recordings, in which shapes were compared."),
        ({"centre": "series"}, "gaussian", 0, "units of the recordings and relative to the middle of each recording."),
        ({}, "gaussian", 1, "Autoregressive states have no place, and no translation."),
        ({}, "diagonal", 0, "No rotation is told, because independent dimensions were assumed"),
    ],
)
def test_what_the_numbers_are_of_is_said(fitted, preparation, emission, order, said):
    made = replace(fitted.provenance, settings=fitted.provenance.settings | {"emission": emission})
    prepared = Preprocessing(**preparation).fit([np.eye(2) * [1, 3]])
    parameters = replace(fitted.parameters, order=order)
    result = replace(fitted, provenance=made, preparation=prepared, parameters=parameters)
    assert said in transforms_introduction(result, [REFERENCE, state_transform()])


def test_states_alone_in_their_actions_are_not_compared(fitted):
    alone = state_transform(state=5, reference=5, action=1)
    said = transforms_introduction(fitted, [REFERENCE, state_transform(), alone])
    assert "Alone in its action, and so not compared: state 5." in said


def test_very_many_states_are_left_to_the_table(fitted):
    many = [REFERENCE, *(state_transform(state=min(k, fitted.states.number - 1)) for k in range(1, 24))]
    document = describe(with_transforms(fitted, many))
    (section,) = [one for one in document.sections if one.name == "transforms"]
    _, bullets, table = section.blocks
    assert len(bullets.points) == 21
    assert bullets.points[-1] == "3 more are in the table."
    assert len(table.rows) == 23
