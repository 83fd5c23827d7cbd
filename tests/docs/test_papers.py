"""The pages of the five papers are those of the code that stands."""

import json

import pytest
from scripts.docs import papers as pages

from tacit import papers


@pytest.mark.parametrize("name", papers.NAMES)
def test_pages_are_as_old_as_the_code(name):
    """Run `make papers` after a change of a paper, its printed formulas or its algorithms."""
    assert pages.is_current(name)


def test_a_page_is_stale_once_a_source_changes(monkeypatch, tmp_path):
    record = json.loads((pages.PAGES / "l2p.json").read_text())
    (tmp_path / "l2p.json").write_text(json.dumps(record | {"digest": "0" * 64}))
    monkeypatch.setattr(pages, "PAGES", tmp_path)
    assert not pages.is_current("l2p")
    assert not pages.is_current("ctrl")  # there is no page
    assert pages.main(["--check"]) == 1


@pytest.mark.parametrize("name", papers.NAMES)
def test_pages_show_every_result_and_erratum_with_its_command(name):
    text = (pages.PAGES / f"{name}.md").read_text()
    paper = getattr(papers, name).PAPER
    for result in paper.results:
        assert f"**{result.number}** ({result.kind})" in text
    for erratum in paper.errata:
        assert f"`python errata/{name}.py {erratum.name}`" in text
    assert (pages.PAGES / "pictures" / f"{name}.png").stat().st_size > 10_000
