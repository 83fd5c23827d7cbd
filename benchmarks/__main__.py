"""Run every benchmark; write benchmarks/latest.json and, from it and benchmarks/peers.json, docs/benchmarks.md.

`python -m benchmarks [name ...]` runs all of them, or those that are named; the others keep their earlier results.

`python -m benchmarks --table` only writes the page again from the results that are there.
"""

import ast
import importlib
import json
import os
import platform
import re
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

from benchmarks.writing.tables import tables
from benchmarks.writing.targets import behind, in_ten_numbers, summary

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
LATEST, PEERS = HERE / "latest.json", HERE / "peers.json"
PACKAGES = ("numpy", "scipy", "randomgen", "scikit-learn", "river")


def main() -> None:
    names = [name for name in sys.argv[1:] if name != "--table"]
    known = sorted(path.stem for path in HERE.glob("[a-z]*.py"))
    if "--table" not in sys.argv:
        earlier = json.loads(LATEST.read_text()) if names and LATEST.exists() else {"results": {}, "dates": {}}
        measured = {name: run(name) for name in names or known}
        results = dict(sorted({**earlier["results"], **measured}.items()))
        dates = {name: measured_on(name, measured, earlier) for name in results}
        LATEST.write_text(json.dumps({**described(), "dates": dates, "results": results}, indent=2) + "\n")
    write_page()


def run(name: str) -> dict[str, float]:
    results: dict[str, float] = importlib.import_module(f"benchmarks.{name}").measure()
    for key, value in results.items():
        print(f"{name}: {key}: {value:.4g}", flush=True)
    return results


def measured_on(name: str, measured: dict, earlier: dict) -> str:
    """The day of a benchmark's results: sections that were not named keep theirs."""
    return date.today().isoformat() if name in measured else earlier["dates"][name]


def described() -> dict[str, object]:
    machine = {"cores": os.cpu_count(), "python": platform.python_version()}
    return {"date": date.today().isoformat(), "machine": machine, "versions": {p: version(p) for p in PACKAGES}}


def write_page() -> None:
    """The page from the results of both kinds that are there."""
    PAGE.write_text(page(json.loads(LATEST.read_text()), json.loads(PEERS.read_text()) if PEERS.exists() else {}))


def page(latest: dict, peers: dict) -> str:
    """The whole page as text: which targets are met, one section for each benchmark, then one for each peer."""
    machine = latest["machine"]
    lines = [
        "# Benchmarks",
        "",
        "Ratios are between things measured in the same run. A number after ± is a standard deviation over seeds, or, "
        "for regret, the standard error of the mean.",
        "",
        *in_ten_numbers(latest["results"]),
        *summary(latest["results"], peers),
        "## In one process",
        "",
        f"Measured on {latest['date']} where a section names no other day, {machine['cores']} cores, "
        f"Python {machine['python']}, {listed(latest['versions'])}. "
        "`make bench` measures them again and rewrites this page from `benchmarks/latest.json`.",
        "",
    ]
    for name, results in latest["results"].items():
        day = latest["dates"][name]
        other = [] if day == latest["date"] else [f"Measured on {day}.", ""]
        lines += [f"### {name.replace('_', ' ')}", "", *about(name), *other, *tables(results)]
    if peers:
        lines += [
            "## Against peers",
            "",
            "Each peer lives in an environment of its own with tacit beside it; both are measured in one process, in "
            "turns, on the same data. `make bench-peers` measures them again and rewrites this page from "
            "`benchmarks/peers.json`.",
            "",
            *behind(peers),
        ]
    for name, entry in peers.items():
        machine = entry["machine"]
        lines += [
            f"### {name.replace('_', '-')}",
            "",
            f"Measured on {entry['date']}, {machine['cores']} cores, {machine['memory in GB']} GB, Python "
            f"{entry['python']}, {listed(entry['versions'])}. {entry['about']}",
            "",
            *tables(entry["results"]),
        ]
    return "\n".join(lines).rstrip() + "\n"


def listed(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def about(name: str) -> list[str]:
    """What the module of a benchmark says of itself, without how to run it; a line for each paragraph."""
    path = HERE / f"{name}.py"
    text = (ast.get_docstring(ast.parse(path.read_text())) if path.exists() else None) or ""
    text = re.sub(r"\s*Run:?\s+`[^`]+`[.:]?", "", text)
    return [line for paragraph in text.split("\n\n") for line in (" ".join(paragraph.split()), "") if paragraph.strip()]


if __name__ == "__main__":
    main()
