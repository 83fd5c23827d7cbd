"""Every Python block and every tacit command of the READMEs and the docs runs."""

import re
import shlex
from pathlib import Path

import pytest
from scripts.docs.pictures import IMAGES, architecture

from cli.command import run_command
from tacit.planning.catalogue import CATALOGUE

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("packages/*/README.md")), *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(autouse=True)
def same_catalogue(monkeypatch):
    """What a page registers is forgotten afterwards."""
    for problem, algorithms in CATALOGUE.items():
        monkeypatch.setitem(CATALOGUE, problem, algorithms)


def blocks(kind):
    for page in PAGES:
        for index, body in enumerate(re.findall(rf"```{kind}\n(.*?)```", page.read_text(), re.DOTALL)):
            yield pytest.param(body, id=f"{page.relative_to(ROOT)}:{index}")


@pytest.mark.parametrize("body", list(blocks("python")))
def test_python_block(body, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(body, "block", "exec"), {})


def sessions():
    """The executed blocks of each page, one after the other as the site runs them."""
    for page in PAGES:
        bodies = re.findall(r'```python exec="on"[^\n]*\n(.*?)```', page.read_text(), re.DOTALL)
        if bodies:
            yield pytest.param("\n".join(bodies), id=str(page.relative_to(ROOT)))


@pytest.mark.parametrize("body", list(sessions()))
def test_executed_blocks(body, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT)
    exec(compile(body, "session", "exec"), {})
    assert capsys.readouterr().out


def commands():
    """The tacit commands of each block, in order: later ones may read what earlier ones wrote."""
    for block in blocks("sh"):
        lines = [line for line in block.values[0].splitlines() if line.startswith("tacit ")]
        if lines:
            yield pytest.param(lines, id=block.id)


@pytest.mark.parametrize("lines", list(commands()))
def test_commands(lines, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for line in lines:
        words = shlex.split(line.split(">")[0].split("#")[0])
        assert run_command(*words[1:]) == 0
        assert capsys.readouterr().out


def test_relative_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_picture_of_the_packages_is_that_of_the_code(tmp_path):
    drawn = architecture(tmp_path).read_text()
    assert drawn == (IMAGES / "architecture.svg").read_text(), "python scripts/docs/pictures.py architecture"
