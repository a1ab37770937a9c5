from __future__ import annotations

import shutil
import subprocess

import pytest
import shtab

from homothety.cli.app import SHELLS, arguments_of, build_parser


def offered_by_bash(script, words, tmp_path):
    """Return what Bash offers for the last of some words."""
    path = tmp_path / "homothety.bash"
    path.write_text(script)
    (tmp_path / "demo.csv").touch()
    code = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; '
        '_shtab_homothety homothety "${COMP_WORDS[COMP_CWORD]}"; echo "${COMPREPLY[@]}"'
    )
    command = ["bash", "-c", code, "bash", str(path), "homothety", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("re",), ["resume", "report"]),
        (("segment", "--quat"), ["--quaternions"]),
        (("segment", "demo.csv", "--mo"), ["--model"]),
        (("segment", "demo.csv", "--model", ""), ["actions", "icsc", "ibp", "hdp", "hmm"]),
        (("segment", "--model", "h"), ["hdp", "hmm"]),
        (("cluster", "--only"), ["--only-spd"]),
        (("completion", ""), list(SHELLS)),
        (("segment", "dem"), ["demo.csv"]),
        (("segment", "-o", "dem"), ["demo.csv"]),
    ],
)
def test_bash_offers_commands_options_values_and_files(words, offered, tmp_path, run):
    script = run("completion", "bash").out
    assert sorted(offered_by_bash(script, words, tmp_path)) == sorted(offered)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_option_of_every_command_is_in_every_script(shell, run):
    answer = run("completion", shell)
    assert (answer.status, answer.err) == (0, "")
    for option in {flag for action in arguments_of(build_parser()) for flag in action.option_strings}:
        assert option.lstrip("-") in answer.out, option


def test_shells_are_those_of_the_library():
    assert set(SHELLS) == set(shtab.SUPPORTED_SHELLS)
