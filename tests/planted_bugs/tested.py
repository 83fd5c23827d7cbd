"""Attacks that are tests: with a bug planted, the test that tries the attack must fail."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import UTC, datetime
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from tacit.accounting import ledger
from tacit.auditing.report import Finding
from tacit.auditing.script import swapped


def by_test(module: str, name: str, *arguments: Any) -> Callable[[], Finding]:
    """Attack by a test: its fixtures are made by their names, its other parameters are these arguments."""

    def attack() -> Finding:
        test, given = getattr(import_module(module), name), iter(arguments)
        marks = getattr(test, "pytestmark", ())
        with ExitStack() as stack:
            if any(mark.name == "filterwarnings" and "ignore" in mark.args for mark in marks):
                stack.enter_context(warnings.catch_warnings())  # as the test is run, where a warning is no breach
                warnings.simplefilter("ignore")
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            values = [
                stack.enter_context(FIXTURES[parameter](folder)) if parameter in FIXTURES else next(given)
                for parameter in signature(test).parameters
            ]
            try:
                test(*values)
            except (Exception, pytest.fail.Exception) as error:
                detail = f"{type(error).__name__}: {error}"
                return Finding(module, name, "breaches", 0.0, 1.0, violation=True, detail=detail, check=True)
        return Finding(module, name, "breaches", 0.0, 0.0, violation=False, check=True)

    return attack


def store(folder: Path) -> AbstractContextManager[Any]:
    """A store of its own."""
    from tacit_experiments.store.store import Store  # an extra that the fleet's environment does not have

    return Store(folder / "decisions.db")


def service(folder: Path) -> AbstractContextManager[Any]:
    """A service of its own."""
    from experiments.service.running import running

    return running(folder / "decisions.db")


@contextmanager
def _clock(folder: Path) -> Iterator[Any]:
    times = {"now": datetime(2026, 1, 31, tzinfo=UTC)}
    with swapped((ledger, "now", lambda: times["now"])):
        yield lambda *date: times.update(now=datetime(*date, tzinfo=UTC))


@contextmanager
def _world(folder: Path) -> Iterator[Any]:
    from experiments.world import World

    made = World(folder)
    yield made
    made.close()


FIXTURES: dict[str, Callable[[Path], AbstractContextManager[Any]]] = {
    "tmp_path": nullcontext,
    "path": lambda folder: nullcontext(folder / "decisions.db"),
    "store": store,
    "service": service,
    "world": _world,
    "clock": _clock,
    "monkeypatch": lambda folder: pytest.MonkeyPatch.context(),
    "record_property": lambda folder: nullcontext(lambda name, value: None),
}
"""What stands in the place of fixtures."""
