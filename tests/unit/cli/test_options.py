"""Errors and warnings of the library, in the options of a command."""

from __future__ import annotations

import pickle

import pytest

from homothety.cli.app import build_parser
from homothety.cli.options import in_options
from homothety.errors import FewerActionsWarning, InputError, NotSPDError, SweepError


def said(error, command="segment"):
    return in_options(str(error), error, build_parser().parse_args([command, "file"]).parser)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InputError("Say which it is with variable=.", "variable"), "Say which it is with --variable."),
        (InputError("n_jobs is 0, needed 1 or more.", "n_jobs"), "--jobs is 0, needed 1 or more."),
        (InputError("a.csv: least_stay is 0.", "least_stay"), "a.csv: --least-stay is 0."),
        (InputError("needed 0 <= n_burn < n_sweeps.", "n_burn", "n_sweeps"), "needed 0 <= --burn < --sweeps."),
        (InputError("groups means nothing here.", "groups"), "--scale-together means nothing here."),
        (InputError("Centre them: centre='all'.", "centre"), "Centre them: --centre all."),
        (
            InputError("Choose columns of numbers with columns=.", "columns"),
            "Choose columns of numbers with --columns.",
        ),
        (FewerActionsWarning("Make least_stay= smaller.", "least_stay"), "Make --least-stay smaller."),
        # What the message does not say that it names, and what the command has no option for.
        (InputError("n_jobs is 0."), "n_jobs is 0."),
        (InputError("Leave such voxels out with mask=.", "mask"), "Leave such voxels out with mask=."),
    ],
)
def test_parameters_become_options(error, text):
    assert said(error) == text


def test_matrices_are_counted():
    error = NotSPDError("X[3] is flat, and X[13] is not.", item=3)
    assert said(error, "cluster") == "matrix 3, counted from 0, is flat, and X[13] is not."


@pytest.mark.parametrize("error", [NotSPDError("X[3] is flat.", "X", item=3), SweepError("path", "paths")])
def test_errors_come_back_whole_from_other_processes(error):
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.parameters, copy.item) == (
        type(error),
        str(error),
        error.parameters,
        error.item,
    )
