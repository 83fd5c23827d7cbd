"""Attacks that are tests: with a bug planted, the test that tries the attack must fail."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tacit.auditing.report import Finding

Fixture = Callable[[], AbstractContextManager[Any]]


def by_test(module: str, name: str, *arguments: Any, fixtures: tuple[Fixture, ...] = ()) -> Callable[[], Finding]:
    """Attack by a test, called with these arguments and with what these fixtures make."""

    def attack() -> Finding:
        test = getattr(import_module(module), name)
        ignored = any(
            mark.name == "filterwarnings" and "ignore" in mark.args for mark in getattr(test, "pytestmark", ())
        )
        with ExitStack() as stack:
            if ignored:  # as the test is run, where a warning is no breach
                stack.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")
            made = [stack.enter_context(fixture()) for fixture in fixtures]
            try:
                test(*arguments, *made)
            except (Exception, pytest.fail.Exception) as error:
                detail = f"{type(error).__name__}: {error}"
                return Finding(module, name, "breaches", 0.0, 1.0, violation=True, detail=detail, check=True)
        return Finding(module, name, "breaches", 0.0, 0.0, violation=False, check=True)

    return attack


@contextmanager
def folder() -> Iterator[Path]:
    """In the place of `tmp_path`."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


@contextmanager
def path() -> Iterator[Path]:
    """Where a store may be."""
    with folder() as made:
        yield made / "decisions.db"


@contextmanager
def store() -> Iterator[Any]:
    """A store of its own."""
    from tacit.store.store import Store  # an extra that the fleet's environment does not have

    with path() as place, Store(place) as opened:
        yield opened


@contextmanager
def service() -> Iterator[Any]:
    """A service of its own."""
    from server.running import running

    with path() as place, running(place) as found:
        yield found


def unrecorded() -> AbstractContextManager[Any]:
    """In the place of `record_property`."""
    return _nowhere()


@contextmanager
def _nowhere() -> Iterator[Any]:
    yield lambda name, value: None
