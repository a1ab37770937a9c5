"""Annotations for ELAN, the program people label recordings with."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from homothety.arrays import check_positive
from homothety.errors import InputError
from homothety.export.changes import to_ruptures

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from numpy.typing import ArrayLike

VERSION = "3.0"
SCHEMA = "http://www.mpi.nl/tools/elan/EAFv3.0.xsd"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
TYPE = "default-lt"


def write_elan(
    path: str | PathLike[str], tiers: Mapping[str, ArrayLike], *, rate: float, date: datetime | None = None
) -> None:
    """Write the labels of one recording as an .eaf file of ELAN, one tier for each kind of label.

    Parameters
    ----------
    path : str or Path
        Ends in .eaf.
    tiers : mapping from str to array_like of shape (n_steps,)
        Label of every step by the name of the tier, such as ``{"action": model.actions_[0]}``.
    rate : float
        Steps per second of the recording. Times in ELAN are whole milliseconds, of which every annotation gets at
        least one.
    date : datetime, optional
        Written into the file; now by default.
    """
    if Path(path).suffix.lower() != ".eaf":
        raise InputError(f"{path} does not end in .eaf, needed the name of an annotation file of ELAN.")
    step = 1000 / check_positive(rate, "rate")
    document = ElementTree.Element(
        "ANNOTATION_DOCUMENT",
        {
            "AUTHOR": "",
            "DATE": (date or datetime.now(UTC)).isoformat(timespec="seconds"),
            "FORMAT": VERSION,
            "VERSION": VERSION,
            "xmlns:xsi": XSI,
            "xsi:noNamespaceSchemaLocation": SCHEMA,
        },
    )
    ElementTree.SubElement(document, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
    order = ElementTree.SubElement(document, "TIME_ORDER")
    numbers = count(1)
    for name, labels in tiers.items():
        _add_tier(document, order, name, np.asarray(labels), step, numbers)
    ElementTree.SubElement(
        document, "LINGUISTIC_TYPE", GRAPHIC_REFERENCES="false", LINGUISTIC_TYPE_ID=TYPE, TIME_ALIGNABLE="true"
    )
    ElementTree.indent(document)
    ElementTree.ElementTree(document).write(path, encoding="UTF-8", xml_declaration=True)


def _add_tier(
    document: ElementTree.Element,
    order: ElementTree.Element,
    name: str,
    labels: np.ndarray,
    step: float,
    numbers: count[int],
) -> None:
    """Add a tier with one annotation for each run of equal labels; `step` is the time between steps in milliseconds."""
    tier = ElementTree.SubElement(document, "TIER", LINGUISTIC_TYPE_REF=TYPE, TIER_ID=str(name))
    ends = to_ruptures(labels)
    times = _times(ends, step)
    for start, from_to in zip([0, *ends[:-1]], pairwise(times), strict=True):
        number = next(numbers)
        slots = [f"ts{2 * number - 1}", f"ts{2 * number}"]
        for slot, at in zip(slots, from_to, strict=True):
            ElementTree.SubElement(order, "TIME_SLOT", TIME_SLOT_ID=slot, TIME_VALUE=str(at))
        annotation = ElementTree.SubElement(
            ElementTree.SubElement(tier, "ANNOTATION"),
            "ALIGNABLE_ANNOTATION",
            ANNOTATION_ID=f"a{number}",
            TIME_SLOT_REF1=slots[0],
            TIME_SLOT_REF2=slots[1],
        )
        ElementTree.SubElement(annotation, "ANNOTATION_VALUE").text = f"{name} {labels[start]}"


def _times(ends: list[int], step: float) -> list[int]:
    """Return when runs of labels start and the last one ends, in whole milliseconds that differ: ELAN needs that."""
    times = [0]
    for end in ends:
        times.append(max(round(end * step), times[-1] + 1))
    return times
