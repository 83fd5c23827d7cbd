"""Run every benchmark; write benchmarks/latest.json and, from it and benchmarks/peers.json, docs/benchmarks.md.

`python -m benchmarks [name ...]` runs all of them, or those that are named; the others keep their earlier results.

`python -m benchmarks --table` only writes the page again from the results that are there.
"""

import importlib
import json
import os
import platform
import re
import sys
from datetime import date
from importlib.metadata import version
from math import floor, log10
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
LATEST, PEERS = HERE / "latest.json", HERE / "peers.json"
PACKAGES = ("numpy", "scipy", "randomgen", "numba", "scikit-learn", "river")
SPREADS = ("deviation", "standard error")


def main() -> None:
    names = [name for name in sys.argv[1:] if name != "--table"]
    known = sorted(path.stem for path in HERE.glob("[a-z]*.py"))
    if "--table" not in sys.argv:
        earlier = json.loads(LATEST.read_text())["results"] if names and LATEST.exists() else {}
        measured = {name: run(name) for name in names or known}
        results = dict(sorted({**earlier, **measured}.items()))
        LATEST.write_text(json.dumps({**described(), "results": results}, indent=2) + "\n")
    write_page()


def run(name: str) -> dict[str, float]:
    results: dict[str, float] = importlib.import_module(f"benchmarks.{name}").measure()
    for key, value in results.items():
        print(f"{name}: {key}: {value:.4g}", flush=True)
    return results


def described() -> dict[str, object]:
    machine = {"cores": os.cpu_count(), "python": platform.python_version()}
    return {"date": date.today().isoformat(), "machine": machine, "versions": {p: version(p) for p in PACKAGES}}


def write_page() -> None:
    """The page from the results of both kinds that are there."""
    PAGE.write_text(page(json.loads(LATEST.read_text()), json.loads(PEERS.read_text()) if PEERS.exists() else {}))


def page(latest: dict, peers: dict) -> str:
    """The whole page as text: one section for each benchmark, then one for each peer."""
    machine = latest["machine"]
    lines = [
        "# Benchmarks",
        "",
        "Ratios are between things measured in the same run. A number after ± is a standard deviation over seeds, or, "
        "for regret, the standard error of the mean.",
        "",
        "## In one process",
        "",
        f"Measured on {latest['date']}, {machine['cores']} cores, Python {machine['python']}, "
        f"{listed(latest['versions'])}. `make bench` measures them again and rewrites this page from "
        "`benchmarks/latest.json`.",
        "",
    ]
    for name, results in latest["results"].items():
        lines += [f"### {name.replace('_', ' ')}", "", *tables(results)]
    if peers:
        lines += [
            "## Against peers",
            "",
            "Each peer lives in an environment of its own with tacit beside it; both are measured in one process, in "
            "turns, on the same data. `make bench-peers` measures them again and rewrites this page from "
            "`benchmarks/peers.json`.",
            "",
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


def tables(results: dict[str, float]) -> list[str]:
    """One plain table; and, for keys "title, name=value, row", one table for each title with a column a value."""
    plain: list[tuple[str, str]] = []
    pivots: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for key, value in results.items():
        parts = key.split(", ")
        if parts[-1] in SPREADS:
            continue
        spreads = [results[f"{key}, {spread}"] for spread in SPREADS if f"{key}, {spread}" in results]
        cell = shown(value, *(spreads or [None]))
        setting = next((part for part in parts[1:-1] if re.fullmatch(r"\w+=[^=]+", part)), None)
        if setting is None:
            plain.append((key, cell))
            continue
        name, column = setting.split("=")
        row = ", ".join(part for part in parts[1:] if part != setting)
        pivots.setdefault((parts[0], name), {}).setdefault(row, {})[column] = cell
    lines: list[str] = []
    for (title, name), rows in pivots.items():
        columns = ordered({column for row in rows.values() for column in row})
        head = [title, *(f"{name}={column}" for column in columns)]
        body = [[row, *(cells.get(column, "") for column in columns)] for row, cells in rows.items()]
        lines += table([head, *body])
    return lines + (table([("what", "value"), *plain]) if plain else [])


def ordered(columns: set[str]) -> list[str]:
    """Numbers by size, then words."""
    words = {column for column in columns if not re.fullmatch(r"[\d.e+-]+", column)}
    return sorted(columns - words, key=float) + sorted(words)


def shown(value: float, spread: float | None) -> str:
    """Four digits of a bare value; with a spread, as many decimals as leave that two digits (three at most)."""
    if spread is None:
        return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"
    decimals = min(3, max(0, 1 - floor(log10(spread)))) if spread > 0 else 3
    return f"{value:,.{decimals}f} ± {spread:.{decimals}f}"


def table(rows: list) -> list[str]:
    """A Markdown table, the first row its head, and an empty line after it."""
    head, *body = rows
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(row) + " |" for row in body),
        "",
    ]


if __name__ == "__main__":
    main()
