"""Convex sets by name, for commands that need a domain.

Some sets have a size alone (`--domain ball --dim 3`), others are written out behind a colon, or stand in a file, a row
a line, that is named behind `:@` (`--domain paths:s-a,a-t,s-t`, `--domain polytope:@rows.csv`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import tacit
from tacit.errors import InvalidInput
from tacit.geometry import ConvexSet

SIZED: dict[str, Callable[[int, float, int], ConvexSet]] = {
    "ball": lambda dim, radius, chosen: tacit.Ball(dim, radius),
    "l1-ball": lambda dim, radius, chosen: tacit.L1Ball(dim, radius),
    "box": lambda dim, radius, chosen: tacit.Box.cube(dim, radius),
    "simplex": lambda dim, radius, chosen: tacit.Simplex(dim),
    "k-subsets": lambda dim, radius, chosen: tacit.KSubsets(dim, chosen),
    "birkhoff": lambda dim, radius, chosen: tacit.Birkhoff(dim),
}
"""Sets that --dim, --radius and --chosen describe."""

Rows = list[list[str]]


@dataclass(frozen=True)
class AtMostOfEach:
    """A partition matroid: at most `most` elements of each group are independent.

    >>> AtMostOfEach(("a", "a", "b"), 1)(frozenset({0, 2}))
    True
    """

    groups: tuple[str, ...]
    most: int

    def __call__(self, chosen: frozenset[Hashable]) -> bool:
        """Whether these elements are independent."""
        named = [self.groups[element] for element in chosen if isinstance(element, int)]
        return all(named.count(group) <= self.most for group in named)


@dataclass(frozen=True)
class BySize:
    """A set function of the number of elements alone: 0, then these values.

    >>> BySize((1.0, 1.5))(frozenset({0, 1}))
    1.5
    """

    values: tuple[float, ...]

    def __call__(self, chosen: frozenset[int]) -> float:
        """The value of this set."""
        return self.values[len(chosen) - 1] if chosen else 0.0


def _nuclear(rows: Rows, radius: float, chosen: int) -> ConvexSet:
    sides = rows[0][0].split("x")
    if len(rows) > 1 or len(rows[0]) > 1 or len(sides) != 2:
        raise _malformed("nuclear-ball")
    tall, wide = (_whole(side, "nuclear-ball") for side in sides)
    return tacit.NuclearBall(tall, wide, radius)


def _sides(rows: Rows, radius: float, chosen: int) -> ConvexSet:
    ends = [cell.split("..") for row in rows for cell in row]
    if any(len(pair) != 2 for pair in ends):
        raise _malformed("box")
    low, high = ([_number(pair[side], "box") for pair in ends] for side in (0, 1))
    return tacit.Box(np.array(low), np.array(high))


def _paths(rows: Rows, radius: float, chosen: int) -> ConvexSet:
    edges = _edges(rows, "paths")
    return tacit.Paths(edges, source=edges[0][0], sink=edges[-1][1])


def _polytope(rows: Rows, radius: float, chosen: int) -> ConvexSet:
    numbers = [[_number(cell, "polytope") for cell in row] for row in rows]
    if len({len(row) for row in numbers}) != 1 or len(numbers[0]) < 2:
        raise _malformed("polytope")
    table = np.array(numbers)
    return tacit.Polytope(table[:, :-1], table[:, -1])


def _matroid(rows: Rows, radius: float, chosen: int) -> ConvexSet:
    groups = tuple(cell for row in rows for cell in row)
    return tacit.Matroid(tuple(range(len(groups))), AtMostOfEach(groups, chosen))


def _submodular(rows: Rows, radius: float, chosen: int) -> ConvexSet:
    values = tuple(_number(cell, "submodular-base") for row in rows for cell in row)
    return tacit.SubmodularBase(len(values), BySize(values))


WRITTEN: dict[str, tuple[Callable[[Rows, float, int], ConvexSet], str]] = {
    "box": (_sides, "box:-1..1,0..2, the ends of each coordinate"),
    "nuclear-ball": (_nuclear, "nuclear-ball:3x4, rows and columns of the matrix"),
    "spanning-trees": (
        lambda rows, radius, chosen: tacit.SpanningTrees(_edges(rows, "spanning-trees")),
        "spanning-trees:a-b,b-c,a-c, the edges of the graph",
    ),
    "paths": (_paths, "paths:s-a,a-t,s-t, directed edges from the first one's tail to the last one's head"),
    "polytope": (_polytope, "polytope:@rows.csv, a row of A and its bound b on each line, for A x <= b"),
    "matroid": (_matroid, "matroid:red,red,blue, the group of each element; --chosen of each group at most"),
    "submodular-base": (_submodular, "submodular-base:1,1.5,1.75, the function at sets of 1, 2, ... elements"),
}
"""Sets that are written out, and how."""

NAMES = (*SIZED, *(name for name in WRITTEN if name not in SIZED))

DomainName = Annotated[
    str,
    typer.Option(
        "--domain",
        help=f"The set: {', '.join(SIZED)}; or written out (a file behind @): "
        f"{'; '.join(example for _, example in WRITTEN.values())}.",
    ),
]
Dimension = Annotated[
    int | None,
    typer.Option("--dim", help="Coordinates of a point (birkhoff: rows of the matrix); not of sets written out."),
]
Radius = Annotated[float, typer.Option(help="Radius of the balls, half width of the box.")]
Chosen = Annotated[
    int, typer.Option("--chosen", help="How many coordinates a k-subset takes, or a matroid of each group.")
]


def domain_of(name: str, dim: int | None, radius: float, chosen: int = 1) -> ConvexSet:
    """The set of that name."""
    kind, colon, text = name.partition(":")
    if kind not in NAMES:
        raise InvalidInput(f"--domain must be one of {', '.join(NAMES)}. Got {name!r} instead.")
    if not colon:
        if kind not in SIZED:
            raise InvalidInput(f"--domain {kind} must be written out, as in {WRITTEN[kind][1]}.")
        if dim is None:
            raise InvalidInput(f"--domain {kind} needs --dim, the number of coordinates.")
        return SIZED[kind](dim, radius, chosen)
    if kind not in WRITTEN:
        raise InvalidInput(f"--domain {kind} takes --dim, and nothing behind a colon. Got {name!r} instead.")
    made = WRITTEN[kind][0](_rows(kind, text), radius, chosen)
    if dim not in (None, made.dimension):
        raise InvalidInput(f"--domain {kind} has {made.dimension} coordinates as it is written out; --dim says {dim}.")
    return made


def _rows(kind: str, text: str) -> Rows:
    """Cells between commas; in a file a row a line."""
    if text.startswith("@"):
        path = Path(text[1:])
        if not path.is_file():
            raise InvalidInput(f"There is no file {text[1:]!r}, which --domain {kind} names.")
        try:
            lines = path.read_text("utf-8-sig").splitlines()
        except UnicodeDecodeError:
            raise InvalidInput(f"{text[1:]} is not UTF-8 text.") from None
    else:
        lines = text.split(";")
    rows = [[cell.strip() for cell in line.split(",")] for line in lines if line.strip()]
    if not rows or not all(cell for row in rows for cell in row):
        raise _malformed(kind)
    return rows


def _edges(rows: Rows, kind: str) -> list[tuple[str, str]]:
    """Edges as tail-head, or in a file as a row of two."""
    if len(rows) > 1 and all(len(row) == 2 for row in rows):
        return [(tail, head) for tail, head in rows]
    pairs = [cell.split("-") for row in rows for cell in row]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise _malformed(kind)
    return [(tail, head) for tail, head in pairs]


def _number(text: str, kind: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _malformed(kind) from None


def _whole(text: str, kind: str) -> int:
    if not text.isdecimal():
        raise _malformed(kind)
    return int(text)


def _malformed(kind: str) -> InvalidInput:
    return InvalidInput(f"--domain {kind} must be written out as in {WRITTEN[kind][1]}.")
