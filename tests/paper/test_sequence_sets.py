"""The paper's series have the sizes the table was run on, and the labels that belong to them."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import shared_data_folder
from homothety.errors import InputError
from homothety.sequences import check_sequences
from paper import printed, table4
from paper.sequence_sets import SEQUENCE_RECIPES, load_sequence_set, load_sequence_sets

SIZES = {  # series, steps, dimensions, true actions
    "toy-2d": (4, 2014, 2, 2),
    "toy-2d-published": (3, 1438, 2, 2),
    "grating": (6, 18558, 3, 3),
    "grating-7d": (6, 18558, 7, 3),
    "grating-full": (12, 34587, 7, 3),
    "rolling": (5, 23907, 3, 3),
    "rolling-full": (5, 23907, 6, 3),
    "peeling": (3, 32105, 13, 5),
    "peeling-full": (3, 32105, 26, 5),
    "peeling-positions": (5, 54539, 6, 5),
}


@pytest.mark.parametrize("key", sorted(SEQUENCE_RECIPES))
def test_sizes_and_labels(key, shared_data):
    stored = shared_data(SEQUENCE_RECIPES[key].file)
    read = load_sequence_set(key, shared_data_folder())
    labels = np.concatenate(read.actions)
    assert (len(read), read.n_steps, read.n_dims, len(np.unique(labels))) == SIZES[key]
    np.testing.assert_array_equal(labels, stored["labels"][: read.n_steps])
    assert len(read.channels) == read.n_dims
    check_sequences(read.sequences)


def test_grating_is_only_centred(shared_data):
    raw = np.split(shared_data("grating_7d.npz")["x"][:, :3], [2955, 5909])[:2]
    read = load_sequence_set("grating", shared_data_folder())
    for one, recorded in zip(read.sequences, raw, strict=False):
        np.testing.assert_allclose(one, recorded - recorded.mean(axis=0), atol=1e-12)
    unprepared = load_sequence_set("grating", shared_data_folder(), prepare=False)
    np.testing.assert_array_equal(unprepared.sequences[1], raw[1])


def test_rolling_velocities_are_smoothed_differences(shared_data):
    from scipy.signal import savgol_filter

    stored = shared_data("rolling_pos3d.npz")
    differences = np.diff(stored["x"][: stored["lengths"][0]], axis=0)
    smoothed = 1000 * savgol_filter(differences, 151, 3, axis=0)
    read = load_sequence_set("rolling", shared_data_folder()).sequences[0][1:]
    inner = slice(80, -80)
    gaps = read[inner] - read[inner].mean(axis=0) - (smoothed[inner] - smoothed[inner].mean(axis=0))
    assert gaps.std() < 0.05 * smoothed.std()


def test_the_toy_is_made_where_its_file_is_missing(tmp_path):
    assert len(load_sequence_set("toy-2d", tmp_path)) == 4
    sets, notes = load_sequence_sets(["toy-2d", "grating"], tmp_path)
    assert [one.key for one in sets] == ["toy-2d"]
    assert notes == [
        f"Toy 2D: {tmp_path / 'toy_2d_seed0.npz'} is not there, so it was generated anew with seed 0.",
        f"Grating, 6 x 3-D: skipped, {tmp_path / 'grating_7d.npz'} is not there. 'python -m paper.authors' makes it "
        "from a clone of the authors' repository ICSC-HMM.",
    ]


def test_steps_are_labelled_in_the_order_of_the_series(tmp_path):
    (toy,), _ = load_sequence_sets(["toy-2d"], tmp_path)
    made = load_sequence_set("toy-2d", tmp_path)
    np.testing.assert_array_equal(toy.labels, np.concatenate(made.actions))
    assert (len(toy), toy.n_classes, toy.paper_key) == (made.n_steps, 2, "toy-2d")
    assert list(map(len, toy.sequences)) == list(map(len, made.sequences))


def test_full_inputs_are_compared_with_the_rows_the_paper_has(tmp_path):
    rows = {name for name, _, _ in printed.TABLE_4}
    for key in table4.SETS:
        assert (SEQUENCE_RECIPES[key].printed_as or key) in rows


def test_unknown_sets_are_named(tmp_path):
    with pytest.raises(InputError, match="no set 'grate' here, only toy-2d"):
        load_sequence_set("grate", tmp_path)
