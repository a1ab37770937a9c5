from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest

from homothety.datasets import make_dti, read_matrices, write_label_image
from homothety.datasets.readers import brain
from homothety.errors import InputError

nibabel = pytest.importorskip("nibabel")

AFFINE = np.array([[-2.0, 0, 0, 90], [0, 1.5, 0.1, -120], [0, -0.1, 3, -70], [0, 0, 0, 1]])
# Entry (row, column) of the tensor of the voxel with index v is v + 10 * (row + 1) + (column + 1).
TENSOR = np.array([[11, 12, 13], [12, 22, 23], [13, 23, 33]])
LISTED = {
    "nifti": [11, 12, 22, 13, 23, 33],
    "dipy": [11, 12, 22, 13, 23, 33],
    "fsl": [11, 12, 13, 22, 23, 33],
    "mrtrix": [11, 22, 33, 12, 13, 23],
}
GRID = (2, 3, 4)


def components(order):
    """Six components per voxel of a small image, all voxels different."""
    return np.arange(24.0).reshape(*GRID, 1) + np.array(LISTED[order], dtype=float)


@pytest.fixture
def write_tensors(tmp_path):
    """Write a tensor image and return its path."""

    def write(values, intent=None, name="tensors.nii.gz", affine=AFFINE, dtype=np.float32):
        image = nibabel.Nifti1Image(values.astype(dtype), affine)
        if intent is not None:
            image.header.set_intent(intent)
        nibabel.save(image, tmp_path / name)
        return tmp_path / name

    return write


@pytest.mark.parametrize("name", ["tensors.nii", "tensors.nii.gz"])
@pytest.mark.parametrize("order", LISTED)
def test_component_orders(write_tensors, order, name):
    read = read_matrices(write_tensors(components(order), name=name), order=order)
    np.testing.assert_array_equal(read.matrices, TENSOR + np.arange(24)[:, None, None])
    np.testing.assert_array_equal(read.positions, np.argwhere(np.ones(GRID)))
    np.testing.assert_allclose(read.affine, AFFINE, rtol=1e-6)
    assert (read.grid, read.name, read.labels) == (GRID, "tensors", None)


def test_five_dimensions_with_their_intent_need_no_order(write_tensors):
    path = write_tensors(components("nifti")[:, :, :, None, :], intent=1005)
    np.testing.assert_array_equal(read_matrices(path).matrices, TENSOR + np.arange(24)[:, None, None])


def test_the_order_told_rules_over_the_intent(write_tensors):
    path = write_tensors(components("fsl")[:, :, :, None, :], intent=1005)
    np.testing.assert_array_equal(read_matrices(path, order="fsl").matrices[0], TENSOR)


def test_background_is_left_out(write_tensors):
    values = components("fsl")
    values[0, 0] = 0
    values[1, 2, 3] = np.nan
    read = read_matrices(write_tensors(values), order="fsl")
    inside = np.ones(GRID, dtype=bool)
    inside[0, 0] = inside[1, 2, 3] = False
    np.testing.assert_array_equal(read.positions, np.argwhere(inside))
    np.testing.assert_array_equal(read.matrices[:, 0, 0], 11 + np.arange(24).reshape(GRID)[inside])


@pytest.mark.parametrize("kind", ["array", "path", "text", "four axes"])
def test_mask(write_tensors, tmp_path, kind):
    inside = np.zeros(GRID, dtype=np.uint8)
    inside[1, 2, 0] = inside[0, 1, 3] = 2
    stored = inside[..., None] if kind == "four axes" else inside
    nibabel.save(nibabel.Nifti1Image(stored, AFFINE), tmp_path / "mask.nii")
    mask = {"array": inside, "text": str(tmp_path / "mask.nii")}.get(kind, tmp_path / "mask.nii")
    read = read_matrices(write_tensors(components("fsl")), order="fsl", mask=mask)
    np.testing.assert_array_equal(read.positions, [[0, 1, 3], [1, 2, 0]])
    np.testing.assert_array_equal(read.matrices[:, 0, 0], [11 + 7, 11 + 20])


