"""A document about a result, before it is HTML, Markdown or plain text: texts, tables and the names of charts."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Answer:
    """A question a reader has, and its answer: in a few words, in a sentence or more, and point by point."""

    question: str
    short: str
    text: str = ""
    points: Sequence[str] = ()


@dataclass(frozen=True)
class Text:
    """A paragraph; `brief` ones are on the terminal too."""

    text: str
    brief: bool = False


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    points: Sequence[str]


@dataclass(frozen=True)
class Code:
    """Something to copy."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table.

    Parameters
    ----------
    caption : str
    header : sequence of str
    rows : sequence of sequences
        Texts and numbers; None is an empty cell. The first cell of a row is its header.
    folded : bool
        Whether it is shown only when asked for, under its caption.
    shaded : bool
        Whether numbers from 0 to 1 are also shown by how dark their cell is.
    places : sequence of (recording, start, end) or None, optional
        Where the charts of recordings can show each row, if they do.
    file : str
        Name, without ending, of the file that has all rows; empty if there is none.
    brief : bool
        Whether the table is on the terminal too.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    folded: bool = False
    shaded: bool = False
    places: Sequence[tuple[int, int, int] | None] | None = None
    file: str = ""
    brief: bool = False


@dataclass(frozen=True)
class Chart:
    """A place where the script of a page draws.

    Parameters
    ----------
    name : str
        Which part of the data of the document is drawn.
    kind : str
        How: "series", "space", "aligned", "matrix" or "traces".
    label : str
        The same in words, for those who do not see it.
    caption : str
    """

    name: str
    kind: str
    label: str
    caption: str


@dataclass(frozen=True)
class Picture:
    """A picture that is part of the document.

    Parameters
    ----------
    title : str
    source : str
        Address that holds it, of the kind ``data:image/png``.
    label : str
        The same in words, for those who do not see it.
    size : (width, height)
        In any unit that all pictures side by side share.
    letters : tuple of str
        At the left, right, top and bottom edge; empty ones are left out.
    """

    title: str
    source: str
    label: str
    size: tuple[float, float]
    letters: tuple[str, str, str, str] = ("", "", "", "")


@dataclass(frozen=True)
class Pictures:
    """Pictures side by side, to one scale.

    Parameters
    ----------
    pictures : sequence of Picture
    legend : sequence of (name, first color, last color)
        What colours mean. Each is a range between two, written as ``#rrggbb``.
    caption : str
    """

    pictures: Sequence[Picture]
    legend: Sequence[tuple[str, str, str]]
    caption: str


Block: TypeAlias = Text | Bullets | Code | Table | Chart | Pictures


@dataclass(frozen=True)
class Section:
    """A part of a document, by a name that links can lead to."""

    name: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, repr=False)
class Document:
    """Everything that is said of a result.

    Parameters
    ----------
    title : str
        The outcome in one sentence.
    subtitle : str
        What was done, with what and for how long.
    banner : str
        What readers have to know before anything else; empty if there is nothing.
    answers : sequence of Answer
        What most readers want to know first.
    sections : sequence of Section
    data : mapping
        What the charts draw, as what JSON can hold.
    """

    title: str
    subtitle: str
    answers: Sequence[Answer]
    sections: Sequence[Section]
    data: Mapping[str, Any] = field(default_factory=dict)
    banner: str = ""

    def __repr__(self) -> str:
        """Return the outcome alone: the data of charts are long."""
        return f"<Document: {self.title}>"

    def _repr_html_(self) -> str:
        """Return the answers, for notebooks."""
        answers = "".join(
            f"<li><b>{escape(one.question)}</b> {escape(one.short)} {escape(one.text)}</li>" for one in self.answers
        )
        banner = f"<p><b>{escape(self.banner)}</b></p>" if self.banner else ""
        return f"<p>{escape(self.title)}.</p>{banner}<ul>{answers}</ul>"
