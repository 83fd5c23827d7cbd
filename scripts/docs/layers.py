"""The table of layers of docs/architecture.md, drawn from the imports.

Run `python scripts/docs/layers.py` to write it again; `--check` only compares, exit code 1 if it is stale.
"""

import argparse
import sys
import tomllib
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
START, STOP = "<!-- layers: begin -->", "<!-- layers: end -->"
EVERYWHERE = {"errors", "validation", "version"}


def order() -> list[str]:
    """The layers of the import contract, lowest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return [part.strip(" ()").split(".")[1] for line in reversed(listed) for part in line.split("|")]


def table() -> str:
    """A row for each layer: the layers that its files import."""
    graph = grimp.build_graph("tacit")
    lines = ["| layer | imports |", "|---|---|"]
    for layer in order():
        name = f"tacit.{layer}"
        if name not in graph.modules:
            continue
        files = graph.find_descendants(name) | {name}
        found = {
            other.split(".")[1]
            for file in files
            for other in graph.find_modules_directly_imported_by(file)
            if "." in other
        }
        below = [other for other in order() if other in found - EVERYWHERE - {layer}]
        lines.append(f"| {layer} | {', '.join(below)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    check = parser.parse_args().check
    before, rest = PAGE.read_text().split(START)
    old, after = rest.split(STOP)
    new = f"\n{table()}\n"
    if check:
        return int(old != new)
    PAGE.write_text(before + START + new + STOP + after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
