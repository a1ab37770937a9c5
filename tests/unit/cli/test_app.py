from __future__ import annotations

import re
import shlex
import subprocess
import sys
from argparse import _SubParsersAction

import numpy as np
import pytest

from homothety import __version__
from homothety.cli import demo, main
from homothety.cli.app import build_parser, explain
from homothety.errors import InputError


def test_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out.strip() == f"homothety {__version__}"


PARSERS = next(action.choices for action in build_parser()._actions if isinstance(action, _SubParsersAction))
COMMANDS = list(PARSERS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_examples_and_the_shared_options(command, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    text = capsys.readouterr().out
    assert f"homothety {command}" in text.split("examples:")[1]
    unshared = {
        "completion": {"--seed", "--quiet", "--json", "--output"},
        "resume": {"--seed", "--output"},
        "report": {"--seed"},
        "apply": {"--seed"},
        "check": {"--seed", "--output"},
        "warm-up": {"--seed", "--output"},
    }
    for option in {"--seed", "--quiet", "--json", "--output"} - unshared.get(command, set()):
        assert option in text


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_in_help_are_understood(command, capsys):
    parser = build_parser()
    lines = re.findall(r"^  homothety (.+)$", PARSERS[command].epilog, re.MULTILINE)
    assert lines
    for line in lines:
        parser.parse_args(shlex.split(re.split(r"\s{2,}| [|>] ", line)[0]))


def test_general_help_lists_the_commands(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    text = capsys.readouterr().out
    assert all(f"\n    {command}" in text for command in COMMANDS)
    assert "examples:" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: COMMAND"),
        (["cluster"], "required: FILE"),
        (["cluster", "x.npy", "--seed", "-1"], "'-1' is not a whole number of at least 0"),
        (["cluster", "x.npy", "--chains", "many"], "'many' is not a whole number of at least 1"),
        (["frobnicate"], "invalid choice: 'frobnicate'"),
    ],
)
def test_wrong_arguments_exit_with_2(arguments, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("homothety: ")
    assert message in line


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InputError("one\n  line"), "one line"),
        (PermissionError(13, "Permission denied", "results"), "results: Permission denied."),
        (OSError(28, "No space left on device"), "No space left on device."),
        (MemoryError("Unable to allocate 80 GiB"), "Not enough memory: Unable to allocate 80 GiB."),
        (np.linalg.LinAlgError("Singular matrix"), "The computation broke down (Singular matrix): the data are"),
    ],
)
def test_errors_become_one_line(error, text):
    assert explain(error).startswith(text)
    assert "\n" not in explain(error)


def raise_in_demo(monkeypatch, error):
    def fail(seed, console):
        raise error

    monkeypatch.setattr(demo, "_segment_demonstrations", fail)


def test_matrices_that_cannot_be_decomposed_exit_with_2(run, tmp_path, monkeypatch):
    raise_in_demo(monkeypatch, np.linalg.LinAlgError("Matrix is not positive definite"))
    answer = run("demo", "-o", tmp_path)
    assert answer.status == 2
    assert "broke down (Matrix is not positive definite)" in answer.error


def test_faults_of_the_program_are_traced(run, tmp_path, monkeypatch):
    raise_in_demo(monkeypatch, ValueError("operands could not be broadcast"))
    with pytest.raises(ValueError, match="broadcast"):
        run("demo", "-o", tmp_path)


@pytest.mark.parametrize("command", ["cluster", "segment"])
def test_help_says_that_nothing_is_kept_of_burn_in(command, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    assert "of which nothing is kept" in capsys.readouterr().out


def test_the_parser_loads_nothing_heavy():
    code = "import sys; from homothety.cli.app import build_parser; build_parser(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numba", "sklearn", "scipy", "matplotlib"}.intersection(loaded)


def test_it_runs_as_a_module():
    command = [sys.executable, "-m", "homothety", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().endswith(__version__)
