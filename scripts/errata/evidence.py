"""What a script of errata is made of: one function for each printed statement, and a table of what it found.

A function computes a counterexample or checks a repaired statement, and returns named numbers with a verdict. The pages
under `docs/errata` show these tables; `tests/docs/test_errata.py` asserts every verdict. A verdict has four values:

- false: a counterexample to the statement itself.
- proof has a gap: a step fails, and no counterexample to the statement is known.
- loose: true, and several times larger than needed.
- right, improved: true as printed, or under its assumption, and tacit does better or enforces the assumption.
"""

from collections.abc import Callable
from functools import cache

Numbers = dict[str, float | str]
VERDICT, CORRECTED = "verdict", "corrected"
FALSE, GAP, LOOSE, RIGHT = "false", "proof has a gap", "loose", "right, improved"


def verdict(kind: str, *, printed: bool, corrected: bool) -> Numbers:
    """State the verdict if the numbers show it: the print does not pass the check, and what replaces it does."""
    return {VERDICT: "not shown" if printed else kind, CORRECTED: "holds" if corrected else "fails"}


class Errata:
    """The functions of one script, in the order of the paper."""

    def __init__(self) -> None:
        self.functions: dict[str, Callable[[], Numbers]] = {}

    def __call__(self, function: Callable[[], Numbers]) -> Callable[[], Numbers]:
        """Register a function under its own name; it is computed once, for the page and for the test."""
        self.functions[function.__name__] = cache(function)
        return self.functions[function.__name__]

    def table(self, name: str) -> str:
        """The numbers of one statement, a line each."""
        numbers = self.functions[name]()
        width = max(map(len, numbers))
        return "\n".join(f"{label:<{width}}  {_shown(value)}" for label, value in numbers.items())

    def print_all(self) -> None:
        """Every table, each under the first line of its function's docstring."""
        for name, function in self.functions.items():
            print(f"{name}: {(function.__doc__ or '').splitlines()[0]}\n\n{self.table(name)}\n")


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
