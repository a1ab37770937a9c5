from __future__ import annotations

import json
import sys

import pytest

from homothety.cli.comparing import Task
from homothety.cli.console import Console
from homothety.compilation import tell

TASKS = [Task(name, name, lambda: None) for name in ("first", "first", "second")]


def test_lines_name_each_group_of_tasks_once(capsys):
    assert list(Console().track(TASKS)) == TASKS
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["[0/3] first", "[2/3] second"]
    assert lines[1].endswith("left")


def test_a_terminal_gets_a_bar(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    console = Console()
    assert console.live
    assert list(console.track(TASKS)) == TASKS
    assert "second" in capsys.readouterr().err


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize(("options", "in_lines"), [({}, True), ({"as_json": True}, False), ({"quiet": True}, False)])
def test_progress_is_lines_unless_a_script_listens(is_terminal, options, in_lines, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    console = Console(**options)
    assert console.shows_progress == (in_lines or (is_terminal and not console.quiet))


def test_quiet_is_never_live(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert not Console(quiet=True).live


def test_quiet_still_shows_json_and_errors(capsys):
    console = Console(quiet=True, as_json=True)
    console.say("a step")
    console.show("for readers", {"answer": 42})
    console.fail("a reason")
    out, err = capsys.readouterr()
    assert json.loads(out) == {"answer": 42}
    assert err == "homothety: a reason\n"


def test_json_that_others_cannot_read_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        Console(as_json=True).show("", {"score": float("nan")})


@pytest.mark.parametrize("is_terminal", [True, False])
def test_compilation_is_announced(is_terminal, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    with Console().announcing_compilation():
        tell(1.5)
        tell(2.0)
    said = capsys.readouterr().err
    assert ("2 of about" in said) == is_terminal
    assert said.count("Compiling, first run only") == (2 if is_terminal else 1)
    assert said.endswith("Compiled 2 functions in 4 s; the next run finds them ready\n")


@pytest.mark.parametrize(("quiet", "n_told"), [(True, 3), (False, 0)])
def test_nothing_is_said_of_compilation_that_is_not_there_or_not_asked_for(quiet, n_told, capsys):
    with Console(quiet=quiet).announcing_compilation():
        for _ in range(n_told):
            tell(1.0)
    tell(1.0)  # nobody listens any more
    assert capsys.readouterr().err == ""
