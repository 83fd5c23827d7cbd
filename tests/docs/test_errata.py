"""Every erratum of the site is reproduced: it is shown, what replaces it holds, and no section lacks its command."""

import importlib
import re
from pathlib import Path

import pytest
from errata.report import NOT_SHOWN, RANKS

ROOT = Path(__file__).parents[2]
PAGES = {
    "ctrl": "ctrl",
    "l2p": "lazy-to-private",
    "bandit": "bandit",
    "tracking": "tracking",
    "online_to_batch": "online-to-batch",
}
# Sections that hold a table of certified numbers instead of an erratum.
OTHER_SECTIONS = {"numbers"}


def known(name):
    """Return the errata of one file."""
    return importlib.import_module(f"errata.{name}").errata


def page(name):
    """Return the text of the page of one file."""
    return (ROOT / "docs" / "errata" / f"{PAGES[name]}.md").read_text()


def sections(text):
    """Return the sections of a page by their ids."""
    parts = re.split(r"^## .*\{ #(\w+) \}$", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def statements():
    for name in PAGES:
        for erratum in known(name).known:
            yield pytest.param(name, erratum, id=f"{name}:{erratum}")


@pytest.mark.parametrize(("name", "erratum"), list(statements()))
def test_the_print_fails_and_what_replaces_it_holds(name, erratum):
    finding, _ = known(name).find(erratum)
    assert finding.shown
    assert finding.holds
    assert known(name).verdict(erratum) != NOT_SHOWN


@pytest.mark.parametrize("name", PAGES)
def test_every_section_has_its_erratum_and_every_erratum_its_section(name):
    text = page(name)
    found = sections(text)
    assert len(found) == len(re.findall(r"^## ", text, flags=re.MULTILINE))
    assert set(found) - OTHER_SECTIONS == set(known(name).known)
    assert "print(errata.table())" in text
    assert f"python errata/{name}.py" in text
    for erratum in known(name).known:
        assert f'print(errata.page("{erratum}"))' in found[erratum], f"{erratum} does not show its own numbers"
        assert "**What is true.**" in found[erratum]
        assert "**tacit**" in found[erratum] or "`" in found[erratum]


@pytest.mark.parametrize("name", PAGES)
def test_pages_run_and_show_rank_and_command(name, monkeypatch, capsys):
    """The blocks of a page, as the site runs them: in order, from the project's folder."""
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r'^```python exec="on"[^\n]*\n(.*?)^```$', page(name), flags=re.MULTILINE | re.DOTALL)
    exec("".join(blocks), {})  # the project's own pages
    shown = capsys.readouterr().out
    for erratum in known(name).known.values():
        assert f"$ python errata/{name}.py {erratum.name}\n" in shown
        assert f"| [`{erratum.name}`](#{erratum.name}) | {erratum.where} | {RANKS[erratum.rank]} |" in shown
