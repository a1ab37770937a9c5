from __future__ import annotations

import numpy as np
import pytest

from conftest import shared_data_folder
from homothety.errors import InputError
from paper.sets import RECIPES, choose_sets, image_covariances, load_sets

SIZES = {
    "toy-3d": (5, 2, (3, 3)),
    "toy-6d": (60, 3, (6, 6)),
    "toy-6d-scaled": (60, 3, (6, 6)),
    "task": (105, 3, (6, 6)),
    "dti": (1024, 5, (3, 3)),
    "rat": (1024, 4, (3, 3)),
    "eth80": (80, 8, (80,)),
    "eth80-images": (80, 8, (400, 400)),
    "eth80-images-lerm": (80, 8, (400, 400)),
}


@pytest.mark.parametrize("key", sorted(RECIPES))
def test_the_papers_sets_have_the_papers_sizes(key, shared_data):
    if RECIPES[key].file:
        shared_data(RECIPES[key].file)  # skips where it is absent
    (paper_set,), notes = load_sets([key], shared_data_folder())
    assert (len(paper_set), paper_set.n_classes, paper_set.items.shape[1:]) == SIZES[key]
    assert len(paper_set.items) == len(paper_set.labels)
    assert notes == []


def test_toys_are_made_where_their_files_are_missing(tmp_path):
    sets, notes = load_sets(["toy-3d", "toy-6d", "toy-6d-scaled"], tmp_path / "nowhere")
    assert [paper_set.key for paper_set in sets] == ["toy-3d", "toy-6d", "toy-6d-scaled"]
    assert [note.split(":")[0] for note in notes] == ["Toy 3D", "Toy 6D"]


def test_the_scaled_toy_has_a_scale_for_each_matrix(tmp_path):
    (per_shape, per_matrix), _ = load_sets(["toy-6d", "toy-6d-scaled"], tmp_path)
    traces = [np.trace(paper_set.items[:20], axis1=1, axis2=2).round(9) for paper_set in (per_shape, per_matrix)]
    assert [len(np.unique(values)) for values in traces] == [1, 20]


def test_other_sets_are_skipped_with_a_line(tmp_path):
    path = tmp_path / RECIPES["rat"].file
    made = "'python -m paper.authors' makes it from a clone of the authors' repository SPCM-CRP."
    assert load_sets(["rat"], tmp_path) == ([], [f"Rat DTI: skipped, {path} is not there. {made}"])
    assert load_sets(["dti"], tmp_path)[1][0].endswith("It cannot be made from the authors' files.")


def test_a_file_without_labels_is_named(tmp_path):
    np.savez(tmp_path / "toy_3d.npz", matrices=np.eye(3)[None])
    with pytest.raises(InputError, match=r"toy_3d\.npz cannot be read: .*labels"):
        load_sets(["toy-3d"], tmp_path)


def test_only_the_rat_is_restricted():
    assert [key for key, recipe in RECIPES.items() if recipe.restricted] == ["rat"]


def test_sets_are_chosen_by_name_in_the_order_of_the_table():
    assert choose_sets("task, toy-3d", ("toy-3d", "task", "dti")) == ["toy-3d", "task"]
    assert choose_sets(None, ("toy-3d", "task")) == ["toy-3d", "task"]
    with pytest.raises(InputError, match="There is no set 'mice' here, only toy-3d, task"):
        choose_sets("mice,task", ("toy-3d", "task"))


def test_image_covariances_are_centred_with_a_ridge_of_the_trace(rng):
    images = rng.integers(0, 256, size=(2, 5, 4)).astype(np.uint8)
    centred = images[1] - images[1].mean(axis=0)
    covariance = centred.T @ centred / 4
    np.testing.assert_allclose(image_covariances(images)[1], covariance + 1e-3 * np.trace(covariance) * np.eye(4))
