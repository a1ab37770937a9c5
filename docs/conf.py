"""Sphinx configuration. Build with `make docs`."""

from __future__ import annotations

import logging
import re
from typing import Any

from sphinx_gallery.sorting import FileNameSortKey

import homothety

project = "homothety"
author = "The homothety developers"
copyright = "2026, the homothety developers"
version = release = homothety.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx-mathjax-offline",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
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

# The order of the examples is a class, which Sphinx cannot cache between builds.
suppress_warnings = ["config.cache"]

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Links into the documentation of other libraries need the network. Without it they are plain text.
intersphinx_mapping = {
    "python": ("https://docs.python.org/3", None),
    "numpy": ("https://numpy.org/doc/stable", None),
    "scipy": ("https://docs.scipy.org/doc/scipy", None),
    "sklearn": ("https://scikit-learn.org/stable", None),
    "matplotlib": ("https://matplotlib.org/stable", None),
    "mne": ("https://mne.tools/stable", None),
}
intersphinx_timeout = 5

FIRST_EXAMPLES = ("robot_demonstrations.py", "motion_capture.py", "diffusion_tensors.py", "eeg_covariances.py")


class ExampleOrder(FileNameSortKey):
    """Key that sorts the examples of four kinds of readers before all others."""

    def __call__(self, filename: str) -> Any:
        """Return the place of an example."""
        first = FIRST_EXAMPLES.index(filename) if filename in FIRST_EXAMPLES else len(FIRST_EXAMPLES)
        return first, super().__call__(filename)


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "",  # all of them are run
    "reference_url": {"homothety": None},  # names in their code lead to the API pages
    "within_subsection_order": ExampleOrder,
    "abort_on_example_error": True,
    "show_signature": False,
    "write_computation_times": False,
    "first_notebook_cell": "%matplotlib inline",
    "download_all_examples": False,
}

html_theme = "furo"
html_title = f"homothety {release}"


def escape_names(_app: Any, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Keep names such as labels_ and shapes such as (*grid, 3) from being read as references and emphasis."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            escaped = re.sub(r"(?<![`\w])(\w+)_(?=[\s,.;:)]|$)", r"\1\\_", line)
            lines[number] = re.sub(r"\(\*(?=\w+,)", r"(\\*", escaped)


def is_not_about_network(record: logging.LogRecord) -> bool:
    """Return whether a message is not the warning that inventories of other projects cannot be reached."""
    return not str(record.msg).startswith("failed to reach any of the inventories")


def setup(app: Any) -> None:
    """Connect what runs while the documentation is built; numpydoc comes first."""
    app.connect("autodoc-process-docstring", escape_names, priority=600)
    # That warning has no type by which `suppress_warnings` could name it.
    logging.getLogger("sphinx.sphinx.ext.intersphinx").addFilter(is_not_about_network)
