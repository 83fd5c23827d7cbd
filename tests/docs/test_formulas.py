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
INLINE = re.compile(r"(?<![\\$])\$(?![\s$])([^$\n]*?[^\s\\$])\$(?![\d$])")  # as the site's Markdown reads it


def in_lines(page):
    """The formulas that stand in the lines of a page, outside of code and displays."""
    text = re.sub(r"^(```|\$\$)[^\n]*\n.*?^\1$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return INLINE.findall(re.sub(r"`[^`\n]*`", "", text))


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


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_formulas_in_a_line_are_typeset(page):
    pytest.importorskip("latex2mathml")
    from scripts.docs.hooks import on_page_content

    for body in in_lines(page):
        html = on_page_content(f'<span class="arithmatex">\\({body}\\)</span>', None, None, None)
        assert html.startswith("<math")
        assert "\\" not in re.sub(r'alttext="[^"]*"', "", html), body


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_no_star_and_no_index_is_taken_for_emphasis(page):
    markdown = pytest.importorskip("markdown")
    text = re.sub(r"^\$\$\n.*?\n\$\$$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    text = INLINE.sub("", text)
    html = markdown.markdown(text, extensions=["fenced_code", "tables"])
    html = re.sub(r"<(pre|code)\b.*?</\1>", "", html, flags=re.DOTALL)
    assert re.findall(r"\w<em>[^<]*</em>|<em>[^<]*</em>\w", html) == []


@pytest.mark.parametrize("latex", [r"\frac{1", r"\nosuch x"])
def test_a_broken_formula_stops_the_build(latex):
    pytest.importorskip("latex2mathml")
    from scripts.docs.hooks import on_page_content

    with pytest.raises(ValueError, match="cannot be typeset"):
        on_page_content(f'<div class="arithmatex">\\[{latex}\\]</div>', None, None, None)
