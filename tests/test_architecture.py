"""Rules that the whole tree keeps: one source of randomness, documented names, short files."""

import ast
import inspect
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from scripts.docs import layers

import tacit
from tacit.planning import CATALOGUE

SOURCE = Path(tacit.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
BANNED_MODULES = {"random", "secrets", "uuid"}
# What may be named of numpy.random outside tacit.randomness: the type of a generator that was handed in.
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


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_randomness_outside_its_module(path):
    if path.relative_to(SOURCE) == Path("randomness.py"):
        return
    assert randomness_of(ast.parse(path.read_text())) == []


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


@pytest.mark.parametrize("name", tacit.__all__)
def test_public_names_are_documented(name):
    value = getattr(tacit, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert inspect.getdoc(value), name
        assert value.__doc__, name
    if inspect.isclass(value) and not issubclass(value, Exception):
        for member_name, member in vars(value).items():
            if not member_name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                assert inspect.getdoc(member), f"{name}.{member_name}"


def test_public_names_are_sorted_and_complete():
    assert len(set(tacit.__all__)) == len(tacit.__all__)
    contract = {
        "plan",
        "simulate",
        "Experts",
        "LazyExperts",
        "L2P",
        "ScheduledExperts",
        "HedgeOnSums",
        "Guarantee",
        "Randomness",
        "REPLACE",
        "ZERO_OUT",
    }
    assert contract <= set(tacit.__all__)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_modules_are_documented(path):
    text = path.read_text()
    if text.strip():
        assert ast.get_docstring(ast.parse(text))
    assert path.name != "utils.py"


def test_package_is_typed():
    assert (SOURCE / "py.typed").exists()


ROOT = Path(__file__).parents[1]
TREES = ("src", "tests", "benchmarks", "scripts", "examples")


def test_no_file_is_long():
    """What is above 400 lines is two things, and a reader finds neither by its name."""
    files = [path for tree in TREES for path in sorted((ROOT / tree).rglob("*.py"))]
    assert len(files) > 500
    assert not {str(path.relative_to(ROOT)) for path in files if path.read_text().count("\n") > 400}
    assert {path.relative_to(ROOT).parts[0] for path in ROOT.glob("[!.]*/**/*.py")} <= {*TREES, "build"}


def test_every_file_of_the_table_of_what_to_touch_exists():
    table = (ROOT / "docs" / "architecture.md").read_text().split("## Where to look")[1].split("\n## ")[0]
    names = {name for name in re.findall(r"`([^`]+)`", table) if "/" in name or name.endswith(".md")}
    assert len(names) > 15
    assert not [name for name in names if not (ROOT / name).exists()]


ALGORITHMS = [algorithm for algorithms in CATALOGUE.values() for algorithm in algorithms]


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.__name__)
def test_every_algorithm_stands_where_the_table_says(algorithm):
    name = algorithm.__name__
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    file = algorithm.__module__.rsplit(".", 1)[-1]
    assert file.replace("_", "") == words.replace("_", ""), "a file is named like its class"
    assert re.search(rf"`{name}`", (ROOT / "README.md").read_text()), "its row in the README"
    reference = "".join(page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md"))
    assert re.search(rf"\b{name}\b", reference), "its reference"
    pages = [page.read_text() for page in (ROOT / "docs" / "algorithms").glob("*.md")]
    assert any(re.search(rf"\b{name}\b", page) for page in pages), "its page"
    assert hasattr(tacit, name)


# What functions may import of tacit when they are called: commands, pictures, simulations and attacks that few need and
# that load much. Two modules that need each other are no reason.
LATE = (
    "tacit.cli.app",
    "tacit.report.plots",
    "tacit.auditing.densities",
    "tacit.auditing.replay",
    "tacit.service.demo",
    "tacit.service.server",
    "tacit.simulation.loop",
)
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


def imports_of(tree):
    """What a module imports when it is loaded, and what its functions import when they are called."""
    at_once, late = set(), set()

    def visit(node, inside):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return
        (late if inside else at_once).update(imported(node))
        deeper = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            visit(child, deeper)

    visit(tree, False)
    return at_once, late


@pytest.mark.parametrize("name", MODULES)
def test_late_imports_are_of_what_few_need(name):
    late = imports_of(ast.parse(MODULES[name].read_text()))[1]
    assert not [other for other in late if not other.startswith(LATE)]


def test_no_two_modules_need_each_other():
    graph = {name: imports_of(ast.parse(path.read_text())) for name, path in MODULES.items()}
    # Late imports count here: a cycle is one however it is hidden. The command line is made of its commands.
    edges = {name: at_once | (late if name != "tacit.cli.main" else set()) for name, (at_once, late) in graph.items()}
    TopologicalSorter(edges).prepare()


@pytest.mark.parametrize(
    ("code", "late"),
    [
        ("from tacit.learners.plan import Plan", False),
        ("def f():\n    from tacit.learners.plan import Plan", True),
        ("class A:\n    def f(self):\n        import tacit.learners.plan", True),
    ],
)
def test_late_imports_are_seen(code, late):
    assert imports_of(ast.parse(code)) == (
        (set(), {"tacit.learners.plan"}) if late else ({"tacit.learners.plan"}, set())
    )


def test_the_table_of_layers_is_drawn_from_the_imports():
    assert layers.table() == layers.PAGE.read_text().split(layers.START)[1].split(layers.STOP)[0].strip()
