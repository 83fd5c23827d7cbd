"""Hooks of the site: formulas become MathML when it is built, examples code, and pages that docstrings name links.

No script and no font is needed to read a formula, and no other host: browsers draw MathML themselves. Tutorials, whose
blocks are run when the site is built, can be downloaded as notebooks, which are made from the same pages.
"""

import json
import posixpath
import re
from html import unescape
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

DISPLAY = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
PAGE = re.compile(r"(?<![\w/\">])docs/([\w/-]+)\.md")
# Examples that follow a section of a docstring: Markdown takes their prompts for quotations in quotations.
PROMPTS = re.compile(r"(?:<blockquote>\s*){3}<p>(.*?)</p>\s*(?:</blockquote>\s*){3}", re.DOTALL)
BLOCK = re.compile(r'^```python exec="on"(.*?)\n(.*?)^```\n', re.DOTALL | re.MULTILINE)
SHOWN = re.compile(r'^show\("(.*?)", (".*")\)$', re.MULTILINE)  # a picture, which a notebook shows by itself
NOTEBOOK = '<p class="notebook"><a href="{name}.ipynb" download>Download this page as a notebook</a></p>'
WORDS = {  # what people type who do not know our words: page -> further words by which the search finds it
    "algorithms/explore-linear.md": ("contextual bandit", "LinUCB"),
    "algorithms/live-arms.md": ("Thompson sampling",),
    "algorithms/running-sums.md": ("multi-participation", "tree aggregation", "matrix mechanism"),
    "arms.md": ("multi-armed bandit", "UCB"),
    "coming-from.md": ("diffprivlib", "Opacus", "River", "Vowpal Wabbit", "GrowthBook"),
    "delays.md": ("late feedback", "delayed feedback", "missing feedback"),
    "deployment.md": ("Docker", "container", "Kubernetes", "nginx", "backup"),
    "experiments.md": ("A/B test", "A/B testing", "click", "conversion", "feature flag", "sample ratio mismatch"),
    "guarantees.md": ("epsilon", "differential privacy"),
    "models.md": ("scikit-learn", "sklearn", "tabular data"),
    "notation.md": ("glossary",),
    "one-pass.md": ("logistic regression", "classifier", "linear regression"),
    "privacy-officer.md": ("GDPR", "DPIA", "delete a person", "right to erasure", "data protection"),
    "production.md": ("privacy budget", "crash", "SQLite"),
    "torch.md": ("PyTorch", "neural network", "DP-SGD", "DP-FTRL"),
    "tracking.md": ("drift", "non-stationary", "changing world"),
}
CODE = re.compile(r"(<pre.*?</pre>|<code.*?</code>|<a .*?</a>)", re.DOTALL)


def on_page_markdown(markdown: str, page, config, files) -> str:
    """Give a page the words that people search it by."""
    page.meta.setdefault("tags", list(WORDS.get(page.file.src_uri, ())))
    return markdown


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


def on_post_page(output: str, page, config) -> str:
    """Link a tutorial to its notebook."""
    if not page.file.src_uri.startswith("tutorials/"):
        return output
    return output.replace("</h1>", "</h1>" + NOTEBOOK.format(name=Path(page.file.src_uri).stem), 1)


def on_post_build(config) -> None:
    """Write each tutorial as a notebook beside its page."""
    for page in sorted(Path(config["docs_dir"]).glob("tutorials/*.md")):
        made = json.dumps(notebook(page.read_text(encoding="utf-8")), indent=1, ensure_ascii=False)
        Path(config["site_dir"], "tutorials", f"{page.stem}.ipynb").write_text(made + "\n", encoding="utf-8")


def notebook(source: str) -> dict[str, Any]:
    """Make a tutorial a notebook: its text and the blocks that are run, in their order."""
    parts = BLOCK.split(source)  # text, then options, code and text of each block
    cells = [_cell("markdown", parts[0])]
    for code, text in zip(parts[2::3], parts[3::3], strict=True):
        cells += [_cell("code", _for_notebooks(code)), _cell("markdown", text)]
    kept = [cell for cell in cells if cell["source"]]
    return {
        "cells": [{**cell, "id": f"cell-{number}"} for number, cell in enumerate(kept)],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _for_notebooks(code: str) -> str:
    """A page prints pictures as HTML; a notebook has a cell's last value shown."""
    if "def show(" in code:
        code = f"from IPython.display import Image\n{code}"
    code = re.sub(r"^import base64\n|\n+def show\(.*", "", code, flags=re.DOTALL | re.MULTILINE)
    return SHOWN.sub(r'Image(folder / "\1", alt=\2)', code)


def _cell(kind: str, text: str) -> dict[str, Any]:
    text = re.sub(r"\]\(([\w./-]+)\.md(#[\w-]+)?\)", r"](\1.html\2)", text) if kind == "markdown" else text
    more = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": text.strip("\n").splitlines(keepends=True), **more}
