"""Attacks that are calls: with a bug planted, a test of a class, or any function of one's own, must fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tacit.auditing.report import Finding


def by_call(name: str, test: Callable[..., Any], *arguments: Any) -> Callable[[], Finding]:
    """Attack by calling a test with these arguments."""

    def attack() -> Finding:
        try:
            test(*arguments)
        except (Exception, pytest.fail.Exception) as error:
            detail = f"{type(error).__name__}: {error}"
            return Finding(name, "a test", "breaches", 0.0, 1.0, violation=True, detail=detail, check=True)
        return Finding(name, "a test", "breaches", 0.0, 0.0, violation=False, check=True)

    return attack
