"""Matrices and series that every format is written from and read back to."""

from __future__ import annotations

import numpy as np
import pytest

from homothety.datasets.readers.apart import reading_apart
from homothety.sequences import check_sequences


@pytest.fixture
def matrices(rng):
    factors = rng.standard_normal((5, 3, 3))
    return factors @ factors.swapaxes(1, 2) + np.eye(3)


@pytest.fixture
def series(rng):
    return [rng.normal(size=(n_steps, 3)).round(4) for n_steps in (5, 7, 4)]


@pytest.fixture
def write(tmp_path):
    """Write a text to a file of the given name and return its path."""

    def write_text(text, name="demo.csv", encoding="utf-8"):
        (tmp_path / name).write_text(text, encoding=encoding)
        return tmp_path / name

    return write_text


@pytest.fixture
def table():
    """Return rows, and a header if there is one, as the text of a table."""

    def text_of(rows, header=None, delimiter=","):
        lines = [header] if header else []
        return "\n".join(delimiter.join(str(cell) for cell in line) for line in [*lines, *rows]) + "\n"

    return text_of


@pytest.fixture
def assert_series():
    """Check that series were read as they are, and can be used."""

    def assert_read(read, expected):
        assert len(read) == len(expected)
        for found, one in zip(read.sequences, expected, strict=True):
            np.testing.assert_array_equal(found, one)
            assert found.dtype == np.float64
        check_sequences(read.sequences)

    return assert_read


@pytest.fixture(autouse=True, scope="package")
def _one_reader():
    """Let all tests share the process in which files are read: each start takes a second."""
    with reading_apart():
        yield
