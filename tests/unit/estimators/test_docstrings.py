"""Every parameter of an estimator is described where it is, by name."""

from __future__ import annotations

import re

import pytest

import homothety

ESTIMATORS = [getattr(homothety, name) for name in homothety.__all__ if hasattr(getattr(homothety, name), "get_params")]


def described(docstring, section):
    """Return names in a section of a docstring that have a text of their own below."""
    (found,) = re.findall(
        rf"^    {section}\n    -+\n(.*?)(?=^    \w+\n    -+$|\Z)", docstring, re.MULTILINE | re.DOTALL
    )
    entries = re.findall(r"^    (\w[\w, ]*) :.*\n(?=        \S)", found, re.MULTILINE)
    return {name.strip() for entry in entries for name in entry.split(",")}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_is_described(estimator):
    missing = set(estimator().get_params(deep=False)) - described(estimator.__doc__, "Parameters")
    assert not missing


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_no_description_is_elsewhere(estimator):
    assert not re.search(r"\bas in `", estimator.__doc__, re.IGNORECASE)
