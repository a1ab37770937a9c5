"""Model files: nothing in them can execute, and what is wrong with one is said."""

from __future__ import annotations

import ast
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import homothety
from fabricated import make_framed_segmentation, make_recordings
from homothety import SPCMMixture
from homothety.archives import memory_limit
from homothety.covariance import SPCMVariant
from homothety.datasets import make_toy_3d
from homothety.errors import InputError
from homothety.persistence import _FITTED, HEADER, fits


@pytest.fixture
def saved(tmp_path):
    model = SPCMMixture(n_sweeps=10, n_chains=1, random_state=0).fit(make_toy_3d(random_state=0).matrices)
    model.save(tmp_path / "model.homothety")
    return tmp_path / "model.homothety"


def rewrite_header(path, **changes):
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(contents[HEADER]) | changes
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, json.dumps(header) if name == HEADER else content)


def test_no_part_file_is_left(saved):
    assert [path.name for path in saved.parent.iterdir()] == ["model.homothety"]


def test_a_variant_of_ones_own_survives(tmp_path):
    variant = SPCMVariant(length="sqrt", dispersion="std", ddof=0)
    model = SPCMMixture(variant=variant, n_sweeps=4, n_chains=1, random_state=0)
    model.fit(make_toy_3d(random_state=0).matrices).save(tmp_path / "m")
    assert homothety.load(tmp_path / "m").variant == variant


def test_a_callable_cannot_be_saved(tmp_path):
    model = SPCMMixture(measure=lambda a, b: float(np.abs(a - b).sum()), n_sweeps=4, n_chains=1, random_state=0)
    model.fit(make_toy_3d(random_state=0).matrices)
    with pytest.raises(InputError, match="Cannot save"):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_class_is_not_looked_up(saved):
    rewrite_header(saved, value={"model": {"class": "os.system", "parameters": {"dict": {}}, "fitted": {"dict": {}}}})
    with pytest.raises(InputError, match=r"holds a 'os\.system'; known are"):
        homothety.load(saved)


def test_a_newer_format_is_refused(saved):
    rewrite_header(saved, format=99)
    with pytest.raises(InputError, match="has format 99, this version of homothety reads 3"):
        homothety.load(saved)


