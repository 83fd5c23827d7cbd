"""Tutorials as notebooks: everything of the page in its order, and nothing that only the page can do."""

import ast
import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("latex2mathml")
ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
SPEC = importlib.util.spec_from_file_location("hooks", ROOT / "scripts" / "docs" / "hooks.py")
hooks = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(hooks)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_has_the_text_and_the_code_of_its_page(page):
    source = page.read_text()
    cells = hooks.notebook(source)["cells"]
    programs = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    assert len(programs) == source.count('```python exec="on"')
    assert "```python" not in "".join(texts)
    assert len({cell["id"] for cell in cells}) == len(cells)
    tree = ast.parse("\n".join(programs))  # as one program
    defined = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if hasattr(node, "names")
        for alias in node.names
        if not isinstance(alias, str)
    }
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert "show" not in called
    assert "Image" in defined or "Image" not in called
    assert texts[0].startswith(source.splitlines()[0])


@pytest.mark.slow
def test_the_first_cells_of_a_notebook_run():
    """The shortest tutorial, up to its loop: cells share one namespace, as in a kernel."""
    cells = hooks.notebook((ROOT / "docs" / "tutorials" / "arms.md").read_text())["cells"]
    names: dict[str, object] = {}
    for cell in [cell for cell in cells if cell["cell_type"] == "code"][:2]:
        exec("".join(cell["source"]), names)
    assert names["learner"].switches > 0
