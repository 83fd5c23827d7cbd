"""Compile `src/tacit/_kernels.c` when the package is built; without a compiler the package is built without it.

The module uses Python's limited API of 3.11: one file serves that version and all later ones.
"""

import os
import subprocess
import sysconfig
from pathlib import Path
from shlex import split
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path("src", "tacit", "_kernels.c")
MODULE = "_kernels.abi3.so"
# No operation may be contracted or reordered: numpy's results are met bit for bit.
FLAGS = ("-shared", "-fPIC", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-fast-math")


class Kernels(BuildHookInterface):  # type: ignore[type-arg]
    """Put the compiled loops into the wheel, or beside their source if the installation is editable."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._folder = TemporaryDirectory()  # for as long as the hook lives

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        source = Path(self.root) / SOURCE
        editable = version == "editable"
        target = (source.parent if editable else Path(self._folder.name)) / MODULE
        trouble = compiled(source, target)
        if trouble:
            target.unlink(missing_ok=True)
            self.app.display_warning(f"tacit is built without compiled loops and will run on numpy: {trouble}")
        elif not editable:
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["force_include"][str(target)] = f"tacit/{MODULE}"
            build_data.update(pure_python=False, tag=f"cp311-abi3-{platform}")


def compiled(source: Path, target: Path, *flags: str) -> str:
    """Compile the file with the compiler of the environment or of this Python; say what went wrong (nothing: "")."""
    command = split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "")
    if not command or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this Python names no C compiler, or has no limited API."
    apple = ("-undefined", "dynamic_lookup") if sysconfig.get_platform().startswith("macosx") else ()
    paths = ("-I", sysconfig.get_path("include"), str(source), "-o", str(target), "-lm")
    try:
        done = subprocess.run([*command, *FLAGS, *flags, *apple, *paths], capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{error}."
    return (
        "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1] if done.stderr else "the compiler failed."
    )
