"""What can be asked of a reader of series, and what readers share: libraries that may be missing, and order."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from homothety.datasets.readers.columns import Column


class ReadingOptions(NamedTuple):
    """What to read of a file of series; None is whatever the file itself suggests. See `read_sequences`."""

    group: Column | None = None
    columns: Column | Sequence[Column] | None = None
    lengths: ArrayLike | None = None
    variable: str | None = None
    labels: Column | None = None
    topic: str | None = None


def require(module: str, extra: str, item: str) -> Any:
    """Return a module that only some formats need, or raise saying in one line how to get it."""
    package = module.partition(".")[0]
    try:
        import_module(package)
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{item} needs the package {package}, which is not installed. pip install 'homothety[{extra}]' brings it."
        ) from error


def natural_order(name: str) -> list[tuple[int, str]]:
    """Sort key by which numbers inside names are compared as numbers: "demo_2" before "demo_10"."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name.lower())]
