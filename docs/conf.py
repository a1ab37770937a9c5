"""Sphinx configuration. Build with `make docs`."""

from __future__ import annotations

import re
from typing import Any

import homothety

project = "homothety"
author = "The homothety developers"
copyright = "2026, the homothety developers"
version = release = homothety.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx-mathjax-offline",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"  # numpydoc's sections have the types, with shapes
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"homothety {release}"


def escape_names(_app: Any, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Keep names such as labels_ and shapes such as (*grid, 3) from being read as references and emphasis."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            escaped = re.sub(r"(?<![`\w])(\w+)_(?=[\s,.;:)]|$)", r"\1\\_", line)
            lines[number] = re.sub(r"\(\*(?=\w+,)", r"(\\*", escaped)


def setup(app: Any) -> None:
    """Connect what runs while the documentation is built; numpydoc comes first."""
    app.connect("autodoc-process-docstring", escape_names, priority=600)
