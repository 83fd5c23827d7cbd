"""What newcomers look for beside the code is there, parses, and calls targets that exist."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_targets_that_exist(path):
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    lines = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    named = {word for line in lines for word in line.split()[1:] if line.startswith("make ")}
    assert lines or "publish" in path.stem
    assert named <= TARGETS


def test_workflows_run_what_ci_runs():
    called = set(re.findall(r"make ([a-z-]+)", (ROOT / ".ci/run").read_text()))
    workflow = (ROOT / ".github/workflows/check.yml").read_text()
    assert called <= set(re.findall(r"make ([a-z-]+)", workflow))


@pytest.mark.parametrize("path", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem)
def test_forms_parse(path):
    form = yaml.safe_load(path.read_text())
    assert path.stem == "config" or {"name", "description", "body"} <= form.keys()


def test_hooks_are_the_checks():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    check = re.search(r"^check:.*?\n\n", (ROOT / "Makefile").read_text(), re.MULTILINE | re.DOTALL)[0]
    for hook in hooks:
        assert hook["entry"].split("/")[-1].split()[0] in check


def test_pythons_of_the_classifiers_are_tested():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    versions = {line.split()[-1] for line in declared if line.startswith("Programming Language")}
    jobs = yaml.safe_load((ROOT / ".github/workflows/check.yml").read_text())["jobs"]
    assert versions == set(jobs["test"]["strategy"]["matrix"]["python"])
