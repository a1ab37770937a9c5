"""`homothety completion`: scripts by which shells complete commands, options and their values.

All of it is read off the parser, so nothing can be forgotten here when an option is added elsewhere.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NamedTuple

from homothety.cli.options import add_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homothety.cli.console import Console

_DESCRIPTION = """\
Print a script that lets a shell complete commands, options and their values when the tab key is pressed.
"""
_EPILOG = """\
examples:
  eval "$(homothety completion bash)"                                      in ~/.bashrc
  eval "$(homothety completion zsh)"                                       in ~/.zshrc
  homothety completion fish > ~/.config/fish/completions/homothety.fish    once
"""

# Where nothing is offered, names of files are, which is what `-o default` does.
_BASH = """\
_homothety() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" offered=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        offered="{commands}"
    else
        case "${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD-1]}} $current" in
{cases}
        esac
    fi
    COMPREPLY=($(compgen -W "$offered" -- "$current"))
}}
complete -o default -F _homothety homothety
"""
_ZSH = "autoload -Uz compinit bashcompinit\ncompinit\nbashcompinit\n"


def add_parser(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(
        commands,
        "completion",
        run,
        help="let the shell complete commands and options",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument("shell", choices=SCRIPTS, help="shell to print the script of")
    parser.set_defaults(quiet=False, json=False)


def run(args: argparse.Namespace, console: Console) -> bool:
    """Print the script of a shell."""
    script = SCRIPTS[args.shell](commands_of(args.program))
    console.show(script.rstrip("\n"), script)
    return True


class Command(NamedTuple):
    """A command with its description and its parser."""

    name: str
    help: str
    parser: argparse.ArgumentParser

    @property
    def actions(self) -> list[argparse.Action]:
        """Its options and arguments."""
        return self.parser._actions


def commands_of(parser: argparse.ArgumentParser) -> list[Command]:
    """Return the commands of the program."""
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return [Command(one.dest, one.help or "", commands.choices[one.dest]) for one in commands._get_subactions()]


def bash(commands: list[Command]) -> str:
    """Return a script for Bash."""
    cases = "\n".join(f"            {case}" for command in commands for case in _bash_cases(command))
    return _BASH.format(commands=" ".join(command.name for command in commands), cases=cases)


def _bash_cases(command: Command) -> Iterator[str]:
    """Yield the completions of a command: values of an option or of its argument, or its options."""
    name = command.name
    for action in command.actions:
        if action.choices:
            after = "|".join(f'"{name} {word} "*' for word in action.option_strings or [name])
            yield f'{after}) offered="{_words(action)}" ;;'
    flags = " ".join(flag for action in command.actions for flag in action.option_strings)
    yield f'"{name} "*" -"*) offered="{flags}" ;;'


def zsh(commands: list[Command]) -> str:
    """Return a script for zsh, which runs the script for Bash."""
    return _ZSH + bash(commands)


def fish(commands: list[Command]) -> str:
    """Return a script for fish."""
    start = "complete -c homothety -n"
    lines = [f"{start} __fish_use_subcommand -f -a {name} -d {_quoted(text)}" for name, text, _ in commands]
    lines += [
        f"{start} '__fish_seen_subcommand_from {command.name}' {_fish_action(action)}"
        for command in commands
        for action in command.actions
        if action.option_strings or action.choices
    ]
    return "\n".join(lines) + "\n"


def _fish_action(action: argparse.Action) -> str:
    """Return the completion of an option, or of an argument with known values, for fish."""
    flags = [f"-{'l' if flag.startswith('--') else 's'} {flag.lstrip('-')}" for flag in action.option_strings]
    values = f"-x -a {_quoted(_words(action))}" if action.choices else "-r" * (action.nargs != 0)
    return " ".join([*flags, *[values] * bool(values), f"-d {_quoted(action.help)}"])


def _words(action: argparse.Action) -> str:
    return " ".join(map(str, action.choices or ()))


def _quoted(text: str | None) -> str:
    return "'" + (text or "").replace("\\", r"\\").replace("'", r"\'") + "'"


SCRIPTS = {"bash": bash, "zsh": zsh, "fish": fish}
