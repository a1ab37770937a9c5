"""The map from the paper to the code: every name imports, every equation has a row."""

from __future__ import annotations

import importlib
import re
from functools import reduce
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
MAP = (REPOSITORY / "docs" / "paper_map.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`((?:homothety|paper)(?:\.\w+)+)`", MAP)))
N_EQUATIONS = 43


def resolve(name):
    """Return what a dotted name stands for: a module as far as there is one, then attributes."""
    parts = name.split(".")
    for n_parts in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:n_parts]))
        except ModuleNotFoundError as error:
            # A module that is there but lacks one of its own imports is a fault to report, not an attribute to look up.
            if not name.startswith(str(error.name)):
                raise
            continue
        return reduce(getattr, parts[n_parts:], module)
    raise AssertionError(f"{name} is no module")


def equations_in(cell):
    """Return the equation numbers in a cell such as '9', '6, 7' or '24 to 31'."""
    ends = [int(number) for number in re.findall(r"\d+", cell)]
    return set(range(ends[0], ends[-1] + 1)) if " to " in cell else set(ends)


def section(title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", MAP, flags=re.MULTILINE | re.DOTALL)[1]


@pytest.mark.parametrize("name", NAMES)
def test_name_imports(name):
    resolve(name)


def test_a_wrong_name_is_noticed():
    with pytest.raises(AttributeError):
        resolve("homothety.metrics.no_such_metric")


def test_sections_of_the_model_that_are_cited_exist():
    page = (REPOSITORY / "docs" / "model.md").read_text(encoding="utf-8")
    headings = set(re.findall(r"^##+ (\d+(?:\.\d+)?)\.? ", page, flags=re.MULTILINE))
    texts = [
        path.read_text(encoding="utf-8") for part in ("src", "tests") for path in (REPOSITORY / part).rglob("*.py")
    ]
    citations = [found for text in texts for found in re.findall(r"docs/model\.md, sections? ([\d., to and]+)", text)]
    cited = {number for citation in citations for number in re.findall(r"\d+(?:\.\d+)?", citation)}
    assert len(cited) > 20
    assert cited <= headings


def test_every_equation_has_a_row():
    cells = re.findall(r"^\| (\d[\d, to]*) \|", section("Equations"), flags=re.MULTILINE)
    assert set().union(*map(equations_in, cells)) == set(range(1, N_EQUATIONS + 1))
