"""Every formula of the site can be typeset, and nothing of its LaTeX is left over."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
INLINE = re.compile(r"(?<![\\$])\$(?![\s$])([^$\n]*?[^\s\\$])\$(?![\d$])")  # as the site's Markdown reads it


def in_lines(page):
    """The formulas that stand in the lines of a page, outside of code and displays."""
    text = re.sub(r"^(```|\$\$)[^\n]*\n.*?^\1$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return INLINE.findall(re.sub(r"`[^`\n]*`", "", text))


def typeset(formula):
    """A formula as the site shows it."""
    pytest.importorskip("latex2mathml")
    from scripts.docs.hooks import on_page_content

    return on_page_content(formula, None, None, None)


def test_formulas_are_typeset():
    count = 0
    for page in PAGES:
        assert len(re.findall(r"^\$\$$", page.read_text(), re.MULTILINE)) % 2 == 0, page
        displays = re.findall(r"^\$\$\n(.*?)\n\$\$$", page.read_text(), re.DOTALL | re.MULTILINE)
        made = [typeset(f'<div class="arithmatex">\\[{body}\\]</div>') for body in displays]
        made += [typeset(f'<span class="arithmatex">\\({body}\\)</span>') for body in in_lines(page)]
        for html in made:
            shown = re.sub(r'alttext="[^"]*"', "", html)
            assert "<math" in html, page
            assert "\\" not in shown, (page, html)
            assert "&amp;" not in shown, (page, html)
        count += len(displays)
    assert count > 20


def test_no_star_and_no_index_is_taken_for_emphasis():
    markdown = pytest.importorskip("markdown")
    for page in PAGES:
        text = re.sub(r"^\$\$\n.*?\n\$\$$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        html = markdown.markdown(INLINE.sub("", text), extensions=["fenced_code", "tables"])
        html = re.sub(r"<(pre|code)\b.*?</\1>", "", html, flags=re.DOTALL)
        assert re.findall(r"\w<em>[^<]*</em>|<em>[^<]*</em>\w", html) == [], page


@pytest.mark.parametrize("latex", [r"\frac{1", r"\nosuch x"])
def test_a_broken_formula_stops_the_build(latex):
    with pytest.raises(ValueError, match="cannot be typeset"):
        typeset(f'<div class="arithmatex">\\[{latex}\\]</div>')
