"""Planted bugs: each breaks a shipped learner or mechanism in one way that an audit must find.

A control is a bug (a context manager that swaps a method for a broken one, and back) and the attack that is expected to
find it. `planted_bugs` runs every attack twice: on the shipped code, where it must find nothing, and with the
bug planted, where it must find a violation. An audit that lets a planted bug live has no teeth there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from attacks.rows import LAWS
from tacit import kernels
from tacit.auditing.report import Finding
from tacit.auditing.script import swapped

Attack = Callable[[], Finding]
Bug = Callable[[], Any]


@dataclass(frozen=True)
class Control:
    """A planted bug and the attack that must find it.

    Attributes:
        name: what is wrong.
        family: which part of the library it is planted in.
        plant: makes the context in which the bug lives.
        attack: the audit that must find it; on the shipped code it must find nothing.
        fast: whether it takes well under a second.
        row: the attack of docs/attacks.md whose teeth it shows.
    """

    name: str
    family: str
    plant: Bug
    attack: Attack
    fast: bool = True
    row: str = LAWS

    def killed(self) -> bool:
        """Whether the attack finds the planted bug; bugs are planted in Python, so no loop may run in C."""
        with swapped((kernels, "compiled", None)), self.plant():
            return self.attack().violation

    def quiet(self) -> bool:
        """Whether the attack finds nothing on the shipped code."""
        return not self.attack().violation


def swap(owner: Any, name: str, make: Callable[[Any], Any]) -> Bug:
    """A bug that replaces `owner.name` by `make(honest value)`."""

    return lambda: swapped((owner, name, make(vars(owner)[name])))


def around(broken: Callable[..., Any]) -> Callable[[Any], Any]:
    """Make what `swap` takes of a broken function whose first argument is the honest one."""
    return lambda honest: lambda *arguments, **settings: broken(honest, *arguments, **settings)


def both(*bugs: Bug) -> Bug:
    """Several swaps that make one bug."""

    @contextmanager
    def planted() -> Iterator[None]:
        with ExitStack() as stack:
            for bug in bugs:
                stack.enter_context(bug())
            yield

    return planted


def planting(family: str) -> Callable[..., Control]:
    """Make controls of one family: what is wrong, the owner and the name of what is swapped, the bug, the attack."""

    def control(name: str, owner: Any, part: str, make: Callable[[Any], Any], attack: Attack, **others: Any) -> Control:
        return Control(name, family, swap(owner, part, make), attack, **others)

    return control


PARTS = (
    "sums", "experts", "tracking", "convex", "densities", "accounting", "life_of_noise", "errors", "arms", "delays",
    "losses", "measures", "fleet", "beside_models", "stores", "on_sums", "services", "contexts", "policies",
    "experiments", "descent", "releases", "printed_bandit", "printed_tracking", "printed_papers", "printed_l2p",
    "printed_online_to_batch", "printed_ctrl",
)  # fmt: skip


def all_controls() -> tuple[Control, ...]:
    """Every planted bug that ships."""
    return tuple(control for part in PARTS for control in import_module(f"planted_bugs.{part}").CONTROLS)
