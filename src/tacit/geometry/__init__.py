"""Feasible sets: linear oracles, projections, barriers, affine hulls and inner balls."""

from tacit.geometry.ball import Ball, L1Ball
from tacit.geometry.barrier import Barrier
from tacit.geometry.base import BarrierSet, ConvexSet, FullDimensionalSet, ProjectableSet
from tacit.geometry.box import Box
from tacit.geometry.combinatorial import Birkhoff, KSubsets
from tacit.geometry.graphs import Paths, SpanningTrees
from tacit.geometry.hull import Hull, hull_from_oracle
from tacit.geometry.matroid import Matroid, SubmodularBase
from tacit.geometry.polytope import Polytope
from tacit.geometry.simplex import Simplex
from tacit.geometry.spectral import NuclearBall

__all__ = [
    "Ball",
    "Barrier",
    "BarrierSet",
    "Birkhoff",
    "Box",
    "ConvexSet",
    "FullDimensionalSet",
    "Hull",
    "KSubsets",
    "L1Ball",
    "Matroid",
    "NuclearBall",
    "Paths",
    "Polytope",
    "ProjectableSet",
    "Simplex",
    "SpanningTrees",
    "SubmodularBase",
    "hull_from_oracle",
]
