"""Documents as HTML, as Markdown and as text for a terminal. In HTML, every text of the document is escaped."""

from __future__ import annotations

import json
from functools import singledispatch
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from homothety.phrases import bullet_list, markdown_table, number_of
from homothety.report.document import Bullets, Chart, Code, Document, Picture, Pictures, Section, Table, Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from homothety.report.document import Answer, Block


_PARTS = ("drawing", "navigation", "cuts", "series", "space", "gallery", "matrix", "traces", "main")
_SCRIPTS = tuple(f"{name}.js" for name in _PARTS)

_EDGES = ("left", "right", "top", "bottom")  # of a picture
_MAX_WIDTH, _MAX_HEIGHT = 18.0, 22.0  # of the widest and the highest of several pictures, in rem


def render_html(document: Document) -> str:
    """Return a page as one text of HTML."""
    first = [section for section in document.sections if section.is_first]
    others = [section for section in document.sections if not section.is_first]
    contents = [(section.name, section.title) for section in [*first, Section("answers", "In short", []), *others]]
    return Template(_file("template.html")).substitute(
        title=escape(document.title),
        subtitle=escape(document.subtitle),
        banner=f'<p class="banner" role="alert">{escape(document.banner)}</p>' if document.banner else "",
        style=_file("style.css"),
        contents="\n".join(f'<li><a href="#{name}">{escape(title)}</a></li>' for name, title in contents),
        first="\n".join(map(_section, first)),
        answers="\n".join(map(_answer, document.answers)),
        sections="\n".join(map(_section, others)),
        data=_as_script_data(document.data),
        script="\n".join(map(_file, _SCRIPTS)),
    )


def _as_script_data(data: Mapping[str, Any]) -> str:
    r"""Return data as JSON that is safe inside a script element, because it cannot close the element.

    Examples
    --------
    >>> _as_script_data({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _file(name: str) -> str:
    return (files("homothety.report") / "page" / name).read_text(encoding="utf-8")


def _answer(answer: Answer) -> str:
    text = f"<p><strong>{escape(answer.short)}</strong> {escape(answer.text)}</p>"
    points = _list(answer.points) if answer.points else ""
    return f'<div class="answer"><h3>{escape(answer.question)}</h3>\n{text}{points}</div>'


def _section(section: Section) -> str:
    blocks = "\n".join(map(_block, section.blocks))
    return f'<section id="{section.name}">\n<h2>{escape(section.title)}</h2>\n{blocks}\n</section>'


@singledispatch
def _block(block: object) -> str:
    raise TypeError(f"no part of a page: {block!r}")


@_block.register
def _(block: Text) -> str:
    return f"<p>{escape(block.text)}</p>"


@_block.register
def _(block: Bullets) -> str:
    return _list(block.points)


@_block.register
def _(block: Code) -> str:
    return f'<pre tabindex="0"><code>{escape(block.text)}</code></pre>'


@_block.register
def _(block: Chart) -> str:
    attributes = f'data-chart="{block.kind}" data-name="{block.name}" data-label="{escape(block.label)}"'
    return (
        f'<figure class="chart" {attributes}>\n<div class="drawing"></div>\n'
        f"<figcaption>{escape(block.caption)}</figcaption>\n</figure>"
    )


@_block.register
def _(block: Pictures) -> str:
    widest, highest = (max(one.size[side] for one in block.pictures) for side in (0, 1))
    scale = min(_MAX_WIDTH / widest, _MAX_HEIGHT / highest)
    pictures = "\n".join(_picture(one, scale) for one in block.pictures)
    legend = "".join(
        f'<li><span class="swatch" style="background:linear-gradient(to right,{low},{high})"></span>{escape(name)}</li>'
        for name, low, high in block.legend
    )
    return (
        f'<figure>\n<div class="pictures">\n{pictures}\n</div>\n<ul class="legend">{legend}</ul>\n'
        f"<figcaption>{escape(block.caption)}</figcaption>\n</figure>"
    )


def _picture(picture: Picture, scale: float) -> str:
    """Return a picture with the letters at its edges, `scale` rem wide for each unit of its size."""
    width, height = picture.size
    letters = "".join(
        f'<span class="{edge}">{escape(letter)}</span>'
        for edge, letter in zip(_EDGES, picture.letters, strict=True)
        if letter
    )
    style = f"width:{scale * width:.2f}rem;aspect-ratio:{width:.6g}/{height:.6g}"
    image = f'<img src="{picture.source}" alt="{escape(picture.label)}" style="{style}">'
    title = f"<h3>{escape(picture.title)}</h3>" if picture.title else ""
    return f'<div>{title}<div class="edged">{letters}{image}</div></div>'


@_block.register
def _(block: Table) -> str:
    if block.folded:
        summary = f"<summary>{escape(block.caption)} ({len(block.rows)})</summary>"
        return f"<details>{summary}{_scrolling(block, caption='')}</details>"
    return _scrolling(block, caption=f"<caption>{escape(block.caption)}</caption>")


def _scrolling(block: Table, caption: str) -> str:
    """Return a table in a scrolling container, for tables wider than the page."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in [*block.header, *["chart"] * bool(block.places)])
    places: Sequence[tuple[int, int, int] | None] = block.places or [None] * len(block.rows)
    body = "\n".join(
        _row(row, place, block.shaded) + "<td></td>" * (place is None and bool(block.places)) + "</tr>"
        for row, place in zip(block.rows, places, strict=True)
    )
    shaded = ' class="shaded"' * block.shaded
    table = f"<table{shaded}>{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(block.caption)}">{table}</div>'


