"""Messages of the library with options and columns in place of parameters and dimensions."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from homothety.errors import InputError

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator, Sequence

# Parameters of the library, and the options that set them where a command has such an option.
OPTIONS = {
    "blocks": "--blocks",
    "frames": "--frames",
    "least_stay": "--least-stay",
    "n_actions": "--actions",
    "rotations": "--rotations",
    "centre": "--centre",
    "columns": "--columns",
    "concentration": "--concentration",
    "emission": "--emission",
    "group": "--group",
    "grouping": "--grouping",
    "groups": "--scale-together",
    "labels": "--truth",
    "mask": "--mask",
    "max_states": "--max-states",
    "measure": "--measure",
    "min_eigenvalue": "--min-eigenvalue",
    "model": "--model",
    "n_burn": "--burn",
    "n_chains": "--chains",
    "n_components": "--n-components",
    "n_jobs": "--jobs",
    "n_samples": "--n-samples",
    "n_sweeps": "--sweeps",
    "neighbor_share": "--neighbor-share",
    "order": "--order",
    "outliers": "--outliers",
    "points": "--points",
    "quaternions": "--quaternions",
    "resolution": "--resolution",
    "scale": "--scale",
    "size": "--size",
    "smooth": "--smooth",
    "solver": "--solver",
    "step_weight": "--step-weight",
    "subsample": "--subsample",
    "tolerance": "--tolerance",
    "topic": "--topic",
    "variable": "--variable",
    "variant": "--variant",
    "velocities": "--velocities",
}

# What only means something in Python, and what to say instead.
_PYTHON_ONLY = (
    (r"leave it out, for example with np\.delete\(.*?\)", "leave it out by naming the others with --columns"),
    (r", or (?:None|an SPCMVariant|a function of two matrices|diagonal=True)(?=\.)", ""),
    (r", 'links' or a grouping of homothety\.models\.icsc", " or 'links'"),
    (r" \(sample_covariance\)", ""),
    (r"\bblocks=\[\.\.\.\]", "--blocks"),
    (r"\bblocks\[(\d+)\]", r"--blocks, word \1 counted from 0,"),
    (r"\bPreprocessing\(([^()]*)\)", r"\1"),
    (r"\bsettings\.(?=\w)", ""),
    (r"\bpositions= ", "--spatial "),
    (r"\bX\[(\d+)\]", r"matrix \1, counted from 0,"),
)

_APART = r"(?<![\w./'\"-])"  # not a part of a longer name, of a path or of an option
_SUBJECT = r"(?=\ (?:is|was|has|means|names)\b)"  # what parameters are said to do


def in_options(text: str, parser: ArgumentParser) -> str:
    """Return a message of the library with options in place of parameters.

    Parameters
    ----------
    text : str
        Speaks of parameters: as ``name=`` or ``name='value'``, as the subject of a sentence, or by a name with an
        underscore, which is no English word.
    parser : ArgumentParser
        Of the command: a parameter it has no option for stays as it is.

    Examples
    --------
    >>> from argparse import ArgumentParser
    >>> parser = ArgumentParser()
    >>> for option in ("--order", "--jobs"):
    ...     _ = parser.add_argument(option)
    >>> in_options("Pass order='fsl', as the order is not known.", parser)
    'Pass --order fsl, as the order is not known.'
    >>> in_options("n_jobs is 0, needed 1 or more.", parser)
    '--jobs is 0, needed 1 or more.'
    """
    for pattern, words in _PYTHON_ONLY:
        text = re.sub(pattern, words, text)
    for parameter, option in OPTIONS.items():
        if option in parser._option_string_actions:
            text = re.sub(rf"{_APART}{parameter}='([^']*)'", rf"{option} \1", text)
            text = re.sub(rf"{_APART}{parameter}=(?=[\s.,;:)]|$)", option, text)
            is_word = "_" not in parameter
            where = rf"(?:^|(?<=:\ )){parameter}{_SUBJECT}" if is_word else rf"{_APART}{parameter}(?![\w=/]|\.\w)"
            text = re.sub(where, option, text)
    return text


@contextmanager
def columns_called(names: Sequence[str]) -> Iterator[None]:
    """Use names of columns in place of dimension numbers in error messages."""
    try:
        yield
    except InputError as error:
        raise type(error)(in_columns(str(error), names)) from error


def in_columns(text: str, names: Sequence[str]) -> str:
    """Return a message with the names of columns in the place of dimensions counted from 0.

    Examples
    --------
    >>> in_columns("Dimension 2 is 5 at every step (constant dimensions: 0, 2).", ["x", "y", "z"])
    'Column z is 5 at every step (constant columns: x, z).'
    """
    capitals = {"D": "Column", "d": "column"}

    def renamed(match: re.Match[str]) -> str:
        dims = [int(dim) for dim in match["dims"].split(", ")]
        if max(dims) >= len(names):
            return match[0]
        return capitals[match["capital"]] + match["many"] + ", ".join(names[dim] for dim in dims)

    return re.sub(r"\b(?P<capital>[Dd])imension(?P<many>s: | )(?P<dims>\d+(?:, \d+)*)\b", renamed, text)
