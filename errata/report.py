"""What an erratum is, how it is checked, and how the result is printed.

Each file of this folder types the formulas of one paper and computes where they fail, with numpy,
scipy and mpmath alone. Nothing here imports tacit, so anyone can check the errata, and tacit can be
checked against them. Run `python errata/ctrl.py` for all errata of one paper, or name some:
`python errata/ctrl.py theorem_6 barrier`. The exit code is 0 if every erratum is shown, 1 if one
is not, and 2 if a name is unknown.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from time import perf_counter

PRIVACY = 1
RATE = 2
CONSTANT = 3
RANKS = {PRIVACY: "breaks privacy", RATE: "breaks the rate", CONSTANT: "constant or typo"}

FALSE = "false"
GAP = "proof has a gap"
LOOSE = "loose"
RIGHT = "right, improved"
VERDICTS = {
    FALSE: "there is a counterexample to the statement itself",
    GAP: "a step fails, and no counterexample to the statement is known",
    LOOSE: "true, and several times larger than needed",
    RIGHT: "true as printed, or under its assumption, and more can be said",
}
NOT_SHOWN = "not shown"
WIDTH = 98


@dataclass(frozen=True)
class Finding:
    """What one check computed.

    Attributes:
        printed: the claim of the paper with its numbers at one setting, a line or several.
        counter: what the computation found instead.
        shown: True if the numbers contradict the claim as the verdict says; computed, never typed.
        instead: what is true, checked by the same computation; empty if there is nothing to check.
        holds: True if the numbers confirm `instead`.
        numbers: the numbers behind the lines, for comparisons.
    """

    printed: str | tuple[str, ...]
    counter: str | tuple[str, ...]
    shown: bool
    instead: str | tuple[str, ...] = ()
    holds: bool = True
    numbers: dict[str, float] = field(default_factory=dict)

    @property
    def confirmed(self) -> bool:
        """True if the claim fails as stated and what replaces it holds."""
        return bool(self.shown) and bool(self.holds)


@dataclass(frozen=True)
class Erratum:
    """One statement of a paper that does not stand as printed.

    Attributes:
        name: name of the function that checks it.
        where: number of the statement, and which part of it.
        rank: what breaks, `PRIVACY`, `RATE` or `CONSTANT`.
        verdict: the verdict if the check succeeds, one of `VERDICTS`.
        line: the erratum in one sentence.
        check: computes the counterexample.
    """

    name: str
    where: str
    rank: int
    verdict: str
    line: str
    check: Callable[[], Finding]


class Errata:
    """The errata of one paper, in order of rank.

    Args:
        script: path of the file that holds them, from the root of the repository.
        paper: authors, title and year.
        version: the text that was read.
    """

    def __init__(self, script: str, paper: str, version: str) -> None:
        self.script = script
        self.paper = paper
        self.version = version
        self.known: dict[str, Erratum] = {}
        self._findings: dict[str, tuple[Finding, float]] = {}

    def erratum(
        self, where: str, rank: int, verdict: str, line: str
    ) -> Callable[[Callable[[], Finding]], Callable[[], Finding]]:
        """Register the decorated function as the check of an erratum of its own name."""

        def register(check: Callable[[], Finding]) -> Callable[[], Finding]:
            name = check.__name__
            self.known[name] = Erratum(name, where, rank, verdict, line, check)
            return check

        return register

    def find(self, name: str) -> tuple[Finding, float]:
        """Return the finding of one erratum and the seconds it took; computed once."""
        if name not in self._findings:
            start = perf_counter()
            finding = self.known[name].check()
            self._findings[name] = finding, perf_counter() - start
        return self._findings[name]

    def verdict(self, name: str) -> str:
        """Return the verdict that the computed numbers support."""
        finding, _ = self.find(name)
        return self.known[name].verdict if finding.confirmed else NOT_SHOWN

    def text(self, name: str, seconds: bool = True) -> str:
        """Return the report of one erratum: rank, claim, counterexample, verdict, seconds."""
        erratum = self.known[name]
        finding, took = self.find(name)
        head = f"{name}  {erratum.where}"
        lines = [f"{head:<{WIDTH - 18}}  {RANKS[erratum.rank]}"]
        lines += _labelled("erratum", erratum.line)
        lines += _labelled("printed", finding.printed)
        lines += _labelled("counter", finding.counter)
        lines += _labelled("instead", finding.instead)
        verdict = f"  {'verdict':<9} {self.verdict(name)}"
        lines.append(f"{verdict:<{WIDTH - 8}}{took:6.1f} s" if seconds else verdict)
        return "\n".join(lines)

    def table(self) -> str:
        """Return all errata as a table in Markdown, by rank, each a link to its section."""
        rows = ["| erratum | where | breaks | verdict |", "|---|---|---|---|"]
        for erratum in sorted(self.known.values(), key=lambda erratum: erratum.rank):
            place = f"[`{erratum.name}`](#{erratum.name})"
            verdict = self.verdict(erratum.name)
            rows.append(f"| {place} | {erratum.where} | {RANKS[erratum.rank]} | {verdict} |")
        return "\n".join(rows)

    def page(self, name: str) -> str:
        """Return the report of one erratum under the command that prints it."""
        return f"$ python {self.script} {name}\n\n{self.text(name, seconds=False)}"

    def main(self, names: Sequence[str]) -> int:
        """Print the errata named, or all of them, and return the exit code."""
        unknown = [name for name in names if name not in self.known]
        if unknown:
            allowed = ", ".join(self.known)
            print(
                f"{self.script} knows no erratum '{unknown[0]}', only {allowed}.", file=sys.stderr
            )
            return 2
        chosen = list(dict.fromkeys(names)) or list(self.known)
        print(f"{self.paper}\nRead: {self.version}\n")
        shown = 0
        for name in chosen:
            print(f"{self.text(name)}\n", flush=True)
            shown += self.verdict(name) != NOT_SHOWN
        print(f"{shown} of {len(chosen)} shown")
        return 0 if shown == len(chosen) else 1


def number(value: float) -> str:
    """Return a number with three significant digits, in plain notation where it is short."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def _labelled(label: str, lines: str | tuple[str, ...]) -> list[str]:
    """Return the lines, wrapped, the first of them after the label."""
    listed = (lines,) if isinstance(lines, str) else lines
    wrapped = [part for line in listed for part in wrap(line, WIDTH - 12, subsequent_indent="  ")]
    return [f"  {label if index == 0 else '':<9} {line}" for index, line in enumerate(wrapped)]
