"""A statement: numbers of a page, and what produces them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
TARGET = {"epsilon": 1.0, "delta": 1e-6}
CELL = r"\s*([\d.,]+)\s*\|"


@dataclass(frozen=True)
class Stated:
    """Numbers of one sentence or row of a page.

    Attributes:
        page: the page, from the project's folder.
        pattern: finds them exactly once; one group for each number.
        values: computes them, in the same order.
        agree: (stated text, computed value) -> whether the page may say this.
        slow: whether computing them takes more than a few seconds.
    """

    page: str
    pattern: str
    values: Callable[[], Sequence[float]]
    agree: Callable[[str, float], bool] | None = None
    slow: bool = False

    def places(self, text: str) -> list[str | tuple[str, ...]]:
        """Find the numbers, also where they are typeset."""
        return re.findall(self.pattern, text) or re.findall(self.pattern, in_words(text))

    def problems(self, text: str | None = None) -> list[str]:
        """What is wrong on the page (or in this text instead of it)."""
        found = self.places((ROOT / self.page).read_text() if text is None else text)
        if len(found) != 1:
            return [f"{self.page} has {len(found)} places like {self.pattern!r} instead of one"]
        numbers = found[0] if isinstance(found[0], tuple) else (found[0],)
        values = list(self.values())
        if len(values) != len(numbers):
            return [f"{self.page}: {len(numbers)} numbers are stated and {len(values)} are computed"]
        agree = self.agree or rounded
        return [
            f"{self.page} says {shown}, computed is {value:.6g}"
            for shown, value in zip(numbers, values, strict=True)
            if not agree(shown, float(value))
        ]


def in_words(text: str) -> str:
    """Write the formulas of a page without LaTeX, so that patterns need not know how a number is typeset."""

    def plain(found: re.Match[str]) -> str:
        formula = re.sub(r"10\^\{?(-?\d+)\}?", r"1e\1", found[1].replace("{,}", ","))
        formula = re.sub(r"\\sqrt\{([^{}]*)\}", r"sqrt(\1)", formula.replace("\\varepsilon", "epsilon"))
        return re.sub(r"(?<![\d.])0(?=\.\d)", "", formula.replace("\\pm", "+-").replace("\\", ""))

    return re.sub(r"\$([^$\n]+)\$", plain, text)


def number(shown: str) -> float:
    """The number that a page shows as 3,954 or .0204."""
    return float(shown.replace(",", ""))


def rounded(shown: str, value: float) -> bool:
    """Whether the value, rounded to the digits shown, is what is shown."""
    decimals = len(shown.partition(".")[2])
    return abs(value - number(shown)) <= 0.5 * 10.0**-decimals * (1 + 1e-9)


def near(shown: str, value: float) -> bool:
    """The same up to a part in five thousand: the last digits of a search may differ between machines."""
    return rounded(shown, value) or abs(value / number(shown) - 1) <= 2e-4


def at_most(shown: str, value: float) -> bool:
    """Whether the value is at most what is shown."""
    return value <= number(shown)


def just_above(shown: str, value: float) -> bool:
    """Whether what is shown is not below the value, and by a fortieth above it at most."""
    return value <= number(shown) <= 1.025 * value
