"""Files cannot make the library take more memory than they may: sizes are checked before anything is read."""

from __future__ import annotations

import io
import struct
import zipfile

import numpy as np
import pytest

from homothety.archives import (
    LEAST,
    MOST_RATIO,
    array_of,
    bytes_of,
    check_size,
    limit_for,
    memory_limit,
    opened_archive,
    read_arrays,
    read_member,
)
from homothety.errors import InputError


def npy(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def archive_of(members, method=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer


def patched(buffer, signature, offset, form, value):
    """Change a field in all directory entries (PK 1 2) or member headers (PK 3 4) of an archive."""
    content = bytearray(buffer.getvalue())
    place = content.find(signature)
    while place >= 0:
        struct.pack_into(form, content, place + offset, value)
        place = content.find(signature, place + 4)
    return io.BytesIO(bytes(content))


def test_arrays_come_back(rng):
    arrays = {"a": rng.normal(size=(3, 2)), "b": np.array(["x", "yz"]), "c": np.asfortranarray(np.ones((2, 3)))}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    found = read_arrays(buffer, "x.npz")
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].flags.f_contiguous == array.flags.f_contiguous


def test_a_bomb_is_refused_before_it_is_inflated(monkeypatch):
    bomb = archive_of({f"a{i}.npy": npy(np.zeros(10**6)) for i in range(3)})
    monkeypatch.setattr(zipfile.ZipFile, "open", None)  # nothing may be read
    with memory_limit("20M"), pytest.raises(InputError, match=r"x\.npz would take 24\.0 MB .* is 20\.0 MB\. If you tr"):
        read_arrays(bomb, "x.npz")


def test_default_limit_is_a_multiple_of_the_file_and_never_small():
    assert limit_for(10) == LEAST
    assert limit_for(10**8) == min(MOST_RATIO * 10**8, limit_for(10**15))
    with memory_limit("2k"):
        assert limit_for(10**8) == 2000
        with memory_limit(None):
            assert limit_for(10) == 2000
    check_size(LEAST, 10, "x")
    with pytest.raises(InputError, match="--max-memory"):
        check_size(LEAST + 1, 10, "x")


@pytest.mark.parametrize("text", ["", "much", "-1G", "0", "1P", "1.2.3M"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(InputError, match="needed a number of bytes such as 500M or 8G"):
        bytes_of(text)


DIRECTORY, MEMBER = b"PK\x01\x02", b"PK\x03\x04"
LIES = {
    "a member declares less than it holds": (DIRECTORY, 24, "<L", 50, "another size|CRC"),
    "a member declares more than it can hold": (DIRECTORY, 24, "<L", 2**31, "cannot have"),
    "members are longer than the file": (DIRECTORY, 20, "<L", 2**30, "overlap"),
    "a member is encrypted": (DIRECTORY, 8, "<H", 1, "is encrypted, or compressed by an unusual method"),
    "a member is compressed by another method": (DIRECTORY, 10, "<H", 99, "unusual method"),
}


@pytest.mark.parametrize("case", LIES)
def test_directories_that_lie_are_noticed(case):
    signature, offset, form, value, message = LIES[case]
    buffer = patched(archive_of({"a": b"0" * 200}), signature, offset, form, value)
    with pytest.raises(zipfile.BadZipFile, match=message), opened_archive(buffer, "x") as archive:
        read_member(archive, "a")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a", b"1")
        archive.writestr("a", b"2")
    with pytest.raises(zipfile.BadZipFile, match="two members have one name"), opened_archive(buffer, "x"):
        pass


@pytest.mark.parametrize("dtype", ["<U3", ">U3"])
def test_texts_of_all_kinds_come_back(dtype):
    texts = np.array([["é", "a\U0001f600"], ["", "\uffff"]], dtype=dtype)
    np.testing.assert_array_equal(array_of(npy(np.asfortranarray(texts)), "x"), texts)


def header(shape, descr="<f8"):
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (header((10**12,)), "would take 8.0 TB"),
        (header((2**40, 2**40)), "would take"),
        (header((100,)) + bytes(80), "declares 800 bytes, but has 80"),
        (header((-1,)) + bytes(80), "declares a shape"),
        (npy(np.array([{}]), allow_pickle=True), "allow_pickle=False"),
        (b"\x93NUMPY\x09\x00", "version"),
        (b"nonsense", "magic"),
        (header((1,), "<U1") + b"\xff\xff\xff\x7f", "characters that do not exist"),
        (header((1,), ">U1") + b"\x00\x00\xd8\x00", "characters that do not exist"),
    ],
)
def test_arrays_that_declare_what_they_have_not_are_refused(content, message):
    with pytest.raises(ValueError, match=message):
        array_of(content, "x")