def test_only_positive_definite_tensors(write_tensors):
    field = make_dti((2, 3, 4), 2, random_state=0)
    values = field.to_image(field.matrices)[..., [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]] * 1e3
    values[1, 1, 1] = [1, 0, 0, 1, 0, -1]
    read = read_matrices(write_tensors(values), order="fsl", only_spd=True)
    assert len(read) == 23
    assert [1, 1, 1] not in read.positions.tolist()


def test_scaled_integers(tmp_path):
    image = nibabel.Nifti1Image(components("fsl"), AFFINE)
    image.set_data_dtype(np.int16)
    nibabel.save(image, tmp_path / "tensors.nii")
    read = read_matrices(tmp_path / "tensors.nii", order="fsl")
    np.testing.assert_allclose(read.matrices, TENSOR + np.arange(24)[:, None, None], rtol=1e-3)


@pytest.mark.parametrize("n_slabs", [1, 3, 100])
@pytest.mark.parametrize("name", ["tensors.nii", "tensors.nii.gz"])
@pytest.mark.parametrize("dtype", [np.float32, np.int16])
def test_slabs_make_up_the_whole_image(tmp_path, monkeypatch, name, n_slabs, dtype):
    values = np.random.default_rng(0).normal(size=(3, 2, 7, 1, 6))
    values[1, :, 2:6] = 0
    image = nibabel.Nifti1Image(values, AFFINE)
    image.set_data_dtype(dtype)  # whole numbers are stored with a slope and an intercept
    nibabel.save(image, tmp_path / name)
    whole = np.asarray(nibabel.load(tmp_path / name).dataobj)[:, :, :, 0, :]
    inside = np.ones(whole.shape[:3], dtype=bool)
    inside[1, :, 2:6] = False
    monkeypatch.setattr(brain, "_N_SLABS", n_slabs)
    for mask in (inside, None):
        if mask is None and dtype == np.int16:
            continue  # scaling makes something else of zeros
        read = read_matrices(tmp_path / name, order="mrtrix", mask=mask)
        np.testing.assert_array_equal(read.positions, np.argwhere(inside))
        np.testing.assert_array_equal(read.matrices, whole[inside][:, [[0, 3, 4], [3, 1, 5], [4, 5, 2]]])


def test_a_slab_is_all_there_is_in_memory_besides_the_tensors(write_tensors):
    path = write_tensors(np.ones((32, 32, 32, 6)) * [3, 0, 0, 2, 0, 1])
    read_matrices(path, order="fsl")  # whatever is loaded by the first reading
    tracemalloc.start()
    read = read_matrices(path, order="fsl")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.25 * (read.matrices.nbytes + read.positions.nbytes)


@pytest.mark.parametrize("name", ["labels.nii", "labels.nii.gz"])
def test_label_image_overlays_on_its_source(write_tensors, tmp_path, name):
    mask = np.zeros(GRID, dtype=bool)
    mask[1, 2, 0] = mask[0, 1, 3] = mask[0, 0, 0] = True
    source = read_matrices(write_tensors(components("fsl")), order="fsl", mask=mask)
    write_label_image(tmp_path / name, [4, 0, 4], source)
    image = nibabel.load(tmp_path / name)
    expected = np.zeros(GRID, dtype=int)
    expected[0, 0, 0], expected[0, 1, 3], expected[1, 2, 0] = 2, 1, 2
    np.testing.assert_array_equal(np.asarray(image.dataobj), expected)
    np.testing.assert_allclose(image.affine, AFFINE, rtol=1e-6)
    assert image.get_data_dtype() == np.int32
    assert image.header.get_intent()[0] == "label"


def test_label_image_of_a_plane(tmp_path):
    field = make_dti((5, 6), 3, random_state=0)
    write_label_image(str(tmp_path / "regions.nii"), field.labels, field)
    image = nibabel.load(tmp_path / "regions.nii")
    np.testing.assert_array_equal(np.asarray(image.dataobj)[:, :, 0], field.to_image(field.labels + 1))
    np.testing.assert_array_equal(image.affine, np.eye(4))


