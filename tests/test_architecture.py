"""Pages name what there is: files where the table says, and every algorithm."""

import re
from pathlib import Path

import pytest

from tacit.planning.catalogue import CATALOGUE

ROOT = Path(__file__).parents[1]


def test_every_file_of_the_table_of_what_to_touch_exists():
    table = (ROOT / "docs" / "architecture.md").read_text().split("## Where to look")[1].split("\n## ")[0]
    names = {name for name in re.findall(r"`([^`]+)`", table) if "/" in name or name.endswith(".md")}
    assert len(names) > 15
    assert not [name for name in names if not (ROOT / name).exists()]


@pytest.mark.parametrize("algorithm", [each.__name__ for known in CATALOGUE.values() for each in known])
def test_every_algorithm_is_found_by_its_name(algorithm):
    """Its row in the overview, its reference, and the page with its proofs."""
    for pages in (("docs/overview.md",), ("docs/reference/*.md",), ("docs/algorithms/*.md",)):
        texts = [page.read_text() for pattern in pages for page in ROOT.glob(pattern)]
        assert any(re.search(rf"\b{algorithm}\b", text) for text in texts), pages
