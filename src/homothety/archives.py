"""Zip archives and arrays in files that may be damaged or hostile: sizes are checked before anything is read.

A few megabytes of compressed zeros declare gigabytes. What a file says of its size is compared with the file, and with
a limit: that of `memory_limit`, or by default 100 times the size of the file, at least 1 GB, at most what the machine
has.
"""

from __future__ import annotations

import io
import os
import re
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import numpy as np
from numpy.lib import format as npy

from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

LEAST, MOST_RATIO = 10**9, 100  # bytes that any file may take, and bytes per byte of the file
_DEFLATE_RATIO = 1040  # more bytes than this cannot come out of one compressed byte
_SMALL = 10**4  # bytes of the header of a member, of an archive or of an array, that are not worth comparing
_ENCRYPTED, METHODS = 0x1, (ZIP_STORED, ZIP_DEFLATED)
_LAST_CHARACTER, _SURROGATES = 0x10FFFF, (0xD800, 0xDFFF)
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([KMGT]?)(?:i?B)?", re.IGNORECASE)

_limit: ContextVar[int | None] = ContextVar("memory limit", default=None)


@contextmanager
def memory_limit(size: int | str | None) -> Iterator[None]:
    """Let no file that is read take more memory than this while the context lasts.

    Parameters
    ----------
    size : int, str or None
        Bytes, or a text such as ``"8G"``. None leaves the limit as it is.
    """
    token = _limit.set(_limit.get() if size is None else bytes_of(size))
    try:
        yield
    finally:
        _limit.reset(token)


def bytes_of(size: int | str) -> int:
    """Return a size in bytes.

    Examples
    --------
    >>> bytes_of("1.5G"), bytes_of("200 MB"), bytes_of(10)
    (1500000000, 200000000, 10)
    """
    found = _SIZE.fullmatch(str(size).strip())
    if not found or (n_bytes := int(float(found[1]) * _UNITS[found[2].upper()])) < 1:
        raise InputError(f"A memory limit is {size!r}, needed a number of bytes such as 500M or 8G.")
    return n_bytes


def in_words(n_bytes: int) -> str:
    """Return a size as people say it.

    Examples
    --------
    >>> in_words(4_294_967_296), in_words(999)
    ('4.3 GB', '999 bytes')
    """
    unit = next((unit for unit in "TGMK" if n_bytes >= _UNITS[unit]), "")
    return f"{n_bytes / _UNITS[unit]:.1f} {unit.replace('K', 'k')}B" if unit else f"{n_bytes} bytes"


def limit_for(n_bytes: int) -> int:
    """Return the bytes that a file of a size may take in memory."""
    chosen = _limit.get()
    return min(max(LEAST, MOST_RATIO * n_bytes), _memory_of_machine()) if chosen is None else chosen


def _memory_of_machine() -> int:
    """Return the bytes of memory there are, as far as that can be found out."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows has no such function
        return 2**63


def check_size(needed: int, n_bytes: int, item: str) -> None:
    """Raise if `item`, of a file of `n_bytes`, would take more memory than it may."""
    limit = limit_for(n_bytes)
    if needed > limit:
        raise InputError(
            f"{item} would take {in_words(needed)} in memory, and its file has {in_words(n_bytes)}; the limit is "
            f"{in_words(limit)}. If you trust the file, raise the limit with --max-memory (in Python: "
            "homothety.archives.memory_limit)."
        )


# --- archives ---------------------------------------------------------------------------------------------------------


@contextmanager
def opened_archive(file: BinaryIO, item: str) -> Iterator[ZipFile]:
    """Give a zip archive whose directory is consistent with the file and within the limit, or raise."""
    n_bytes = file.seek(0, os.SEEK_END)
    file.seek(0)
    with ZipFile(file) as archive:
        members = archive.infolist()
        names = [member.filename for member in members]
        if len(set(names)) < len(names):
            raise BadZipFile("two members have one name")
        if sum(member.compress_size for member in members) > n_bytes:
            raise BadZipFile("members overlap")
        for member in members:
            if member.flag_bits & _ENCRYPTED or member.compress_type not in METHODS:
                raise BadZipFile(f"{member.filename} is encrypted, or compressed by an unusual method")
            if member.file_size > _DEFLATE_RATIO * member.compress_size + _SMALL:
                raise BadZipFile(f"{member.filename} declares a size that its compressed bytes cannot have")
        check_size(sum(member.file_size for member in members), n_bytes, item)
        yield archive


def read_member(archive: ZipFile, name: str) -> bytes:
    """Return a member of an archive, never more than the directory declares."""
    size = archive.getinfo(name).file_size
    with archive.open(name) as member:
        content = member.read(size)
        if len(content) != size or member.read(1):
            raise BadZipFile(f"{name} has another size than the directory of the archive declares")
    return content


def read_arrays(file: BinaryIO, item: str) -> dict[str, NDArray[Any]]:
    """Return all arrays of an .npz archive by name; other members are left out."""
    with opened_archive(file, item) as archive:
        members = ((name.removesuffix(".npy"), read_member(archive, name)) for name in archive.namelist())
        is_array = npy.MAGIC_PREFIX
        return {name: array_of(found, f"{item}, array {name!r}") for name, found in members if found[:6] == is_array}


def array_of(content: bytes, item: str) -> NDArray[Any]:
    """Return an array from the bytes of an .npy file, or raise ValueError."""
    return read_array(io.BytesIO(content), len(content), item)


def read_array(file: BinaryIO, n_bytes: int, item: str) -> NDArray[Any]:
    """Return the array of an .npy file of a known size, which must be the size that its header declares."""
    start = file.tell()
    version = npy.read_magic(file)
    if version not in _READERS:
        raise ValueError(f"{item} has version {version} of the format, needed one of {sorted(_READERS)}")
    reader: Any = _READERS[version]  # some versions of NumPy have no types for it
    shape, _, dtype = reader(file)
    if dtype.hasobject:
        raise ValueError("Object arrays cannot be loaded when allow_pickle=False")
    if any(size < 0 for size in shape):
        raise ValueError(f"{item} declares a shape {shape}")
    declared = dtype.itemsize
    for size in shape:
        declared *= size
    check_size(declared, n_bytes, item)
    left = n_bytes - (file.tell() - start)
    if declared > left:
        raise ValueError(f"{item} declares {declared} bytes, but has {left}")
    file.seek(start)
    array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
    check_text(array, item)
    return array


def check_text(array: NDArray[Any], item: str) -> None:
    """Raise ValueError for an array of texts with characters that do not exist: Python fails wherever it meets them."""
    if array.dtype.kind != "U" or not array.size:
        return
    codes = np.ascontiguousarray(array).reshape(-1).view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    if ((codes > _LAST_CHARACTER) | ((codes >= _SURROGATES[0]) & (codes <= _SURROGATES[1]))).any():
        raise ValueError(f"{item} holds texts with characters that do not exist")


_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
