"""Measure one peer, in its environment: `python -m benchmarks.peers.child NAME FILE [PART ...]`."""

import importlib
import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path


def main() -> None:
    name, output, *parts = sys.argv[1:]
    peer = importlib.import_module(f"benchmarks.peers.{name}_peer")
    content = {
        "about": " ".join(peer.ABOUT.split()),
        "python": platform.python_version(),
        "versions": {package: version(package) for package in peer.PACKAGES},
        "results": {key: float(f"{value:.5g}") for key, value in peer.measure(*parts).items()},
    }
    Path(output).write_text(json.dumps(content))


if __name__ == "__main__":
    main()
