"""The paper's sets out of files laid out as the authors': made up here, and their own where they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import savemat

from conftest import shared_data_folder
from homothety.errors import InputError
from paper.authors import AUTHORS_SETS, import_sets, main
from paper.diffusion import even_directions, fit_tensors, read_fdt
from paper.sequence_sets import SEQUENCE_RECIPES
from paper.sets import RECIPES


def cells(items):
    array = np.empty((1, len(items)), dtype=object)
    array[0, :] = items
    return array


def imported(folder):
    """Return the arrays of each set and what was said of all."""
    outcomes = import_sets(folder)
    made = {file: one.arrays for file, one in outcomes.items() if one.arrays is not None}
    return made, {file: one.text for file, one in outcomes.items()}


@pytest.fixture
def recordings(rng):
    """Series of so many channels, time along the second axis as in most of the authors' files, with labels."""

    def make(n_channels, lengths):
        series = [rng.normal(size=(n_channels, n_steps)) for n_steps in lengths]
        return series, [np.arange(n_steps)[None] % 3 + 1 for n_steps in lengths]

    return make


def test_peeling_with_and_without_its_largest_file(tmp_path, recordings):
    folder = tmp_path / "ICSC-HMM/test-data/Peeling"
    folder.mkdir(parents=True)
    few, few_labels = recordings(26, [8, 9])
    savemat(folder / "proc-data-noObj.mat", {"Data_noObj": cells(few), "True_states_noObj": cells(few_labels)})
    made, said = imported(tmp_path)
    assert list(made) == ["peeling_26d.npz"]
    assert (made["peeling_26d.npz"]["series"].tolist(), "without series 2" in said["peeling_26d.npz"]) == ([4, 5], True)
    assert "proc-data-labeled.mat" in said["peeling_pos6d.npz"]

    many, many_labels = recordings(32, [5, 6, 7])  # six more channels: the looks of the vegetable
    savemat(folder / "proc-data-labeled.mat", {"Data": cells(many)})
    savemat(folder / "proc-labels.mat", {"True_states": cells(many_labels)})
    made, said = imported(tmp_path / "ICSC-HMM")
    full, positions = made["peeling_26d.npz"], made["peeling_pos6d.npz"]
    assert (full["series"].tolist(), full["lengths"].tolist()) == ([2, 4, 5], [6, 8, 9])
    np.testing.assert_array_equal(full["x"], np.concatenate([many[1][:26].T, few[0].T, few[1].T]))
    np.testing.assert_array_equal(full["labels"], np.concatenate([many_labels[1], *few_labels], axis=1).ravel())
    assert (positions["series"].tolist(), positions["channels"].tolist()[3:]) == (
        [1, 2, 3, 4, 5],
        ["x_p", "y_p", "z_p"],
    )
    np.testing.assert_array_equal(positions["x"][:5], many[0][[0, 1, 2, 13, 14, 15]].T)
    assert "WARNING: its labels come" in said["peeling_26d.npz"]


def test_rolling_is_every_third_series(tmp_path, recordings):
    folder = tmp_path / "test-data/Rolling"
    folder.mkdir(parents=True)
    series, labels = recordings(13, range(4, 11))
    savemat(folder / "proc-data-labeled.mat", {"Data": cells(series), "True_states": cells(labels)})
    made = imported(tmp_path)[0]["rolling_pos3d.npz"]
    assert made["lengths"].tolist() == [4, 7, 10]
    np.testing.assert_array_equal(made["x"][4:11], series[3][:3].T)
    savemat(folder / "proc-data-labeled.mat", {"Data": cells(series), "True_states": cells(labels[::-1])})
    with pytest.raises(InputError, match="Series 0 has 4 steps but 10 labels"):
        imported(tmp_path)
    savemat(folder / "proc-data-labeled.mat", {"X": series[0]})
    with pytest.raises(InputError, match="has no cell array 'Data'"):
        imported(tmp_path)


@pytest.fixture
def write_rat(tmp_path, rng):
    """Write the signals of tensors as the authors' files have the rat's, and return the folder."""

    def write(tensors, baselines, grid):
        folder = tmp_path / "SPCM-CRP/datasets/fandtasia_demo"
        folder.mkdir(parents=True)
        directions = rng.normal(size=(47, 3))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        weights = np.r_[np.zeros(2), np.full(45, 1250.0)]
        decays = weights * np.einsum("vi,nij,vj->nv", directions, tensors, directions)
        image = (baselines[:, None] * np.exp(-decays)).reshape(*grid, 1, 47)
        header = np.array(image.shape, dtype=">i4").tobytes()
        (folder / "fandtasia_demo.fdt").write_bytes(header + image.astype(">f4").tobytes(order="F"))
        np.savetxt(folder / "fandtasia_demo.txt", np.column_stack([directions, weights]))
        return tmp_path

    return write


