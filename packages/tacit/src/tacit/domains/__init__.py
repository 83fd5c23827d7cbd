"""Feasible sets: linear oracles, projections, barriers, affine hulls and inner balls."""

from tacit.domains.ball import Ball, L1Ball
from tacit.domains.box import Box
from tacit.domains.combinatorial import Birkhoff, KSubsets
from tacit.domains.graphs import Paths
from tacit.domains.oracle_set import OracleSet
from tacit.domains.polytope import Polytope
from tacit.domains.simplex import Simplex

__all__ = [
    "Ball",
    "Birkhoff",
    "Box",
    "KSubsets",
    "L1Ball",
    "OracleSet",
    "Paths",
    "Polytope",
    "Simplex",
]
