"""Changes that make a good file bad: of bytes, of text, of what is inside zip archives, of numbers in JSON.

A mutation is a function ``(rng, content) -> content``. It knows the structure of the content, so that what it changes
gets past the first check of whoever reads it.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
from typing import TYPE_CHECKING, Any

from homothety.sampling.codec import N_SEALED, SEAL, sealed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    Mutation = Callable[[Generator, bytes], bytes]

BYTES = (0, 1, 9, 10, 13, 27, 32, 34, 44, 127, 128, 255)
WORDS = (0, 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)
TOKENS = (
    "nan", "inf", "-inf", "1e308", "1e200", "1e-320", "-0", "", "None", "0x10", "1_0", "٣", "9" * 400, "1e" + "9" * 9,
    "\x1b]0;x\x07", "\x1b[2J", '"', "''", "=1+1", "../../x", "\x00", "{}", "[]", "-1", "99999999999", "é" * 50,
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 10**30, 2**63, 1.5, float("nan"), float("inf"), "", "x", "../../run.json", "\x1b[2J",
    "a" * 10**4, [], {}, [[]], [None] * 3, {"is": "object"}, {"array": "array-0.npy"}, {"class": "os.system"}, ["demo"],
)  # fmt: skip
KEYS = ("fit", "__class__", "checkpoint", "labels_", "", "x", "format", "n_sweeps", "\x1b[2J")


def change_bytes(rng: Generator, content: bytes) -> bytes:
    """Flip, set, insert, remove, repeat or cut off some bytes."""
    if not content:
        return bytes(rng.integers(256, size=8, dtype="u1"))
    place, n_bytes = int(rng.integers(len(content))), int(rng.integers(1, 1 + min(64, len(content))))
    before, chunk, after = content[:place], content[place : place + n_bytes], content[place + n_bytes :]
    match int(rng.integers(7)):
        case 0:
            return before + bytes([content[place] ^ (1 << int(rng.integers(8)))]) + content[place + 1 :]
        case 1:
            return before + bytes([BYTES[rng.integers(len(BYTES))]]) + content[place + 1 :]
        case 2:
            return before + bytes(rng.integers(256, size=n_bytes, dtype="u1")) + chunk + after
        case 3:
            return before + after
        case 4:
            return before + chunk * int(rng.integers(2, 50)) + after
        case 5:
            return before
        case _:
            form = ("<H", ">H", "<I", ">I", "<Q", ">Q")[rng.integers(6)]
            size = struct.calcsize(form)
            word = WORDS[rng.integers(len(WORDS))] % 256**size
            return before + struct.pack(form, word) + content[place + size :]


def change_text(rng: Generator, content: bytes) -> bytes:
    """Replace a word, or repeat, remove or exchange lines."""
    lines = content.split(b"\n")
    at, other = (int(rng.integers(len(lines))) for _ in range(2))
    match int(rng.integers(5)):
        case 0:
            lines[at] = lines[other]
        case 1:
            del lines[at]
        case 2:
            lines[at : at + 1] = [lines[at]] * int(rng.integers(2, 40))
        case _:
            separator = b"," if b"," in lines[at] else b" "
            words = lines[at].split(separator)
            words[rng.integers(len(words))] = TOKENS[rng.integers(len(TOKENS))].encode("utf-8", "replace")
            lines[at] = separator.join(words)
    return b"\n".join(lines)


def change_json(rng: Generator, content: bytes) -> bytes:
    """Replace, remove, rename or nest a value anywhere in a JSON text."""
    told = json.loads(content)
    places = list(_places(told))
    if not places:
        return json.dumps(VALUES[rng.integers(len(VALUES))]).encode()
    parent, key = places[rng.integers(len(places))]
    value = VALUES[rng.integers(len(VALUES))]
    match int(rng.integers(6)):
        case 0:
            del parent[key]
        case 1 if isinstance(parent, dict):
            parent[KEYS[rng.integers(len(KEYS))]] = parent.pop(key)
        case 2 if isinstance(parent, dict):
            parent[KEYS[rng.integers(len(KEYS))]] = value
        case 3:
            for _ in range(int(rng.integers(1, 900))):
                value = [value]
            parent[key] = value
        case 4 if isinstance(parent[key], int | float):
            parent[key] = parent[key] * int(rng.integers(-3, 4)) + int(rng.integers(-2, 3))
        case _:
            parent[key] = value
    return json.dumps(told).encode()


def _places(value: Any) -> Any:
    """Yield every container inside of a value with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items):
        yield value, key
        yield from _places(item)


