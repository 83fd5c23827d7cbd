"""The reference has every public name, once; the site's navigation has every page."""

import re
from pathlib import Path

import tacit
import tacit.estimators
import tacit.report
import tacit.spark

ROOT = Path(__file__).parents[2]


def test_every_public_name_is_in_the_reference():
    text = (ROOT / "docs" / "reference.md").read_text()
    listed = re.findall(r"^::: (tacit[\w.]*)$", text, re.MULTILINE)
    assert len(listed) == len(set(listed))
    # Said in a sentence: members of Relation, a text, the ledger, a former name, and what stands under another.
    said = {
        "tacit.REPLACE",
        "tacit.ZERO_OUT",
        "tacit.__version__",
        "tacit.audit",
        "tacit.Choice",
        "tacit.estimators.LEDGER",
        "tacit.estimators.Ledger",
    }
    assert all(f"`{name}`" in text for name in said)
    homes = (tacit, tacit.report, tacit.estimators, tacit.spark)
    public = {f"{home.__name__}.{name}" for home in homes for name in home.__all__}
    assert {*listed, *said} - {"tacit.auditing.run.audit"} == public


def test_every_page_is_in_the_navigation():
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert pages == set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
