"""What a run is conditioned on, as short texts by name, so that two runs can be compared and the difference named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np

from homothety.errors import CheckpointError

Fingerprint = dict[str, str]


def fingerprint(**parts: Any) -> Fingerprint:
    """Return one text for each leaf of the parts, by its dotted name.

    Dataclasses, mappings and partial functions are taken apart; fields that dataclasses do not compare are left out.
    Numbers and texts stand for themselves, arrays are told by type, shape and digest, functions by nothing: a function
    may move between versions and still be the same.

    Examples
    --------
    >>> fingerprint(settings={"n_burn": 10}, data=np.zeros((2, 3)))
    {'settings.n_burn': '10', 'data': 'float64 (2, 3) 17b0761f87b0'}
    """
    return {name: text for part, value in parts.items() for name, text in _leaves(part, value)}


def differences(before: Fingerprint, now: Fingerprint) -> list[str]:
    """Return one text for each name whose leaf differs, or is only on one side."""
    names = [*before, *(name for name in now if name not in before)]
    return [
        f"{name} was {before.get(name, 'absent')}, is {now.get(name, 'absent')}"
        for name in names
        if before.get(name) != now.get(name)
    ]


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    children = dict(_children(value))
    if not children:
        yield name, _describe(name, value)
    for child, item in children.items():
        yield from _leaves(f"{name}.{child}", item)


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a value that have names."""
    if is_dataclass(value) and not isinstance(value, type):
        yield from ((field.name, getattr(value, field.name)) for field in fields(value) if field.compare)
    elif isinstance(value, Mapping):
        yield from ((str(key), item) for key, item in value.items())
    elif isinstance(value, partial):
        yield from _children({**{str(i): item for i, item in enumerate(value.args)}, **value.keywords})


def _describe(name: str, value: Any) -> str:
    if isinstance(value, np.ndarray) and value.dtype != object:
        digest = sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:12]
        return f"{value.dtype} {value.shape} {digest}"
    if isinstance(value, list | tuple):
        return _describe_items(name, value)
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    if callable(value):
        return "function"
    if isinstance(value, Mapping) or is_dataclass(value):
        return "empty"
    raise CheckpointError(
        f"{name} is a {type(value).__name__}: a checkpoint cannot tell whether two of them are the same. "
        "Use numbers, texts, arrays and dataclasses."
    )


def _describe_items(name: str, items: list[Any] | tuple[Any, ...]) -> str:
    """Short sequences are spelled out, long ones are told by length and digest."""
    text = ", ".join("; ".join(map(" ".join, _leaves(name, item))).removeprefix(f"{name} ") for item in items)
    return f"[{text}]" if len(text) <= 60 else f"{len(items)} items {sha256(text.encode()).hexdigest()[:12]}"
