"""Measure tacit beside its peers; write benchmarks/peers.json and, from it, docs/benchmarks.md.

`python -m benchmarks.peers [name ...]` makes the environments that are missing under build/peers, measures all peers,
or those that are named, and keeps the earlier results of the others. `name:part,part` measures these parts alone, where
a peer has some (`PARTS` of benchmarks/peers/classifiers.py). A peer that cannot be installed or measured is
reported in one line and does not stop the rest.
"""

import json
import os
import subprocess
import sys
import venv
from datetime import date
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.__main__ import PEERS, write_page

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ENVIRONMENTS = ROOT / "build" / "peers"
NAMES = ("jax_privacy", "arms", "river", "mabwiser", "vowpal_wabbit", "scikit_learn", "diffprivlib", "opacus", "spark")


def main() -> None:
    wanted = sys.argv[1:] or NAMES
    unknown = sorted({name.partition(":")[0] for name in wanted} - set(NAMES))
    if unknown:
        sys.exit(f"No such peer: {', '.join(unknown)}. There are {', '.join(NAMES)}.")
    for number, name in enumerate(wanted, 1):
        start = perf_counter()
        print(f"[{number}/{len(wanted)}] {name} ...", flush=True)
        try:
            entry = measured(*name.partition(":")[::2])
        except subprocess.CalledProcessError as error:
            output = (error.stderr or error.stdout or "").strip().splitlines()
            print(f"[{number}/{len(wanted)}] {name} left out: {output[-1] if output else error}", flush=True)
            continue
        merge(*name.partition(":")[::2], entry)
        print(f"[{number}/{len(wanted)}] {name}: {perf_counter() - start:.0f} s", flush=True)
    write_page()


def measured(name: str, parts: str) -> dict[str, Any]:
    """The results of one peer, or of some of its parts, from a process of its own environment."""
    python = environment(name)
    output = ENVIRONMENTS / f"{name}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    run(python, "-m", "benchmarks.peers.child", name, str(output), *filter(None, parts.split(",")))
    return {"date": date.today().isoformat(), "machine": machine(), **json.loads(output.read_text())}


def environment(name: str) -> Path:
    """The python of the peer's environment, made from its requirements, pinned by hash, if they are new."""
    if name == "spark":  # that of `make test-spark`
        run("make", ".venv-spark/.ready")
        return ROOT / ".venv-spark" / "bin" / "python"
    folder, requirements = ENVIRONMENTS / name, HERE / "requirements" / f"{name}.txt"
    python, ready = folder / "bin" / "python", folder / "requirements.txt"
    if not ready.exists() or ready.read_text() != requirements.read_text():
        print(f"    making {folder.relative_to(ROOT)}", flush=True)
        venv.create(folder, clear=True)
        install = (sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python)
        run(*install, "--require-hashes", "--only-binary", ":all:", "--requirement", requirements)
        run(*install, "--no-deps", "--build-constraints", ROOT / "requirements.lock", "--editable", ROOT)
        ready.write_text(requirements.read_text())
    return python


def run(*command: str | Path) -> None:
    """Run to the end, or raise with what it said on standard error."""
    subprocess.run(command, cwd=ROOT, check=True, stderr=subprocess.PIPE, text=True)


def machine() -> dict[str, float]:
    """What the numbers were measured on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"cores": os.cpu_count() or 1, "memory in GB": round(memory)}


def merge(name: str, parts: str, entry: dict[str, Any]) -> None:
    """Put one peer's results, or those of its parts, in their place; the file is whole after every peer."""
    content = json.loads(PEERS.read_text()) if PEERS.exists() else {}
    if parts and name in content:
        entry["results"] = content[name]["results"] | entry["results"]
    content[name] = entry
    ordered = {known: content[known] for known in NAMES if known in content}
    PEERS.write_text(json.dumps(ordered, indent=2) + "\n")


if __name__ == "__main__":
    main()
