"""Hooks of the site: formulas become MathML when it is built, examples code, and pages that docstrings name links.

No script and no font is needed to read a formula, and no other host: browsers draw MathML themselves.
"""

import posixpath
import re
from html import unescape

from latex2mathml.converter import convert

DISPLAY = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
PAGE = re.compile(r"(?<![\w/\">])docs/([\w/-]+)\.md")
# Examples that follow a section of a docstring: Markdown takes their prompts for quotations in quotations.
PROMPTS = re.compile(r"(?:<blockquote>\s*){3}<p>(.*?)</p>\s*(?:</blockquote>\s*){3}", re.DOTALL)
CODE = re.compile(r"(<pre.*?</pre>|<code.*?</code>|<a .*?</a>)", re.DOTALL)


def on_page_content(html: str, page, config, files) -> str:
    """Typeset the formulas of a page, and link what it says of others."""
    html = DISPLAY.sub(lambda found: f'<div class="formula">{typeset(found[1], "block")}</div>', html)
    html = INLINE.sub(lambda found: typeset(found[1], "inline"), html)
    html = PROMPTS.sub(r'<div class="highlight"><pre><code>\1</code></pre></div>', html)
    parts = CODE.split(html)
    parts[::2] = [PAGE.sub(lambda found: linked(found, page.url, files), part) for part in parts[::2]]
    return "".join(parts)


def typeset(source: str, display: str) -> str:
    """Return one formula as MathML; its LaTeX stays in it for those who copy it or cannot see it."""
    latex = " ".join(unescape(source).split())
    # The converter knows one name of the environment, other readers of these files the other.
    made = convert(latex.replace("{aligned}", "{align*}"), display=display)
    if "\\" in made or latex.count("{") != latex.count("}"):  # the converter lets these through
        raise ValueError(f"This formula cannot be typeset: {latex}")
    described = latex.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return made.replace("<math ", f'<math alttext="{described}" ', 1)


def linked(found: re.Match[str], here: str, files) -> str:
    """A page that was named by its file, as a link if there is one."""
    target = files.get_file_from_path(f"{found[1]}.md")
    if target is None:
        return found[0]
    address = posixpath.relpath(target.url, posixpath.dirname(here) or ".")
    return f'<a href="{address}">{found[0]}</a>'
