"""Pages of results, and the page of the documentation that shows the most important tables of them.

Every benchmark writes a page into benchmarks/results. ``python -m benchmarks.pages`` copies tables from there into
docs/accuracy_and_speed.md, where a comment names the page and the number of the table.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
RESULTS = REPOSITORY / "benchmarks" / "results"
PAGE = REPOSITORY / "docs" / "accuracy_and_speed.md"
COPY = re.compile(r"(<!-- results/(\w+)\.md, table (\d+) -->\n).*?(<!-- end -->)", flags=re.DOTALL)


def data_folder() -> Path:
    """Folder of the paper's data sets."""
    return Path(os.environ.get("HOMOTHETY_DATA", REPOSITORY.parent / "shared" / "data"))


def template(name: str) -> str:
    """Return the text of a page in which ``{name}`` stands for what is measured."""
    return (REPOSITORY / "benchmarks" / name).read_text(encoding="utf-8")


def filled(text: str, **parts: object) -> str:
    """Return a text with every ``{name}`` replaced."""
    for name, part in parts.items():
        text = text.replace(f"{{{name}}}", str(part))
    return text


def write_result(name: str, text: str, *, complete: bool = True) -> None:
    """Write a page of results, unless something is missing from it."""
    if complete:
        (RESULTS / name).write_text(text, encoding="utf-8")
    else:
        print(f"benchmarks/results/{name} is not written: that takes all sets, with the usual runs.")


def updated_rows(name: str, lines: list[list[str]], order: list[str]) -> list[list[str]]:
    """Return the rows of the first table of a page with the lines of one set replaced.

    Parameters
    ----------
    name : str
        Of the page, without its ending. A page that is not there has no rows.
    lines : list of list of str
        Lines of one set, whose name is in their first cell.
    order : list of str
        Names of all sets, in the order of the page.
    """
    known = tables(name)[0].splitlines()[2:] if (RESULTS / f"{name}.md").exists() else []
    rows = [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in known]
    kept = [row for row in rows if row[0] != lines[0][0] and row[0] in order and len(row) == len(lines[0])]
    return sorted(kept + lines, key=lambda row: order.index(row[0]))


def age_note(rows: list[list[str]]) -> str:
    """Return a paragraph on asterisks in the last column, if there are any.

    Whoever changes what is measured puts an asterisk there; measuring again removes it.
    """
    is_old = any(row[-1].endswith("*") for row in rows)
    return "Lines with an asterisk were measured with an earlier version.\n\n" if is_old else ""


def tables(name: str) -> list[str]:
    """Return the tables of a page of results."""
    text = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    return [table.strip() for table in re.findall(r"(?:^\|.*\n?)+", text, flags=re.MULTILINE)]


def refreshed(text: str) -> str:
    """Return the text of a page with all copied tables as they are in the results."""
    return COPY.sub(lambda found: f"{found[1]}\n{tables(found[2])[int(found[3]) - 1]}\n\n{found[4]}", text)


def main() -> None:
    """Copy the tables."""
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
