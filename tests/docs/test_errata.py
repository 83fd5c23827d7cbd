"""Every erratum of the site is reproduced: the print fails, the correction holds, and no section lacks its function."""

import importlib
import re
from pathlib import Path

import pytest
from scripts.errata.evidence import CORRECTED, FALSE, GAP, LOOSE, RIGHT, VERDICT

ROOT = Path(__file__).parents[2]
PAGES = {
    "ctrl": "ctrl",
    "lazy_to_private": "lazy-to-private",
    "bandit": "bandit",
    "tracking": "tracking",
    "online_to_batch": "online-to-batch",
}
# Sections that hold a table of certified numbers instead of an erratum.
OTHER_SECTIONS = {"numbers"}


def script(name):
    return importlib.import_module(f"scripts.errata.{name}")


def sections(page):
    """The ids of a page's sections, each with its text."""
    parts = re.split(r"^## .*\{ #(\w+) \}$", page, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def statements():
    for name in PAGES:
        for function in script(name).errata.functions:
            yield pytest.param(name, function, id=f"{name}:{function}")


@pytest.mark.parametrize(("name", "function"), list(statements()))
def test_the_print_fails_and_what_replaces_it_holds(name, function):
    numbers = script(name).errata.functions[function]()
    assert numbers[VERDICT] in (FALSE, GAP, LOOSE, RIGHT)
    assert numbers[CORRECTED] == "holds"
    assert len(numbers) > 3  # numbers, not only verdicts


@pytest.mark.parametrize("name", PAGES)
def test_every_section_has_its_function_and_every_function_its_section(name):
    text = (ROOT / "docs" / "errata" / f"{PAGES[name]}.md").read_text()
    found = sections(text)
    assert len(found) == len(re.findall(r"^## ", text, flags=re.MULTILINE))
    assert set(found) - OTHER_SECTIONS == set(script(name).errata.functions)
    for function in script(name).errata.functions:
        assert f'print({name}.table("{function}"))' in found[function], f"{function} does not show its own numbers"
        assert "**What is true.**" in found[function]
        assert "**tacit**" in found[function] or "`" in found[function]
