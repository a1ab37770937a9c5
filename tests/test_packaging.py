"""The conda recipe, the container and the source distribution agree with pyproject.toml and the repository."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from homothety.cli.app import build_parser

REPOSITORY = Path(__file__).resolve().parents[1]
RECIPE = REPOSITORY / "conda" / "meta.yaml"
DOCKERFILE = REPOSITORY / "Dockerfile"


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))


def listed(heading):
    """Return the items of a list of the recipe, without spaces."""
    block = re.search(rf"^ +{heading}:\n((?:    - .*\n)+)", RECIPE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {line.strip("- ").replace(" ", "") for line in block.group(1).splitlines()}


def test_recipe_needs_what_the_project_needs(project):
    needed = {f"python{project['project']['requires-python']}", *project["project"]["dependencies"]}
    assert listed("run") == needed


def test_recipe_has_the_command_of_the_project(project):
    scripts = {f"{name}={target}" for name, target in project["project"]["scripts"].items()}
    assert listed("entry_points") == scripts


def test_recipe_has_the_licence_and_the_build_backend_of_the_project(project):
    assert f"license: {project['project']['license']}\n" in RECIPE.read_text(encoding="utf-8")
    assert set(project["build-system"]["requires"]) <= listed("host")


def test_container_copies_files_that_exist_and_its_default_command_is_understood():
    text = DOCKERFILE.read_text(encoding="utf-8")
    copied = [name for line in re.findall(r"^COPY (.*) \S+$", text, flags=re.MULTILINE) for name in line.split()]
    ignored = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert copied
    for name in copied:
        assert (REPOSITORY / name).exists()
        assert f"!{name}" in ignored
    command = re.search(r'^CMD \["(.*)"\]$', text, flags=re.MULTILINE).group(1)
    assert command == "demo"
    build_parser().parse_args([command])  # ends the test if there is no such command


def test_source_distribution_has_what_the_tests_need(project):
    included = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {"src", "tests", "docs", "examples", "benchmarks", "paper", "hardening", "/conftest.py"} <= set(included)
    assert {"conda", "Dockerfile", ".dockerignore"} <= set(included)
