"""Sphinx configuration. Build with `make docs`."""

from __future__ import annotations

from pathlib import Path

import homothety

project = "homothety"
author = "The homothety developers"
copyright = "2026, the homothety developers"
version = release = homothety.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "numpydoc", "myst_parser"]
exclude_patterns = ["_build"]
# Pages that a command writes are linked to before they have been written for the first time.
written_by_commands = ("ablation.md", "accuracy.md", "benchmarks.md")
if not all((Path(__file__).parent / page).exists() for page in written_by_commands):
    suppress_warnings = ["myst.xref_missing", "ref.doc", "toc.not_readable"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"  # numpydoc's sections have the types, with shapes
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "furo"
html_title = f"homothety {release}"
