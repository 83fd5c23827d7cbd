"""The three packages, the files of deploy/ and the citation have one version, and packages require each other at it."""

import re
import tomllib
from pathlib import Path

import pytest

import tacit

ROOT = Path(__file__).parents[1]
NAMES = ("tacit", "tacit-models", "tacit-experiments")
MINOR = ".".join(tacit.__version__.split(".")[:2])


def project(name):
    return tomllib.loads((ROOT / "packages" / name / "pyproject.toml").read_text())["project"]


def stated(path, pattern):
    """Return what stands behind the pattern in a file, where it must stand once."""
    (found,) = re.findall(rf"(?m)^\s*{pattern}(\S+)$", (ROOT / path).read_text())
    return found.strip('"')


def requirements(name):
    """Return all that a package requires, also with extras."""
    there = project(name)
    return [*there["dependencies"], *(line for lines in there["optional-dependencies"].values() for line in lines)]


@pytest.mark.parametrize("name", NAMES)
def test_packages_have_the_version_of_the_code(name):
    assert project(name)["version"] == tacit.__version__


@pytest.mark.parametrize("name", NAMES)
def test_packages_require_their_neighbours_at_this_very_version(name):
    for requirement in requirements(name):
        package, _, version = re.fullmatch(r"([\w-]+)(\[.*?\])?(.*)", requirement).groups()
        if package in NAMES and package != name:
            assert version == f"=={tacit.__version__}", requirement
        elif package == name:  # an extra that names other extras of its own package
            assert not version, requirement


def test_models_and_experiments_require_tacit_and_not_each_other():
    def neighbours(name):
        return {re.match(r"[\w-]+", line)[0] for line in requirements(name)} & set(NAMES) - {name}

    assert {name: neighbours(name) for name in NAMES} == {
        "tacit": set(), "tacit-models": {"tacit"}, "tacit-experiments": {"tacit"}
    }  # fmt: skip


def test_the_citation_has_the_version():
    assert stated("CITATION.cff", "version: ") == tacit.__version__


def test_the_chart_has_the_version():
    """Helm wants three numbers, and a hyphen before what follows them: 0.4.0-dev0."""
    numbers, rest = re.fullmatch(r"(\d+\.\d+\.\d+)\.?(.*)", tacit.__version__).groups()
    assert stated("deploy/helm/Chart.yaml", "version: ") == (f"{numbers}-{rest}" if rest else numbers)
    assert stated("deploy/helm/Chart.yaml", "appVersion: ") == tacit.__version__


def test_images_are_called_by_the_minor_version():
    assert stated("deploy/compose.yaml", "image: tacit:") == MINOR
    assert stated("deploy/helm/values.yaml", "tag: ") == MINOR
