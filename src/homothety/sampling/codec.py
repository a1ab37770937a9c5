"""States and draws as bytes and back, exactly, without pickle: one JSON text and plain arrays in a zip.

What can be stored: numbers, texts, None, arrays, lists, tuples, dicts, and the dataclasses and named tuples that were
marked `storable`. A class is known in a file by its name, and the name is looked up among the marked ones alone:
reading a file imports nothing and executes nothing.

The bytes begin with a seal, the digest of all that follows: whatever a disk or a network has changed is noticed.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from homothety.archives import array_of, opened_archive, read_member
from homothety.errors import CheckpointError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TEXT = "value.json"
SEAL = b"homothety "  # how files begin, before their digest
N_SEALED = len(SEAL) + 64 + 1
_PLAIN_KINDS = "biufcU"  # of arrays: numbers, truth values and texts

_Class = TypeVar("_Class", bound=type)

_storable: dict[str, type] = {}


def storable(cls: _Class) -> _Class:
    """Mark a dataclass or named tuple as one that files may hold; use as a decorator."""
    if not (is_dataclass(cls) or _is_named_tuple(cls)):
        raise TypeError(f"{cls.__name__} is neither a dataclass nor a named tuple.")
    _storable[_name_of(cls)] = cls
    return cls


def to_bytes(value: Any) -> bytes:
    """Return a value as the bytes of a zip archive, sealed."""
    pool = _ArrayPool()
    text = json.dumps(_encode(value, pool))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(_TEXT, text)
        for name, array in pool.members():
            with archive.open(name, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return sealed(buffer.getvalue())


def sealed(content: bytes) -> bytes:
    """Return bytes with a seal before them."""
    return SEAL + sha256(content).hexdigest().encode() + b"\n" + content


def seal_of(content: bytes) -> str:
    """Return the seal of the bytes that `to_bytes` wrote, which identifies their content."""
    return content[len(SEAL) : N_SEALED - 1].decode("ascii", "replace")


def from_bytes(content: bytes) -> Any:
    """Return the value that `to_bytes` wrote, or raise CheckpointError if these are not such bytes, whole."""
    if content != sealed(content[N_SEALED:]):
        raise CheckpointError("not written by homothety, or damaged: its seal is broken.")
    try:
        with opened_archive(io.BytesIO(content[N_SEALED:]), "The content") as archive:
            members = {name: array_of(read_member(archive, name), name) for name in archive.namelist() if name != _TEXT}
            return _decode(json.loads(read_member(archive, _TEXT)), members)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # whoever forges a file can make zipfile, json and NumPy raise nearly anything
        raise CheckpointError(f"not written by homothety, or damaged: {error}") from error


def has_form(values: Iterable[Any], model: Any) -> bool:
    """Return whether two values and their parts have the same types; a part may be None in either."""
    return all(_alike(value, model) for value in values)


def _alike(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return (one.dtype.kind, one.ndim) == (other.dtype.kind, other.ndim)  # labels are kept in few bytes
    if is_dataclass(one) or _is_named_tuple(type(one)):
        pairs = [(getattr(one, name), getattr(other, name)) for name in _field_names(type(one))]
        return all(a is None or b is None or _alike(a, b) for a, b in pairs)
    return True


class _ArrayPool:
    """Arrays concatenated by data type, so that thousands of draws are few members of the archive."""

    def __init__(self) -> None:
        self._arrays: dict[str, list[np.ndarray[Any, Any]]] = {}
        self._sizes: dict[str, int] = {}

    def add(self, array: np.ndarray[Any, Any]) -> dict[str, Any]:
        """Add an array, and return its position.

        The order of axes in memory is kept: it decides the order in which sums are taken, and so their last digit.
        """
        if array.dtype.kind not in _PLAIN_KINDS:
            raise CheckpointError(f"Cannot store an array of {array.dtype}: only numbers, truth values and texts.")
        name, order = array.dtype.str, "C" if array.flags.c_contiguous or not array.flags.f_contiguous else "F"
        start = self._sizes.get(name, 0)
        self._arrays.setdefault(name, []).append(array.ravel(order=order))  # type: ignore[arg-type]
        self._sizes[name] = start + array.size
        place = {"is": "array", "in": name, "from": start, "shape": list(array.shape)}
        return place | {"order": order, "writeable": bool(array.flags.writeable)}

    def members(self) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
        """Yield the arrays by name, one per type."""
        for name, arrays in self._arrays.items():
            yield name, np.concatenate(arrays)


def _encode(value: Any, pool: _ArrayPool) -> Any:
    """Return `value` as JSON: containers are tagged with their type, arrays are moved to the pool."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.generic):
        return pool.add(np.asarray(value)) | {"is": "number"}
    if isinstance(value, np.ndarray):
        return pool.add(np.asarray(value))
    if type(value) in (list, tuple):
        return {"is": type(value).__name__, "items": [_encode(item, pool) for item in value]}
    if type(value) is dict:
        return {"is": "dict", "items": [[_encode(part, pool) for part in item] for item in value.items()]}
    return {
        "is": "object",
        "class": _stored_name(value),
        "fields": {name: _encode(getattr(value, name), pool) for name in _field_names(type(value))},
    }


def _decode(code: Any, members: dict[str, np.ndarray[Any, Any]]) -> Any:
    """Undo `_encode`."""
    if not isinstance(code, dict):
        return code
    kind = code["is"]
    if kind in ("array", "number"):
        size = int(np.prod(code["shape"], dtype=np.int64))
        flat = members[code["in"]][code["from"] : code["from"] + size]
        array = flat.copy().reshape(code["shape"], order=code["order"])
        array.setflags(write=code["writeable"])
        return array[()] if kind == "number" else array
    if kind in ("list", "tuple"):
        items = [_decode(item, members) for item in code["items"]]
        return tuple(items) if kind == "tuple" else items
    if kind == "dict":
        return {_decode(key, members): _decode(value, members) for key, value in code["items"]}
    if kind != "object":
        raise ValueError(f"{kind!r} is no kind of value.")
    if code["class"] not in _storable:
        known = ", ".join(sorted(_storable)) or "none"
        raise CheckpointError(f"The file holds a {code['class']!r}, which is not known here; known are {known}.")
    return _storable[code["class"]](**{name: _decode(value, members) for name, value in code["fields"].items()})


def _stored_name(value: Any) -> str:
    """Return the name of the class of a value, or raise if files cannot hold it."""
    name = _name_of(type(value))
    if _storable.get(name) is not type(value):
        raise CheckpointError(
            f"Cannot store a {name}: only numbers, texts, arrays, their containers, and dataclasses marked with "
            "homothety.sampling.storable."
        )
    return name


def _name_of(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _is_named_tuple(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def _field_names(cls: Any) -> tuple[str, ...]:
    """Return the names of the parameters of the constructor; other fields are computed from them."""
    return cls._fields if _is_named_tuple(cls) else tuple(field.name for field in fields(cls) if field.init)
