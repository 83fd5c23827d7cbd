"""Run every benchmark; write benchmarks/latest.json and, from it, docs/benchmarks.md.

`python -m benchmarks [name ...]` runs all of them, or those that are named.

`python -m benchmarks --table` only writes the page again from the results that are there.
"""

import importlib
import json
import os
import platform
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
PACKAGES = ("numpy", "scipy", "randomgen", "scikit-learn", "river")


def main() -> None:
    names = [name for name in sys.argv[1:] if name != "--table"]
    known = sorted(path.stem for path in HERE.glob("[a-z]*.py"))
    if "--table" not in sys.argv:
        results = {name: run(name) for name in names or known}
        (HERE / "latest.json").write_text(json.dumps({**described(), "results": results}, indent=2) + "\n")
    PAGE.write_text(table(json.loads((HERE / "latest.json").read_text())))


def run(name: str) -> dict[str, float]:
    results: dict[str, float] = importlib.import_module(f"benchmarks.{name}").measure()
    for key, value in results.items():
        print(f"{name}: {key}: {value:.4g}", flush=True)
    return results


def described() -> dict[str, object]:
    machine = {"cores": os.cpu_count(), "python": platform.python_version()}
    return {"date": date.today().isoformat(), "machine": machine, "versions": {p: version(p) for p in PACKAGES}}


def table(content: dict) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in content["versions"].items())
    machine = content["machine"]
    lines = [
        "# Benchmarks",
        "",
        f"Measured on {content['date']}, {machine['cores']} cores, Python {machine['python']}, {versions}. Ratios are "
        "between things measured in the same run. `make bench` measures them again and rewrites this page from "
        "`benchmarks/latest.json`.",
        "",
        "| benchmark | what | value |",
        "|---|---|---|",
    ]
    for name, results in content["results"].items():
        lines += [f"| {name} | {key} | {value:.4g} |" for key, value in results.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
