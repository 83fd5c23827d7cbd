"""The page of coverage: its names resolve, its tests exist, no statement stands twice, and its counts are right."""

import inspect
import re
from collections import Counter
from importlib import import_module
from pathlib import Path

from typer.main import get_command

import tacit
from tacit import papers
from tacit.cli.app import app
from tacit.packages import OWN_PACKAGES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "coverage.md"
COLUMNS = ["statement", "what it says", "where", "how it is reached", "test"]
VERDICTS = ("here", "partly", "rightly absent", "not yet")
# Words of the page that stand for something of the reader's own.
OPEN_WORDS = {"problem", "leader", "sums"}


def table(text):
    """The cells of each row of the only table in a text, its header first."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [cells[0], *cells[2:]]


def named(cell):
    """What stands in backticks."""
    return re.findall(r"`([^`]+)`", cell)


_PARTS = re.split(r"^## .*\{ #([\w-]+) \}$", PAGE.read_text(), flags=re.MULTILINE)
PAPERS = dict(zip(_PARTS[1::2], map(table, _PARTS[2::2]), strict=True))
"""The rows of each paper, by its anchor."""


def looked_up(name):
    """The object of a dotted name: of a public name, or from the package down; None if there is none."""
    first, *rest = name.split(".")
    rooms = (tacit, tacit.algorithms, tacit.losses, tacit.domains, tacit.environments)
    if first in OWN_PACKAGES:
        found = import_module(first)
    else:
        found = next((getattr(room, first) for room in rooms if first in room.__all__), None)
    for index, part in enumerate(rest):
        if part in getattr(found, "__dataclass_fields__", {}) and index == len(rest) - 1:
            return found.__dataclass_fields__[part]
        below = getattr(found, part, None)
        if below is None and inspect.ismodule(found):
            try:
                below = import_module(f"{found.__name__}.{part}")
            except ModuleNotFoundError:
                return None
        found = below
    return found


def is_a_command(words):
    """Whether all the words name a command of the shell, its options and, if it is asked for, an algorithm."""
    command, option = get_command(app), ""
    for word in words:
        if option:
            known = option != "--algorithm" or looked_up(word) is not None
            option = ""
        elif word.startswith("--"):
            known = any(word in parameter.opts for parameter in command.params)
            option = word
        elif hasattr(command, "get_command"):
            command = command.get_command(None, word)
            known = command is not None
        else:
            known = command.name == "paper" and word in papers.NAMES
        if not known:
            return False
    return True


def takes(function, owner, keyword):
    """Whether a call may have this keyword; `calibrate` and `as_printed` pass their options on."""
    parameters = {*inspect.signature(function).parameters}
    if function.__name__ in ("calibrate", "as_printed"):
        parameters |= {*inspect.signature(getattr(owner, f"_{function.__name__}")).parameters}
    return keyword in parameters


def resolves(name):
    """Whether a name in backticks is a public name, something below tacit, a call, a command or a file."""
    if name in OPEN_WORDS or (("/" in name) and (ROOT / name).exists()):
        return True
    if name.startswith("tacit "):
        return is_a_command(name.split()[1:])
    path, call, arguments = name.partition("(")
    found = looked_up(path)
    if found is None or not call:
        return found is not None
    owner = looked_up(path.rpartition(".")[0] or path)
    return callable(found) and all(takes(found, owner, key) for key in re.findall(r"(\w+)=", arguments))


def exists(target):
    """Whether a test is where it is said to be: `tests/file.py::test_name`, perhaps in a class."""
    path, *parts = target.split("::")
    if not (ROOT / path).is_file() or not parts:
        return False
    text = (ROOT / path).read_text()
    *classes, test = parts
    indent = "    " if classes else ""
    kinds = all(re.search(rf"^class {name}\b", text, re.MULTILINE) for name in classes)
    return kinds and re.search(rf"^{indent}def {test}\(", text, re.MULTILINE) is not None


def verdict(cells):
    return next((word for word in VERDICTS[1:] if cells[2].startswith(f"**{word}**")), "here")


def problems(cells):
    """What is wrong with one row."""
    if len(cells) != len(COLUMNS):
        return [f"a row has {len(cells)} cells: {cells[:2]}"]
    statement, says, where, how, tests = cells
    found = [f"{statement}: {name} does not resolve" for name in named(where) + named(how) if not resolves(name)]
    found += [f"{statement}: there is no {target}" for target in named(tests) if not exists(target)]
    for page, anchor in re.findall(r"\]\(([\w/-]+\.md)#([\w-]+)\)", says + where):
        if f"{{ #{anchor} }}" not in (ROOT / "docs" / page).read_text():
            found.append(f"{statement}: {page} has no section {anchor}")
    word = verdict(cells)
    if word in ("here", "partly"):
        found += [
            f"{statement}: no {name}" for name, cell in zip(COLUMNS[2:], cells[2:], strict=True) if not named(cell)
        ]
    elif len(where.partition(":")[2]) < len("a reason"):
        found.append(f"{statement}: no reason why it is {word}")
    if ("not yet" in where) != (word in ("partly", "not yet")):
        found.append(f"{statement}: what is not yet here, and that it is partly here, must be said together")
    return found


def repeated(rows):
    """Statements that a paper's table has twice."""
    return [statement for statement, count in Counter(cells[0] for cells in rows).items() if count > 1]


def test_rows_say_what_is_there():
    assert not [problem for _, *rows in PAPERS.values() for cells in rows for problem in problems(cells)]


def test_no_statement_stands_twice():
    for header, *rows in PAPERS.values():
        assert header == COLUMNS
        assert not repeated(rows)


def test_all_five_papers_are_counted_rightly():
    header, *counts = table(PAGE.read_text().partition("\n## ")[0])
    assert header == ["paper", *VERDICTS]
    stated = {re.search(r"#([\w-]+)", cells[0])[1]: [int(cell) for cell in cells[1:]] for cells in counts}
    found = {name: Counter(map(verdict, rows[1:])) for name, rows in PAPERS.items()}
    assert stated == {name: [count[word] for word in VERDICTS] for name, count in found.items()}
    assert len(stated) == 5
