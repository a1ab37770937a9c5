"""`homothety check`: faults of recordings, before anything is fitted to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homothety.cli import recordings as given
from homothety.cli.options import add_command, add_memory_option, add_output_options
from homothety.phrases import number_of

if TYPE_CHECKING:
    import argparse

    from homothety.cli.console import Console
    from homothety.quality import Finding
    from homothety.sequences import Sequences

_HELP = "look for faults in recordings"
_DESCRIPTION = """\
Look for faults in recordings that may spoil a segmentation: outliers, dead sensors, exact copies of recordings,
channels that follow from others, pauses, stretches in which a sensor has stopped, a recording that is unlike all
others, baselines that drift, and channels with few different values. homothety segment looks for the same before it
begins.
"""
_EPILOG = """\
examples:
  homothety check demos/
  homothety check log.parquet --group episode_index --columns observation.state
  homothety check demos/*.csv --json | jq '.findings[].text'

Exit status: 0 if nothing was found; 1 if something was; 2 for input that cannot be used.
"""
_FOUND = 1


def add_parser(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(commands, "check", run, help=_HELP, description=_DESCRIPTION, epilog=_EPILOG)
    parser.set_defaults(otherwise=_FOUND)
    given.add_files(parser)
    given.add_reading_options(parser)
    add_output_options(parser)
    add_memory_option(parser)


def run(args: argparse.Namespace, console: Console) -> bool:
    """Print all findings; return whether there are none."""
    from homothety.channels import guess_blocks
    from homothety.quality import examine
    from homothety.sequences import check_sequences

    recordings = check_sequences(given.read(args, console), min_steps=1, allow_constant=True, allow_missing=True)
    blocks = guess_blocks(recordings.channels, recordings.n_dims)
    findings = examine(recordings, blocks=blocks.channels).findings
    size = f"{number_of(len(recordings), 'recording')}, {recordings.n_steps} steps of " + number_of(
        recordings.n_dims, "channel"
    )
    found = "\n".join(one.text for one in findings) or "Nothing was found."
    data = {
        "recordings": len(recordings),
        "steps": recordings.n_steps,
        "channels": recordings.n_dims,
        "findings": [_record(one, recordings) for one in findings],
    }
    console.show(f"{found}\n\nLooked at {size}.", data)
    return not findings


def _record(finding: Finding, recordings: Sequences) -> dict[str, Any]:
    """Return a finding for JSON; channels without names by number."""
    names = recordings.channels or range(recordings.n_dims)
    return {
        "kind": finding.kind,
        "recordings": [recordings.names[i] for i in finding.recordings],
        "channels": [names[dim] for dim in finding.channels],
        "text": finding.text,
    }
