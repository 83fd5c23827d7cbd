"""Run every benchmark and write benchmarks/latest.json: `python -m benchmarks [name ...]`."""

import importlib
import json
import os
import platform
import sys
from datetime import date
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def main() -> None:
    names = sys.argv[1:] or sorted(path.stem for path in HERE.glob("[a-z]*.py"))
    results: dict[str, dict[str, float]] = {}
    for name in names:
        results[name] = importlib.import_module(f"benchmarks.{name}").measure()
        for key, value in results[name].items():
            print(f"{name}: {key}: {value:.4g}", flush=True)
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "numpy": np.__version__}
    content = {"date": date.today().isoformat(), "machine": machine, "results": results}
    (HERE / "latest.json").write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
