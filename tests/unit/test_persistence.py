"""Model files: nothing in them can execute, and what is wrong with one is said."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

import homothety
from fabricated import make_framed_segmentation, make_recordings
from homothety import SPCMMixture
from homothety.covariance import SPCMVariant
from homothety.datasets import make_toy_3d
from homothety.errors import InputError
from homothety.persistence import HEADER


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
    with pytest.raises(InputError, match="has format 99, this version of homothety reads 2"):
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
    model.cluster_sizes_ = model.result_.matrices
    model.save(tmp_path / "m")
    loaded = homothety.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.cluster_sizes_, loaded.matrices_)
    with zipfile.ZipFile(tmp_path / "m") as archive:
        shapes = [np.load(archive.open(name)).shape for name in archive.namelist() if name.endswith(".npy")]
    assert shapes.count(model.matrices_.shape) == 1
