"""A document as Markdown, and as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homothety.phrases import bullet_list, markdown_table, number_of
from homothety.report.document import Bullets, Code, Table, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homothety.report.document import Answer, Block, Document

MAX_LISTED = 20  # rows of a table on the terminal


def render_markdown(document: Document, kind: str = "csv") -> str:
    """Return a document as Markdown, without charts; folded tables are in files of a kind: "csv", "json", "parquet"."""
    parts = [f"# {document.title}", document.subtitle, "## In short"]
    parts += [_answer(answer, f"**{answer.question}**") for answer in document.answers]
    for section in document.sections:
        blocks = [text for block in section.blocks for text in _markdown(block, kind)]
        if blocks:
            parts += [f"## {section.title}", *blocks]
    return "\n\n".join(parts) + "\n"


def render_text(document: Document) -> str:
    """Return what a terminal shows of a document: its brief tables, the answers, and its brief notes."""
    blocks = [block for section in document.sections for block in section.blocks]
    tables = [_short_table(block) for block in blocks if isinstance(block, Table) and block.brief]
    answers = [_answer(answer, answer.question) for answer in document.answers]
    notes = "\n".join(block.text for block in blocks if isinstance(block, Text) and block.brief)
    return "\n\n".join([f"{document.title}.", *tables, *answers, *([notes] if notes else [])])


def _answer(answer: Answer, question: str) -> str:
    said = " ".join(part for part in (question, answer.short, answer.text) if part)
    return f"{said}\n\n{bullet_list(answer.points)}" if answer.points else said


def _markdown(block: Block, kind: str) -> Iterator[str]:
    """Yield a block as Markdown: nothing of charts and pictures."""
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
    n_left = len(table.rows) - MAX_LISTED
    shown = markdown_table(table.header, [_cells(row) for row in table.rows[:MAX_LISTED]])
    return f"{shown}\n... and {number_of(n_left, f'more {table.header[0]}')}." if n_left > 0 else shown


def _cells(row: Any) -> list[Any]:
    return ["" if cell is None else cell for cell in row]