def test_missing_and_damaged_files(saved, tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        homothety.load(tmp_path / "nowhere")
    saved.write_bytes(saved.read_bytes()[:200])
    with pytest.raises(InputError, match="is not a model saved by homothety, or is damaged"):
        homothety.load(saved)
    (tmp_path / "text").write_text("not a zip")
    with pytest.raises(InputError, match="is not a model saved by homothety"):
        homothety.load(tmp_path / "text")


def test_files_with_any_bytes_changed_are_refused_or_read(saved, rng):
    content = saved.read_bytes()
    refused = 0
    for n_changed in (1, 3, 30) * 40:
        damaged = bytearray(content)
        for place in rng.integers(len(content), size=n_changed):
            damaged[place] = rng.integers(256)
        saved.write_bytes(damaged)
        try:
            homothety.load(saved)
        except InputError:
            refused += 1
    assert refused > 60


def test_what_cannot_be_saved_is_named_with_a_way_out(tmp_path):
    model = SPCMMixture(n_sweeps=4, n_chains=1, random_state=np.random.default_rng(0))
    model.fit(make_toy_3d(random_state=0).matrices)
    with pytest.raises(InputError, match=r"Cannot save a Generator.*set_params\(random_state=None\)"):
        model.save(tmp_path / "m")
    model.set_params(random_state=None).save(tmp_path / "m")
    np.testing.assert_array_equal(homothety.load(tmp_path / "m").labels_, model.labels_)


def test_a_pickled_array_is_refused(saved):
    with zipfile.ZipFile(saved) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    import io

    buffer = io.BytesIO()
    np.save(buffer, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(saved, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, buffer.getvalue() if name == "array-0.npy" else content)
    with pytest.raises(InputError, match="is not a model saved by homothety, or is damaged"):
        homothety.load(saved)


def model_in(path):
    """Return what the file says of the model: class, parameters and fitted attributes."""
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read(HEADER))["value"]["model"]


def rewrite_model(path, told):
    rewrite_header(path, value={"model": told})


PLANTED = ["fit", "__class__", "predict", "checkpoint", "set_params", "_coclustering", "labels", "draws__", "no_such_"]


@pytest.mark.parametrize("name", PLANTED)
def test_a_file_sets_nothing_but_what_a_fit_does(saved, name):
    told = model_in(saved)
    told["fitted"]["dict"][name] = {"list": [], "tuple": False}
    rewrite_model(saved, told)
    with pytest.raises(InputError, match=rf"The file sets '{name}' of SPCMMixture, which is nothing that a model"):
        homothety.load(saved)


@pytest.mark.parametrize("path", ["/etc", "checkpoint", ""])
def test_a_file_names_no_folder_of_checkpoints(saved, path):
    told = model_in(saved)
    told["parameters"]["dict"]["checkpoint"] = path
    rewrite_model(saved, told)
    with pytest.raises(InputError, match=r"sets checkpoint of SPCMMixture to a str .*, needed None"):
        homothety.load(saved)


def test_a_folder_of_checkpoints_is_not_saved(tmp_path):
    model = SPCMMixture(n_sweeps=4, n_chains=1, random_state=0, checkpoint=tmp_path / "run")
    model.fit(make_toy_3d(random_state=0).matrices).save(tmp_path / "m")
    assert homothety.load(tmp_path / "m").checkpoint is None
    assert model.checkpoint == tmp_path / "run"


@pytest.mark.parametrize(
    ("part", "name", "value", "message"),
    [
        ("fitted", "n_components_", "3", "n_components_ of SPCMMixture to a str '3', needed int"),
        (
            "fitted",
            "cluster_sizes_",
            {"list": [1], "tuple": False},
            "cluster_sizes_ of SPCMMixture to a list, needed i1",
        ),
        ("fitted", "result_", None, "result_ of SPCMMixture to a NoneType None, needed Partition"),
        ("fitted", "labels_", {"list": [1], "tuple": False}, "sets 'labels_' of SPCMMixture, which is nothing that"),
        ("fitted", "model_", 7, "model_ of SPCMMixture to a int 7, needed str"),
        ("parameters", "n_chains", "many", "n_chains of SPCMMixture to a str 'many', needed int"),
        ("parameters", "progress", {"list": [], "tuple": False}, "progress of SPCMMixture to a list, needed bool"),
        ("parameters", "no_such", 1, "sets 'no_such' of SPCMMixture"),
    ],
)
def test_values_of_other_types_are_named(saved, part, name, value, message):
    told = model_in(saved)
    told[part]["dict"][name] = value
    rewrite_model(saved, told)
    with pytest.raises(InputError, match=message) as refused:
        homothety.load(saved)
    assert str(saved) in str(refused.value)


def test_what_is_too_deep_to_be_shown_is_refused(saved):
    told, value = model_in(saved), 1
    for _ in range(200):
        value = {"list": [value], "tuple": False}
    told["parameters"]["dict"]["n_samples"] = value
    rewrite_model(saved, told)
    with pytest.raises(InputError, match="its parts are too deep inside each other"):
        homothety.load(saved)


def test_an_object_in_the_place_of_a_model_is_refused(saved):
    rewrite_model(saved, model_in(saved) | {"class": "NIW"})
    with pytest.raises(InputError, match="holds a NIW in the place of a model"):
        homothety.load(saved)


def test_parts_of_objects_are_checked(saved):
    code = {"object": "SPCMVariant", "fields": {"ddof": "x"}}
    told = model_in(saved)
    told["parameters"]["dict"]["variant"] = code
    rewrite_model(saved, told)
    with pytest.raises(InputError, match="sets ddof of SPCMVariant to a str 'x', needed int"):
        homothety.load(saved)


@pytest.mark.parametrize("part", ["labels", "provenance", "matrices", "n_dims", "chains"])
def test_parts_of_results_are_checked(saved, part):
    told = model_in(saved)
    told["fitted"]["dict"]["result_"]["fields"][part] = "x"
    rewrite_model(saved, told)
    with pytest.raises(InputError, match=f"sets {part} of Partition to a str 'x', needed"):
        homothety.load(saved)


def test_a_model_that_would_not_fit_in_memory_is_refused(saved):
    with memory_limit(1000), pytest.raises(InputError, match=r"model\.homothety would take .* the limit is 1\.0 kB"):
        homothety.load(saved)


def test_every_fitted_attribute_is_in_the_schema():
    folder = Path(homothety.__file__).parent / "estimators"
    assigned = {
        target.attr
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        for target in [node]
        if isinstance(target.value, ast.Name) and target.value.id == "self" and target.attr.endswith("_")
    }
    assert assigned
    assert (assigned - {"__doc__"}) | {"n_features_in_"} == set(_FITTED)


def test_blocks_of_channels_come_back_as_such(tmp_path):
    model = make_framed_segmentation(make_recordings())
    model.save(tmp_path / "model")
    loaded = homothety.load(tmp_path / "model")
    assert loaded.blocks_ == model.blocks_
    assert loaded.blocks_.channels == ((0, 1, 2),)
    assert [one.angle for one in loaded.frames_] == [one.angle for one in model.frames_]


def test_results_come_back_whole(tmp_path):
    result = make_framed_segmentation(make_recordings()).result_
    result.save(tmp_path / "result")
    back = homothety.load(tmp_path / "result")
    assert (
        repr(back) == repr(result) == "<Segmentation by ActionHMM: 3 recordings in 12 segments of 3 actions (4 states)>"
    )
    for name in result.tables():
        assert [dict(row) for row in back.tables()[name]] == [dict(row) for row in result.tables()[name]]
    assert back.chains.verdict == result.chains.verdict
    for path, other in zip(back.actions_at(2), result.actions_at(2), strict=True):
        np.testing.assert_array_equal(path, other)


def test_models_of_the_version_before_are_refused_by_name(saved):
    rewrite_header(saved, format=1, version="0.1.0")
    with pytest.raises(InputError, match=r"written by homothety 0\.1\.0: use that version, or fit the model again"):
        homothety.load(saved)


def test_arrays_that_model_and_result_share_are_stored_once(tmp_path):
    model = SPCMMixture(n_sweeps=4, n_chains=1, random_state=0).fit(make_toy_3d(random_state=0).matrices)
    model.covariances_ = model.result_.matrices
    model.save(tmp_path / "m")
    loaded = homothety.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.covariances_, loaded.matrices_)
    with zipfile.ZipFile(tmp_path / "m") as archive:
        shapes = [np.load(archive.open(name)).shape for name in archive.namelist() if name.endswith(".npy")]
    assert shapes.count(model.matrices_.shape) == 1


@pytest.mark.parametrize(
    ("value", "annotation", "is_such"),
    [
        (1, "int", True),
        (True, "int", True),
        (1.0, "int", True),
        (1.5, "int", False),
        ("1", "int", False),
        (1, "float", True),
        (None, "float", False),
        (None, "float | None", True),
        ((1, 2), "tuple[int, ...]", True),
        ((1, "x"), "tuple[int, ...]", False),
        ((1, "x"), "tuple[int, str]", True),
        ((1,), "tuple[int, str]", False),
        ({"a": np.ones((1, 2))}, "dict[str, f2]", True),
        ({1: np.ones((1, 2))}, "dict[str, f2]", False),
        (np.ones(2), "f2", False),
        (np.ones(2, dtype=np.uint8), "i1", True),
        (np.ones(2), "IntArray", False),
        ([np.ones(2)], "list[FloatArray]", True),
        ("all", "Literal['all', 'yaw']", True),
        ("none", "Literal['all', 'yaw']", False),
        (3, "NIW", False),
        (3, "SomethingElse", True),
    ],
)
def test_types_are_told_by_annotations(value, annotation, is_such):
    assert fits(value, annotation) == is_such
