"""Check against the index that every pin of requirements.lock has a wheel for every Python and platform we name.

`python scripts/check_pins.py`: nothing is installed. Prints a line for each pair; exit code 1 if one has no wheel.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

LOCK = Path(__file__).parents[1] / "requirements.lock"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "aarch64-apple-darwin")


def main() -> None:
    missing = 0
    for platform in PLATFORMS:
        for version in VERSIONS:
            trouble = refusal(version, platform)
            print(f"Python {version} on {platform}: {trouble or 'a wheel for every pin'}", flush=True)
            missing += bool(trouble)
    sys.exit(min(missing, 1))


def refusal(version: str, platform: str) -> str:
    """Why the lock cannot be installed there from wheels alone (empty: it can)."""
    with TemporaryDirectory() as nowhere:
        command = (
            sys.executable, "-m", "uv", "pip", "install", "--dry-run", "--quiet", "--require-hashes",
            "--only-binary", ":all:", "--python-version", version, "--python-platform", platform,
            "--target", nowhere, "--requirement", str(LOCK),
        )  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
    return " ".join(done.stderr.split()) if done.returncode else ""


if __name__ == "__main__":
    main()
