from __future__ import annotations

import pytest

from homothety.cli.app import build_parser
from homothety.cli.wording import OPTIONS, columns_called, in_columns, in_options
from homothety.errors import InputError, NotSPDError


def parser_of(command):
    words = [command] if command == "demo" else [command, "file"]
    return build_parser().parse_args(words).parser


def test_every_option_is_one_of_some_command():
    helps = "".join(parser_of(command).format_help() for command in ("cluster", "segment", "compare"))
    assert [option for option in OPTIONS.values() if f"{option} " not in helps] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Say which it is with variable=.", "Say which it is with --variable."),
        ("chosen with variable='name.field'.", "chosen with --variable name.field."),
        ("n_jobs is 0, needed 1 or more.", "--jobs is 0, needed 1 or more."),
        ("needed 0 <= n_burn < n_sweeps.", "needed 0 <= --burn < --sweeps."),
        ("run: settings.n_burn was 1, is 2.", "run: --burn was 1, is 2."),
        ("Centre them: Preprocessing(centre='all').", "Centre them: --centre all."),
        ("groups means nothing here.", "--scale-together means nothing here."),
        # What only looks like a parameter.
        ("group=a/demo.csv is not there.", "group=a/demo.csv is not there."),
        ("runs/n_burn.csv is empty.", "runs/n_burn.csv is empty."),
        ("The order is unknown; the scale has no unit.", "The order is unknown; the scale has no unit."),
        ("--order is 2.", "--order is 2."),
        # What this command has no option for.
        ("Leave such voxels out with mask=.", "Leave such voxels out with mask=."),
    ],
)
def test_parameters_become_options(text, said):
    assert in_options(text, parser_of("segment")) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Pass order='fsl', or leave voxels out with mask=.", "Pass --order fsl, or leave voxels out with --mask."),
        ("X[3] is flat. Use a ridge (sample_covariance).", "matrix 3, counted from 0, is flat. Use a ridge."),
        ("variant is 'x', needed 'log', or an SPCMVariant.", "--variant is 'x', needed 'log'."),
        ("Use points='spectral', or diagonal=True.", "Use --points spectral."),
    ],
)
def test_python_is_left_out(text, said):
    assert in_options(text, parser_of("cluster")) == said


def test_dimensions_without_a_name_keep_their_numbers():
    assert in_columns("After centring, dimension 3 is constant.", ["x"]) == "After centring, dimension 3 is constant."


def test_errors_keep_their_kind():
    with pytest.raises(NotSPDError, match="Column y is flat"), columns_called(["x", "y"]):
        raise NotSPDError("Dimension 1 is flat.")
    with pytest.raises(InputError, match="as it was"), columns_called(["x", "y"]):
        raise InputError("as it was")
