"""Build the package, install it into empty environments, and run there what the README shows first.

`python scripts/check_wheel.py` from an environment of `make setup`. The wheel is made from the source distribution, so
both are whole; its dependencies come from requirements.lock. Everything runs outside of the clone.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"


def main() -> None:
    start = perf_counter()
    with TemporaryDirectory() as folder:
        place = Path(folder)
        wheel = built(place / "dist")
        without_extras(wheel, place)
        with_extras(wheel, place)
    print(f"The wheel builds, installs and runs ({perf_counter() - start:.0f} s).")


def built(dist: Path) -> Path:
    """The wheel, from the source distribution, with the build tools of this environment."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, ROOT, cwd=dist.parent)
    return next(dist.glob("tacit-*.whl"))


def without_extras(wheel: Path, place: Path) -> None:
    """The core alone: the README's loop runs, and the command says in one sentence what it needs."""
    python = environment(place / "core", f"{wheel}")
    run(python, "-c", blocks("README.md", "python")[0], cwd=place)
    refused = subprocess.run([python.with_name("tacit"), "demo"], cwd=place, capture_output=True, text=True)
    if refused.returncode != 2 or "pip install 'tacit[cli]'" not in refused.stderr:
        sys.exit(f"`tacit demo` without extras ended with {refused.returncode}: {refused.stderr}")


def with_extras(wheel: Path, place: Path) -> None:
    """Everything: the demo, then the commands of the overview in their order."""
    python = environment(place / "all", f"{wheel}[all]")
    shown = next(block for block in blocks("docs/overview.md", "sh") if block.startswith("tacit "))
    commands = ["tacit demo", *(line for line in shown.splitlines() if line.strip())]
    for line in commands:
        run("bash", "-euo", "pipefail", "-c", f"export PATH={shlex.quote(str(python.parent))}:$PATH\n{line}", cwd=place)


def environment(folder: Path, what: str) -> Path:
    """The python of a fresh environment that holds this and what it depends on, and nothing else."""
    uv = (sys.executable, "-m", "uv")
    run(*uv, "venv", "--quiet", "--python", sys.executable, folder, cwd=folder.parent)
    python = folder / "bin" / "python"
    run(*uv, "pip", "install", "--quiet", "--python", python, "--constraint", LOCK, what, cwd=folder.parent)
    return python


def blocks(page: str, kind: str) -> list[str]:
    """The page's blocks of that language."""
    return re.findall(rf"```{kind}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def run(*command: str | Path, cwd: Path) -> None:
    """Run to the end, silently, or stop here with what it said."""
    start = perf_counter()
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600)
    print(f"{perf_counter() - start:5.1f} s  {shlex.join(map(str, command))[-110:].splitlines()[-1]}", flush=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


if __name__ == "__main__":
    main()
