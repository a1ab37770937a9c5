"""The command line: one module per command, over the same functions everybody can call."""

from homothety.cli.app import main

__all__ = ["main"]
