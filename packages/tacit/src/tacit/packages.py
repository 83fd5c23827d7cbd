"""The packages beside this one: how each is installed, and which names of 0.3 are theirs since 0.4."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

OWN_PACKAGES = ("tacit", "tacit_models", "tacit_experiments")
"""Packages whose classes are this project's own; what any other package defines is a user's."""

COMMANDS = dict.fromkeys(("demo", "experiments", "serve", "store", "test", "tick", "token"), "tacit-experiments")
"""The commands of `tacit` that another package brings, and that package."""

MOVED = {
    "Client": "tacit_experiments.Client",
    "Live": "tacit_experiments.Live",
    "Store": "tacit_experiments.Store",
    "client": "tacit_experiments.client",
    "estimators": "tacit_models",
    "experiments": "tacit_experiments",
    "server": "tacit_experiments.service",
    "spark": "tacit_experiments.fleet",
    "store": "tacit_experiments.store",
    "torch": "tacit_models.torch",
}
"""Where names and modules of tacit 0.3 are now."""


def install_command(requirement: str) -> str:
    """Return the command that installs a package, with the one for a clone: 'tacit[cli]', 'tacit-models'.

    A package requires its neighbours at its own version, so that a clone installs all of them in one command.
    """
    package, bracket, extra = requirement.partition("[")
    needed = [] if package == "tacit" else ["./packages/tacit"]
    here = " ".join([*needed, f"'./packages/{package}[{extra}'" if bracket else f"./packages/{package}"])
    published = f"'{requirement}'" if bracket else requirement
    return f"pip install {published}, or in a clone of tacit pip install {here}"


def moved_sentence(name: str) -> str:
    """Return what to write in place of a name of tacit 0.3, and which package to install."""
    place = MOVED[name]
    package = place.partition(".")[0].replace("_", "-")
    return f"tacit.{name} is {place} since tacit 0.4, in the package {package}: {install_command(package)}."


class MovedModules(MetaPathFinder):
    """Answer an import of a module that moved, which nothing else finds, with the package that it is in now."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return None for all other modules."""
        first, _, rest = fullname.partition(".")
        name = rest.partition(".")[0]
        if first == "tacit" and name in MOVED:
            # not named after the module itself: `from tacit import NAME` hides such an error
            raise ModuleNotFoundError(moved_sentence(name), name=MOVED[name].partition(".")[0])
        return None
