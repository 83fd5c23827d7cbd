"""The claims ledger: every row names pages and evidence that exist, and every page that states numbers has a row."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEDGER = ROOT / "docs" / "claims.md"
# A cell that is a measured number, such as .0204 or 3,954: what a reader will want to trace.
NUMBER = re.compile(r"\|\s*`?\.?\d[\d.,]*(e-?\d+)?\s*(?=\|)")


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


@pytest.mark.parametrize("cells", LEDGER_ROWS, ids=[cells[0][:50] for cells in LEDGER_ROWS])
def test_evidence_exists(cells):
    assert not problems(cells)


def test_pages_with_tables_of_numbers_are_in_the_ledger():
    stated = {target for cells in LEDGER_ROWS for target in re.findall(r"`([^`]+\.md)`", cells[1])}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        name = str(page.relative_to(ROOT))
        if NUMBER.search(page.read_text()) and page != LEDGER:
            assert name in stated, f"{name} states numbers, but docs/claims.md has no row for it"


@pytest.mark.parametrize(
    "row",
    [
        ["a claim", "`docs/nowhere.md`", "`tests/test_documents.py`"],
        ["a claim", "`README.md`", "`tests/nowhere.py`"],
        ["a claim", "`README.md`", "`tests/test_documents.py::test_nothing`"],
        ["a claim", "`README.md`", "trust me"],
        ["a claim", "`README.md`"],
    ],
)
def test_a_claim_without_evidence_is_found(row):
    assert problems(row)
