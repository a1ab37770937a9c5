from __future__ import annotations

import re
import shutil
import subprocess
from argparse import ArgumentParser

import pytest

from homothety.cli.app import build_parser
from homothety.cli.completion import SCRIPTS, Command, commands_of

COMMANDS = commands_of(build_parser())


def offered_by_bash(words, tmp_path):
    """Return what Bash offers for the last of some words."""
    script = tmp_path / "homothety.bash"
    script.write_text(SCRIPTS["bash"](COMMANDS))
    code = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _homothety; echo "${COMPREPLY[@]}"'
    command = ["bash", "-c", code, "bash", str(script), "homothety", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("",), [command.name for command in COMMANDS]),
        (("re",), ["resume", "report"]),
        (("segment", "--quat"), ["--quaternions"]),
        (("segment", "demo.csv", "--mo"), ["--model"]),
        (("segment", "demo.csv", "--model", ""), ["actions", "icsc", "ibp", "hdp", "hmm"]),
        (("segment", "--model", "h"), ["hdp", "hmm"]),
        (("compare", "--model", ""), []),
        (("cluster", "--only"), ["--only-spd"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("segment", ""), []),  # names of files, by the shell itself
        (("segment", "-o", ""), []),
    ],
)
def test_bash_offers_commands_options_and_values(words, offered, tmp_path):
    assert offered_by_bash(words, tmp_path) == offered


@pytest.mark.parametrize("shell", SCRIPTS)
def test_every_option_of_every_command_is_in_every_script(shell, run):
    answer = run("completion", shell)
    assert (answer.status, answer.err) == (0, "")
    for command in COMMANDS:
        lines = [line for line in answer.out.splitlines() if command.name in line]
        for option in (flag for action in command.actions for flag in action.option_strings):
            name = option.lstrip("-")
            assert any(
                re.search(rf"[ \"]{option}\b", line) or f"-l {name}" in line or f"-s {name}" in line for line in lines
            ), option


def test_fish_quotes_what_it_has_to():
    script = SCRIPTS["fish"]([*COMMANDS, Command("best", "the paper's best", ArgumentParser())])
    assert r"-a best -d 'the paper\'s best'" in script
    assert "-l model -x -a 'actions icsc ibp hdp hmm' -d" in script
