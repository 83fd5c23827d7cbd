"""What a machine checks of the tree: no cycles, and files where the table of the page says."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import tacit
from tacit.planning.catalogue import CATALOGUE

ROOT = Path(__file__).parents[1]
SOURCE = Path(tacit.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))


# What may be named of numpy.random outside tacit.noise.randomness: the type of a generator that was handed in.
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


MODULES = {
    ".".join(("tacit", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in FILES
}


def imported(node):
    """The modules of tacit that an import statement names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if alias.name.split(".")[0] == "tacit"]
    if not isinstance(node, ast.ImportFrom) or (node.module or "").split(".")[0] != "tacit":
        return []
    names = [f"{node.module}.{alias.name}" for alias in node.names]
    return sorted({name if name in MODULES else node.module for name in names})


def test_no_two_modules_need_each_other():
    """A cycle is one however it is hidden: imports inside of functions count, those for types alone do not."""
    edges = {name: set() for name in MODULES}

    def visit(name, node):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return
        edges[name].update(imported(node))
        for child in ast.iter_child_nodes(node):
            visit(name, child)

    for name, path in MODULES.items():
        if name != "tacit.cli.main":  # the command line is made of its commands
            visit(name, ast.parse(path.read_text()))
    TopologicalSorter(edges).prepare()
