"""The claims ledger: rows name evidence that exists, pages with numbers have rows, numbers are what produces them."""

import re
from pathlib import Path

import pytest

from docs.sources.statement import Stated
from docs.stated import STATED

ROOT = Path(__file__).parents[2]
LEDGER = ROOT / "docs" / "claims.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# A cell that is a measured number, such as .0204 or 3,954: what a reader will want to trace.
CELL = re.compile(r"\|\s*`?\.?\d[\d.,]*(e-?\d+)?\s*(?=\|)")
# A decimal number in a sentence. Those that name something (Theorem 3.10, Python 3.11) are taken out first.
DECIMAL = re.compile(r"(?<![\w.^/])\d*\.\d+(?!\.?\w)")
NAMES = (
    r"(Theorem|Lemma|Proposition|Claim|Section|Corollary|Appendix|Equation|Algorithm|Definition|Python|numpy|scipy|version)s?"
    r"[ -][A-Z]?[\d.]+(( and|,) [\d.]+)*"
)


def prose(text):
    """A page without code, links and names of theorems."""
    for noise in (r"```.*?```", r"(?m)^    .*$", r"`[^`\n]*`", r"\]\([^)]*\)", r"\{ #\w+ \}", NAMES):
        text = re.sub(noise, "", text, flags=re.DOTALL if noise.startswith("```") else 0)
    return text


def numbers(text):
    """What a reader may want to trace: measured cells of tables, and decimals in sentences."""
    return [match.group().strip("| ") for match in CELL.finditer(text)] + DECIMAL.findall(prose(text))


def rows(text):
    """The cells of each row of the ledger's table."""
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def problems(cells):
    """What is wrong with one row."""
    found = []
    if len(cells) != 3:
        return [f"a row has {len(cells)} cells: {cells}"]
    claim, places, evidence = cells
    for name, part in (("page", places), ("evidence", evidence)):
        targets = re.findall(r"`([^`]+)`", part)
        if not targets:
            found.append(f"no {name} for: {claim}")
        for target in targets:
            path, _, test = target.partition("::")
            if not (ROOT / path).exists():
                found.append(f"{path} does not exist ({claim})")
            elif test and not re.search(rf"^def {test}\(", (ROOT / path).read_text(), re.MULTILINE):
                found.append(f"{path} has no {test} ({claim})")
    return found


LEDGER_ROWS = rows(LEDGER.read_text())


def in_the_ledger(name):
    """Whether a row names this page, or the folder it is in."""
    stated = {target for cells in LEDGER_ROWS for target in re.findall(r"`([^`]+)`", cells[1])} - {"docs/"}
    return name in stated or str(Path(name).parent) in {folder.rstrip("/") for folder in stated}


def test_evidence_exists():
    assert not [problem for cells in LEDGER_ROWS for problem in problems(cells)]


def test_pages_that_state_numbers_are_in_the_ledger():
    for page in PAGES:
        name, found = str(page.relative_to(ROOT)), numbers(page.read_text())
        told = f"{name} states {', '.join(found[:5])}, but docs/claims.md has no row for it"
        assert page == LEDGER or not found or in_the_ledger(name), told


def marked(stated):
    name = f"{stated.page}:{stated.pattern[:30]}"
    return pytest.param(stated, id=name, marks=[pytest.mark.slow] if stated.slow else [])


@pytest.mark.parametrize("stated", [marked(stated) for stated in STATED])
def test_numbers_are_what_produces_them(stated):
    assert not stated.problems()


def test_every_checked_number_is_found_and_its_page_is_in_the_ledger():
    for stated in STATED:
        assert len(stated.places((ROOT / stated.page).read_text())) == 1, stated.pattern
        assert in_the_ledger(stated.page)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("| 2 | 1e5 | 1,519 | .0204 |", []),
        ("| 2 | 1e5 | 1,520 | .0204 |", ["1,520"]),
        ("| 2 | 1e5 | 1,518 | .0203 |", ["1,518", ".0203"]),
        ("nothing of the kind", ["0 places"]),
        ("| 2 | 1e5 | 1,519 | .0204 |\n| 2 | 1e5 | 1,519 | .0204 |", ["2 places"]),
    ],
)
def test_a_wrong_number_is_found(text, wrong):
    stated = Stated("a page", r"\| 2 \| 1e5 \|\s*([\d.,]+)\s*\|\s*([\d.,]+)\s*\|", lambda: [1519.06, 0.020397])
    found = stated.problems(text)
    assert len(found) == len(wrong)
    assert all(part in problem for part, problem in zip(wrong, found, strict=True))
