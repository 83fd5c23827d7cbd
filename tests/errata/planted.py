"""What must be wrong with none of the errata files, as functions of a folder: for the files, and for broken copies."""

import ast
import subprocess
import sys
from pathlib import Path

PAPERS = ("ctrl", "l2p", "tracking", "bandit", "online_to_batch")
ALLOWED = {"numpy", "scipy", "mpmath", "errata"}
# Run a file as a program where nothing but the standard library and ALLOWED can be imported.
ALONE = """
import runpy, sys

allowed = set(sys.stdlib_module_names) | {allowed!r} | {{"gmpy2"}}

class Refuse:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in allowed and not top.startswith("_"):
            raise ModuleNotFoundError(f"No module named {{name!r}} here")

for name in [name for name in sys.modules if name.partition(".")[0].startswith("tacit")]:
    del sys.modules[name]
sys.meta_path.insert(0, Refuse())
sys.argv = [{file!r}, *{arguments!r}]
runpy.run_path({file!r}, run_name="__main__")
"""


def run_alone(folder: Path, paper: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a file of errata where tacit cannot be imported."""
    file = str(folder / f"{paper}.py")
    code = ALONE.format(allowed=ALLOWED, file=file, arguments=list(arguments))
    return subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=120, cwd=folder)


def checks(folder: Path, paper: str) -> list[ast.FunctionDef]:
    """Return the functions that are registered as errata, read from the source."""
    tree = ast.parse((folder / f"{paper}.py").read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [node for node in functions if any("errata.erratum" in ast.unparse(item) for item in node.decorator_list)]


def faults(folder: Path, paper: str, names: set[str]) -> list[str]:
    """Return what is wrong with one file: foreign imports, checks that are missing or that compute nothing."""
    found = []
    tree = ast.parse((folder / f"{paper}.py").read_text())
    for node in ast.walk(tree):
        modules = []
        if isinstance(node, ast.Import):
            modules = [item.name for item in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or "."]
        for module in modules:
            if module.partition(".")[0] not in set(sys.stdlib_module_names) | ALLOWED:
                found.append(f"{paper} imports {module}")
    registered = checks(folder, paper)
    if {node.name for node in registered} != names:
        found.append(f"{paper} checks other errata than those listed")
    for node in registered:
        calls = [item for item in ast.walk(node) if isinstance(item, ast.Call) and ast.unparse(item.func) == "Finding"]
        if len(calls) != 1 or not isinstance(node.body[-1], ast.Return) or node.body[-1].value is not calls[0]:
            found.append(f"{node.name} does not return one finding at its end")
            continue
        for keyword in calls[0].keywords:
            if keyword.arg in ("shown", "holds") and not [
                item for item in ast.walk(keyword.value) if isinstance(item, ast.Compare | ast.Name | ast.Call)
            ]:
                found.append(f"{node.name} types its own {keyword.arg}")
    ran = run_alone(folder, paper)
    if ran.returncode or not ran.stdout.endswith(f"\n{len(names)} of {len(names)} shown\n"):
        found.append(f"{paper} exits with {ran.returncode}: {(ran.stdout + ran.stderr)[-200:]}")
    return found
