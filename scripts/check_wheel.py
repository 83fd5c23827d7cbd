"""Build the three packages, install them into empty environments, and run there what the pages show first.

`python scripts/check_wheel.py [FOLDER]` from an environment of `make setup`. Each wheel is made from the source
distribution, so both are whole; what they depend on comes from requirements.lock. Everything runs outside of the clone.
If all went well, the six files are in FOLDER.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
PACKAGES = ("tacit", "tacit-models", "tacit-experiments")
FORBIDDEN = ("sqlalchemy", "fastapi", "sklearn", "pandas")
"""What tacit itself neither loads nor brings."""
ONLY_STORES = {"tacit-experiments", "sqlalchemy", "greenlet", "typing-extensions"}
"""What tacit-experiments may bring beyond `tacit[cli]`: itself, and SQLAlchemy with what that requires."""


@dataclass(frozen=True)
class Built:
    """A package's source distribution and wheel."""

    name: str
    sdist: Path
    wheel: Path

    def metadata(self) -> Message:
        with ZipFile(self.wheel) as archive:
            (path,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            return message_from_bytes(archive.read(path))

    def in_wheel(self) -> set[str]:
        with ZipFile(self.wheel) as archive:
            return set(archive.namelist())

    def in_sdist(self) -> set[str]:
        with tarfile.open(self.sdist) as archive:
            return {name.partition("/")[2] for name in archive.getnames()}


@dataclass(frozen=True)
class Environment:
    """An environment that holds some packages and what these depend on, and nothing else."""

    python: Path

    @property
    def folder(self) -> Path:
        """Where commands run: beside the environment."""
        return self.python.parents[2]

    def run(self, code: str) -> str:
        return run(self.python, "-c", code, cwd=self.folder)

    def shell(self, line: str) -> None:
        path = {"PATH": f"{self.python.parent}:{os.environ['PATH']}"}
        run("bash", "-euo", "pipefail", "-c", line, cwd=self.folder, env=os.environ | path)

    def refuse(self, *arguments: str, sentence: str) -> None:
        """Stop here unless `tacit` refuses these arguments with exit code 2 and one line that holds this sentence."""
        command = [str(self.python.with_name("tacit")), *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 2 or sentence not in done.stderr or done.stderr.count("\n") != 1:
            said = f"ended with {done.returncode} and said: {done.stderr}"
            sys.exit(f"`tacit {shlex.join(arguments)}` should end with 2 and say: {sentence}. It {said}")

    def have_none(self, *modules: str) -> None:
        """Stop here if one of these modules could be imported."""
        self.run(
            "from importlib.util import find_spec\n"
            f"there = [name for name in {modules} if find_spec(name)]\n"
            "assert not there, f'installed, and should not be: {there}'"
        )

    def distributions(self) -> set[str]:
        """Return the names of all that is installed."""
        found = run(sys.executable, "-m", "uv", "pip", "freeze", "--python", self.python, cwd=self.folder)
        return {re.split("[ =]", line)[0].lower() for line in found.splitlines()}


def main() -> None:
    start = perf_counter()
    with TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        packages = {name: build(name, place / "dist") for name in PACKAGES}
        check_versions(packages)
        check_contents(packages)
        own = write_constraints(packages, place / "own.txt")
        check_tacit(place, own)
        check_models(place, own)
        check_experiments(place, own)
        check_everything(place, own)
        if len(sys.argv) > 1:
            keep(packages, Path(sys.argv[1]))
    print(f"The three packages build, install and run ({perf_counter() - start:.0f} s).")


def build(name: str, dist: Path) -> Built:
    """Build a package with the build tools of this environment: its wheel from its source distribution."""
    dist.mkdir(exist_ok=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, ROOT / "packages" / name, cwd=dist.parent)
    stem = name.replace("-", "_")
    (sdist,) = dist.glob(f"{stem}-*.tar.gz")
    (wheel,) = dist.glob(f"{stem}-*.whl")
    return Built(name, sdist, wheel)


def check_versions(packages: dict[str, Built]) -> None:
    """Stop here unless all packages have one version, and require each other at exactly that one."""
    metadata = {name: package.metadata() for name, package in packages.items()}
    versions = {found["Version"] for found in metadata.values()}
    if len(versions) > 1:
        sys.exit(f"The packages have different versions: {sorted(versions)}.")
    (version,) = versions
    for name, found in metadata.items():
        for requirement in found.get_all("Requires-Dist", []):
            neighbour, required = split_requirement(requirement)
            if neighbour in PACKAGES and neighbour != name and required != f"=={version}":
                sys.exit(f"{name} requires {requirement}, and should require version {version}.")


def split_requirement(requirement: str) -> tuple[str, str]:
    """Return the package and the versions of a requirement such as `tacit[cli]==0.4.0; extra == 'all'`."""
    found = re.match(r"([\w-]+)(?:\[.*?\])?([^;]*)", requirement)
    assert found is not None
    return found[1], found[2].strip()


def check_contents(packages: dict[str, Built]) -> None:
    """Stop here if a file is missing, or the wheel of tacit is not one for all Pythons from 3.11 on."""
    for name, package in packages.items():
        module = name.replace("-", "_")
        missing = {"LICENSE", "README.md", "pyproject.toml", f"src/{module}/__init__.py"} - package.in_sdist()
        missing |= {f"{module}/__init__.py", f"{module}/py.typed"} - package.in_wheel()
        if missing:
            sys.exit(f"{name} was built without {sorted(missing)}.")
    core = packages["tacit"]
    missing = {"hatch_build.py", "src/tacit/_kernels.c"} - core.in_sdist()
    missing |= {"tacit/_kernels.abi3.so"} - core.in_wheel()
    if missing or "-cp311-abi3-" not in core.wheel.name:
        sys.exit(f"{core.wheel.name} should be tagged cp311-abi3; missing: {sorted(missing)}.")
    compiled = {name for package in packages.values() for name in package.in_sdist() if name.endswith((".so", ".pyc"))}
    if compiled:
        sys.exit(f"A source distribution holds what was compiled here: {sorted(compiled)}.")


def write_constraints(packages: dict[str, Built], path: Path) -> Path:
    """Write where the packages are, so that they require each other from here and from no index."""
    lines = (f"{package.name} @ {package.wheel.as_uri()}\n" for package in packages.values())
    path.write_text("".join(lines))
    return path


def check_tacit(place: Path, own: Path) -> None:
    """Try tacit alone: the README's loop runs, and what needs an extra or a neighbour says in one sentence which."""
    core = install(place / "core", own, "tacit")
    core.have_none(*FORBIDDEN, "typer", "tacit_models", "tacit_experiments")
    core.run(blocks("README.md", "python")[0])
    core.run(f"import sys, tacit\nassert not sys.modules.keys() & set({FORBIDDEN})")
    core.refuse("demo", sentence="pip install 'tacit[cli]'")
    for statement, package in (
        ("import tacit.estimators", "tacit-models"),
        ("from tacit import Store", "tacit-experiments"),
        ("import tacit; tacit.Store", "tacit-experiments"),
    ):
        core.run(
            f"try:\n    {statement}\nexcept (ImportError, AttributeError) as error:\n"
            f"    assert 'pip install {package}' in str(error), error\nelse:\n    raise SystemExit({statement!r})"
        )


def check_models(place: Path, own: Path) -> None:
    """Try tacit-models: a short fit of the README runs without the command line, stores or tables of pandas."""
    models = install(place / "models", own, "tacit-models")
    models.have_none("sqlalchemy", "fastapi", "pandas", "typer", "torch", "tacit_experiments")
    models.run(next(block for block in blocks("README.md", "python") if "tacit_models" in block))


def check_experiments(place: Path, own: Path) -> None:
    """Try tacit-experiments without extras: it brings SQLAlchemy and the command line, and says what else is needed."""
    command_line = install(place / "cli", own, "tacit[cli]")
    command_line.refuse("demo", sentence="pip install tacit-experiments")
    experiments = install(place / "experiments", own, "tacit-experiments")
    further = experiments.distributions() - command_line.distributions() - ONLY_STORES
    if further:
        sys.exit(f"tacit-experiments without extras brings {sorted(further)}.")
    experiments.refuse("serve", "--store", "x.db", sentence="pip install 'tacit-experiments[serve]'")
    experiments.shell("tacit token --store x.db --scopes sdk && tacit store --help")


def check_everything(place: Path, own: Path) -> None:
    """Try all three with all extras: the demo, then the commands of the overview in their order."""
    whole = install(place / "all", own, *(f"{name}[all]" for name in PACKAGES))
    shown = next(block for block in blocks("docs/overview.md", "sh") if block.startswith("tacit "))
    for line in ("tacit demo", *filter(str.strip, shown.splitlines())):
        whole.shell(line)


def keep(packages: dict[str, Built], folder: Path) -> None:
    """Copy what was built into a folder, in place of what was built before."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in (*folder.glob("tacit*.whl"), *folder.glob("tacit*.tar.gz")):
        old.unlink()
    for package in packages.values():
        shutil.copy(package.sdist, folder)
        shutil.copy(package.wheel, folder)


def install(folder: Path, own: Path, *requirements: str) -> Environment:
    """Return a fresh environment with these requirements."""
    uv = (sys.executable, "-m", "uv")
    run(*uv, "venv", "--quiet", "--python", sys.executable, folder, cwd=folder.parent)
    python = folder / "bin" / "python"
    pins = ("--constraint", LOCK, "--constraint", own)
    run(*uv, "pip", "install", "--quiet", "--python", python, *pins, *requirements, cwd=folder.parent)
    return Environment(python)


def blocks(page: str, kind: str) -> list[str]:
    """Return the page's blocks of that language."""
    return re.findall(rf"```{kind}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def run(*command: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Run to the end and return what was printed, or stop here with it."""
    start = perf_counter()
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=600)
    line = " ".join(map(str, command)).strip().splitlines()[0]
    print(f"{perf_counter() - start:5.1f} s  {line[-110:]}", flush=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return done.stdout


if __name__ == "__main__":
    main()