def test_label_image_that_cannot_be_written(tmp_path):
    field = make_dti((2, 2), 2, random_state=0)
    with pytest.raises(InputError, match=r"labels.png does not end in .nii or .nii.gz"):
        write_label_image(tmp_path / "labels.png", field.labels, field)
    with pytest.raises(InputError, match=r"values has shape \(3,\), needed one value for each of 4 matrices"):
        write_label_image(tmp_path / "labels.nii", [1, 2, 3], field)


def test_missing_nibabel_names_the_extra(tmp_path, write_tensors, monkeypatch):
    path = write_tensors(components("fsl"))
    monkeypatch.setitem(sys.modules, "nibabel", None)
    with pytest.raises(ImportError, match=r"needs the package nibabel, .* pip install 'homothety\[dti\]' brings it"):
        read_matrices(path, order="fsl")
    with pytest.raises(ImportError, match=r"homothety\[dti\]"):
        write_label_image(tmp_path / "labels.nii", np.zeros(4), make_dti((2, 2), 2, random_state=0))


def test_order_must_be_told_where_the_image_does_not(write_tensors):
    for values, intent in [(components("fsl"), None), (components("fsl")[:, :, :, None, :], None)]:
        with pytest.raises(InputError, match=r"does not say in which order its six components are. Pass order='fsl'"):
            read_matrices(write_tensors(values, intent))


@pytest.mark.parametrize("shape", [(4, 4, 4), (4, 4, 4, 30), (4, 4, 4, 2, 6), (4, 4, 4, 1, 3)])
def test_images_that_hold_no_tensors(write_tensors, shape):
    with pytest.raises(InputError, match=r"needed a tensor image of shape \(x, y, z, 6\) or \(x, y, z, 1, 6\). Fit"):
        read_matrices(write_tensors(np.ones(shape)), order="fsl")


def test_not_a_number_inside_the_mask(write_tensors):
    values = components("fsl")
    values[1, 0, 2, 3] = np.nan
    with pytest.raises(InputError, match=r"the tensor of voxel \(1, 0, 2\) holds NaN or infinity \(1 such of 24\)"):
        read_matrices(write_tensors(values), order="fsl")


def test_complex_values(write_tensors):
    with pytest.raises(InputError, match="holds values of type complex64, needed real numbers"):
        read_matrices(write_tensors(components("fsl"), dtype=np.complex64), order="fsl")


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.ones((2, 3)), r"mask has shape \(2, 3\), needed \(2, 3, 4\), that of the tensor image"),
        (np.zeros(GRID), "no voxel is inside the mask, needed at least one with a tensor"),
    ],
)
def test_masks_that_do_not_fit(write_tensors, mask, message):
    with pytest.raises(InputError, match=message):
        read_matrices(write_tensors(components("fsl")), order="fsl", mask=mask)


def test_mask_that_lies_elsewhere(write_tensors, tmp_path):
    nibabel.save(nibabel.Nifti1Image(np.ones(GRID, dtype=np.uint8), np.eye(4)), tmp_path / "mask.nii")
    with pytest.raises(InputError, match=r"mask.nii lies elsewhere than the tensor image: their affines differ"):
        read_matrices(write_tensors(components("fsl")), order="fsl", mask=tmp_path / "mask.nii")


def test_mask_file_that_is_missing(write_tensors, tmp_path):
    with pytest.raises(InputError, match=r"none.nii cannot be read: .* A mask is a NIfTI image"):
        read_matrices(write_tensors(components("fsl")), order="fsl", mask=tmp_path / "none.nii")


def test_truncated_image(write_tensors):
    path = write_tensors(components("fsl"), name="tensors.nii")
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(InputError, match=r"tensors.nii cannot be read: .* Check that it is a complete NIfTI image"):
        read_matrices(path, order="fsl")