def _row(row: Sequence[Any], place: tuple[int, int, int] | None, shaded: bool) -> str:
    first, *others = row
    cells = "".join(_cell(value, shaded) for value in others)
    shown = "" if place is None else f"<td>{_button(row, place)}</td>"
    return f'<tr><th scope="row">{escape(str(first))}</th>{cells}{shown}'


def _cell(value: Any, shaded: bool) -> str:
    text = "" if value is None else escape(f"{value:.2f}" if shaded else str(value))
    shade = f' style="--share:{min(max(value, 0), 1):.2f}"' if shaded and value is not None else ""
    return f"<td{shade}>{text}</td>"


def _button(row: Sequence[Any], place: tuple[int, int, int]) -> str:
    where = ",".join(map(str, place))
    named = escape(f"Show steps {row[1]} to {row[2]} of {row[0]}")
    return f'<button type="button" data-place="{where}" aria-label="{named}">show</button>'


def _list(points: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(point)}</li>" for point in points) + "</ul>"


# Markdown and text for a terminal


_MAX_LISTED = 20  # rows of a table on the terminal


def render_markdown(document: Document, kind: str = "csv") -> str:
    """Return a document as Markdown, without charts; folded tables are in files of a kind: "csv", "json", "parquet"."""
    parts = [f"# {document.title}", document.subtitle, "## In short"]
    parts += [_answer_text(answer, f"**{answer.question}**") for answer in document.answers]
    for section in document.sections:
        blocks = [text for block in section.blocks for text in _markdown(block, kind)]
        if blocks:
            parts += [f"## {section.title}", *blocks]
    return "\n\n".join(parts) + "\n"


def render_text(document: Document) -> str:
    """Return the terminal text of a document: brief tables, answers and brief notes."""
    blocks = [block for section in document.sections for block in section.blocks]
    tables = [_short_table(block) for block in blocks if isinstance(block, Table) and block.brief]
    answers = [_answer_text(answer, answer.question) for answer in document.answers]
    notes = "\n".join(block.text for block in blocks if isinstance(block, Text) and block.brief)
    return "\n\n".join([f"{document.title}.", *tables, *answers, *([notes] if notes else [])])


def _answer_text(answer: Answer, question: str) -> str:
    said = " ".join(part for part in (question, answer.short, answer.text) if part)
    return f"{said}\n\n{bullet_list(answer.points)}" if answer.points else said


def _markdown(block: Block, kind: str) -> Iterator[str]:
    """Yield a block as Markdown; charts and pictures are left out."""
    if isinstance(block, Text) and block.text:
        yield block.text
    elif isinstance(block, Bullets):
        yield bullet_list(block.points)
    elif isinstance(block, Code):
        yield f"```python\n{block.text}\n```"
    elif isinstance(block, Table) and not (block.folded and block.file):
        yield f"{block.caption}:"
        yield markdown_table(block.header, [_cells(row) for row in block.rows])
    elif isinstance(block, Table):
        yield f"All rows are in `{block.file}.{kind}`."


def _short_table(table: Table) -> str:
    """Return the first rows of a table."""
    n_left = len(table.rows) - _MAX_LISTED
    shown = markdown_table(table.header, [_cells(row) for row in table.rows[:_MAX_LISTED]])
    return f"{shown}\n... and {number_of(n_left, f'more {table.header[0]}')}." if n_left > 0 else shown


def _cells(row: Any) -> list[Any]:
    return ["" if cell is None else cell for cell in row]
