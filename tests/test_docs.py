"""The documentation does what it says: snippets run and print what is shown, commands parse, links lead somewhere."""

from __future__ import annotations

import io
import re
import runpy
import shlex
import warnings
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from textwrap import dedent

import numpy as np
import pytest

import homothety
from benchmarks import pages
from homothety.cli import main
from homothety.datasets import make_dti
from homothety.datasets.readers.checks import check_order, entries_of
from homothety.errors import ConvergenceWarning

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/*.md")])
EXAMPLES = sorted(REPOSITORY.glob("examples/*.py"))

SNIPPET = re.compile(
    r"^(?P<indent> *)```python\n(?P<code>.*?)^(?P=indent)```\n"
    r"(?:\n(?P=indent)```text\n(?P<output>.*?)^(?P=indent)```$)?",
    flags=re.MULTILINE | re.DOTALL,
)
SHELL = re.compile(r"^```sh\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^( *)(```+).*?^\1\2$", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", flags=re.MULTILINE)

MAX_EXAMPLE_LINES = 70  # of code and docstring
NEEDED_BY = {"diffusion_tensors": ["dipy"], "eeg_covariances": ["mne"], "motion_capture": ["aeon"]}
MAX_IMAGE_BYTES = 150_000


def name_of(path):
    return path.relative_to(REPOSITORY).as_posix()


def text_of(path):
    return path.read_text(encoding="utf-8")


def snippets_of(text):
    """Yield the code of each Python snippet and what it is said to print."""
    for match in SNIPPET.finditer(text):
        yield dedent(match["code"]), dedent(match["output"] or "")


def commands_of(text):
    """Yield the shell lines of a page as lists of words."""
    for block in SHELL.findall(text):
        yield from (shlex.split(line, comments=True) for line in block.splitlines() if line.strip())


def links_of(text):
    """Yield the targets of relative links, outside code."""
    for target in LINK.findall(FENCED.sub("", text)):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors_of(text):
    """Return the anchors of the headings of a page, as GitHub and MyST make them."""
    titles = (re.sub(r"[^\w\- ]", "", title.lower()) for title in HEADING.findall(FENCED.sub("", text)))
    return {title.replace(" ", "-") for title in titles}


@contextmanager
def warnings_told_of(text):
    """Let chains differ where a page says that they do; any other warning is an error."""
    with warnings.catch_warnings():
        if ConvergenceWarning.__name__ in text:
            warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@pytest.fixture
def in_scratch_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if SNIPPET.search(text_of(page))], ids=name_of)
def test_snippets_print_what_is_shown(page, in_scratch_folder):
    namespace = {}
    for code, expected in snippets_of(text_of(page)):
        with warnings_told_of(text_of(page)), redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, name_of(page), "exec"), namespace)
        assert printed.getvalue() == expected, code


@pytest.mark.parametrize("page", [page for page in PAGES if SHELL.search(text_of(page))], ids=name_of)
def test_commands_are_understood(page):
    parser = pytest.importorskip("homothety.cli.app").build_parser()
    for program, *arguments in commands_of(text_of(page)):
        if program == "homothety":
            parser.parse_args(arguments)
        elif program == "python":
            module = {"paper": "paper.__main__"}.get(arguments[1], arguments[1])
            import_module(module).build_parser().parse_args(arguments[2:])
        elif program == "make":
            assert f"\n{arguments[0]}:" in text_of(REPOSITORY / "Makefile"), arguments
        else:
            assert program == "pip"


IMAGE_COMMANDS = {
    shlex.join(words): words
    for page in PAGES
    for words in commands_of(text_of(page))
    if words[:2] == ["homothety", "cluster"] and "tensors.nii.gz" in words
}


@pytest.mark.parametrize("command", IMAGE_COMMANDS)
def test_commands_on_images_work_as_they_stand(command, in_scratch_folder):
    """The image has its components in the order that the command names: without one it would be refused."""
    nibabel = pytest.importorskip("nibabel")
    words = IMAGE_COMMANDS[command]
    order = entries_of(check_order(words[words.index("--order") + 1]), 3)
    field = make_dti((4, 3, 2), 2, random_state=0)
    image = field.to_image(field.matrices[(slice(None), *order)])
    nibabel.save(nibabel.Nifti1Image(image, np.eye(4)), "tensors.nii.gz")
    nibabel.save(nibabel.Nifti1Image(np.ones(field.grid, dtype=np.uint8), np.eye(4)), "brain.nii.gz")
    assert main([*words[1:], "--quiet", "--chains", "2", "--sweeps", "10"]) == 0
    folder = words[words.index("-o") + 1] if "-o" in words else "homothety-output"
    np.testing.assert_array_equal(nibabel.load(f"{folder}/labels.nii.gz").shape, field.grid)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_lead_somewhere(page):
    broken = []
    for link in links_of(text_of(page)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        # The contributing page is the one of the repository, included.
        source = REPOSITORY / "CONTRIBUTING.md" if target.name == "contributing.md" else target
        if not target.exists() or (anchor and anchor not in anchors_of(text_of(source))):
            broken.append(link)
    assert broken == []


def test_broken_pages_would_be_noticed():
    page = "# A title\n\n```python\nprint(1)\n```\n\n```text\n2\n```\n\n[gone](gone.md#part), ![image](image.png)\n"
    assert list(snippets_of(page)) == [("print(1)\n", "2\n")]
    assert list(links_of(page)) == ["gone.md#part", "image.png"]
    assert anchors_of(page) == {"a-title"}


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_example_draws_a_figure_and_says_what_is_found(example, in_scratch_folder, capsys, monkeypatch):
    for library in NEEDED_BY.get(example.stem, ()):
        pytest.importorskip(library)
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.close("all")  # of other tests
    shown = []
    monkeypatch.setattr(pyplot, "show", lambda: shown.extend(pyplot.get_fignums()))
    with warnings_told_of(text_of(example)):
        runpy.run_path(str(example), run_name="__main__")
    pyplot.close("all")
    assert len(shown) == 1
    assert capsys.readouterr().out
    assert list(in_scratch_folder.iterdir()) == []


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_example_is_short_and_has_a_title(example):
    lines = text_of(example).splitlines()
    assert sum(bool(line) and not line.startswith("#") for line in lines) <= MAX_EXAMPLE_LINES
    assert lines[0] == '"""'
    assert lines[2] == "=" * len(lines[1])


def test_images_are_small():
    images = [path for path in REPOSITORY.glob("docs/**/*.png") if "_build" not in path.parts]
    assert [name_of(path) for path in images if path.stat().st_size > MAX_IMAGE_BYTES] == []


def api_names(text):
    """Yield the full names in the lists of the API page; each list is in the module that was named last."""
    for part in text.split("currentmodule:: ")[1:]:
        module = part.split()[0]
        yield from (f"{module}.{name}" for name in re.findall(r"^   (\w[\w.]*)$", part, flags=re.MULTILINE))


def test_names_of_the_api_page_exist():
    names = list(api_names(text_of(REPOSITORY / "docs" / "api.md")))
    assert len(names) > 150
    for name in names:
        resolve_name(name)
    with pytest.raises(AttributeError):
        resolve_name("homothety.summaries.nothing")


def test_citation_names_this_version():
    assert f"\nversion: {homothety.__version__}\n" in text_of(REPOSITORY / "CITATION.cff")


def test_tables_of_the_page_on_accuracy_are_those_of_the_results():
    page = text_of(pages.PAGE)
    assert len(pages.COPY.findall(page)) >= 13
    assert pages.refreshed(page) == page  # if not: python -m benchmarks.pages
