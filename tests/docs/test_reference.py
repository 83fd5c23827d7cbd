"""The reference has every public name, once; the site's navigation has every page."""

import re
from pathlib import Path

import pytest

import tacit
import tacit_experiments
import tacit_models as estimators
from tacit import algorithms, domains, environments, losses, report
from tacit.planning.catalogue import CATALOGUE
from tacit_experiments import fleet as spark

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / "reference.md", *sorted((ROOT / "docs" / "reference").glob("*.md"))]


def test_every_public_name_is_in_the_reference():
    text = "\n".join(page.read_text() for page in PAGES)
    listed = re.findall(r"^::: (tacit[\w.]*)$", text, re.MULTILINE)
    assert len(listed) == len(set(listed))
    # Said in a sentence: members of Relation, a text, the ledger, and what stands under another name.
    said = {
        "tacit.REPLACE",
        "tacit.ZERO_OUT",
        "tacit.__version__",
        "tacit.audit",
        "tacit_models.LEDGER",
        "tacit_models.Ledger",
    }
    assert all(f"`{name}`" in text for name in said)
    homes = (tacit, algorithms, domains, environments, losses, report, estimators, tacit_experiments, spark)
    public = {f"{home.__name__}.{name}" for home in homes for name in home.__all__}
    assert {*listed, *said} - {"tacit.auditing.run.audit"} == public


def test_the_table_of_the_first_page_names_what_is_on_each():
    rows = re.findall(r"^\| \[[^]]+\]\((reference/[\w-]+\.md)\) \| (.*) \|$", PAGES[0].read_text(), re.MULTILINE)
    assert {ROOT / "docs" / page for page, _ in rows} == set(PAGES[1:])
    for page, names in rows:
        listed = re.findall(r"^::: tacit[\w.]*\.(\w+)$", (ROOT / "docs" / page).read_text(), re.MULTILINE)
        assert re.findall(r"`(\w+)`", names) == listed, page


def test_every_page_is_in_the_navigation():
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert pages == set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))


ALGORITHMS = [algorithm for algorithms in CATALOGUE.values() for algorithm in algorithms]


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.__name__)
def test_every_algorithm_names_its_page(algorithm):
    [page] = set(re.findall(r"docs/algorithms/[\w-]+\.md", algorithm.__doc__))
    assert re.search(rf"\b{algorithm.__name__}\b", (ROOT / page).read_text())
