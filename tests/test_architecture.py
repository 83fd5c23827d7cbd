"""What a machine checks of the tree: one source of randomness, no cycles, files where the table of the page says."""

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
BANNED_MODULES = {"random", "secrets", "uuid"}
# What may be named of numpy.random outside tacit.noise.randomness: the type of a generator that was handed in.
ALLOWED_RANDOM = {"Generator"}
BANNED_CALLS = {"urandom", "getrandom", "default_rng", "RandomState", "PCG64", "SeedSequence", "getrandbits"}


def dotted(node):
    """a.b.c of an attribute, or an empty string."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def randomness_of(tree):
    """Every use of a source of randomness in a module."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in {*BANNED_MODULES, "randomgen"}]
            found += [a.name for a in node.names if a.name.startswith("numpy.random")]
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module.split(".")[0] in {*BANNED_MODULES, "randomgen"}:
                found.append(node.module)
            if node.module.startswith("numpy.random") or node.module in ("numpy", "os"):
                found += [a.name for a in node.names if a.name in {*BANNED_CALLS, "random"}]
        elif isinstance(node, ast.Attribute):
            name = dotted(node)
            if name.startswith(("np.random.", "numpy.random.")) and name.split(".")[2] not in ALLOWED_RANDOM:
                found.append(name)
            if node.attr in BANNED_CALLS:
                found.append(name or node.attr)
            if any(name == f"{module}.{node.attr}" for module in BANNED_MODULES):
                found.append(name)
    return found


def test_no_randomness_outside_its_module():
    found = {str(path.relative_to(SOURCE)): randomness_of(ast.parse(path.read_text())) for path in FILES}
    assert found.pop("noise/randomness.py")
    assert {name: uses for name, uses in found.items() if uses} == {}


@pytest.mark.parametrize(
    "code",
    [
        "import random",
        "from random import gauss",
        "import secrets",
        "import numpy as np\nnp.random.default_rng(1)",
        "import numpy as np\nnp.random.seed(1)",
        "import os\nos.urandom(8)",
        "from os import urandom",
        "from numpy.random import default_rng",
        "import numpy.random",
        "from randomgen import AESCounter",
        "import numpy as np\nnp.random.Generator(np.random.PCG64(1))",
    ],
)
def test_the_check_itself_has_teeth(code):
    assert randomness_of(ast.parse(code))


def test_the_check_allows_generators_that_were_handed_in():
    assert not randomness_of(ast.parse("import numpy as np\ndef f(g: np.random.Generator):\n    return g.random()"))


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
