"""Convex sets by name, for commands that need a domain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from tacit.errors import InvalidInput
from tacit.geometry import Ball, Birkhoff, Box, ConvexSet, KSubsets, L1Ball, Simplex

DomainName = Annotated[
    str, typer.Option("--domain", help="The set: ball, l1-ball, box, simplex, k-subsets or birkhoff.")
]
Dimension = Annotated[int, typer.Option("--dim", help="Coordinates of a point (birkhoff: rows of the matrix).")]
Radius = Annotated[float, typer.Option(help="Radius of the ball or l1 ball, half width of the box.")]
Chosen = Annotated[int, typer.Option("--chosen", help="How many of the coordinates a k-subset takes.")]

DOMAINS: dict[str, Callable[[int, float, int], ConvexSet]] = {
    "ball": lambda dim, radius, chosen: Ball(dim, radius),
    "l1-ball": lambda dim, radius, chosen: L1Ball(dim, radius),
    "box": lambda dim, radius, chosen: Box.cube(dim, radius),
    "simplex": lambda dim, radius, chosen: Simplex(dim),
    "k-subsets": lambda dim, radius, chosen: KSubsets(dim, chosen),
    "birkhoff": lambda dim, radius, chosen: Birkhoff(dim),
}


def domain_of(name: str, dim: int, radius: float, chosen: int = 1) -> ConvexSet:
    """The set of that name."""
    if name not in DOMAINS:
        raise InvalidInput(f"--domain must be one of {', '.join(DOMAINS)}. Got {name!r} instead.")
    return DOMAINS[name](dim, radius, chosen)
