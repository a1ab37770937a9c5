from __future__ import annotations

import csv

import numpy as np
import pytest

from homothety.datasets import read_matrices
from homothety.errors import InputError


@pytest.fixture
def read_text(tmp_path):
    """Write a text to a file and read matrices from it."""

    def write_and_read(text, encoding="utf-8", **options):
        (tmp_path / "set.csv").write_text(text, encoding=encoding)
        return read_matrices(tmp_path / "set.csv", **options)

    return write_and_read


def table(rows, header=None, delimiter=","):
    """A table as text, numbers in full precision."""
    lines = [header] if header else []
    return "\n".join(delimiter.join(str(cell) for cell in line) for line in [*lines, *rows]) + "\n"


def test_whole_matrices(read_text, matrices):
    read = read_text(table(matrices.reshape(5, 9).tolist()))
    np.testing.assert_array_equal(read.matrices, matrices)
    assert (read.labels, read.name) == (None, "set")


def test_as_written_by_numpy(tmp_path, matrices):
    names = ",".join(f"c{row}{column}" for row in range(3) for column in range(3))
    np.savetxt(tmp_path / "set.csv", matrices.reshape(5, 9), delimiter=",", header=names, comments="")
    np.testing.assert_allclose(read_matrices(tmp_path / "set.csv").matrices, matrices, rtol=1e-14)


def test_as_written_by_the_csv_module(tmp_path, matrices):
    with (tmp_path / "set.csv").open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow([*(f"entry, {column}" for column in range(9)), "Label"])
        writer.writerows([*matrix.ravel().tolist(), "a, b"] for matrix in matrices)
    read = read_matrices(tmp_path / "set.csv")
    np.testing.assert_array_equal(read.matrices, matrices)
    assert read.labels.tolist() == ["a, b"] * 5


@pytest.mark.parametrize("order", [None, "upper", "fsl", "lower", "mrtrix"])
def test_distinct_entries_in_a_named_order(read_text, order):
    tensor = [[11, 1, 2], [1, 22, 3], [2, 3, 33]]
    listed = {"lower": [11, 1, 22, 2, 3, 33], "mrtrix": [11, 22, 33, 1, 2, 3]}.get(order, [11, 1, 2, 22, 3, 33])
    np.testing.assert_array_equal(read_text(table([listed, listed]), order=order).matrices, [tensor, tensor])


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters(read_text, matrices, delimiter):
    text = table(matrices.reshape(5, 9).tolist(), delimiter=delimiter)
    np.testing.assert_array_equal(read_text(text).matrices, matrices)


@pytest.mark.parametrize(
    ("cells", "labels", "kind"),
    [(["1", "2", "1"], [1, 2, 1], "i"), (["a", "b", "3"], ["a", "b", "3"], "U"), (["0.5", "1", "2"], [0.5, 1, 2], "f")],
)
def test_labels_by_name_wherever_they_are(read_text, cells, labels, kind):
    rows = [[2, cell, 1, 3] for cell in cells]
    read = read_text(table(rows, ["xx", " label ", "xy", "yy"]))
    np.testing.assert_array_equal(read.matrices, [[[2, 1], [1, 3]]] * 3)
    assert read.labels.tolist() == labels
    assert read.labels.dtype.kind == kind


def test_as_data_frames_write_themselves(read_text):
    rows = [[0, 2.0, 1.0, 3.0], [1, 4.0, 1.0, 5.0]]
    expected = [[[2, 1], [1, 3]], [[4, 1], [1, 5]]]
    np.testing.assert_array_equal(read_text(table(rows, ["", 0, 1, 2])).matrices, expected)
    np.testing.assert_array_equal(read_text(table([row[1:] for row in rows], [0, 1, 2])).matrices, expected)
    read = read_text(table([[*row, "a"] for row in rows], ["", "xx", "xy", "yy", "label"]))
    np.testing.assert_array_equal(read.matrices, expected)
    assert read.labels.tolist() == ["a", "a"]


def test_byte_order_mark_blank_lines_and_windows_line_ends(read_text):
    read = read_text("xx,xy,yy\r\n\r\n2, 1,3\r\n , ,\r\n4,1,5\r\n\r\n", encoding="utf-8-sig")
    np.testing.assert_array_equal(read.matrices, [[[2, 1], [1, 3]], [[4, 1], [1, 5]]])


def test_36_columns_are_whole_unless_an_order_is_given(read_text):
    whole = (np.eye(6) + 1).ravel().tolist()
    assert read_text(table([whole])).matrices.shape == (1, 6, 6)
    triangle = (np.eye(8) + 1)[np.triu_indices(8)].tolist()
    assert read_text(table([triangle]), order="upper").matrices.shape == (1, 8, 8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n \n", "is empty, needed one matrix per row"),
        ("xx,xy,yy\n", "has a header and no rows, needed one matrix per row"),
        ("2,1,3\n4,1\n", "line 2 has 2 columns where 3 were expected"),
        ("xx,xy,yy\n\n2,1,3\n4,1,5,6\n", "line 4 has 4 columns where 3 were expected"),
        (
            "xx,xy,yy\n2,one,3\n",
            "line 2, column 2 is 'one', needed a number. Only a column that the header calls",
        ),
        ("2,,3\n2,1,3\n", "line 1, column 2 is '', needed a number"),
        ("1,2,3,4,5\n", r"has 5 columns of numbers, needed N\*N for whole matrices or N\*\(N\+1\)/2"),
        ("1,2,2,3,1\n", "A column of labels needs a header that calls it 'label'"),
        ("label\na\n", "has 0 columns of numbers"),
        ("2,1,3\n2,nan,3\n", r"matrix 1, counted from 0, holds NaN or infinity \(1 such of 2\)"),
        ("2,1,7,3\n", "matrix 0, counted from 0, is not symmetric: entries differ by up to 6"),
    ],
)
def test_tables_that_do_not_fit(read_text, text, message):
    with pytest.raises(InputError, match=rf"set\.csv.*{message}"):
        read_text(text)


def test_no_text_at_all(tmp_path):
    (tmp_path / "set.csv").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(InputError, match=r"set\.csv cannot be read: .* Save it as plain text in UTF-8"):
        read_matrices(tmp_path / "set.csv")
