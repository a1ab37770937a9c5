"""The command that computes the tables: what it prints, and the page it writes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import homothety
from paper import __main__ as command
from paper.__main__ import PAGE, main
from paper.page import INTRODUCTION, MOST_PIXELS, ON_SEGMENTATION, TABLES, parts_of
from paper.printed import TABLE_3

TOYS = {
    "2": "toy-3d,toy-6d-scaled",
    "3": "toy-3d",
    "4": "toy-2d",
    "convergence": "toy-6d",
    "segmentation-convergence": "toy-2d",
    "sensitivity": "toy-3d",
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Work in an empty folder, without the data of whoever runs the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOMOTHETY_DATA", raising=False)


def refusal(capsys, *arguments):
    """Return the text that says why arguments are refused."""
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    return capsys.readouterr().err.splitlines()[-1]


def rows_of(text, start):
    """Return the cells of the lines of tables that start with a cell."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    return [line for line in lines if line[:1] == [start]]


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_a_part_of_the_page_with_its_figures(name, tmp_path, capsys):
    main([name, "--quick", "--sets", TOYS[name], "-o", "page.md"])
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert list(parts_of(page)) == [TABLES[name].TITLE]
    assert "is not there, so it was generated anew with seed 0" in page
    figures = sorted((tmp_path / "pictures").glob("*.png"))
    assert figures
    for figure in figures:
        assert f"](pictures/{figure.name})" in page
        with Image.open(figure) as picture:
            assert max(picture.size) <= MOST_PIXELS
    printed = capsys.readouterr()
    assert printed.out.startswith(f"# {TABLES[name].TITLE}\n\n")
    assert printed.err.startswith("[1/")


def test_table_2_sets_measured_beside_printed(capsys):
    main(["2", "--quick", "--sets", "toy-3d"])
    affinity, spectral = (rows_of(half, "Toy 3D") for half in capsys.readouterr().out.split("\n## ")[1:])
    assert [row[1] for row in affinity] == ["NMI", "purity", "F", "K"]
    assert spectral[0][6] == "1.00 / 1.00"
    assert spectral[2][2].endswith(" / 0.70 (0.09)")


def test_table_3_has_the_printed_column_for_both_of_ours(capsys):
    main(["3", "--quick", "--sets", "toy-6d"])
    *_, n_clusters = rows_of(capsys.readouterr().out, "Toy 6D (3)")
    assert n_clusters[1] == "K"
    assert n_clusters[8] == TABLE_3["toy-6d", "spcm", "K"]


def test_runs_sweeps_and_grid_can_be_chosen(tmp_path, capsys):
    options = ("--runs", "3", "--sweeps", "4", "--grid", "2", "--seed", "5", "--sets", "toy-3d")
    main(["sensitivity", "--quick", *options])
    printed = capsys.readouterr()
    assert "2 x 2 log-spaced settings, 3 runs of 4 sweeps each, seeds from 5." in printed.out
    assert "[12/12]" in printed.err
    assert list(tmp_path.iterdir()) == []


def test_other_parts_of_the_page_stay_as_they_are(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    main(["3", "--quick", "--sets", "toy-3d", "-o", "page.md"])
    before, after = (parts_of(path.read_text(encoding="utf-8")) for path in (PAGE, page))
    assert list(after) == list(before) == [table.TITLE for table in TABLES.values()]
    assert [title for title in after if after[title] != before[title]] == [TABLES["3"].TITLE]


@pytest.mark.parametrize(
    ("options", "is_written"),
    [
        ((), True),
        (("--quick",), False),
        (("--sets", "toy-3d"), False),
        (("--seed", "1"), False),
        (("-o", "x.md"), True),
    ],
)
def test_only_what_is_computed_in_full_goes_to_the_documentation(options, is_written, monkeypatch):
    pages = []
    monkeypatch.setattr(command, "reproduce", lambda table, args, page: pages.append(page))
    main(["3", "--data", ".", *options])
    assert pages == [(Path("x.md") if "-o" in options else PAGE) if is_written else None]


def test_the_introduction_of_the_page_is_the_one_that_is_written():
    assert PAGE.read_text(encoding="utf-8").startswith(INTRODUCTION + ON_SEGMENTATION)


@pytest.fixture
def small_rat(tmp_path):
    """A folder with a made-up file in the place of the set that may not be published."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((10, 3, 3))
    matrices = factors @ factors.swapaxes(1, 2) + np.eye(3)
    np.savez(tmp_path / "dti_rat_hippocampus.npz", matrices=matrices, labels=np.repeat([1, 2], 5))
    return tmp_path


@pytest.mark.parametrize("name", ["2", "3"])
def test_rows_that_may_not_be_published_say_so_and_are_not_in_the_page(name, small_rat, capsys):
    main([name, "--quick", "--data", str(small_rat), "--sets", "toy-3d,rat", "-o", "page.md"])
    printed, page = capsys.readouterr().out, (small_rat / "page.md").read_text(encoding="utf-8")
    assert "| Rat DTI ‡" in printed
    assert "ask for permission before results are published" in printed
    assert "Toy 3D ‡" not in printed
    assert "| Toy 3D" in page
    assert "| Rat" not in page
    assert "‡" not in page.removeprefix(INTRODUCTION)
    assert not (small_rat / "pictures").exists()


def test_sets_that_are_not_there_are_skipped_with_a_line(tmp_path, capsys):
    main(["2", "--quick", "--sets", "toy-3d,task", "-o", "page.md"])
    line = "Task ellipsoids: skipped, data/task_ellipsoids_6d.npz is not there."
    assert line in capsys.readouterr().out
    assert line in (tmp_path / "page.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("2", "--sets", "mice"), "There is no set 'mice' here, only toy-3d, toy-6d"),
        (("2", "--sets", "task"), "None of the data sets is in data"),
        (("2", "--data", "nowhere"), "nowhere is not a folder"),
        (("5",), "invalid choice: '5'"),
    ],
)
def test_bad_input_is_refused(options, message, capsys):
    assert message in refusal(capsys, *options, "--quick")


def test_the_environment_says_where_the_data_are(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOMOTHETY_DATA", str(tmp_path / "nowhere"))
    assert "nowhere is not a folder" in refusal(capsys, "2", "--quick")


def test_a_broken_file_is_named(tmp_path, capsys):
    (tmp_path / "toy_3d.npz").write_text("not an archive")
    assert "toy_3d.npz cannot be read" in refusal(capsys, "2", "--quick", "--data", str(tmp_path), "--sets", "toy-3d")


@pytest.mark.parametrize(("name", "n_sweeps"), [("3", 70), ("convergence", 30), ("sensitivity", 300)])
def test_an_interrupted_table_is_not_written(name, n_sweeps, tmp_path, interrupt_links_after):
    interrupt_links_after(n_sweeps)
    sets = {"3": "toy-3d,toy-6d", "convergence": "toy-6d", "sensitivity": "toy-3d"}[name]
    with pytest.raises(KeyboardInterrupt):
        main([name, "--quick", "--sets", sets, "-o", "page.md"])
    assert list(tmp_path.iterdir()) == []


def test_modules_are_alike():
    for table in TABLES.values():
        assert table.FULL.runs >= table.QUICK.runs
        assert set(table.SETS)
        assert all(map(callable, (table.LOAD, table.tasks, table.report)))


def test_the_library_does_without_it():
    sources = Path(homothety.__file__).parent.rglob("*.py")
    importing = re.compile(r"^\s*(?:from|import) paper\b", flags=re.MULTILINE)
    assert [path.name for path in sources if importing.search(path.read_text(encoding="utf-8"))] == []