def change_array(rng: Generator, content: bytes) -> bytes:
    """Change the header of an .npy file, or its numbers."""
    if not content.startswith(b"\x93NUMPY") or rng.random() < 0.3:
        return change_bytes(rng, content)
    end = 10 + int.from_bytes(content[8:10], "little")
    header = content[10:end]
    old, new = (
        (b"<f8", b"|O8"), (b"<f8", b"<f4"), (b"<f8", b"<i8"), (b"<f8", b"<c16"), (b"<f8", b"<U9"), (b"<i8", b"<f8"),
        (b"<i8", b"<M8"), (b"False", b"True "), (b"(", b"(9"), (b"(", b"(-"), (b",)", b")"), (b"(", b"(0,"),
        (b"(", b"(99999999999,"), (b"<f8", b"V8"), (b"<i8", b"<u8"), (b"<i8", b">i8"),
    )[rng.integers(16)]  # fmt: skip
    header = header.replace(old, new, 1)
    return content[:8] + len(header).to_bytes(2, "little") + header + content[end:]


def change_zip(rng: Generator, content: bytes) -> bytes:
    """Change a member of a zip archive and pack it again, so that its sums are right; or the bytes of the archive."""
    if rng.random() < 0.25:
        return change_bytes(rng, content)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # an earlier mutation has made it something else
        return change_bytes(rng, content)
    names = list(members)
    if not names:
        return content
    name, other = (names[rng.integers(len(names))] for _ in range(2))
    match int(rng.integers(8)):
        case 0:
            del members[name]
        case 1:
            members[f"{name}x"] = members.pop(name)
        case 2:
            members[name] = members[other]
        case _:
            members[name] = change_member(rng, members[name])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, inside in members.items():
            archive.writestr(zipfile.ZipInfo(member), inside, zipfile.ZIP_DEFLATED)  # without the time of the day
    return buffer.getvalue()


def change_member(rng: Generator, content: bytes) -> bytes:
    """Change what is in an archive by what it is."""
    if content[:1] in (b"{", b"["):
        try:
            return change_json(rng, content)
        except (ValueError, RecursionError):  # an earlier mutation has made it something else
            return change_bytes(rng, content)
    return change_array(rng, content)


def change_sealed(rng: Generator, content: bytes) -> bytes:
    """Change what a file of a checkpoint holds, and mostly seal it again, as only somebody who means it would."""
    if not content.startswith(SEAL) or rng.random() < 0.2:
        return change_bytes(rng, content)
    return sealed(change_zip(rng, content[N_SEALED:]))


def change_record(rng: Generator, content: bytes) -> bytes:
    """Change a JSON file, mostly so that it stays one."""
    try:
        return change_json(rng, content) if rng.random() < 0.8 else change_bytes(rng, content)
    except (ValueError, RecursionError):
        return change_bytes(rng, content)


def mutation_for(name: str) -> Mutation:
    """Return how to change a file, by what its name ends in."""
    if name.startswith(("position", "sweeps-")):
        return change_sealed
    suffix = name.rpartition(".")[2]
    if suffix in ("npz", "homothety"):
        return change_zip
    if suffix in ("csv", "bvh", "tsv"):
        return change_text
    return {"npy": change_array, "json": change_record}.get(suffix, change_bytes)
