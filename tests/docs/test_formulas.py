"""Every formula of the site can be typeset, and nothing of its LaTeX is left over."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
FORMULAS = [
    pytest.param(body, id=f"{page.relative_to(DOCS)}:{index}")
    for page in sorted(DOCS.rglob("*.md"))
    for index, body in enumerate(re.findall(r"^\$\$\n(.*?)\n\$\$$", page.read_text(), re.DOTALL | re.MULTILINE))
]


def test_formulas_stand_between_two_lines_of_dollars():
    for page in DOCS.rglob("*.md"):
        assert len(re.findall(r"^\$\$$", page.read_text(), re.MULTILINE)) % 2 == 0, page
    assert len(FORMULAS) > 20


@pytest.mark.parametrize("body", FORMULAS)
def test_a_formula_is_typeset(body):
    pytest.importorskip("latex2mathml")
    from scripts.docs.hooks import on_page_content

    html = on_page_content(f'<div class="arithmatex">\\[{body}\\]</div>', None, None, None)
    shown = re.sub(r'alttext="[^"]*"', "", html)
    assert "<math" in html
    assert "\\" not in shown
    assert "&amp;" not in shown


@pytest.mark.parametrize("latex", [r"\frac{1", r"\nosuch x"])
def test_a_broken_formula_stops_the_build(latex):
    pytest.importorskip("latex2mathml")
    from scripts.docs.hooks import on_page_content

    with pytest.raises(ValueError, match="cannot be typeset"):
        on_page_content(f'<div class="arithmatex">\\[{latex}\\]</div>', None, None, None)