def test_tensors_of_the_rat_are_fitted_and_classed(write_rat, rng):
    factors = rng.normal(size=(12, 3, 3)) * 0.02
    tensors = factors @ factors.swapaxes(1, 2) + 1e-4 * np.eye(3)
    made = imported(write_rat(tensors, np.full(12, 2e5), (3, 4)))[0]["dti_rat_hippocampus.npz"]
    np.testing.assert_allclose(made["matrices"], tensors, rtol=1e-3, atol=2e-8)
    np.testing.assert_allclose(made["s0"], 2e5, rtol=1e-4)
    np.testing.assert_array_equal(made["row"] * 4 + made["col"], np.arange(12))
    np.testing.assert_array_equal(made["labels"], 1 + np.floor((made["fa"] - made["fa"].min()) / 0.25))


def test_tensors_are_never_indefinite(rng):
    directions = rng.normal(size=(30, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    growing = np.exp(1000.0 * directions[:, 0] ** 2 * 1e-3)[None]  # diffusion below zero along one axis
    fitted = fit_tensors(growing, directions, np.full(30, 1000.0)).matrices[0]
    assert np.linalg.eigvalsh(fitted).min() >= -1e-18


def test_directions_are_even():
    directions = even_directions()
    products = np.abs(directions @ directions.T) - np.eye(81)
    assert directions.shape == (81, 3)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1)
    nearest = np.degrees(np.arccos(products.max(axis=1)))
    assert (nearest.min() > 15, nearest.max() < 21) == (True, True)


def test_a_cut_image_is_named(tmp_path):
    (tmp_path / "x.fdt").write_bytes(np.array([2, 2, 1, 3], dtype=">i4").tobytes() + bytes(8))
    with pytest.raises(InputError, match=r"says its sizes are \[2, 2, 1, 3\] but holds 2 values"):
        read_fdt(tmp_path / "x.fdt")


def test_every_set_is_one_that_tables_read():
    read = {one.file for one in (*RECIPES.values(), *SEQUENCE_RECIPES.values())}
    assert {one.file for one in AUTHORS_SETS} <= read


@pytest.mark.parametrize("name", ["task_ellipsoids_6d", "eth80_similarity", "grating_7d", "peeling_26d"])
def test_the_authors_files_give_the_sets(shared_data, name):
    expected = shared_data(f"{name}.npz")
    folder = shared_data_folder() / "original"
    if not folder.is_dir():
        pytest.skip("the authors' own files are not here")
    made, said = imported(folder)
    found = made[f"{name}.npz"]
    assert set(found) == set(expected)
    skipped = 10952 if name == "peeling_26d" else 0  # steps of a series that the samples of the files lack
    for key, values in expected.items():
        kept = (
            values[skipped:]
            if key in ("x", "labels")
            else values[1:]
            if key in ("lengths", "series") and skipped
            else values
        )
        np.testing.assert_array_equal(found[key], kept)
    assert "WARNING" not in said[f"{name}.npz"]


def test_signals_of_the_rats_tensors_give_them_back(shared_data, write_rat):
    expected = shared_data("dti_rat_hippocampus.npz")
    part = slice(0, 32 * 6)
    made = imported(write_rat(expected["matrices"][part], expected["s0"][part], (6, 32)))[0]["dti_rat_hippocampus.npz"]
    scale = np.abs(expected["matrices"]).max()
    np.testing.assert_allclose(made["matrices"], expected["matrices"][part], atol=1e-6 * scale)
    for key in ("row", "col"):
        np.testing.assert_array_equal(made[key], expected[key][part])


def test_the_command_writes_sets_and_says_what_is_missing(tmp_path, capsys):
    source = tmp_path / "SPCM-CRP/datasets"
    source.mkdir(parents=True)
    similarity = np.eye(16)
    savemat(source / "ETH80_tau1.mat", {"S": similarity})
    main([str(tmp_path), "-o", str(tmp_path / "data")])
    said = capsys.readouterr().out
    assert "eth80_similarity.npz: 16 matrices; WARNING" in said
    assert "grating_7d.npz: not made: test-data/Grating/CarrotGrating_robot.mat" in said
    with np.load(tmp_path / "data/eth80_similarity.npz", allow_pickle=False) as made:
        np.testing.assert_array_equal(made["similarity"], similarity)
    (tmp_path / "void").mkdir()
    for folder in ("void", "nowhere"):
        with pytest.raises(SystemExit, match="2"):
            main([str(tmp_path / folder), "-o", str(tmp_path / "none")])
        assert "holds nothing of the authors' repositories" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
